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
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
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

// look is what of an object tells that somebody changed what we applied: its
// generation moves with every change of its spec. The rest of its metadata, and
// its status, are other people's.
type look struct {
	UID         types.UID
	Generation  int64
	Labels      map[string]string
	Annotations map[string]string
	Controller  types.UID
	Deleting    bool
}

// looks is the print of the wanted objects beside the observed ones.
func (k *Keeper) looks(wanted []*unstructured.Unstructured, observed []client.Object) (print, error) {
	found := make(map[Ref]client.Object, len(observed))
	for _, obj := range observed {
		gvk, err := apiutil.GVKForObject(obj, k.client.Scheme())
		if err != nil {
			return print{}, fmt.Errorf("failed to determine kind of %q: %w", client.ObjectKeyFromObject(obj), err)
		}
		found[NewRef(gvk, client.ObjectKeyFromObject(obj))] = obj
	}
	return fingerprint(wanted, found)
}

func fingerprint[T client.Object](wanted []*unstructured.Unstructured, found map[Ref]T) (print, error) {
	looks := make([]look, len(wanted))
	for i, want := range wanted {
		if obj, ok := found[refOf(want)]; ok {
			looks[i] = lookAt(obj, want)
		}
	}
	encoded, err := json.Marshal([]any{wanted, looks})
	if err != nil {
		return print{}, fmt.Errorf("failed to encode objects: %w", err)
	}
	return sha256.Sum256(encoded), nil
}

func lookAt(obj client.Object, want *unstructured.Unstructured) look {
	l := look{
		UID:         obj.GetUID(),
		Generation:  obj.GetGeneration(),
		Labels:      common(obj.GetLabels(), want.GetLabels()),
		Annotations: common(obj.GetAnnotations(), want.GetAnnotations()),
		Deleting:    !obj.GetDeletionTimestamp().IsZero(),
	}
	if controller := metav1.GetControllerOf(obj); controller != nil {
		l.Controller = controller.UID
	}
	return l
}

// common returns the entries of a map whose keys are wanted.
func common(has, want map[string]string) map[string]string {
	found := map[string]string{}
	for key := range want {
		if value, ok := has[key]; ok {
			found[key] = value
		}
	}
	return found
}
