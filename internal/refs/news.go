// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"slices"
	"strings"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// news are what has not been announced yet.
type news struct {
	sources map[fleet.ID]bool
	waves   map[string]bool
}

func newNews() news { return news{sources: map[fleet.ID]bool{}, waves: map[string]bool{}} }

func (n news) source(id fleet.ID) { n.sources[id] = true }
func (n news) wave(name string)   { n.waves[name] = true }
func (n news) pending() bool      { return len(n.sources)+len(n.waves) > 0 }

// heralded tells the announcer of news, if there are any.
func (o *Observer) heralded() {
	if !o.news.pending() {
		return
	}
	select {
	case o.herald <- struct{}{}:
	default:
	}
}

// announce hands news out to whoever receives Updates.
func (o *Observer) announce(ctx context.Context) {
	all := newNews()
	for {
		var out chan Update
		var update Update
		if o.gather(all); all.pending() {
			out, update = o.updates, all.update()
		}
		select {
		case <-ctx.Done():
			return
		case <-o.herald:
		case out <- update:
			all = newNews()
		}
	}
}

// gather moves news to all, with the Wavefronts that they concern.
func (o *Observer) gather(all news) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.news.sources {
		all.source(id)
		if s := o.sources[id]; s != nil {
			for name := range s.ranks {
				all.wave(name)
			}
		}
	}
	for name := range o.news.waves {
		all.wave(name)
	}
	o.news = newNews()
}

func (n news) update() Update {
	var u Update
	for id := range n.sources {
		u.Sources = append(u.Sources, id)
	}
	for name := range n.waves {
		u.Wavefronts = append(u.Wavefronts, name)
	}
	slices.SortFunc(u.Sources, fleet.ID.Compare)
	slices.SortFunc(u.Wavefronts, strings.Compare)
	return u
}
