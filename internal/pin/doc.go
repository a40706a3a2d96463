// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pin owns spec.ref.commit of managed sources: who set it (Ownership),
// since when this process has seen it so (Tracker), whose it is and what has to
// be done about it at once (Judge), and every write to a source (Writer), the
// release of sources included.
//
// Every write is a server-side apply under the field manager
// wavefront-controller, never forced, that carries the UID and the
// resourceVersion of the object that was judged: what changed since then is
// never overwritten, and what is gone is never created.
package pin
