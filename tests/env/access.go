// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenLifetime outlasts every test, and a day of development.
const tokenLifetime = 30 * 24 * time.Hour

// ConfigFor is the access of a ServiceAccount, which is made when missing, with a
// token that lasts for days. It may do what its roles allow, and nothing else.
func (e *Env) ConfigFor(ctx context.Context, namespace, serviceAccount string) (*rest.Config, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceAccount}}
	if err := e.client.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("failed to create ServiceAccount \"%s/%s\": %w", namespace, serviceAccount, err)
	}
	lifetime := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}
	if err := e.client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("failed to request token of ServiceAccount \"%s/%s\": %w", namespace, serviceAccount, err)
	}
	config := e.Config()
	config.BearerToken = request.Status.Token
	return config, nil
}

// KubeconfigFor writes a kubeconfig of a ServiceAccount, as ConfigFor makes it, and
// returns its path.
func (e *Env) KubeconfigFor(ctx context.Context, namespace, serviceAccount string) (string, error) {
	config, err := e.ConfigFor(ctx, namespace, serviceAccount)
	if err != nil {
		return "", err
	}
	path := e.kubeconfigFile(namespace + "-" + serviceAccount)
	return path, WriteKubeconfig(path, config)
}

// Kubeconfig is the path of an administrator's kubeconfig.
func (e *Env) Kubeconfig() string { return e.kubeconfigFile(adminUser) }

func (e *Env) kubeconfigFile(user string) string {
	return filepath.Join(e.dir, "kubeconfigs", user+".yaml")
}

// tempDir is where programs put what they would put into the system's temporary
// folder: what a killed program leaves there goes with the rest.
func (e *Env) tempDir() string { return filepath.Join(e.dir, "tmp") }

// WriteKubeconfig writes what config says (host, authorities, token) as a kubeconfig
// that only its owner may read.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "wavefront"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: RuntimeNamespace}
	kubeconfig.CurrentContext = name
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("failed to write kubeconfig: %w", err)
	}
	return nil
}
