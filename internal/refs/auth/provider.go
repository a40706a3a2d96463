// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	fluxauth "github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/aws"
	"github.com/fluxcd/pkg/auth/azure"
	"github.com/fluxcd/pkg/auth/githubapp"
	"github.com/fluxcd/pkg/cache"
	"github.com/fluxcd/pkg/runtime/secrets"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-github/v87/github"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// operation names what tokens are used for in the events of the token cache.
const operation = "list"

// askProvider replaces what the Secret gave by what the source's provider gives.
func (q *request) askProvider(ctx context.Context) error {
	var given *fluxauth.GitCredentials
	var err error
	switch q.repo.GetProvider() {
	case sourcev1.GitProviderAzure:
		given, err = q.askCloud(ctx, azure.Provider{})
	case sourcev1.GitProviderAWS:
		given, err = q.askCloud(ctx, aws.Provider{})
	case sourcev1.GitProviderGitHub:
		given, err = q.askGitHub(ctx)
	default:
		return q.misplacedApp()
	}
	if err != nil {
		return err
	}
	q.options.BearerToken = given.BearerToken
	q.options.Username = given.Username
	q.options.Password = given.Password
	return nil
}

// askCloud asks a cloud for credentials, as the controller or as the source's
// ServiceAccount.
func (q *request) askCloud(ctx context.Context, provider fluxauth.GitCredentialsProvider) (*fluxauth.GitCredentials, error) {
	options := []fluxauth.Option{
		fluxauth.WithClient(q.Client),
		fluxauth.WithServiceAccountNamespace(q.repo.GetNamespace()),
		fluxauth.WithGitURL(*q.url),
	}
	if name := q.repo.Spec.ServiceAccountName; name != "" {
		if !q.ObjectLevelWorkloadIdentity {
			return nil, fault.New(fault.Credentials, "spec.serviceAccountName needs the feature gate "+
				fluxauth.FeatureGateObjectLevelWorkloadIdentity)
		}
		options = append(options, fluxauth.WithServiceAccountName(name))
	}
	if q.TokenCache != nil {
		options = append(options, fluxauth.WithCache(*q.TokenCache, cache.InvolvedObject{
			Kind: sourcev1.GitRepositoryKind, Name: q.repo.GetName(), Namespace: q.repo.GetNamespace(), Operation: operation,
		}))
	}
	if q.proxy != nil {
		options = append(options, fluxauth.WithProxyURL(*q.proxy))
	}
	given, err := fluxauth.GetGitCredentials(ctx, provider, options...)
	if err != nil {
		return nil, q.refused(ctx, err)
	}
	return given, nil
}

// askGitHub asks GitHub, or an enterprise server, for the token of an
// installation of an App.
func (q *request) askGitHub(ctx context.Context) (*fluxauth.GitCredentials, error) {
	if q.secret == nil {
		return nil, fault.New(fault.Credentials, "spec.provider github needs spec.secretRef, to a Secret with the data of a GitHub App")
	}
	methods, err := secrets.AuthMethodsFromSecret(ctx, q.secret, secrets.WithTLSSystemCertPool())
	if err != nil {
		return nil, q.malformed(err)
	}
	if !methods.HasGitHubAppData() {
		return nil, q.faulty(githubapp.KeyAppID, "is required for spec.provider github, with the rest of the App's data")
	}
	options := []githubapp.OptFunc{githubapp.WithAppData(methods.GitHubAppData)}
	if q.proxy != nil {
		options = append(options, githubapp.WithProxyURL(q.proxy))
	}
	if q.TokenCache != nil {
		options = append(options, githubapp.WithCache(q.TokenCache, sourcev1.GitRepositoryKind,
			q.repo.GetName(), q.repo.GetNamespace(), operation))
	}
	if methods.HasTLS() {
		options = append(options, githubapp.WithTLSConfig(methods.TLS))
	}
	username, password, err := githubapp.GetCredentials(ctx, options...)
	if err != nil {
		return nil, q.refused(ctx, err)
	}
	return &fluxauth.GitCredentials{Username: username, Password: password}, nil
}

// malformed says which key the library did not understand, as far as it is told.
func (q *request) malformed(err error) error {
	var basic *secrets.BasicAuthMalformedError
	var key *secrets.KeyNotFoundError
	switch {
	case errors.As(err, &basic):
		return q.faulty(basic.Missing, "is required beside "+basic.Present)
	case errors.As(err, &key):
		return q.faulty(key.Key, "is required")
	}
	return fault.InSecret(q.secretName(), "", fmt.Sprintf("needs exactly one of %s and %s, and a valid certificate where it holds one",
		githubapp.KeyAppInstallationOwner, githubapp.KeyAppInstallationID))
}

// refused says that a provider gave no credentials. What it answered is not
// repeated: it may hold a token.
func (q *request) refused(ctx context.Context, err error) error {
	provider := q.repo.GetProvider()
	var answer *github.ErrorResponse
	switch {
	case ctx.Err() != nil:
		return stopped(ctx)
	case errors.Is(err, fluxauth.ErrObjectLevelWorkloadIdentityNotEnabled):
		return fault.New(fault.Credentials, err.Error())
	case errors.As(err, &answer) && answer.Response != nil:
		return fault.InSecret(q.secretName(), "",
			"the API of the GitHub App answered "+strconv.Itoa(answer.Response.StatusCode))
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		q.Secrets.failed()
		return fault.New(fault.Credentials, fmt.Sprintf("service account %q: %s",
			q.key(q.repo.Spec.ServiceAccountName), apierrors.ReasonForError(err)))
	case q.secret != nil:
		return fault.InSecret(q.secretName(), "", "provider "+provider+" gave no credentials")
	}
	return fault.New(fault.Credentials, "provider "+provider+" gave no credentials")
}
