package native

import (
	"fmt"
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
		code, err := Compile([][]Inst{run}, fileSize, true, Register{})
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
					want.interpret(run, 0, 1)
					compare(t, run, got, want)
				})
			}
		}
	}
}
