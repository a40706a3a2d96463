// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// print stands for the wanted objects together with the observed ones.
type print [sha256.Size]byte

// ledger remembers for each owner what its objects looked like when they were
// last found in order. Losing it costs one more look at each. An owner that was
// replaced by another of its name is told apart by the owner references.
type ledger struct {
	mu     sync.Mutex
	prints map[client.ObjectKey]print
}

func newLedger() *ledger {
	return &ledger{prints: map[client.ObjectKey]print{}}
}

func (l *ledger) settled(owner client.ObjectKey, p print) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.prints[owner]
	return ok && known == p
}

func (l *ledger) settle(owner client.ObjectKey, p print) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prints[owner] = p
}

func (l *ledger) forget(owner client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.prints, owner)
}

// look is what of an observed object tells that somebody changed it: its
// generation moves with every change of its spec, and status is not ours.
type look struct {
	UID         types.UID
	Generation  int64
	Labels      map[string]string
	Annotations map[string]string
	Owners      []metav1.OwnerReference
	Deleting    bool
}

func fingerprint(wanted []*unstructured.Unstructured, observed []client.Object) (print, error) {
	looks := make([]look, 0, len(observed))
	for _, obj := range observed {
		looks = append(looks, look{
			UID:         obj.GetUID(),
			Generation:  obj.GetGeneration(),
			Labels:      obj.GetLabels(),
			Annotations: obj.GetAnnotations(),
			Owners:      obj.GetOwnerReferences(),
			Deleting:    !obj.GetDeletionTimestamp().IsZero(),
		})
	}
	encoded, err := json.Marshal([]any{wanted, looks})
	if err != nil {
		return print{}, fmt.Errorf("failed to encode objects: %w", err)
	}
	return sha256.Sum256(encoded), nil
}
