// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "strings"

// Commit returns a value of spec.ref.commit as a revision. Whatever is written
// there is a pin, a wrong value too; only the case is made uniform, because
// source-controller accepts upper case.
func Commit(value string) Revision {
	return Revision(strings.ToLower(strings.TrimSpace(value)))
}
