// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
)

// hidden stands for everything that must not be in an error.
const hidden = "hunter2"

type data map[string]string

func secret(name string, d data) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string][]byte{}}
	for k, v := range d {
		s.Data[k] = []byte(v)
	}
	return s
}

// resolver reads from a fake API server.
func resolver(objects ...client.Object) *auth.Resolver {
	return resolverOf(fake.NewClientBuilder().WithObjects(objects...).Build())
}

func resolverOf(c client.Client) *auth.Resolver {
	var clock atomic.Uint64
	return &auth.Resolver{
		Client:  c,
		Secrets: auth.NewSecrets(c, func() uint64 { return clock.Add(1) }, func() {}),
	}
}

// source makes a GitRepository; secretName and proxyName may be empty.
func source(url, secretName, proxyName string, change ...func(*sourcev1.GitRepositorySpec)) *sourcev1.GitRepository {
	repo := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
	repo.Spec.URL = url
	if secretName != "" {
		repo.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: secretName}
	}
	if proxyName != "" {
		repo.Spec.ProxySecretRef = &fluxmeta.LocalObjectReference{Name: proxyName}
	}
	for _, c := range change {
		c(&repo.Spec)
	}
	return repo
}

func provider(name string) func(*sourcev1.GitRepositorySpec) {
	return func(s *sourcev1.GitRepositorySpec) { s.Provider = name }
}

func TestHTTPCredentials(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		url    string
		secret data
		want   auth.HTTP
	}{
		{"none", "https://h/r", nil, auth.HTTP{}},
		{"basic", "https://h/r", data{"username": "u", "password": "p"}, auth.HTTP{Username: "u", Password: "p"}},
		{"basic over http", "http://h/r", data{"username": "u", "password": "p"}, auth.HTTP{Username: "u", Password: "p"}},
		{"username only", "https://h/r", data{"username": "u"}, auth.HTTP{Username: "u"}},
		{"bearer", "https://h/r", data{"bearerToken": "t"}, auth.HTTP{BearerToken: "t"}},
		{"bearer beats basic", "https://h/r", data{"bearerToken": "t", "username": "u", "password": "p"}, auth.HTTP{BearerToken: "t"}},
		{"userinfo", "https://u:p@h/r", nil, auth.HTTP{Username: "u", Password: "p"}},
		{"secret beats userinfo", "https://a:b@h/r", data{"username": "u", "password": "p"}, auth.HTTP{Username: "u", Password: "p"}},
		{"ca.crt", "https://h/r", data{"ca.crt": "bundle"}, auth.HTTP{CA: []byte("bundle")}},
		{"caFile", "https://h/r", data{"caFile": "bundle"}, auth.HTTP{CA: []byte("bundle")}},
		{"ca.crt beats caFile", "https://h/r", data{"ca.crt": "one", "caFile": "two"}, auth.HTTP{CA: []byte("one")}},
		{"half a client certificate is none", "https://h/r", data{"tls.crt": "x"}, auth.HTTP{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			name := ""
			if tt.secret != nil {
				name = "s"
			}
			c, err := resolver(secret("s", tt.secret)).Resolve(t.Context(), source(tt.url, name, ""), 1)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(*c.HTTP).To(Equal(tt.want))
			g.Expect(c.SSH).To(BeNil())
			g.Expect(c.URL.User).To(BeNil())
			g.Expect(c.Proxy).To(BeNil())
		})
	}
}

func TestSSHCredentials(t *testing.T) {
	t.Parallel()
	key, encrypted, host := gittest.NewKey(t, ""), gittest.NewKey(t, hidden), gittest.NewKey(t, "")
	plain := xknownhosts.Line([]string{"h:22"}, host.Signer.PublicKey())
	hashed := xknownhosts.HashHostname("[h]:2222") + " " + plain[len("h "):]
	tests := []struct {
		name   string
		url    string
		secret data
		user   string
		public []byte
	}{
		{"plain", "ssh://git@h/r", data{"identity": string(key.PEM), "known_hosts": plain}, "git", key.Signer.PublicKey().Marshal()},
		{"user of the URL", "ssh://bob@h/r", data{"identity": string(key.PEM), "known_hosts": plain}, "bob", key.Signer.PublicKey().Marshal()},
		{"default user", "ssh://h/r", data{"identity": string(key.PEM), "known_hosts": plain}, "git", key.Signer.PublicKey().Marshal()},
		{"encrypted", "ssh://h/r", data{"identity": string(encrypted.PEM), "password": hidden, "known_hosts": plain}, "git", encrypted.Signer.PublicKey().Marshal()},
		{"needless password", "ssh://h/r", data{"identity": string(key.PEM), "password": hidden, "known_hosts": plain}, "git", key.Signer.PublicKey().Marshal()},
		{"hashed, several", "ssh://h:2222/r", data{"identity": string(key.PEM), "known_hosts": "# comment\n" + plain + "\n" + hashed + "\n"}, "git", key.Signer.PublicKey().Marshal()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, err := resolver(secret("s", tt.secret)).Resolve(t.Context(), source(tt.url, "s", ""), 1)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.HTTP).To(BeNil())
			g.Expect(c.SSH.User).To(Equal(tt.user))
			g.Expect(c.SSH.Signer.PublicKey().Marshal()).To(Equal(tt.public))
			address := c.URL.Host
			if c.URL.Port() == "" {
				address += ":22"
			}
			g.Expect(c.SSH.HostKey(address, &net.TCPAddr{}, host.Signer.PublicKey())).To(Succeed())
			g.Expect(c.SSH.HostKey(address, &net.TCPAddr{}, key.Signer.PublicKey())).NotTo(Succeed())
		})
	}
}

