// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	// firstPort and lastPort bound the ports that servers get. They lie below the
	// range that outgoing connections take theirs from (32768 and up on Linux), so
	// that nothing takes a port between its choice and its use.
	firstPort, lastPort = 12000, 32000
	// blockSize is how many ports a process reserves at a time, the first of which
	// says so.
	blockSize = 40
	// blockAttempts bounds the search for a free block.
	blockAttempts = 1000
)

// ports hands out the ports of this process. A block is reserved by listening on its
// first port for as long as the process lives, so that processes which start a control
// plane at the same time never choose the same port.
var ports portBlock

type portBlock struct {
	mu        sync.Mutex
	held      []net.Listener // the first ports of all blocks so far
	next, end int
}

// freePort returns a port of 127.0.0.1 that nobody listens on. It is handed out once.
func freePort() (int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	for {
		if ports.next == ports.end {
			if err := ports.reserve(); err != nil {
				return 0, err
			}
		}
		port := ports.next
		ports.next++
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue // somebody else's
		}
		return port, listener.Close()
	}
}

// reserve takes another block.
func (b *portBlock) reserve() error {
	const blocks = (lastPort - firstPort) / blockSize
	for range blockAttempts {
		first := firstPort + blockSize*rand.IntN(blocks)
		listener, err := net.Listen("tcp", loopback(first))
		if err != nil {
			continue
		}
		b.held = append(b.held, listener)
		b.next, b.end = first+1, first+blockSize
		return nil
	}
	return fmt.Errorf("failed to find free ports between %d and %d", firstPort, lastPort)
}

// freePorts returns n different free ports.
func freePorts(n int) ([]int, error) {
	free := make([]int, n)
	for i := range free {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		free[i] = port
	}
	return free, nil
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
