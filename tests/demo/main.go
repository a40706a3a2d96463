// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows a fleet roll out in order: a real API server, real Flux, a
// git server, and the controller under the role that is shipped. It fails if what
// happened was out of order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// limit bounds the story; it takes about two minutes.
const limit = 10 * time.Minute

func main() {
	keep := flag.Bool("keep", false, "leave everything running until Ctrl-C, and say how to look around")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *keep); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		cancel()
		os.Exit(1)
	}
}

// run starts the control plane, tells the story, and stops what it started.
func run(ctx context.Context, keep bool) (err error) {
	v := newView(os.Stdout)
	v.headline("Starting etcd, kube-apiserver, source-controller, kustomize-controller and a git server on loopback")
	e, err := env.Start(ctx, env.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		v.say("stopping everything")
		err = errors.Join(err, e.Stop())
	}()
	controller, err := e.NewController(ctx, env.ControllerOptions{})
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	fleet, err := testfleet.New(ctx, e, "flotillas")
	if err != nil {
		return err
	}
	defer fleet.Close()
	if err := tell(ctx, fleet, v); err != nil {
		return err
	}
	if keep {
		v.lookAround(e, filepath.Join(e.Dir(), "logs", env.ControllerName+".log"))
		<-ctx.Done()
	}
	return nil
}

// tell runs the story within its limit.
func tell(ctx context.Context, fleet *testfleet.Fleet, v *view) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := &story{Fleet: fleet, view: v}
	err := s.run(ctx)
	v.close()
	if err != nil {
		return err
	}
	return s.verdict()
}
