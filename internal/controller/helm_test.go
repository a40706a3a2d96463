// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

// discovery answers whether kinds are installed.
type discovery struct {
	apimeta.RESTMapper
	asked  atomic.Int32
	answer atomic.Pointer[error]
}

func (d *discovery) RESTMapping(schema.GroupKind, ...string) (*apimeta.RESTMapping, error) {
	d.asked.Add(1)
	return nil, *d.answer.Load()
}

// watchCounter counts the watches that are started.
type watchCounter struct {
	started atomic.Int32
	err     error
}

func (w *watchCounter) Watch(source.TypedSource[ctrl.Request]) error {
	w.started.Add(1)
	return w.err
}

var errNotInstalled error = &apimeta.NoKindMatchError{}

// TestHelmInstalledLater: while the kinds are not there they are looked for, and
// nothing else; an API server that does not answer is asked again soon.
func TestHelmInstalledLater(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unreachable, installed := errDown, error(nil)
	d, watches, clk := &discovery{}, &watchCounter{}, clocktesting.NewFakeClock(midnight)
	d.answer.Store(&unreachable)
	h := &helm{mapper: d, clock: clk, controller: watches, roster: newRoster()}
	ended := make(chan error, 1)
	go func() { ended <- h.Start(t.Context()) }()
	waiting := func() {
		g.EventuallyWithOffset(1, clk.HasWaiters).WithTimeout(time.Minute).Should(BeTrue())
	}

	waiting()
	g.Expect(h.probed.Load()).To(BeFalse(), "nothing may be judged before it is known")
	d.answer.Store(&errNotInstalled)
	clk.Step(helmProbeRetry)
	g.Eventually(h.probed.Load).WithTimeout(time.Minute).Should(BeTrue())
	waiting()
	g.Expect(h.watched.Load()).To(BeFalse())
	before := d.asked.Load()
	clk.Step(helmProbeRetry)
	g.Expect(d.asked.Load()).To(Equal(before), "what is not installed is not asked for every second")

	d.answer.Store(&installed)
	clk.Step(helmProbeInterval)
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()))
	g.Expect(h.watched.Load()).To(BeTrue())
	g.Expect(watches.started.Load()).To(BeEquivalentTo(2))
}

func TestHelmEnds(t *testing.T) {
	t.Parallel()
	t.Run("with the process", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d := &discovery{}
		d.answer.Store(&errNotInstalled)
		g.Expect((&helm{mapper: d, clock: clocktesting.NewFakeClock(midnight)}).Start(ctx)).To(Succeed())
	})
	t.Run("with a watch that can't be started", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		var installed error
		d := &discovery{}
		d.answer.Store(&installed)
		h := &helm{mapper: d, clock: clocktesting.NewFakeClock(midnight), controller: &watchCounter{err: errDown}, roster: newRoster()}
		g.Expect(h.Start(t.Context())).To(MatchError(errDown))
		g.Expect(h.watched.Load()).To(BeFalse())
	})
}

// waits is a cache whose first list of Helm's kinds never comes.
type waits struct{ client.Reader }

func (w waits) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if _, helm := list.(*helmv2.HelmReleaseList); !helm {
		return nil
	}
	deadline, has := ctx.Deadline()
	if !has || time.Until(deadline) > helmSyncTimeout {
		return errors.New("nobody would wait for that")
	}
	return context.DeadlineExceeded
}

func TestHelmReader(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := &helm{}
	r := h.reader(waits{})
	g.Expect(r.List(t.Context(), &kustomizev1.KustomizationList{})).To(Succeed())
	for _, list := range []client.ObjectList{&helmv2.HelmReleaseList{}, &sourcev1.HelmChartList{}} {
		g.Expect(apimeta.IsNoMatchError(r.List(t.Context(), list))).To(BeTrue(), "not installed")
	}
	h.watched.Store(true)
	g.Expect(r.List(t.Context(), &helmv2.HelmReleaseList{})).To(MatchError(context.DeadlineExceeded))
	g.Expect(r.List(t.Context(), &sourcev1.HelmChartList{})).To(Succeed())
}
