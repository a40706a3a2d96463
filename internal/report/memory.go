// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "crypto/sha256"

// digest of a status without its heartbeat.
type digest [sha256.Size]byte

// memory is what was announced of one Wavefront.
type memory struct{}
