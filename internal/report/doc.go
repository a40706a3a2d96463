// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells people what an evaluation of the fleet found: as status
// and conditions of the Wavefront, as events on the objects concerned, as
// metrics and as log lines. It judges nothing and reads nothing back for
// admission; what it remembers of earlier passes serves to announce a change
// once.
package report
