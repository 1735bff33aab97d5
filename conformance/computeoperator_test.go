package conformance

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
)

type integer interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64
}

// operatorCases mirror glsl.operator and glsl.conversions.
func operatorCases() []definition {
	row := func(name string, needs []string, run func(c *Case)) definition {
		return definition{name: "glsl." + name, compute: true, valid: true, needs: needs, run: run}
	}
	eight := []string{"ShaderInt8", "StorageBuffer8BitAccess", "UniformAndStorageBuffer8BitAccess"}
	sixteen := []string{"ShaderInt16", "StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess"}
	half16 := []string{"ShaderFloat16", "StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess"}
	all := []definition{
		row("operator.int", nil, func(c *Case) { integerOperators[int32](c, "int") }),
		row("operator.uint", nil, func(c *Case) { integerOperators[uint32](c, "uint") }),
		row("operator.int64", []string{"ShaderInt64"}, func(c *Case) { integerOperators[int64](c, "int64_t") }),
		row("operator.uint64", []string{"ShaderInt64"}, func(c *Case) { integerOperators[uint64](c, "uint64_t") }),
		row("operator.int16", sixteen, func(c *Case) { integerOperators[int16](c, "int16_t") }),
		row("operator.uint16", sixteen, func(c *Case) { integerOperators[uint16](c, "uint16_t") }),
		row("operator.int8", eight, func(c *Case) { integerOperators[int8](c, "int8_t") }),
		row("operator.uint8", eight, func(c *Case) { integerOperators[uint8](c, "uint8_t") }),
		row("operator.float", nil, floatOperators[float32]),
		row("operator.double", []string{"ShaderFloat64"}, floatOperators[float64]),
		row("operator.float16", half16, floatOperators[half]),
		row("builtin.function.integer.32bit", nil, bitOperators),
		row("builtin.function.integer.extended", nil, extendedOperators),
		row("operator.bool", nil, boolOperators),
		row("operator.vector", nil, vectorOperators),
	}
	return append(all, conversionCases()...)
}

// integerTriples are edges and random values of all magnitudes.
func integerTriples[T integer]() [][3]T {
	rng := rand.New(rand.NewPCG(1, 2))
	edges := []T{0, 1, 2, ^T(0), ^T(0) - 1, 1 << (width[T]() - 1), 1<<(width[T]()-1) - 1, 7, 100}
	var list [][3]T
	for _, a := range edges {
		for _, b := range edges {
			list = append(list, [3]T{a, b, edges[rng.IntN(len(edges))]})
		}
	}
	for range 200 {
		var t [3]T
		for k := range t {
			t[k] = T(rng.Uint64()) >> rng.IntN(width[T]())
		}
		list = append(list, t)
	}
	return list
}

func width[T integer]() int { return bits.Len64(uint64(^T(0)) & maskOf[T]()) }

func maskOf[T integer]() uint64 {
	var t T
	switch any(t).(type) {
	case int8, uint8:
		return math.MaxUint8
	case int16, uint16:
		return math.MaxUint16
	case int32, uint32:
		return math.MaxUint32
	}
	return math.MaxUint64
}

func truth[T integer | float32](b bool) T {
	if b {
		return 1
	}
	return 0
}

