// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// KeepVariable, set to anything, has tests leave their data folder in place, and say
// where it is.
const KeepVariable = "WAVEFRONT_ENV_KEEP"

// ForTest starts a control plane for one test and stops it at the test's end. When the
// test fails, the ends of the programs' logs are shown.
func ForTest(t testing.TB, options Options) *Env {
	t.Helper()
	e, err := Start(t.Context(), options)
	if err != nil {
		t.Fatalf("failed to start test environment: %v", err)
	}
	t.Cleanup(func() {
		e.reportOn(t)
		if err := e.Stop(); err != nil {
			t.Errorf("failed to stop test environment: %v", err)
		}
	})
	return e
}

// reportOn shows the logs of a failed test.
func (e *Env) reportOn(t testing.TB) {
	if os.Getenv(KeepVariable) != "" {
		if err := e.Keep(); err != nil {
			t.Errorf("failed to keep test environment: %v", err)
		}
		t.Logf("data and logs are kept in %s", e.dir)
	}
	if !t.Failed() {
		return
	}
	for _, process := range append([]*Process{e.source, e.kustomize}, e.extra...) {
		if process != nil {
			t.Log(process.Tail())
		}
	}
}

// shared is the control plane that the tests of one package use together.
var shared struct {
	sync.Mutex
	inMain  bool
	options Options
	env     *Env
	err     error
}

// Main runs a package's tests, which share one control plane by Shared, and returns
// the exit code. Use it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(env.Main(m, env.Options{})) }
func Main(m *testing.M, options Options) int {
	shared.inMain, shared.options = true, options
	// Clients complain where no logger was set. One that was set before stays.
	ctrllog.SetLogger(logr.Discard())
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.env == nil {
		return code
	}
	if os.Getenv(KeepVariable) != "" {
		if err := shared.env.Keep(); err != nil {
			fmt.Fprintf(os.Stderr, "failed to keep test environment: %v\n", err)
		}
		fmt.Fprintf(os.Stderr, "data and logs are kept in %s\n", shared.env.dir)
	}
	if err := shared.env.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "failed to stop test environment: %v\n", err)
		return max(code, 1)
	}
	return code
}

// Shared is the control plane of the package's tests. The first test that asks starts
// it, so that a run of others doesn't pay for it. It needs Main in TestMain. Let each
// test use a Namespace of its own.
func Shared(t testing.TB) *Env {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.inMain {
		t.Fatal("env.Shared needs env.Main in the package's TestMain")
	}
	if shared.env == nil && shared.err == nil {
		// Not the test's own context: others use it after this test.
		shared.env, shared.err = Start(context.Background(), shared.options)
	}
	if shared.err != nil {
		t.Fatalf("failed to start test environment: %v", shared.err)
	}
	return shared.env
}

// Namespace makes a namespace for one test, and returns its name, which begins with
// the prefix. It stays to the end: nothing here finishes deleting a namespace.
func (e *Env) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	if err := e.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("failed to create namespace: %v", err)
	}
	return namespace.Name
}
