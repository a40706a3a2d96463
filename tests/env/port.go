// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// firstPort and lastPort bound the ports that servers get. They lie below the
	// range that outgoing connections take theirs from (32768 and up on Linux), so
	// that nothing takes a port between its choice and its use.
	firstPort, lastPort = 12000, 32000
	// portAttempts bounds the search for a free one.
	portAttempts = 200
)

// freePort returns a port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) {
	for range portAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("failed to find free port between %d and %d in %d attempts", firstPort, lastPort, portAttempts)
}

// freePorts returns n different free ports.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	taken := map[int]bool{}
	for len(ports) < n {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		if !taken[port] {
			taken[port] = true
			ports = append(ports, port)
		}
	}
	return ports, nil
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
