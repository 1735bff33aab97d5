package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"farside/conformance/shaders"
)

// A numericType is a type between which GLSL converts.
type numericType struct {
	name  string
	kind  byte // i, u or f
	size  int
	needs []string
}

var numericTypes = []numericType{
	{"int8_t", 'i', 1, []string{"ShaderInt8", "StorageBuffer8BitAccess"}},
	{"uint8_t", 'u', 1, []string{"ShaderInt8", "StorageBuffer8BitAccess"}},
	{"int16_t", 'i', 2, []string{"ShaderInt16", "StorageBuffer16BitAccess"}},
	{"uint16_t", 'u', 2, []string{"ShaderInt16", "StorageBuffer16BitAccess"}},
	{"int", 'i', 4, nil}, {"uint", 'u', 4, nil}, {"int64_t", 'i', 8, []string{"ShaderInt64"}},
	{"uint64_t", 'u', 8, []string{"ShaderInt64"}},
	{"float16_t", 'f', 2, []string{"ShaderFloat16", "StorageBuffer16BitAccess"}}, {"float", 'f', 4, nil},
	{"double", 'f', 8, []string{"ShaderFloat64"}},
}

// conversionCases mirror spirv_assembly.instruction.compute.{s,u,f}convert, convert{s,u}tof and convertfto{s,u}.
func conversionCases() []definition {
	var all []definition
	for _, narrow := range []bool{false, true} {
		for _, from := range numericTypes {
			var to []numericType
			needs := slices.Clone(from.needs)
			for _, t := range numericTypes {
				if narrow == (t.size < 4) && t.name != from.name {
					to = append(to, t)
					needs = append(needs, t.needs...)
				}
			}
			if narrow && from.size < 4 {
				needs = append(needs, "ShaderInt8", "ShaderInt16")
			}
			width := "32_64bit"
			if narrow {
				width = "8_16bit"
			}
			all = append(all, definition{name: fmt.Sprintf("glsl.conversions.%s_to_%s", from.name, width), compute: true,
				valid: true, needs: needs,
				run: func(c *Case) { conversions(c, from, to) }})
		}
	}
	return all
}

func (t numericType) values() []uint64 {
	rng := rand.New(rand.NewPCG(5, 6))
	var v []uint64
	if t.kind == 'f' {
		f := t.format()
		for _, x := range []float64{0, 1, -1, 0.5, -0.75, 1.5, 127, 128, 255.5, 256, -128.5, 32767, 65535, 1 << 24, 1<<24 + 1,
			2147483520, 4294967040,
			1 << 40, -(1 << 52), f.max, -f.max, 65504, 65519, 1.0009765625, 1.00048828125, 1.00146484375, 6.1e-5, 1.2e-7} {
			v = append(v, t.encode(f.round(x)))
		}
		for range 300 {
			v = append(v, t.encode(f.round(math.Copysign(math.Exp2(rng.Float64()*70-10), rng.Float64()-0.5))))
		}
		return v
	}
	mask := uint64(1)<<(8*t.size) - 1
	for _, x := range []uint64{0, 1, 2, mask, mask - 1, mask>>1 + 1, mask >> 1, 127, 128, 255, 1<<24 + 1, 1<<24 + 3,
		1<<53 + 1, 65519, 65520, 2049, 2051} {
		v = append(v, x&mask)
	}
	for range 300 {
		v = append(v, rng.Uint64()>>rng.IntN(64)&mask)
	}
	return v
}

func (t numericType) format() *floatFormat {
	return map[int]*floatFormat{2: format16, 4: format32, 8: format64}[t.size]
}

// encode makes the bits of a float.
func (t numericType) encode(x float64) uint64 {
	switch t.size {
	case 2:
		return uint64(toHalf(x))
	case 4:
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

func (t numericType) decode(v uint64) float64 {
	switch t.size {
	case 2:
		return fromHalf(half(v))
	case 4:
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

// signExtend makes 64 bits of a signed integer's.
func (t numericType) signExtend(v uint64) uint64 {
	if t.kind != 'i' {
		return v
	}
	shift := 64 - 8*t.size
	return uint64(int64(v<<shift) >> shift)
}

// converted says whether bits are what a conversion of v may give.
func (t numericType) converted(v uint64, to numericType, got uint64) (want string, ok bool) {
	mask := uint64(1)<<(8*to.size) - 1
	switch {
	case t.kind != 'f' && to.kind != 'f':
		w := t.signExtend(v) & mask
		return fmt.Sprintf("%#x", w), got == w
	case t.kind != 'f':
		x := t.signExtend(v)
		f, w := to.format(), float64(x)
		if t.kind == 'i' {
			w = float64(int64(x))
		}
		if to.size == 4 { // not by way of 64 bits, which would round twice
			if w = float64(float32(x)); t.kind == 'i' {
				w = float64(float32(int64(x)))
			}
		}
		return fmt.Sprint(f.round(w)), f.accepts(to.decode(got), w, ulps(0), [3]float64{})
	case to.kind == 'f':
		w := t.decode(v)
		if math.Abs(w) < math.Ldexp(1, t.format().minExponent) { // may be flushed
			return "", true
		}
		return fmt.Sprint(w), to.format().accepts(to.decode(got), w, ulps(1), [3]float64{})
	}
	w := math.Trunc(t.decode(v))
	low, high := 0.0, math.Ldexp(1, 8*to.size)
	if to.kind == 'i' {
		low, high = -high/2, high/2
	}
	if w < low || w >= high {
		return "", true // undefined
	}
	n := uint64(int64(w))
	if to.kind == 'u' {
		n = uint64(w)
	}
	return fmt.Sprintf("%#x", n&mask), got == n&mask
}

func conversions(c *Case, from numericType, to []numericType) {
	values := from.values()
	text := fmt.Sprintf(
		"%slayout(local_size_x = 32) in;\nlayout(std430, binding = 0) readonly buffer In { %s values[]; };\n"+
			"layout(std430, binding = 1) writeonly buffer Out { uvec2 results[]; };\n"+
			"void main() {\n\tuint i = gl_GlobalInvocationID.x;\n"+
			"\tif (i >= %d)\n\t\treturn;\n\t%s a = values[i];\n", expressionHeader, from.name, len(values), from.name)
	for n, t := range to {
		bits := fmt.Sprintf(scalarTypes[t.name].toWords, fmt.Sprintf("%s(a)", t.name))
		if t.size < 8 {
			bits += ", 0"
		}
		text += fmt.Sprintf("\tresults[%d * i + %d] = uvec2(%s);\n", len(to), n, bits)
	}
	data := make([]byte, roundUp(len(values)*from.size, 4))
	for i, v := range values {
		scalarTypes[from.name].put(data[i*from.size:], v)
	}
	results := make([][2]uint32, len(values)*len(to))
	c.dispatch(dispatch{shader: shaders.Source{Name: "conversions.comp", Text: strings.TrimSpace(text) + "\n}\n"},
		groups:  [3]uint32{uint32(len(values)+31) / 32},
		buffers: []any{data, results}})
	for n, t := range to {
		bad := 0
		for i, v := range values {
			r := results[i*len(to)+n]
			got := uint64(r[0]) | uint64(r[1])<<32
			want, ok := from.converted(v, t, got)
			if ok {
				continue
			}
			if bad++; bad == 1 {
				c.Errorf("%s(%s of %#x) has the bits %#x, want %s", t.name, from.name, v, got, want)
			}
		}
		if bad > 1 {
			c.Errorf("%s to %s: %d of %d are wrong", from.name, t.name, bad, len(values))
		}
	}
}
