// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// reporters are the controllers whose events make up the history.
var reporters = []string{wavefrontv1.FieldManager, wavefrontv1.CLIFieldManager}

// pageSize of a listing of events: a busy cluster has very many.
const pageSize = 500

// About is the object that an event is told of: the related one where the event
// regards the Wavefront itself.
func (e Event) About() Ref {
	if e.Regarding.Kind == wavefrontv1.WavefrontKind && e.Related != nil {
		return *e.Related
	}
	return e.Regarding
}

// Events returns the events of the controller and of wfctl about the Wavefront,
// oldest first. What happens to a source is told twice, on the source and on the
// Wavefront: the copy on the Wavefront is kept.
func Events(ctx context.Context, c client.Reader, wavefront string) ([]Event, error) {
	var out []Event
	list := &eventsv1.EventList{}
	for {
		if err := c.List(ctx, list, client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if e, ok := eventOf(&list.Items[i], wavefront); ok {
				out = append(out, e)
			}
		}
		if list.Continue == "" {
			break
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		if c := a.At.Compare(b.At.Time); c != 0 {
			return c
		}
		return a.About().Compare(b.About())
	})
	return out, nil
}

func eventOf(e *eventsv1.Event, wavefront string) (Event, bool) {
	if !slices.Contains(reporters, e.ReportingController) {
		return Event{}, false
	}
	regarding := objectRef(e.Regarding)
	self := Ref{Kind: wavefrontv1.WavefrontKind, Name: wavefront}
	out := Event{
		At: momentOf(e), Type: e.Type, Reason: e.Reason, Action: e.Action, Reporter: e.ReportingController,
		Regarding: regarding, Note: escape.Text(e.Note),
	}
	if e.Series != nil {
		out.Count = e.Series.Count
	}
	if e.Related != nil {
		related := objectRef(*e.Related)
		out.Related = &related
	}
	switch {
	case regarding == self:
		return out, true
	case regarding.Kind == wavefrontv1.WavefrontKind || out.Related == nil || *out.Related != self:
		return out, false
	}
	return out, regarding.Kind != "GitRepository"
}

// objectRef names the object; a cluster-scoped one has no namespace, whatever
// the recorder put there.
func objectRef(r corev1.ObjectReference) Ref {
	if r.Kind == wavefrontv1.WavefrontKind {
		r.Namespace = ""
	}
	return Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// momentOf is when the event was last seen.
func momentOf(e *eventsv1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.EventTime.IsZero():
		return metav1.NewTime(e.EventTime.Time)
	case !e.DeprecatedLastTimestamp.IsZero():
		return e.DeprecatedLastTimestamp
	}
	return e.CreationTimestamp
}
