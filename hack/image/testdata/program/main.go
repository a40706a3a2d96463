// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command program reports what it finds in the image it runs in.
package main

import (
	"crypto/x509"
	"encoding/json"
	"os"
)

var version = "unset"

func main() {
	pool, err := x509.SystemCertPool()
	temp, tempErr := os.CreateTemp("", "")
	if tempErr == nil {
		tempErr = os.Remove(temp.Name())
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"version":   version,
		"uid":       os.Getuid(),
		"roots":     err == nil && !pool.Equal(x509.NewCertPool()),
		"temporary": tempErr == nil,
		"arguments": os.Args[1:],
	})
}
