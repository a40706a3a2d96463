// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/tests/env"
)

// The controller as shipped needs no CRD of FluxApp while the gate is off, and
// carries FluxApps out under its own roles when it is on.
func TestShippedController(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &suite{Env: env.ForTest(t, env.Options{NoFlux: true, Audit: true})}
	definition := uninstall(t, s, "fluxapps.apps.kloudy.uk")
	gateOff, err := s.NewController(t.Context(), env.ControllerOptions{Name: "gate-off"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gateOff.Start(t.Context())).To(Succeed(), "it is ready without the CRD")
	g.Expect(gateOff.Stop()).To(Succeed())

	install(t, s, definition)
	g.Expect(s.startDoubles(t.Context(), false)).To(Succeed())
	gateOn, err := s.NewController(t.Context(), env.ControllerOptions{
		Name: "gate-on",
		Args: []string{"--feature-gates=FluxApp=true"},
		RBAC: []string{filepath.Join("config", "rbac"), filepath.Join("config", "fluxapp", "rbac")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gateOn.Start(t.Context())).To(Succeed())
	p := s.place(t, "shipped")
	app := p.app(t, "example", "oci://registry.local/podinfo", "~> 6")
	p.expectReady(t, app, "6.1.0")
	g.Expect(p.Client().Delete(t.Context(), app)).To(Succeed())
	p.expectGone(t, app)

	requests, err := s.AuditLog().Events()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests).NotTo(BeEmpty())
	for _, request := range requests {
		// Flux's client asks for a path of no resource first, only to read the
		// answer's headers.
		g.Expect(request.IsForbidden() && request.ObjectRef.Resource != "").To(BeFalse(), "%s %s", request.Verb, request.RequestURI)
	}
}
