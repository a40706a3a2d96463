// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// maxNote is what the API server takes for an event's note.
const maxNote = 1024

// eventNamespace is where events about objects without a namespace live.
const eventNamespace = metav1.NamespaceDefault

// audit records on the Wavefront what was done, by whom, from where and why. The
// deed is done: failing to record it is a warning.
func (p *program) audit(ctx context.Context, c client.Client, pl *plan, s step, f *writeFlags) {
	on := pl.wavefront
	if on == nil && s.object.Kind == wavefrontv1.WavefrontKind {
		on = &s.object
	}
	if on == nil {
		return
	}
	if err := p.recordEvent(ctx, c, *on, pl, s, f); err != nil {
		p.warning("no audit event was recorded on %s: %s", on, err)
	}
}

func (p *program) recordEvent(ctx context.Context, c client.Client, on picture.Ref, pl *plan, s step, f *writeFlags) error {
	obj := &wavefrontv1.Wavefront{}
	if err := c.Get(ctx, client.ObjectKey{Name: on.Name}, obj); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: on.Name + "-", Namespace: eventNamespace},
		EventTime:  metav1.NewMicroTime(p.now()), Type: corev1.EventTypeNormal,
		ReportingController: wavefrontv1.CLIFieldManager, ReportingInstance: cut(p.origin(), 128),
		Action: pl.action, Reason: pl.reason, Note: cut(p.auditNote(ctx, c, s, f), maxNote),
		Regarding: corev1.ObjectReference{
			APIVersion: wavefrontv1.GroupVersion.String(), Kind: wavefrontv1.WavefrontKind, Name: on.Name, UID: obj.UID,
		},
	}
	if s.object.Kind == sourcev1.GitRepositoryKind {
		event.Related = relatedSource(s.object)
	}
	return c.Create(ctx, event, client.FieldOwner(wavefrontv1.CLIFieldManager))
}

func relatedSource(r picture.Ref) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: sourcev1.GroupVersion.String(), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// auditNote says what, who, from where and why.
func (p *program) auditNote(ctx context.Context, c client.Client, s step, f *writeFlags) string {
	note := fmt.Sprintf("%s; by %s from %s", s.say, p.clusterUser(ctx, c), p.origin())
	if f.reason != "" {
		note += "; because: " + f.reason
	}
	return escape.Terminal(escape.Text(note))
}

// clusterUser is who the API server takes the caller for.
func (p *program) clusterUser(ctx context.Context, c client.Client) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil || review.Status.UserInfo.Username == "" {
		return "an unknown user"
	}
	return review.Status.UserInfo.Username
}

// cut bounds a text in bytes, at a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && s[end]&0xc0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
