// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// Secrets reads each Secret once for all listings that were asked for before
// it was read, as those of one sweep are. A listing that is asked for later
// reads again, so a rotated Secret takes effect at the next listing. It is safe
// for concurrent use.
type Secrets struct {
	reader client.Reader
	// now returns an ever growing number.
	now func() uint64
	// failed is called when a Secret could not be read.
	failed func()

	mu    sync.Mutex
	reads map[types.NamespacedName]*read
}

// read is one reading of a Secret; its results are set before done is closed.
type read struct {
	at     uint64
	done   chan struct{}
	secret *corev1.Secret
	err    error
}

// NewSecrets reads with reader, which must not be backed by an informer. now
// returns an ever growing number; failed counts failures.
func NewSecrets(reader client.Reader, now func() uint64, failed func()) *Secrets {
	return &Secrets{reader: reader, now: now, failed: failed, reads: map[types.NamespacedName]*read{}}
}

// Get returns a Secret as it was read at or after since. It must not be changed.
// The error is a *fault.Error.
func (s *Secrets) Get(ctx context.Context, key types.NamespacedName, since uint64) (*corev1.Secret, error) {
	r, first := s.join(key, since)
	if first {
		r.secret, r.err = s.read(ctx, key)
		if ctx.Err() != nil {
			s.drop(key, r)
		}
		close(r.done)
	}
	select {
	case <-r.done:
		return r.secret, r.err
	case <-ctx.Done():
		return nil, stopped(ctx)
	}
}

// join returns the reading that serves since, and whether the caller has to do
// it.
func (s *Secrets) join(key types.NamespacedName, since uint64) (*read, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reads[key]; r != nil && r.at >= since {
		return r, false
	}
	r := &read{at: s.now(), done: make(chan struct{})}
	s.reads[key] = r
	return r, true
}

// drop forgets a reading that was given up: it says nothing about the Secret.
func (s *Secrets) drop(key types.NamespacedName, r *read) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads[key] == r {
		delete(s.reads, key)
	}
}

// Expire forgets what was read before a moment.
func (s *Secrets) Expire(before uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, r := range s.reads {
		if r.at < before {
			delete(s.reads, key)
		}
	}
}

func (s *Secrets) read(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.reader.Get(ctx, key, secret)
	if err == nil {
		return secret, nil
	}
	if ctx.Err() == nil {
		s.failed()
	}
	return nil, unreadable(ctx, key.String(), err)
}

// unreadable says that an object could not be read, by the API server's reason
// alone.
func unreadable(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	reason := apierrors.ReasonForError(err)
	if reason == metav1.StatusReasonUnknown {
		return fault.InSecret(name, "", "failed to read it from the API server")
	}
	return fault.InSecret(name, "", "failed to read it from the API server: "+string(reason))
}

// stopped says why a context ended.
func stopped(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.Credentials, "they could not be read in time")
	}
	return fault.New(fault.Canceled, "while reading credentials")
}
