// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// other returns a value of a flag that is not its default.
func other(g *WithT, f *pflag.Flag) string {
	values := map[string]string{
		"log-encoding": "console", "log-level": "debug", "feature-gates": "FluxApp=true",
	}
	if value, is := values[f.Name]; is {
		return value
	}
	types := map[string]string{
		"string": "other", "stringSlice": "other", "bool": "true", "int": "7", "uint8": "7", "float32": "7", "duration": "7m",
	}
	value, known := types[f.Value.Type()]
	g.Expect(known).To(BeTrue(), "flag --%s has the unknown type %s", f.Name, f.Value.Type())
	if f.Value.Type() == "bool" && f.DefValue == "true" {
		return "false"
	}
	return value
}

// TestFlags: every flag reaches a field of the options, and every such field is
// read by the program.
func TestFlags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := pflag.NewFlagSet("all", pflag.ContinueOnError)
	new(options).BindFlags(all)
	reads := fieldsRead(g)
	all.VisitAll(func(f *pflag.Flag) {
		before, after := bound(), bound()
		g.Expect(after.flags.Set(f.Name, other(g, f))).To(Succeed(), f.Name)
		fields := differences(reflect.ValueOf(before.options).Elem(), reflect.ValueOf(after.options).Elem(), "")
		g.Expect(fields).To(HaveLen(1), "flag --%s reaches %v", f.Name, fields)
		read := slices.ContainsFunc(slices.Collect(maps.Keys(reads)), func(path string) bool {
			return path == fields[0] || strings.HasPrefix(fields[0], path+".")
		})
		g.Expect(read).To(BeTrue(), "flag --%s reaches options.%s, which nobody reads", f.Name, fields[0])
	})
}

type boundOptions struct {
	options *options
	flags   *pflag.FlagSet
}

func bound() boundOptions {
	b := boundOptions{options: &options{}, flags: pflag.NewFlagSet("test", pflag.ContinueOnError)}
	b.options.BindFlags(b.flags)
	return b
}

// differences lists the fields in which two structs differ, as paths.
func differences(a, b reflect.Value, prefix string) []string {
	var paths []string
	for i := range a.NumField() {
		name := prefix + a.Type().Field(i).Name
		x, y := a.Field(i), b.Field(i)
		switch {
		case x.Kind() == reflect.Struct:
			paths = append(paths, differences(x, y, name+".")...)
		case fmt.Sprint(x) != fmt.Sprint(y):
			paths = append(paths, name)
		}
	}
	return paths
}

func TestInvalidOptions(t *testing.T) {
	// Not parallel: the feature gates of the family are global.
	tests := []struct {
		name string
		args []string
		env  string
		want string
	}{
		{name: "defaults", env: "flux-system"},
		{name: "no namespace, but none is needed"},
		{name: "concurrency", args: []string{"--concurrent=0"}, want: "invalid value 0 for --concurrent"},
		{name: "token cache", args: []string{"--token-cache-max-size=-1"}, want: "invalid value -1 for --token-cache-max-size"},
		{name: "jitter", args: []string{"--interval-jitter-percentage=100"}, want: "invalid value 100 for --interval-jitter-percentage"},
		{name: "selector", args: []string{"--watch-label-selector=a=(b"}, want: `invalid value "a=(b" for --watch-label-selector`},
		{name: "leader election without a namespace", args: []string{"--enable-leader-election"}, want: "RUNTIME_NAMESPACE is not set"},
		{name: "one namespace without knowing it", args: []string{"--watch-all-namespaces=false"}, want: "RUNTIME_NAMESPACE is not set"},
		{name: "feature gate", args: []string{"--feature-gates=Nothing=true"}, want: "invalid value for --feature-gates"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv(runtimeNamespaceEnv, tt.env)
			b := bound()
			g.Expect(b.flags.Parse(tt.args)).To(Succeed())
			_, err := b.options.complete(logr.Discard())
			if tt.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tt.want)))
		})
	}
}

// TestCacheNamesNoOptionalKind: the manager does not start where a kind that the
// options of its cache name is not installed.
func TestCacheNamesNoOptionalKind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := newScheme()
	g.Expect(err).NotTo(HaveOccurred())
	kinds := func(gates map[string]bool) []string {
		o := managerOptions(&options{shard: labels.Everything(), allNamespaces: true}, gates, scheme, nil)
		var names []string
		for obj := range o.Cache.ByObject {
			names = append(names, reflect.TypeOf(obj).Elem().Name())
		}
		g.Expect(o.Cache.DefaultNamespaces).To(BeEmpty())
		return names
	}
	g.Expect(kinds(nil)).To(ConsistOf(wavefrontv1.WavefrontKind))
	g.Expect(kinds(map[string]bool{gateFluxApp: true})).To(ConsistOf(wavefrontv1.WavefrontKind, reflect.TypeFor[fluxappv1.FluxApp]().Name()))

	o := managerOptions(&options{shard: labels.Everything(), runtimeNamespace: "flux-system"}, nil, scheme, nil)
	g.Expect(o.Cache.DefaultNamespaces).To(HaveKey("flux-system"))
}

// TestSlim: what nobody reads is not cached; what somebody reads is.
func TestSlim(t *testing.T) {
	t.Parallel()
	owned := []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	shard, err := labels.Parse("shard=one")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	wavefront := func(shard string) *wavefrontv1.Wavefront {
		wf := &wavefrontv1.Wavefront{Status: wavefrontv1.WavefrontStatus{Phase: wavefrontv1.PhaseBlocked}}
		wf.Labels, wf.ManagedFields = map[string]string{"shard": shard}, owned
		return wf
	}
	source, node := &sourcev1.GitRepository{}, &kustomizev1.Kustomization{}
	source.ManagedFields, node.ManagedFields = owned, owned
	tests := []struct {
		name       string
		transform  func(any) (any, error)
		obj        client.Object
		wantOwners bool
		wantPhase  wavefrontv1.Phase
	}{
		{name: "a source", transform: slim, obj: source, wantOwners: true},
		{name: "a node", transform: slim, obj: node},
		{name: "a Wavefront of ours", transform: slimPeers(shard), obj: wavefront("one"), wantPhase: wavefrontv1.PhaseBlocked},
		{name: "a Wavefront of another shard", transform: slimPeers(shard), obj: wavefront("two")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out, err := tt.transform(tt.obj)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(out.(client.Object).GetManagedFields()) > 0).To(Equal(tt.wantOwners))
			if wf, is := out.(*wavefrontv1.Wavefront); is {
				g.Expect(wf.Status.Phase).To(Equal(tt.wantPhase))
			}
		})
	}
}

func TestLeaseName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(leaseName("")).To(Equal("wavefront-controller-leader-election"))
	g.Expect(leaseName("shard=one")).NotTo(Equal(leaseName("shard=two")), "each shard has its own")
}
