// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	fluxauth "github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/cache"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// enterprise is the API of a GitHub Enterprise Server behind a private CA. It
// returns the data of an App there.
func enterprise(t *testing.T, status int) (data, *atomic.Int64) {
	t.Helper()
	var issued atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v3/app/installations/{id}/access_tokens", func(w http.ResponseWriter, r *http.Request) {
		if status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"message":%q}`, hidden+r.Header.Get("Authorization"))
			return
		}
		_, _ = fmt.Fprintf(w, `{"token":"ghs_%s_%d","expires_at":%q}`, r.PathValue("id"), issued.Add(1),
			time.Now().Add(time.Hour).Format(time.RFC3339))
	})
	mux.HandleFunc("GET /api/v3/orgs/team/installation", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":77}`)
	})
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return data{
		"githubAppID": "1", "githubAppInstallationID": "42", "githubAppBaseURL": server.URL + "/api/v3",
		"githubAppPrivateKey": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"ca.crt":              string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	}, &issued
}

func TestGitHubApp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	app, issued := enterprise(t, http.StatusOK)
	r := resolver(secret("app", app))
	tokens, err := cache.NewTokenCache(10)
	g.Expect(err).NotTo(HaveOccurred())
	r.TokenCache = tokens
	for range 3 {
		c, err := r.Resolve(t.Context(), source("https://ghe/team/app", "app", "", provider("github")), 1)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.HTTP.Username).To(Equal("x-access-token"))
		g.Expect(c.HTTP.Password).To(Equal("ghs_42_1"))
		g.Expect(c.HTTP.CA).To(Equal([]byte(app["ca.crt"])))
	}
	g.Expect(issued.Load()).To(Equal(int64(1)), "tokens are kept until they expire")

	delete(app, "githubAppInstallationID")
	app["githubAppInstallationOwner"] = "team"
	c, err := resolver(secret("app", app)).Resolve(t.Context(), source("https://ghe/team/app", "app", "", provider("github")), 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.HTTP.Password).To(Equal("ghs_77_2"))
}

func TestGitHubAppRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	app, _ := enterprise(t, http.StatusUnauthorized)
	_, err := resolver(secret("app", app)).Resolve(t.Context(), source("https://ghe/team/app", "app", "", provider("github")), 1)
	g.Expect(err).To(MatchError(`Credentials: secret "team/app": the API of the GitHub App answered 401`))

	delete(app, "ca.crt")
	_, err = resolver(secret("app", app)).Resolve(t.Context(), source("https://ghe/team/app", "app", "", provider("github")), 1)
	g.Expect(err).To(MatchError(`Credentials: secret "team/app": provider github gave no credentials`))
}

func TestGitHubAppInTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	app, _ := enterprise(t, http.StatusOK)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err := resolver(secret("app", app)).Resolve(ctx, source("https://ghe/team/app", "app", "", provider("github")), 1)
	g.Expect(fault.KindOf(err)).To(Equal(fault.Credentials))
	g.Expect(err.Error()).To(ContainSubstring("in time"))
}

// TestAWS signs for CodeCommit with the controller's own identity, which takes no
// network. It is not parallel, because the identity comes from the environment.
func TestAWS(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", hidden)
	t.Setenv("AWS_REGION", "eu-west-1")
	// The library can't combine a bundle of the environment with its own client.
	t.Setenv("AWS_CA_BUNDLE", "")
	g := NewWithT(t)
	c, err := resolver().Resolve(t.Context(), source("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app", "", "", provider("aws")), 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.HTTP.Username).To(HavePrefix("AKIAEXAMPLE"))
	g.Expect(c.HTTP.Password).To(MatchRegexp(`^\d{8}T\d{6}Z[0-9a-f]{64}$`))
	g.Expect(c.HTTP.BearerToken).To(BeEmpty())
}

// TestServiceAccount asks for a token of the source's ServiceAccount, behind
// Flux's gate. It is not parallel, because that gate is one of the process.
func TestServiceAccount(t *testing.T) {
	fluxauth.EnableObjectLevelWorkloadIdentity()
	t.Cleanup(fluxauth.DisableObjectLevelWorkloadIdentity)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "sa",
		Annotations: map[string]string{
			"azure.workload.identity/tenant-id": "t", "azure.workload.identity/client-id": "c",
		},
	}}
	as := func(name string) func(*sourcev1.GitRepositorySpec) {
		return func(s *sourcev1.GitRepositorySpec) { s.Provider, s.ServiceAccountName = "azure", name }
	}
	url := "https://dev.azure.com/org/project/_git/app"
	var asked []string
	c := fake.NewClientBuilder().WithObjects(account).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceCreate: func(_ context.Context, _ client.Client, sub string, o client.Object, _ client.Object, _ ...client.SubResourceCreateOption) error {
			asked = append(asked, o.GetName()+"/"+sub)
			return apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, o.GetName(), errors.New(hidden))
		},
	}).Build()
	g := NewWithT(t)
	r := resolverOf(c)
	r.ObjectLevelWorkloadIdentity = true
	_, err := r.Resolve(t.Context(), source(url, "", "", as("none")), 1)
	g.Expect(err).To(MatchError(`Credentials: service account "team/none": NotFound`))
	_, err = r.Resolve(t.Context(), source(url, "", "", as("sa")), 1)
	g.Expect(err).To(MatchError(`Credentials: service account "team/sa": Forbidden`))
	g.Expect(asked).To(Equal([]string{"sa/token"}))

	r.ObjectLevelWorkloadIdentity = false
	_, err = r.Resolve(t.Context(), source(url, "", "", as("sa")), 1)
	g.Expect(err.Error()).To(ContainSubstring("ObjectLevelWorkloadIdentity"))
	g.Expect(asked).To(HaveLen(1))
}
