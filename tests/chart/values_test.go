// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/isometry/wavefront-controller/tests/env"
)

// effects says, for each value, what it changes in what is rendered.
var effects = map[string]struct{ values, want, gone string }{
	"image.repository":           {values: "image: {repository: example.com/w}", want: "image: example.com/w:v"},
	"image.tag":                  {values: "image: {tag: v9}", want: "image: ghcr.io/isometry/wavefront-controller:v9\n"},
	"image.digest":               {values: "image: {digest: 'sha256:" + strings.Repeat("a", 64) + "'}", want: "image: ghcr.io/isometry/wavefront-controller@sha256:aaaa"},
	"image.pullPolicy":           {values: "image: {pullPolicy: Always}", want: "imagePullPolicy: Always"},
	"imagePullSecrets":           {values: "imagePullSecrets: [{name: regcred}]", want: "- name: regcred"},
	"replicas":                   {values: "replicas: 2", want: "replicas: 2"},
	"events.enabled":             {values: "events: {enabled: false}", want: "- --events-addr=\n"},
	"events.address":             {values: "events: {address: 'http://other/'}", want: "--events-addr=http://other/\n"},
	"watchAllNamespaces":         {values: "watchAllNamespaces: false", want: "--watch-all-namespaces=false"},
	"log.level":                  {values: "log: {level: debug}", want: "--log-level=debug"},
	"log.encoding":               {values: "log: {encoding: console}", want: "--log-encoding=console"},
	"featureGates":               {values: "featureGates: {ObjectLevelWorkloadIdentity: true}", want: "--feature-gates=ObjectLevelWorkloadIdentity=true"},
	"extraArgs":                  {values: "extraArgs: ['--concurrent=9']", want: `- "--concurrent=9"`},
	"extraEnv":                   {values: "extraEnv: [{name: HTTPS_PROXY, value: 'http://proxy'}]", want: "name: HTTPS_PROXY"},
	"serviceAccount.annotations": {values: "serviceAccount: {annotations: {role: fleet}}", want: "role: fleet"},
	"rbac.create":                {values: "rbac: {create: false}", gone: "kind: ClusterRole"},
	"crds.install":               {values: "crds: {install: false}", gone: "kind: CustomResourceDefinition"},
	"networkPolicy.enabled":      {values: "networkPolicy: {enabled: false}", gone: "kind: NetworkPolicy"},
	"fluxApp.enabled":            {values: "fluxApp: {enabled: true}", want: "--feature-gates=FluxApp=true"},
	"podMonitor.enabled":         {values: "podMonitor: {enabled: true}", want: "kind: PodMonitor"},
	"podMonitor.interval":        {values: "podMonitor: {enabled: true, interval: 7s}", want: "interval: 7s"},
	"podMonitor.labels":          {values: "podMonitor: {enabled: true, labels: {prometheus: main}}", want: "prometheus: main"},
	"priorityClassName":          {values: "priorityClassName: other", want: "priorityClassName: other"},
	"resources":                  {values: "resources: {limits: {memory: 3Gi}}", want: "memory: 3Gi"},
	"podAnnotations":             {values: "podAnnotations: {prometheus.io/port: '9999'}", want: `prometheus.io/port: "9999"`, gone: `prometheus.io/port: "8080"`},
	"podLabels":                  {values: "podLabels: {c: d}", want: "\n        c: \"d\"\n"},
	"nodeSelector":               {values: "nodeSelector: {pool: system}", want: "pool: system"},
	"tolerations":                {values: "tolerations: [{key: dedicated}]", want: "- key: dedicated"},
	"affinity":                   {values: "affinity: {nodeAffinity: {}}", want: "nodeAffinity: {}"},
	"topologySpreadConstraints":  {values: "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]", want: "topologyKey: kubernetes.io/hostname"},
}

// TestEveryValueHasAnEffect renders each value alone; each documented value must be
// among them.
func TestEveryValueHasAnEffect(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	standard, _, err := render(t, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(leaves("", load(t).Values)).To(HaveEach(BeElementOf(effectNames())))
	for name, effect := range effects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			manifest, _, err := render(t, effect.values)
			g.Expect(err).NotTo(HaveOccurred())
			if effect.gone != "" {
				g.Expect(standard).To(ContainSubstring(effect.gone))
				g.Expect(manifest).NotTo(ContainSubstring(effect.gone))
				return
			}
			g.Expect(standard).NotTo(ContainSubstring(effect.want))
			g.Expect(manifest).To(ContainSubstring(effect.want))
		})
	}
}

func effectNames() []string {
	var names []string
	for name := range effects {
		names = append(names, name)
	}
	return names
}

// leaves lists the paths of values, down to those that effects knows.
func leaves(prefix string, tree map[string]any) []string {
	var paths []string
	for key, value := range tree {
		path := prefix + key
		_, known := effects[path]
		if nested, ok := value.(map[string]any); ok && !known {
			paths = append(paths, leaves(path+".", nested)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// TestRefused asks for an error that names the value.
func TestRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, values, wantErr string }{
		{name: "misspelt value", values: "replica: 1", wantErr: "replica"},
		{name: "misspelt nested value", values: "image: {tga: v1}", wantErr: "tga"},
		{name: "level", values: "log: {level: loud}", wantErr: "level"},
		{name: "digest", values: "image: {digest: abc}", wantErr: "digest"},
		{name: "replicas", values: "replicas: -1", wantErr: "replicas"},
		{name: "spread", values: "topologySpreadConstraints: [{maxSkew: 1}]", wantErr: "topologyKey"},
		{name: "argument", values: "extraArgs: ['concurrent=9']", wantErr: "extraArgs"},
		{name: "gate", values: "featureGates: {FluxApp: 'yes'}", wantErr: "FluxApp"},
		{name: "label that the selector needs", values: "podLabels: {app: mine}", wantErr: `podLabels: "app" is set by the chart`},
		{name: "interval", values: "podMonitor: {interval: soon}", wantErr: "interval"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := render(t, tt.values)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
		})
	}
}

// TestNotes takes the manifest out of the notes.
func TestNotes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, notes, err := render(t, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(notes).NotTo(ContainSubstring("crds.install is false"))
	_, rest, found := strings.Cut(notes, "<<'EOF'\n")
	g.Expect(found).To(BeTrue())
	manifest, _, _ := strings.Cut(rest, "  EOF\n")
	objs, err := env.Decode([]byte(dedent(manifest)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objs).To(HaveLen(1))
	g.Expect(objs[0].GetKind()).To(Equal("Wavefront"))

	_, notes, err = render(t, "crds: {install: false}")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(notes).To(ContainSubstring("crds.install is false"))
}

func dedent(text string) string {
	return strings.ReplaceAll("\n"+text, "\n  ", "\n")
}

// TestDefaultsAreValid validates values.yaml with its own schema.
func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	defaults, err := yaml.Marshal(load(t).Values)
	g.Expect(err).NotTo(HaveOccurred())
	_, _, err = render(t, string(defaults))
	g.Expect(err).NotTo(HaveOccurred())
}
