// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/isometry/wavefront-controller/tests/env"
)

// runController runs the controller of the work tree against the local control plane,
// with the ServiceAccount and the roles that are shipped, until a signal.
func runController(ctx context.Context, p place, args []string) error {
	e, err := env.Attach(p.cluster())
	if err != nil {
		return fmt.Errorf("%w (is it up? make local-up starts it)", err)
	}
	if err := e.Install(ctx); err != nil {
		return err
	}
	controller, err := e.NewController(ctx, env.ControllerOptions{Args: args, Output: os.Stdout})
	if err != nil {
		return err
	}
	fmt.Printf("local: metrics at %s/metrics, probes at %s\n", controller.MetricsURL, controller.HealthURL)
	if err := controller.Start(ctx); err != nil {
		return err
	}
	err = controller.Wait(ctx)
	if ctx.Err() != nil {
		return controller.Stop()
	}
	return errors.Join(errors.New("the controller ended by itself"), err)
}
