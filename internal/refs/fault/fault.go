// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"strings"
	"time"
)

// Kind says what went wrong, and so who has to do something about it.
type Kind string

const (
	// Unauthorized: the server refused the credentials, or wants some.
	Unauthorized Kind = "Unauthorized"
	// NotFound: there is no such repository, or the server hides it from
	// these credentials.
	NotFound Kind = "NotFound"
	// RefMissing: the repository was listed and does not have the ref.
	RefMissing Kind = "RefMissing"
	// Timeout: no complete answer within the timeout of one listing.
	Timeout Kind = "Timeout"
	// Throttled: the server asks to come back later.
	Throttled Kind = "Throttled"
	// TLS: the server's certificate can't be verified, or the handshake failed.
	TLS Kind = "TLS"
	// HostKey: the SSH server's host key is not in known_hosts, or differs.
	HostKey Kind = "HostKey"
	// TooLarge: the answer exceeds the limits of one listing.
	TooLarge Kind = "TooLarge"
	// Protocol: what was answered is not the git protocol, or breaks off.
	Protocol Kind = "Protocol"
	// Unsupported: what the source asks for is not sequenced, or Flux could
	// not fetch it either (SHA-256 repositories).
	Unsupported Kind = "Unsupported"
	// Credentials: the source's Secret, ServiceAccount or provider can't be
	// used as it stands.
	Credentials Kind = "Credentials"
	// Unreachable: no connection to the host, or it was lost.
	Unreachable Kind = "Unreachable"
	// ServerFailed: the server says that it failed (5xx).
	ServerFailed Kind = "ServerFailed"
	// Canceled: the listing was given up because the process stops.
	Canceled Kind = "Canceled"
)

// Kinds lists every Kind, for documents and tests.
func Kinds() []Kind {
	return []Kind{
		Unauthorized, NotFound, RefMissing, Timeout, Throttled, TLS, HostKey, TooLarge,
		Protocol, Unsupported, Credentials, Unreachable, ServerFailed, Canceled,
	}
}

// Error is why a listing failed. It is immutable once returned.
type Error struct {
	// Kind of the failure.
	Kind Kind
	// Detail says more, free of secrets; it may be empty.
	Detail string
	// Secret is the namespace/name of the Secret (or ServiceAccount) that is at
	// fault, and Key the key in it; empty where it is none's fault.
	Secret string
	Key    string
	// RetryAfter is what the server asked to wait; zero if it did not say.
	RetryAfter time.Duration
}

// New makes an Error of a kind with a detail that is free of secrets.
func New(kind Kind, detail string) *Error { return &Error{Kind: kind, Detail: detail} }

// InSecret makes a Credentials error that names the object and the key.
func InSecret(secret, key, detail string) *Error {
	return &Error{Kind: Credentials, Secret: secret, Key: key, Detail: detail}
}

// Error renders kind, object, key and detail: "Credentials: secret "ns/name" key
// "identity": is required for SSH".
func (e *Error) Error() string {
	parts := []string{string(e.Kind)}
	switch {
	case e.Secret != "" && e.Key != "":
		parts = append(parts, `secret "`+e.Secret+`" key "`+e.Key+`"`)
	case e.Secret != "":
		parts = append(parts, `secret "`+e.Secret+`"`)
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	return strings.Join(parts, ": ")
}

// OfHost tells whether the failure may be one of the host as a whole, rather
// than of one repository or credential.
func (e *Error) OfHost() bool {
	return e.Kind == Unreachable || e.Kind == Timeout || e.Kind == ServerFailed
}

// Answered tells whether the host was reached at all, so that the failure says
// that it is alive.
func (e *Error) Answered() bool {
	switch e.Kind {
	case Unauthorized, NotFound, RefMissing, Throttled, HostKey, TooLarge, Protocol:
		return true
	default:
		return false
	}
}

// KindOf returns the kind of an error; empty for nil and for foreign errors.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
