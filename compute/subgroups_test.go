package compute

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/vmtest"
	"farside/internal/cpuid"
)

// groupHead is what shaders of subgroups begin with. What a lane that is not active has is anything, so shuffles give
// the value of active lanes only.
const groupHead = `
uint from(uint v, uint lane, uint got) {
	uvec4 some = subgroupBallot(true);
	return lane < gl_SubgroupSize && (some[lane >> 5u] >> (lane & 31u) & 1u) != 0u ? got : v * 3u;
}
uint shuffled(uint v, uint lane) { return from(v, lane, subgroupShuffle(v, lane)); }
uint exchanged(uint v, uint mask) {
	return from(v, gl_SubgroupInvocationID ^ mask, subgroupShuffleXor(v, mask));
}
uint before(uint v, uint n) { return from(v, gl_SubgroupInvocationID - n, subgroupShuffleUp(v, n)); }
uint behind(uint v, uint n) { return from(v, gl_SubgroupInvocationID + n, subgroupShuffleDown(v, n)); }
uint ofQuad(uint v) {
	return from(v, gl_SubgroupInvocationID & ~3u | 2u, subgroupQuadBroadcast(v, 2u)) +
		from(v, gl_SubgroupInvocationID ^ 1u, subgroupQuadSwapHorizontal(v)) * 5u +
		from(v, gl_SubgroupInvocationID ^ 3u, subgroupQuadSwapDiagonal(v)) * 7u;
}
`

// groupShader is a shader of subgroups.
func groupShader(lanes int, body string) string {
	return strings.Replace(shader(lanes, groupHead, body), "#version 450\n", `#version 450
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
`, 1)
}

// groupLoops are loops with instructions on subgroups, which are regions.
var groupLoops = map[string]string{
	"a reduction by exchange": `
	r = a[i & 63u];
	for (uint n = 0u; n < 40u; n++)
		for (uint d = 1u; d < gl_SubgroupSize; d <<= 1)
			r += exchanged(r, d) * 3u;`,
	"a sort": `
	r = a[i & 63u];
	for (uint k = 2u; k <= gl_SubgroupSize; k <<= 1)
		for (uint j = k >> 1; j > 0u; j >>= 1) {
			uint y = exchanged(r, j);
			r = ((i & k) == 0u) == ((i & j) == 0u) ? min(r, y) : max(r, y);
		}`,
	"a scan": `
	r = a[i & 63u];
	for (uint n = 0u; n < 40u; n++)
		for (uint d = 1u; d < gl_SubgroupSize; d <<= 1) {
			uint y = before(r, d);
			if (gl_SubgroupInvocationID >= d)
				r += y;
		}`,
	"a compaction": `
	uint n = 0u;
	for (uint k = 0u; k < 40u; k++) {
		uint v = a[(i + k) & 63u] * (k + 1u);
		uvec4 b = subgroupBallot((v & 5u) == 0u);
		if ((v & 5u) == 0u)
			r += v ^ (n + subgroupBallotExclusiveBitCount(b));
		n += subgroupBallotBitCount(b);
	}`,
	"until all lanes are done": `
	uint x = a[i & 63u] & 0xffffu | 1u;
	while (subgroupAny(x != 1u) && r < 300u) {
		if (x != 1u)
			x = (x & 1u) == 0u ? x >> 1 : x * 3u + 1u;
		if (subgroupAll(x < 9u))
			break;
		r++;
	}
	r = r * 3u + x;`,
	"a queue": `
	uint left = (a[i & 63u] & 15u) + 1u, n = 0u;
	for (uint k = 0u; k < 100u; k++) {
		if (left == 0u) {
			uvec4 b = subgroupBallot(true);
			left = (a[(n + subgroupBallotExclusiveBitCount(b)) & 63u] & 15u) + 1u;
			n += subgroupAdd(3u) + subgroupBroadcastFirst(i) + (subgroupElect() ? 5u : 0u);
		}
		left--;
		r = r * 3u + left ^ n;
	}`,
	"so long that it pauses": `
	uint n = (i & 7u) == 3u ? 20000u : 100u;
	for (uint k = 0u; k < n; k++) {
		r = r * 5u + subgroupMax(r >> 3u) + k;
		r ^= exchanged(r, k & 31u);
	}`,
}

