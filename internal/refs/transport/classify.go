// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"syscall"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// classify makes a *fault.Error of any error of a listing. It looks at types
// only, and writes its own words: what libraries say may quote a URL.
func classify(ctx context.Context, err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Timeout, "no complete answer in time")
	case ctx.Err() != nil:
		return fault.New(fault.Canceled, "the listing was given up")
	}
	if e := classifyTLS(err); e != nil {
		return e
	}
	return classifyNetwork(err)
}

func classifyTLS(err error) error {
	var (
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		op        *net.OpError
	)
	switch {
	case errors.As(err, &hostname):
		return fault.New(fault.TLS, "the certificate is for another host")
	case errors.As(err, &authority):
		return fault.New(fault.TLS, "the certificate is signed by an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fault.New(fault.TLS, "the certificate has expired or is not yet valid")
	case errors.As(err, &invalid), errors.As(err, &verify):
		return fault.New(fault.TLS, "the certificate can't be verified")
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fault.New(fault.TLS, "the server does not speak TLS")
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		// How crypto/tls marks an alert.
		return fault.New(fault.TLS, "the handshake failed, or the server refused the client certificate")
	}
	return nil
}

func classifyNetwork(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var network net.Error
	var protocol textproto.ProtocolError
	at := ""
	if errors.As(err, &op) && (op.Op == "proxyconnect" || op.Op == "socks connect") {
		at = "the proxy: "
	}
	switch {
	case errors.As(err, &dns):
		return fault.New(fault.Unreachable, at+"the host name can't be resolved")
	case errors.As(err, &network) && network.Timeout():
		return fault.New(fault.Timeout, at+"no connection in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.New(fault.Unreachable, at+"the connection was refused")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fault.New(fault.Unreachable, at+"there is no route to the host")
	case errors.As(err, &protocol):
		return fault.New(fault.Protocol, "the answer is not HTTP")
	}
	return fault.New(fault.Unreachable, at+"the connection was lost")
}
