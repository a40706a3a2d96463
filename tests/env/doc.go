// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package env runs a real control plane as plain processes on loopback, for tests,
// demonstrations and development: etcd, kube-apiserver, source-controller,
// kustomize-controller, and a git server on git http-backend.
//
// Everything listens on free ports of 127.0.0.1 and keeps its data in one folder, so
// any number of copies run side by side. Nothing outlives the process that started
// it, however that process ends. README.md shows the use from a test.
//
// There is no kubelet and no controller-manager: Deployments never become available,
// owner references are not collected, and namespaces do not finish deleting.
package env
