// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report_test shows, on the real control plane and with the controller as
// it is shipped, that people are told what happens: events, status, metrics, and
// what is built on them in config.
package report_test
