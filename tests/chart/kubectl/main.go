// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl is kubectl, at the version of this module's go.mod, for the tests
// that run the commands of the documentation.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
		os.Exit(1)
	}
}
