// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
	"github.com/isometry/wavefront-controller/tests/env"
)

// promtool runs Debian's promtool in a folder.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is missing, `make deps` installs it: %v", err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// ruleGroups are the groups of the PrometheusRule, as a rule file has them.
func ruleGroups(g *WithT) map[string]any {
	objects, err := env.BuildKustomization(configDir("monitoring"))
	g.Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "PrometheusRule" })
	g.Expect(i).To(BeNumerically(">=", 0))
	return objects[i].Object["spec"].(map[string]any)
}

func writeYAML(g *WithT, path string, value any) {
	content, err := yaml.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
}

// TestRules runs promtool's unit tests, and makes sure that each alert has some
// that fire.
func TestRules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	groups := ruleGroups(g)
	writeYAML(g, filepath.Join(dir, "rules.yaml"), groups)
	tests, err := os.ReadFile("testdata/rules_test.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "rules_test.yaml"), tests, 0o600)).To(Succeed())
	promtool(t, dir, "check", "rules", "rules.yaml")
	promtool(t, dir, "test", "rules", "rules_test.yaml")

	for name := range expressionsOf(g, groups) {
		fires := regexp.MustCompile(`alertname: ` + name + `\n\s+exp_alerts:`)
		g.Expect(fires.Match(tests)).To(BeTrue(), "no test shows that %s fires", name)
		g.Expect(string(tests)).To(ContainSubstring("alertname: "+name+"}"), "no test shows that %s keeps still", name)
	}
}

// expressionsOf returns the expression of each alert.
func expressionsOf(g *WithT, groups map[string]any) map[string]string {
	content, err := json.Marshal(groups)
	g.Expect(err).NotTo(HaveOccurred())
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	g.Expect(json.Unmarshal(content, &file)).To(Succeed())
	all := map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule.Expr
		}
	}
	g.Expect(all).NotTo(BeEmpty())
	return all
}

// queriesOf returns the queries of the dashboard by panel, with Grafana's
// variables filled in.
func queriesOf(g *WithT) map[string][]string {
	content, err := os.ReadFile(configDir("monitoring", "wavefront.json"))
	g.Expect(err).NotTo(HaveOccurred())
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	g.Expect(json.Unmarshal(content, &dashboard)).To(Succeed())
	fill := strings.NewReplacer("$__rate_interval", "5m", "$wavefront", ".*")
	queries := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries[panel.Title] = append(queries[panel.Title], fill.Replace(target.Expr))
		}
	}
	g.Expect(queries).NotTo(BeEmpty())
	return queries
}

var metricName = regexp.MustCompile(`\b(?:wavefront|gotk|leader_election)_[a-z_]+\b`)

// namesIn returns the metrics that an expression speaks of.
func namesIn(expression string) []string {
	var names []string
	for _, name := range metricName.FindAllString(expression, -1) {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		names = append(names, name)
	}
	return names
}

// TestExpressionsSpeakOfDefinedMetrics catches a metric that was renamed.
func TestExpressionsSpeakOfDefinedMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	defined := []string{"gotk_reconcile_duration_seconds", "leader_election_master_status"}
	for _, m := range report.Definitions() {
		defined = append(defined, m.Name)
	}
	for _, m := range refs.Metrics() {
		defined = append(defined, m.Name)
	}
	used := map[string]bool{}
	check := func(where, expression string) {
		names := namesIn(expression)
		g.Expect(names).NotTo(BeEmpty(), where)
		for _, name := range names {
			g.Expect(defined).To(ContainElement(name), where)
			used[name] = true
		}
	}
	for alert, expression := range expressionsOf(g, ruleGroups(g)) {
		check(alert, expression)
	}
	for panel, queries := range queriesOf(g) {
		for _, query := range queries {
			check(panel, query)
		}
	}
	for _, name := range defined {
		g.Expect(used).To(HaveKey(name), "nobody looks at it")
	}
}
