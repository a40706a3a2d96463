// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// pollers is how many listings run at once under --poll.
const pollers = 8

// judged is a fleet that was judged anew.
type judged struct {
	wavefront  *wavefrontv1.Wavefront
	read       *cluster.Snapshot
	evaluation fleet.Evaluation
	// published is the picture of the status, derivation what was assumed.
	published  *picture.Picture
	derivation *derivation
}

// derive judges the fleet anew and returns the picture of it.
func (p *program) derive(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, poll bool) (*picture.Picture, error) {
	j, err := p.judge(ctx, c, obj.Name, poll)
	if err != nil {
		return nil, err
	}
	pic := picture.OfEvaluation(j.wavefront, &j.evaluation, j.read, p.now())
	pic.Published, pic.Polled = j.published, poll
	j.derivation.forget(pic)
	return pic, nil
}

// judge judges the fleet through the controller's own code.
func (p *program) judge(ctx context.Context, c client.Client, wavefront string, poll bool) (*judged, error) {
	read, err := (&cluster.Reader{Client: c, NoCrossNamespaceRefs: p.noCrossNamespaceRefs}).Read(ctx)
	if err != nil {
		return nil, explainAPI("read the fleet", err)
	}
	fresh := read.Wavefront(wavefront)
	if fresh == nil {
		return nil, fmt.Errorf("failed to derive: Wavefront %q is gone", wavefront)
	}
	published := picture.OfStatus(fresh, p.now())
	d := newDerivation(fresh, read.GitRepositories, published, pin.Judge{Declarative: p.declarative}, p.now())
	if poll {
		if err := p.pollSources(ctx, c, d, fresh, read); err != nil {
			return nil, err
		}
	}
	in, err := read.Input(fresh.Name, d.at(momentNow), p.now(), d)
	if err != nil {
		return nil, fmt.Errorf("failed to derive: %w", err)
	}
	return &judged{wavefront: fresh, read: read, evaluation: fleet.Evaluate(in), published: published, derivation: d}, nil
}

// A derivation has no history of its own, so its moments are made up in the
// order in which the rules want them: everything that is there was there first,
// then it was observed, then every source was listed once more. Freshness, a
// matter of the controller's own listings, is thereby taken as given.
const (
	momentPinned = iota + 1
	momentFirst
	momentListed
	momentNow
)

// derivation adds to the objects what a running controller would know.
type derivation struct {
	wavefront *wavefrontv1.Wavefront
	tracker   *pin.Tracker
	judge     pin.Judge
	virtual   *pin.Virtual
	clock     time.Time
	// listed are the commits to judge by, with what failed.
	listed map[string]listing
	polled bool
}

// listing is what is known of a source's reference.
type listing struct {
	commit fleet.Revision
	since  time.Time
	err    string
	// assumed is set where nothing was observed: what is pinned is taken for
	// the newest.
	assumed bool
}

func newDerivation(obj *wavefrontv1.Wavefront, repositories []*sourcev1.GitRepository, published *picture.Picture, judge pin.Judge, now time.Time) *derivation {
	d := &derivation{wavefront: obj, judge: judge, clock: now, listed: map[string]listing{}}
	pinned := func() fleet.Instant { return d.at(momentPinned) }
	d.tracker = pin.NewTracker(pinned, func() time.Time { return now })
	d.virtual = pin.NewVirtual(pinned)
	if obj.Status.Shadow != nil {
		d.virtual.Seed(obj.Name, obj.Status.Shadow.Pins)
	}
	handler := d.tracker.Handler(nil)
	for _, g := range repositories {
		handler.OnAdd(g, true)
	}
	for _, s := range published.Sources {
		l := listing{commit: fleet.Commit(s.Observed), err: s.ObservationError, assumed: s.Observed == ""}
		if s.PendingSince != nil {
			l.since = s.PendingSince.Time
		}
		d.listed[s.Path()] = l
	}
	return d
}

// at returns one of the made-up moments; they are far enough apart for any
// replica lag.
func (d *derivation) at(moment int) fleet.Instant {
	const apart = 2 * time.Minute
	return fleet.Instant{Seq: uint64(moment), At: time.Duration(moment) * apart}
}

// AnnotateNode implements cluster.Local: what was read is live.
func (d *derivation) AnnotateNode(n *fleet.Node) { n.Confirmed = true }

