// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"net/http"
)

// Fault is a way for the git server to fail.
type Fault struct {
	// Status is the HTTP status to answer with. Zero answers nothing.
	Status int
	// Hang keeps the request waiting until the fault is healed or the client gives
	// up. A healed request's connection is cut unless Status is set.
	Hang bool
}

// Faults worth a name. To have connections refused, Stop the server.
var (
	// FaultCut closes the connection without an answer.
	FaultCut = Fault{}
	// FaultHang accepts the request and does not answer.
	FaultHang = Fault{Hang: true}
	// FaultInternal answers 500.
	FaultInternal = Fault{Status: http.StatusInternalServerError}
	// FaultUnavailable answers 503.
	FaultUnavailable = Fault{Status: http.StatusServiceUnavailable}
	// FaultForbidden answers 403.
	FaultForbidden = Fault{Status: http.StatusForbidden}
	// FaultNotFound answers 404.
	FaultNotFound = Fault{Status: http.StatusNotFound}
)

// activeFault is a fault until it is healed.
type activeFault struct {
	Fault
	healed chan struct{}
}

func (f *activeFault) apply(w http.ResponseWriter, r *http.Request) {
	if f.Hang {
		waitFor(r.Context(), f.healed)
	}
	if f.Status == 0 {
		// net/http's way to cut the connection, without a stack trace in the log.
		panic(http.ErrAbortHandler)
	}
	http.Error(w, http.StatusText(f.Status), f.Status)
}

// Break has every repository fail in this way, until Heal.
func (s *GitServer) Break(fault Fault) { s.handler.breakRepository("", fault) }

// Heal ends what Break of the server began. A repository that was broken by itself
// stays so.
func (s *GitServer) Heal() { s.handler.healRepository("") }

func (h *gitHandler) breakRepository(name string, fault Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.faults[name]; old != nil {
		close(old.healed)
	}
	h.faults[name] = &activeFault{Fault: fault, healed: make(chan struct{})}
}

func (h *gitHandler) healRepository(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.faults[name]; old != nil {
		close(old.healed)
		delete(h.faults, name)
	}
}

// faultOf returns the fault of a repository, or of all, or nil.
func (h *gitHandler) faultOf(name string) *activeFault {
	h.mu.Lock()
	defer h.mu.Unlock()
	if fault := h.faults[name]; fault != nil {
		return fault
	}
	return h.faults[""]
}
