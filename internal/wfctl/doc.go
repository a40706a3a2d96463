// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wfctl is the command line of the wavefront controller: what the fleet
// waits for, and the acts that are safe to take. Read commands render from one
// picture.Picture; write commands read, plan, print the plan, ask, and then
// patch under the guard of what the plan had read.
package wfctl
