// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// TestPortsAreHandedOutOnce asks for more than one block.
func TestPortsAreHandedOutOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var (
		mu   sync.Mutex
		seen = map[int]int{}
		done sync.WaitGroup
	)
	for range 4 {
		done.Go(func() {
			free, err := freePorts(blockSize)
			mu.Lock()
			defer mu.Unlock()
			g.Expect(err).NotTo(HaveOccurred())
			for _, port := range free {
				seen[port]++
			}
		})
	}
	done.Wait()
	g.Expect(seen).To(HaveLen(4 * blockSize))
	for port := range seen {
		g.Expect(port).To(And(BeNumerically(">", firstPort), BeNumerically("<", lastPort)))
	}
}

// TestBlocksExclude stands for two processes: each block is held by its first port.
func TestBlocksExclude(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var one, other portBlock
	taken := map[int]bool{}
	for range 20 {
		for _, b := range []*portBlock{&one, &other} {
			g.Expect(b.reserve()).To(Succeed())
			g.Expect(taken[b.next]).To(BeFalse())
			taken[b.next] = true
		}
	}
	for _, b := range []*portBlock{&one, &other} {
		for _, listener := range b.held {
			g.Expect(listener.Close()).To(Succeed())
		}
	}
}
