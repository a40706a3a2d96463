// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis pins the API modules whose CRDs are generated for tests/env, of
// controllers that are not run there.
package apis

import (
	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/image-reflector-controller/api/v1"
	_ "github.com/fluxcd/notification-controller/api/v1"
)
