// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestTransport: a server that asks to come back is not sent the change again by a
// process whose lease has run out meanwhile.
func TestTransport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// pass is how much time passes while the server thinks.
		pass time.Duration
		want []string
	}{
		{name: "the lease stands", pass: time.Second, want: []string{"PATCH", "PATCH", "GET"}},
		{name: "the lease runs out", pass: time.Minute, want: []string{"PATCH", "GET"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			guard := NewGuard(&lock{}, 30*time.Second, clock)
			g.Expect(guard.Create(context.Background(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"})).To(Succeed())

			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Method)
				if len(got) == 1 {
					clock.SetTime(clock.Now().Add(tt.pass))
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"}}`))
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			config.Wrap(Transport(guard.Check))
			maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("y")

			_, err := maps.Patch(context.Background(), "x", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			if guard.Check() == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ErrExpired))
			}
			_, err = maps.Get(context.Background(), "x", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred(), "reading needs no lease")
			g.Expect(got).To(Equal(tt.want))
		})
	}
}
