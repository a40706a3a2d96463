// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"cmp"
	"container/heap"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// remoteKey is what one request serves: a URL with one set of credentials and
// one proxy, by reference.
type remoteKey struct {
	url string
	credentialKey
	proxy string
}

// credentialKey names credentials by what they are made from.
type credentialKey struct {
	provider, namespace, secret, serviceAccount string
}

// keyOf returns the key of a source. The namespace counts only where something
// in it does.
func keyOf(repository *sourcev1.GitRepository) remoteKey {
	spec := repository.Spec
	key := remoteKey{url: spec.URL}
	key.provider, key.serviceAccount = repository.GetProvider(), spec.ServiceAccountName
	if spec.SecretRef != nil {
		key.secret = spec.SecretRef.Name
	}
	if spec.ProxySecretRef != nil {
		key.proxy = spec.ProxySecretRef.Name
	}
	if key.secret != "" || key.proxy != "" || key.provider != sourcev1.GitProviderGeneric {
		key.namespace = repository.GetNamespace()
	}
	return key
}

// remote is what sources share a request to.
type remote struct {
	key      remoteKey
	host     *host
	endpoint *endpoint
	sources  map[fleet.ID]*source
	// waiting are the sources to be listed by the next request.
	waiting map[fleet.ID]*source
	// started is when the latest request started; lost tells that the latest one
	// to end did not reach the host.
	started fleet.Instant
	lost    bool
	// urgent, since and rank place the remote in its host's queue.
	urgent bool
	since  fleet.Instant
	rank   int
	// index in the host's queue; -1 outside of it.
	index int
	// parked: it was its turn, but something was in the way.
	parked bool
}

// attach puts a source to its remote, which is made where it is the first.
func (o *Observer) attach(s *source, key remoteKey) {
	r := o.remotes[key]
	if r == nil {
		name := hostOf(key.url)
		h := o.hosts[name]
		if h == nil {
			h = &host{name: name, limit: 1}
			o.hosts[name] = h
		}
		at := endpointKey{host: name, proxy: key.proxy}
		if key.proxy != "" {
			at.namespace = key.namespace
		}
		e := o.endpoints[at]
		if e == nil {
			e = newEndpoint(at)
			o.endpoints[at] = e
		}
		r = &remote{
			key: key, host: h, endpoint: e, index: -1,
			sources: map[fleet.ID]*source{}, waiting: map[fleet.ID]*source{},
		}
		o.remotes[key] = r
		h.remotes++
		e.remotes[r] = true
	}
	r.sources[s.id] = s
	s.remote = r
}

// detach takes a source from its remote, which goes with its last source.
func (o *Observer) detach(s *source) {
	r := s.remote
	delete(r.sources, s.id)
	r.unqueue(s)
	s.asked, s.forced = false, false
	if len(r.sources) > 0 {
		return
	}
	r.host.remove(r)
	delete(o.remotes, r.key)
	delete(r.endpoint.remotes, r)
	delete(r.endpoint.failed, r)
	if len(r.endpoint.remotes) == 0 {
		delete(o.endpoints, r.endpoint.key)
	}
	if r.host.remotes--; r.host.remotes == 0 {
		if r.host.running == 0 {
			delete(o.hosts, r.host.name)
		}
		o.forget(r.host.name)
	}
}

// queue puts a source to the next request, and the remote to its place in the
// host's queue: those that somebody waits for first, then by when they were
// queued, higher ranks first within that.
func (r *remote) queue(s *source, now fleet.Instant) {
	if s.queued.IsZero() {
		s.queued = now
	}
	urgent, rank := s.forced || !s.refresh.IsZero(), s.rank()
	if len(r.waiting) == 0 {
		r.urgent, r.since, r.rank = urgent, s.queued, rank
	} else {
		r.urgent, r.rank = r.urgent || urgent, max(r.rank, rank)
	}
	r.waiting[s.id] = s
	switch {
	case r.parked:
	case r.index >= 0:
		heap.Fix(&r.host.queue, r.index)
	default:
		heap.Push(&r.host.queue, r)
	}
}

// unqueue takes a source out of the next request.
func (r *remote) unqueue(s *source) {
	delete(r.waiting, s.id)
	s.queued = fleet.Instant{}
}

// queue is a heap of remotes.
type queue []*remote

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].compare(q[j]) < 0 }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	r := x.(*remote)
	r.index = len(*q)
	*q = append(*q, r)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	r.index = -1
	return r
}

func (r *remote) compare(other *remote) int {
	if r.urgent != other.urgent {
		if r.urgent {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(r.since.Seq, other.since.Seq),
		cmp.Compare(other.rank, r.rank),
		cmp.Compare(r.key.url, other.key.url),
	)
}
