// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/lint"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

func (p *program) lintCommand() *cobra.Command {
	var format formatFlag
	var file string
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find what would bypass or break the order of updates",
		Long: `Read the fleet live and find what would bypass or break ordering. Each finding names the
object, why it matters and the fix. Exits 2 where there are errors.

Checks:
` + checkList(),
		Example: `  wfctl lint
  wfctl lint -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, unread, err := p.findings(cmd.Context(), file)
			if err != nil {
				return err
			}
			if unread != "" {
				return fmt.Errorf("failed to show findings: the snapshot holds none: %s", unread)
			}
			return p.print(lintResult(findings), format.format)
		},
	}
	cmd.Flags().StringVar(&file, "from", "", "Show the findings of a recorded snapshot from this file (- for standard input)")
	format.addTo(cmd)
	return cmd
}

func checkList() string {
	var b strings.Builder
	for _, c := range lint.Checks() {
		fmt.Fprintf(&b, "  %-22s %-8s %s\n", c.Name, c.Severity, c.Looks)
	}
	return b.String()
}

// findings lints the cluster, or returns what a snapshot recorded.
func (p *program) findings(ctx context.Context, file string) (found []picture.Finding, unread string, err error) {
	if file != "" {
		pic, err := p.replay(file)
		if err != nil {
			return nil, "", err
		}
		return pic.Findings, pic.FindingsUnread, nil
	}
	c, err := p.connect()
	if err != nil {
		return nil, "", err
	}
	obj, err := p.findWavefront(ctx, c)
	if err != nil {
		return nil, "", err
	}
	found, err = p.lint(ctx, c, obj.Name)
	return found, "", err
}

func (p *program) lint(ctx context.Context, c client.Client, wavefront string) ([]picture.Finding, error) {
	d, err := p.judge(ctx, c, wavefront, false)
	if err != nil {
		return nil, err
	}
	f := &lint.Fleet{Wavefront: d.wavefront, Evaluation: &d.evaluation, Read: d.read, Unread: map[string]string{}}
	var helm sourcev1.HelmRepositoryList
	var oci sourcev1.OCIRepositoryList
	var receivers notificationv1.ReceiverList
	automations := unstructured.UnstructuredList{}
	automations.SetGroupVersionKind(schema.GroupVersionKind{Group: "image.toolkit.fluxcd.io", Version: "v1", Kind: "ImageUpdateAutomationList"})
	for kind, list := range map[string]client.ObjectList{
		"HelmRepositories": &helm, "OCIRepositories": &oci, "Receivers": &receivers, "ImageUpdateAutomations": &automations,
	} {
		if err := c.List(ctx, list); err != nil && !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			f.Unread[kind] = escape.Text(err.Error())
		}
	}
	f.HelmRepositories, f.OCIRepositories, f.Receivers, f.Automations = helm.Items, oci.Items, receivers.Items, automations.Items
	return lint.Run(f), nil
}

var severityStyles = map[picture.Severity]table.Style{picture.Error: table.Bad, picture.Warning: table.Warn}

func lintResult(findings []picture.Finding) *result {
	if findings == nil {
		findings = []picture.Finding{}
	}
	r := &result{document: findings, text: func(w io.Writer, wide, color bool) error {
		return writeFindings(w, findings, wide, color)
	}}
	for _, f := range findings {
		if f.Severity == picture.Error {
			r.code = ExitFound
		}
	}
	return r
}

// writeFindings prints a table where asked for wide, else a paragraph each: the
// sentences are what matters.
func writeFindings(w io.Writer, findings []picture.Finding, wide, color bool) error {
	if wide {
		t := table.Table{Header: []string{"SEVERITY", "CHECK", "OBJECT", "WHY", "FIX"}}
		for _, f := range findings {
			row := table.Text(string(f.Severity), f.Check, f.Object.String(), f.Why, f.Fix)
			row[0].Style = severityStyles[f.Severity]
			t.Add(row...)
		}
		return t.Write(w, color)
	}
	counts := map[picture.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
		severity := table.Paint(escape.Terminal(string(f.Severity)), severityStyles[f.Severity], color)
		if _, err := fmt.Fprintf(w, "%s %s (%s)\n  why: %s\n  fix: %s\n\n", severity, escape.Terminal(f.Object.String()),
			escape.Terminal(f.Check), escape.Terminal(f.Why), escape.Terminal(f.Fix)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d errors, %d warnings, %d notes\n", counts[picture.Error], counts[picture.Warning], counts[picture.Info])
	return err
}
