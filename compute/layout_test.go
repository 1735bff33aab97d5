package compute

import (
	"encoding/binary"
	"math"
	"testing"

	"farside/compute/internal/vm"
	"farside/compute/internal/vmtest"
)

// layouts reads and writes memory in many shapes. The host fills buffers with words that are their own index.
const layouts = `#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 16) in;
layout(set=0,binding=0) buffer Out { uint result[]; };
struct Inner { vec3 a; float b; mat2x3 m; };
layout(std140,set=0,binding=1) uniform U {
	float head; vec3 v; float list[3]; layout(row_major) mat3x2 rows; mat3x2 columns; Inner inner[2];
} uni;
layout(std430,set=0,binding=2) buffer B {
	uvec3 u3; uint8_t bytes[8]; uint16_t halves[4]; float16_t h[2]; uint64_t wide[2]; Inner list[];
} buf;
layout(std430,set=1,binding=1) buffer E { uint words[]; } elements[];
layout(buffer_reference) buffer Ref;
layout(buffer_reference, std430, buffer_reference_align=4) buffer Ref { uint n; Ref next; uint tail[]; };
layout(push_constant) uniform P { uint base; float scale; Ref ref; } push;
layout(set=0,binding=3) buffer A { uint u; int s; float f; uint pad; uint64_t z; } at;
struct Tile { vec3 c; float d[4]; bool flag; };
shared Tile tile[16];
shared uint total;
shared uint64_t wideTotal;

uint at3(float x) { return floatBitsToUint(x); }

void main() {
	uint i = gl_LocalInvocationIndex;
	uint n = 0;
	#define PUT(x) result[n++ * 16 + i] = (x)
	PUT(at3(uni.head));
	PUT(at3(uni.v.y));
	PUT(at3(uni.list[i % 3]));
	PUT(at3(uni.rows[i % 3][1]));
	PUT(at3(uni.columns[i % 3].y));
	PUT(at3(uni.inner[i & 1].m[1].z));
	mat3x2 whole = uni.rows;
	PUT(at3(whole[2][0]));
	PUT(buf.u3[i % 3]);
	PUT(uint(buf.bytes[i & 7]));
	PUT(uint(buf.halves[i & 3]));
	PUT(uint(buf.wide[i & 1] >> 32));
	PUT(at3(buf.list[i & 1].m[i & 1][2]));
	PUT(uint(buf.list.length()));
	PUT(elements[nonuniformEXT(i % 3)].words[i]);
	PUT(uint(elements[1].words.length()));
	PUT(push.base + uint(push.scale));
	PUT(push.ref.n + push.ref.tail[i & 3] + push.ref.next.n);
	tile[i].c = vec3(i, i + 1, i + 2);
	tile[i].d[i & 3] = float(i);
	tile[i].flag = (i & 1) != 0;
	if (i == 0) { total = 0; wideTotal = 0; }
	barrier();
	Tile copy = tile[15 - i];
	PUT(uint(copy.c.z) + uint(copy.d[(15 - i) & 3]) * 100 + uint(copy.flag) * 10000);
	PUT(atomicAdd(total, i) * 0 + 1);
	atomicAdd(wideTotal, uint64_t(i) << 32);
	atomicMax(at.u, i); atomicMin(at.s, -int(i)); atomicAdd(at.f, 1.5); atomicAdd(at.z, uint64_t(i) << 20);
	barrier();
	PUT(total + uint(wideTotal >> 32));
	PUT(atomicCompSwap(total, 120u, 7u) == 120u ? 100u : 0u);
	barrier();
	PUT(total);
	buf.bytes[i & 7] = uint8_t(200 + i);
	buf.h[i & 1] = float16_t(1.5);
	push.ref.tail[4 + i] = 77 + i;
	result[n * 16 + 1000000 * i] = 5;
}`

