package compute

import (
	"fmt"
	"slices"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestBallots compares what is done with ballots in subgroups of all sizes: with all lanes, and with every third one.
func TestBallots(t *testing.T) {
	const lanes = 128
	source := `#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(set=0,binding=1) buffer In { uint x[]; };
void main() {
	uint i = gl_LocalInvocationIndex;
	if (%s) {
		bool odd = (x[i] & 1u) != 0u;
		uvec4 b = subgroupBallot(odd);
		uint at = i * 16u, bit = x[i] >> 1;
		y[at] = b.x; y[at + 1u] = b.y; y[at + 2u] = b.z; y[at + 3u] = b.w;
		y[at + 4u] = subgroupBallotBitCount(b);
		y[at + 5u] = subgroupBallotInclusiveBitCount(b);
		y[at + 6u] = subgroupBallotExclusiveBitCount(b);
		y[at + 7u] = uint(subgroupInverseBallot(b));
		y[at + 8u] = uint(subgroupBallotBitExtract(b, bit));
		y[at + 9u] = subgroupBallotFindLSB(b);
		y[at + 10u] = subgroupBallotFindMSB(b);
		y[at + 11u] = uint(subgroupAny(odd));
		y[at + 12u] = uint(subgroupAll(odd));
		y[at + 13u] = uint(subgroupElect());
		y[at + 14u] = subgroupBroadcastFirst(x[i]);
		y[at + 15u] = subgroupAdd(x[i]);
	}
}
`
	for size := 4; size <= 128; size *= 2 {
		for condition, every := range map[string]int{"true": 1, "i % 3u == 1u": 3} {
			t.Run(fmt.Sprint(size, " ", condition), func(t *testing.T) {
				p := compileWords(t, glslWords(t, fmt.Sprintf(source, condition)), Options{SubgroupSize: uint32(size)})
				in, out := make([]uint32, lanes), make([]uint32, 16*lanes)
				for i := range in {
					in[i] = uint32(i*i*7+i/5)%13 + uint32(i)*2
				}
				mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
				for i := range lanes {
					want := make([]uint32, 16)
					if every == 1 || i%3 == 1 {
						want = ballotsOf(in[i&^(size-1):][:size], i&(size-1), func(lane int) bool {
							return every == 1 || (i&^(size-1)+lane)%3 == 1
						})
					}
					if got := out[16*i:][:16]; !slices.Equal(got, want) {
						t.Fatalf("lane %d got\n%x, not\n%x", i, got, want)
					}
				}
			})
		}
	}
}

// ballotsOf is what the shader of TestBallots gives in a lane of a subgroup with these values.
func ballotsOf(values []uint32, lane int, active func(lane int) bool) []uint32 {
	var b [4]uint32
	first, count, upTo, before, sum, some := -1, 0, 0, 0, uint32(0), 0
	lsb, msb := ^uint32(0), ^uint32(0)
	for i, v := range values {
		if !active(i) {
			continue
		}
		if first < 0 {
			first = i
		}
		some, sum = some+1, sum+v
		if v&1 == 0 {
			continue
		}
		b[i/32] |= 1 << (i % 32)
		if count == 0 {
			lsb = uint32(i)
		}
		count, msb = count+1, uint32(i)
		if i <= lane {
			upTo++
		}
		if i < lane {
			before++
		}
	}
	truth := func(t bool) uint32 { return map[bool]uint32{true: 1}[t] }
	has := func(bit int) bool { return bit < len(values) && b[bit/32]>>(bit%32)&1 != 0 }
	return []uint32{b[0], b[1], b[2], b[3], uint32(count), uint32(upTo), uint32(before), truth(has(lane)),
		truth(has(int(values[lane] >> 1))), lsb, msb, truth(count > 0), truth(count == some), truth(lane == first),
		values[first], sum}
}

// TestElectionsInLoop: one lane a round leaves a loop, so that the first chunks of a subgroup have no active lanes
// later, and what others store and elect doesn't depend on what these left.
func TestElectionsInLoop(t *testing.T) {
	const lanes = 96
	source := `#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 96) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(push_constant) uniform Push { uint stride; };
void main() {
	uint round = 0u;
	if ((gl_SubgroupInvocationID & 3u) == 3u) {
		for (;;) {
			y[(round++) * stride + gl_LocalInvocationIndex] = subgroupBallot(true).x;
			if (subgroupElect())
				break;
			y[(round++) * stride + gl_LocalInvocationIndex] = 7u;
		}
	}
}
`
	for _, size := range []int{16, 32} {
		p := compileWords(t, glslWords(t, source), Options{SubgroupSize: uint32(size)})
		out := make([]uint32, 16*lanes)
		d := dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out}})
		d.PushConstants = []byte{lanes, 0, 0, 0}
		mustRun(t, p, d)
		for at, got := range out {
			round, lane := at/lanes, at%lanes%size
			want := uint32(0)
			if first := 4*(round/2) + 3; lane%4 == 3 && lane >= first {
				if want = 7; round%2 == 0 {
					want = uint32(0x88888888&(1<<size-1)) >> first << first
				} else if lane == first {
					want = 0
				}
			}
			if got != want {
				t.Fatalf("subgroups of %d: lane %d got %#x as its number %d, not %#x", size, at%lanes, got, round, want)
			}
		}
	}
}
