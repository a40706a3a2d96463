// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"strings"
	"time"
)

const since = " since "

// managerLength is how long the name of a field manager may be. Anybody can write
// the annotation, and the name goes into events and the status.
const managerLength = 128

// HeldBy renders the annotation held-by: who pinned the source by hand, and since
// when.
func HeldBy(manager string, at time.Time) string {
	return manager + since + at.UTC().Format(time.RFC3339)
}

// ParseHeldBy reads the annotation held-by. Of a text that it did not write it
// takes everything for the manager's name; the time is zero then.
func ParseHeldBy(text string) (manager string, at time.Time) {
	i := strings.LastIndex(text, since)
	if i < 0 {
		return nameOf(text), time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text[i+len(since):])
	if err != nil {
		return nameOf(text), time.Time{}
	}
	return nameOf(text[:i]), at
}

func nameOf(text string) string {
	if len(text) <= managerLength {
		return text
	}
	return strings.ToValidUTF8(text[:managerLength], "")
}