func integerOperators[T integer](c *Case, name string) {
	w := width[T]()
	lowest := T(1) << (w - 1) // of signed types
	signed := ^T(0) < 0
	divisor := func(a, b T) T {
		if b == 0 || signed && b == ^T(0) && a == lowest {
			return 1
		}
		return b
	}
	div := "(b == 0 || b == ~%[1]s(0) && a == (%[1]s(1) << %[2]d) ? %[1]s(1) : b)"
	if !signed {
		div = "(b == 0 ? %[1]s(1) : b)"
	}
	div = fmt.Sprintf(strings.ReplaceAll(div, "== 0", "== %[1]s(0)"), name, w-1)
	list := []expression[T, T]{
		{"a + b", func(a, b, _ T) T { return a + b }, nil},
		{"a - b", func(a, b, _ T) T { return a - b }, nil},
		{"a * b", func(a, b, _ T) T { return a * b }, nil},
		{"a * b + c", func(a, b, c T) T { return a*b + c }, nil},
		{"a / " + div, func(a, b, _ T) T { return a / divisor(a, b) }, nil},
		{"-a", func(a, _, _ T) T { return -a }, nil},
		{"~a", func(a, _, _ T) T { return ^a }, nil},
		{"a & b", func(a, b, _ T) T { return a & b }, nil},
		{"a | b", func(a, b, _ T) T { return a | b }, nil},
		{"a ^ b", func(a, b, _ T) T { return a ^ b }, nil},
		{fmt.Sprintf("a << (b & %s(%d))", name, w-1), func(a, b, _ T) T { return a << (b & T(w-1)) }, nil},
		{fmt.Sprintf("a >> (b & %s(%d))", name, w-1), func(a, b, _ T) T { return a >> (b & T(w-1)) }, nil},
		{"a < b", func(a, b, _ T) T { return truth[T](a < b) }, nil},
		{"a <= b", func(a, b, _ T) T { return truth[T](a <= b) }, nil},
		{"a > b", func(a, b, _ T) T { return truth[T](a > b) }, nil},
		{"a >= b", func(a, b, _ T) T { return truth[T](a >= b) }, nil},
		{"a == b", func(a, b, _ T) T { return truth[T](a == b) }, nil},
		{"a != b", func(a, b, _ T) T { return truth[T](a != b) }, nil},
		{"a < b ? b : c", func(a, b, c T) T {
			if a < b {
				return b
			}
			return c
		}, nil},
		{"min(a, b)", func(a, b, _ T) T { return min(a, b) }, nil},
		{"max(a, b)", func(a, b, _ T) T { return max(a, b) }, nil},
		{"clamp(c, min(a, b), max(a, b))", func(a, b, c T) T { return min(max(c, min(a, b)), max(a, b)) }, nil},
	}
	if signed {
		list = append(list,
			expression[T, T]{"abs(a)", func(a, _, _ T) T { return max(a, -a) }, nil},
			expression[T, T]{"sign(a)", func(a, _, _ T) T { return truth[T](a > 0) - truth[T](a < 0) }, nil},
			// The remainder of a negative number is undefined.
			expression[T, T]{fmt.Sprintf("(a & ~(%[1]s(1) << %[2]d)) %% (max(b & ~(%[1]s(1) << %[2]d), %[1]s(1)))", name, w-1),
				func(a, b, _ T) T { return (a &^ lowest) % max(b&^lowest, 1) }, nil})
		for i := range list { // |lowest| is not defined by GLSL
			if list[i].text == "abs(a)" {
				list[i].text = fmt.Sprintf("a == %s(1) << %d ? a : abs(a)", name, w-1)
			}
		}
	} else {
		list = append(list, expression[T, T]{"a % " + div, func(a, b, _ T) T { return a % divisor(a, b) }, nil})
	}
	wantExpressions(c, name, name, "", integerTriples[T](), list)
}

// bitOperators are the functions on bits, which GLSL has for 32 bits.
func bitOperators(c *Case) {
	field := func(b, c uint32) (offset, count uint32) {
		offset = b & 31
		return offset, c & 31 % (33 - offset)
	}
	const at = "int(b & 31u), int((c & 31u) % (33u - (b & 31u)))"
	wantExpressions(c, "uint", "uint", "", integerTriples[uint32](), []expression[uint32, uint32]{
		{"bitCount(a)", func(a, _, _ uint32) uint32 { return uint32(bits.OnesCount32(a)) }, nil},
		{"bitfieldReverse(a)", func(a, _, _ uint32) uint32 { return bits.Reverse32(a) }, nil},
		{"findLSB(a)", func(a, _, _ uint32) uint32 {
			if a == 0 {
				return ^uint32(0)
			}
			return uint32(bits.TrailingZeros32(a))
		}, nil},
		{"findMSB(a)", func(a, _, _ uint32) uint32 { return uint32(bits.Len32(a)) - 1 }, nil},
		{"findMSB(int(a))", func(a, _, _ uint32) uint32 {
			if int32(a) < 0 {
				a = ^a
			}
			return uint32(bits.Len32(a)) - 1
		}, nil},
		{"bitfieldExtract(a, " + at + ")", func(a, b, c uint32) uint32 {
			o, n := field(b, c)
			return a >> o & (1<<n - 1)
		}, nil},
		{"bitfieldExtract(int(a), " + at + ")", func(a, b, c uint32) uint32 {
			o, n := field(b, c)
			if n == 0 {
				return 0
			}
			return uint32(int32(a<<(32-o-n)) >> (32 - n))
		}, nil},
		{"bitfieldInsert(a, ~a * 3u, " + at + ")", func(a, b, c uint32) uint32 {
			o, n := field(b, c)
			mask := uint32(1<<n-1) << o
			return a&^mask | ^a*3<<o&mask
		}, nil},
	})
}

