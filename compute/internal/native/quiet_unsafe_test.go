package native

import (
	"math"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestQuietExtremes compares minima and maxima of what is no signalling NaN with the kernels, and shows that they are
// shorter than those of anything.
func TestQuietExtremes(t *testing.T) {
	need(t)
	values := []uint32{0, 1 << 31, 1, 1<<31 + 1, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
		0xffc00000, 0x7fc12345, 0xffffffff, math.Float32bits(-1e-40), math.Float32bits(3.5)}
	for _, op := range []kernel.Op{kernel.MinF32, kernel.MaxF32} {
		for _, narrow := range []bool{false, true} {
			var sizes [2]int
			for i := range sizes {
				run := []Inst{{Op: op, A: varying(3), B: varying(4), Dst: varying(5), Quiet: i == 1, Keep: true},
					{Op: op, A: varying(3), B: uniform(1), Dst: varying(3), Quiet: i == 1, Keep: true}}
				code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Narrow: narrow})
				if err != nil {
					t.Fatal(err)
				}
				sizes[i] = code.fence
				got, want := newMachine(), newMachine()
				for turn := range values {
					for k := range uint32(8 * chunks) {
						at := unsafe.Pointer(&got.file[varying(3).Offset+4*k])
						*(*uint32)(at) = values[int(k)%len(values)]
						at = unsafe.Pointer(&got.file[varying(4).Offset+4*k])
						*(*uint32)(at) = values[(int(k)+turn)%len(values)]
					}
					for k := range uint32(8) {
						*(*uint32)(unsafe.Pointer(&got.file[uniform(1).Offset+4*k])) = values[turn]
					}
					want.copy(got)
					code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
					want.interpret(run, 0, chunks, !narrow)
					compare(t, run, got, want)
				}
			}
			if avx512() && sizes[1] >= sizes[0] {
				t.Errorf("%v takes %d bytes, and %d with anything", op, sizes[1], sizes[0])
			}
		}
	}
}
