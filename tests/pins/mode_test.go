// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// controllerWrites are the controller's writes in the fleet's namespace since a mark, but
// for events.
func (f *fixture) controllerWrites(mark int64) []env.AuditEvent {
	f.t.Helper()
	events, err := f.env.AuditLog().Since(mark)
	f.ok(err)
	var writes []env.AuditEvent
	for _, e := range events {
		if e.User.Username == env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName) && e.IsWrite() &&
			e.ObjectRef.Namespace == f.Namespace() && e.ObjectRef.Resource != "events" {
			writes = append(writes, e)
		}
	}
	return writes
}

// TestShadow: zero writes but the Wavefront's own status; what would be admitted is
// announced once; both flips.
func TestShadow(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "shadow", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	mark, err := f.env.AuditLog().Mark()
	f.ok(err)
	f.wavefront(wavefrontv1.ModeShadow)
	f.quiescent()
	f.pinBy(kubectlEdit, "app", testfleet.ArtifactOf(f.get("app")))
	f.pinBy(kubectlEdit, "app", "")

	head := f.push("db")
	f.g.Eventually(func() int { return len(f.eventsOf("ShadowAdmission", "db")) }, patience, time.Second).Should(Equal(1))
	f.request(&sourcev1.GitRepository{}, "db")
	f.awaitApplied("db", head)
	f.quiescent()
	f.g.Expect(f.eventsOf("ShadowAdmission", "db")).To(HaveLen(1), "once")
	f.g.Expect(f.controllerWrites(mark)).To(BeEmpty())
	f.g.Expect(f.get("db").Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))

	f.patchWavefront(f.Namespace(), `{"spec":{"mode":"Enforce"}}`)
	f.source("db", "the initial pin", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == head })
	f.source("app", "the initial pin", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == testfleet.ArtifactOf(s) })
	f.quiescent()

	f.patchWavefront(f.Namespace(), `{"spec":{"mode":"Shadow"}}`)
	f.status(f.Namespace(), "the mode to be seen", func(s *wavefrontv1.WavefrontStatus) bool { return s.ObservedGeneration == 3 })
	mark, err = f.env.AuditLog().Mark()
	f.ok(err)
	f.push("db")
	f.g.Eventually(func() int { return len(f.eventsOf("ShadowAdmission", "db")) }, patience, time.Second).Should(Equal(2))
	f.g.Expect(testfleet.PinOf(f.get("db"))).To(Equal(head), "the real pins stay")
	f.g.Expect(f.controllerWrites(mark)).To(BeEmpty())
}

// TestSuspend: no writes to sources of any kind; what was stripped meanwhile is not
// rolled back afterwards.
func TestSuspend(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "suspend", testfleet.Node{Name: "app"}, testfleet.Node{Name: "db"})
	f.enforce()
	f.quiescent()
	pin := testfleet.PinOf(f.get("app"))
	f.patchWavefront(f.Namespace(), `{"spec":{"suspend":true}}`)
	f.status(f.Namespace(), "the suspension to be seen", func(s *wavefrontv1.WavefrontStatus) bool { return s.ObservedGeneration == 2 })
	mark, err := f.env.AuditLog().Mark()
	f.ok(err)
	head := f.push("app")
	f.push("db")
	f.status(f.Namespace(), "the candidates", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Pending == 2
	})
	f.pinBy("somebody", "app", "")
	f.awaitApplied("app", head)
	f.g.Expect(f.controllerWrites(mark)).To(BeEmpty())

	f.patchWavefront(f.Namespace(), `{"spec":{"suspend":false}}`)
	s := f.source("app", "the new pin", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) != "" })
	f.g.Expect(testfleet.PinOf(s)).To(Equal(head), "it has floated on; nothing is rolled back to %s", pin)
	f.quiescent()
}
