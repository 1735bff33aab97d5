package conformance

import (
	"math"
	"math/rand/v2"
)

// builtinCases mirror glsl.builtin.precision and glsl.builtin.function: every function of GLSL.std.450 on floats, with
// the precision that the chapter "Precision and Operation of SPIR-V Instructions" asks for.
func builtinCases() []definition {
	row := func(name string, needs []string, run func(c *Case)) definition {
		return definition{name: "glsl.builtin." + name, compute: true, valid: true, needs: needs, run: run}
	}
	half16 := []string{"ShaderFloat16", "StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess"}
	var all []definition
	for _, g := range []struct {
		name string
		list []expression[float64, float64]
	}{
		{"trigonometric", trigonometric}, {"exponential", exponential}, {"common", commonFunctions}, {"geometric", geometric},
		{"matrix", matrixFunctions},
	} {
		all = append(all, row("precision."+g.name+".float", nil, func(c *Case) {
			wantFloats[float32](c, floatPreamble("float", "vec", "mat"), moderate(format32), g.list)
		}),
			row("precision."+g.name+".float16", half16, func(c *Case) {
				wantFloats[half](c, floatPreamble("float16_t", "f16vec", "f16mat"), moderate(format16), g.list)
			}))
	}
	all = append(all,
		row("precision_double.common", []string{"ShaderFloat64"}, func(c *Case) {
			wantFloats[float64](c, floatPreamble("double", "dvec", "dmat"), moderate(format64), commonFunctions)
		}),
		row("precision_double.geometric", []string{"ShaderFloat64"}, func(c *Case) {
			wantFloats[float64](c, floatPreamble("double", "dvec", "dmat"), moderate(format64), geometric)
		}),
		row("precision_double.matrix", []string{"ShaderFloat64"}, func(c *Case) {
			wantFloats[float64](c, floatPreamble("double", "dvec", "dmat"), moderate(format64), matrixFunctions)
		}),
		row("function.pack_unpack", nil, packs),
		row("function.frexp_ldexp", nil, func(c *Case) { frexps[float32](c, "float") }),
		row("function.frexp_ldexp_double", []string{"ShaderFloat64"}, func(c *Case) { frexps[float64](c, "double") }),
		row("function.pack_double", []string{"ShaderFloat64"}, packDouble))
	return all
}

// floatPreamble names a float's type and its vectors, and has functions with more than one result.
func floatPreamble(scalar, vector, matrix string) string {
	return "#define T " + scalar + "\n#define V2 " + vector + "2\n#define V3 " + vector + "3\n#define V4 " + vector +
		"4\n#define M2 " + matrix + "2\n#define M3 " +
		matrix + "3\n#define M4 " + matrix + "4\n#define M23 " + matrix + "2x3\n#define M32 " + matrix + "3x2\n" + `
T whole(T x) { T w; T f = modf(x, w); return w; }
T fraction(T x) { T w; return modf(x, w); }
`
}

// moderate are triples of numbers that are not far from 1, and some exact ones.
func moderate(f *floatFormat) [][3]float64 {
	rng := rand.New(rand.NewPCG(7, 8))
	edges := []float64{0, 1, -1, 0.5, -0.5, 2, 1.5, 2.5, -2.5, 3.5, 0.25, 10, -7, 100}
	var list [][3]float64
	for _, a := range edges {
		for _, b := range edges {
			list = append(list, [3]float64{a, b, edges[rng.IntN(len(edges))]})
		}
	}
	for range 400 {
		var t [3]float64
		for k := range t {
			t[k] = math.Copysign(math.Exp2((rng.Float64()-0.6)*10), rng.Float64()-0.5)
		}
		list = append(list, t)
	}
	return list
}

var nan = math.NaN()

// only is x where ok, and anything elsewhere.
func only(ok bool, x float64) float64 {
	if !ok {
		return nan
	}
	return x
}

type floatExpression = expression[float64, float64]

func unary(text string, f func(float64) float64, t tolerance) floatExpression {
	return floatExpression{text, func(a, _, _ float64) float64 { return f(a) }, t}
}

