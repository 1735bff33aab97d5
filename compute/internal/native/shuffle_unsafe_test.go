package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestShuffles compares what lanes get with the lanes that they name, in subgroups of all sizes, also larger ones than
// the workgroup.
func TestShuffles(t *testing.T) {
	need(t)
	random := rand.New(rand.NewPCG(7, 1))
	ops := []kernel.Op{Shuffle, ShuffleXor, ShuffleUp, ShuffleDown, QuadBroadcast, QuadSwap}
	for round := range 400 {
		size := uint32(4) << random.IntN(6)
		op := ops[random.IntN(len(ops))]
		arg := varying(0)
		if random.IntN(3) == 0 {
			arg = uniform(0)
		}
		in := Inst{Op: op, A: arg, C: varying(1), Dst: varying(2), Keep: true, Apart: size, Immediate: 8 * chunks}
		if !Supports(&in) {
			t.Fatal("no code for", op)
		}
		// Another reads the result.
		sum := Inst{Op: kernel.AddI32, A: varying(2), B: varying(2), Dst: varying(3), Keep: true}
		code, err := Compile([][]Inst{{in, sum}}, Options{Scratch: fileSize, Masked: true,
			Groups: Groups(size) && random.IntN(3) > 0})
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine()
		lanes := func(r Register) []uint32 {
			return unsafe.Slice((*uint32)(unsafe.Pointer(&m.file[r.Offset])), 8*chunks)
		}
		index := []uint32{0, 1, 2, 3, size - 1, size, 127, 128, 1 << 31, ^uint32(0)}
		for i := range 8 * chunks {
			lanes(varying(0))[i], lanes(varying(1))[i] = random.Uint32N(size), random.Uint32()
			if random.IntN(4) == 0 {
				lanes(varying(0))[i] = index[random.IntN(len(index))]
			}
			lanes(uniform(0))[i%8] = index[round%len(index)]
		}
		mask := make([]uint32, 8*chunks)
		mode := []Mode{Plain, Masked}[random.IntN(2)]
		code.Run(0, mode, unsafe.Pointer(&m.file[0]), &m.slots[0], unsafe.Pointer(&mask[0]), 0, chunks)
		for i := range uint32(8 * chunks) {
			lane, arg := int(i%size), int(min(lanes(varying(0))[i], mostLanes))
			if in.A.Step == 0 {
				arg = int(min(lanes(uniform(0))[0], mostLanes))
			}
			from := map[kernel.Op]int{Shuffle: arg, ShuffleXor: lane ^ arg, ShuffleUp: lane - arg, ShuffleDown: lane + arg,
				QuadBroadcast: lane&^3 + arg&3, QuadSwap: lane ^ (arg + 1)}[op]
			want := uint32(0)
			if start := int(i - i%size); from >= 0 && from < int(size) && start+from < 8*chunks {
				want = lanes(varying(1))[start+from]
			}
			if got := lanes(varying(2))[i]; got != want || lanes(varying(3))[i] != 2*want {
				t.Fatalf("operation %d in subgroups of %d: lane %d got %#x, not that of %d, %#x", slices.Index(ops, op), size, i,
					got, from, want)
			}
		}
	}
}
