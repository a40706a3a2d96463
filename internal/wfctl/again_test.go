// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// TestWatchFlag: what changed is printed again, what did not is not, and an API
// server that is away for a moment ends nothing.
func TestWatchFlag(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := fakeClient(quiescent())
	looks := 0
	watched := interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			wavefronts, ok := list.(*wavefrontv1.WavefrontList)
			if !ok {
				return inner.List(ctx, list, opts...)
			}
			looks++
			if looks == 2 {
				return errors.New("connection refused")
			}
			err := inner.List(ctx, list, opts...)
			if looks > 3 && err == nil {
				wavefronts.Items[0].Spec.Suspend = true
				cancel()
			}
			return err
		},
	})
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	code := Main(ctx, []string{"wfctl", "status", "--watch", "--every", "1s"}, "1", streams,
		WithClient(watched), WithClock(func() time.Time { return fixtureNow }))
	g.Expect(code).To(Equal(ExitSuccess), errOut.String())
	g.Expect(strings.Count(out.String(), "Wavefront:")).To(Equal(2), out.String())
	g.Expect(out.String()).To(And(ContainSubstring("\n---\n"), ContainSubstring("yes: no source is moved")))
	g.Expect(errOut.String()).To(ContainSubstring("connection refused"))
}
