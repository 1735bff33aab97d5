package native

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestElements compares accesses of arrays with the same indices with the kernels. What the indices stand for is
// computed once for all of them, until the indices change.
func TestElements(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	access := func(op kernel.Op, index, value int) Inst {
		in := Inst{Op: op, C: element(0), A: varying(index), Immediate: elements, Apart: 32 * chunks, Pattern: Any}
		if op == kernel.StorePrivate32 {
			in.B = varying(value)
			return in
		}
		in.Dst, in.Keep = varying(value), true
		return in
	}
	run := []Inst{access(kernel.LoadPrivate32, 0, 4), access(kernel.StorePrivate32, 0, 5),
		access(kernel.LoadPrivate32, 0, 6), access(kernel.LoadPrivate32, 1, 7),
		access(kernel.LoadPrivate32, 0, 0), access(kernel.LoadPrivate32, 0, 8), access(kernel.StorePrivate32, 0, 4)}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 6))
		use := has && r.IntN(3) > 0
		avx512 = func() bool { return use }
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Narrow: r.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 8*chunks*(registers+elements))
		for i := range words {
			words[i] = r.Uint32N(elements + 2)
		}
		words[r.IntN(16*chunks)] = r.Uint32()
		mode := got.someMasked(r)
		want.copy(got)
		want.mask = got.mask
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], got.mask.Base, 0, chunks)
		want.interpret(run, 0, chunks, code.Pairs(0))
		compare(t, run, got, want)
	}
	avx512 = func() bool { return has }
	code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Narrow: true})
	if err != nil {
		t.Fatal(err)
	}
	shifts := 0 // by 7 to the left, in vectors
	for at := range code.fence - 2 {
		if code.memory[at] == shift32.code && code.memory[at+1]&0xf8 == 0xf0 && code.memory[at+2] == 7 {
			shifts++
		}
	}
	if shifts != 3 { // of varying(0) twice, and of varying(1)
		t.Errorf("indices become distances %d times", shifts)
	}
}

// TestWideElements compares accesses of arrays of 64 bits with the kernels: by indices of lanes, by one for all lanes,
// and of registers of the array.
func TestWideElements(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	const count = 3 // the last of the wide registers
	access := func(load bool, index Register, value Register) Inst {
		in := Inst{Op: kernel.StorePrivate64, C: wideVarying(wides - count), A: index, B: value, Immediate: count,
			Apart: 64 * chunks, Pattern: Any}
		if load {
			in.Op, in.Dst, in.B, in.Keep = kernel.LoadPrivate64, value, Register{}, true
		}
		return in
	}
	known := func(load bool, i int, value Register) Inst {
		in := access(load, Register{}, value)
		in.C, in.Immediate = wideVarying(wides-count+i), 1
		return in
	}
	narrow := Inst{Op: kernel.LoadPrivate32, C: element(0), A: varying(0), Dst: varying(3), Immediate: elements,
		Apart: 32 * chunks, Pattern: Any, Keep: true}
	element := Inst{Op: kernel.LoadPrivate32, C: element(1), Dst: varying(4), Immediate: 1, Pattern: Any, Keep: true}
	run := []Inst{access(true, varying(0), wideVarying(0)), narrow, access(false, varying(1), wideVarying(1)),
		access(true, uniform(0), wideVarying(2)), access(false, uniform(1), wideVarying(0)), known(true, 1, wideVarying(3)),
		known(false, 2, wideVarying(2)), access(true, varying(0), wideVarying(1)), element,
		access(false, varying(0), wideUniform(0)), known(false, 0, wideUniform(1)), access(true, varying(1), wideVarying(4))}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		use := has && r.IntN(3) > 0
		avx512 = func() bool { return use }
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Narrow: r.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), fileSize/4)
		for i := range words {
			words[i] = r.Uint32N(count + 2)
		}
		for i := range 2 { // what all lanes share is the same in the whole of its register
			for k := range uint32(8) {
				copy(got.file[uniform(i).Offset+4*k:], got.file[uniform(i).Offset:][:4])
				copy(got.file[wideUniform(i).Offset+8*k:], got.file[wideUniform(i).Offset:][:8])
			}
		}
		words[r.IntN(16*chunks)] = r.Uint32()
		mode := got.someMasked(r)
		want.copy(got)
		want.mask = got.mask
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], got.mask.Base, 0, chunks)
		want.interpret(run, 0, chunks, code.Pairs(0))
		compare(t, run, got, want)
		if t.Failed() {
			t.Fatal(seed, use, mode)
		}
	}
}

// TestMasksOfTwoPairs shows that code for two pairs doesn't read as one what is written for each: the processor would
// wait until both are in the cache.
func TestMasksOfTwoPairs(t *testing.T) {
	need(t)
	if !avx512() {
		t.Skip("needs a processor with AVX-512")
	}
	mask, other := Register{Offset: fileSize + Scratch, Valid: true}, Register{Offset: fileSize + Scratch, Valid: true}
	other.Offset += 32
	run := []Inst{{Op: Enter, Dst: mask, Target: 5}, {Op: kernel.LtU32, Dst: varying(1), A: varying(0), B: uniform(0)},
		{Op: Split, A: varying(1), Dst: mask, B: other}, {Op: Enter, Dst: other, Target: 5},
		{Op: kernel.AddI32, Dst: varying(0), A: varying(0), B: uniform(0), Keep: true}, {Op: Again, Dst: mask}}
	code, err := Compile([][]Inst{run}, Options{Scratch: fileSize})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(code.memory[:code.fence], []byte{0x48, 0x8b, 0x8f}) { // MOV RCX, [RDI + displacement]
		t.Error("masks of both pairs are read at once")
	}
}
