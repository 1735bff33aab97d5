package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// resolveTimeout bounds what an operation without a context waits for an owner that doesn't answer.
const resolveTimeout = 5 * time.Second

// Peer is the initiating side: it reads and writes regions of other processes by their remote addresses.
// Its methods may be called from any goroutine.
type Peer struct {
	allowed trust

	// The two fields that operations use. table is replaced, never changed.
	last  atomic.Pointer[RemoteRegion]
	table atomic.Pointer[[]*RemoteRegion] // by base

	mu     sync.Mutex
	closed bool
	links  map[uint32]*link // by owner id
}

// Open joins a fabric. The only one that this version knows is this host, named "". It does no input or
// output: owners are found when addresses are resolved. Errors: ErrUnknownFabric, and a list in
// FARSIDE_FABRIC_ALLOW_UIDS that can't be read.
func Open(ctx context.Context, fabric string) (*Peer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if fabric != "" {
		return nil, fmt.Errorf("%w: %q", ErrUnknownFabric, fabric)
	}
	allowed, err := readTrust()
	if err != nil {
		return nil, err
	}
	p := &Peer{allowed: allowed, links: map[uint32]*link{}}
	p.table.Store(&[]*RemoteRegion{})
	return p, nil
}

// lookup finds a resolved region without locks and without allocating.
func (p *Peer) lookup(address uint64) *RemoteRegion {
	if r := p.last.Load(); r != nil && address-r.base < r.length {
		return r
	}
	t := *p.table.Load()
	lo, hi := 0, len(t)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t[mid].base <= address {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || address-t[lo-1].base >= t[lo-1].length {
		return nil
	}
	p.last.Store(t[lo-1])
	return t[lo-1]
}

// Resolve finds the region around an address: in the cache, or by asking the owner and mapping the payload.
// Errors: ErrUnknownAddress, ErrFreed, ErrOwnerDied, ErrPermission, ErrTimeout, ErrProtocol, ErrResources,
// ErrClosed, and the context's.
func (p *Peer) Resolve(ctx context.Context, address uint64) (*RemoteRegion, error) {
	if r := p.lookup(address); r != nil && r.alive() {
		return r, nil
	}
	r, err := p.resolve(ctx, address, 0)
	if err != nil {
		return nil, failed("resolve", address, err)
	}
	return r, nil
}

// resolve asks the owner.
func (p *Peer) resolve(ctx context.Context, address uint64, need Access) (*RemoteRegion, error) {
	id, _, ok := splitAddress(address)
	if !ok {
		return nil, ErrUnknownAddress
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	l := p.links[id]
	if l == nil {
		l = newLink(p, id)
		p.links[id] = l
	}
	p.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, resolveTimeout, ErrTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(l.ctx, func() { end(ErrClosed) })()
	r, err := l.resolve(ctx, address, need)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = context.Cause(ctx)
	}
	return r, err
}

// find is lookup, and resolve where that finds nothing usable. stale is a region that has just proved to be
// gone, or nil.
func (p *Peer) find(address uint64, stale *RemoteRegion, need Access) (*RemoteRegion, error) {
	if stale != nil {
		p.drop(stale, ErrFreed)
	}
	return p.resolve(context.Background(), address, need)
}

// Read copies len(b) bytes at a remote address to b. Errors: those of Resolve, ErrOutOfRange, ErrAccess.
func (p *Peer) Read(address uint64, b []byte) error {
	r := p.lookup(address)
	if r != nil {
		err := r.read(address-r.base, b)
		if err == nil {
			return nil
		}
		if err != errStale {
			return failed("read", address, err)
		}
	}
	r, err := p.find(address, r, AccessRead)
	if err == nil {
		if err = r.read(address-r.base, b); err == nil {
			return nil
		}
		err = r.because(err)
	}
	return failed("read", address, err)
}

// Write copies b to a remote address. Errors: those of Resolve, ErrOutOfRange, ErrAccess. After ErrFreed
// some bytes may have been written.
func (p *Peer) Write(address uint64, b []byte) error {
	r := p.lookup(address)
	if r != nil {
		err := r.write(address-r.base, b)
		if err == nil {
			return nil
		}
		if err != errStale {
			return failed("write", address, err)
		}
	}
	r, err := p.find(address, r, AccessWrite)
	if err == nil {
		if err = r.write(address-r.base, b); err == nil {
			return nil
		}
		err = r.because(err)
	}
	return failed("write", address, err)
}

// FetchAdd64 adds to the 64-bit word, in the host's byte order, at a remote address and returns what was
// there, in one atomic step with respect to every processor of the host. Errors: those of Resolve,
// ErrMisaligned, ErrOutOfRange, ErrAccess. After ErrFreed the addition may have happened.
func (p *Peer) FetchAdd64(address, add uint64) (old uint64, err error) {
	if address&7 != 0 {
		return 0, failed("fetch-add", address, ErrMisaligned)
	}
	r := p.lookup(address)
	if r != nil {
		if old, err = r.fetchAdd(address-r.base, add); err == nil {
			return old, nil
		}
		if err != errStale {
			return 0, failed("fetch-add", address, err)
		}
	}
	if r, err = p.find(address, r, AccessAtomic); err == nil {
		if old, err = r.fetchAdd(address-r.base, add); err == nil {
			return old, nil
		}
		err = r.because(err)
	}
	return 0, failed("fetch-add", address, err)
}

// CompareSwap64 writes swap to the 64-bit word at a remote address if it holds compare, and returns what was
// there: the swap has happened if old equals compare. Otherwise as FetchAdd64.
func (p *Peer) CompareSwap64(address, compare, swap uint64) (old uint64, err error) {
	if address&7 != 0 {
		return 0, failed("compare-swap", address, ErrMisaligned)
	}
	r := p.lookup(address)
	if r != nil {
		if old, err = r.compareSwap(address-r.base, compare, swap); err == nil {
			return old, nil
		}
		if err != errStale {
			return 0, failed("compare-swap", address, err)
		}
	}
	if r, err = p.find(address, r, AccessAtomic); err == nil {
		if old, err = r.compareSwap(address-r.base, compare, swap); err == nil {
			return old, nil
		}
		err = r.because(err)
	}
	return 0, failed("compare-swap", address, err)
}

// because replaces errStale by what ended the region.
func (r *RemoteRegion) because(err error) error {
	if err == errStale {
		return r.failure()
	}
	return err
}

// add publishes a region that a link has mapped. Regions that it overlaps are gone at their owner.
func (p *Peer) add(r *RemoteRegion) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	old := *p.table.Load()
	t := make([]*RemoteRegion, 0, len(old)+1)
	for _, o := range old {
		if o.base < r.base+r.length && r.base < o.base+o.length {
			p.retire(o, ErrFreed)
		} else {
			t = append(t, o)
		}
	}
	i, _ := slices.BinarySearchFunc(t, r.base, func(r *RemoteRegion, base uint64) int {
		if r.base < base {
			return -1
		}
		return 1
	})
	t = slices.Insert(t, i, r)
	p.table.Store(&t)
	return nil
}

// drop forgets a region that is gone.
func (p *Peer) drop(r *RemoteRegion, reason error) {
	p.dropIf(reason, func(o *RemoteRegion) bool { return o == r })
}

// dropIf forgets the regions that match.
func (p *Peer) dropIf(reason error, match func(*RemoteRegion) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := *p.table.Load()
	t := make([]*RemoteRegion, 0, len(old))
	for _, o := range old {
		if match(o) {
			p.retire(o, reason)
		} else {
			t = append(t, o)
		}
	}
	p.table.Store(&t)
}

// retire closes a region that leaves the table. Under p.mu. A lookup under way may put it back into last,
// where its closed bit sends the next operation to resolve.
func (p *Peer) retire(r *RemoteRegion, reason error) {
	r.close(reason)
	p.last.CompareAndSwap(r, nil)
}

// Close ends the peer: later operations fail with ErrClosed, those under way finish, and the memory is
// unmapped when the last of them has. A second Close does nothing. It returns no error today.
func (p *Peer) Close() error {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = nil
	p.mu.Unlock()
	p.dropIf(ErrClosed, func(*RemoteRegion) bool { return true })
	for _, l := range links {
		l.close()
	}
	return nil
}
