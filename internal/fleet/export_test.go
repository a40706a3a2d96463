// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// Clause is a part of the rules that a test leaves out.
type Clause = clause

const (
	FreshnessRule   = freshnessRule
	TransitiveRule  = transitiveRule
	GroupRule       = groupRule
	PendingRule     = pendingRule
	HoldRule        = holdRule
	PinSeenRule     = pinSeenRule
	ChartsRule      = chartsRule
	AttemptedRule   = attemptedRule
	DeclaredRule    = declaredRule
	NeverPinnedRule = neverPinnedRule
)

// EvaluateWithout applies the rules without some of their clauses.
func EvaluateWithout(in Input, c Clause) Evaluation { return new(Evaluator).evaluate(in, c) }
