// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/cache"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// ListerOptions configure a Lister.
type ListerOptions struct {
	// Clock of the process; required.
	Clock *Clock
	// Client reads Secrets and ServiceAccounts; required, and uncached: Secrets
	// are read with get only, when they are needed.
	Client client.Client
	// Timeout of one listing by List and Heads; 30s if zero.
	Timeout time.Duration
	// TokenCache keeps the tokens of providers until they expire; nil asks for a
	// new one each time.
	TokenCache *cache.TokenCache
	// ObjectLevelWorkloadIdentity allows spec.serviceAccountName (Flux's feature
	// gate of that name; fluxcd/pkg/auth wants it enabled there too).
	ObjectLevelWorkloadIdentity bool
	// SSHKexAlgos and SSHHostKeyAlgos restrict SSH connections (Flux's flags
	// --ssh-kex-algos and --ssh-hostkey-algos); empty leaves the defaults.
	SSHKexAlgos     []string
	SSHHostKeyAlgos []string
	// Registerer takes the metrics; nil registers none.
	Registerer prometheus.Registerer
}

// Lister lists refs of sources as source-controller would reach them. It keeps
// connections and provider tokens between listings, and nothing else. It is
// safe for concurrent use.
type Lister struct{ options ListerOptions }

// NewLister makes a Lister.
func NewLister(o ListerOptions) *Lister { return &Lister{options: o} }

// List asks once for the tracking ref of a source. The error is an *Error.
func (l *Lister) List(ctx context.Context, repo *sourcev1.GitRepository) (fleet.Listing, error) {
	return fleet.Listing{}, nil
}

// Head is a branch head that a repository advertises.
type Head struct {
	// Name is the full name of the ref.
	Name   string
	Commit fleet.Revision
}

// Heads asks once for all branch heads of a source's repository, sorted by name;
// more than limit are an *Error of kind TooLarge.
func (l *Lister) Heads(ctx context.Context, repo *sourcev1.GitRepository, limit int) ([]Head, error) {
	return nil, nil
}

// Close closes idle connections.
func (l *Lister) Close() {}
