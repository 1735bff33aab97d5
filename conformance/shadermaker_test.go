package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A shaderMaker writes random structured shaders whose results every driver must agree on to the bit: integers wrap,
// shifts and divisors are kept in range, and floats are multiples of 1/16 below 65536, which fix keeps them, computed
// without contraction.
type shaderMaker struct {
	rng       *rand.Rand
	b         strings.Builder
	depth     int // of blocks
	loops     int // around
	counters  int
	budget    int // statements that may still be written
	function  bool
	breakable bool // a break may stand here
	inSwitch  bool // and would leave a switch: continue is for the loop around
	shared    bool // tile may be read
	atomics   bool // bins may be changed, by operation
	operation string
	functions []string
	wide      bool // with 8, 16 and 64 bits
	local     int
	stage     string // "vert" or "frag"; "" of a compute shader
}

const (
	makerGroups  = 3
	makerOutputs = 24 // words for each invocation
)

// makeShader is the GLSL of a seed. Every third has types of 8, 16 and 64 bits.
func makeShader(seed uint64) (text string, local int, wide bool) {
	m := &shaderMaker{rng: rand.New(rand.NewPCG(seed, 77)), wide: seed%3 == 2}
	m.local = []int{64, 32, 40, 128, 7}[m.rng.IntN(5)]
	m.line("#version 450")
	m.line("#extension GL_EXT_shader_explicit_arithmetic_types : enable")
	m.line("layout(local_size_x = %d) in;", m.local)
	m.line("shared uint tile[%d];", m.local)
	m.line("shared uint bins[16];")
	m.globals()
	m.callees()
	m.line("void main() {")
	m.depth++
	m.line("uint lid = gl_LocalInvocationIndex, gid = gl_GlobalInvocationID.x, group = gl_WorkGroupID.x;")
	m.line("for (uint k = lid; k < 16; k += %d) bins[k] = 0;", m.local)
	m.line("uint u0 = gid, u1 = data[gid & 63u];")
	m.line("int i0 = int(lid) - 20;")
	m.line("precise float x0 = float(lid) * 0.25 - 3.0;")
	m.locals([]string{"u2", "u3"}, []string{"i1", "i2"}, []string{"x1", "x2"})
	m.line("barrier();")
	for range 2 + m.rng.IntN(3) {
		m.phase(true)
	}
	m.output()
	m.depth--
	m.line("}")
	return m.b.String(), m.local, m.wide
}

// globals declares what all stages have, but for the buffers that vertices, which may be shaded twice, don't write.
func (m *shaderMaker) globals() {
	m.line("layout(std430, binding = 0) readonly buffer In { uint data[64]; };")
	if m.stage != "vert" {
		m.line("layout(std430, binding = 1) buffer Out { uint results[]; };")
		m.line("layout(std430, binding = 2) buffer Scratch { uint scratch[]; };")
	}
	m.line("layout(push_constant) uniform Push { uint pushed[4]; };")
	m.line("struct Pair { uint x; ivec2 y; float z; };")
	m.line("const uint primes[8] = uint[8](2, 3, 5, 7, 11, 13, 17, 19);")
	m.line("uint global = 1;")
	m.line("float fix(precise float x) { return abs(x) < 65536.0 ? floor(x * 16.0) * 0.0625 : 1.5; }")
	if m.wide {
		m.line("double fix(precise double x) { return abs(x) < 1048576.0lf ? floor(x * 16.0lf) * 0.0625lf : 1.5lf; }")
	}
}

// callees writes functions that main may call.
func (m *shaderMaker) callees() {
	m.function = true
	for n := range m.rng.IntN(4) {
		m.budget = 10
		name := fmt.Sprintf("f%d", n)
		m.line("uint %s(uint u0, int i0, precise float x0, inout uint u1) {", name)
		m.depth++
		m.locals([]string{"u2", "u3"}, []string{"i1", "i2"}, []string{"x1", "x2"})
		m.statements(0)
		m.line("return %s;", m.unsigned(2))
		m.depth--
		m.line("}")
		m.functions = append(m.functions, name)
	}
	m.function = false
}

