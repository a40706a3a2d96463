// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func TestMain(m *testing.M) {
	code := env.Main(m, env.Options{Audit: true, AddToScheme: []func(*runtime.Scheme) error{rbacv1.AddToScheme}})
	if program.dir != "" {
		_ = os.RemoveAll(program.dir)
	}
	os.Exit(code)
}

const (
	// patience is how long anything may take on a busy machine; a test takes twice as long
	// at most.
	patience = 4 * time.Minute
	// interval is the shortest poll interval.
	interval = 5 * time.Second

	viewer   = "wavefront-wfctl-viewer"
	derive   = "wavefront-wfctl-derive"
	operator = "wavefront-wfctl-operator"
)

// program is wfctl, built once, with the links that it is called by.
var program struct {
	sync.Once
	dir string
	err error
}

// theProgram returns the path of wfctl, or of one of its links.
func theProgram(t *testing.T, name string) string {
	t.Helper()
	program.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "wfctl-e2e-"); program.err != nil {
			return
		}
		binary := filepath.Join(program.dir, "wfctl")
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, "github.com/isometry/wavefront-controller/cmd/wfctl")
		if out, err := build.CombinedOutput(); err != nil {
			program.err = fmt.Errorf("failed to build wfctl: %w\n%s", err, out)
			return
		}
		for _, link := range []string{"kubectl-wavefront", "flux-wavefront"} {
			program.err = errors.Join(program.err, os.Symlink(binary, filepath.Join(program.dir, link)))
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, name)
}

// platform is what all tests share on the control plane: the controller, and the
// people who use wfctl.
var platform struct {
	sync.Once
	err         error
	kubeconfigs map[string]string
}

func startPlatform(ctx context.Context, e *env.Env) error {
	controller, err := e.NewController(ctx, env.ControllerOptions{})
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	platform.kubeconfigs = map[string]string{"": e.Kubeconfig()}
	for _, tier := range []string{viewer, derive, operator} {
		if err := bind(ctx, e, tier); err != nil {
			return err
		}
	}
	return nil
}

// bind makes a ServiceAccount with one of the shipped roles and nothing else.
func bind(ctx context.Context, e *env.Env, tier string) error {
	path, err := e.KubeconfigFor(ctx, "default", tier)
	if err != nil {
		return err
	}
	platform.kubeconfigs[tier] = path
	return e.Client().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tier},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tier},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: tier}},
	})
}

// fixture is one fleet with its Wavefront, and wfctl.
type fixture struct {
	*testfleet.Fleet
	t   *testing.T
	g   *WithT
	ctx context.Context
	env *env.Env
}

func newFixture(t *testing.T, prefix string, nodes ...testfleet.Node) *fixture {
	t.Helper()
	e := env.Shared(t)
	platform.Do(func() { platform.err = startPlatform(context.WithoutCancel(t.Context()), e) })
	if platform.err != nil {
		t.Fatalf("failed to start the platform: %v", platform.err)
	}
	theProgram(t, "wfctl")
	// What is built once does not count against a test's patience.
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	f := &fixture{t: t, g: NewWithT(t), ctx: ctx, env: e}
	fleet, err := testfleet.New(ctx, e, e.Namespace(t, prefix))
	f.ok(err)
	t.Cleanup(fleet.Close)
	f.Fleet = fleet
	f.ok(fleet.Add(ctx, nodes...))
	f.ok(fleet.AwaitReady(ctx))
	return f
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// create makes the fleet's Wavefront.
func (f *fixture) create(mode wavefrontv1.Mode) {
	f.t.Helper()
	wf := f.Wavefront(mode)
	wf.Spec.Poll = wavefrontv1.Poll{Interval: &metav1.Duration{Duration: interval}, ReplicaLag: &metav1.Duration{}}
	f.ok(f.env.Client().Create(f.ctx, wf))
	f.t.Cleanup(func() {
		if err := f.env.Client().Delete(context.Background(), wf); client.IgnoreNotFound(err) != nil {
			f.t.Log(err)
		}
	})
}

// enforce makes it in Enforce and waits until the fleet is pinned and quiet.
func (f *fixture) enforce() {
	f.t.Helper()
	f.create(wavefrontv1.ModeEnforce)
	f.quiescent()
}

func (f *fixture) quiescent() *wavefrontv1.Wavefront {
	f.t.Helper()
	return f.status("quiescence", func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.Phase == wavefrontv1.PhaseQuiescent && len(wf.Status.Members) == len(f.Nodes())
	})
}

func (f *fixture) status(what string, is func(*wavefrontv1.Wavefront) bool) *wavefrontv1.Wavefront {
	f.t.Helper()
	wf, err := testfleet.Await(f.ctx, f.env.Client(), &wavefrontv1.WavefrontList{}, client.ObjectKey{Name: f.Namespace()}, is)
	if err != nil {
		status, _ := yaml.Marshal(wf)
		f.t.Fatalf("waiting for %s: %v\nlast: %s", what, err, status)
	}
	return wf
}

// member waits until a node is listed as it should be.
func (f *fixture) member(name, what string, is func(wavefrontv1.Member) bool) {
	f.t.Helper()
	f.status(what, func(wf *wavefrontv1.Wavefront) bool {
		for _, m := range wf.Status.Members {
			if m.Node.Name == name && m.Node.Namespace == f.Namespace() && is(m) {
				return true
			}
		}
		return false
	})
}

// app reads the source of the node app, which every fleet here has.
func (f *fixture) app() *sourcev1.GitRepository {
	f.t.Helper()
	s := &sourcev1.GitRepository{}
	f.ok(f.env.Client().Get(f.ctx, client.ObjectKey{Namespace: f.Namespace(), Name: "app"}, s))
	return s
}

func (f *fixture) push(node string) string {
	f.t.Helper()
	commit, err := f.Push(f.ctx, node, testfleet.Release{})
	f.ok(err)
	return commit
}

// run is one call of wfctl.
type run struct {
	args           []string
	code           int
	stdout, stderr string
}

func (r run) String() string {
	return fmt.Sprintf("wfctl %q: exit %d\n%s%s", r.args, r.code, r.stdout, r.stderr)
}

// as runs wfctl as the holder of a role (none: the administrator) on the fleet's
// Wavefront.
func (f *fixture) as(tier string, args ...string) run {
	f.t.Helper()
	return call(f.ctx, f.t, "wfctl", append([]string{"--kubeconfig", platform.kubeconfigs[tier], "--wavefront", f.Namespace()}, args...)...)
}

// does is as, and fails the test unless it succeeds.
func (f *fixture) does(tier string, args ...string) run {
	f.t.Helper()
	r := f.as(tier, args...)
	if r.code != 0 {
		f.t.Fatalf("as %s: %s", tier, r)
	}
	return r
}

func call(ctx context.Context, t *testing.T, name string, args ...string) run {
	t.Helper()
	cmd := exec.CommandContext(ctx, theProgram(t, name), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	err := cmd.Run()
	exit := &exec.ExitError{}
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("failed to run %s: %v", name, err)
	}
	return run{args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func path(f *fixture, name string) string { return f.Namespace() + "/" + name }
