package kernel

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// single executes the functions of package series on one number, or the bits of one. Products are converted, since a
// compiler may otherwise fuse them with a sum.
type single struct{}

var _ series.Machine[uint32] = single{}

func number(a uint32) float32 { return math.Float32frombits(a) }
func raw(f float32) uint32    { return math.Float32bits(f) }

func (single) Word(w uint32) uint32      { return w }
func (single) Add(a, b uint32) uint32    { return raw(number(a) + number(b)) }
func (single) Sub(a, b uint32) uint32    { return raw(number(a) - number(b)) }
func (single) Mul(a, b uint32) uint32    { return raw(float32(number(a) * number(b))) }
func (single) Div(a, b uint32) uint32    { return raw(number(a) / number(b)) }
func (single) Sqrt(a uint32) uint32      { return raw(float32(math.Sqrt(float64(number(a))))) }
func (single) Fma(a, b, c uint32) uint32 { return raw(fma32(number(a), number(b), number(c))) }

func (single) Fnma(a, b, c uint32) uint32 { return raw(fma32(-number(a), number(b), number(c))) }

func (single) Round(a uint32) uint32 { return raw(float32(math.RoundToEven(float64(number(a))))) }

func (single) Min(a, b uint32) uint32 {
	if number(b) < number(a) {
		return b
	}
	return a
}

func (single) Max(a, b uint32) uint32 {
	if number(b) > number(a) {
		return b
	}
	return a
}

func (single) And(a, b uint32) uint32          { return a & b }
func (single) Or(a, b uint32) uint32           { return a | b }
func (single) Xor(a, b uint32) uint32          { return a ^ b }
func (single) AddWords(a, b uint32) uint32     { return a + b }
func (single) SubWords(a, b uint32) uint32     { return a - b }
func (single) Left(a uint32, n uint8) uint32   { return a << n }
func (single) Right(a uint32, n uint8) uint32  { return uint32(int32(a) >> n) }
func (single) ToWord(a uint32) uint32          { return uint32(int32(number(a))) }
func (single) ToFloat(a uint32) uint32         { return raw(float32(int32(a))) }
func (single) IfSign(a, yes, no uint32) uint32 { return choose(int32(a) < 0, yes, no) }
func (l single) Split(a uint32) (m, e uint32)  { return series.SplitWords(l, a) }
func (l single) Scale(a, n uint32) uint32      { return series.ScaleWords(l, a, n) }
func (single) If(c series.Compare, a, b, yes, no uint32) uint32 {
	x, y := number(a), number(b)
	switch c {
	case series.Less:
		return choose(x < y, yes, no)
	case series.AtLeast:
		return choose(x >= y, yes, no)
	case series.Equal:
		return choose(x == y, yes, no)
	}
	return choose(x != x || y != y, yes, no)
}

func (single) Far(angle, rest, quadrants uint32) (uint32, uint32) {
	x := float64(number(angle))
	switch {
	case !(x > series.Turns):
		return rest, quadrants
	case x > series.Far:
		x -= x
	}
	n := math.FMA(x, series.TwoPi, series.Magic) - series.Magic
	x = math.FMA(-n, series.HalfPiLow, math.FMA(-n, series.HalfPi, x))
	return raw(float32(x)), raw(float32(n - 4*math.RoundToEven(n/4)))
}
