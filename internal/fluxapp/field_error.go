// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import "fmt"

// FieldError says that a field of a FluxApp cannot be acted on. It stays until
// the spec changes.
type FieldError struct {
	// Field is the path of the field, such as spec.chart.version.
	Field string
	// Problem says what is wrong and what to write instead.
	Problem string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s %s", e.Field, e.Problem)
}
