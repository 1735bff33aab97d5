package conformance

import (
	"fmt"
	"math"
	"strings"

	"farside/conformance/shaders"
)

// An expression of GLSL on a, b and c, and what it is worth. A want of NaN says that anything may come out.
type expression[T, R any] struct {
	text      string
	want      func(a, b, c T) R
	tolerance tolerance // of floats
}

// expressionHeader has the extensions for all types.
const expressionHeader = `#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_8bit_storage : enable
`

// expressions evaluates all of list on each of the triples, in several workgroups, and returns the results, triple by
// triple. in and out are the types in GLSL.
func expressions[T, R any](c *Case, in, out, preamble string, triples [][3]T, list []expression[T, R]) []R {
	var b strings.Builder
	fmt.Fprintf(&b, "%slayout(local_size_x = 32) in;\nlayout(std430, binding = 0) readonly buffer In { %s values[]; };\n",
		expressionHeader, in)
	fmt.Fprintf(&b,
		"layout(std430, binding = 1) writeonly buffer Out { %s results[]; };\n%s\nvoid main() {\n\tuint i = "+
			"gl_GlobalInvocationID.x;\n", out, preamble)
	fmt.Fprintf(&b, "\tif (i >= %d)\n\t\treturn;\n\t%s a = values[3 * i], b = values[3 * i + 1], c = values[3 * i + 2];\n",
		len(triples), in)
	for n, e := range list {
		fmt.Fprintf(&b, "\tresults[%d * i + %d] = %s(%s);\n", len(list), n, out, e.text)
	}
	b.WriteString("}\n")
	var values []T
	for _, t := range triples {
		values = append(values, t[:]...)
	}
	results := make([]R, len(triples)*len(list))
	c.dispatch(dispatch{shader: shaders.Source{Name: "expressions.comp", Text: b.String()},
		groups:  [3]uint32{uint32(len(triples)+31) / 32},
		buffers: []any{values, results}})
	return results
}

// wantExpressions compares results that must be exact.
func wantExpressions[T any, R comparable](c *Case, in, out, preamble string, triples [][3]T, list []expression[T, R]) {
	results := expressions(c, in, out, preamble, triples, list)
	for n, e := range list {
		bad := 0
		for i, t := range triples {
			if got, want := results[i*len(list)+n], e.want(t[0], t[1], t[2]); got != want {
				if bad++; bad == 1 {
					c.Errorf("%s: %s for a, b, c = %v is %v, want %v", in, e.text, t, got, want)
				}
			}
		}
		if bad > 1 {
			c.Errorf("%s: %s is wrong for %d of %d", in, e.text, bad, len(triples))
		}
	}
}

// A tolerance is the error that a result may have, in absolute terms.
type tolerance func(f *floatFormat, want float64, in [3]float64) float64

// A floatFormat is how floats of a width are stored.
type floatFormat struct {
	name                  string
	mantissa, minExponent int
	max                   float64
	round                 func(x float64) float64
}

var (
	format16 = &floatFormat{"float16_t", 10, -14, 65504, func(x float64) float64 { return fromHalf(toHalf(x)) }}
	format32 = &floatFormat{"float", 23, -126, math.MaxFloat32, func(x float64) float64 { return float64(float32(x)) }}
	format64 = &floatFormat{"double", 52, -1022, math.MaxFloat64, func(x float64) float64 { return x }}
)

// ulp is the distance of neighbours at x.
func (f *floatFormat) ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1, f.minExponent)-f.mantissa)
}

// ulps allows n units in the last place; 0 is for what must be rounded correctly.
func ulps(n float64) tolerance {
	return func(f *floatFormat, want float64, _ [3]float64) float64 { return n * f.ulp(want) }
}

// within allows an absolute error, which differs between the formats: of 32 bits, of 16.
func within(wide, half float64) tolerance {
	return func(f *floatFormat, _ float64, _ [3]float64) float64 {
		if f == format16 {
			return half
		}
		return wide
	}
}

// accepts says whether got will do for the exact result want.
func (f *floatFormat) accepts(got, want float64, t tolerance, in [3]float64) bool {
	if math.IsNaN(want) {
		return true
	}
	rounded := f.round(want)
	if got == rounded {
		return true
	}
	allowed := t(f, want, in)
	if math.IsInf(rounded, 0) || math.Abs(want)+allowed > f.max { // on the way to infinity
		return math.IsInf(got, int(math.Copysign(1, want))) || math.Abs(got-want) <= allowed || math.Abs(got) == f.max
	}
	smallest := math.Ldexp(1, f.minExponent)
	if math.Abs(want) < smallest+allowed && got == 0 { // flushed
		return true
	}
	return math.Abs(got-want) <= allowed
}

// number is how Go holds floats of a format: float32, float64, or half.
type number interface{ float32 | float64 | half }

type half uint16

func toFloat64[T number](x T) float64 {
	switch x := any(x).(type) {
	case float32:
		return float64(x)
	case half:
		return fromHalf(x)
	}
	return float64(any(x).(float64))
}

func fromFloat64[T number](x float64) T {
	var t T
	switch p := any(&t).(type) {
	case *float32:
		*p = float32(x)
	case *float64:
		*p = x
	case *half:
		*p = toHalf(x)
	}
	return t
}

func formatOf[T number]() *floatFormat {
	var t T
	switch any(t).(type) {
	case float32:
		return format32
	case half:
		return format16
	}
	return format64
}

func fromHalf(h half) float64 {
	e, m := int(h>>10&31), float64(h&0x3ff)
	var x float64
	switch e {
	case 0:
		x = math.Ldexp(m, -24)
	case 31:
		if x = math.Inf(1); m != 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(m+1024, e-25)
	}
	if h&0x8000 != 0 {
		x = -x
	}
	return x
}

// toHalf rounds to the nearest, ties to even.
func toHalf(x float64) half {
	sign := half(math.Float64bits(x) >> 48 & 0x8000)
	x = math.Abs(x)
	switch {
	case math.IsNaN(x):
		return sign | 0x7e00
	case x >= 65520:
		return sign | 0x7c00
	case x < math.Ldexp(1, -14):
		return sign | half(math.RoundToEven(math.Ldexp(x, 24)))
	}
	f, e := math.Frexp(x) // 0.5 <= f < 1
	m := math.RoundToEven(math.Ldexp(f, 11))
	return sign + half(e+13)<<10 + half(m)
}

// wantFloats evaluates expressions whose results have a tolerance. want and triples are float64 whatever T is; the
// triples' values must be T's.
func wantFloats[T number](c *Case, preamble string, triples [][3]float64, list []expression[float64, float64]) {
	f := formatOf[T]()
	in := make([][3]T, len(triples))
	for i, t := range triples {
		for k := range t {
			in[i][k] = fromFloat64[T](t[k])
			triples[i][k] = toFloat64(in[i][k])
		}
	}
	texts := make([]expression[T, T], len(list))
	for i, e := range list {
		texts[i].text = e.text
	}
	results := expressions(c, f.name, f.name, preamble, in, texts)
	for n, e := range list {
		bad := 0
		for i, t := range triples {
			got, want := toFloat64(results[i*len(list)+n]), e.want(t[0], t[1], t[2])
			if f.accepts(got, want, e.tolerance, t) {
				continue
			}
			if bad++; bad == 1 {
				c.Errorf("%s: %s for a, b, c = %v is %v, want %v, an error of %g ULP", f.name, e.text, t, got, want,
					math.Abs(got-want)/f.ulp(want))
			}
		}
		if bad > 1 {
			c.Errorf("%s: %s is wrong for %d of %d", f.name, e.text, bad, len(triples))
		}
	}
}
