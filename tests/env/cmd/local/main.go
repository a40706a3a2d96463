// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command local keeps a control plane of tests/env running in the background, for
// development. The Makefile's local-up, local-down and run call it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "local: %v\n", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var dir string
	root := &cobra.Command{
		Use:           "local",
		Short:         "Run a local control plane: etcd, kube-apiserver, Flux's controllers, a git server",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&dir, "dir", ".local", "folder for everything that is made")
	at := func() (place, error) { return newPlace(dir) }
	root.AddCommand(
		&cobra.Command{
			Use:   "up",
			Short: "Start in the background, and say where",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				p, err := at()
				if err != nil {
					return err
				}
				return up(cmd.Context(), p, cmd.OutOrStdout())
			},
		},
		newServeCommand(at),
		&cobra.Command{
			Use:   "down",
			Short: "Stop, and remove what up made",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				p, err := at()
				if err != nil {
					return err
				}
				return down(cmd.Context(), p, cmd.OutOrStdout())
			},
		},
		&cobra.Command{
			Use:   "run [-- flags of the controller]",
			Short: "Run the controller against it, under its own ServiceAccount, until a signal",
			RunE: func(cmd *cobra.Command, args []string) error {
				p, err := at()
				if err != nil {
					return err
				}
				return runController(cmd.Context(), p, args)
			},
		},
	)
	return root
}

func newServeCommand(at func() (place, error)) *cobra.Command {
	var announce bool
	cmd := &cobra.Command{
		Use:    "serve",
		Short:  "Run in the foreground until a signal",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := at()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), p, announce)
		},
	}
	cmd.Flags().BoolVar(&announce, "announce", false, "write a line to file descriptor 3 when ready")
	return cmd
}