func extendedOperators(c *Case) {
	const functions = `
uint carry(uint a, uint b, out uint s) { uint k; s = uaddCarry(a, b, k); return k; }
uint borrow(uint a, uint b, out uint s) { uint k; s = usubBorrow(a, b, k); return k; }
uint high(uint a, uint b, out uint l) { uint h; umulExtended(a, b, h, l); return h; }
int highs(int a, int b, out int l) { int h; imulExtended(a, b, h, l); return h; }
uint u;
int s;
`
	wantExpressions(c, "uint", "uint", functions, integerTriples[uint32](), []expression[uint32, uint32]{
		{"carry(a, b, u)", func(a, b, _ uint32) uint32 { return uint32((uint64(a) + uint64(b)) >> 32) }, nil},
		{"u", func(a, b, _ uint32) uint32 { return a + b }, nil},
		{"borrow(a, b, u)", func(a, b, _ uint32) uint32 { return truth[uint32](a < b) }, nil},
		{"u", func(a, b, _ uint32) uint32 { return a - b }, nil},
		{"high(a, b, u)", func(a, b, _ uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }, nil},
		{"u", func(a, b, _ uint32) uint32 { return a * b }, nil},
		{"highs(int(a), int(b), s)", func(a, b, _ uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) },
			nil},
		{"s", func(a, b, _ uint32) uint32 { return a * b }, nil},
	})
}

func boolOperators(c *Case) {
	at := func(x uint32) bool { return x&1 != 0 }
	wantExpressions(c, "uint", "uint",
		"bool at(uint x) { return (x & 1u) != 0u; }\nuint effects = 0;\nbool effect(bool r) { effects++; return r; }\n",
		integerTriples[uint32](), []expression[uint32, uint32]{
			{"at(a) && at(b)", func(a, b, _ uint32) uint32 { return truth[uint32](at(a) && at(b)) }, nil},
			{"at(a) || at(b)", func(a, b, _ uint32) uint32 { return truth[uint32](at(a) || at(b)) }, nil},
			{"at(a) ^^ at(b)", func(a, b, _ uint32) uint32 { return truth[uint32](at(a) != at(b)) }, nil},
			{"!at(a)", func(a, _, _ uint32) uint32 { return truth[uint32](!at(a)) }, nil},
			{"at(a) == at(c)", func(a, _, c uint32) uint32 { return truth[uint32](at(a) == at(c)) }, nil},
			{"at(a) ? b : c", func(a, b, c uint32) uint32 {
				if at(a) {
					return b
				}
				return c
			}, nil},
			{"all(bvec3(at(a), at(b), at(c)))", func(a, b, c uint32) uint32 { return a & b & c & 1 }, nil},
			{"any(bvec3(at(a), at(b), at(c)))", func(a, b, c uint32) uint32 { return (a | b | c) & 1 }, nil},
			{"not(bvec2(at(a), at(b))).y", func(_, b, _ uint32) uint32 { return ^b & 1 }, nil},
			// The right side has an effect only if it is evaluated.
			{"effect(at(a)) && effect(at(b))", func(a, b, _ uint32) uint32 { return a & b & 1 }, nil},
			{"effects", func(a, _, _ uint32) uint32 { return 1 + a&1 }, nil},
			{"effect(at(a)) || effect(at(b))", func(a, b, _ uint32) uint32 { return (a | b) & 1 }, nil},
			{"effects", func(a, _, _ uint32) uint32 { return 3 }, nil},
		})
}

