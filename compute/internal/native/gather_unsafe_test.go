package native

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestGathers compares loads at the same offsets with the kernels: with lanes anywhere, one of them near the end of the
// memory or behind it, and with lanes next to each other.
func TestGathers(t *testing.T) {
	need(t)
	const size = 100
	for _, op := range []kernel.Op{kernel.Load32, kernel.LoadU16, kernel.LoadU8} {
		var run []Inst
		unit := (&Inst{Op: op}).unit()
		for i := range 6 {
			run = append(run, Inst{Op: op, A: varying(0), Dst: varying(1 + i), Slot: 1, Keep: true,
				Immediate: uint64(int32(i) * unit)})
		}
		// The last of them writes what gives the offsets.
		run = append(run, Inst{Op: op, A: varying(0), Base: uniform(0), Dst: varying(8), Slot: 1, Keep: true},
			Inst{Op: op, A: varying(0), Base: uniform(0), Dst: varying(0), Slot: 1, Keep: true, Immediate: 1},
			Inst{Op: op, A: varying(0), Base: uniform(0), Dst: varying(9), Slot: 1, Keep: true, Immediate: 2})
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true})
		if err != nil {
			t.Fatal(err)
		}
		for last := uint32(size - 24); last <= size+4; last++ {
			for _, scattered := range []bool{true, false} {
				t.Run(fmt.Sprint(op, last, scattered), func(t *testing.T) {
					got, want := newMachine(), newMachine()
					for i := range got.data[1] {
						got.data[1][i] = byte(1 + i)
					}
					lanes := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[varying(0).Offset])), 8)
					for i := range lanes {
						lanes[i] = last - uint32(7-i)*uint32(unit)
						if scattered && i < 7 {
							lanes[i] = uint32(i*i) % 11
						}
					}
					base := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[uniform(0).Offset])), 8)
					for i := range base {
						base[i] = 3
					}
					want.copy(got)
					code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, 1)
					want.interpret(run, 0, 1, false)
					compare(t, run, got, want)
				})
			}
		}
	}
}

// TestGatherRuns compares random runs of loads with the kernels: of neighbours in any order, with other instructions
// and stores between them, some of which change what gives the offsets.
func TestGatherRuns(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	joined := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		run := gatherRun(r)
		if again := joinNeighbours(run); &again[0] != &run[0] {
			joined++
		}
		use := has && r.IntN(2) == 0
		avx512 = func() bool { return use }
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for i := range got.data {
			for k := range got.data[i] {
				got.data[i][k] = byte(r.Uint32()) >> r.IntN(3)
			}
		}
		places := uint32(60 + r.IntN(60))
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 8*chunks*registers)
		for i := range words {
			words[i] = r.Uint32N(places)
		}
		base := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[uniform(0).Offset])), 8)
		for i := range base {
			base[i] = uint32(seed % 7)
		}
		want.copy(got)
		mode := want.someMasked(r)
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], want.mask.Base, 0, chunks)
		want.interpret(run, 0, chunks, avx512())
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
	if joined < 300 {
		t.Errorf("loads of neighbours were brought together in %d of the runs", joined)
	}
}

// gatherRun is a random run of TestGatherRuns. Registers 0 to 2 give offsets.
func gatherRun(r *rand.Rand) (run []Inst) {
	unit := 1 << r.IntN(3)
	for range 4 + r.IntN(24) {
		dst := varying(3 + r.IntN(9))
		if r.IntN(12) == 0 {
			dst = varying(r.IntN(3))
		}
		switch r.IntN(8) {
		case 0:
			run = append(run, Inst{Op: kernel.AndI32, A: varying(r.IntN(12)), B: varying(r.IntN(12)), Dst: dst,
				Keep: r.IntN(2) == 0})
		case 1:
			if r.IntN(3) == 0 {
				run = append(run, Inst{Op: kernel.Store32, A: varying(12), B: varying(r.IntN(12)),
					Slot: int32(r.IntN(2))})
			}
		default:
			in := Inst{Op: narrow(kernel.Load32, unit), A: varying(r.IntN(3)), Dst: dst, Slot: int32(r.IntN(2)),
				Immediate: uint64(unit * r.IntN(5)), Keep: r.IntN(2) == 0}
			if r.IntN(3) == 0 {
				in.Base = uniform(0)
			}
			run = append(run, in)
			for r.IntN(3) > 0 { // neighbours
				in.Immediate += uint64(unit)
				in.Dst, in.Keep = varying(3+r.IntN(9)), r.IntN(2) == 0
				run = append(run, in)
				if r.IntN(4) == 0 {
					run = append(run, Inst{Op: kernel.AndI32, A: in.Dst, B: varying(r.IntN(12)), Dst: in.Dst, Keep: true})
				}
			}
		}
	}
	return run
}

// TestSkippingGathers compares loads of lanes that take part with the kernels, where the others have offsets anywhere.
func TestSkippingGathers(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	run := []Inst{{Op: kernel.Load32, A: varying(0), Dst: varying(3), Keep: true}, // neighbours
		{Op: kernel.Load32, A: varying(0), Dst: varying(4), Immediate: 4, Keep: true},
		{Op: kernel.LoadU16, A: varying(0), Dst: varying(5), Immediate: 8, Keep: true},
		{Op: kernel.Load32, A: varying(1), Dst: varying(6), Slot: 1, Keep: true}}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		use := has && r.IntN(3) > 0
		avx512 = func() bool { return use }
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Skip: true})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for _, data := range got.data {
			for i := range data {
				data[i] = byte(r.Uint32())
			}
		}
		mask := make([]uint32, 8*chunks)
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 8*chunks*2)
		for i := range words {
			if words[i] = r.Uint32N(120); i < len(mask) {
				mask[i] = -uint32(r.IntN(2))
			}
			if mask[i%len(mask)] == 0 {
				words[i] = r.Uint32()
			}
		}
		want.copy(got)
		code.Run(0, Masked, unsafe.Pointer(&got.file[0]), &got.slots[0], unsafe.Pointer(&mask[0]), 0, chunks)
		want.interpret(run, 0, chunks, use)
		for i := 3; i <= 6; i++ {
			at := varying(i).Offset
			g := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[at])), 8*chunks)
			w := unsafe.Slice((*uint32)(unsafe.Pointer(&want.file[at])), 8*chunks)
			for lane := range g {
				if mask[lane] != 0 && g[lane] != w[lane] {
					t.Fatalf("seed %d: lane %d of register %d is %#x, not %#x", seed, lane, i, g[lane], w[lane])
				}
			}
		}
	}
}
