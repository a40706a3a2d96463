// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notify is a test double of notification-controller's event receiver. It
// applies the rules that decide whether an event reaches anybody: duplicates are
// refused, metadata without the right prefix is stripped, and only a closed list
// of kinds can be selected by an Alert.
package notify