var trigonometric = []floatExpression{
	unary("radians(a)", func(x float64) float64 { return x * math.Pi / 180 }, ulps(2)),
	unary("degrees(a)", func(x float64) float64 { return x * 180 / math.Pi }, ulps(2)),
	unary("sin(a)", func(x float64) float64 { return only(math.Abs(x) <= math.Pi, math.Sin(x)) }, within(0x1p-11, 0x1p-7)),
	unary("cos(a)", func(x float64) float64 { return only(math.Abs(x) <= math.Pi, math.Cos(x)) }, within(0x1p-11, 0x1p-7)),
	unary("tan(a)", func(x float64) float64 { return only(math.Abs(x) <= 1.4, math.Tan(x)) },
		func(f *floatFormat, want float64, in [3]float64) float64 {
			e := within(0x1p-11, 0x1p-7)(f, want, in)
			return e*(1+math.Abs(want))/math.Max(math.Abs(math.Cos(in[0]))-e, 1e-3) + 3*f.ulp(want)
		}),
	unary("asin(a)", func(x float64) float64 { return only(math.Abs(x) <= 1, math.Asin(x)) }, arcus),
	unary("acos(a)", func(x float64) float64 { return only(math.Abs(x) <= 1, math.Acos(x)) }, arcus),
	unary("atan(a)", math.Atan, tolerance4096),
	{"atan(a, b)", func(a, b, _ float64) float64 { return only(a != 0 && b != 0, math.Atan2(a, b)) }, tolerance4096},
	unary("sinh(a)", func(x float64) float64 { return only(math.Abs(x) < 8, math.Sinh(x)) }, hyperbolic),
	unary("cosh(a)", func(x float64) float64 { return only(math.Abs(x) < 8, math.Cosh(x)) }, hyperbolic),
	unary("tanh(a)", func(x float64) float64 { return only(math.Abs(x) < 8, math.Tanh(x)) }, hyperbolic),
	unary("asinh(a)", func(x float64) float64 { return only(math.Abs(x) < 100, math.Asinh(x)) }, inverseHyperbolic),
	unary("acosh(a)", func(x float64) float64 { return only(x >= 1 && x < 100, math.Acosh(x)) }, inverseHyperbolic),
	unary("atanh(a)", func(x float64) float64 { return only(math.Abs(x) < 0.99, math.Atanh(x)) }, inverseHyperbolic),
}

// arcus: asin and acos are inherited from atan2(x, sqrt(1 - x²)).
func arcus(f *floatFormat, want float64, in [3]float64) float64 {
	x := math.Abs(in[0])
	root := math.Sqrt(1 - x*x)
	// The error of 1 - x² is that of a rounding of 1, and its root's grows where the root is small.
	return tolerance4096(f, want, in) + tolerance4096(f, math.Pi, in)*0.5 + 4*f.ulp(1)/math.Max(root, math.Sqrt(f.ulp(1)))
}

// tolerance4096 is 4096 ULP, and 5 ULP of 16 bits.
func tolerance4096(f *floatFormat, want float64, _ [3]float64) float64 {
	if f == format16 {
		return 5 * f.ulp(want)
	}
	return 4096 * f.ulp(want)
}

// exponentialError is that of exp(x): 3 + 2·|x| ULP, of 16 bits 1 + 2·|x|.
func exponentialError(f *floatFormat, x float64) float64 {
	if f == format16 {
		return 1 + 2*math.Abs(x)
	}
	return 3 + 2*math.Abs(x)
}

// hyperbolic: sinh, cosh and tanh are inherited from exp(x) and exp(-x).
func hyperbolic(f *floatFormat, want float64, in [3]float64) float64 {
	x := math.Abs(in[0])
	e := (exponentialError(f, x) + 2) * f.ulp(math.Exp(x))
	if math.Abs(want) <= 1 { // tanh, or small: a quotient or a difference
		return 4 * (exponentialError(f, x) + 3) * f.ulp(1) * math.Max(1, math.Abs(want))
	}
	return e
}

// inverseHyperbolic: inherited from log(x + sqrt(x² ± 1)).
func inverseHyperbolic(f *floatFormat, want float64, in [3]float64) float64 {
	absolute := 0x1p-21
	if f == format16 {
		absolute = 0x1p-7
	}
	x := math.Abs(in[0])
	// A sum of terms of both signs loses what is small beside them.
	return absolute + 8*f.ulp(1) + 4*f.ulp(want) + 8*f.ulp(x*x+1)/math.Max(math.Exp(-x)*(1+x), 0x1p-8)*truth64(in[0] < 0) +
		8*f.ulp(1)/math.Max(1-x, 0.01)*truth64(x < 1) +
		4*f.ulp(1)/math.Max(math.Sqrt(math.Abs(x-1)), math.Sqrt(f.ulp(1)))*truth64(x >= 1 && x < 2)
}

func truth64(b bool) float64 { return float64(truth[float32](b)) }

