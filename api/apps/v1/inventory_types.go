// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// ResourceInventory lists the objects that a FluxApp keeps. Its form is that
// of Flux's own inventories, so that tools which read those can read it.
type ResourceInventory struct {
	// Entries of the objects, sorted by ID.
	// +required
	Entries []ResourceRef `json:"entries"`
}

// ResourceRef identifies one object of the inventory.
type ResourceRef struct {
	// ID is the object's namespace, name, group and kind, joined by
	// underscores: '<namespace>_<name>_<group>_<kind>'.
	// +required
	ID string `json:"id"`

	// Version is the API version of the object's kind.
	// +required
	Version string `json:"v"`
}
