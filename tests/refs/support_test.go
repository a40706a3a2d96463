// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"os"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/isometry/wavefront-controller/internal/refs"
)

// need skips the test where a program is missing, or fails it where all must be
// there.
func need(t *testing.T, found bool, what, how string) {
	t.Helper()
	switch {
	case found:
	case os.Getenv("REFS_REQUIRED") != "":
		t.Fatalf("%s is missing: %s", what, how)
	default:
		t.Skipf("%s is missing: %s", what, how)
	}
}

// secret makes a Secret of the namespace that sources are in.
func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func source(name, url, secretName string) *sourcev1.GitRepository {
	r := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	r.Spec.URL, r.Spec.Reference = url, &sourcev1.GitRepositoryRef{Branch: "main"}
	if secretName != "" {
		r.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: secretName}
	}
	return r
}

func lister(tb testing.TB, objects ...client.Object) *refs.Lister {
	tb.Helper()
	l := refs.NewLister(refs.ListerOptions{
		Clock: refs.NewClock(clock.RealClock{}), Timeout: 10 * time.Second,
		Client: fake.NewClientBuilder().WithObjects(objects...).Build(),
	})
	tb.Cleanup(l.Close)
	return l
}

// list returns the commit that a source tracks, and the kind of the error.
func list(ctx context.Context, l *refs.Lister, s *sourcev1.GitRepository) (string, error) {
	found, err := l.List(ctx, s)
	return string(found.Commit), err
}
