package vm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
)

// byAddress accesses what the addresses of a table are, in straight code and in loops that lanes leave one after the
// other. A lane's stores are to memory of its chunk, so that their order between chunks doesn't matter.
const byAddress = `#version 460
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 40) in;
layout(buffer_reference, buffer_reference_align = 1) buffer Bytes { uint8_t at; };
layout(buffer_reference, buffer_reference_align = 2) buffer Halves { uint16_t at; };
layout(buffer_reference, buffer_reference_align = 4) buffer Words { uint at; };
layout(buffer_reference, buffer_reference_align = 8) buffer Quads { uint64_t at; };
layout(buffer_reference, buffer_reference_align = 4) buffer Many { uint at[]; };
layout(set = 0, binding = 0) buffer Out { uint64_t result[]; };
layout(set = 0, binding = 1) readonly buffer Table { uint64_t a[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint64_t r = Bytes(a[i]).at + Halves(a[40 + i]).at;
	r = r * 3 + Words(a[80 + i]).at + Quads(a[120 + i]).at;
	Quads(a[160 + i]).at = r;
	Many all = Many(a[0]);
	for (uint n = 0; n < 3; n++) r = r * 5 + all.at[n * 4 + (i & 3u)];
	for (uint n = 0; n <= i % 5u; n++) {
		uint64_t p = a[n * 40 + i];
		r = r * 7 + Words(p).at + Bytes(p + 4).at;
		if ((r & 1u) != 0) continue;
		Words(a[200 + i]).at = uint(r) + n;
		Bytes(a[240 + i]).at = uint8_t(r >> 8);
		r += Halves(p).at;
		Quads(a[160 + i]).at = r ^ n;
	}
	result[i] = r;
}
`

const (
	addressColumns = 7 // of the table
	addressLanes   = 40
	addressWords   = 64 // of each memory
)

// addressTable is the addresses that lanes access: of memory for all chunks in the first columns; in the last three,
// which are stored to, of memory for the chunk, where a lane has 8 bytes of each column.
func addressTable(r *rand.Rand) []uint32 {
	table := make([]uint32, 2*addressColumns*addressLanes)
	for column := range addressColumns {
		for chunk := range addressLanes / 8 {
			start := uint64(1<<32 - 128)
			place := func(lane int) uint64 { return r.Uint64N(4 * addressWords) }
			if first, apart := r.Uint64N(4*addressWords), []uint64{0, 1, 4, 8}[r.IntN(4)]; r.IntN(3) > 0 {
				place = func(lane int) uint64 { return first + uint64(lane)*apart }
			}
			if column >= 4 {
				start = uint64(1+chunk) << 40
				order, skip := r.Perm(8), r.Uint64N(4)
				if r.IntN(2) == 0 {
					slices.Sort(order)
				}
				place = func(lane int) uint64 { return skip + uint64(80*(column-4)+8*order[lane]) }
			}
			far := r.IntN(30)
			for lane := range 8 {
				address := start + place(lane)
				if lane == far {
					address = []uint64{0, math.MaxUint64, start - 1, start + 4*addressWords - 1, start - 1<<32, r.Uint64()}[r.IntN(6)]
				}
				at := 2 * (column*addressLanes + 8*chunk + lane)
				table[at], table[at+1] = uint32(address), uint32(address>>32)
			}
		}
	}
	return table
}

// TestMachineCodeByAddress: machine code accesses memory by device address as kernels do, also where addresses are far
// outside, at the ends of memory, and across them.
func TestMachineCodeByAddress(t *testing.T) {
	m := compiled(t, byAddress)
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 11))
		table := addressTable(r)
		var outs [3][]uint32
		var memories [3]map[uint64][]uint32
		for i, engine := range []*Engine{{NoNative: true}, {}, {Narrow: true}} {
			if err := engine.Prepare(m.Program); err != nil {
				t.Fatal(err)
			}
			if i > 0 && engine.usesNative() && (len(engine.physical) == 0 || len(engine.regions) == 0) {
				t.Fatalf("machine code has %d accesses by address and %d regions", len(engine.physical), len(engine.regions))
			}
			outs[i] = make([]uint32, 2*addressLanes)
			memories[i] = map[uint64][]uint32{1<<32 - 128: ramp(addressWords, 0x01020304, 0x01010101)}
			for chunk := range uint64(addressLanes / 8) {
				memories[i][(1+chunk)<<40] = make([]uint32, addressWords)
			}
			d := dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{outs[i], table}, Addresses: memories[i]})
			if err := engine.Run(m.Program, d); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(outs[i], outs[0]) {
				t.Fatalf("seed %d, engine %d: %x, not %x", seed, i, outs[i], outs[0])
			}
			for start, words := range memories[i] {
				if !slices.Equal(words, memories[0][start]) {
					t.Fatalf("seed %d, engine %d, memory at %#x: %x, not %x", seed, i, start, words, memories[0][start])
				}
			}
		}
	}
	if n := len(m.Program.Insts); !slices.ContainsFunc(m.Program.Insts, func(in program.Inst) bool {
		return in.Code == program.AccessPhysical
	}) {
		t.Errorf("none of %d instructions accesses memory by address", n)
	}
}

// BenchmarkByAddress is products of two matrices' rows and columns, by device address.
func BenchmarkByAddress(b *testing.B) {
	m := compiled(b, `#version 460
#extension GL_EXT_buffer_reference2 : require
layout(local_size_x = 64) in;
layout(buffer_reference, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(push_constant) uniform Push { Floats a, b, c; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	float sum = 0;
	for (uint k = 0; k < 64; k++) sum += a.at[(i / 64) * 64 + k] * b.at[k * 64 + i % 64];
	c.at[i] = sum;
}
`)
	const size = 64
	memory, push := map[uint64][]uint32{}, []byte(nil)
	for i := range uint64(3) {
		memory[(1+i)<<40] = make([]uint32, size*size)
		push = binary.NativeEndian.AppendUint64(push, (1+i)<<40)
	}
	d := dispatch([3]uint32{size, 1, 1}, vmtest.Buffers{Addresses: memory})
	d.PushConstants = push
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		if err := m.Run(d); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best)/(size*size*size), "ns/product")
}
