// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// sourceWrite is one write to a source that the API server took.
type sourceWrite struct {
	env.AuditEvent
	commit, artifact string
	version          uint64
}

// writesTo returns what was written to a source since a mark, status included, in the
// order in which it was stored: the audit log has requests in the order of their ends.
func (f *fixture) writesTo(mark int64, name string) []sourceWrite {
	f.t.Helper()
	events, err := f.env.AuditLog().Since(mark)
	f.ok(err)
	var writes []sourceWrite
	for _, e := range events {
		if !e.IsWrite() || e.ObjectRef.Resource != "gitrepositories" || e.ObjectRef.Namespace != f.Namespace() ||
			e.ObjectRef.Name != name || e.ResponseStatus.Code >= 300 {
			continue
		}
		response := struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
			Spec struct {
				Ref struct {
					Commit string `json:"commit"`
				} `json:"ref"`
			} `json:"spec"`
			Status struct {
				Artifact struct {
					Revision string `json:"revision"`
				} `json:"artifact"`
			} `json:"status"`
		}{}
		if err := json.Unmarshal(e.ResponseObject, &response); err != nil {
			continue // a dry run or a list
		}
		version, err := strconv.ParseUint(response.Metadata.ResourceVersion, 10, 64)
		if err != nil {
			continue
		}
		writes = append(writes, sourceWrite{e, response.Spec.Ref.Commit, testfleet.CommitOf(response.Status.Artifact.Revision), version})
	}
	slices.SortStableFunc(writes, func(a, b sourceWrite) int { return cmp.Compare(a.version, b.version) })
	return writes
}

// checkGap shows that a pin that went missing was put back at once, by the controller,
// and reports for how long it was missing and what was written to the source meanwhile.
// source-controller hears of the missing pin as early as the controller does: a fetch of
// the branch's head that it begins then is stored, and corrected by its next
// reconciliation, which the put-back pin has begun. Only an admission policy closes
// that gap.
func (f *fixture) checkGap(mark int64, name, pin string) {
	f.t.Helper()
	var gone, back time.Time
	var writes []sourceWrite
	f.g.Eventually(func() bool { // the audit log is written a little later
		writes = f.writesTo(mark, name)
		missing := slices.IndexFunc(writes, func(e sourceWrite) bool { return e.commit == "" })
		return missing >= 0 && slices.ContainsFunc(writes[missing:], func(e sourceWrite) bool { return e.commit == pin })
	}, time.Minute, 100*time.Millisecond).Should(BeTrue(), "the commit was taken away and put back")
	for _, e := range writes {
		switch {
		case e.commit == "" && gone.IsZero():
			gone = e.RequestReceived
		case e.commit == "" && back.IsZero():
			f.t.Logf("meanwhile %s wrote %s, artifact %s", e.User.Username, e.ObjectRef.Subresource, e.artifact)
		case e.commit == pin && !gone.IsZero() && back.IsZero():
			back = e.RequestReceived
			f.g.Expect(e.User.Username).To(Equal(env.ServiceAccountUser(env.RuntimeNamespace, wavefrontv1.FieldManager)))
		case e.commit == pin && e.artifact != pin:
			f.t.Logf("%s after that %s stored %s", e.RequestReceived.Sub(back), e.User.Username, e.artifact)
		}
	}
	f.t.Logf("without a commit for %s", back.Sub(gone))
	f.g.Expect(back.Sub(gone)).To(BeNumerically("<", 5*time.Second))
}
