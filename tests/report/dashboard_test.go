// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	dto "github.com/prometheus/client_model/go"

	"github.com/isometry/wavefront-controller/tests/env"
)

// expectDashboard scrapes the controller and expects that every query of the
// dashboard shows something, by Prometheus' own reading of them.
func (s *stage) expectDashboard(t *testing.T) {
	repo, err := s.Repository("db")
	s.Expect(err).NotTo(HaveOccurred())
	repo.Break(env.FaultInternal)
	defer repo.Heal()
	s.Eventually(func() bool { return s.scrape()["wavefront_ref_list_failures_total"] != nil }, "30s", "200ms").Should(BeTrue())
	families := s.scrape()
	for alert, expression := range expressionsOf(s.WithT, ruleGroups(s.WithT)) {
		for _, name := range namesIn(expression) {
			s.Expect(families).To(HaveKey(name), alert)
		}
	}
	lease := families["leader_election_master_status"].GetMetric()[0].GetLabel()[0].GetValue()
	s.Expect(lease).To(HavePrefix("wavefront-controller-leader-election"), "the name that the alert looks for")

	dir := t.TempDir()
	rules, tests := "groups:\n- name: dashboard\n  rules:\n", "rule_files: [rules.yaml]\ntests:\n- interval: 1m\n  input_series:\n"
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, line := range seriesOf(families[name]) {
			tests += line
		}
	}
	tests += "  alert_rule_test:\n"
	number := 0
	for _, panel := range slices.Sorted(maps.Keys(queriesOf(s.WithT))) {
		for _, query := range queriesOf(s.WithT)[panel] {
			number++
			rules += fmt.Sprintf("  - {alert: q%d, expr: %s, annotations: {panel: %s}}\n",
				number, strconv.Quote("count(("+query+") >= 0) > 0"), strconv.Quote(panel))
			tests += fmt.Sprintf("  - {eval_time: 20m, alertname: q%d, exp_alerts: [{exp_annotations: {panel: %s}}]}\n", number, strconv.Quote(panel))
		}
	}
	s.Expect(os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(rules), 0o600)).To(Succeed())
	s.Expect(os.WriteFile(filepath.Join(dir, "dashboard_test.yaml"), []byte(tests), 0o600)).To(Succeed())
	promtool(t, dir, "test", "rules", "dashboard_test.yaml")
}

// seriesOf renders a scraped metric as promtool's input: gauges stand still, and
// counters go on counting.
func seriesOf(family *dto.MetricFamily) []string {
	var lines []string
	add := func(name string, m *dto.Metric, value float64, slope int, extra ...string) {
		labels := extra
		for _, l := range m.GetLabel() {
			labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		lines = append(lines, fmt.Sprintf("  - {series: '%s{%s}', values: '%g+%dx30'}\n", name, strings.Join(labels, ","), value, slope))
	}
	for _, m := range family.GetMetric() {
		switch {
		case m.GetHistogram() != nil:
			for _, b := range m.GetHistogram().GetBucket() {
				add(family.GetName()+"_bucket", m, float64(b.GetCumulativeCount()), 1, fmt.Sprintf("le=\"%g\"", b.GetUpperBound()))
			}
			add(family.GetName()+"_count", m, float64(m.GetHistogram().GetSampleCount()), 1)
		case m.GetCounter() != nil:
			add(family.GetName(), m, m.GetCounter().GetValue(), 1)
		case m.GetGauge() != nil:
			add(family.GetName(), m, m.GetGauge().GetValue(), 0)
		}
	}
	return lines
}
