// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"net/url"

	"github.com/fluxcd/pkg/auth/githubapp"
	"github.com/fluxcd/pkg/cache"
	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/runtime/secrets"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// Resolver turns GitRepositories into Credentials.
type Resolver struct {
	// Client reads ServiceAccounts and asks for their tokens.
	Client client.Client
	// Secrets reads Secrets.
	Secrets *Secrets
	// TokenCache keeps the tokens of providers; nil keeps none.
	TokenCache *cache.TokenCache
	// ObjectLevelWorkloadIdentity allows spec.serviceAccountName.
	ObjectLevelWorkloadIdentity bool
}

// request is one resolution on its way.
type request struct {
	*Resolver
	repo  *sourcev1.GitRepository
	since uint64

	// url is spec.url as it was written, userinfo included.
	url *url.URL
	// proxy of the source; nil if it names none.
	proxy *url.URL
	// secret of the source; nil if it names none.
	secret *corev1.Secret
	// options grow from the Secret and the provider.
	options *git.AuthOptions
}

// Resolve returns the credentials of a source, from Secrets as they were at or
// after since. The error is a *fault.Error; it names the Secret and the key that
// are at fault.
func (r *Resolver) Resolve(ctx context.Context, repo *sourcev1.GitRepository, since uint64) (*Credentials, error) {
	q := &request{Resolver: r, repo: repo, since: since}
	steps := []func(context.Context) error{
		q.readProxy, q.parseURL, q.readSecret, q.authOptions, q.askProvider, q.checkCombination,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return q.credentials()
}

func (q *request) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: q.repo.GetNamespace(), Name: name}
}

// secretName names the source's Secret for errors; empty if it names none.
func (q *request) secretName() string {
	if q.repo.Spec.SecretRef == nil {
		return ""
	}
	return q.key(q.repo.Spec.SecretRef.Name).String()
}

func (q *request) readProxy(ctx context.Context) error {
	ref := q.repo.Spec.ProxySecretRef
	if ref == nil {
		return nil
	}
	key := q.key(ref.Name)
	secret, err := q.Secrets.Get(ctx, key, q.since)
	if err != nil {
		return err
	}
	// The library's error may quote the address, which may hold a password.
	if q.proxy, err = secrets.ProxyURLFromSecret(ctx, secret); err != nil {
		return fault.InSecret(key.String(), secrets.KeyAddress, "must be the URL of an http, https or socks5 proxy")
	}
	return nil
}

func (q *request) parseURL(context.Context) error {
	u, err := url.Parse(q.repo.Spec.URL)
	if err != nil {
		return fault.New(fault.Unsupported, "spec.url is not a valid URL")
	}
	if u.Host == "" {
		return fault.New(fault.Unsupported, "spec.url has no host")
	}
	q.url = u
	return nil
}

func (q *request) readSecret(ctx context.Context) (err error) {
	if ref := q.repo.Spec.SecretRef; ref != nil {
		q.secret, err = q.Secrets.Get(ctx, q.key(ref.Name), q.since)
	}
	return err
}

func (q *request) data() map[string][]byte {
	if q.secret == nil {
		return nil
	}
	return q.secret.Data
}

// authOptions reads the Secret by the library's rules, and says which key is
// wrong where they are not met.
func (q *request) authOptions(context.Context) error {
	options, err := git.NewAuthOptions(*q.url, q.data())
	if err == nil {
		q.options = options
		return nil
	}
	switch git.TransportType(q.url.Scheme) {
	case git.HTTP, git.HTTPS:
		return q.faulty(secrets.KeyUsername, "is required beside a password")
	case git.SSH:
		if q.secret == nil {
			return fault.New(fault.Credentials, "SSH needs spec.secretRef, to a Secret with identity and known_hosts")
		}
		if len(q.secret.Data[secrets.KeySSHPrivateKey]) == 0 {
			return q.faulty(secrets.KeySSHPrivateKey, "is required for SSH")
		}
		return q.faulty(secrets.KeySSHKnownHosts, "is required for SSH")
	}
	return fault.New(fault.Unsupported, "spec.url must be http, https or ssh")
}

// faulty is an error about a key of the source's Secret, or of its URL where it
// names no Secret.
func (q *request) faulty(key, detail string) error {
	if q.secret == nil {
		return fault.New(fault.Credentials, "userinfo of spec.url: "+key+" "+detail)
	}
	return fault.InSecret(q.secretName(), key, detail)
}

// checkCombination refuses what source-controller's git client refuses.
func (q *request) checkCombination(context.Context) error {
	o := q.options
	switch {
	case o.Transport == git.SSH:
		if q.proxy != nil && q.proxy.Scheme != "socks5" {
			return fault.InSecret(q.key(q.repo.Spec.ProxySecretRef.Name).String(), secrets.KeyAddress,
				"must be a socks5 proxy for SSH")
		}
		return nil
	case o.BearerToken != "" && (o.Username != "" || o.Password != ""):
		return q.faulty(secrets.KeyBearerToken, "can't be combined with a username or password, the userinfo of spec.url included")
	}
	return nil
}

// misplacedApp refuses the data of a GitHub App without its provider.
func (q *request) misplacedApp() error {
	if len(q.data()[githubapp.KeyAppID]) == 0 {
		return nil
	}
	return q.faulty(githubapp.KeyAppID, "needs spec.provider github")
}
