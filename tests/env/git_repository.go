// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Files is the content of files by path, with forward slashes.
type Files map[string]string

// Repository is a bare repository of a GitServer. Its changes are atomic and seen by
// the next request, as those of a push are.
type Repository struct {
	server *GitServer
	name   string
	dir    string
	url    string
}

// Name is the repository's name, as given to Create.
func (r *Repository) Name() string { return r.name }

// URL is where the repository is served.
func (r *Repository) URL() string { return r.url }

// Dir is the bare repository's folder.
func (r *Repository) Dir() string { return r.dir }

// Commit writes files on top of a branch, which is made when missing, and returns the
// new commit's hash. Other files stay as they are. It always makes a new commit, even
// without a change.
func (r *Repository) Commit(ctx context.Context, branch, message string, files Files) (string, error) {
	return r.commit(ctx, branch, message, "refs/heads/"+branch+"^0", files, nil)
}

// Remove deletes paths (a folder with all in it) in a new commit and returns its hash.
func (r *Repository) Remove(ctx context.Context, branch, message string, paths ...string) (string, error) {
	return r.commit(ctx, branch, message, "refs/heads/"+branch+"^0", nil, paths)
}

// ForceCommit moves a branch to a new commit made on top of parent (any revision that
// git understands; empty means a history of its own), whatever the branch was at: a
// force-push of rewritten history.
func (r *Repository) ForceCommit(ctx context.Context, branch, parent, message string, files Files) (string, error) {
	return r.commit(ctx, branch, message, parent, files, nil)
}

// commit makes a commit by git fast-import: one process, no work tree, and the branch
// moves last.
func (r *Repository) commit(ctx context.Context, branch, message, parent string, files Files, remove []string) (string, error) {
	ref := "refs/heads/" + branch
	if parent == ref+"^0" {
		if _, err := r.Resolve(ctx, ref); err != nil {
			parent = "" // the branch's first commit
		}
	} else if parent != "" {
		hash, err := r.Resolve(ctx, parent)
		if err != nil {
			return "", err
		}
		parent = hash
	}
	var stream bytes.Buffer
	writeCommit(&stream, ref, message, parent, files, remove)
	if _, err := r.git(ctx, stream.String(), "fast-import", "--quiet", "--force"); err != nil {
		return "", err
	}
	return r.Resolve(ctx, ref)
}

// writeCommit writes one commit in git fast-import's language.
func writeCommit(stream *bytes.Buffer, ref, message, parent string, files Files, remove []string) {
	if parent == "" {
		fmt.Fprintf(stream, "reset %s\n\n", ref)
	}
	fmt.Fprintf(stream, "commit %s\ncommitter %s <%s> %d +0000\n", ref, authorName, authorEmail, time.Now().Unix())
	fmt.Fprintf(stream, "data %d\n%s\n", len(message), message)
	if parent != "" {
		fmt.Fprintf(stream, "from %s\n", parent)
	}
	for _, name := range remove {
		fmt.Fprintf(stream, "D %s\n", path.Clean(name))
	}
	for _, name := range sortedKeys(files) {
		fmt.Fprintf(stream, "M 100644 inline %s\ndata %d\n%s\n", path.Clean(name), len(files[name]), files[name])
	}
}

func sortedKeys(files Files) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Head returns the commit that a branch is at.
func (r *Repository) Head(ctx context.Context, branch string) (string, error) {
	return r.Resolve(ctx, "refs/heads/"+branch)
}

// Resolve returns the commit that a revision stands for: a ref, a hash, "main~2".
func (r *Repository) Resolve(ctx context.Context, revision string) (string, error) {
	return r.git(ctx, "", "rev-parse", "--verify", "--quiet", revision+"^{commit}")
}

// Reset moves a branch to a revision, forwards or backwards: a force-push of a commit
// that is there already. The branch is made when missing.
func (r *Repository) Reset(ctx context.Context, branch, revision string) error {
	return r.SetRef(ctx, "refs/heads/"+branch, revision)
}

// SetRef points any full ref name ("refs/tags/v1") at a commit.
func (r *Repository) SetRef(ctx context.Context, ref, revision string) error {
	hash, err := r.Resolve(ctx, revision)
	if err != nil {
		return err
	}
	_, err = r.git(ctx, "", "update-ref", ref, hash)
	return err
}

// Tag makes an annotated tag of a revision and returns the tag object's own hash, which
// is not the commit's.
func (r *Repository) Tag(ctx context.Context, name, revision, message string) (string, error) {
	if _, err := r.git(ctx, "", "tag", "--annotate", "--force", "--message", message, name, revision); err != nil {
		return "", err
	}
	return r.git(ctx, "", "rev-parse", "--verify", "--quiet", "refs/tags/"+name)
}

// DeleteBranch removes a branch.
func (r *Repository) DeleteBranch(ctx context.Context, branch string) error {
	return r.DeleteRef(ctx, "refs/heads/"+branch)
}

// DeleteRef removes any ref, by its full name.
func (r *Repository) DeleteRef(ctx context.Context, ref string) error {
	_, err := r.git(ctx, "", "update-ref", "-d", ref)
	return err
}

// Refs returns every ref by full name, with the hash it points at.
func (r *Repository) Refs(ctx context.Context) (map[string]string, error) {
	out, err := r.git(ctx, "", "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if name, hash, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[name] = hash
		}
	}
	return refs, nil
}

// Prune deletes what no ref reaches, so that a commit that was force-pushed away can
// no longer be fetched.
func (r *Repository) Prune(ctx context.Context) error {
	if _, err := r.git(ctx, "", "reflog", "expire", "--expire=now", "--all"); err != nil {
		return err
	}
	_, err := r.git(ctx, "", "gc", "--quiet", "--prune=now")
	return err
}

// Delete removes the repository from the server.
func (r *Repository) Delete() error { return os.RemoveAll(r.dir) }

// Break has this repository fail in this way, until Heal.
func (r *Repository) Break(fault Fault) { r.server.handler.breakRepository(r.name, fault) }

// Heal ends what Break of this repository began.
func (r *Repository) Heal() { r.server.handler.healRepository(r.name) }

// RequireBasicAuth has this repository ask for these credentials; an empty user asks
// for none again.
func (r *Repository) RequireBasicAuth(user, password string) {
	r.server.handler.requireBasicAuth(r.name, user, password)
}

// git runs a git command in the repository and returns its trimmed output.
func (r *Repository) git(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := gitCommand(ctx, r.dir, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("failed to run git %s in repository %q: %w: %s", args[0], r.name, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