// AnnotateSource implements cluster.Local.
func (d *derivation) AnnotateSource(s *fleet.Source, g *sourcev1.GitRepository) {
	d.judge.Annotate(s, pin.Facts{
		Object: g, Source: *s, Seen: d.tracker.Seen(g), Policy: pin.Policy{Owner: d.wavefront.Name}, Now: d.at(momentNow),
	})
	if d.wavefront.GetMode() == wavefrontv1.ModeShadow {
		d.virtual.Annotate(d.wavefront.Name, s)
	}
	if s.PinSeen.IsZero() {
		s.PinSeen = d.at(momentPinned)
	}
	path := s.ID.Namespace + "/" + s.ID.Name
	l, ok := d.listed[path]
	if !ok {
		l = listing{assumed: !d.polled}
	}
	s.ObservationError = l.err
	commit := l.commit
	if l.assumed && l.err == "" {
		commit = effectivePin(s)
	}
	if commit == "" || s.Ref == "" {
		return
	}
	s.Observed = &fleet.Observation{
		URL: s.URL, Ref: s.Ref, Commit: commit, Started: d.at(momentListed), Completed: d.at(momentFirst),
		First: d.at(momentFirst), FirstAt: l.since,
	}
}

// effectivePin is what an unobserved source is assumed to be at: its pin, or its
// artifact where it has none yet.
func effectivePin(s *fleet.Source) fleet.Revision {
	switch {
	case s.Pin != "":
		return s.Pin
	case s.VirtualPin != "":
		return s.VirtualPin
	}
	return s.Artifact
}

// forget takes assumed commits out of the picture: they were not observed.
func (d *derivation) forget(pic *picture.Picture) {
	assumed := func(path string) bool {
		l, ok := d.listed[path]
		return !ok && !d.polled || ok && l.assumed
	}
	for i := range pic.Nodes {
		if n := &pic.Nodes[i]; n.Source != nil && assumed(n.Source.Path()) {
			n.Observed = ""
		}
	}
	for i := range pic.Sources {
		if assumed(pic.Sources[i].Path()) {
			pic.Sources[i].Observed = ""
		}
	}
}

// pollSources lists the references of the sources that the fleet may be built
// from: managed ones that some Kustomization uses.
func (p *program) pollSources(ctx context.Context, c client.Client, d *derivation, obj *wavefrontv1.Wavefront, read *cluster.Snapshot) error {
	repositories := sourcesInUse(read)
	p.waiting("listing %d sources", len(repositories))
	lister := refs.NewLister(refs.ListerOptions{Clock: refs.NewClock(clock.RealClock{}), Client: c, Timeout: obj.Spec.Poll.GetTimeout()})
	defer lister.Close()
	results := make([]listing, len(repositories))
	work := make(chan int)
	var group sync.WaitGroup
	for range min(pollers, len(repositories)) {
		group.Go(func() {
			for i := range work {
				results[i] = p.listOne(ctx, lister, repositories[i])
			}
		})
	}
	for i := range repositories {
		work <- i
	}
	close(work)
	group.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("failed to list the sources: %w", err)
	}
	before := d.listed
	d.listed, d.polled = map[string]listing{}, true
	for i, g := range repositories {
		path := g.Namespace + "/" + g.Name
		// When a commit that still waits was first seen is the controller's to
		// say.
		if old := before[path]; old.commit.Same(results[i].commit) {
			results[i].since = old.since
		}
		d.listed[path] = results[i]
	}
	return nil
}

func (p *program) listOne(ctx context.Context, lister *refs.Lister, g *sourcev1.GitRepository) listing {
	answer, err := lister.List(ctx, g)
	if err != nil {
		return listing{err: escape.Text(err.Error())}
	}
	return listing{commit: answer.Commit, since: p.now()}
}

func sourcesInUse(read *cluster.Snapshot) []*sourcev1.GitRepository {
	used := map[fleet.ID]bool{}
	for _, k := range read.Kustomizations {
		used[cluster.Node(k, read.NoCrossNamespaceRefs).Source] = true
	}
	var out []*sourcev1.GitRepository
	for _, g := range read.GitRepositories {
		ref, _ := cluster.TrackingRef(g)
		if cluster.IsManaged(g) && ref != "" && used[cluster.GitRepositoryID(g.Namespace, g.Name)] {
			out = append(out, g)
		}
	}
	return out
}
