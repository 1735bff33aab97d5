package compute

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// Random structured shaders over unsigned integers, each as GLSL and as Go that does the same for one invocation.

const (
	randomVariables = 6
	randomArray     = 12
)

type invocation struct {
	v      [randomVariables]uint32
	t      [randomArray]uint32
	k      [64]uint32 // counters of loops
	in     []uint32
	i      uint32
	steps  int
	result uint32
}

type expression struct {
	text string
	eval func(*invocation) uint32
}

// flow is how a statement ends.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
	flowReturn
)

type statement struct {
	text string
	exec func(*invocation) flow
}

type shaderMaker struct {
	*rand.Rand
	loops    int // that are open
	counters int
	inLoop   bool
	inSwitch bool
	budget   int
	uniform  []int // counters in scope
}

func (m *shaderMaker) expression(depth int) expression {
	if depth == 0 || m.Intn(4) == 0 {
		switch m.Intn(8) {
		case 0, 1:
			k := uint32(m.Intn(20))
			return expression{fmt.Sprintf("%du", k), func(*invocation) uint32 { return k }}
		case 2:
			return expression{"i", func(s *invocation) uint32 { return s.i }}
		case 3:
			if n := len(m.uniform); n > 0 {
				k := m.uniform[m.Intn(n)]
				return expression{fmt.Sprintf("k%d", k), func(s *invocation) uint32 { return s.k[k] }}
			}
			fallthrough
		default:
			k := m.Intn(randomVariables)
			return expression{fmt.Sprintf("v%d", k), func(s *invocation) uint32 { return s.v[k] }}
		}
	}
	a := m.expression(depth - 1)
	switch m.Intn(12) {
	case 0:
		return expression{fmt.Sprintf("a[(%s) & 63u]", a.text), func(s *invocation) uint32 { return s.in[a.eval(s)&63] }}
	case 1:
		return expression{fmt.Sprintf("t[(%s) %% %du]", a.text, randomArray), func(s *invocation) uint32 {
			return s.t[a.eval(s)%randomArray]
		}}
	}
	b := m.expression(depth - 1)
	ops := []struct {
		text string
		eval func(a, b uint32) uint32
	}{
		{"(%s + %s)", func(a, b uint32) uint32 { return a + b }},
		{"(%s - %s)", func(a, b uint32) uint32 { return a - b }},
		{"(%s * %s)", func(a, b uint32) uint32 { return a * b }},
		{"(%s ^ %s)", func(a, b uint32) uint32 { return a ^ b }},
		{"(%s & %s)", func(a, b uint32) uint32 { return a & b }},
		{"(%s | %s)", func(a, b uint32) uint32 { return a | b }},
		{"(%s >> (%s & 31u))", func(a, b uint32) uint32 { return a >> (b & 31) }},
		{"(%s << (%s & 7u))", func(a, b uint32) uint32 { return a << (b & 7) }},
		{"min(%s, %s)", func(a, b uint32) uint32 { return min(a, b) }},
		{"(%s / ((%s & 15u) + 1u))", func(a, b uint32) uint32 { return a / (b&15 + 1) }},
	}
	op := ops[m.Intn(len(ops))]
	return expression{fmt.Sprintf(op.text, a.text, b.text), func(s *invocation) uint32 {
		return op.eval(a.eval(s), b.eval(s))
	}}
}

func (m *shaderMaker) condition() expression {
	a, b := m.expression(1), m.expression(1)
	truth := func(b bool) uint32 {
		if b {
			return 1
		}
		return 0
	}
	switch m.Intn(5) {
	case 0:
		return expression{a.text + " < " + b.text, func(s *invocation) uint32 { return truth(a.eval(s) < b.eval(s)) }}
	case 1:
		return expression{a.text + " % 3u == " + b.text + " % 3u", func(s *invocation) uint32 {
			return truth(a.eval(s)%3 == b.eval(s)%3)
		}}
	case 2:
		c := m.expression(1)
		return expression{fmt.Sprintf("(%s & 1u) == 0u && %s > %s", a.text, b.text, c.text),
			func(s *invocation) uint32 { return truth(a.eval(s)&1 == 0 && b.eval(s) > c.eval(s)) }}
	case 3:
		return expression{fmt.Sprintf("(%s & 1u) == 0u || (%s & 3u) == 1u", a.text, b.text),
			func(s *invocation) uint32 { return truth(a.eval(s)&1 == 0 || b.eval(s)&3 == 1) }}
	}
	return expression{fmt.Sprintf("((i + %s) & 3u) != 1u", a.text), func(s *invocation) uint32 {
		return truth((s.i+a.eval(s))&3 != 1)
	}}
}

