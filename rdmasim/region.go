package rdmasim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// RemoteRegion is a region of another process as a peer sees it. It implements io.ReaderAt and io.WriterAt
// over offsets from the region's base; a transfer is whole or fails with ErrOutOfRange, so there is no
// io.EOF. It is valid until the region is freed, its owner dies or the peer is closed, and says which.
type RemoteRegion struct {
	base       uint64
	length     uint64
	access     Access
	generation uint64
	session    *session

	mapping []byte         // whole pages
	data    []byte         // the region in them
	state   *atomic.Uint64 // the region's word in the control page, which session keeps

	// users counts operations under way; a closed region has the sign bit, too.
	users    atomic.Int64
	unmapped atomic.Bool
	reason   atomic.Pointer[error] // why it is closed
}

const closedBit = math.MinInt64

// Base is the remote address of the region's first byte.
func (r *RemoteRegion) Base() uint64 { return r.base }

// Length is the region's size in bytes.
func (r *RemoteRegion) Length() uint64 { return r.length }

// Access is what the owner grants.
func (r *RemoteRegion) Access() Access { return r.access }

// enter keeps the mapping in place until leave. It fails on a closed region.
func (r *RemoteRegion) enter() bool {
	if r.users.Add(1) > 0 {
		return true
	}
	r.leave()
	return false
}

func (r *RemoteRegion) leave() {
	if r.users.Add(-1) == closedBit {
		r.unmap()
	}
}

// close makes later operations fail with reason and gives the mapping back once the ones under way have
// left. The first reason stays.
func (r *RemoteRegion) close(reason error) {
	if errors.Is(reason, ErrOwnerDied) && r.enter() {
		if !r.valid() { // it was freed first
			reason = ErrFreed
		}
		r.leave()
	}
	if !r.reason.CompareAndSwap(nil, &reason) {
		return
	}
	if r.users.Add(closedBit) == closedBit {
		r.unmap()
	}
}

// unmap runs once: a late enter and leave meet the bare bit again.
func (r *RemoteRegion) unmap() {
	if r.unmapped.CompareAndSwap(false, true) {
		_ = unix.Munmap(r.mapping)
		r.session.release()
	}
}

// valid says whether the owner still has the region registered.
func (r *RemoteRegion) valid() bool { return r.state.Load() == r.generation }

// alive is valid for a region that nothing else keeps mapped.
func (r *RemoteRegion) alive() bool {
	if !r.enter() {
		return false
	}
	defer r.leave()
	return r.valid()
}

// settled is valid for after the transfer: the exchange in between keeps the processor from reading the word
// before the transfer's own loads and stores have happened, which a plain load would allow.
func (r *RemoteRegion) settled() bool {
	r.users.Add(0)
	return r.valid()
}

// within checks rights and range of an operation of n bytes at offset off.
func (r *RemoteRegion) within(off, n uint64, need Access) error {
	if off > r.length || n > r.length-off {
		return fmt.Errorf("%w: %d bytes at %#x of region %#x+%#x", ErrOutOfRange, n, r.base+off, r.base, r.length)
	}
	if r.access&need != need {
		return fmt.Errorf("%w: needs %v, region %#x grants %v", ErrAccess, need, r.base, r.access)
	}
	return nil
}

func (r *RemoteRegion) failure() error {
	if reason := r.reason.Load(); reason != nil {
		return *reason
	}
	return ErrFreed
}

// errStale is what the transfers below give when the region was gone before they touched it: the address may
// have found a new region since, which a peer looks for.
var errStale = fmt.Errorf("%w: before the operation", ErrFreed)

// read copies from the region. On errStale nothing was read.
func (r *RemoteRegion) read(off uint64, p []byte) error {
	if !r.enter() {
		return errStale
	}
	defer r.leave()
	if !r.valid() {
		return errStale
	}
	if err := r.within(off, uint64(len(p)), AccessRead); err != nil {
		return err
	}
	if len(p) == 8 && (r.base+off)&7 == 0 {
		binary.NativeEndian.PutUint64(p, word(r.data, off).Load())
	} else {
		copy(p, r.data[off:])
	}
	if !r.settled() {
		return ErrFreed
	}
	return nil
}

// write copies to the region. On errStale nothing was written.
func (r *RemoteRegion) write(off uint64, p []byte) error {
	if !r.enter() {
		return errStale
	}
	defer r.leave()
	if !r.valid() {
		return errStale
	}
	if err := r.within(off, uint64(len(p)), AccessWrite); err != nil {
		return err
	}
	if len(p) == 8 && (r.base+off)&7 == 0 {
		word(r.data, off).Store(binary.NativeEndian.Uint64(p))
	} else {
		copy(r.data[off:], p)
	}
	if !r.settled() {
		return ErrFreed
	}
	return nil
}

func (r *RemoteRegion) fetchAdd(off, add uint64) (old uint64, err error) {
	if !r.enter() {
		return 0, errStale
	}
	defer r.leave()
	if !r.valid() {
		return 0, errStale
	}
	if err := r.within(off, 8, AccessAtomic); err != nil {
		return 0, err
	}
	old = word(r.data, off).Add(add) - add
	if !r.valid() { // the atomic itself was the barrier
		return 0, ErrFreed
	}
	return old, nil
}

func (r *RemoteRegion) compareSwap(off, compare, swap uint64) (old uint64, err error) {
	if !r.enter() {
		return 0, errStale
	}
	defer r.leave()
	if !r.valid() {
		return 0, errStale
	}
	if err := r.within(off, 8, AccessAtomic); err != nil {
		return 0, err
	}
	w := word(r.data, off)
	for old = compare; !w.CompareAndSwap(compare, swap); {
		if old = w.Load(); old != compare {
			break
		}
	}
	if !r.settled() {
		return 0, ErrFreed
	}
	return old, nil
}

// offsetOf checks an io offset; a negative one is out of range.
func (r *RemoteRegion) offsetOf(off int64) (uint64, error) {
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", ErrOutOfRange, off)
	}
	return uint64(off), nil
}

// ReadAt reads len(p) bytes at off from the region's base, or none.
func (r *RemoteRegion) ReadAt(p []byte, off int64) (int, error) {
	at, err := r.offsetOf(off)
	if err == nil {
		err = r.read(at, p)
	}
	if err != nil {
		return 0, r.explain("read", at, err)
	}
	return len(p), nil
}

// WriteAt writes len(p) bytes at off from the region's base, or reports none as written; after ErrFreed
// some may have been.
func (r *RemoteRegion) WriteAt(p []byte, off int64) (int, error) {
	at, err := r.offsetOf(off)
	if err == nil {
		err = r.write(at, p)
	}
	if err != nil {
		return 0, r.explain("write", at, err)
	}
	return len(p), nil
}

func (r *RemoteRegion) explain(what string, off uint64, err error) error {
	if err == errStale {
		err = r.failure()
	}
	return failed(what, r.base+off, err)
}

func failed(what string, address uint64, err error) error {
	return fmt.Errorf("rdmasim: %s at %#x: %w", what, address, err)
}
