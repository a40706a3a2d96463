// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/tests/env"
)

const runbook = "docs/runbook.md"

// TestRunbookHasEveryAlert compares the runbook with the rules, in both directions.
func TestRunbookHasEveryAlert(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var alerts []string
	for _, match := range regexp.MustCompile(`(?m)^ *- alert: (\w+)$`).FindAllStringSubmatch(read(t, "config/monitoring/prometheusrule.yaml"), -1) {
		alerts = append(alerts, match[1])
	}
	g.Expect(alerts).NotTo(BeEmpty())
	g.Expect(firstColumn(section(t, read(t, runbook), "## Alarms"))).To(ConsistOf(alerts))
}

// TestRunbookHasEveryFault compares the runbook with the kinds of failed listings.
func TestRunbookHasEveryFault(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, kind := range fault.Kinds() {
		kinds = append(kinds, string(kind))
	}
	NewWithT(t).Expect(firstColumn(section(t, read(t, runbook), "## Sources that can't be listed"))).To(ConsistOf(kinds))
}

// TestFlagsAreThoseOfTheManager compares the table with what the manager prints.
func TestFlagsAreThoseOfTheManager(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(toolsOnce()).To(Succeed())
	help, err := exec.Command(filepath.Join(tools, env.ControllerName), "--help").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred())
	var flags []string
	for _, match := range regexp.MustCompile(`(?m)^ +(--[a-z0-9-]+)`).FindAllStringSubmatch(string(help), -1) {
		flags = append(flags, match[1])
	}
	g.Expect(flags).To(ContainElement("--declarative-managers"))
	documented := section(t, read(t, "docs/README.md"), "## Flags")
	_, gates, _ := cutAt(documented, "### Feature Gates")
	table, _, _ := cutAt(documented, "### Feature Gates")
	g.Expect(firstColumn(table)).To(Equal(flags))
	g.Expect(firstColumn(gates)).To(ConsistOf(supportedGates(t)))
}

func cutAt(text, heading string) (before, after string, found bool) {
	at := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(heading) + `$`).FindStringIndex(text)
	if at == nil {
		return text, "", false
	}
	return text[:at[0]], text[at[1]:], true
}

// supportedGates reads the names of the gates from the source of the options.
func supportedGates(t testing.TB) []string {
	t.Helper()
	g := NewWithT(t)
	_, body, found := cutAt(read(t, "options.go"), "func supportedGates() map[string]bool {")
	g.Expect(found).To(BeTrue())
	known := map[string]string{"gateFluxApp": "FluxApp", "auth.FeatureGateObjectLevelWorkloadIdentity": "ObjectLevelWorkloadIdentity"}
	var gates []string
	for _, match := range regexp.MustCompile(`(?m)^\t\t([\w.]+): +(?:true|false),$`).FindAllStringSubmatch(body, -1) {
		g.Expect(known).To(HaveKey(match[1]), "document the gate in docs/README.md, and name it here")
		gates = append(gates, known[match[1]])
	}
	return gates
}