func (m *shaderMaker) line(format string, args ...any) {
	m.b.WriteString(strings.Repeat("\t", m.depth))
	fmt.Fprintf(&m.b, format, args...)
	m.b.WriteByte('\n')
}

// locals declares variables beside u0, u1, i0 and x0.
func (m *shaderMaker) locals(u, i, x []string) {
	for _, n := range u {
		m.line("uint %s = %s;", n, m.simple())
	}
	for _, n := range i {
		m.line("int %s = int(u0 * %du) >> 20;", n, m.rng.IntN(1000))
	}
	for _, n := range x {
		m.line("precise float %s = x0 + %s;", n, m.literal())
	}
	m.line("uint a[8];\n\tfor (uint k = 0; k < 8; k++)\n\t\ta[k] = u0 * k + u1;")
	m.line("precise float b[5] = float[5](x0, 1.5, x1, 2.0, x2);")
	m.line("uvec4 v = uvec4(u0, u1, u2, 9);")
	m.line("precise vec3 w = vec3(x0, x1, 0.5);")
	m.line("Pair p = Pair(u1, ivec2(i0, i1), x1);")
	if m.wide {
		m.line("uint64_t l0 = uint64_t(u0) * 0x123456789ul;\n\tint64_t l1 = int64_t(i0) << 33;")
		m.line("uint16_t h0 = uint16_t(u1);\n\tint8_t c0 = int8_t(u0);")
		m.line("precise double d0 = double(x0);")
	}
}

// output writes what the variables hold.
func (m *shaderMaker) output() {
	list := []string{"u0", "u1", "u2", "u3", "uint(i0)", "uint(i1)", "uint(i2)", "uint(int(x0 * 16.0))",
		"uint(int(x1 * 16.0))", "uint(int(x2 * 16.0))",
		"v.x ^ v.y", "v.z + v.w", "uint(int((w.x + w.y + w.z) * 16.0))", "p.x", "uint(p.y.x ^ p.y.y)",
		"uint(int(p.z * 16.0))",
		"a[0] ^ a[1] ^ a[2] ^ a[3]", "a[4] + a[5] * 3u + a[6] * 5u + a[7]",
		"uint(int((b[0] + b[1] + b[2] + b[3] + b[4]) * 16.0))", "global"}
	if m.stage == "" {
		list = append(list, "bins[lid & 15u]")
		m.line("barrier();")
	}
	if m.wide {
		list = append(list, "uint(l0) ^ uint(l0 >> 32) ^ uint(l1) ^ uint(l1 >> 32)", "uint(h0) + (uint(c0) << 8)",
			"uint(int(d0 * 16.0lf))")
	}
	for n, e := range list {
		m.line("results[gid * %du + %du] = %s;", makerOutputs, n, e)
	}
}

// phase is a part of main between barriers, sometimes in control flow that is the same for a workgroup.
func (m *shaderMaker) phase(nest bool) {
	if nest && m.rng.IntN(3) == 0 {
		if m.rng.IntN(2) == 0 {
			m.line("for (uint r%d = 0; r%d < %d + group; r%d++) {", m.counters, m.counters, 1+m.rng.IntN(2), m.counters)
			m.counters++
		} else {
			m.line("if ((group + pushed[%d]) %% 2 == %d) {", m.rng.IntN(4), m.rng.IntN(2))
		}
		m.depth++
		m.phase(false)
		m.phase(false)
		m.depth--
		m.line("}")
		return
	}
	m.budget = 14
	m.operation = []string{"atomicAdd", "atomicXor", "atomicMax", "atomicOr", "atomicMin", "atomicAnd"}[m.rng.IntN(6)]
	m.atomics = m.rng.IntN(2) == 0
	m.statements(0)
	m.atomics = false
	m.line("tile[lid] = %s;", m.unsigned(2))
	m.line("barrier();")
	m.shared = true
	m.budget = 6
	m.statements(0)
	m.shared = false
	m.line("barrier();")
}

