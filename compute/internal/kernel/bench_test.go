package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The figures are for 256 lanes, and for 8, which shows what a call costs.
func BenchmarkKernels(b *testing.B) {
	ops := []Op{Move32, AddI32, MulI32, ShlI32, LtU32, MulAddSat, DivU32, DivS32, Select32, AddF32, FmaF32, DivF32,
		SqrtF32,
		InverseSqrtF32, MinF32, ExpF32, LogF32, PowF32, SinF32, TanF32, Atan2F32, TanhF32, AsinF32, RemF32, ModF32, AddI64,
		AddF64, DivF64, F32ToU32, RoundF16}
	for _, s := range sets() {
		for _, op := range ops {
			for _, n := range []int{1, 32} {
				b.Run(fmt.Sprintf("%s/%s/%d", s.Name, op, n*Width), func(b *testing.B) {
					benchmark(b, s.Ops[op], expectations()[op], n)
				})
			}
		}
	}
}

func benchmark(b *testing.B, kernel Func, shape expectation, n int) {
	random := rand.New(rand.NewPCG(1, 1))
	f := newFile()
	args := Args{Immediate: 4, Dst: f.register(shape.result.bits(), false)}
	for i, operand := range shape.operands {
		r := f.register(shape.operands[i].bits(), false)
		*[]*Register{&args.A, &args.B, &args.C}[i] = r
		for chunk := range n {
			for lane := range Width {
				value := uint64(random.IntN(1000) + 1)
				switch operand {
				case kindF32:
					value = raw32(float64(value) / 64)
				case kindF64:
					value = math.Float64bits(float64(value) / 64)
				case kindMask:
					value = -(value & 1)
				}
				set(r, operand.bits(), chunk, lane, value)
			}
		}
	}
	for b.Loop() {
		kernel(&args, 0, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*Width), "ns/lane")
}

// Loads and stores of 32 bits with the offsets that shaders have: those of lanes that follow each other, of rows of 16
// lanes, the same ones in each row, at some distance, and anywhere.
func BenchmarkMemory(b *testing.B) {
	shapes := []struct {
		name   string
		offset func(lane int) uint64
	}{
		{"consecutive", func(lane int) uint64 { return uint64(4 * lane) }},
		{"rows", func(lane int) uint64 { return uint64(lane/16*128 + lane%16*4) }},
		{"rows of 8", func(lane int) uint64 { return uint64(lane/8*64 + lane%8*4) }},
		{"equal", func(lane int) uint64 { return uint64(lane / 16 * 64) }},
		{"pairs", func(lane int) uint64 { return uint64(8 * lane) }},
		{"strided", func(lane int) uint64 { return uint64(16 * lane) }},
		{"random", func(lane int) uint64 { return uint64(lane * 7919 % 1024 * 4) }},
	}
	memory := make([]byte, 8192)
	for _, s := range sets() {
		for _, op := range []Op{Load32, Store32} {
			for _, shape := range shapes {
				b.Run(fmt.Sprintf("%s/%s/%s", s.Name, op, shape.name), func(b *testing.B) {
					f := newFile()
					args := Args{Memory: &Memory{Base: unsafe.Pointer(&memory[0]), Size: uint64(len(memory))},
						A: f.register(32, false), B: f.register(32, false), Dst: f.register(32, false)}
					for lane := range room * Width {
						set(args.A, 32, lane/Width, lane%Width, shape.offset(lane))
					}
					for b.Loop() {
						s.Ops[op](&args, 0, room)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*room*Width), "ns/lane")
				})
			}
		}
	}
}

// What a branch does to the masks: when no lane takes it, and when the upper half of the lanes does.
func BenchmarkNarrow(b *testing.B) {
	for _, s := range sets() {
		for _, keep := range []int{room, room / 2} {
			b.Run(fmt.Sprintf("%s/%d of %d", s.Name, keep, room), func(b *testing.B) {
				f := newFile()
				dst, src, rest, condition := f.register(32, false), f.register(32, false), f.register(32, false),
					f.register(32, false)
				for chunk := range room {
					for lane := range Width {
						set(src, 32, chunk, lane, 1<<32-1)
						set(condition, 32, chunk, lane, uint64(mask(chunk < keep)))
					}
				}
				for b.Loop() {
					s.Narrow(dst, src, rest, condition, false, room)
				}
			})
		}
	}
}
