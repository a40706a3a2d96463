// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// generatedMark is the line of docs/wfctl.md behind which all is generated.
const generatedMark = "<!-- What follows is generated from the program: go test ./internal/wfctl -run TestReference -update -->\n"

// TestReference holds the reference in docs/wfctl.md to the program.
func TestReference(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := filepath.Join("..", "..", "docs", "wfctl.md")
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	guide, generated, ok := strings.Cut(string(content), generatedMark)
	g.Expect(ok).To(BeTrue(), "the mark is missing")
	want := "\n" + reference(Command("dev"))
	if *update {
		g.Expect(os.WriteFile(file, []byte(guide+generatedMark+want), 0o644)).To(Succeed())
		return
	}
	g.Expect(generated).To(Equal(want))
}

func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("## Commands\n\n| command | does |\n| --- | --- |\n")
	var commands []*cobra.Command
	for _, c := range root.Commands() {
		if c.GroupID != "" {
			commands = append(commands, c)
			fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.Name(), c.Name(), c.Short)
		}
	}
	for _, c := range commands {
		fmt.Fprintf(&b, "\n### %s\n\n```text\n%s\n```\n\n%s\n", c.Name(), c.UseLine(), fenced(c.Long))
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", outdent(c.Example))
		}
		flags(&b, c.LocalNonPersistentFlags())
	}
	b.WriteString("\n### Flags of every command\n")
	flags(&b, root.PersistentFlags())
	return b.String()
}

// fenced keeps the list of checks, which is aligned by spaces, as it is.
func fenced(long string) string {
	text, list, ok := strings.Cut(long, "Checks:\n")
	if !ok {
		return long
	}
	return text + "Checks:\n\n```text\n" + strings.TrimRight(list, "\n") + "\n```"
}

func outdent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func flags(b *strings.Builder, set *pflag.FlagSet) {
	first := true
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			b.WriteString("\n| flag | default | meaning |\n| --- | --- | --- |\n")
			first = false
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + strings.ReplaceAll(kind, "|", "\\|")
		}
		def := f.DefValue
		if def == "[]" || def == "" || def == "false" {
			def = ""
		} else {
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, def, usage)
	})
}

// TestHelp: the help of each command is its reference, and says what it is for.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range Command("dev").Commands() {
		if c.GroupID == "" {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(c.Short).NotTo(BeEmpty())
			g.Expect(c.Short).NotTo(HaveSuffix("."))
			g.Expect(c.Long).NotTo(BeEmpty())
			g.Expect(c.Example).To(ContainSubstring("wfctl " + c.Name()))
			r := wfctl(t, nil, c.Name(), "--help")
			g.Expect(r.code).To(Equal(ExitSuccess))
			g.Expect(r.stdout).To(ContainSubstring("Usage:\n  wfctl " + c.Name()))
		})
	}
}

// TestFlagsDoNotLeak: flags of one program don't leak into the next.
func TestFlagsDoNotLeak(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := fakeClient(quiescent())
	g.Expect(wfctl(t, c, "nodes", "-o", "json").stdout).To(HavePrefix("["))
	g.Expect(wfctl(t, c, "nodes").stdout).To(HavePrefix("NODE"))
}

