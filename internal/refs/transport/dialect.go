// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/url"
	"sync"
	"time"
)

// version says what is known of a server.
type version int

const (
	speaksUnknown version = iota
	speaksV2
	speaksOld
)

// relearn is after how long a server is asked again what it speaks, and where a
// repository is. (A server of an older version is offered version 2 at each
// listing anyway.)
const relearn = time.Hour

// dialect is what is known of one repository.
type dialect struct {
	version version
	// base is where a redirect led; nil if there was none.
	base    *url.URL
	learned time.Time
}

// dialects remembers what servers speak.
type dialects struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]dialect
}

func newDialects(now func() time.Time) *dialects {
	return &dialects{now: now, known: map[string]dialect{}}
}

// get returns what is known; the zero dialect if that is nothing, or too old.
func (d *dialects) get(key string) dialect {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.known[key]
	if d.now().Sub(known.learned) > relearn {
		delete(d.known, key)
		return dialect{}
	}
	return known
}

// learn remembers a dialect. What was known before keeps its age, or it would
// never be asked for again.
func (d *dialects) learn(key string, l dialect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	before, found := d.known[key]
	l.learned = now
	if found && before.version == l.version {
		l.learned = before.learned
	}
	if !found && len(d.known)%1024 == 1023 {
		d.expire(now)
	}
	d.known[key] = l
}

// expire makes room: repositories that nobody asks for any more.
func (d *dialects) expire(now time.Time) {
	for key, known := range d.known {
		if now.Sub(known.learned) > relearn {
			delete(d.known, key)
		}
	}
}

func (d *dialects) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, key)
}
