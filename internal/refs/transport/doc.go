// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport asks git servers for refs, over HTTP and SSH. It keeps
// connections between listings: per host and TLS identity for HTTP, one per host
// and SSH identity with many sessions. It sends credentials with the first
// request and never to another host than the one they are for.
package transport
