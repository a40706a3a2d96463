// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"
	"strings"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// ownFixes say what helps with the node's own trouble; what it waits for in
// others is their step of the chain.
func (e Explainer) ownFixes(n *picture.Node) []string {
	if n.Missing() {
		return []string{e.missingFix(n.Ref)}
	}
	var fixes []string
	if n.Trouble != "" && !unlisted(n) {
		fixes = append(fixes, e.troubleFix(n))
	}
	if n.Blocked != nil {
		fixes = append(fixes, e.reasonFix(n)...)
		return fixes
	}
	switch wavefrontv1.NodeState(n.State) {
	case wavefrontv1.StateConverging:
		if ref := e.awaited(n); ref != nil && e.Picture.Node(*ref).Missing() {
			break // what helps is said of the one that it waits for
		}
		fixes = append(fixes, "wait for it; what it is doing: "+describe(n.Ref))
	case wavefrontv1.StateAdmissible:
		fixes = append(fixes, e.admissibleFix())
	default:
	}
	if held := e.holdFix(n); held != "" && n.Pending() != "" {
		fixes = append(fixes, held)
	}
	return fixes
}

// unlisted tells whether the node has nothing to run because its source can't be reached:
// no commit of it was ever seen, so a new one can't help.
func unlisted(n *picture.Node) bool {
	return n.Blocked != nil && fleet.Reason(n.Blocked.Reason) == fleet.NotEnrolled && n.ObservationError != ""
}

func (e Explainer) troubleFix(n *picture.Node) string {
	look := describe(n.Ref)
	if n.Role == string(wavefrontv1.RoleGate) || n.Source == nil || n.Pin == "" {
		return fmt.Sprintf("repair what fails in %s (%s)", n.Path(), look)
	}
	return fmt.Sprintf("repair what fails in %s (%s): push a fix to the branch of %s, which is admitted although the node is unhealthy, or go back to %s",
		n.Path(), look, n.Source.Path(), e.goBack(n.Source.Path()))
}

// describe spells how to look at an object. A reference may hold anything for a name.
func describe(r picture.Ref) string {
	return fmt.Sprintf("kubectl -n %s describe %s %s", escape.Word(r.Namespace), escape.Word(strings.ToLower(r.Kind)), escape.Word(r.Name))
}

// fullCommit is what may stand in a command line: an annotation may hold anything.
var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// goBack spells how to pin the commit before; where the source could not be read, one that
// the person knows.
func (e Explainer) goBack(source string) string {
	pin := "pin " + escape.Word(source) + " --sha "
	if s := e.Picture.Source(source); s != nil && s.Detail != nil && fullCommit.MatchString(s.Detail.PreviousPin) {
		return "the commit before with " + e.Command(pin+s.Detail.PreviousPin)
	}
	return "a commit that worked with " + e.Command(pin+"SHA")
}

func (e Explainer) admissibleFix() string {
	if e.shadow() {
		return "in Shadow it is only announced; to have pins moved: " + e.Command("mode Enforce")
	}
	return "the controller admits it at its next evaluation; ask for one now with " + e.Command("reconcile")
}

func (e Explainer) reasonFix(n *picture.Node) []string {
	switch fleet.Reason(n.Blocked.Reason) {
	case fleet.SelfHeld:
		return nonEmpty(e.holdFix(n))
	case fleet.SelfUnobserved:
		return e.listingFix(n)
	case fleet.NotEnrolled:
		if unlisted(n) {
			return e.listingFix(n)
		}
		return []string{e.enrolFix(n)}
	case fleet.GraphCycle:
		return e.cycleFix(n)
	case fleet.Contested:
		return []string{"let only one Wavefront select it: change spec.nodes.selector of one of them, or suspend one with " + e.Command("suspend --wavefront NAME")}
	case fleet.Suspended:
		return []string{"let it move again with " + e.Command("resume")}
	default:
		return nil
	}
}

func (e Explainer) holdFix(n *picture.Node) string {
	if n.Hold == nil || n.Source == nil {
		return ""
	}
	switch fleet.HoldReason(n.Hold.Reason) {
	case fleet.HandPin:
		fix := "give it back to the controller at its present commit with " + e.Command("release "+escape.Word(n.Source.Path()))
		if n.Pending() != "" {
			fix += fmt.Sprintf(": commit %s is then admitted in its turn, so see first that it is sound", short(n.Pending()))
		}
		return fix
	case fleet.Declared:
		return fmt.Sprintf("remove spec.ref.commit from the manifest of GitRepository %s in Git", n.Source.Path())
	case fleet.Suspend:
		return fmt.Sprintf("resume what is suspended: flux -n %s resume source git %s, flux -n %s resume kustomization %s, or the HelmReleases of it",
			escape.Word(n.Source.Namespace), escape.Word(n.Source.Name), escape.Word(n.Namespace), escape.Word(n.Name))
	case fleet.UnsupportedRef:
		return fmt.Sprintf("set spec.ref.branch (and no tag, semver or other name) on GitRepository %s in Git; otherwise it is released by policy after two poll intervals", n.Source.Path())
	}
	return "see who holds it with " + e.Command("source "+escape.Word(n.Source.Path()))
}

