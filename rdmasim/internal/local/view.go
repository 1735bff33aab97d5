package local

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"

	"farside/internal/memcopy"
	"farside/rdmasim/internal/verbs"
)

// View is a peer's mapping of a region's payload. It implements verbs.View.
//
// An operation of the peer and a free of the owner agree by two words. The ledger's word, one for each class of
// operations, is in the peer's ledger and counts the operations inside. The region's word is in the owner's control
// page.
//
//	operation                               free
//	1. add one to the ledger's word         a. change the region's word
//	2. load the region's word               b. load the ledger's word until it shows nobody
//	3. copy, if the region is still valid
//	4. take one from the ledger's word
//	5. load the region's word again
//
// All but 3 are operations of sync/atomic, so that there is one order of them (The Go Memory Model, "Atomic Values").
// It holds between processes, too, as the words are shared memory and each is a locked instruction or a load, which
// isn't moved across one (Intel SDM, volume 3A, "Memory Ordering"; Arm ARM, load-acquire and store-release). Then:
//
//   - b shows nobody: 4 came before b, so that the copy was complete when the free returned; or 1 comes after b. In
//     that case 2 comes after a, and the operation ends without touching the region.
//   - 5 finds the region valid: 5 came before a. The copy was complete before the region was freed, and the
//     operation succeeds.
//
// Close and operations agree by the ledger's words alone. Close sets a bit in the word of each class. An operation that
// finds the bit when it enters goes out again. An operation that goes out looks at all words: if each has the bit and
// counts nobody, it unmaps. If several find that, the first one unmaps.
type View struct {
	info       verbs.RegionInfo
	session    *session
	generation uint64
	served     uint64

	mapping []byte         // whole pages
	data    []byte         // the region in them
	entry   entry          // in the ledger, which session keeps
	state   *atomic.Uint64 // the region's word in the control page, which session keeps
	serving *atomic.Uint64 // the owner's word there

	unmapped atomic.Bool
	reason   atomic.Pointer[error] // why it is closed
}

// enter keeps the mapping in place until leave. It fails on a closed view.
func (v *View) enter(c class) bool {
	if v.entry.class[c].Add(1) < closedBit {
		return true
	}
	v.out(c, ^uint64(0))
	return false
}

// leave counts the operation.
func (v *View) leave(c class) { v.out(c, oneEnded-1) }

// abandon is leave for an operation that hasn't touched the region.
func (v *View) abandon(c class) { v.out(c, ^uint64(0)) }

func (v *View) out(c class, change uint64) {
	if v.entry.class[c].Add(change) >= closedBit {
		v.unmap()
	}
}

// Close implements verbs.View.
func (v *View) Close(reason error) {
	if errors.Is(reason, verbs.ErrOwnerDied) && v.state.Load() != v.generation {
		reason = verbs.ErrFreed // it was freed first
	}
	if !v.reason.CompareAndSwap(nil, &reason) {
		return
	}
	for _, w := range v.entry.class {
		w.Or(closedBit)
	}
	v.unmap()
}

// unmap gives the mapping back if the view is closed and no operation is inside. Later operations see the closed bit.
func (v *View) unmap() {
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
func (v *View) valid() bool {
	ok := v.state.Load() == v.generation && v.serving.Load() == v.served
	runtime.KeepAlive(v.session)
	return ok
}

// Alive implements verbs.View.
func (v *View) Alive() bool { return v.reason.Load() == nil && v.valid() }

// ending is why a view isn't valid.
func (v *View) ending() error {
	switch {
	case v.state.Load() != v.generation, v.serving.Load() == ownerClosed:
		return verbs.ErrFreed
	}
	return verbs.ErrOwnerDied
}

// Failure implements verbs.View.
func (v *View) Failure() error {
	if reason := v.reason.Load(); reason != nil {
		return *reason
	}
	return v.ending()
}

// begin enters and checks. After errors, the view isn't entered.
func (v *View) begin(c class, off, n uint64, need verbs.Access) error {
	if !v.enter(c) {
		return verbs.ErrStale
	}
	if !v.valid() {
		v.abandon(c)
		return verbs.ErrStale
	}
	if !v.info.Covers(off, n, need) {
		v.abandon(c)
		return v.info.Refusal(off, n, need)
	}
	return nil
}

// settled is the answer of an operation that has left: if the region is still valid, the operation was
// complete before it was freed.
func (v *View) settled() error {
	if v.valid() {
		return nil
	}
	return v.ending()
}

// Read implements verbs.View. An aligned word goes to p when the operation has left, so that p can be any
// memory, also some that faults.
func (v *View) Read(off uint64, p []byte) error {
	if len(p) != 8 || (v.info.Address+off)&7 != 0 {
		if err := v.begin(classRead, off, uint64(len(p)), verbs.AccessRead); err != nil {
			return err
		}
		v.copyOut(off, p)
		return v.settled()
	}
	if err := v.begin(classReadWord, off, 8, verbs.AccessRead); err != nil {
		return err
	}
	x := word(v.data, off).Load()
	v.leave(classReadWord)
	binary.NativeEndian.PutUint64(p, x)
	return v.settled()
}

func (v *View) copyOut(off uint64, p []byte) {
	defer v.leave(classRead)
	v.entry.read.Add(uint64(len(p)))
	if len(p) == 4 && (v.info.Address+off)&3 == 0 {
		binary.NativeEndian.PutUint32(p, half(v.data, off).Load())
	} else {
		memcopy.Copy(p, v.data[off:])
	}
}

// Write implements verbs.View.
func (v *View) Write(off uint64, p []byte) error {
	if len(p) != 8 || (v.info.Address+off)&7 != 0 {
		if err := v.begin(classWrite, off, uint64(len(p)), verbs.AccessWrite); err != nil {
			return err
		}
		v.copyIn(off, p)
		return v.settled()
	}
	x := binary.NativeEndian.Uint64(p)
	if err := v.begin(classWriteWord, off, 8, verbs.AccessWrite); err != nil {
		return err
	}
	word(v.data, off).Store(x)
	v.leave(classWriteWord)
	return v.settled()
}

func (v *View) copyIn(off uint64, p []byte) {
	defer v.leave(classWrite)
	v.entry.written.Add(uint64(len(p)))
	if len(p) == 4 && (v.info.Address+off)&3 == 0 {
		half(v.data, off).Store(binary.NativeEndian.Uint32(p))
	} else {
		memcopy.Copy(v.data[off:off+uint64(len(p))], p)
	}
}

// Atomic implements verbs.View.
func (v *View) Atomic(op verbs.Opcode, off, width, operand, compare uint64) (old uint64, err error) {
	if err := v.begin(classAtomic, off, width, verbs.AccessAtomic); err != nil {
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
