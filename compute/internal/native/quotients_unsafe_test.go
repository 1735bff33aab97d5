package native

import (
	"math"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestWideDivisions compares quotients, remainders and high words of 64 bits with the kernels, of all pairs of some
// numbers: of 0, and of what has no quotient among them.
func TestWideDivisions(t *testing.T) {
	need(t)
	numbers := []uint64{0, 1, 2, 3, 7, 1<<31 - 1, 1 << 32, 1<<62 + 12345, math.MaxInt64, 1 << 63, 1<<63 + 1,
		math.MaxUint64 - 1, math.MaxUint64, -12345 & math.MaxUint64}
	for _, op := range []kernel.Op{kernel.DivU64, kernel.DivS64, kernel.RemU64, kernel.RemS64, kernel.ModS64,
		kernel.MulHighU64, kernel.MulHighS64, kernel.MulWordsU64} {
		run := []Inst{{Op: op, Dst: wideVarying(2), A: wideVarying(0), B: wideVarying(1), Keep: true}}
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range numbers {
			for first := range len(numbers) {
				got, want := newMachine(), newMachine()
				for lane := range 8 * chunks {
					place := func(r Register) *uint64 { return (*uint64)(unsafe.Pointer(&got.file[int(r.Offset)+8*lane])) }
					*place(wideVarying(0)), *place(wideVarying(1)) = a, numbers[(first+lane)%len(numbers)]
				}
				want.copy(got)
				code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
				want.interpret(run, 0, chunks, false)
				compare(t, run, got, want)
			}
		}
	}
}
