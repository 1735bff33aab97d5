package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// physicalStart is the address of the memory that physicalRun accesses: the words of its addresses carry within it.
const physicalStart = 1<<32 - 1024

var physicalLoads = []kernel.Op{kernel.LoadPhysicalU8, kernel.LoadPhysicalU16, kernel.LoadPhysical32,
	kernel.LoadPhysical64}
var physicalStores = []kernel.Op{kernel.StorePhysical8, kernel.StorePhysical16, kernel.StorePhysical32,
	kernel.StorePhysical64}

// physicalRun is a random run of accesses by device address, with others between them. Wide registers 0 to 3 give
// addresses, of which the run may change one; uniform ones do, too.
func physicalRun(r *rand.Rand) (run []Inst) {
	slot := int32(4)
	for range 2 + r.IntN(12) {
		a := wideVarying(r.IntN(4))
		if r.IntN(5) == 0 {
			a = wideUniform(r.IntN(2))
		}
		narrow, wide := varying(r.IntN(registers)), wideVarying(4+r.IntN(wides-4))
		n := r.IntN(4)
		switch r.IntN(8) {
		case 0:
			run = append(run, Inst{Op: kernel.AddI64, Dst: wideVarying(3), A: wideVarying(r.IntN(4)), B: wideUniform(2),
				Keep: r.IntN(2) == 0})
			continue
		case 1:
			run = append(run, Inst{Op: kernel.AddI32, Dst: narrow, A: varying(r.IntN(registers)), B: narrow, Keep: true})
			continue
		case 2, 3:
			in := Inst{Op: physicalStores[n], A: a, B: narrow, Slot: slot}
			if n == 3 {
				in.B = wide
			}
			run = append(run, in)
		default:
			in := Inst{Op: physicalLoads[n], A: a, Dst: narrow, Slot: slot, Keep: true}
			if n == 3 {
				in.Dst = wide
			}
			run = append(run, in)
		}
		slot += 2
	}
	return run
}

// physicalAddresses fills the registers that give addresses: lanes next to each other, a few bytes apart, anywhere
// within, at the ends, and far outside.
func (m *machine) physicalAddresses(r *rand.Rand) {
	size := uint64(m.slots[3].Size)
	hostile := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 3, 1 << 63, physicalStart - 1, physicalStart - 4,
		physicalStart + size, physicalStart + size - 1, physicalStart + size - 3, physicalStart + 1<<32}
	one := func() uint64 {
		if r.IntN(40) == 0 {
			return hostile[r.IntN(len(hostile))]
		}
		return physicalStart + r.Uint64N(size-8)
	}
	for i := range 4 {
		for chunk := range chunks {
			lanes := (*[8]uint64)(unsafe.Pointer(&m.file[wideVarying(i).Offset+uint32(64*chunk)]))
			first, apart := one(), []uint64{0, 1, 2, 4, 4, 8, 8, 16}[r.IntN(8)]
			scattered := r.IntN(3) == 0
			for lane := range lanes {
				lanes[lane] = first + uint64(lane)*apart
				if scattered {
					lanes[lane] = one()
				}
			}
		}
	}
	for i := range 3 {
		lanes := (*[8]uint64)(unsafe.Pointer(&m.file[wideUniform(i).Offset]))
		n := one()
		if i == 2 {
			n = 4 * r.Uint64N(3)
		}
		*lanes = [8]uint64{n, n, n, n, n, n, n, n}
	}
}

// answer does what code wants that stopped, for all lanes, and may leave another range.
func (m *machine) answer(r *rand.Rand, miss *Miss, run []Inst, slots []kernel.Memory) {
	var in *Inst
	for i := range run {
		if run[i].Physical() && run[i].Slot == miss.Slot {
			in = &run[i]
		}
	}
	for i := range miss.Addresses {
		miss.Addresses[i] += slots[in.Slot].Size
	}
	mask := kernel.Register{Base: unsafe.Pointer(&miss.Active)}
	ones := make([]uint32, 8)
	for i := range ones {
		ones[i] = math.MaxUint32
		if miss.Part == 1 && i >= 4 || miss.Part == 2 && i < 4 {
			miss.Active[i], ones[i] = 0, 0
		}
	}
	a := kernel.Args{A: kernel.Register{Base: unsafe.Pointer(&miss.Addresses)}, Memory: &m.slots[3], Mask: mask}
	a.Immediate -= physicalStart
	values := kernel.Register{Base: unsafe.Pointer(&miss.Values)}
	if in.Stores() {
		a.B = values
	} else {
		a.Dst, a.Mask.Base, miss.Values = values, unsafe.Pointer(&ones[0]), [8]uint64{}
	}
	kernel.Best().Ops[in.Op](&a, 0, 1)
	m.leaveRange(r, in, slots)
}

// leaveRange gives an access a range: all of the memory, what is behind some place, or none.
func (m *machine) leaveRange(r *rand.Rand, in *Inst, slots []kernel.Memory) {
	memory, skip := m.slots[3], uint64(0)
	switch r.IntN(4) {
	case 0:
		skip = r.Uint64N(memory.Size)
	case 1:
		skip = memory.Size
	}
	memory = kernel.Memory{Base: unsafe.Add(memory.Base, skip), Size: memory.Size - skip}
	Range((*[2]kernel.Memory)(slots[in.Slot:]), physicalStart+skip, memory, uint64(in.physicalUnit()))
}

// forgetInactive clears the lanes that take no part: what they load may be 0.
func (m *machine) forgetInactive(mask kernel.Register) {
	for lane := range 8 * chunks {
		if mask.Base == nil || *(*uint32)(unsafe.Add(mask.Base, 4*lane)) != 0 {
			continue
		}
		for i := range registers {
			clear(m.file[int(varying(i).Offset)+4*lane:][:4])
		}
		for i := range wides {
			clear(m.file[int(wideVarying(i).Offset)+8*lane:][:8])
		}
	}
}

// TestPhysicalRuns compares random runs of accesses by device address with the kernels.
func TestPhysicalRuns(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	misses, seeds := 0, 2000
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		run := physicalRun(r)
		use := has && r.IntN(2) == 0
		avx512 = func() bool { return use }
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for i := range got.file[:fileSize] {
			got.file[i] = byte(r.Uint32())
		}
		for i := range got.data[3] {
			got.data[3][i] = byte(r.Uint32())
		}
		got.physicalAddresses(r)
		want.copy(got)
		slots := append(got.slots[:], make([]kernel.Memory, 2*len(run))...)
		for i := range run {
			if run[i].Physical() && r.IntN(3) == 0 {
				got.leaveRange(r, &run[i], slots)
			}
		}
		mode := want.someMasked(r)
		at := code.Run(0, mode, unsafe.Pointer(&got.file[0]), &slots[0], want.mask.Base, 0, chunks)
		for ; !at.Ended(); misses++ {
			got.answer(r, code.Miss(got.file), run, slots)
			at = code.Resume(at, unsafe.Pointer(&got.file[0]), &slots[0], 0, chunks)
		}
		want.interpret(run, 0, chunks, false)
		got.forgetInactive(want.mask)
		want.forgetInactive(want.mask)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
	if misses < 2*seeds {
		t.Errorf("code has stopped %d times", misses)
	}
}
