// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
)

// hidden is what must be nowhere.
const hidden = "hunter2"

func lister(t *testing.T, r prometheus.Registerer, objects ...client.Object) *refs.Lister {
	t.Helper()
	l := refs.NewLister(refs.ListerOptions{
		Clock: refs.NewClock(clock.RealClock{}), Registerer: r,
		Client: fake.NewClientBuilder().WithObjects(objects...).Build(),
	})
	t.Cleanup(l.Close)
	return l
}

func repository(url string, change ...func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
	r := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
	r.Spec.URL = url
	r.Spec.Reference = &sourcev1.GitRepositoryRef{Branch: "main"}
	for _, c := range change {
		c(r)
	}
	return r
}

func TestLister(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	repo := filepath.Join(root, "repo.git")
	main := gittest.Init(t, repo, "sha1")
	next := gittest.Commit(t, repo, "refs/heads/next", "second")
	backend := gittest.Backend(t, root, false)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != hidden {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"},
		Data:       map[string][]byte{"username": []byte("u"), "password": []byte(hidden)},
	}
	registry := prometheus.NewRegistry()
	l := lister(t, registry, secret)
	with := func(r *sourcev1.GitRepository) { r.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "s"} }
	source := repository(server.URL+"/repo.git", with)

	found, err := l.List(t.Context(), source)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Commit).To(Equal(fleet.Revision(main)))
	g.Expect(found.URL).To(Equal(source.Spec.URL))
	g.Expect(found.Ref).To(Equal("refs/heads/main"))
	g.Expect(found.Completed.After(found.Started, 0)).To(BeTrue())
	g.Expect(found.At).NotTo(BeZero())

	heads, err := l.Heads(t.Context(), source, 10)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(heads).To(Equal([]refs.Head{
		{Name: "refs/heads/main", Commit: fleet.Revision(main)}, {Name: "refs/heads/next", Commit: fleet.Revision(next)},
	}))

	failing := []struct {
		source *sourcev1.GitRepository
		kind   refs.ErrorKind
		heads  bool
	}{
		{repository(server.URL+"/repo.git", with, func(r *sourcev1.GitRepository) { r.Spec.Reference.Branch = "none" }), fault.RefMissing, false},
		{repository(server.URL+"/repo.git", with, func(r *sourcev1.GitRepository) { r.Spec.Reference.Tag = "v1" }), fault.Unsupported, false},
		{repository(server.URL+"/none.git", with), fault.NotFound, false},
		{repository(server.URL + "/repo.git"), fault.Unauthorized, false},
		{repository(strings.Replace(server.URL, "//", "//x:"+hidden+"@", 1) + "/repo.git?token=" + hidden), fault.Unauthorized, false},
		{repository(server.URL+"/repo.git", func(r *sourcev1.GitRepository) {
			r.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "gone"}
		}), fault.Credentials, false},
		{source, fault.TooLarge, true},
	}
	for _, tt := range failing {
		var err error
		if tt.heads {
			_, err = l.Heads(t.Context(), tt.source, 1)
		} else {
			_, err = l.List(t.Context(), tt.source)
		}
		var typed *refs.Error
		g.Expect(errors.As(err, &typed)).To(BeTrue())
		g.Expect(typed.Kind).To(Equal(tt.kind), "%v", err)
		g.Expect(err.Error()).NotTo(ContainSubstring(hidden))
	}

	// Nothing is hidden in the metrics either, and every metric is described.
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fmt.Sprint(families)).NotTo(ContainSubstring(hidden))
	described := map[string]string{}
	for _, m := range refs.Metrics() {
		described[m.Name] = m.Help
	}
	g.Expect(families).To(HaveLen(len(described)))
	for _, f := range families {
		g.Expect(described).To(HaveKeyWithValue(f.GetName(), f.GetHelp()))
	}
	g.Expect(testutil.GatherAndCount(registry, "wavefront_ref_list_total")).To(Equal(5), "success and four kinds of failure")
}
