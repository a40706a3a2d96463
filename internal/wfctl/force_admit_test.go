// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// TestForcedAdmissionHonoursAStoppedWavefront: a Wavefront that is
// stopped while the plan is looked at stops the write.
func TestForcedAdmissionHonoursAStoppedWavefront(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stop func(*wavefrontv1.Wavefront)
		says string
	}{
		"suspended": {func(w *wavefrontv1.Wavefront) { w.Spec.Suspend = true }, "the Wavefront is suspended"},
		"shadow":    {func(w *wavefrontv1.Wavefront) { w.Spec.Mode = wavefrontv1.ModeShadow }, "the Wavefront is in Shadow"},
		"deleted":   {func(w *wavefrontv1.Wavefront) { w.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, "is being deleted"},
		"replaced":  {func(w *wavefrontv1.Wavefront) { w.UID = "another" }, "was replaced by another"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			// It is found by a list; what is read afterwards is as it is now.
			c := writable(blockedFleet(), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					err := c.Get(ctx, key, obj, opts...)
					if w, ok := obj.(*wavefrontv1.Wavefront); ok {
						tt.stop(w)
					}
					return err
				},
			})
			r := wfctl(t, c, "force-admit", "flotillas/app-repo", "--sha", commit("b"), "--unverified", "--yes")
			g.Expect(r.code).To(Equal(ExitError))
			g.Expect(r.stderr).To(ContainSubstring(tt.says))
			g.Expect(sourceOf(t, c, "flotillas/app-repo").Spec.Reference.Commit).To(Equal(commit("a")))
		})
	}
}
