package kernel

import (
	"sync/atomic"
	"unsafe"
)

// Adds collects what is added to words of memory by atomics whose result nobody wants, so that a word that many lanes
// add to, and perhaps other cores, is changed once. Until Flush nobody sees it.
type Adds struct {
	entries [1 << addsBits]sum
	used    []uint16 // entries
}

const addsBits = 10

// sum is what is to be added to a word.
type sum struct {
	word  *uint32
	value uint32
}

// Add is a kernel that does what AtomicAddI32 does, later.
func (d *Adds) Add(args *Args, first, n int) {
	base, limit, ok := args.reach(4)
	if !ok {
		return
	}
	for i := first; i < first+n; i++ {
		offsets, values := lanes[uint32](args.A, i), lanes[uint32](args.B, i)
		if args.Mask.Base == nil && allSame(offsets) {
			if uint64(offsets[0]) <= limit {
				d.add(at[uint32](base, uint64(offsets[0])),
					values[0]+values[1]+values[2]+values[3]+values[4]+values[5]+values[6]+values[7])
			}
			continue
		}
		for lane, set := range args.masked(i) {
			if set != 0 && uint64(offsets[lane]) <= limit {
				d.add(at[uint32](base, uint64(offsets[lane])), values[lane])
			}
		}
	}
}

func (d *Adds) add(word *uint32, value uint32) {
	i := uintptr(unsafe.Pointer(word)) >> 2 % (1 << addsBits)
	e := &d.entries[i]
	if e.word != word {
		if !d.replace(e, word, int(i)) {
			return
		}
	}
	e.value += value
}

// replace gives an entry to another word. It says whether that is one: a misaligned word is none.
func (d *Adds) replace(e *sum, word *uint32, i int) bool {
	if uintptr(unsafe.Pointer(word))%4 != 0 {
		return false
	}
	if e.word == nil {
		d.used = append(d.used, uint16(i))
	} else {
		atomic.AddUint32(e.word, e.value)
	}
	*e = sum{word: word}
	return true
}

// Flush adds what has been collected.
func (d *Adds) Flush() {
	for _, i := range d.used {
		e := &d.entries[i]
		atomic.AddUint32(e.word, e.value)
		*e = sum{}
	}
	d.used = d.used[:0]
}
