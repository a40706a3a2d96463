// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Seen is what this process has seen of the pin of one source.
type Seen struct {
	// Pin is spec.ref.commit; empty if there is none.
	Pin fleet.Revision
	// Since is when this process saw the pin become what it is, or wrote it.
	Since fleet.Instant
	// Ownership of the newest version.
	Ownership Ownership
	// First are the foreign managers under which this process first saw the
	// present value since foreign managers have claimed it; empty where none
	// does.
	First []string
	// Owned is since when this process has seen each of the foreign managers
	// own the pin, whatever its value was.
	Owned map[string]fleet.Instant
	// Established are the foreign managers that had owned the pin for longer
	// than SettleTime when this process started.
	Established []string
	// Vanished is set while a pin that this process saw vanish is neither put
	// back nor given up.
	Vanished *Vanished
	// Failures counts the failed writes in a row.
	Failures int
	// Quiet is since when nothing at all has changed about the object.
	Quiet fleet.Instant
	// Nudges counts how often source-controller was asked to look again since
	// the pin became what it is.
	Nudges int
}

// Vanished is a pin that this process saw vanish.
type Vanished struct {
	// Pin is the value that is gone.
	Pin fleet.Revision
	// At is when it was seen to be gone.
	At fleet.Instant
	// Before is what was known of it until then.
	Before Seen
	// Record and HeldBy are the annotations that it had.
	Record fleet.Revision
	HeldBy string
}

// SettleTime is how long a declarative applier must have owned a pin before the
// pin counts as declared by Git: for a moment every hand-pin that Flux strips
// looks declared.
const SettleTime = 10 * time.Second

// Tracker follows every GitRepository, event by event. Of each it keeps the
// newest version that this process knows, its own writes included, so that a
// cached object older than our own write never decides anything. It is safe for
// concurrent use.
type Tracker struct {
	now   func() fleet.Instant
	clock func() time.Time

	mu      sync.Mutex
	sources map[types.NamespacedName]*tracked
}

type tracked struct {
	object *sourcev1.GitRepository
	seen   Seen
}

// NewTracker returns an empty Tracker. Now is the moment in the life of the
// process, clock the time of day, which only ages what objects say of
// themselves when the process starts.
func NewTracker(now func() fleet.Instant, clock func() time.Time) *Tracker {
	return &Tracker{now: now, clock: clock, sources: map[types.NamespacedName]*tracked{}}
}

// Handler feeds the Tracker from an informer. Notify, where set, is called after
// each event has been taken in, on the informer's goroutine: it must not block.
func (t *Tracker) Handler(notify func(types.NamespacedName)) toolscache.ResourceEventHandler {
	seen := func(obj any, initial bool) {
		g, ok := obj.(*sourcev1.GitRepository)
		if !ok {
			return
		}
		t.observe(g, initial)
		if notify != nil {
			notify(client.ObjectKeyFromObject(g))
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, obj any) { seen(obj, false) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			g, ok := obj.(*sourcev1.GitRepository)
			if !ok {
				return
			}
			t.Gone(g)
			if notify != nil {
				notify(client.ObjectKeyFromObject(g))
			}
		},
	}
}

// Observe takes a version in that the API server sent or returned, unless a
// newer one is known. It tells whether it was new.
func (t *Tracker) Observe(g *sourcev1.GitRepository) bool { return t.observe(g, false) }

// wrote takes in what a write returned, unless the object is gone by now: nobody
// would tell of that again, and its namesake is another.
func (t *Tracker) wrote(g *sourcev1.GitRepository) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of(g) != nil {
		t.take(g, false)
	}
}

// Gone forgets an object, unless it has been replaced by a namesake already.
func (t *Tracker) Gone(g *sourcev1.GitRepository) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(g)
	if e := t.sources[key]; e != nil && e.object.UID == g.UID {
		delete(t.sources, key)
	}
}

// Newest returns the newest version of the object that this process knows and
// has taken in; the one that it is given where it knows none.
func (t *Tracker) Newest(g *sourcev1.GitRepository) *sourcev1.GitRepository {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of(g); e != nil {
		return e.object
	}
	return g
}

// Lookup returns the newest version of a source by name; nil where none is
// known.
func (t *Tracker) Lookup(key types.NamespacedName) *sourcev1.GitRepository {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.sources[key]; e != nil {
		return e.object
	}
	return nil
}

// Seen returns what has been seen of the pin of the object. Of an object that
// was never seen it is what the object itself tells: its pin and owners, since a
// moment that never happened.
func (t *Tracker) Seen(g *sourcev1.GitRepository) Seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of(g); e != nil {
		return e.seen
	}
	return Unseen(g, t.clock())
}

// Unseen is what one version of an object tells to somebody who has seen no other,
// at that time of day.
func Unseen(g *sourcev1.GitRepository, clock time.Time) Seen {
	s := Seen{Pin: pinOf(g), Ownership: OwnershipOf(g.ManagedFields)}
	s.First = s.Ownership.Managers()
	for _, c := range s.Ownership.Foreign {
		if !c.Time.IsZero() && clock.Sub(c.Time.Time) > SettleTime {
			s.Established = append(s.Established, c.Manager)
		}
	}
	return s
}