// logarithmError is 3 ULP, and near 1 an absolute error.
func logarithmError(f *floatFormat, want float64, in [3]float64) float64 {
	if in[0] >= 0.5 && in[0] <= 2 {
		if f == format16 {
			return 0x1p-7
		}
		return 0x1p-21
	}
	return 3 * f.ulp(want)
}

func inRange(f func(x float64) float64, low, high float64) func(x float64) float64 {
	return func(x float64) float64 { return only(x >= low && x <= high, f(x)) }
}

var exponential = []floatExpression{
	{"pow(abs(a), b)", func(a, b, _ float64) float64 { return only(a != 0 && math.Abs(b) < 5, math.Pow(math.Abs(a), b)) },
		func(f *floatFormat, want float64, in [3]float64) float64 { // exp2(y * log2(x))
			x := [3]float64{math.Abs(in[0])}
			l := math.Log2(x[0])
			y := in[1] * l
			e := math.Abs(in[1])*logarithmError(f, l, x) + f.ulp(y)
			return math.Abs(want)*e + (exponentialError(f, y)+1)*f.ulp(want)
		}},
	unary("exp(a)", inRange(math.Exp, -8, 8), func(f *floatFormat, want float64, in [3]float64) float64 {
		return exponentialError(f, in[0]) * f.ulp(want)
	}),
	unary("exp2(a)", inRange(math.Exp2, -12, 12), func(f *floatFormat, want float64, in [3]float64) float64 {
		return exponentialError(f, in[0]) * f.ulp(want)
	}),
	unary("log(a)", func(x float64) float64 { return only(x > 0, math.Log(x)) }, logarithmError),
	unary("log2(a)", func(x float64) float64 { return only(x > 0, math.Log2(x)) }, logarithmError),
	unary("sqrt(a)", func(x float64) float64 { return only(x >= 0, math.Sqrt(x)) }, ulps(3)),
	unary("inversesqrt(a)", func(x float64) float64 { return only(x > 0, 1/math.Sqrt(x)) }, ulps(2)),
}

// smoothstep is how the specification writes it.
func smoothstep(a, b, x float64) float64 {
	t := math.Min(math.Max((x-a)/(b-a), 0), 1)
	return t * t * (3 - 2*t)
}

var commonFunctions = []floatExpression{
	unary("abs(a)", math.Abs, ulps(0)),
	unary("sign(a)", func(x float64) float64 { return truth64(x > 0) - truth64(x < 0) }, ulps(0)),
	unary("floor(a)", math.Floor, ulps(0)),
	unary("ceil(a)", math.Ceil, ulps(0)),
	unary("trunc(a)", math.Trunc, ulps(0)),
	unary("round(a)", func(x float64) float64 { return only(math.Abs(x-math.Trunc(x)) != 0.5, math.Round(x)) }, ulps(0)),
	unary("roundEven(a)", math.RoundToEven, ulps(0)),
	unary("fract(a)", func(x float64) float64 { return x - math.Floor(x) }, ulps(0)),
	unary("whole(a)", math.Trunc, ulps(0)),
	unary("fraction(a)", func(x float64) float64 { return x - math.Trunc(x) }, ulps(0)),
	{"mod(a, b)", func(a, b, _ float64) float64 {
		m := a - b*math.Floor(a/b)
		// Where the quotient is next to an integer its rounding decides.
		near := math.Abs(a/b-math.Round(a/b)) < 0.01
		return only(b != 0 && !near && math.Abs(a/b) < 100, m)
	}, func(f *floatFormat, _ float64, in [3]float64) float64 { return 3 * f.ulp(in[0]) }},
	{"min(a, b)", func(a, b, _ float64) float64 { return math.Min(a, b) }, ulps(0)},
	{"max(a, b)", func(a, b, _ float64) float64 { return math.Max(a, b) }, ulps(0)},
	{"clamp(c, min(a, b), max(a, b))", func(a, b, c float64) float64 {
		return math.Min(math.Max(c, math.Min(a, b)), math.Max(a, b))
	}, ulps(0)},
	{"mix(a, b, c)", func(a, b, c float64) float64 { return a*(1-c) + b*c },
		func(f *floatFormat, _ float64, in [3]float64) float64 {
			return 3 * (f.ulp(in[0]*(1-in[2])) + f.ulp(in[1]*in[2]) + f.ulp(in[0]*in[2]))
		}},
	{"mix(a, b, a < c)", func(a, b, c float64) float64 {
		if a < c {
			return b
		}
		return a
	}, ulps(0)},
	{"step(a, b)", func(a, b, _ float64) float64 { return truth64(b >= a) }, ulps(0)},
	{"smoothstep(a, b, c)", func(a, b, c float64) float64 { return only(a < b, smoothstep(a, b, c)) },
		func(f *floatFormat, _ float64, in [3]float64) float64 {
			scale := (math.Abs(in[2]) + math.Abs(in[0])) / (in[1] - in[0])
			return 20 * f.ulp(math.Max(1, scale))
		}},
	{"fma(a, b, c)", func(a, b, c float64) float64 { return math.FMA(a, b, c) },
		func(f *floatFormat, want float64, in [3]float64) float64 {
			return f.ulp(in[0]*in[1]) + f.ulp(in[2]) + f.ulp(want)
		}},
}

