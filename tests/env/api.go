// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// issuer is the ServiceAccount issuer; nothing resolves it.
const issuer = "https://kubernetes.default.svc"

// users of the token file. All are cluster administrators; the names tell them apart in
// the audit log.
const (
	adminUser     = "admin"
	sourceUser    = "source-controller"
	kustomizeUser = "kustomize-controller"
)

// pki is what the API server and its clients trust each other by.
type pki struct {
	certFile, keyFile, saKeyFile, tokenFile string

	ca     []byte
	tokens map[string]string // by user
}

// startAPI starts etcd and the API server and connects to it.
func (e *Env) startAPI(ctx context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	keys, err := makePKI(filepath.Join(e.dir, "apiserver"))
	if err != nil {
		return err
	}
	etcdURL := "http://" + loopback(ports[0])
	e.etcd = e.newEtcd(etcdURL, "http://"+loopback(ports[1]))
	if e.apiServer, err = e.newAPIServer(etcdURL, ports[2], keys); err != nil {
		return err
	}
	if err := e.etcd.Start(ctx); err != nil {
		return err
	}
	if err := e.apiServer.Start(ctx); err != nil {
		return err
	}
	return e.connect(ports[2], keys)
}

func (e *Env) newEtcd(clientURL, peerURL string) *Process {
	return NewProcess(Command{
		Name: "etcd",
		Path: e.paths.etcd,
		Args: []string{
			"--name=default",
			"--data-dir=" + filepath.Join(e.dir, "etcd"),
			"--listen-client-urls=" + clientURL,
			"--advertise-client-urls=" + clientURL,
			"--listen-peer-urls=" + peerURL,
			"--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=default=" + peerURL,
			"--unsafe-no-fsync",
			"--log-level=warn",
		},
		Log:   e.logFile("etcd"),
		Ready: answersOK(http.DefaultClient, clientURL+"/readyz"),
	})
}

func (e *Env) newAPIServer(etcdURL string, port int, keys pki) (*Process, error) {
	args := []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(e.dir, "apiserver"),
		"--tls-cert-file=" + keys.certFile,
		"--tls-private-key-file=" + keys.keyFile,
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + keys.saKeyFile,
		"--service-account-signing-key-file=" + keys.saKeyFile,
		"--token-auth-file=" + keys.tokenFile,
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		// Would have every Pod wait for a ServiceAccount that nobody makes here.
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
	}
	if e.options.Audit {
		flags, err := e.auditFlags()
		if err != nil {
			return nil, err
		}
		args = append(args, flags...)
	}
	config := configFor(port, keys, adminUser)
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return NewProcess(Command{
		Name:  "kube-apiserver",
		Path:  e.paths.apiServer,
		Args:  append(args, e.options.APIServerFlags...),
		Log:   e.logFile("kube-apiserver"),
		Ready: answersOK(transport, config.Host+"/readyz"),
	}), nil
}

// connect makes the administrator's client, and a kubeconfig for each of the users.
func (e *Env) connect(port int, keys pki) error {
	if err := e.use(configFor(port, keys, adminUser), e.options.AddToScheme); err != nil {
		return err
	}
	for user := range keys.tokens {
		if err := WriteKubeconfig(e.kubeconfigFile(user), configFor(port, keys, user)); err != nil {
			return err
		}
	}
	return nil
}

func configFor(port int, keys pki, user string) *rest.Config {
	return &rest.Config{
		Host:            "https://" + loopback(port),
		BearerToken:     keys.tokens[user],
		TLSClientConfig: rest.TLSClientConfig{CAData: keys.ca},
		QPS:             -1, // tests are not to wait for their own client
	}
}

// makePKI makes new keys, certificates and tokens in dir.
func makePKI(dir string) (pki, error) {
	keys := pki{
		certFile:  filepath.Join(dir, "tls.crt"),
		keyFile:   filepath.Join(dir, "tls.key"),
		saKeyFile: filepath.Join(dir, "service-account.key"),
		tokenFile: filepath.Join(dir, "tokens.csv"),
		tokens:    map[string]string{},
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
	if err != nil {
		return pki{}, fmt.Errorf("failed to make certificate: %w", err)
	}
	keys.ca = cert
	saKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return pki{}, fmt.Errorf("failed to make ServiceAccount key: %w", err)
	}
	saPEM, err := keyutil.MarshalPrivateKeyToPEM(saKey)
	if err != nil {
		return pki{}, fmt.Errorf("failed to encode ServiceAccount key: %w", err)
	}
	var tokens string
	for _, user := range []string{adminUser, sourceUser, kustomizeUser} {
		keys.tokens[user] = newToken()
		tokens += fmt.Sprintf("%s,%s,%s,system:masters\n", keys.tokens[user], user, user)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return pki{}, err
	}
	for file, content := range map[string][]byte{
		keys.certFile: cert, keys.keyFile: key, keys.saKeyFile: saPEM, keys.tokenFile: []byte(tokens),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return pki{}, err
		}
	}
	return keys, nil
}

func newToken() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}
