package ofi

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// tick is the longest that a goroutine stays in the library without looking up, in milliseconds.
const tick = 100

// targetDepth is the length of a target's completion queue. It has no operations of its own.
const targetDepth = 1024

// grace is how long a region that was closed keeps its payload.
const grace = time.Second

// Target has memory that peers read and write. Its methods may be called from any goroutine.
type Target struct {
	endpoint *endpoint
	address  Address
	page     page // completions, and the pulse
	pulse    memory
	stop     atomic.Bool
	stopped  chan struct{}

	mu      sync.Mutex
	closed  bool
	regions map[*Region]struct{}
	retired [][]byte // mappings of what has been closed
}

// Region is memory of a target that peers may use.
type Region struct {
	target  *Target
	memory  memory
	mapping []byte
	remote  Remote
}

// NewTarget opens an endpoint at an address of this host, or at one of the provider's choice if bind is
// empty, and serves it. The provider is libfabric's name of one, empty for [DefaultProvider]. Errors:
// ErrLibrary, ErrProvider, a CallError.
func NewTarget(provider, bind string) (*Target, error) {
	if provider == "" {
		provider = DefaultProvider
	}
	e, err := openEndpoint(provider, bind, targetDepth)
	if err != nil {
		return nil, err
	}
	t := &Target{endpoint: e, stopped: make(chan struct{}), regions: map[*Region]struct{}{}}
	if err := t.publish(); err != nil {
		_ = t.pulse.close()
		e.close()
		if t.page.bytes != nil {
			t.page.free()
		}
		return nil, err
	}
	go t.progress()
	return t, nil
}

// publish finds out the target's address and registers its pulse.
func (t *Target) publish() (err error) {
	if t.address.Name, t.address.Provider, err = t.endpoint.name(); err != nil {
		return err
	}
	if t.page, err = newPage(entriesSize + pulseSize); err != nil {
		return err
	}
	if t.pulse, err = t.endpoint.registerMemory(t.page.bytes[entriesSize:], remoteRead); err != nil {
		return err
	}
	t.address.Pulse = Remote{Length: pulseSize, Key: t.pulse.key()}
	if t.endpoint.virtual {
		t.address.Pulse.Base = uint64(t.page.address(entriesSize))
	}
	return nil
}

const (
	entriesSize = maxEntries * 8
	pulseSize   = 8
)

// progress drives the library, which does nothing by itself.
func (t *Target) progress() {
	defer close(t.stopped)
	for !t.stop.Load() {
		// What fails is a connection, and the library ends that.
		if n, err := t.endpoint.wait(t.page.address(0), tick); n < 0 && err == nil {
			_, _ = t.endpoint.takeError()
		}
	}
}

// Address is what peers need to reach the target.
func (t *Target) Address() Address { return t.address }

// Register exports memory: a part of a shared mapping that begins with its first byte's page, of a file that
// can't shrink. The target has a mapping of its own of the same pages, so that the caller's may go at any
// time. Rights that the mapping doesn't have are the caller's fault. Errors: ErrInvalid, ErrClosed, a
// CallError, those of mremap.
func (t *Target) Register(b []byte, access Access) (*Region, error) {
	if len(b) == 0 || access == 0 || access&^(AccessRead|AccessWrite) != 0 {
		return nil, fmt.Errorf("%w: region of %d bytes with access %#x", ErrInvalid, len(b), access)
	}
	var bits uint64
	if access&AccessRead != 0 {
		bits |= remoteRead
	}
	if access&AccessWrite != 0 {
		bits |= remoteWrite
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	mapping, in, err := remap(b)
	if err != nil {
		return nil, err
	}
	m, err := t.endpoint.registerMemory(mapping[in:], bits)
	if err != nil {
		unmap(mapping)
		return nil, err
	}
	r := &Region{target: t, memory: m, mapping: mapping, remote: Remote{Length: uint64(len(b)), Key: m.key()}}
	if t.endpoint.virtual {
		r.remote.Base = address(mapping[in:])
	}
	t.regions[r] = struct{}{}
	return r, nil
}

// Remote is what peers need to use the region.
func (r *Region) Remote() Remote { return r.remote }

// Close ends the region: operations that begin afterwards are refused. One that is under way may go on for
// as long as its connection lives, and libfabric can't be asked when that is over. It finds the payload for
// another second. Then pages of nobody take its place, and no other mapping does while the target lives.
// Closing a second time does nothing.
func (r *Region) Close() error {
	t := r.target
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.regions[r]; !ok {
		return nil
	}
	delete(t.regions, r)
	t.retired = append(t.retired, r.mapping)
	time.AfterFunc(grace, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.closed {
			abandon(r.mapping)
		}
	})
	return r.memory.close()
}

// Close ends all regions, connections and the target, and takes at most a tenth of a second.
func (t *Target) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	t.stop.Store(true)
	t.endpoint.wake()
	<-t.stopped
	for r := range t.regions {
		_ = r.memory.close()
		t.retired = append(t.retired, r.mapping)
	}
	clear(t.regions)
	_ = t.pulse.close()
	t.endpoint.close()
	for _, m := range t.retired {
		unmap(m)
	}
	t.retired = nil
	t.page.free()
	return nil
}
