// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// MaxNote is the longest note, in bytes, that the API server takes in an event
// of events.k8s.io/v1; it drops an event with a longer one.
const MaxNote = 1024

// Keys of an event's metadata, beside eventv1.MetaRevisionKey and
// eventv1.MetaTokenKey. They travel with the API group of the object that the
// event is about as prefix, or notification-controller strips them.
const (
	// MetaPreviousKey is the revision that was replaced.
	MetaPreviousKey = "previousRevision"
	// MetaWavefrontKey names the Wavefront that announced the change.
	MetaWavefrontKey = "wavefront"
	// MetaAncestorKey is the node that is waited for.
	MetaAncestorKey = "ancestor"
	// MetaBlockedByKey is the typed reason of a Blocked event.
	MetaBlockedByKey = "blockedBy"
	// MetaTroubleKey says what is wrong with the node that is waited for.
	MetaTroubleKey = "trouble"
	// MetaManagerKey is the field manager that holds a source.
	MetaManagerKey = "manager"
)

// Event is one change of one object, to be told to people.
type Event struct {
	// At is when it was announced; it may be delivered later.
	At time.Time
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason and Action are those of events.k8s.io/v1.
	Reason wavefrontv1.EventReason
	Action wavefrontv1.Action
	// Regarding is the object that the event is about. Related is the other
	// object of the change; zero for none.
	Regarding corev1.ObjectReference
	Related   corev1.ObjectReference
	// Note is for people: stable for the same change, at most MaxNote bytes.
	Note string
	// Metadata for machines; its keys carry no prefix yet.
	Metadata map[string]string
}

// Annotations returns the metadata as notification-controller wants it: every
// key prefixed with the API group of the object that the event is about.
func (e Event) Annotations() map[string]string {
	group := e.Regarding.GroupVersionKind().Group
	annotations := make(map[string]string, len(e.Metadata))
	for key, value := range e.Metadata {
		if value != "" {
			annotations[group+"/"+key] = value
		}
	}
	return annotations
}

// token is the metadata that makes each change a new one for
// notification-controller.
func (e Event) token() string { return e.Metadata[eventv1.MetaTokenKey] }

// cut shortens text to at most limit bytes of valid UTF-8, and marks the cut by an
// ellipsis.
func cut(text string, limit int) string {
	const ellipsis = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// kinds gives the API of the kinds that events are about.
var kinds = map[string]schema.GroupVersion{
	fleet.KindGitRepository: sourcev1.GroupVersion,
	fleet.KindKustomization: kustomizev1.GroupVersion,
}

// reference names a node or source for an event.
func reference(id fleet.ID, uid string) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: kinds[id.Kind].String(), Kind: id.Kind,
		Namespace: id.Namespace, Name: id.Name, UID: types.UID(uid),
	}
}

// wavefrontReference names a Wavefront for an event. Its resource version is
// that of the pass.
func wavefrontReference(wf *wavefrontv1.Wavefront) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: wavefrontv1.GroupVersion.String(), Kind: wavefrontv1.WavefrontKind,
		Name: wf.Name, UID: wf.UID, ResourceVersion: wf.ResourceVersion,
	}
}

// path renders an ID as namespace/name, the form of sources in the status.
func path(id fleet.ID) string { return id.Namespace + "/" + id.Name }

// parsePath reads a namespace/name of the status back.
func parsePath(kind, text string) (fleet.ID, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return fleet.ID{Kind: kind, Namespace: namespace, Name: name}, ok
}

// short renders a revision for people.
func short(r fleet.Revision) string {
	const digits = 12
	if r == "" {
		return "nothing"
	}
	return string(r[:min(digits, len(r))])
}

// digestOf renders a revision as the metadata of Flux has it.
func digestOf(r fleet.Revision) string {
	if r == "" {
		return ""
	}
	return "sha1:" + string(r)
}
