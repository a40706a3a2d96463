// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// bigGolden is the size from which a golden file is compressed.
const bigGolden = 48 << 10

// compareGolden compares with, or under -update rewrites, a golden file.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	g := NewWithT(t)
	plain := filepath.Join("testdata", name)
	packed := plain + ".gz"
	if *update {
		g.Expect(os.MkdirAll(filepath.Dir(plain), 0o755)).To(Succeed())
		_ = os.Remove(plain)
		_ = os.Remove(packed)
		if len(got) < bigGolden {
			g.Expect(os.WriteFile(plain, got, 0o644)).To(Succeed())
			return
		}
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		_, _ = zip.Write(got)
		g.Expect(zip.Close()).To(Succeed())
		g.Expect(os.WriteFile(packed, out.Bytes(), 0o644)).To(Succeed())
		return
	}
	want, err := readGolden(name)
	g.Expect(err).NotTo(HaveOccurred(), "run with -update to record it")
	if len(got) > bigGolden && !bytes.Equal(got, want) {
		t.Fatalf("%s differs; run with -update and look at the difference", packed)
	}
	g.Expect(string(got)).To(Equal(string(want)))
}

func readGolden(name string) ([]byte, error) {
	plain := filepath.Join("testdata", name)
	if data, err := os.ReadFile(plain); err == nil {
		return data, nil
	}
	f, err := os.Open(plain + ".gz")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

// run is one call of wfctl.
type run struct {
	code           int
	stdout, stderr string
}

// wfctl runs the program with the fixture's clock; without a client it must not
// need one.
func wfctl(t *testing.T, c client.WithWatch, args ...string) run {
	t.Helper()
	return wfctlWith(t, c, "", args, WithInteractive(false))
}

func wfctlWith(t *testing.T, c client.WithWatch, input string, args []string, opts ...Option) run {
	t.Helper()
	streams, in, out, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString(input)
	opts = append([]Option{WithClock(func() time.Time { return fixtureNow }), WithClient(c), withUser("jane", "workstation")}, opts...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := Main(ctx, append([]string{"wfctl"}, args...), "1.2.3", streams, opts...)
	return run{code, out.String(), errOut.String()}
}

func fakeClient(f *fixture) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(NewScheme()).WithReturnManagedFields().
		WithObjects(f.wavefront).WithObjects(f.objects...).Build()
}

func snapshotName(scenario string) string { return "snapshots/" + scenario + ".yaml" }

func TestSnapshot(t *testing.T) {
	t.Parallel()
	for name, build := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := wfctl(t, fakeClient(build()), "snapshot")
			g.Expect(r.code).To(Equal(ExitSuccess), r.stderr)
			g.Expect(r.stdout).NotTo(ContainSubstring("s3cr3t"))
			compareGolden(t, snapshotName(name), []byte(r.stdout))
		})
	}
}

// readCommands are all commands that read, with every format of theirs.
func readCommands(scenario string) map[string][]string {
	node, source := subjects[scenario][0], subjects[scenario][1]
	commands := map[string][]string{
		"status":      {"status"},
		"nodes":       {"nodes"},
		"sources":     {"sources"},
		"source":      {"source", source},
		"explain":     {"explain", node},
		"graph":       {"graph"},
		"history":     {"history"},
		"release-set": {"release-set", "--allow-unsettled"},
		"lint":        {"lint"},
	}
	all := map[string][]string{"graph.tree": {"graph", "--tree"}, "release-set.refused": {"release-set"}}
	for name, args := range commands {
		for _, format := range []string{"table", "wide", "json", "yaml"} {
			all[name+"."+format] = append(slices.Clone(args), "-o", format)
		}
	}
	for _, format := range []string{"dot", "mermaid", "svg"} {
		all["graph."+format] = []string{"graph", "-o", format}
	}
	all["release-set.csv"] = []string{"release-set", "--allow-unsettled", "-o", "csv"}
	all["snapshot.json"] = []string{"snapshot", "-o", "json"}
	return all
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, scenario := range slices.Sorted(maps.Keys(scenarios)) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			file := replayFile(t, scenario)
			for name, args := range readCommands(scenario) {
				t.Run(name, func(t *testing.T) {
					r := wfctl(t, nil, append(args, "--from", file)...)
					compareGolden(t, filepath.Join("golden", scenario, name), r.golden(file))
				})
			}
		})
	}
}

// replayFile unpacks a recorded snapshot.
func replayFile(t *testing.T, scenario string) string {
	t.Helper()
	g := NewWithT(t)
	data, err := readGolden(snapshotName(scenario))
	g.Expect(err).NotTo(HaveOccurred(), "run with -run TestSnapshot -update to record it")
	// JSON is read much faster, which tells at 2,000 nodes and forty commands.
	data, err = yaml.YAMLToJSON(data)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "snapshot.json")
	g.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	return file
}

// golden renders a run for a golden file.
func (r run) golden(file string) []byte {
	stderr := r.stderr
	if file != "" {
		stderr = strings.ReplaceAll(stderr, file, "SNAPSHOT")
	}
	return fmt.Appendf(nil, "exit %d\n--- stdout\n%s--- stderr\n%s", r.code, r.stdout, stderr)
}

func withUser(user, host string) Option {
	return func(p *program) { p.origin = func() string { return user + "@" + host } }
}

// TestNothingIsObeyed holds every recorded output to what a terminal may show.
func TestNothingIsObeyed(t *testing.T) {
	t.Parallel()
	for name, args := range readCommands("hostile") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := wfctl(t, nil, append(args, "--from", replayFile(t, "hostile"))...)
			g.Expect(escape.Printable([]byte(r.stdout))).To(BeTrue(), r.stdout)
			g.Expect(escape.Printable([]byte(strings.ReplaceAll(r.stderr, "\ufe0f", "")))).To(BeTrue(), r.stderr)
			g.Expect(r.stdout + r.stderr).NotTo(ContainSubstring("s3cr3t"))
		})
	}
}
