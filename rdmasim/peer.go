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

	far     *host  // what resolves on another host, nil on this one
	retired func() // called when a region has left the table; nil or set before the first use

	mu     sync.Mutex
	closed bool
	links  map[uint32]*link // by owner id
}

// way finds regions: a link to an owner of this host, or another host.
type way interface {
	resolve(ctx context.Context, address, key uint64, need Access) (*RemoteRegion, error)
	closing() context.Context // ends when the peer is closed
	close()
}

// Open joins a fabric: this host, named "", or another one where a [Bridge] serves, named
// "ofi://host:port/". For this host it does no input or output: owners are found when addresses are
// resolved. To another one it connects, and needs libfabric and a secret or a certificate in the file that
// FARSIDE_FABRIC_SECRET_FILE names. Errors: ErrUnknownFabric, a list in FARSIDE_FABRIC_ALLOW_UIDS that can't
// be read; with another host ErrPermission, ErrUnreachable, ErrProtocol, ErrTimeout, and that of a library
// that isn't there.
func Open(ctx context.Context, fabric string) (*Peer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	allowed, err := readTrust()
	if err != nil {
		return nil, err
	}
	p := &Peer{allowed: allowed, links: map[uint32]*link{}}
	p.table.Store(&[]*RemoteRegion{})
	if fabric != "" {
		if err := p.openFar(ctx, fabric); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// lookup finds a resolved region without locks and without allocating.
func (p *Peer) lookup(address uint64) *RemoteRegion {
	if r := p.last.Load(); r != nil && r.contains(address) {
		return r
	}
	t := *p.table.Load()
	lo, hi := 0, len(t)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t[mid].info.Address <= address {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || !t[lo-1].contains(address) {
		return nil
	}
	p.last.Store(t[lo-1])
	return t[lo-1]
}

// Resolve finds the region around an address: in the cache, or by asking the owner and mapping the payload.
// Errors: ErrUnknownAddress, ErrFreed, ErrOwnerDied, ErrPermission, ErrTimeout, ErrProtocol, ErrResources,
// ErrClosed, and the context's.
func (p *Peer) Resolve(ctx context.Context, address uint64) (*RemoteRegion, error) {
	return p.ResolveKey(ctx, address, 0)
}

// ResolveKey is Resolve for a region that is known to have this key, or 0 for any. Another one is ErrKey.
func (p *Peer) ResolveKey(ctx context.Context, address, key uint64) (*RemoteRegion, error) {
	r := p.lookup(address)
	var err error
	if r != nil && r.view.alive() {
		err = r.info.checkKey(key)
	} else {
		r, err = p.resolve(ctx, address, key, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("rdmasim: resolve %#x: %w", address, err)
	}
	return r, nil
}

// resolve asks the owner.
func (p *Peer) resolve(ctx context.Context, address, key uint64, need Access) (*RemoteRegion, error) {
	id, _, ok := splitAddress(address)
	if !ok {
		return nil, ErrUnknownAddress
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	w := p.way(id)
	p.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, resolveTimeout, ErrTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(w.closing(), func() { end(ErrClosed) })()
	r, err := w.resolve(ctx, address, key, need)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = context.Cause(ctx)
	}
	return r, err
}

// way returns the way to an owner. Under p.mu.
func (p *Peer) way(id uint32) way {
	if p.far != nil {
		return p.far
	}
	l := p.links[id]
	if l == nil {
		l = newLink(p, id)
		p.links[id] = l
	}
	return l
}

// again is the second try of an operation, with a region that was asked for. stale is a region that has just
// proved to be gone, or nil.
func (p *Peer) again(op Opcode, address uint64, stale *RemoteRegion, do func(v *view, off uint64) error) error {
	if stale != nil {
		p.drop(stale, stale.view.failure())
	}
	r, err := p.resolve(context.Background(), address, 0, op.need())
	if err == nil {
		err = r.view.because(do(r.view, address-r.info.Address))
	}
	if err != nil {
		return failed(op, address, err)
	}
	return nil
}

// Read copies len(b) bytes at a remote address to b. Errors: those of Resolve, ErrOutOfRange, ErrAccess.
func (p *Peer) Read(address uint64, b []byte) error {
	r := p.lookup(address)
	if r != nil {
		err := r.view.read(address-r.info.Address, b)
		if err == nil {
			return nil
		}
		if err != errStale {
			return failed(OpRead, address, err)
		}
	}
	return p.again(OpRead, address, r, func(v *view, off uint64) error { return v.read(off, b) })
}

// Write copies b to a remote address. Errors: those of Resolve, ErrOutOfRange, ErrAccess. After ErrFreed
// some bytes may have been written.
func (p *Peer) Write(address uint64, b []byte) error {
	r := p.lookup(address)
	if r != nil {
		err := r.view.write(address-r.info.Address, b)
		if err == nil {
			return nil
		}
		if err != errStale {
			return failed(OpWrite, address, err)
		}
	}
	return p.again(OpWrite, address, r, func(v *view, off uint64) error { return v.write(off, b) })
}

// Segment is one part of a vector: local memory and the remote address that it stands for.
type Segment struct {
	Address uint64
	Bytes   []byte
}

// ReadV reads the segments in their order, from any regions. It returns how many were read; the error is
// that of the next.
func (p *Peer) ReadV(segments []Segment) (int, error) {
	for i := range segments {
		if err := p.Read(segments[i].Address, segments[i].Bytes); err != nil {
			return i, err
		}
	}
	return len(segments), nil
}

// WriteV writes the segments in their order, to any regions. It returns how many were written; the error is
// that of the next.
func (p *Peer) WriteV(segments []Segment) (int, error) {
	for i := range segments {
		if err := p.Write(segments[i].Address, segments[i].Bytes); err != nil {
			return i, err
		}
	}
	return len(segments), nil
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
		if o.contains(r.info.Address) || r.contains(o.info.Address) {
			p.retire(o, ErrFreed)
		} else {
			t = append(t, o)
		}
	}
	i, _ := slices.BinarySearchFunc(t, r.info.Address, func(r *RemoteRegion, base uint64) int {
		if r.info.Address < base {
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
	r.view.close(reason)
	p.last.CompareAndSwap(r, nil)
	if p.retired != nil {
		p.retired()
	}
}

// Close ends the peer: later operations fail with ErrClosed, those under way finish, and the memory is
// unmapped when the last of them has. A second Close does nothing. It returns no error today.
func (p *Peer) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	links := p.links
	p.links = nil
	p.mu.Unlock()
	if closed {
		return nil
	}
	p.dropIf(ErrClosed, func(*RemoteRegion) bool { return true })
	for _, l := range links {
		l.close()
	}
	if p.far != nil {
		p.far.close()
	}
	return nil
}