// statements writes a list of them.
func (m *shaderMaker) statements(nest int) {
	for n := 1 + m.rng.IntN(5); n > 0 && m.budget > 0; n-- {
		m.budget--
		m.statement(nest)
	}
}

func (m *shaderMaker) block(head string, nest int, args ...any) {
	m.line(head+" {", args...)
	m.depth++
	m.statements(nest)
	m.depth--
	m.line("}")
}

// inside runs f with other rules for break and continue.
func (m *shaderMaker) inside(breakable, inSwitch bool, loops int, f func()) {
	b, s, l := m.breakable, m.inSwitch, m.loops
	m.breakable, m.inSwitch, m.loops = breakable, inSwitch, loops
	f()
	m.breakable, m.inSwitch, m.loops = b, s, l
}

func (m *shaderMaker) statement(nest int) {
	most := 2
	if m.function {
		most = 1
	}
	kind := m.rng.IntN(22)
	if nest >= 4 && kind >= 8 && kind < 16 {
		kind = m.rng.IntN(8)
	}
	switch kind {
	default:
		m.assignment()
	case 8, 9, 10:
		m.block("if (%s)", nest+1, m.boolean(2))
		if m.rng.IntN(2) == 0 {
			m.block("else", nest+1)
		}
	case 11, 12, 13:
		if m.loops >= most {
			m.assignment()
			return
		}
		k, bound := fmt.Sprintf("k%d", m.counters), fmt.Sprint(1+m.rng.IntN(5))
		m.counters++
		if m.rng.IntN(2) == 0 {
			bound = "(" + m.unsigned(1) + " & 3u) + 1u"
		}
		switch kind {
		case 11:
			m.inside(true, false, m.loops+1, func() {
				m.block("for (uint %s = 0; %s < %s; %s++)", nest+1, k, k, bound, k)
			})
		case 12:
			m.line("uint %s = 0;", k)
			m.inside(true, false, m.loops+1, func() { m.block("while (%s++ < %s && %s)", nest+1, k, bound, m.boolean(1)) })
		default:
			// All invocations go round as often: of those that leave earlier, lavapipe 22.3 forgets what the loop's body had
			// computed for them.
			m.line("uint %s = 0;", k)
			m.inside(false, false, m.loops+1, func() { m.block("do", nest+1) })
			m.line("while (++%s < %d);", k, 1+m.rng.IntN(5))
		}
	case 14:
		cases := 2 + m.rng.IntN(3)
		m.line("switch (%s %% %du) {", m.unsigned(1), cases+m.rng.IntN(2))
		m.inside(true, true, m.loops, func() {
			for n := range cases {
				if n == cases-1 && m.rng.IntN(2) == 0 {
					m.line("default:")
				} else {
					m.line("case %d:", n)
				}
				m.depth++
				m.line("{")
				m.statements(nest + 1)
				m.line("}")
				if n == cases-1 || m.rng.IntN(3) != 0 {
					m.line("break;")
				}
				m.depth--
			}
		})
		m.line("}")
	case 15:
		if m.breakable && (!m.inSwitch || m.loops > 0) {
			jump := "break"
			if m.loops > 0 && (m.inSwitch || m.rng.IntN(2) == 0) {
				jump = "continue"
			}
			m.line("if (%s) %s;", m.boolean(1), jump)
		} else if m.function {
			m.line("if (%s) return %s;", m.boolean(1), m.unsigned(1))
		}
	case 16, 17:
		if m.function || len(m.functions) == 0 || m.loops > 1 {
			m.assignment()
			return
		}
		m.line("%s = %s(%s, %s, %s, %s);", m.pick("u0", "u2", "u3"), m.functions[m.rng.IntN(len(m.functions))], m.unsigned(1),
			m.signed(1), m.float(1), m.pick("u1", "p.x", "a[3]"))
	case 18:
		if m.function {
			m.line("global = global * 3u + %s;", m.unsigned(1))
		} else if m.atomics {
			m.line("%s(bins[%s & 15u], %s);", m.operation, m.unsigned(1), m.unsigned(1))
		} else if m.stage != "vert" {
			m.line("scratch[gid * 16u + (%s & 15u)] = %s;", m.unsigned(1), m.unsigned(2))
		}
	}
}

