// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import "github.com/isometry/wavefront-controller/internal/refs/fault"

// Error is the one error type of this package: why a source could not be
// listed, by kind, with a message that is free of secrets.
type Error = fault.Error

// ErrorKind is the kind of an Error.
type ErrorKind = fault.Kind
