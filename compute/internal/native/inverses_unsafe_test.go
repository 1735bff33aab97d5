package native

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestDivisionsByConstants compares quotients and remainders by constants with the kernels, of numbers about the
// multiples of the divisors, of the least and of the largest.
func TestDivisionsByConstants(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	r := rand.New(rand.NewPCG(1, 7))
	divisors := []uint32{1, 2, 3, 5, 6, 7, 9, 10, 11, 14, 28, 100, 641, 1000, 1<<16 + 1, 1e9 + 7, 1<<31 - 1, 1 << 31,
		1<<31 + 1, math.MaxUint32/3 + 1, math.MaxUint32 - 1, math.MaxUint32}
	for i := range 32 {
		divisors = append(divisors, 1<<i, math.MaxUint32<<i, r.Uint32()>>i|1, r.Uint32(), -(r.Uint32()>>i | 1))
	}
	for _, op := range []kernel.Op{kernel.DivU32, kernel.RemU32, kernel.DivS32, kernel.RemS32, kernel.ModS32} {
		for some := range slices.Chunk(divisors, registers-2) {
			var run, same []Inst
			numbers := append([]uint32{}, interesting...)
			for i, d := range some {
				in := Inst{Op: op, Dst: varying(2 + i), A: varying(0), Immediate: uint64(d), Keep: true}
				if !DividesBy(op, d) {
					in.Immediate, in.B = 0, varying(1)
				}
				run = append(run, in)
				numbers = append(numbers, aboutMultiples(r, d)...)
			}
			for k := range 3 {
				avx512 = func() bool { return has && k > 0 }
				code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Narrow: k < 2})
				if err != nil {
					t.Fatal(err)
				}
				for values := range slices.Chunk(numbers, 8*chunks) {
					got, want := newMachine(), newMachine()
					a := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 8*chunks)
					copy(a, values)
					want.copy(got)
					code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
					for i, d := range some {
						same = append(same[:0], run[i])
						b := unsafe.Slice((*uint32)(unsafe.Pointer(&want.file[varying(1).Offset])), 8*chunks)
						if DividesBy(op, d) {
							same[0].B, same[0].Immediate = varying(1), 0
							for lane := range b {
								b[lane] = d
							}
						}
						want.interpret(same, 0, chunks, false)
						clear(b)
					}
					compare(t, run, got, want)
				}
			}
		}
	}
}

// aboutMultiples are numbers where a wrong quotient shows: next to multiples of d, as numbers with a sign or without.
func aboutMultiples(r *rand.Rand, d uint32) []uint32 {
	var list []uint32
	about := func(n uint32) { list = append(list, n-1, n, n+1) }
	for _, most := range []uint32{math.MaxUint32, math.MaxInt32, r.Uint32()} {
		about(most / d * d)
		size := uint32(max(int32(d), -int32(d)))
		about(most / size * size)
		about(-(most / size * size))
	}
	return list
}