func TestLayouts(t *testing.T) {
	p := compileWords(t, glslWords(t, layouts), Options{})
	const results = 22
	out, uniform, buffer, atomics := make([]uint32, (results+1)*16), make([]uint32, 100), make([]uint32, 80),
		make([]uint32, 6)
	count := func(words []uint32, first uint32) []uint32 {
		for i := range words {
			words[i] = first + uint32(i)
		}
		return words
	}
	count(uniform, 0)
	count(buffer, 1000)
	elements := [][]uint32{count(make([]uint32, 16), 0), count(make([]uint32, 20), 100), count(make([]uint32, 16), 200)}
	const address = 0x123400000000
	memory := make([]uint32, 64)
	memory[0], memory[2], memory[3] = 40, uint32(address&0xffffffff)+128, uint32(uint64(address)>>32)
	count(memory[4:32], 500)
	memory[32] = 4000
	push := make([]byte, 16)
	binary.LittleEndian.PutUint32(push, 3)
	binary.LittleEndian.PutUint32(push[4:], math.Float32bits(4))
	binary.LittleEndian.PutUint64(push[8:], address)
	mustRun(t, p, &vm.Dispatch{Groups: [3]uint32{1, 1, 1},
		Environment: vm.Environment{PushConstants: push, Bindings: vmtest.Buffers{
			Words: [][]uint32{out, uniform, buffer, atomics}, Elements: elements,
			Addresses: map[uint64][]uint32{address: memory},
		}}})
	// Offsets in words: head 0, v 4, list 8 (stride 4), rows 20 (3 columns of 2, as rows: stride 4), columns 28 (stride
	// 4), inner 40 of a 0, b 3, m 4 (stride 4), 12 words each.
	bytesOf := func(at uint32) uint32 { return (1000 + at/4) >> (8 * (at % 4)) & 0xff }
	want := [results]func(i uint32) uint32{
		func(i uint32) uint32 { return 0 },
		func(i uint32) uint32 { return 5 },
		func(i uint32) uint32 { return 8 + 4*(i%3) },
		func(i uint32) uint32 { return 20 + 4 + i%3 },
		func(i uint32) uint32 { return 28 + 4*(i%3) + 1 },
		func(i uint32) uint32 { return 40 + 12*(i&1) + 4 + 4 + 2 },
		func(i uint32) uint32 { return 22 },
		func(i uint32) uint32 { return 1000 + i%3 },
		func(i uint32) uint32 { return bytesOf(12 + i&7) },
		func(i uint32) uint32 { return bytesOf(20+2*(i&3)) | bytesOf(21+2*(i&3))<<8 },
		func(i uint32) uint32 { return 1000 + 9 + 2*(i&1) },
		func(i uint32) uint32 { return 1000 + 12 + 12*(i&1) + 4 + 4*(i&1) + 2 },
		func(i uint32) uint32 { return (80 - 12) / 12 },
		func(i uint32) uint32 { return 100*(i%3) + i },
		func(i uint32) uint32 { return 20 },
		func(i uint32) uint32 { return 7 },
		func(i uint32) uint32 { return 40 + 500 + i&3 + 4000 },
		func(i uint32) uint32 { k := 15 - i; return k + 2 + 100*k + k&1*10000 },
		func(i uint32) uint32 { return 1 },
		func(i uint32) uint32 { return 240 },
		nil,
		func(i uint32) uint32 { return 7 },
	}
	for k, f := range want {
		for i := range uint32(16) {
			if got := out[uint32(k)*16+i]; f != nil && got != f(i) {
				t.Errorf("result %d of invocation %d: %d, want %d", k, i, got, f(i))
				break
			}
		}
	}
	if got := bytesOf(0); got != 1000&0xff || buffer[3] != 0xd3d2d1d0 && buffer[3] != 0xcbcac9c8 {
		t.Errorf("bytes: %#x", buffer[3])
	}
	if buffer[7] != 0x3e003e00 {
		t.Errorf("halves: %#x", buffer[7])
	}
	if atomics[0] != 15 || int32(atomics[1]) != -15 || math.Float32frombits(atomics[2]) != 24 || atomics[4] != 120<<20 {
		t.Errorf("atomics: %v", atomics)
	}
	if memory[8] != 77 || memory[8+15] != 92 {
		t.Errorf("physical: %v", memory[4:32])
	}
}