// ofVector is an error of so many ULP of the largest number that comes up.
func ofVector(n float64) tolerance {
	return func(f *floatFormat, want float64, in [3]float64) float64 {
		largest := math.Max(math.Abs(want), math.Max(math.Abs(in[0]), math.Max(math.Abs(in[1]), math.Abs(in[2]))))
		return n * f.ulp(math.Max(largest*largest, math.Abs(want)))
	}
}

// relative is an error of so many ULP of the result, and of 1.
func relative(n float64) tolerance {
	return func(f *floatFormat, want float64, _ [3]float64) float64 { return n * (f.ulp(want) + f.ulp(1)) }
}

func norm(v ...float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

// small says that squares of these stay far from the limits of 16 bits.
func small(v ...float64) bool { return norm(v...) < 100 && norm(v...) > 0.1 }

var geometric = []floatExpression{
	{"length(V3(a, b, c))", func(a, b, c float64) float64 { return only(small(a, b, c), norm(a, b, c)) }, ulps(8)},
	{"length(V2(a, b))", func(a, b, c float64) float64 { return only(small(a, b), norm(a, b)) }, ulps(8)},
	unary("length(a)", func(x float64) float64 { return only(small(x), math.Abs(x)) }, ulps(8)),
	{"distance(V3(a, b, c), V3(c, a, b))", func(a, b, c float64) float64 {
		return only(small(a, b, c) && small(a-c, b-a, c-b), norm(a-c, b-a, c-b))
	}, relative(100)},
	{"dot(V3(a, b, c), V3(c, a, b))", func(a, b, c float64) float64 { return only(small(a, b, c), a*c+b*a+c*b) },
		ofVector(4)},
	{"dot(V2(a, b), V2(c, a))", func(a, b, c float64) float64 { return only(small(a, b, c), a*c+b*a) }, ofVector(4)},
	{"cross(V3(a, b, c), V3(c, a, b)).x", func(a, b, c float64) float64 { return only(small(a, b, c), b*b-c*a) },
		ofVector(4)},
	{"cross(V3(a, b, c), V3(c, a, b)).y", func(a, b, c float64) float64 { return only(small(a, b, c), c*c-a*b) },
		ofVector(4)},
	{"cross(V3(a, b, c), V3(c, a, b)).z", func(a, b, c float64) float64 { return only(small(a, b, c), a*a-b*c) },
		ofVector(4)},
	{"normalize(V3(a, b, c)).y", func(a, b, c float64) float64 { return only(small(a, b, c), b/norm(a, b, c)) },
		relative(8)},
	{"normalize(V4(a, b, c, a)).w", func(a, b, c float64) float64 { return only(small(a, b, c), a/norm(a, b, c, a)) },
		relative(8)},
	{"faceforward(V2(a, b), V2(b, c), V2(c, a)).x", func(a, b, c float64) float64 {
		d := b*c + c*a
		if d < 0 {
			return only(math.Abs(d) > 0.5, a)
		}
		return only(math.Abs(d) > 0.5, -a)
	}, ulps(0)},
	{"reflect(V2(a, b), normalize(V2(c, T(1)))).y", func(a, b, c float64) float64 {
		n := norm(c, 1)
		d := (a*c + b) / n
		return only(small(a, b, c), b-2*d/n)
	}, ofVector(30)},
	{"refract(normalize(V2(a, T(1))), normalize(V2(b, T(2))), T(0.5)).x", func(a, b, _ float64) float64 {
		ni, nn := norm(a, 1), norm(b, 2)
		ix, iy, nx, ny := a/ni, 1/ni, b/nn, 2/nn
		d := ix*nx + iy*ny
		k := 1 - 0.25*(1-d*d)
		return only(small(a, b), 0.5*ix-(0.5*d+math.Sqrt(k))*nx)
	}, relative(60)},
}

var matrixFunctions = []floatExpression{
	{"determinant(M2(a, b, c, T(2)))", func(a, b, c float64) float64 { return only(small(a, b, c), a*2-b*c) },
		ofVector(8)},
	{"determinant(M3(a, b, T(1), c, T(1), T(0), T(0), T(1), T(2)))", func(a, b, c float64) float64 {
		return only(small(a, b, c), a*2-b*2*c+c)
	}, ofVector(60)},
	{"determinant(M4(a, T(0), T(0), T(1), T(0), T(2), b, T(0), T(0), c, T(1), T(0), T(1), T(0), T(0), T(3)))",
		func(a, b, c float64) float64 {
			return only(small(a, b, c), (3*a-1)*(2-b*c))
		}, func(f *floatFormat, _ float64, in [3]float64) float64 {
			return 60 * f.ulp((3*math.Abs(in[0])+1)*(2+math.Abs(in[1]*in[2])))
		}},
	{"inverse(M2(T(2), T(1), T(1), T(3)))[1][0] * a", func(a, _, _ float64) float64 { return -a / 5 }, ulps(20)},
	{"inverse(M3(T(2), T(0), T(0), a, T(1), T(0), T(0), T(0), T(4)))[1][0]",
		func(a, _, _ float64) float64 { return only(small(a), -a/2) }, ofVector(30)},
	{"inverse(M4(T(1), T(0), T(0), a, T(0), T(1), b, T(0), T(0), T(0), T(1), T(0), T(0), T(0), T(0), T(1)))[0][3]",
		func(a, b, _ float64) float64 { return only(small(a, b), -a) }, ofVector(30)},
	{"transpose(M23(a, b, c, b, c, a))[2][1]", func(a, _, _ float64) float64 { return a }, ulps(0)},
	{"(M2(a, b, c, a) * V2(b, c)).y", func(a, b, c float64) float64 { return only(small(a, b, c), b*b+a*c) }, ofVector(6)},
	{"(V2(b, c) * M2(a, b, c, a)).y", func(a, b, c float64) float64 { return only(small(a, b, c), b*c+c*a) }, ofVector(6)},
	{"(M23(a, b, c, b, c, a) * M32(a, b, c, b, c, a))[2].x",
		func(a, b, c float64) float64 { return only(small(a, b, c), a*c+b*a) }, ofVector(6)},
	{"matrixCompMult(M2(a, b, c, a), M2(c, b, a, b))[1].y",
		func(a, b, c float64) float64 { return only(small(a, b), a*b) }, ofVector(1)},
	{"outerProduct(V3(a, b, c), V2(b, c))[1].x", func(a, b, c float64) float64 { return only(small(a, c), a*c) },
		ofVector(1)},
	{"(M2(a, b, c, a) + M2(b, c, a, b) * a)[1].y", func(a, b, _ float64) float64 { return only(small(a, b), a+b*a) },
		ofVector(3)},
}

func frexps[T float32 | float64](c *Case, name string) {
	const functions = `
T mantissa(T x) { int e; return frexp(x, e); }
int exponent(T x) { int e; T m = frexp(x, e); return e; }
`
	wantFloats[T](c, "#define T "+name+functions, floatTriples(formatOf[T]()), []floatExpression{
		unary("mantissa(a)", func(x float64) float64 { m, _ := math.Frexp(x); return m }, ulps(0)),
		unary("T(exponent(a))", func(x float64) float64 { _, e := math.Frexp(x); return float64(e) }, ulps(0)),
		{"ldexp(a, int(clamp(b, -40, 40)))", func(a, b, _ float64) float64 {
			x := math.Ldexp(a, int(math.Max(-40, math.Min(40, b))))
			return only(math.Abs(x) >= math.Ldexp(1, formatOf[T]().minExponent) && math.Abs(x) <= formatOf[T]().max, x)
		}, ulps(0)},
	})
}

// packs compares the packing of floats into words, and back.
func packs(c *Case) {
	wantExpressions(c, "float", "uint", "", packTriples(), []expression[float32, uint32]{
		{"packUnorm4x8(vec4(a, b, c, 0.5))", func(a, b, c float32) uint32 {
			return unorm(a, 8) | unorm(b, 8)<<8 | unorm(c, 8)<<16 | unorm(0.5, 8)<<24
		}, nil},
		{"packSnorm4x8(vec4(a, b, c, -1))", func(a, b,
			c float32) uint32 {
			return snorm(a, 8) | snorm(b, 8)<<8 | snorm(c, 8)<<16 | snorm(-1, 8)<<24
		}, nil},
		{"packUnorm2x16(vec2(a, b))", func(a, b, _ float32) uint32 { return unorm(a, 16) | unorm(b, 16)<<16 }, nil},
		{"packSnorm2x16(vec2(a, b))", func(a, b, _ float32) uint32 { return snorm(a, 16) | snorm(b, 16)<<16 }, nil},
		// Halves that are exact: how others are rounded is not said.
		{"packHalf2x16(vec2(a, b))",
			func(a, b, _ float32) uint32 { return uint32(toHalf(float64(a))) | uint32(toHalf(float64(b)))<<16 }, nil},
	})
	words := make([][3]uint32, 300)
	for i, w := range random32(300, 9) {
		if i < 256 {
			w = uint32(i) * 0x01010101
		}
		words[i][0] = w &^ 0x44004400 // no infinities or NaNs among the halves
	}
	results := expressions(c, "uint", "vec4", "", words,
		[]expression[uint32, [4]float32]{{text: "unpackUnorm4x8(a)"}, {text: "unpackSnorm4x8(a)"},
			{text: "vec4(unpackUnorm2x16(a), unpackSnorm2x16(a))"}, {text: "vec4(unpackHalf2x16(a), 0, 0)"}})
	near := func(what string, got float32, want float64) {
		if math.Abs(float64(got)-want) > 3*format32.ulp(want) && !(math.Abs(want) < 0x1p-14 && got == 0) {
			c.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for i, w := range words {
		r := results[i*4:]
		for k := range 4 {
			b := w[0] >> (8 * k) & 255
			near("unpackUnorm4x8", r[0][k], float64(b)/255)
			near("unpackSnorm4x8", r[1][k], math.Max(float64(int8(b))/127, -1))
		}
		for k := range 2 {
			h := w[0] >> (16 * k) & 0xffff
			near("unpackUnorm2x16", r[2][k], float64(h)/65535)
			near("unpackSnorm2x16", r[2][2+k], math.Max(float64(int16(h))/32767, -1))
			near("unpackHalf2x16", r[3][k], fromHalf(half(h)))
		}
	}
}

// packTriples lie inside and outside of what is packed; their products with 255, 127, 65535 and 32767 are not
// next to ties, and all are exact in 16 bits.
func packTriples() [][3]float32 {
	rng := rand.New(rand.NewPCG(9, 10))
	var list [][3]float32
	for range 300 {
		var t [3]float32
		for k := 0; k < 3; {
			x := fromHalf(toHalf((rng.Float64() - 0.5) * 3))
			if tied := func(scale float64) bool { return math.Abs(math.Mod(math.Abs(x)*scale, 1)-0.5) < 0.01 }; tied(255) ||
				tied(127) || tied(65535) || tied(32767) {
				continue
			}
			t[k] = float32(x)
			k++
		}
		list = append(list, t)
	}
	return append(list, [3]float32{0, 1, -1}, [3]float32{2, -2, 1000})
}

func unorm(x float32, bits int) uint32 {
	scale := float64(uint32(1)<<bits - 1)
	return uint32(math.RoundToEven(math.Min(math.Max(float64(x), 0), 1) * scale))
}

func snorm(x float32, bits int) uint32 {
	scale := float64(uint32(1)<<(bits-1) - 1)
	return uint32(int32(math.RoundToEven(math.Min(math.Max(float64(x), -1), 1)*scale))) & (1<<bits - 1)
}

func packDouble(c *Case) {
	var triples [][3]uint32
	for _, w := range random32(200, 11) {
		triples = append(triples, [3]uint32{w, w*2654435761&0xbfffffff | 0x100000, w ^ 0x5a5a})
	}
	wantExpressions(c, "uint", "uint", "", triples, []expression[uint32, uint32]{
		{"unpackDouble2x32(packDouble2x32(uvec2(a, b))).x", func(a, _, _ uint32) uint32 { return a }, nil},
		{"unpackDouble2x32(packDouble2x32(uvec2(a, b)) * 2.0LF).y", func(_, b, _ uint32) uint32 { return b + 0x100000 }, nil},
		{"unpackDouble2x32(-packDouble2x32(uvec2(a, b))).y", func(_, b, _ uint32) uint32 { return b ^ 1<<31 }, nil},
	})
}
