// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/isometry/wavefront-controller/internal/fluxapp/controller"
	"github.com/isometry/wavefront-controller/tests/env"
)

func TestMain(m *testing.M) {
	log := logr.Discard()
	if level := os.Getenv("FLUXAPP_TEST_LOG"); level != "" {
		log = logger.NewLogger(logger.Options{LogEncoding: "console", LogLevel: level})
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	code := env.Main(m, env.Options{})
	if shared.suite != nil && len(shared.suite.requests.forbidden()) > 0 {
		fmt.Fprintf(os.Stderr, "the generated role lacks something: %v\n", shared.suite.requests.forbidden())
		code = max(code, 1)
	}
	os.Exit(code)
}

// suite is a control plane with the FluxApp controller and the doubles.
type suite struct {
	*env.Env
	helm     *helmController
	requests *requestCounter
}

var shared struct {
	sync.Once
	suite *suite
	err   error
}

// sharedSuite is the suite of the tests that need no other.
func sharedSuite(t *testing.T) *suite {
	t.Helper()
	e := env.Shared(t)
	shared.Do(func() {
		s := &suite{Env: e}
		shared.suite = s
		if shared.err = s.startDoubles(context.Background(), true); shared.err == nil {
			shared.err = s.startController(context.Background())
		}
	})
	if shared.err != nil {
		t.Fatalf("failed to start suite: %v", shared.err)
	}
	return shared.suite
}

// startDoubles runs the doubles as an administrator until ctx is over.
func (s *suite) startDoubles(ctx context.Context, charts bool) error {
	mgr, err := ctrl.NewManager(s.Config(), s.managerOptions())
	if err != nil {
		return err
	}
	images := &imageReflector{client: mgr.GetClient()}
	images.list = images.listTags
	s.helm = &helmController{client: mgr.GetClient(), installed: map[client.ObjectKey]installation{}, blocked: map[client.ObjectKey]bool{}}
	s.helm.fetch = s.helm.fetchChart
	if !charts {
		images.list = fixedTags
		s.helm.fetch = requestedChart
	}
	if err := images.setup(mgr); err != nil {
		return err
	}
	if err := s.helm.setup(mgr, charts); err != nil {
		return err
	}
	return start(ctx, mgr)
}

// startController runs the FluxApp controller under its generated role until ctx
// is over.
func (s *suite) startController(ctx context.Context) error {
	restConfig, err := s.controllerAccess(ctx)
	if err != nil {
		return err
	}
	s.requests = &requestCounter{}
	restConfig.Wrap(s.requests.wrap)
	mgr, err := ctrl.NewManager(restConfig, s.managerOptions())
	if err != nil {
		return err
	}
	recorder, err := events.NewRecorder(ctrl.Log, "", controller.ControllerName, events.WithManager(mgr),
		events.WithEventsAPI(events.EventsAPIEventsV1))
	if err != nil {
		return err
	}
	err = controller.SetupWithManager(mgr, controller.Options{
		EventRecorder: recorder, RateLimiter: retries(), MaxConcurrentReconciles: 4, SkipNameValidation: true})
	if err != nil {
		return err
	}
	return start(ctx, mgr)
}

// controllerAccess is the access of the controller's ServiceAccount with the
// roles that config/fluxapp/rbac binds to it.
func (s *suite) controllerAccess(ctx context.Context) (*rest.Config, error) {
	objects, err := env.BuildKustomization("../../config/fluxapp/rbac")
	if err != nil {
		return nil, err
	}
	if err := s.Apply(ctx, objects...); err != nil {
		return nil, err
	}
	return s.ConfigFor(ctx, env.RuntimeNamespace, env.ControllerName)
}

func (s *suite) managerOptions() ctrl.Options {
	return ctrl.Options{
		Scheme:     s.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
}

// start starts a manager and returns when its caches are filled.
func start(ctx context.Context, mgr ctrl.Manager) error {
	failed := make(chan error, 1)
	go func() { failed <- mgr.Start(ctx) }()
	select {
	case <-mgr.Elected():
	case err := <-failed:
		return fmt.Errorf("failed to start manager: %w", err)
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("failed to fill caches: %w", ctx.Err())
	}
	return nil
}

// requestCounter counts requests other than watches, which are one request for
// as long as they last.
type requestCounter struct {
	total atomic.Int64
	mu    sync.Mutex
	lines []string
	no    []string
}

func (c *requestCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("watch") != "true" {
			c.total.Add(1)
			c.mu.Lock()
			c.lines = append(c.lines[max(0, len(c.lines)-50):], request.Method+" "+request.URL.RequestURI())
			c.mu.Unlock()
		}
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			c.mu.Lock()
			c.no = append(c.no, request.Method+" "+request.URL.RequestURI())
			c.mu.Unlock()
		}
		return response, err
	})
}

// forbidden are the requests that the controller's roles do not allow.
func (c *requestCounter) forbidden() []string {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.no...)
}

// last returns the latest requests, for a failing test to show.
func (c *requestCounter) last() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// requestedChart stands for a chart that is as it was asked for.
func requestedChart(_ context.Context, release *helmv2.HelmRelease) (metadata, error) {
	return metadata{Name: release.Spec.Chart.Spec.Chart, Version: release.Spec.Chart.Spec.Version}, nil
}
