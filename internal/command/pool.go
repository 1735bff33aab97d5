package command

import (
	"slices"
	"sync"
	"syscall"
)

// The sizes of a stream's first chunk, of which most command buffers need a part, and of the others, unless one
// record needs more.
const (
	firstWords = 64 << 10 / 8
	nextWords  = 256 << 10 / 8
)

// Pool is where the streams of a command pool get their memory from and give it back to, for the next
// recording. The zero value is ready. All methods may be called from any goroutine.
type Pool struct {
	mu     sync.Mutex
	first  [][]uint64 // free chunks of firstWords
	next   [][]uint64 // free chunks of nextWords or more
	closed bool
}

// takeFirst returns a stream's first chunk, whose content is undefined. It fails with ErrMemory.
func (p *Pool) takeFirst() ([]uint64, error) {
	if c := p.reuse(&p.first, firstWords); c != nil {
		return c, nil
	}
	return mapWords(firstWords, 0)
}

// takeNext returns a chunk of at least words words for a stream that has outgrown its last one. All of its pages
// are going to be written, and cost a tenth of the faults when they are there already. It fails with ErrMemory.
func (p *Pool) takeNext(words int) ([]uint64, error) {
	if c := p.reuse(&p.next, words); c != nil {
		return c, nil
	}
	return mapWords((words+nextWords-1)/nextWords*nextWords, syscall.MAP_POPULATE)
}

// reuse takes a chunk of at least words words from a list, the one that was given back last if possible: it may
// still be in the caches.
func (p *Pool) reuse(list *[][]uint64, words int) []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range slices.Backward(*list) {
		if len(c) >= words {
			*list = slices.Delete(*list, i, i+1)
			return c
		}
	}
	return nil
}

// give takes a chunk back.
func (p *Pool) give(c []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		unmapWords(c)
	case len(c) == firstWords:
		p.first = append(p.first, c)
	default:
		p.next = append(p.next, c)
	}
}

// Trim gives the memory that no stream uses back to the system.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Concat(p.first, p.next) {
		unmapWords(c)
	}
	p.first, p.next = nil, nil
}

// Close trims the pool; what streams still use goes back to the system when they are reset.
func (p *Pool) Close() {
	p.Trim()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
