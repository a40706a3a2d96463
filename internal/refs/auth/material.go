// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/tls"
	"errors"
	"slices"

	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/runtime/secrets"
	"github.com/fluxcd/pkg/ssh/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/net/http/httpguts"
)

// credentials parses keys and certificates.
func (q *request) credentials() (*Credentials, error) {
	u := *q.url
	u.User = nil
	c := &Credentials{URL: &u, Proxy: q.proxy, Pool: pool(q.proxy, q.options)}
	var err error
	if q.options.Transport == git.SSH {
		c.SSH, err = q.ssh()
	} else {
		c.HTTP, err = q.http()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// http takes a client certificate where both halves are there, as go-git does.
func (q *request) http() (*HTTP, error) {
	o := q.options
	if !httpguts.ValidHeaderFieldValue(o.BearerToken) {
		return nil, q.faulty(secrets.KeyBearerToken, "holds what a header can't carry, such as a line feed")
	}
	h := &HTTP{Username: o.Username, Password: o.Password, BearerToken: o.BearerToken, CA: o.CAFile}
	if len(o.ClientCert) == 0 || len(o.ClientKey) == 0 {
		return h, nil
	}
	certificate, err := tls.X509KeyPair(o.ClientCert, o.ClientKey)
	if err != nil {
		return nil, q.faulty(secrets.KeyTLSCert, "does not form a valid pair with "+secrets.KeyTLSPrivateKey)
	}
	h.Certificates = []tls.Certificate{certificate}
	return h, nil
}

func (q *request) ssh() (*SSH, error) {
	signer, err := q.signer()
	if err != nil {
		return nil, err
	}
	hostKey, algorithms, err := knownhosts.New(q.options.KnownHosts)
	if err != nil {
		return nil, q.faulty(secrets.KeySSHKnownHosts, "is not in the format of known_hosts")
	}
	return &SSH{
		User: q.options.Username, Signer: signer,
		HostKey: hostKey, HostKeyAlgorithms: hostKeyAlgorithms(algorithms),
	}, nil
}

// signer decrypts the identity where it is encrypted.
func (q *request) signer() (ssh.Signer, error) {
	o := q.options
	signer, err := ssh.ParsePrivateKey(o.Identity)
	var encrypted *ssh.PassphraseMissingError
	if errors.As(err, &encrypted) {
		if o.Password == "" {
			return nil, q.faulty(secrets.KeyPassword, "is required: the identity is encrypted")
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(o.Identity, []byte(o.Password)); err != nil {
			return nil, q.faulty(secrets.KeyPassword, "does not decrypt the identity")
		}
	}
	if err != nil {
		return nil, q.faulty(secrets.KeySSHPrivateKey, "is not a private key")
	}
	return signer, nil
}

// hostKeyAlgorithms puts the SHA-2 signatures before the SHA-1 one that an RSA
// key is named after.
func hostKeyAlgorithms(keys []string) []string {
	slices.Sort(keys)
	var algorithms []string
	for _, key := range keys {
		if key == ssh.KeyAlgoRSA {
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		algorithms = append(algorithms, key)
	}
	return algorithms
}