func (m *shaderMaker) pick(list ...string) string { return list[m.rng.IntN(len(list))] }

func (m *shaderMaker) assignment() {
	kinds := 10
	if m.wide {
		kinds = 15
	}
	switch m.rng.IntN(kinds) {
	case 0, 1:
		m.line("%s %s %s;", m.pick("u0", "u1", "u2", "u3", "p.x", "global"), m.pick("=", "+=", "^=", "*=", "-=", "|=", "&="),
			m.unsigned(3))
	case 2, 3:
		m.line("%s %s %s;", m.pick("i0", "i1", "i2", "p.y.x", "p.y.y"), m.pick("=", "+=", "^=", "*=", "-="), m.signed(3))
	case 4, 5:
		m.line("%s = %s;", m.pick("x0", "x1", "x2", "p.z"), m.float(3))
	case 6:
		m.line("a[%s & 7u] %s %s;", m.unsigned(1), m.pick("=", "+=", "^="), m.unsigned(2))
	case 7:
		m.line("b[%s %% 5u] = %s;", m.unsigned(1), m.float(2))
	case 8:
		switch m.rng.IntN(3) {
		case 0:
			m.line("v[%s & 3u] = %s;", m.unsigned(1), m.unsigned(2))
		case 1:
			m.line("v = v.%s %s uvec4(%s, %s, 3, %s);", m.pick("wzyx", "yyxw", "xzyw"), m.pick("+", "^", "*", "|"),
				m.unsigned(1), m.unsigned(1), m.unsigned(1))
		default:
			m.line("v.%s = uvec2(%s, %s);", m.pick("xy", "wz", "yw"), m.unsigned(1), m.unsigned(1))
		}
	case 9:
		if m.rng.IntN(2) == 0 {
			m.line("w[%s %% 3u] = %s;", m.unsigned(1), m.float(2))
		} else {
			m.line("w = vec3(fix(w.y + %s), w.z, fix(w.x * 0.5));", m.float(1))
		}
	case 10:
		m.line("l0 %s %s;", m.pick("=", "+=", "^=", "*="), m.long(2))
	case 11:
		m.line("l1 = int64_t(%s) %s l1;", m.long(2), m.pick("+", "-", "^", "&"))
	case 12:
		m.line("h0 = uint16_t(%s) %s h0;", m.unsigned(2), m.pick("+", "*", "^", "-"))
	case 13:
		m.line("c0 = int8_t(%s) %s c0;", m.signed(2), m.pick("+", "*", "^", "-"))
	case 14:
		m.line("d0 = fix(d0 %s double(%s));", m.pick("+", "-", "*"), m.float(2))
	}
}

func (m *shaderMaker) literal() string {
	return fmt.Sprintf("%.4f", float64(m.rng.IntN(400)-200)/16)
}

// simple is an unsigned number without operators.
func (m *shaderMaker) simple() string {
	list := []string{"u0", "u1", fmt.Sprintf("%du", m.rng.IntN(20)), fmt.Sprintf("0x%xu", m.rng.Uint32()), "pushed[1]"}
	return m.pick(list...)
}

