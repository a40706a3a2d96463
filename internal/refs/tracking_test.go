// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	testingclock "k8s.io/utils/clock/testing"
)

func TestTracking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		ref   *sourcev1.GitRepositoryRef
		want  string
		style string
	}{
		{"nothing", nil, "refs/heads/master", ""},
		{"empty", &sourcev1.GitRepositoryRef{}, "refs/heads/master", ""},
		{"commit only", &sourcev1.GitRepositoryRef{Commit: commitA}, "refs/heads/master", ""},
		{"branch", &sourcev1.GitRepositoryRef{Branch: "release/1.x"}, "refs/heads/release/1.x", ""},
		{"branch and commit", &sourcev1.GitRepositoryRef{Branch: "main", Commit: commitA}, "refs/heads/main", ""},
		{"semver before branch", &sourcev1.GitRepositoryRef{Branch: "main", SemVer: "1.x"}, "", "semver: 1.x"},
		{"tag before semver", &sourcev1.GitRepositoryRef{SemVer: "1.x", Tag: "v1"}, "", "tag: v1"},
		{"name before all", &sourcev1.GitRepositoryRef{Name: "refs/heads/x", SemVer: "1.x", Tag: "v1", Branch: "main"}, "refs/heads/x", ""},
		{"name of a tag", &sourcev1.GitRepositoryRef{Name: "refs/tags/v1"}, "", "name: refs/tags/v1"},
		{"name of a pull request", &sourcev1.GitRepositoryRef{Name: "refs/pull/1/head"}, "", "name: refs/pull/1/head"},
		{"HEAD", &sourcev1.GitRepositoryRef{Name: "HEAD"}, "", "name: HEAD"},
		{"no branch at all", &sourcev1.GitRepositoryRef{Name: "refs/heads/"}, "", "name: refs/heads/"},
		{"line feed", &sourcev1.GitRepositoryRef{Branch: "a\nref-prefix b"}, "", "branch: a\nref-prefix b"},
		{"climbs", &sourcev1.GitRepositoryRef{Branch: "a/../b"}, "", "branch: a/../b"},
		{"pattern", &sourcev1.GitRepositoryRef{Branch: "a*"}, "", "branch: a*"},
		{"other alphabets", &sourcev1.GitRepositoryRef{Branch: "größe"}, "refs/heads/größe", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			name, style := Tracking(tt.ref)
			g.Expect(name).To(Equal(tt.want))
			g.Expect(style).To(Equal(tt.style))
		})
	}
}

func TestPrintableURL(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(PrintableURL("https://u:hunter2@h:1/p?token=hunter2#hunter2")).To(Equal("https://h:1/p"))
	g.Expect(PrintableURL("ssh://git@h/p.git")).To(Equal("ssh://h/p.git"))
	g.Expect(PrintableURL("https://u:hunter2@h:x/p")).To(Equal("(invalid URL)"))
}

func TestHostOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for raw, want := range map[string]string{
		"https://u:hunter2@Git.Example:443/p": "git.example", "http://h:80/p": "h", "ssh://git@h:22/p": "h",
		"ssh://h:2222/p": "h:2222", "https://[::1]:8443/p": "[::1]:8443", "https://h:80/p": "h:80", "://": "",
	} {
		g.Expect(hostOf(raw)).To(Equal(want), raw)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fake := testingclock.NewFakeClock(time.Now())
	c := NewClock(fake)
	one := c.Now()
	two := c.Now()
	g.Expect(two.After(one, 0)).To(BeTrue(), "a clock that stands still orders all the same")
	fake.SetTime(fake.Now().Add(-time.Hour))
	three := c.Now()
	g.Expect(three.After(two, 0)).To(BeTrue())
	g.Expect(three.At).To(Equal(two.At), "time does not go back")
	fake.SetTime(fake.Now().Add(2 * time.Hour))
	g.Expect(c.Now().After(three, time.Hour)).To(BeTrue())
}