// listingFixes name the remedy for each kind of failed listing.
var listingFixes = map[fault.Kind]string{
	fault.Unauthorized: "the credentials in its spec.secretRef are refused: renew them",
	fault.NotFound:     "check spec.url, and that the credentials may see the repository",
	fault.RefMissing:   "the branch does not exist in the repository: check spec.ref",
	fault.Timeout:      "the git server does not answer in time: check it and the network, or raise spec.poll.timeout of the Wavefront",
	fault.Throttled:    "the git host limits the rate: lower spec.poll.perHostConcurrency or lengthen spec.poll.interval of the Wavefront",
	fault.TLS:          "the server's certificate can't be verified: check it against ca.crt of the Secret",
	fault.HostKey:      "the SSH server's host key is not in known_hosts of the Secret: verify it out of band, then update the Secret",
	fault.TooLarge:     "the repository has more references than one listing may hold: have the server speak git protocol version 2",
	fault.Protocol:     "what answers at spec.url is no git server: check spec.url and any proxy in between",
	fault.Unsupported:  "it asks for what can't be sequenced: set spec.ref.branch, in a repository that Flux can fetch",
	fault.Credentials:  "the Secret or ServiceAccount that it names can't be used as it stands: correct what the error names",
	fault.Unreachable:  "the git host can't be reached: check the network, DNS and spec.proxySecretRef",
	fault.ServerFailed: "the git server fails: look there",
}

func (e Explainer) listingFix(n *picture.Node) []string {
	if n.Source == nil {
		return nil
	}
	again := "list it at once with " + e.Command("reconcile")
	if n.ObservationError == "" {
		return []string{"wait for the next listing (within one poll interval), or " + again}
	}
	kind, _, _ := strings.Cut(n.ObservationError, ":")
	if fix, ok := listingFixes[fault.Kind(kind)]; ok {
		return []string{fmt.Sprintf("GitRepository %s: %s; then %s", n.Source.Path(), fix, again)}
	}
	return []string{fmt.Sprintf("GitRepository %s: repair access to the git server (%s); then %s", n.Source.Path(), n.ObservationError, again)}
}

func (e Explainer) enrolFix(n *picture.Node) string {
	if n.Source == nil {
		return "wait for its first pin"
	}
	return fmt.Sprintf("wait: first pins are paced, ten at a time; if it stays so, see why GitRepository %s is not Ready: %s",
		n.Source.Path(), describe(*n.Source))
}

func (e Explainer) cycleFix(n *picture.Node) []string {
	var fixes []string
	for _, c := range e.cycleOf(n.Ref) {
		names := make([]string, len(c))
		for i, r := range c {
			names[i] = r.Path()
		}
		fixes = append(fixes, "remove one spec.dependsOn of this cycle in Git: "+strings.Join(names, " -> "))
	}
	if len(fixes) == 0 {
		fixes = append(fixes, "see the cycle in the condition GraphValid: "+e.Command("status"))
	}
	return fixes
}

func (e Explainer) missingFix(ref picture.Ref) string {
	var who []string
	for _, d := range e.Picture.Dependents(ref) {
		who = append(who, d.Path())
	}
	from := "the nodes that name it"
	if len(who) > 0 {
		from = strings.Join(who, ", ")
	}
	return fmt.Sprintf("create %s, or remove it from spec.dependsOn of %s in Git", ref, from)
}

// toMove says what it takes for the node to move.
func (e Explainer) toMove(n *picture.Node) string {
	if n.Missing() {
		return "nothing: it does not exist, and what depends on it waits until it does"
	}
	if n.Role == string(wavefrontv1.RoleGate) {
		return "nothing: it is a gate, the controller never moves it; what depends on it waits until it is healthy; if it should be moved, " +
			e.Command("lint") + " says which label or reference keeps it from it"
	}
	if e.Picture.Wavefront.Suspend {
		return "the Wavefront must be resumed: " + e.Command("resume")
	}
	if n.Pending() == "" {
		return e.withoutCommit(n)
	}
	who := "the controller moves it by itself once what is named above is repaired"
	if n.Blocked == nil {
		who = "nothing more: it moves at the next evaluation"
	}
	if e.shadow() {
		who = "nothing moves it in Shadow; in Enforce it would move once what is named above is repaired"
		if n.Blocked == nil {
			who = "only the mode: in Enforce it would move at the next evaluation"
		}
	}
	if n.Source != nil && n.Hold == nil && !e.shadow() && n.Blocked != nil {
		who += "; in an emergency, past the gate and once: " + e.Command("force-admit "+escape.Word(n.Source.Path()))
	}
	return who
}

// withoutCommit says what it takes for a node that has no commit waiting.
func (e Explainer) withoutCommit(n *picture.Node) string {
	commit := "a new commit on the branch that its source follows, and every ancestor settled"
	switch {
	case n.Blocked != nil && fleet.Reason(n.Blocked.Reason) == fleet.NotEnrolled:
		return "its first pin, which the controller sets by itself once source-controller can fetch the source"
	case n.Blocked != nil:
		return "first what is named above has to be repaired; then " + commit
	case n.Hold != nil && e.holdFix(n) != "":
		return "first " + e.holdFix(n) + "; then " + commit
	}
	return commit
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