func (m *shaderMaker) unsigned(depth int) string {
	if depth == 0 || m.rng.IntN(5) == 0 {
		list := []string{"u0", "u1", "u2", "u3", "v.x", "v.w", "p.x", "a[2]", "global", fmt.Sprintf("%du", m.rng.IntN(40)),
			fmt.Sprintf("0x%xu", m.rng.Uint32())}
		if !m.function {
			list = append(list, "lid", "gid", "group")
		}
		return m.pick(list...)
	}
	d := depth - 1
	kinds := 19
	if m.wide {
		kinds = 22
	}
	switch m.rng.IntN(kinds) {
	default:
		return fmt.Sprintf("(%s %s %s)", m.unsigned(d), m.pick("+", "-", "*", "&", "|", "^"), m.unsigned(d))
	case 6:
		return fmt.Sprintf("(%s %s (%s & 31u))", m.unsigned(d), m.pick("<<", ">>"), m.unsigned(d))
	case 7:
		return fmt.Sprintf("(%s %s (%s | 1u))", m.unsigned(d), m.pick("/", "%"), m.unsigned(d))
	case 8:
		return fmt.Sprintf("uint(%s)", m.signed(d))
	case 9:
		return fmt.Sprintf("uint(abs(%s))", m.float(d))
	case 10:
		return fmt.Sprintf("(%s ? %s : %s)", m.boolean(d), m.unsigned(d), m.unsigned(d))
	case 11:
		return fmt.Sprintf("%s(%s, %s)", m.pick("min", "max"), m.unsigned(d), m.unsigned(d))
	case 12:
		return fmt.Sprintf(m.pick("uint(bitCount(%s))", "bitfieldReverse(%s)", "uint(findMSB(%s))", "uint(findLSB(%s))",
			"bitfieldExtract(%s, 3, 9)", "bitfieldInsert(%s, u1, 5, 11)"), m.unsigned(d))
	case 13:
		return fmt.Sprintf("a[%s & 7u]", m.unsigned(d))
	case 14:
		return fmt.Sprintf("v[%s & 3u]", m.unsigned(d))
	case 15:
		return fmt.Sprintf("%s[%s & %du]", m.pick("data", "primes"), m.unsigned(d), 7)
	case 16:
		// Indices into push constants must be the same for a workgroup.
		if m.stage != "" {
			return m.pick("pushed[2]", "pushed[(pushed[0] * 3u + pushed[3]) & 3u]")
		}
		return m.pick("pushed[2]", "pushed[gl_WorkGroupID.x & 3u]", "pushed[(gl_WorkGroupID.x * 3u + pushed[0]) & 3u]")
	case 17:
		if m.shared {
			return fmt.Sprintf("tile[%s %% %du]", m.unsigned(d), m.local)
		}
		if m.function || m.stage == "vert" {
			return "uint(-i0)"
		}
		return fmt.Sprintf("scratch[gid * 16u + (%s & 15u)]", m.unsigned(d))
	case 19:
		return fmt.Sprintf("uint(%s >> 7)", m.long(d))
	case 20:
		return m.pick("uint(h0)", "uint(c0)", "uint(h0 >> 3)", "uint(c0 >> 1)", "uint(l1 >> 40)", "uint(h0 * h0)")
	case 21:
		return "uint(abs(d0))"
	}
}

// long is of 64 bits.
func (m *shaderMaker) long(depth int) string {
	if depth == 0 {
		return m.pick("l0", "uint64_t(l1)", "uint64_t(u2)", "0x9e3779b97f4a7c15ul", "uint64_t(i1)", "uint64_t(c0)")
	}
	d := depth - 1
	switch m.rng.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s %s (%s & 63u))", m.long(d), m.pick("<<", ">>"), m.unsigned(d))
	case 1:
		return fmt.Sprintf("(%s %s (%s | 1ul))", m.long(d), m.pick("/", "%"), m.long(d))
	case 2:
		return fmt.Sprintf("(%s ? %s : %s)", m.boolean(d), m.long(d), m.long(d))
	case 3:
		return fmt.Sprintf("%s(%s, %s)", m.pick("min", "max"), m.long(d), m.long(d))
	}
	return fmt.Sprintf("(%s %s %s)", m.long(d), m.pick("+", "-", "*", "^"), m.long(d))
}

