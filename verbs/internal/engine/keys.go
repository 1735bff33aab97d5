package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/callsite"
	"farside/internal/ibv"
)

// A key is an index of 24 bits and a tag of 8 bits, which changes with each use of the index.
const (
	tagBits   = 8
	tagMask   = 1<<tagBits - 1
	chunkBits = 10
	chunks    = 1 << (32 - tagBits - chunkBits)
)

// grant is what a key lets its users do: reach length addresses from start on, of which the first is byte at of the
// memory, with these rights. All but users never changes; a region that is registered again gets a new one.
type grant struct {
	users atomic.Int64 // operations inside, less ended once no more may come

	key    uint32
	pd     *PD
	qp     *QP // that alone may use it; nil for any of the domain
	window bool
	owner  *MW
	start  uint64
	length uint64
	at     uint64
	access ibv.AccessFlags
	bytes  []byte // of the memory, whole; unused if there is a Memory
	memory Memory
	// watched is the memory if devices see late what is written, else nil.
	watched Watched
	made    *callsite.Origin
}

// ended is far below what users can make up for.
const ended = -1 << 62

// enter keeps the grant until leave, and gives its memory. It fails if the grant or the memory has ended.
func (g *grant) enter() ([]byte, bool) {
	if g.users.Add(1) <= 0 {
		g.users.Add(-1)
		return nil, false
	}
	if g.memory == nil {
		return g.bytes, true
	}
	if b := g.memory.Enter(); b != nil {
		return b, true
	}
	g.users.Add(-1)
	g.tellFreed()
	return nil, false
}

// slice enters the grant, which may be nil, and gives n bytes at an address, with where they begin in the memory.
func (g *grant) slice(address, n uint64) (b []byte, at uint64, ok bool) {
	if g == nil {
		return nil, 0, false
	}
	if b, ok = g.enter(); !ok {
		return nil, 0, false
	}
	at = g.at + address - g.start
	if at > uint64(len(b)) || n > uint64(len(b))-at {
		g.leave()
		return nil, 0, false
	}
	return b[at : at+n], at, true
}

func (g *grant) leave() {
	if g.memory != nil {
		g.memory.Leave()
	}
	g.users.Add(-1)
}

// end lets nobody in any more and waits for those inside, who are copying at most a packet.
func (g *grant) end() {
	g.users.Add(ended)
	for try := 0; g.users.Load() != ended; try++ {
		if try < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// covers says whether n addresses at address are the grant's.
func (g *grant) covers(address, n uint64) bool {
	off := address - g.start
	return off <= g.length && n <= g.length-off
}

type chunk [1 << chunkBits]atomic.Pointer[grant]

// keyTable has the grants of a device. Lookups take no lock.
type keyTable struct {
	chunks [chunks]atomic.Pointer[chunk]

	mu   sync.Mutex
	next uint32 // index never used
	tags []uint8
	free []uint32 // indices, the longest unused first
}

// init keeps index 0 unused, so that no key is a small number.
func (t *keyTable) init() { t.next, t.tags = 1, []uint8{0} }

// reserve returns an unused key. Error: ENOMEM.
func (t *keyTable) reserve() (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i uint32
	switch {
	case t.next < 1<<(32-tagBits) && len(t.free) < 1024: // an index rests before it is used again
		i = t.next
		t.next++
		t.tags = append(t.tags, uint8(i*37))
		if p := &t.chunks[i>>chunkBits]; p.Load() == nil {
			p.Store(new(chunk))
		}
	case len(t.free) > 0:
		i, t.free = t.free[0], t.free[1:]
		t.tags[i]++
	default:
		return 0, unix.ENOMEM
	}
	return i<<tagBits | uint32(t.tags[i]), nil
}

// release gives an index back.
func (t *keyTable) release(key uint32) {
	t.slot(key).Store(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = append(t.free, key>>tagBits)
}

func (t *keyTable) slot(key uint32) *atomic.Pointer[grant] {
	i := key >> tagBits
	return &t.chunks[i>>chunkBits].Load()[i&(1<<chunkBits-1)]
}

// find returns the grant of a key, or nil.
func (t *keyTable) find(key uint32) *grant {
	i := key >> tagBits
	c := t.chunks[i>>chunkBits].Load()
	if c == nil {
		return nil
	}
	if g := c[i&(1<<chunkBits-1)].Load(); g != nil && g.key == key {
		return g
	}
	return nil
}

// local finds the grant for a scatter or gather entry: a region of the domain that allows need.
func (t *keyTable) local(pd *PD, key uint32, address, n uint64, need ibv.AccessFlags) *grant {
	g := t.find(key)
	if g == nil || g.window || g.pd != pd || g.access&need != need || !g.covers(address, n) {
		return nil
	}
	return g
}

// remote finds the grant for a peer's operation by way of q, in a domain.
func (t *keyTable) remote(q *QP, pd *PD, key uint32, address, n uint64, need ibv.AccessFlags) *grant {
	g := t.find(key)
	if g == nil || g.pd != pd || g.qp != nil && g.qp != q || g.access&need != need || !g.covers(address, n) {
		return nil
	}
	return g
}
