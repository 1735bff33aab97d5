package local

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim/internal/verbs"
)

// Mapping is a part of a region, for users in the owner's own process. It ends with the region.
type Mapping struct {
	region  *Region
	at      uint64 // of the first byte in the region
	bytes   []byte
	mapping []byte
	strict  bool
	users   atomic.Int64 // inside, and mappingEnded once no more may come
	end     sync.Once
}

// mappingEnded is far below what users can make up for.
const mappingEnded = -1 << 62

// Map maps n bytes at an address of one of the owner's regions. Errors: ErrUnknownAddress, ErrFreed, ErrOutOfRange
// for bytes that aren't all in the region, ErrAccess for a region that peers may not write, the operating system's.
func (o *Owner) Map(address, n uint64, need verbs.Access) (*Mapping, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, status := o.find(address)
	if status != wireOK {
		return nil, fmt.Errorf("rdmasim: map %#x: %w", address, wireErrors[status])
	}
	at := address - r.base
	if n == 0 || n > r.length-at {
		return nil, fmt.Errorf("rdmasim: map %d bytes at %#x, %d before the region's end: %w", n, address, r.length-at,
			verbs.ErrOutOfRange)
	}
	if need&^r.attributes.Access != 0 {
		return nil, fmt.Errorf("rdmasim: map %#x to %v, rights are %v: %w", address, need, r.attributes.Access,
			verbs.ErrAccess)
	}
	protection := unix.PROT_READ
	if need&(verbs.AccessWrite|verbs.AccessAtomic) != 0 {
		protection |= unix.PROT_WRITE
	}
	in := (r.offset + at) & (verbs.PageSize - 1)
	mapping, err := unix.Mmap(r.fd, int64(r.offset+at-in), int(in+n), protection, unix.MAP_SHARED)
	if err != nil {
		return nil, verbs.OSError("map a region", err)
	}
	m := &Mapping{region: r, at: at, mapping: mapping, bytes: mapping[in:], strict: r.traffic != nil}
	if r.mappings == nil {
		r.mappings = map[*Mapping]struct{}{}
	}
	r.mappings[m] = struct{}{}
	return m, nil
}

// Enter gives the bytes and keeps them in place until Leave, nil if the region has been closed.
func (m *Mapping) Enter() []byte {
	if m.users.Add(1) <= 0 {
		m.users.Add(-1)
		return nil
	}
	return m.bytes
}

// Leave ends what Enter began.
func (m *Mapping) Leave() { m.users.Add(-1) }

// Close gives the mapping back. Those inside have left it when it returns.
func (m *Mapping) Close() {
	m.region.owner.mu.Lock()
	delete(m.region.mappings, m)
	m.region.owner.mu.Unlock()
	m.finish()
}

// Strict says whether the owner looks at the order of what peers do to the region (FARSIDE_STRICT=rdma). Then Put is
// how to write, and Look comes before a read or an atomic.
func (m *Mapping) Strict() bool { return m.strict }

// Put writes data behind byte off of the mapping as the adapter of the owner's process does it, for a queue pair. The
// write has ended for its peer, and waits where devices don't see it. The user is inside; off and data fit,
// and the data becomes the region's.
func (m *Mapping) Put(queuePair uint32, off uint64, data []byte) {
	r := m.region
	o := r.owner
	o.mu.Lock()
	defer o.tell() // after the unlock
	defer o.mu.Unlock()
	if r.traffic == nil { // freed
		return
	}
	o.puts++
	x := &transfer{flow: uint64(queuePair), number: o.puts, opcode: verbs.OpWrite, begin: m.at + off,
		end: m.at + off + uint64(len(data)), pieces: []piece{{at: m.at + off, data: data}}}
	r.announce(x)
	r.arrive(x)
	r.traffic.know(func(y *transfer) bool { return y == x })
}

// Look makes visible what has arrived in all regions of the owner: a read or an atomic comes behind it.
func (m *Mapping) Look() {
	o := m.region.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
}

// finish lets nobody in any more, waits for those inside, who copy a packet each, and unmaps.
func (m *Mapping) finish() {
	m.end.Do(func() {
		m.users.Add(mappingEnded)
		for try := 0; m.users.Load() != mappingEnded; try++ {
			if try < 100 {
				runtime.Gosched()
			} else {
				time.Sleep(50 * time.Microsecond)
			}
		}
		_ = unix.Munmap(m.mapping)
	})
}

// takeMappings takes the mappings of a region that has been closed. Under owner.mu.
func (r *Region) takeMappings() []*Mapping {
	var all []*Mapping
	for m := range r.mappings {
		all = append(all, m)
	}
	r.mappings = nil
	return all
}