func (m *shaderMaker) signed(depth int) string {
	if depth == 0 || m.rng.IntN(5) == 0 {
		return m.pick("i0", "i1", "i2", "p.y.x", "p.y.y", fmt.Sprint(m.rng.IntN(100)),
			fmt.Sprintf("(-%d)", m.rng.IntN(100000)))
	}
	d := depth - 1
	switch m.rng.IntN(12) {
	default:
		return fmt.Sprintf("(%s %s %s)", m.signed(d), m.pick("+", "-", "*", "&", "|", "^"), m.signed(d))
	case 5:
		return fmt.Sprintf("(%s %s (%s & 31u))", m.signed(d), m.pick("<<", ">>"), m.unsigned(d))
	case 6:
		return fmt.Sprintf("(%s / ((%s & 15) + 1))", m.signed(d), m.signed(d))
	case 7:
		return fmt.Sprintf("int(%s)", m.unsigned(d))
	case 8:
		return fmt.Sprintf("int(%s)", m.float(d))
	case 9:
		return fmt.Sprintf("(%s ? %s : %s)", m.boolean(d), m.signed(d), m.signed(d))
	case 10:
		return fmt.Sprintf("%s(%s, %s)", m.pick("min", "max"), m.signed(d), m.signed(d))
	case 11:
		return fmt.Sprintf(m.pick("sign(%s)", "(-%s)", "(~%s)", "bitfieldExtract(%s, 2, 13)", "findMSB(%s)"), m.signed(d))
	}
}

func (m *shaderMaker) float(depth int) string {
	if depth == 0 || m.rng.IntN(5) == 0 {
		return m.pick("x0", "x1", "x2", "w.x", "w.z", "p.z", "b[1]", "("+m.literal()+")")
	}
	d := depth - 1
	switch m.rng.IntN(13) {
	default:
		return fmt.Sprintf("fix(%s %s %s)", m.float(d), m.pick("+", "-", "*"), m.float(d))
	case 4:
		return fmt.Sprintf("%s(%s, %s)", m.pick("min", "max"), m.float(d), m.float(d))
	case 5:
		return fmt.Sprintf("%s(%s)", m.pick("abs", "floor", "ceil", "trunc", "sign", "fract", "roundEven", "-"), m.float(d))
	case 6:
		return fmt.Sprintf("float(%s & 0xffff)", m.signed(d))
	case 7:
		return fmt.Sprintf("float(%s & 0xffffu)", m.unsigned(d))
	case 8:
		return fmt.Sprintf("(%s ? %s : %s)", m.boolean(d), m.float(d), m.float(d))
	case 9:
		return fmt.Sprintf("b[%s %% 5u]", m.unsigned(d))
	case 10:
		return fmt.Sprintf("w[%s %% 3u]", m.unsigned(d))
	case 11:
		return fmt.Sprintf("mix(%s, %s, %s)", m.float(d), m.float(d), m.boolean(d))
	case 12:
		return fmt.Sprintf("clamp(%s, -8.0, %s)", m.float(d), m.pick("9.5", "100.0"))
	}
}

func (m *shaderMaker) boolean(depth int) string {
	d := max(depth-1, 0)
	compare := m.pick("<", "<=", ">", ">=", "==", "!=")
	switch m.rng.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", m.unsigned(d), compare, m.unsigned(d))
	case 2:
		return fmt.Sprintf("(%s %s %s)", m.signed(d), compare, m.signed(d))
	case 3:
		return fmt.Sprintf("(%s %s %s)", m.float(d), compare, m.float(d))
	case 4:
		return fmt.Sprintf("((%s & %du) != 0u)", m.unsigned(d), 1<<m.rng.IntN(6))
	case 5:
		if depth > 0 {
			return fmt.Sprintf("(%s %s %s)", m.boolean(d), m.pick("&&", "||", "^^"), m.boolean(d))
		}
		return "(u2 > 5u)"
	case 6:
		return fmt.Sprintf("!(%s %s %s)", m.unsigned(d), compare, m.unsigned(d))
	}
	return fmt.Sprintf("((%s %% 3u) == 1u)", m.unsigned(d))
}