func TestColor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		args     []string
		terminal bool
		environ  map[string]string
		want     bool
	}{
		{"terminal", nil, true, nil, true},
		{"pipe", nil, false, nil, false},
		{"NO_COLOR", nil, true, map[string]string{"NO_COLOR": "1"}, false},
		{"dumb", nil, true, map[string]string{"TERM": "dumb"}, false},
		{"always", []string{"--color", "always"}, false, map[string]string{"NO_COLOR": "1"}, true},
		{"never", []string{"--color=never"}, true, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := wfctlWith(t, fakeClient(quiescent()), "", append([]string{"status"}, tt.args...), func(p *program) {
				p.colorable = func() bool { return tt.terminal }
				p.getenv = func(name string) string { return tt.environ[name] }
			})
			g.Expect(strings.Contains(r.stdout, "\x1b[32mQuiescent")).To(Equal(tt.want), r.stdout)
			g.Expect(wfctl(t, fakeClient(quiescent()), "status", "-o", "json", "--color", "always").stdout).NotTo(ContainSubstring("\x1b"))
		})
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"frobnicate"}, "failed to find the command \"frobnicate\": `wfctl --help` lists them"},
		{[]string{"statsu"}, `failed to find the command "statsu": did you mean status?`},
		{[]string{"version"}, "`wfctl --version` prints the version"},
		{[]string{"status", "--nonsense"}, "unknown flag"},
		{[]string{"status", "-o", "xml"}, `"xml" is none of table, wide, json, yaml`},
		{[]string{"status", "extra"}, `status takes none, got "extra" (a Wavefront is named with --wavefront)`},
		{[]string{"explain"}, "exactly one node"},
		{[]string{"explain", "app"}, "expected namespace/name (-n has no effect)"},
		{[]string{"explain", "ks/flotillas/app-repo"}, "that is a source"},
		{[]string{"explain", "Pod/a/b"}, `the kind "Pod" is none of Kustomization, HelmRelease`},
		{[]string{"explain", "flotillas/app-repo"}, "that is a source; its nodes are flotillas/app"},
		{[]string{"explain", "flotillas/nobody"}, "are the labels on both"},
		{[]string{"source", "flotillas/app"}, `that is a node; its source is "flotillas/app-repo"`},
		{[]string{"status", "--poll"}, "--poll lists references for --derive"},
		{[]string{"status", "--from", "x", "--derive"}, "--derive can't be combined"},
		{[]string{"status", "--from", "/nonexistent"}, "failed to open the snapshot"},
		{[]string{"status", "--from", "-", "--watch"}, "nothing will change"},
		{[]string{"status", "--watch", "--every", "1ms"}, "at least 1s"},
		{[]string{"graph", "--tree", "-o", "svg"}, "can't be combined"},
		{[]string{"status", "--wavefront", "other"}, `failed to find Wavefront "other": the cluster has fleet`},
		{[]string{"pin", "flotillas/app-repo"}, `required flag(s) "sha"`},
		{[]string{"force-admit", "flotillas/app-repo", "--unverified"}, "name it with --sha"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := wfctl(t, fakeClient(quiescent()), tt.args...)
			g.Expect(r.code).To(Equal(ExitError))
			g.Expect(r.stdout).To(BeEmpty())
			g.Expect(r.stderr).To(And(HavePrefix("✗ "), ContainSubstring(tt.says)))
		})
	}
}

// TestClusterNotNamed has the person at fault told so, and not that some port of this
// machine refuses connections.
func TestClusterNotNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		NewWithT(t).Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}
	const clusters = `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]` +
		`, contexts: [{name: prod, context: {cluster: c, user: ""}}]}`
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"empty", []string{"--kubeconfig", file("empty", "")}, "no cluster in " + filepath.Join(dir, "empty") + ": name a kubeconfig in KUBECONFIG or with --kubeconfig"},
		{"no current context", []string{"--kubeconfig", file("none", clusters)}, "no current context: name one with --context"},
		{"a context", []string{"--kubeconfig", file("some", clusters), "--context", "prod"}, "127.0.0.1:1"},
		{"a server", []string{"--kubeconfig", file("server", ""), "--server", "http://127.0.0.1:1"}, "127.0.0.1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streams, _, _, errOut := genericiooptions.NewTestIOStreams()
			g := NewWithT(t)
			g.Expect(Main(t.Context(), append([]string{"wfctl", "status"}, tt.args...), "1", streams, func(p *program) {
				p.getenv = func(string) string { return "" } // as outside of a cluster
			})).To(Equal(ExitError))
			g.Expect(errOut.String()).To(ContainSubstring(tt.says))
		})
	}
}

func TestCalledAs(t *testing.T) {
	t.Parallel()
	for arg0, want := range map[string]string{
		"/usr/bin/wfctl": "wfctl", "kubectl-wavefront": "kubectl wavefront", `flux-wavefront.exe`: "flux wavefront", "": "wfctl", "wf": "wf",
	} {
		NewWithT(t).Expect(calledAs(arg0)).To(Equal(want), arg0)
	}
	g := NewWithT(t)
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	g.Expect(Main(t.Context(), []string{"kubectl-wavefront", "explain", "--help"}, "1", streams)).To(Equal(ExitSuccess))
	g.Expect(out.String()).To(And(ContainSubstring("kubectl wavefront explain [KIND/]NAMESPACE/NAME"), Not(ContainSubstring("  wfctl"))))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	r := wfctl(t, nil, "--version")
	NewWithT(t).Expect(r.stdout).To(Equal("1.2.3\n"))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"explain", ""}, []string{"flotillas/app", "flotillas/db", "waves/gate-1"}},
		{[]string{"explain", "waves/"}, []string{"waves/gate-1"}},
		{[]string{"pin", "--sha", "x", ""}, []string{"flotillas/app-repo", "flotillas/db-repo"}},
		{[]string{"adopt", "flotillas/app-repo", ""}, []string{"flotillas/db-repo"}},
		{[]string{"status", "--wavefront", ""}, []string{"fleet"}},
		{[]string{"status", "-o", ""}, []string{"table", "wide", "json", "yaml"}},
		{[]string{"mode", "E"}, []string{"Enforce"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := wfctl(t, fakeClient(quiescent()), append([]string{"__complete"}, tt.args...)...)
			lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
			g.Expect(lines[:len(lines)-1]).To(Equal(tt.want), r.stderr)
		})
	}
}