func (m *shaderMaker) block(depth int) statement {
	var list []statement
	for range 1 + m.Intn(4) {
		list = append(list, m.statement(depth))
	}
	var text strings.Builder
	text.WriteString("{\n")
	for _, s := range list {
		text.WriteString(s.text)
	}
	text.WriteString("}\n")
	return statement{text.String(), func(s *invocation) flow {
		for _, x := range list {
			if f := x.exec(s); f != flowNext {
				return f
			}
		}
		return flowNext
	}}
}

func (m *shaderMaker) statement(depth int) statement {
	m.budget--
	pick := m.Intn(14)
	if depth == 0 || m.budget < 0 {
		pick = m.Intn(5)
	}
	switch {
	case pick < 4:
		k, e := m.Intn(randomVariables), m.expression(2)
		return statement{fmt.Sprintf("v%d = %s;\n", k, e.text), func(s *invocation) flow {
			s.v[k] = e.eval(s)
			return flowNext
		}}
	case pick == 4:
		at, e := m.expression(1), m.expression(2)
		return statement{fmt.Sprintf("t[(%s) %% %du] = %s;\n", at.text, randomArray, e.text),
			func(s *invocation) flow { s.t[at.eval(s)%randomArray] = e.eval(s); return flowNext }}
	case pick < 8:
		c, yes := m.condition(), m.block(depth-1)
		if m.Intn(2) == 0 {
			return statement{fmt.Sprintf("if (%s) %s", c.text, yes.text), func(s *invocation) flow {
				if c.eval(s) != 0 {
					return yes.exec(s)
				}
				return flowNext
			}}
		}
		no := m.block(depth - 1)
		return statement{fmt.Sprintf("if (%s) %selse %s", c.text, yes.text, no.text), func(s *invocation) flow {
			if c.eval(s) != 0 {
				return yes.exec(s)
			}
			return no.exec(s)
		}}
	case pick < 11 && m.loops < 3:
		return m.loop(depth)
	case pick == 11 && m.inLoop:
		c := m.condition()
		word, f := "break", flowBreak
		if m.Intn(2) == 0 || m.inSwitch {
			word, f = "continue", flowContinue
		}
		return statement{fmt.Sprintf("if (%s) %s;\n", c.text, word), func(s *invocation) flow {
			if c.eval(s) != 0 {
				return f
			}
			return flowNext
		}}
	case pick == 12:
		return m.choice(depth)
	case pick == 13 && m.Intn(3) == 0:
		c, e := m.condition(), m.expression(1)
		return statement{fmt.Sprintf("if (%s) { result[i] = %s; return; }\n", c.text, e.text), func(s *invocation) flow {
			if c.eval(s) != 0 {
				s.result = e.eval(s)
				return flowReturn
			}
			return flowNext
		}}
	}
	k, e := m.Intn(randomVariables), m.expression(1)
	return statement{fmt.Sprintf("v%d += %s;\n", k, e.text), func(s *invocation) flow {
		s.v[k] += e.eval(s)
		return flowNext
	}}
}

func (m *shaderMaker) loop(depth int) statement {
	n := m.counters
	m.counters++
	bound := m.expression(1)
	limit := bound
	switch m.Intn(3) {
	case 0:
		k := uint32(1 + m.Intn(5))
		limit = expression{fmt.Sprintf("%du", k), func(*invocation) uint32 { return k }}
	default:
		limit = expression{fmt.Sprintf("((%s) & 7u)", bound.text), func(s *invocation) uint32 { return bound.eval(s) & 7 }}
	}
	inLoop, inSwitch := m.inLoop, m.inSwitch
	m.loops++
	m.inLoop, m.inSwitch = true, false
	m.uniform = append(m.uniform, n)
	body := m.block(depth - 1)
	m.uniform = m.uniform[:len(m.uniform)-1]
	m.inLoop, m.inSwitch = inLoop, inSwitch
	m.loops--
	post := m.Intn(3) == 0
	text := fmt.Sprintf("for (uint k%d = 0; k%d < %s; k%d++) %s", n, n, limit.text, n, body.text)
	if post {
		text = fmt.Sprintf("{ uint k%d = 0; do %s while (++k%d < %s); }\n", n, body.text, n, limit.text)
	}
	return statement{text, func(s *invocation) flow {
		for s.k[n] = 0; post || s.k[n] < limit.eval(s); s.k[n]++ {
			s.steps++
			f := body.exec(s)
			if f == flowBreak {
				break
			}
			if f == flowReturn {
				return f
			}
			if post && s.k[n]+1 >= limitAfter(s, n, limit) {
				break
			}
		}
		return flowNext
	}}
}

