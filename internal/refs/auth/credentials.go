// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/url"

	"github.com/fluxcd/pkg/git"
	"golang.org/x/crypto/ssh"
)

// Credentials are all that it takes to reach one repository.
type Credentials struct {
	// URL of the repository, without userinfo.
	URL *url.URL
	// Proxy to use, with its own userinfo; nil leaves it to the environment.
	Proxy *url.URL
	// HTTP is set for http and https, SSH for ssh.
	HTTP *HTTP
	SSH  *SSH
	// Pool names what a connection depends on. Credentials that agree in it
	// may share connections. It is a digest: nothing can be read from it.
	Pool string
}

// HTTP holds credentials of an http or https repository.
type HTTP struct {
	// Username and Password are sent as basic auth where one of them is set;
	// else BearerToken where it is set.
	Username    string
	Password    string
	BearerToken string
	// Certificates of the client; empty for none.
	Certificates []tls.Certificate
	// CA is a PEM bundle that is trusted besides the system's.
	CA []byte
}

// SSH holds credentials of an ssh repository.
type SSH struct {
	User   string
	Signer ssh.Signer
	// HostKey checks the server's key against known_hosts.
	HostKey ssh.HostKeyCallback
	// HostKeyAlgorithms are those of the keys in known_hosts.
	HostKeyAlgorithms []string
}

// pool digests what a connection depends on. Each part is preceded by its length,
// so that no two lists of parts read the same.
func pool(proxy *url.URL, o *git.AuthOptions) string {
	parts := []string{string(o.Transport), o.Host, "", string(o.CAFile), string(o.ClientCert), string(o.ClientKey)}
	if proxy != nil {
		parts[2] = proxy.String()
	}
	if o.Transport == git.SSH {
		parts = append(parts, o.Username, string(o.Identity), string(o.KnownHosts))
	}
	digest := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(digest, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(digest.Sum(nil))
}
