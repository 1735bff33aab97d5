package texel

import (
	"math"
	"testing"
)

// TestSmallFloatTies (mutant 7): between two neighbours of each format the nearest wins, and exactly in the middle the
// even one; the step from the largest number to infinity counts as one.
func TestSmallFloatTies(t *testing.T) {
	for _, f := range []smallFloat{half, unsignedFloat(11), unsignedFloat(10)} {
		infinity := uint64(smallSpecial) << f.mantissa
		value := func(raw uint64) float64 {
			if raw == infinity { // where the next number would be
				return math.Ldexp(1, smallSpecial-smallBias)
			}
			var out [1][4]float64
			f.decode(out[:], [][4]uint64{{raw}}, 0)
			return out[0][0]
		}
		signs := []uint64{0}
		if f.signs() != 0 {
			signs = append(signs, smallSign)
		}
		for raw := range infinity {
			low, high := value(raw), value(raw+1)
			middle := low + (high-low)/2
			even, above := raw+raw&1, raw+1
			if f.signs() == 0 { // these formats don't round to infinity
				even, above = min(even, infinity-1), min(above, infinity-1)
			}
			for _, sign := range signs {
				at := func(v float64) float64 { return math.Copysign(v, 1-2*float64(sign>>15)) }
				for _, c := range []struct {
					v    float64
					want uint64
				}{
					{low, raw}, {math.Nextafter(middle, low), raw}, {middle, even}, {math.Nextafter(middle, high), above},
				} {
					if got := f.encode(at(c.v)); got != sign|c.want {
						t.Fatalf("%d bits of mantissa: %v between %#x and %#x gives %#x, want %#x",
							f.mantissa, at(c.v), raw, raw+1, got, sign|c.want)
					}
				}
			}
		}
	}
}