func vectorOperators(c *Case) {
	wantExpressions(c, "uint", "uint", "", integerTriples[uint32](), []expression[uint32, uint32]{
		{"(uvec3(a, b, c) + uvec3(1, 2, 3)).z", func(_, _, c uint32) uint32 { return c + 3 }, nil},
		{"(uvec3(a, b, c).zxy * uvec3(1, 2, 3)).y", func(a, _, _ uint32) uint32 { return a * 2 }, nil},
		{"(uvec4(a, b, c, a).wwzy ^ 5u).z", func(_, _, c uint32) uint32 { return c ^ 5 }, nil},
		{"lessThan(uvec2(a, b), uvec2(b, c)).y", func(_, b, c uint32) uint32 { return truth[uint32](b < c) }, nil},
		{"uvec3(a, b, c)[a % 3u]", func(a, b, c uint32) uint32 { return [3]uint32{a, b, c}[a%3] }, nil},
		{"(uvec2(a, b) == uvec2(b, b))", func(a, b, _ uint32) uint32 { return truth[uint32](a == b) }, nil},
		{"(uvec2(a, b) != uvec2(a, c))", func(_, b, c uint32) uint32 { return truth[uint32](b != c) }, nil},
		{"mix(uvec2(a, b), uvec2(c, a), bvec2(a < b, b < c)).x", func(a, b, c uint32) uint32 {
			if a < b {
				return c
			}
			return a
		}, nil},
		{"notEqual(ivec3(a, b, c), ivec3(c, b, a)).z", func(a, _, c uint32) uint32 { return truth[uint32](a != c) }, nil},
		{"greaterThanEqual(ivec3(a, b, c), ivec3(c, b, a)).x",
			func(a, _, c uint32) uint32 { return truth[uint32](int32(a) >= int32(c)) }, nil},
		{"(-ivec3(a, b, c)).y", func(_, b, _ uint32) uint32 { return -b }, nil},
		{"(uvec2(a, b) << uvec2(c & 31u, a & 31u)).y", func(a, b, _ uint32) uint32 { return b << (a & 31) }, nil},
	})
}

// floatTriples are edges and random values of middling and of all magnitudes.
func floatTriples(f *floatFormat) [][3]float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	edges := []float64{0, 1, -1, 0.5, 2, 3, -1.5, f.max, -f.max, math.Ldexp(1, f.minExponent), math.Pi, 1 / 3.0}
	var list [][3]float64
	for _, a := range edges {
		for _, b := range edges {
			list = append(list, [3]float64{a, b, edges[rng.IntN(len(edges))]})
		}
	}
	for i := range 300 {
		var t [3]float64
		for k := range t {
			magnitude := float64(10)
			if i%3 == 0 {
				magnitude = float64(-f.minExponent) * 2
			}
			t[k] = math.Copysign(math.Exp2((rng.Float64()-0.5)*magnitude), rng.Float64()-0.5)
		}
		list = append(list, t)
	}
	return list
}

func floatOperators[T number](c *Case) {
	f := formatOf[T]()
	// Flushed denormals are another operand: what depends on them is not asked for.
	normal := func(want float64, in ...float64) float64 {
		for _, x := range in {
			if x != 0 && math.Abs(x) < math.Ldexp(1, f.minExponent) {
				return math.NaN()
			}
		}
		return want
	}
	exact := ulps(0)
	wantFloats[T](c, "", floatTriples(f), []expression[float64, float64]{
		{"a + b", func(a, b, _ float64) float64 { return normal(a+b, a, b) }, exact},
		{"a - b", func(a, b, _ float64) float64 { return normal(a-b, a, b) }, exact},
		{"a * b", func(a, b, _ float64) float64 { return normal(a*b, a, b) }, exact},
		{"a / b", func(a, b, _ float64) float64 {
			if b == 0 || math.Abs(b) > f.max/4 || math.Abs(b) < math.Ldexp(1, f.minExponent+1) {
				return math.NaN()
			}
			return normal(a/b, a, b)
		}, ulps(2.5)},
		{"-a", func(a, _, _ float64) float64 { return normal(-a, a) }, exact},
		{f.name + "(a < b)", func(a, b, _ float64) float64 { return normal(float64(truth[float32](a < b)), a, b) }, exact},
		{f.name + "(a <= b)", func(a, b, _ float64) float64 { return normal(float64(truth[float32](a <= b)), a, b) }, exact},
		{f.name + "(a > b)", func(a, b, _ float64) float64 { return normal(float64(truth[float32](a > b)), a, b) }, exact},
		{f.name + "(a >= b)", func(a, b, _ float64) float64 { return normal(float64(truth[float32](a >= b)), a, b) }, exact},
		{f.name + "(a == b)", func(a, b, _ float64) float64 { return normal(float64(truth[float32](a == b)), a, b) }, exact},
		{f.name + "(a != b)", func(a, b, _ float64) float64 { return normal(float64(truth[float32](a != b)), a, b) }, exact},
		{"a < b ? b : c", func(a, b, c float64) float64 {
			if a < b {
				return normal(b, a, b, c)
			}
			return normal(c, a, b, c)
		}, exact},
	})
}
