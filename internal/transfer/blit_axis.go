package transfer

import "farside/internal/vk"

// WeightBits is the precision of a linear filter's weights: VkPhysicalDeviceLimits::subTexelPrecisionBits.
const WeightBits = 8

// tap says what one destination coordinate is made of: source coordinate a, and weight/256 of the way towards
// source coordinate b. The nearest filter, and a linear one that hits a texel's center, have weight 0 and b = a.
type tap struct{ a, b, weight int32 }

// axis has the taps of a region along one axis, in ascending order of the destination.
type axis struct {
	start    int // the first destination coordinate
	taps     []tap
	filtered bool // some weight is not 0
}

// set computes the taps of a region that runs from src[0] to src[1] in a source of size texels, and from dst[0] to
// dst[1] in the destination. If one of them runs downwards, the image is mirrored.
func (x *axis) set(dst, src [2]int32, size int32, filter vk.Filter) {
	x.start = int(min(dst[0], dst[1]))
	x.taps, x.filtered = x.taps[:0], false
	// The place in the source is src[0] + (i + 1/2 - dst[0]) * (src[1]-src[0]) / (dst[1]-dst[0]), here as a fraction
	// of exact integers: at the edge between two texels a rounding error would choose the wrong one.
	length, run := int64(dst[1]-dst[0]), int64(src[1]-src[0])
	start, denominator := 2*int64(src[0])*length, 2*length
	if denominator < 0 {
		start, denominator, run = -start, -denominator, -run
	}
	for i := int64(x.start); i < int64(max(dst[0], dst[1])); i++ {
		numerator := start + (2*(i-int64(dst[0]))+1)*run
		if filter == vk.FILTER_NEAREST {
			a := min(max(int32(floorDiv(numerator, denominator)), 0), size-1)
			x.taps = append(x.taps, tap{a, a, 0})
			continue
		}
		// Texels have their centers at 1/2; the place is rounded to the precision of the weights.
		place := floorDiv((2*numerator-denominator)<<WeightBits+denominator, 2*denominator)
		t := tap{a: int32(place >> WeightBits), weight: int32(place & (1<<WeightBits - 1))}
		t.b = min(max(t.a+1, 0), size-1)
		t.a = min(max(t.a, 0), size-1)
		if t.weight == 0 || t.a == t.b {
			t.b, t.weight = t.a, 0
		}
		x.filtered = x.filtered || t.weight != 0
		x.taps = append(x.taps, t)
	}
}

// floorDiv rounds down; b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// used replaces the taps' source coordinates by indices into the list of those that occur, which it appends to
// columns. The list ascends, or descends if the image is mirrored.
func (x *axis) used(columns []int32) []int32 {
	if len(x.taps) == 0 {
		return columns
	}
	step := int32(1)
	if last := x.taps[len(x.taps)-1]; last.a < x.taps[0].a {
		step = -1
	}
	index := func(c int32) int32 {
		n := len(columns)
		switch {
		case n > 0 && columns[n-1] == c:
			return int32(n - 1)
		case n > 1 && columns[n-2] == c:
			return int32(n - 2)
		}
		columns = append(columns, c)
		return int32(n)
	}
	for i := range x.taps {
		t := &x.taps[i]
		if step > 0 {
			t.a = index(t.a)
			t.b = index(t.b)
		} else { // b is the higher coordinate, so it comes first
			t.b = index(t.b)
			t.a = index(t.a)
		}
	}
	return columns
}

// consecutive says whether a list of coordinates ascends one by one.
func consecutive(columns []int32) bool {
	n := len(columns)
	return n > 0 && columns[n-1]-columns[0] == int32(n-1) && columns[0] <= columns[n-1]
}