// TestRefused holds the verdicts of source-controller on what can't work, and
// that each names the Secret and the key.
func TestRefused(t *testing.T) {
	t.Parallel()
	key, encrypted := gittest.NewKey(t, ""), gittest.NewKey(t, "passphrase")
	known := xknownhosts.Line([]string{"h:22"}, key.Signer.PublicKey())
	app := data{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": hidden}
	with := func(d data, key, value string) data {
		copied := data{key: value}
		for k, v := range d {
			if k != key {
				copied[k] = v
			}
		}
		return copied
	}
	tests := []struct {
		name   string
		source *sourcev1.GitRepository
		secret data
		proxy  data
		kind   fault.Kind
		where  string
		key    string
	}{
		{name: "no such Secret", source: source("https://h/r", "none", ""), where: "team/none"},
		{name: "no such proxy", source: source("https://h/r", "", "none"), where: "team/none"},
		{name: "password without username", source: source("https://h/r", "s", ""), secret: data{"password": hidden}, where: "team/s", key: "username"},
		{name: "password without username in the URL", source: source("https://:"+hidden+"@h/r", "", "")},
		{name: "bearer and userinfo", source: source("https://u:"+hidden+"@h/r", "s", ""), secret: data{"bearerToken": hidden}, where: "team/s", key: "bearerToken"},
		{name: "bearer token with a line feed", source: source("https://h/r", "s", ""), secret: data{"bearerToken": hidden + "\n"}, where: "team/s", key: "bearerToken"},
		{name: "broken client certificate", source: source("https://h/r", "s", ""), secret: data{"tls.crt": hidden, "tls.key": hidden}, where: "team/s", key: "tls.crt"},
		{name: "SSH without Secret", source: source("ssh://h/r", "", "")},
		{name: "no identity", source: source("ssh://h/r", "s", ""), secret: data{"known_hosts": known}, where: "team/s", key: "identity"},
		{name: "no known_hosts", source: source("ssh://h/r", "s", ""), secret: data{"identity": string(key.PEM)}, where: "team/s", key: "known_hosts"},
		{name: "broken identity", source: source("ssh://h/r", "s", ""), secret: data{"identity": hidden, "known_hosts": known}, where: "team/s", key: "identity"},
		{name: "broken known_hosts", source: source("ssh://h/r", "s", ""), secret: data{"identity": string(key.PEM), "known_hosts": hidden}, where: "team/s", key: "known_hosts"},
		{name: "encrypted without password", source: source("ssh://h/r", "s", ""), secret: data{"identity": string(encrypted.PEM), "known_hosts": known}, where: "team/s", key: "password"},
		{name: "encrypted with another password", source: source("ssh://h/r", "s", ""), secret: data{"identity": string(encrypted.PEM), "password": hidden, "known_hosts": known}, where: "team/s", key: "password"},
		{name: "SSH through an http proxy", source: source("ssh://h/r", "s", "p"), secret: data{"identity": string(key.PEM), "known_hosts": known}, proxy: data{"address": "http://p:1"}, where: "team/p", key: "address"},
		{name: "proxy without address", source: source("https://h/r", "", "p"), proxy: data{"username": "u"}, where: "team/p", key: "address"},
		{name: "proxy of another scheme", source: source("https://h/r", "", "p"), proxy: data{"address": "ftp://u:" + hidden + "@p"}, where: "team/p", key: "address"},
		{name: "unreadable proxy", source: source("https://h/r", "", "p"), proxy: data{"address": "http://u:" + hidden + "@p:port"}, where: "team/p", key: "address"},
		{name: "unreadable URL", source: source("https://u:"+hidden+"@h:port/r", "", ""), kind: fault.Unsupported},
		{name: "no host", source: source("https:///r", "", ""), kind: fault.Unsupported},
		{name: "another scheme", source: source("git://u:"+hidden+"@h/r", "", ""), kind: fault.Unsupported},
		{name: "App without provider", source: source("https://h/r", "s", ""), secret: app, where: "team/s", key: "githubAppID"},
		{name: "github without Secret", source: source("https://h/r", "", "", provider("github"))},
		{name: "github without App", source: source("https://h/r", "s", "", provider("github")), secret: data{"username": "u", "password": hidden}, where: "team/s", key: "githubAppID"},
		{name: "github with half basic auth", source: source("https://h/r", "s", "", provider("github")), secret: with(app, "username", "u"), where: "team/s", key: "password"},
		{name: "github with owner and installation", source: source("https://h/r", "s", "", provider("github")), secret: with(app, "githubAppInstallationOwner", "o"), where: "team/s"},
		{name: "github with a broken key", source: source("https://h/r", "s", "", provider("github")), secret: app, where: "team/s"},
		{name: "ServiceAccount without the gate", source: source("https://h/r", "", "", provider("azure"), func(s *sourcev1.GitRepositorySpec) { s.ServiceAccountName = "sa" })},
		{name: "aws for another host", source: source("https://h/r", "", "", provider("aws"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			kind := tt.kind
			if kind == "" {
				kind = fault.Credentials
			}
			_, err := resolver(secret("s", tt.secret), secret("p", tt.proxy)).Resolve(t.Context(), tt.source, 1)
			var e *fault.Error
			g.Expect(errors.As(err, &e)).To(BeTrue())
			g.Expect(e.Kind).To(Equal(kind), "%v", err)
			g.Expect(e.Secret).To(Equal(tt.where), "%v", err)
			g.Expect(e.Key).To(Equal(tt.key), "%v", err)
			g.Expect(err.Error()).NotTo(ContainSubstring(hidden))
			g.Expect(e.Detail).NotTo(BeEmpty())
		})
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		proxy data
		want  string
	}{
		{"without auth", data{"address": "http://p:8080"}, "http://p:8080"},
		{"with auth", data{"address": "https://p:8080", "username": "u", "password": "p w"}, "https://u:p%20w@p:8080"},
		{"socks5", data{"address": "socks5://p:1080"}, "socks5://p:1080"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, err := resolver(secret("p", tt.proxy)).Resolve(t.Context(), source("https://h/r", "", "p"), 1)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.Proxy.String()).To(Equal(tt.want))
		})
	}
}

