// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		color bool
		want  string
	}{
		{"plain", false, "NAME      STATE\nteam-x    Settled\n日本      -\na\\x1b[m   b\n"},
		{"coloured", true, "\x1b[1mNAME\x1b[0m      \x1b[1mSTATE\x1b[0m\n" +
			"team-x    \x1b[32mSettled\x1b[0m\n日本      -\na\\x1b[m   b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			table := Table{Header: []string{"NAME", "STATE"}}
			table.Add(Cell{Text: "team-x"}, Cell{Text: "Settled", Style: Good})
			table.Add(Text("日本", "")...)
			table.Add(Text("a\x1b[m", "b\n")...)
			var out bytes.Buffer
			g.Expect(table.Write(&out, tt.color)).To(Succeed())
			g.Expect(out.String()).To(Equal(tt.want))
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var f Fields
	f.AddText("Name", "fleet")
	f.AddText("Conditions", "Ready True", "x\x1b]0;y")
	f.Add("None")
	var out bytes.Buffer
	g.Expect(f.Write(&out, false)).To(Succeed())
	g.Expect(out.String()).To(Equal("Name:        fleet\nConditions:  Ready True\n             x\\x1b]0;y\nNone:        -\n"))
}
