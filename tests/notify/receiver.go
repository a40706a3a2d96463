// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
)

// maxBody bounds what is read of a request, in bytes.
const maxBody = 1 << 20

// Notification is an event that reached an Alert.
type Notification struct {
	// Kind, Namespace and Name of the object that it is about.
	Kind, Namespace, Name string
	// Related is the other object, as Kind/name; empty for none.
	Related  string
	Severity string
	Reason   string
	Action   string
	Message  string
	// Metadata that survived, without its prefixes.
	Metadata map[string]string
}

// String renders the notification as Kind/name Reason.
func (n Notification) String() string { return n.Kind + "/" + n.Name + " " + n.Reason }

// Receiver takes events as notification-controller does. Its Alerts select every
// object of the kinds that it was made with, in all namespaces.
type Receiver struct {
	server *httptest.Server
	kinds  []string

	mu         sync.Mutex
	seen       map[string]bool
	delivered  []Notification
	discarded  []Notification
	duplicates []Notification
	invalid    []error
	hanging    chan struct{}
	changed    chan struct{}
}

// New starts a Receiver on loopback; Close ends it. Without kinds it selects
// those of Kinds.
func New(kinds ...string) *Receiver {
	if len(kinds) == 0 {
		kinds = Kinds
	}
	r := &Receiver{kinds: kinds, seen: map[string]bool{}, changed: make(chan struct{}, 1)}
	r.server = httptest.NewServer(r)
	return r
}

// URL is what --events-addr takes.
func (r *Receiver) URL() string { return r.server.URL }

// Close ends the Receiver, requests that hang included.
func (r *Receiver) Close() {
	r.Heal()
	r.server.Close()
}

// Hang leaves requests unanswered from now on, like a receiver that is dead
// behind a load balancer.
func (r *Receiver) Hang() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hanging == nil {
		r.hanging = make(chan struct{})
	}
}

// Heal answers again, the requests that hang included.
func (r *Receiver) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hanging != nil {
		close(r.hanging)
		r.hanging = nil
	}
}

// Changed is signalled after requests; several may share one signal.
func (r *Receiver) Changed() <-chan struct{} { return r.changed }

// Delivered returns what reached an Alert, in the order of arrival.
func (r *Receiver) Delivered() []Notification { return r.list(&r.delivered) }

// Discarded returns what no Alert can select.
func (r *Receiver) Discarded() []Notification { return r.list(&r.discarded) }

// Duplicates returns what was refused because it was told before.
func (r *Receiver) Duplicates() []Notification { return r.list(&r.duplicates) }

// Invalid returns why events could not be used.
func (r *Receiver) Invalid() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.invalid)
}

func (r *Receiver) list(of *[]Notification) []Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(*of)
}

// ServeHTTP implements http.Handler: 202 for what is accepted (whether or not an
// Alert wants it), 429 for a duplicate, 400 for what is no event.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	hanging := r.hanging
	r.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		case <-req.Context().Done():
			return
		}
	}
	w.WriteHeader(r.receive(req))
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *Receiver) receive(req *http.Request) int {
	var e eventv1.Event
	err := json.NewDecoder(io.LimitReader(req.Body, maxBody)).Decode(&e)
	if err == nil && req.Method != http.MethodPost {
		err = fmt.Errorf("method %s is not POST", req.Method)
	}
	if err == nil {
		err = validate(&e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.invalid = append(r.invalid, err)
		return http.StatusBadRequest
	}
	n := notificationOf(&e)
	k := key(&e)
	switch {
	case r.seen[k]:
		r.duplicates = append(r.duplicates, n)
		return http.StatusTooManyRequests
	case slices.Contains(r.kinds, n.Kind):
		r.delivered = append(r.delivered, n)
	default:
		r.discarded = append(r.discarded, n)
	}
	r.seen[k] = true
	return http.StatusAccepted
}

func notificationOf(e *eventv1.Event) Notification {
	n := Notification{
		Kind: e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name,
		Severity: e.Severity, Reason: e.Reason, Action: e.Action, Message: e.Message, Metadata: strip(e),
	}
	if e.RelatedObject != nil {
		n.Related = e.RelatedObject.Kind + "/" + e.RelatedObject.Name
	}
	return n
}