// limitAfter evaluates a do loop's limit, which sees the counter that has been raised.
func limitAfter(s *invocation, n int, limit expression) uint32 {
	s.k[n]++
	r := limit.eval(s)
	s.k[n]--
	return r
}

func (m *shaderMaker) choice(depth int) statement {
	e := m.expression(1)
	inSwitch := m.inSwitch
	m.inSwitch = true
	var cases [3]statement
	for k := range cases {
		cases[k] = m.block(depth - 1)
	}
	m.inSwitch = inSwitch
	through := m.Intn(2) == 0
	after := "break;\n"
	if through {
		after = ""
	}
	text := fmt.Sprintf("switch (%s %% 5u) {\ncase 0u: case 3u:\n%sbreak;\ncase 1u:\n%s%sdefault:\n%sbreak;\n}\n",
		e.text, cases[0].text, cases[1].text, after, cases[2].text)
	return statement{text, func(s *invocation) flow {
		var f flow
		switch e.eval(s) % 5 {
		case 0, 3:
			f = cases[0].exec(s)
		case 1:
			if f = cases[1].exec(s); f == flowNext && through {
				f = cases[2].exec(s)
			}
		default:
			f = cases[2].exec(s)
		}
		if f == flowBreak {
			return flowNext
		}
		return f
	}}
}

func TestRandomShaders(t *testing.T) {
	first, count := int64(1), 12
	if s := os.Getenv("FARSIDE_RANDOM"); s != "" { // "first count"
		from, n, _ := strings.Cut(s, " ")
		first, _ = strconv.ParseInt(from, 10, 64)
		count, _ = strconv.Atoi(n)
	}
	for seed := first; seed < first+int64(count); seed++ {
		randomShader(t, seed)
	}
}

func randomShader(t *testing.T, seed int64) {
	m := &shaderMaker{Rand: rand.New(rand.NewSource(seed)), budget: 40}
	body := m.block(4)
	var declare strings.Builder
	for k := range randomVariables {
		fmt.Fprintf(&declare, "uint v%d = i * %du + %du;\n", k, k, k)
	}
	fmt.Fprintf(&declare, "uint t[%d]; for (uint n = 0; n < %du; n++) t[n] = n;\n", randomArray, randomArray)
	text := declare.String() + body.text + "r = v0 + 3u * v1 + 5u * v2 + 7u * v3 + 11u * v4 + 13u * v5 + t[i % 12u];\n"
	const lanes, groups = 37, 2
	source := shader(lanes, "", text)
	p := compileWords(t, glslWords(t, source), Options{})
	out, in, f := make([]uint32, lanes*groups), make([]uint32, 64), make([]uint32, 64)
	for i := range in {
		in[i] = testInput(i)
	}
	mustRun(t, p, dispatch([3]uint32{groups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in, f}}))
	for i := range out {
		s := &invocation{in: in, i: uint32(i)}
		for k := range s.v {
			s.v[k] = uint32(i)*uint32(k) + uint32(k)
		}
		for k := range s.t {
			s.t[k] = uint32(k)
		}
		if body.exec(s) != flowReturn {
			s.result = s.v[0] + 3*s.v[1] + 5*s.v[2] + 7*s.v[3] + 11*s.v[4] + 13*s.v[5] + s.t[i%12]
		}
		if out[i] != s.result {
			t.Errorf("seed %d, invocation %d: %#x, want %#x\n%s\n%s", seed, i, out[i], s.result, source, p)
			return
		}
	}
}