// isNewest tells whether this version is the newest one that is known. Of an object
// that has not been taken in yet, or is gone by now, none is.
func (t *Tracker) isNewest(g *sourcev1.GitRepository) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.of(g)
	return e != nil && e.object.ResourceVersion == g.ResourceVersion
}

// Settle gives up a pin that vanished: it is not put back any more.
func (t *Tracker) Settle(g *sourcev1.GitRepository) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of(g); e != nil {
		e.seen.Vanished = nil
	}
}

// CaughtUp tells whether everything in a list that was read from the API server
// has been taken in. Nothing is written before it has once been so.
func (t *Tracker) CaughtUp(list []sourcev1.GitRepository) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		e := t.of(&list[i])
		if e == nil || older(e.object, &list[i]) {
			return false
		}
	}
	return true
}

// failed and succeeded count the failed writes in a row.
func (t *Tracker) failed(g *sourcev1.GitRepository) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of(g); e != nil {
		e.seen.Failures++
	}
}

// Forgive forgets failed writes that nothing is left of to be written.
func (t *Tracker) Forgive(g *sourcev1.GitRepository) { t.succeeded(g) }

func (t *Tracker) succeeded(g *sourcev1.GitRepository) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of(g); e != nil {
		e.seen.Failures = 0
	}
}

// nudged counts that source-controller was asked to look again.
func (t *Tracker) nudged(g *sourcev1.GitRepository) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of(g); e != nil {
		e.seen.Nudges++
	}
}

// of finds the entry of this very object, not of a namesake.
func (t *Tracker) of(g *sourcev1.GitRepository) *tracked {
	if e := t.sources[client.ObjectKeyFromObject(g)]; e != nil && e.object.UID == g.UID {
		return e
	}
	return nil
}

func (t *Tracker) observe(g *sourcev1.GitRepository, initial bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(g, initial)
}

func (t *Tracker) take(g *sourcev1.GitRepository, initial bool) bool {
	e := t.of(g)
	if e == nil {
		e = &tracked{object: g}
		t.sources[client.ObjectKeyFromObject(g)] = e
		t.first(e, initial)
		return true
	}
	if !older(e.object, g) {
		return false
	}
	before := e.object
	e.object = g
	t.next(e, before)
	return true
}

// older tells whether a is an older version of the same object than b. Where the
// versions can't be compared, the later arrival is the newer one.
func older(a, b *sourcev1.GitRepository) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err != nil || order < 0
}

// first takes in the first version of an object.
func (t *Tracker) first(e *tracked, initial bool) {
	e.seen = Unseen(e.object, t.clock())
	e.seen.Since = t.now()
	e.seen.Quiet = e.seen.Since
	e.seen.Owned = ownedSince(nil, e.seen.Ownership, e.seen.Since)
	if !initial {
		e.seen.Established = nil // it is seen from its beginning on
	}
}

// next takes in the next version of an object.
func (t *Tracker) next(e *tracked, before *sourcev1.GitRepository) {
	old, now := e.seen, t.now()
	s := Seen{
		Pin: pinOf(e.object), Since: old.Since, First: old.First,
		Ownership: OwnershipOf(e.object.ManagedFields),
		Vanished:  old.Vanished, Failures: old.Failures,
		Quiet: now, Nudges: old.Nudges,
	}
	s.Owned = ownedSince(old.Owned, s.Ownership, now)
	for _, m := range old.Established {
		if _, still := s.Owned[m]; still {
			s.Established = append(s.Established, m)
		}
	}
	if s.Pin != old.Pin {
		s.Since, s.First, s.Nudges = now, nil, 0
	}
	if len(s.First) == 0 || len(s.Ownership.Foreign) == 0 {
		s.First = s.Ownership.Managers()
	}
	switch {
	case s.Pin != "":
		s.Vanished = nil
	case old.Pin != "":
		s.Vanished = vanished(old, now, before)
	}
	e.seen = s
}

func vanished(old Seen, now fleet.Instant, before *sourcev1.GitRepository) *Vanished {
	old.Vanished = nil
	return &Vanished{
		Pin: old.Pin, At: now, Before: old,
		Record: recordOf(before),
		HeldBy: before.Annotations[wavefrontv1.HeldByAnnotation],
	}
}

// ownedSince carries on since when each foreign manager has owned the pin.
func ownedSince(before map[string]fleet.Instant, o Ownership, now fleet.Instant) map[string]fleet.Instant {
	if len(o.Foreign) == 0 {
		return nil
	}
	since := make(map[string]fleet.Instant, len(o.Foreign))
	for _, c := range o.Foreign {
		if at, ok := before[c.Manager]; ok {
			since[c.Manager] = at
			continue
		}
		since[c.Manager] = now
	}
	return since
}

// pinOf returns spec.ref.commit; empty if there is none.
func pinOf(g *sourcev1.GitRepository) fleet.Revision {
	if g.Spec.Reference == nil {
		return ""
	}
	return fleet.Commit(g.Spec.Reference.Commit)
}

// recordOf returns the recorded pin as it is written, void or not.
func recordOf(g *sourcev1.GitRepository) fleet.Revision {
	return fleet.Commit(g.Annotations[wavefrontv1.PinnedCommitAnnotation])
}
