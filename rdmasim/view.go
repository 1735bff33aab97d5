package rdmasim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
)

// view is a peer's way to a region: a mapping of its payload, or, on another host, far and nothing else.
//
// An operation enters, which its word in the ledger shows to the owner and to close, looks whether the region
// is still valid, does its work, leaves and looks again. To enter and to leave are locked instructions, so
// that the processor moves neither look across them. The mapping goes when the view is closed and the last
// operation has left.
type view struct {
	session    *session
	base       uint64
	length     uint64
	access     Access
	generation uint64
	served     uint64

	mapping []byte         // whole pages
	data    []byte         // the region in them
	entry   entry          // in the ledger, which session keeps
	state   *atomic.Uint64 // the region's word in the control page, which session keeps
	serving *atomic.Uint64 // the owner's word there

	far *farView // nil on this host

	unmapped atomic.Bool
	reason   atomic.Pointer[error] // why it is closed
}

// errStale is what transfers give when the region was gone before they touched it: the address may have found
// a new region since, which a peer looks for.
var errStale = fmt.Errorf("%w: before the operation", ErrFreed)

// enter keeps the mapping in place until leave. It fails on a closed view.
func (v *view) enter(c class) bool {
	if v.entry.class[c].Add(1) < closedBit {
		return true
	}
	v.out(c, ^uint64(0))
	return false
}

// leave counts the operation.
func (v *view) leave(c class) { v.out(c, oneEnded-1) }

// abandon is leave for an operation that hasn't touched the region.
func (v *view) abandon(c class) { v.out(c, ^uint64(0)) }

func (v *view) out(c class, change uint64) {
	if v.entry.class[c].Add(change) >= closedBit {
		v.unmap()
	}
}

// close makes later operations fail with reason and gives the mapping back once the ones under way have
// left. The first reason stays.
func (v *view) close(reason error) {
	if v.far == nil && errors.Is(reason, ErrOwnerDied) && v.state.Load() != v.generation {
		reason = ErrFreed // it was freed first
	}
	if !v.reason.CompareAndSwap(nil, &reason) {
		return
	}
	if v.far != nil {
		v.far.close()
		return
	}
	for _, w := range v.entry.class {
		w.Or(closedBit)
	}
	v.unmap()
}

// unmap gives the mapping back if the view is closed and nobody is inside. Who comes later sees the closed
// bit.
func (v *view) unmap() {
	for _, w := range v.entry.class {
		if n := w.Load(); n < closedBit || n&underWay != 0 {
			return
		}
	}
	if v.unmapped.CompareAndSwap(false, true) {
		unmap(v.mapping)
		v.session.release()
	}
}

// valid says whether the owner lives and still has the region registered.
func (v *view) valid() bool {
	ok := v.state.Load() == v.generation && v.serving.Load() == v.served
	runtime.KeepAlive(v.session)
	return ok
}

// alive is valid for a view that isn't closed either.
func (v *view) alive() bool { return v.reason.Load() == nil && (v.far != nil || v.valid()) }

// ending is why a view isn't valid.
func (v *view) ending() error {
	switch {
	case v.state.Load() != v.generation, v.serving.Load() == ownerClosed:
		return ErrFreed
	}
	return ErrOwnerDied
}

// failure is why a view can't be used.
func (v *view) failure() error {
	if reason := v.reason.Load(); reason != nil {
		return *reason
	}
	return v.ending()
}

// because replaces errStale by what ended the region.
func (v *view) because(err error) error {
	if err == errStale {
		return v.failure()
	}
	return err
}

// begin enters and checks. After errors, the view isn't entered.
func (v *view) begin(c class, off, n uint64, need Access) error {
	if !v.enter(c) {
		return errStale
	}
	if !v.valid() {
		v.abandon(c)
		return errStale
	}
	if off > v.length || n > v.length-off || v.access&need == 0 {
		v.abandon(c)
		return v.refusal(off, n, need)
	}
	return nil
}

func (v *view) refusal(off, n uint64, need Access) error {
	if off > v.length || n > v.length-off {
		return fmt.Errorf("%w: %d bytes at %#x of region %#x+%#x", ErrOutOfRange, n, v.base+off, v.base, v.length)
	}
	return fmt.Errorf("%w: needs %v, region %#x grants %v", ErrAccess, need, v.base, v.access)
}

// settled is the answer of an operation that has left: if the region is still valid, the operation was
// complete before it was freed.
func (v *view) settled() error {
	if v.valid() {
		return nil
	}
	return v.ending()
}

// read copies from the region. On errStale nothing was read. An aligned word goes to p when the operation has
// left, so that p can be any memory, also some that faults.
func (v *view) read(off uint64, p []byte) error {
	if v.far != nil {
		return v.far.read(v, off, p)
	}
	if len(p) != 8 || (v.base+off)&7 != 0 {
		if err := v.begin(classRead, off, uint64(len(p)), AccessRead); err != nil {
			return err
		}
		v.copyOut(off, p)
		return v.settled()
	}
	if err := v.begin(classReadWord, off, 8, AccessRead); err != nil {
		return err
	}
	x := word(v.data, off).Load()
	v.leave(classReadWord)
	binary.NativeEndian.PutUint64(p, x)
	return v.settled()
}

func (v *view) copyOut(off uint64, p []byte) {
	defer v.leave(classRead)
	v.entry.read.Add(uint64(len(p)))
	if len(p) == 4 && (v.base+off)&3 == 0 {
		binary.NativeEndian.PutUint32(p, half(v.data, off).Load())
	} else {
		copy(p, v.data[off:])
	}
}

// write copies to the region. On errStale nothing was written.
func (v *view) write(off uint64, p []byte) error {
	if v.far != nil {
		return v.far.write(v, off, p)
	}
	if len(p) != 8 || (v.base+off)&7 != 0 {
		if err := v.begin(classWrite, off, uint64(len(p)), AccessWrite); err != nil {
			return err
		}
		v.copyIn(off, p)
		return v.settled()
	}
	x := binary.NativeEndian.Uint64(p)
	if err := v.begin(classWriteWord, off, 8, AccessWrite); err != nil {
		return err
	}
	word(v.data, off).Store(x)
	v.leave(classWriteWord)
	return v.settled()
}

func (v *view) copyIn(off uint64, p []byte) {
	defer v.leave(classWrite)
	v.entry.written.Add(uint64(len(p)))
	if len(p) == 4 && (v.base+off)&3 == 0 {
		half(v.data, off).Store(binary.NativeEndian.Uint32(p))
	} else {
		copy(v.data[off:], p)
	}
}

// atomic applies op to the word of width bytes at off, a multiple of width. On errStale nothing has happened.
func (v *view) atomic(op Opcode, off, width, operand, compare uint64) (old uint64, err error) {
	if v.far != nil {
		return v.far.atomic(v, op, off, width, operand, compare)
	}
	if err := v.begin(classAtomic, off, width, AccessAtomic); err != nil {
		return 0, err
	}
	if width == 8 {
		old = apply64(word(v.data, off), op, operand, compare)
	} else {
		old = uint64(apply32(half(v.data, off), op, uint32(operand), uint32(compare)))
	}
	v.leave(classAtomic)
	return old, v.settled()
}
