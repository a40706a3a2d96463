// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// auditPolicy is kube-apiserver's: see its comments.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// AuditEvent is one request to the API server, from its audit log. What the policy
// leaves out is not there: reads by administrators, and bodies except for writes to
// GitRepositories.
type AuditEvent struct {
	// Stage is ResponseComplete; for watches also ResponseStarted.
	Stage string `json:"stage"`
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string `json:"verb"`
	// RequestURI carries the parameters too: fieldManager, force, dryRun.
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	// ObjectRef is what the request is about; empty for other paths than resources.
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code   int    `json:"code"`
		Reason string `json:"reason"`
	} `json:"responseStatus"`
	RequestObject   json.RawMessage   `json:"requestObject"`
	ResponseObject  json.RawMessage   `json:"responseObject"`
	RequestReceived time.Time         `json:"requestReceivedTimestamp"`
	Annotations     map[string]string `json:"annotations"`
}

// IsWrite tells whether the request could have changed anything.
func (a AuditEvent) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, a.Verb)
}

// IsForbidden tells whether authorization refused the request.
func (a AuditEvent) IsForbidden() bool {
	return a.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// ServiceAccountUser is the user name of a ServiceAccount in audit events.
func ServiceAccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// AuditLog reads the API server's audit log.
type AuditLog struct{ path string }

// AuditLog is the API server's audit log. Without Options.Audit it stays empty.
func (e *Env) AuditLog() *AuditLog { return &AuditLog{path: e.auditFile()} }

func (e *Env) auditFile() string { return e.logFile("audit") }

// Mark is the present end of the log, for Since.
func (l *AuditLog) Mark() (int64, error) {
	info, err := os.Stat(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Events returns all events, in the order of their completion.
func (l *AuditLog) Events() ([]AuditEvent, error) { return l.Since(0) }

// Since returns the events after a mark. A request is in the log before its answer is
// sent, so that the caller finds all of its own.
func (l *AuditLog) Since(mark int64) ([]AuditEvent, error) {
	content, err := os.ReadFile(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var events []AuditEvent
	for line := range bytes.Lines(content[min(mark, int64(len(content))):]) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written
		}
		var event AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("failed to decode audit event: %w", err)
		}
		events = append(events, event)
	}
	return events, nil
}

// auditFlags writes the policy and returns the API server's flags.
func (e *Env) auditFlags() ([]string, error) {
	policy := filepath.Join(e.dir, "apiserver", "audit-policy.yaml")
	if err := os.WriteFile(policy, auditPolicy, 0o644); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(e.auditFile()), 0o755); err != nil {
		return nil, err
	}
	return []string{
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + e.auditFile(),
		"--audit-log-mode=blocking-strict",
		// Far beyond what a test writes; a control plane may run for days.
		"--audit-log-maxsize=200", "--audit-log-maxbackup=1",
	}, nil
}
