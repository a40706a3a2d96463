// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/fluxcd/pkg/cache"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/transport"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// defaultTimeout of one listing by List and Heads.
const defaultTimeout = 30 * time.Second

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
type Lister struct {
	clock     *Clock
	timeout   time.Duration
	secrets   *auth.Secrets
	resolver  *auth.Resolver
	transport *transport.Client
	metrics   *metrics
}

// NewLister makes a Lister.
func NewLister(o ListerOptions) *Lister {
	m := newMetrics(o.Registerer)
	secrets := auth.NewSecrets(o.Client, func() uint64 { return o.Clock.Now().Seq }, m.credentialFailures.Inc)
	timeout := o.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	return &Lister{
		clock: o.Clock, timeout: timeout, secrets: secrets, metrics: m,
		resolver: &auth.Resolver{
			Client: o.Client, Secrets: secrets, TokenCache: o.TokenCache,
			ObjectLevelWorkloadIdentity: o.ObjectLevelWorkloadIdentity,
		},
		transport: transport.New(transport.Options{
			SSHKexAlgos: o.SSHKexAlgos, SSHHostKeyAlgos: o.SSHHostKeyAlgos, Now: o.Clock.Time,
		}),
	}
}

// List asks once for the tracking ref of a source. The error is an *Error.
func (l *Lister) List(ctx context.Context, repo *sourcev1.GitRepository) (fleet.Listing, error) {
	name, style := Tracking(repo.Spec.Reference)
	if style != "" {
		return fleet.Listing{}, unsequenced(style)
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	a, err := l.ask(ctx, repo, wire.Query{Names: []string{name}}, l.clock.Now().Seq)
	if err != nil {
		return fleet.Listing{}, err
	}
	return a.listing(repo.Spec.URL, name)
}

// Head is a branch head that a repository advertises.
type Head struct {
	// Name is the full name of the ref.
	Name   string
	Commit fleet.Revision
}

// Heads asks once for all branch heads of a source's repository, in the server's
// order; more than limit are an *Error of kind TooLarge.
func (l *Lister) Heads(ctx context.Context, repo *sourcev1.GitRepository, limit int) ([]Head, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	a, err := l.ask(ctx, repo, wire.Query{Prefix: branches, Most: limit}, l.clock.Now().Seq)
	if err != nil {
		return nil, err
	}
	heads := make([]Head, 0, len(a.refs))
	for _, r := range a.refs {
		heads = append(heads, Head{Name: r.Name, Commit: fleet.Revision(r.Commit())})
	}
	return heads, nil
}

// Close closes connections that are not in use.
func (l *Lister) Close() { l.transport.Close() }

// answer is what one request brought.
type answer struct {
	refs []wire.Ref
	// started and completed enclose the request; at is completed as time of day.
	started, completed fleet.Instant
	at                 time.Time
}

// ask makes one request, with Secrets as they were at or after since.
func (l *Lister) ask(ctx context.Context, repo *sourcev1.GitRepository, q wire.Query, since uint64) (answer, error) {
	a := answer{started: l.clock.Now()}
	credentials, err := l.resolver.Resolve(ctx, repo, since)
	if err == nil {
		a.started = l.clock.Now()
		a.refs, err = l.transport.List(ctx, credentials, q)
	}
	a.completed, a.at = l.clock.Now(), l.clock.Time()
	l.metrics.listed(hostOf(repo.Spec.URL), err, a.completed.At-a.started.At)
	return a, err
}

// listing picks one ref out of an answer.
func (a answer) listing(url, name string) (fleet.Listing, error) {
	for _, r := range a.refs {
		if r.Name == name {
			return fleet.Listing{
				URL: url, Ref: name, Commit: fleet.Revision(r.Commit()),
				Started: a.started, Completed: a.completed, At: a.at,
			}, nil
		}
	}
	return fleet.Listing{}, fault.New(fault.RefMissing, "the repository has no "+name)
}

// unsequenced is the error about a ref that is not a branch.
func unsequenced(style string) error {
	return fault.New(fault.Unsupported, "only branches are sequenced, not "+style)
}

// hostOf returns host and port of a URL as they name a git host: in lower case,
// without the port that is the scheme's own.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	own := map[string]string{"http": ":80", "https": ":443", "ssh": ":22"}[u.Scheme]
	if own != "" {
		host = strings.TrimSuffix(host, own)
	}
	return host
}

// typed makes sure that an error is an *Error; it keeps nil.
func typed(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return fault.New(fault.Protocol, "the listing failed")
}
