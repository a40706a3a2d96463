// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refs lists refs from real servers: OpenSSH's sshd, Gitea, and hostile
// ones beside good ones, and measures listing against git and go-git. What is not
// installed is said and skipped, unless REFS_REQUIRED is set.
package refs
