// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

// Kubelet runs the Deployments of one control plane until the test ends.
type Kubelet struct {
	env *env.Env
	// binaryFor returns the program of an image.
	binaryFor func(image string) (string, error)
	stop      context.CancelFunc
	done      chan struct{}

	mu sync.Mutex
	// container is what runs, or nil.
	container *container
	err       error
}

// Run starts a Kubelet. binaryFor names the program to run for an image of the
// project's controller; BinaryOf(path) is one that ignores the image.
func Run(t testing.TB, e *env.Env, binaryFor func(image string) (string, error)) *Kubelet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k := &Kubelet{env: e, binaryFor: binaryFor, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		k.fail(k.watch(ctx))
	}()
	t.Cleanup(func() {
		k.stop()
		<-k.done
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.err != nil {
			t.Errorf("kubelet: %v", k.err)
		}
		if t.Failed() && k.container != nil {
			t.Log(k.container.process.Tail())
		}
		if err := k.kill(); err != nil {
			t.Errorf("kubelet: %v", err)
		}
	})
	return k
}

// BinaryOf runs one program, whatever the image.
func BinaryOf(path string) func(string) (string, error) {
	return func(string) (string, error) { return path, nil }
}

// Image is the image of the project's controller that runs now, or empty.
func (k *Kubelet) Image() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.container == nil {
		return ""
	}
	return k.container.image
}

// MetricsURL is where the project's controller serves its metrics, or empty.
func (k *Kubelet) MetricsURL() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.container == nil {
		return ""
	}
	return k.container.metricsURL
}

func (k *Kubelet) fail(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

// watch follows all Deployments; a watch that the server ends is begun anew.
func (k *Kubelet) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := k.watchOnce(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (k *Kubelet) watchOnce(ctx context.Context) error {
	watcher, err := k.env.Client().Watch(ctx, &appsv1.DeploymentList{})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("failed to watch Deployments: %w", err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		deployment, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		if err := k.handle(ctx, event.Type, deployment); err != nil {
			return fmt.Errorf("failed to run Deployment \"%s/%s\": %w", deployment.Namespace, deployment.Name, err)
		}
	}
	return nil
}

func (k *Kubelet) handle(ctx context.Context, event watch.EventType, deployment *appsv1.Deployment) error {
	own := deployment.Name == env.ControllerName
	if event == watch.Deleted {
		if !own {
			return nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.kill()
	}
	if deployment.DeletionTimestamp != nil {
		return nil
	}
	if own {
		if err := k.roll(ctx, deployment); err != nil {
			return err
		}
	}
	return k.report(ctx, deployment)
}

// roll replaces the process when the pod template changed: the new one runs and is
// ready before the old one is asked to end, as in a rolling update.
func (k *Kubelet) roll(ctx context.Context, deployment *appsv1.Deployment) error {
	next, err := k.containerOf(ctx, deployment)
	if err != nil {
		return err
	}
	k.mu.Lock()
	previous := k.container
	k.mu.Unlock()
	if previous != nil && previous.spec == next.spec {
		return nil
	}
	if err := next.process.Start(ctx); err != nil {
		return err
	}
	k.mu.Lock()
	k.container = next
	k.mu.Unlock()
	if previous == nil {
		return nil
	}
	return previous.process.Stop()
}

func (k *Kubelet) kill() error {
	running := k.container
	k.container = nil
	if running == nil {
		return nil
	}
	if err := running.process.Stop(); err != nil && !errors.Is(err, env.ErrNotRunning) {
		return err
	}
	return nil
}

// report writes the status of a Deployment that is wholly available.
func (k *Kubelet) report(ctx context.Context, deployment *appsv1.Deployment) error {
	if deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.AvailableReplicas > 0 {
		return nil
	}
	replicas := int32(1)
	if deployment.Spec.Replicas != nil {
		replicas = *deployment.Spec.Replicas
	}
	before := deployment.DeepCopy()
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation,
		Replicas:           replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			condition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable"),
			condition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable"),
		},
	}
	err := k.env.Client().Status().Patch(ctx, deployment, client.MergeFrom(before))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func condition(kind appsv1.DeploymentConditionType, reason string) appsv1.DeploymentCondition {
	now := metav1.Now()
	return appsv1.DeploymentCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastUpdateTime: now, LastTransitionTime: now,
	}
}

// Build compiles the project's controller from a work tree into a folder and
// returns its path.
func Build(ctx context.Context, worktree, folder string) (string, error) {
	path := folder + string(os.PathSeparator) + env.ControllerName
	return path, goBuild(ctx, worktree, path)
}
