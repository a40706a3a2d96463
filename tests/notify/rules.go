// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"errors"
	"fmt"
	"strings"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
)

// Kinds is the closed list that the CRD of Alert allows in
// spec.eventSources[].kind. TestKindsAreThoseOfTheCRD keeps it honest.
var Kinds = []string{
	"Bucket", "GitRepository", "Kustomization", "HelmRelease", "HelmChart", "HelmRepository",
	"ImageRepository", "ImagePolicy", "ImageUpdateAutomation", "OCIRepository", "ArtifactGenerator", "ExternalArtifact",
}

// validate tells what is missing of an event that the receiver can use.
func validate(e *eventv1.Event) error {
	var errs []error
	for _, field := range []struct{ name, value string }{
		{"involvedObject.apiVersion", e.InvolvedObject.APIVersion},
		{"involvedObject.kind", e.InvolvedObject.Kind},
		{"involvedObject.namespace", e.InvolvedObject.Namespace},
		{"involvedObject.name", e.InvolvedObject.Name},
		{"severity", e.Severity},
		{"message", e.Message},
		{"reason", e.Reason},
		{"action", e.Action},
		{"reportingController", e.ReportingController},
	} {
		if field.value == "" {
			errs = append(errs, fmt.Errorf("event lacks %s", field.name))
		}
	}
	if e.Severity == eventv1.EventSeverityTrace {
		errs = append(errs, errors.New("event of severity trace is not for the receiver"))
	}
	return errors.Join(errs...)
}

// key is what two events must agree in to be duplicates: neither the reason nor
// the severity.
func key(e *eventv1.Event) string {
	group := e.InvolvedObject.GroupVersionKind().Group
	parts := []string{
		e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Message,
	}
	for _, name := range []string{eventv1.MetaRevisionKey, eventv1.MetaOriginRevisionKey, eventv1.MetaTokenKey} {
		parts = append(parts, e.Metadata[group+"/"+name])
	}
	return strings.Join(parts, "\x00")
}

// strip keeps the metadata that travels: keys with the prefix of the involved
// object's API group, or of the event API; without their prefix.
func strip(e *eventv1.Event) map[string]string {
	group := e.InvolvedObject.GroupVersionKind().Group
	kept := map[string]string{}
	for name, value := range e.Metadata {
		for _, prefix := range []string{group + "/", eventv1.Group + "/"} {
			bare, ok := strings.CutPrefix(name, prefix)
			if ok && bare != eventv1.MetaDigestKey && bare != eventv1.MetaChecksumKey {
				kept[bare] = value
			}
		}
	}
	return kept
}
