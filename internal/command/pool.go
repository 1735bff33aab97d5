package command

import (
	"slices"
	"sync"
)

// chunkWords is the size of a chunk, unless one record needs more.
const chunkWords = 64 << 10 / 8

// Pool is where the streams of a command pool get their memory from and give it back to, for the next
// recording. The zero value is ready. All methods may be called from any goroutine.
type Pool struct {
	mu     sync.Mutex
	free   [][]uint64 // of chunkWords
	large  [][]uint64 // of more
	closed bool
}

// take returns a chunk of at least words words, whose content is undefined. touched asks for one whose pages are
// there already, which costs a tenth of the faults when all of them are going to be written.
func (p *Pool) take(words int, touched bool) ([]uint64, error) {
	p.mu.Lock()
	list := &p.free
	if words > chunkWords {
		list = &p.large
	}
	for i, c := range slices.Backward(*list) {
		if len(c) >= words {
			*list = slices.Delete(*list, i, i+1)
			p.mu.Unlock()
			return c, nil
		}
	}
	p.mu.Unlock()
	return mapWords((words + chunkWords - 1) / chunkWords * chunkWords, touched)
}

// give takes a chunk back.
func (p *Pool) give(c []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		unmapWords(c)
	case len(c) > chunkWords:
		p.large = append(p.large, c)
	default:
		p.free = append(p.free, c)
	}
}

// Trim gives the memory that no stream uses back to the system.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Concat(p.free, p.large) {
		unmapWords(c)
	}
	p.free, p.large = nil, nil
}

// Close trims the pool; what streams still use goes back to the system when they are reset.
func (p *Pool) Close() {
	p.Trim()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