// TestPool tells which credentials may share connections.
func TestPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := resolver(secret("a", data{"username": "u", "password": hidden}), secret("b", data{"username": "v", "password": "w"}),
		secret("ca", data{"ca.crt": "bundle"}), secret("p", data{"address": "http://p"}))
	of := func(s *sourcev1.GitRepository) string {
		c, err := r.Resolve(t.Context(), s, 1)
		g.Expect(err).NotTo(HaveOccurred())
		return c.Pool
	}
	base := of(source("https://h/one", "a", ""))
	g.Expect(of(source("https://h/two", "b", ""))).To(Equal(base), "users share a host's connections")
	g.Expect(of(source("https://h/one", "ca", ""))).NotTo(Equal(base))
	g.Expect(of(source("https://h/one", "a", "p"))).NotTo(Equal(base))
	g.Expect(of(source("https://i/one", "a", ""))).NotTo(Equal(base))
	g.Expect(base).To(MatchRegexp("^[0-9a-f]{64}$"))
}

func TestSecretsAreReadOncePerSweep(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var reads, failures atomic.Int64
	var mu sync.Mutex
	var fail error
	stored := secret("s", data{"username": "old"})
	c := fake.NewClientBuilder().WithObjects(stored).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			reads.Add(1)
			mu.Lock()
			defer mu.Unlock()
			if fail != nil {
				return fail
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("nobody may list Secrets")
		},
	}).Build()
	var clock atomic.Uint64
	now := func() uint64 { return clock.Add(1) }
	secrets := auth.NewSecrets(c, now, func() { failures.Add(1) })
	key := types.NamespacedName{Namespace: "team", Name: "s"}

	sweep := now()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			got, err := secrets.Get(t.Context(), key, sweep)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Data["username"]).To(Equal([]byte("old")))
		})
	}
	wg.Wait()
	g.Expect(reads.Load()).To(Equal(int64(1)))

	// A rotated Secret takes effect at the next listing.
	stored.Data["username"] = []byte("new")
	g.Expect(c.Update(t.Context(), stored)).To(Succeed())
	got, err := secrets.Get(t.Context(), key, now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Data["username"]).To(Equal([]byte("new")))

	// A failure is counted once, and typed.
	mu.Lock()
	fail = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New(hidden))
	mu.Unlock()
	sweep = now()
	for range 3 {
		_, err = secrets.Get(t.Context(), key, sweep)
		g.Expect(err).To(MatchError(`Credentials: secret "team/s": failed to read it from the API server: Forbidden`))
	}
	g.Expect(failures.Load()).To(Equal(int64(1)))

	// A reader that gives up spoils nothing for others.
	mu.Lock()
	fail = nil
	mu.Unlock()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	sweep = now()
	_, _ = secrets.Get(cancelled, key, sweep)
	_, err = secrets.Get(t.Context(), key, sweep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(failures.Load()).To(Equal(int64(1)))

	before := reads.Load()
	secrets.Expire(now())
	_, err = secrets.Get(t.Context(), key, 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reads.Load()).To(Equal(before + 1))
}