// TestGroupLoops shows that loops with instructions on subgroups do in machine code what they do by kernels, and that
// they are regions where vectors hold a subgroup.
func TestGroupLoops(t *testing.T) {
	for name, body := range groupLoops {
		t.Run(name, func(t *testing.T) {
			for _, lanes := range []int{32, 128} {
				for _, condition := range []string{"", "if ((a[i & 63u] & 4u) == 0u)"} {
					text := groupShader(lanes, condition+"{"+body+"}")
					p := checkGroups(t, text, lanes, 32)
					if cpuid.X86().AVX512 && kernel.Best().Name == "avx2" && !strings.Contains(planOf(t, p), " region to ") {
						t.Errorf("it is no region\n%s", planOf(t, p))
					}
				}
			}
		})
	}
}

// checkGroups runs a shader in all kinds of code, and gives the program of the fastest.
func checkGroups(t *testing.T, text string, lanes, size int) *Program {
	t.Helper()
	words := glslWords(t, text)
	defer func(old func() cpuid.Features) { cpuid.X86 = old }(cpuid.X86)
	without := cpuid.X86()
	without.AVX512 = false
	ways := []string{"machine code", "narrow machine code", "machine code without AVX-512", "kernels", "kernels in Go"}
	var first *Program
	var results [][]uint32
	for k, way := range ways {
		if k == 2 {
			cpuid.X86 = func() cpuid.Features { return without }
		}
		p := compileWords(t, words, Options{SubgroupSize: uint32(size), NoNative: k == 3, Narrow: k == 1, PlainGo: k == 4})
		if k == 0 {
			first = p
		}
		in, out := make([]uint32, 1024), make([]uint32, 1024)
		for i := range in {
			in[i] = testInput(i) * 2654435761
		}
		mustRun(t, p, dispatch([3]uint32{2, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
		results = append(results, out)
		for i, w := range out {
			if w != results[0][i] {
				t.Fatalf("%d lanes in subgroups of %d: word %d is %#x in %s and %#x in %s\n%s", lanes, size, i, results[0][i],
					ways[0], w, way, text)
			}
		}
	}
	return first
}

// groupMaker makes random shaders of subgroups.
type groupMaker struct {
	*rand.Rand
	loops, left int
}

func (m *groupMaker) choose(list ...string) string { return list[m.IntN(len(list))] }

func (m *groupMaker) value() string {
	return m.choose("r", "x", "y", "i", "gl_SubgroupInvocationID", "a[x & 63u]", "(x ^ y >> 3u)", "(r * 5u + 1u)", "c",
		fmt.Sprintf("%du", m.IntN(40)), fmt.Sprintf("(%s >> %du)", m.choose("x", "y", "r"), m.IntN(32)))
}

func (m *groupMaker) condition() string {
	return fmt.Sprintf("(%s & %du) %s %du", m.value(), 1<<m.IntN(4)|1, m.choose("==", "!=", "<"), m.IntN(3))
}

// group is what an instruction on subgroups gives.
func (m *groupMaker) group() string {
	v := m.value()
	switch m.IntN(14) {
	case 0:
		return fmt.Sprintf("%s(%s, %s)", m.choose("shuffled", "exchanged", "before", "behind"), v,
			m.choose("c", "1u", "5u", "16u", "33u", "c & 31u", m.value(), m.value()+" & 31u"))
	case 1:
		return "ofQuad(" + v + ")"
	case 2, 3:
		return fmt.Sprintf("subgroup%s%s(%s)", m.choose("", "Inclusive", "Exclusive"),
			m.choose("Add", "Mul", "Min", "Max", "And", "Or", "Xor"), v)
	case 4:
		return fmt.Sprintf("uint(subgroup%s%s(int(%s)))", m.choose("", "Inclusive", "Exclusive"), m.choose("Min", "Max"), v)
	case 5:
		return fmt.Sprintf("floatBitsToUint(subgroup%s%s(float(%s) * 0.37 - 9.0))", m.choose("", "Inclusive", "Exclusive"),
			m.choose("Add", "Min", "Max"), v)
	case 6:
		return fmt.Sprintf("subgroupClustered%s(%s, %du)", m.choose("Add", "Max", "Xor"), v, 1<<m.IntN(6))
	case 7:
		return fmt.Sprintf("subgroupBallot(%s).x", m.choose("true", m.condition()))
	case 8:
		return fmt.Sprintf("subgroupBallot%sBitCount(subgroupBallot(%s))", m.choose("", "Inclusive", "Exclusive"),
			m.condition())
	case 9:
		return fmt.Sprintf("uint(subgroup%s(%s))", m.choose("Any", "All"), m.condition())
	case 10:
		return "subgroupBroadcastFirst(" + v + ")"
	case 11:
		return fmt.Sprintf("uint(subgroupAllEqual(%s & %du))", v, m.IntN(4))
	case 12:
		return fmt.Sprintf("uint(subgroupAllEqual(%s))", m.choose("float("+v+")", "uvec2("+v+", r & 1u)", m.condition(),
			"packUint2x32(uvec2(r & 1u, "+v+"))"))
	case 13:
		return fmt.Sprintf("uint(subgroupBroadcastFirst(packUint2x32(uvec2(%s, r))) >> 7)", v)
	}
	return "uint(subgroupElect())"
}

func (m *groupMaker) statements() string {
	var text strings.Builder
	for range 1 + m.IntN(4) {
		m.left--
		to := m.choose("r", "x", "y")
		switch n := m.IntN(12); {
		case n < 5 || m.left < 0:
			fmt.Fprintf(&text, "%s = %s %s %s;\n", to, to, m.choose("+", "^", "* 5u +"), m.group())
		case n < 7:
			fmt.Fprintf(&text, "%s = %s %s %s;\n", to, m.value(), m.choose("+", "^", "* 3u +"), m.value())
		case n == 7:
			fmt.Fprintf(&text, "if (%s) {\n%s}\n", m.condition(), m.statements())
		case n == 8:
			fmt.Fprintf(&text, "if (%s) {\n%s} else {\n%s}\n", m.choose(m.condition(),
				"subgroupAny("+m.condition()+")"), m.statements(), m.statements())
		case n == 9 && m.loops > 0:
			fmt.Fprintf(&text, "if (%s) %s;\n", m.condition(), m.choose("break", "continue"))
		case m.loops < 2:
			m.loops++
			k := fmt.Sprintf("k%d", m.left+100)
			fmt.Fprintf(&text, "for (uint %s = 0u; %s < %s; %s++) {\nc += %s;\n%s}\n", k, k,
				m.choose(fmt.Sprintf("%du", 1+m.IntN(40)), "("+m.value()+" & 7u)", "9u + (a[0] & 1u)"), k, k, m.statements())
			m.loops--
		}
	}
	return text.String()
}

// TestRandomGroups compares what random shaders of subgroups do in all kinds of code.
func TestRandomGroups(t *testing.T) {
	seeds := 60
	if raceEnabled {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		m := &groupMaker{Rand: rand.New(rand.NewPCG(seed, 21)), left: 14}
		lanes, size := []int{32, 64, 96, 256, 40}[m.IntN(5)], 32
		if m.IntN(4) == 0 {
			size = 8 << m.IntN(4)
		}
		text := groupShader(lanes, "uint x = a[i & 63u], y = i * 7u, c = 0u;\n"+m.statements()+m.statements()+
			m.statements()+"r ^= x * 3u + y;")
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkGroups(t, text, lanes, size) })
		if t.Failed() {
			return
		}
	}
}
