package lanes

import (
	"farside/internal/cpuid"
	"farside/internal/vk"
)

// What follows filters between texels of planes, for many lanes at once. It is there in AVX-512 only, and has the bits
// that the steps for eight lanes have.

const (
	// PlaneLevels is how many levels a plane has at most.
	PlaneLevels = 16
	// PlaneWidth is the lanes of a vector.
	PlaneWidth = 16
	// SpanLanes is the lanes of a span.
	SpanLanes = 256
)

// SpanWords is a component for each lane of a span.
type SpanWords [SpanLanes]uint32

// PlaneAxis is an axis of a plane: for each level its texels, the bytes from one to the next, and from where.
type PlaneAxis struct {
	Size, Step, Start [PlaneLevels]int32
	PowersOfTwo       bool // all sizes are
}

// PlanePairs are Pairs of sixteen lanes.
type PlanePairs struct {
	At      [2][PlaneWidth]int32
	Weights [PlaneWidth]uint32
}

// PlaneLods is what levels of detail are made of: the size of the first level in texels, a bias, the least and the most
// level of detail, and the last level. No number is a NaN.
type PlaneLods struct {
	Width, Height           float64
	Bias, Least, Most, Last float32
	MipLinear               bool // between two levels
}

// Wide says whether this processor has the steps for planes.
func Wide() bool { return Vectors() && cpuid.X86().AVX512 }

// HasPlanes says whether the texels of a format can be read in planes, and filtered if the format is Linear.
func (f *Format) HasPlanes() bool { return f.way != 0 && Wide() }

// Lods computes the logarithms of the longer of the derivatives dx and dy, in texels, of so many lanes: the level of
// detail is that and the bias, within the bounds. It gives false, and any numbers, if some derivative is such that the
// logarithm isn't one of a normal number or of 0.
func (p *PlaneLods) Lods(to *SpanWords, dx, dy *[2]SpanWords, lanes int) bool {
	const atOnce = 32
	return avx512Lods(&to[0], &dx[0][0], &dy[0][0], p, (lanes+atOnce-1)/atOnce) != 0
}

// Footprints is what several samples along the longer derivative of each lane need: the logarithm of the shorter one,
// or of a part of the longer one if that makes more than most samples, how many samples there are, as floats, where
// they start along two axes, and how far apart they are. It gives the most samples of a lane, and 0 and any numbers
// where Lods gives false.
func (p *PlaneLods) Footprints(lods, samples *SpanWords, start, step, coordinates, dx, dy *[2]SpanWords, most float64,
	lanes int) int {
	const atOnce = 32
	return int(avx512Footprints(&lods[0], &samples[0], &start[0][0], &step[0][0], &coordinates[0][0], &dx[0][0], &dy[0][0],
		p, max(most, 1), (lanes+atOnce-1)/atOnce))
}

// Levels finds the levels that levels of detail ask for, without the bias and bounds: the first one, and if there is
// one between two a second with the weight of it. It says whether any lane's weight is more than 0.
func (p *PlaneLods) Levels(first, second, weights, lods *SpanWords, lanes int) bool {
	return avx512Levels(&first[0], &second[0], &weights[0], &lods[0], p, vectorsOf(lanes)) != 0
}

// Pairs is Axis.Pairs, of coordinates from 0 to 1. In a mode with a border it gives false, and the nearest texels, if
// some lie outside.
func (a *PlaneAxis) Pairs(mode vk.SamplerAddressMode, to *[SpanLanes / PlaneWidth]PlanePairs, u, levels *SpanWords,
	shift int32, lanes int) bool {
	if mode == vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER {
		return avx512BorderPairs(&to[0], &u[0], &levels[0], a, shift, vectorsOf(lanes)) == 0
	}
	avx512Pairs(mode, &to[0], &u[0], &levels[0], a, shift, vectorsOf(lanes))
	return true
}

// Nearest is Pairs for the nearest texels, which are the first ones.
func (a *PlaneAxis) Nearest(mode vk.SamplerAddressMode, to *[SpanLanes / PlaneWidth]PlanePairs, u, levels *SpanWords,
	shift int32, lanes int) bool {
	if mode == vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER {
		return avx512BorderNearest(&to[0], &u[0], &levels[0], a, shift, vectorsOf(lanes)) == 0
	}
	avx512Nearest(mode, &to[0], &u[0], &levels[0], a, shift, vectorsOf(lanes))
	return true
}

// Layers adds to what was found along another axis where the layers begin that coordinates round to, of which there are
// as many as texels of the first level.
func (a *PlaneAxis) Layers(to *[SpanLanes / PlaneWidth]PlanePairs, z, levels *SpanWords, lanes int) {
	avx512Layers(&to[0], &z[0], &levels[0], a, vectorsOf(lanes))
}

// PlaneNearest reads the texels at the first offsets of x and y, which lie inside as those of Plane do.
func (f *Format) PlaneNearest(dst *[4]SpanWords, data []byte, x, y *[SpanLanes / PlaneWidth]PlanePairs, lanes int) {
	f.PlaneTexel(dst, data, x, y, [2]int{}, lanes)
}

// PlaneTexel is PlaneNearest with the first (0) or the second (1) offset of each axis.
func (f *Format) PlaneTexel(dst *[4]SpanWords, data []byte, x, y *[SpanLanes / PlaneWidth]PlanePairs, side [2]int,
	lanes int) {
	avx512Read(f.way, f, &dst[0][0], data, &x[0].At[side[0]&1], &y[0].At[side[1]&1], vectorsOf(lanes))
}

// CompareSpan compares references with texels, the first of which a depth aspect's Unorm clamps, and gives 1 and 0.
func CompareSpan(dst, references, texels *SpanWords, op vk.CompareOp, clamp bool, lanes int) {
	avx512Compare(&dst[0], &references[0], &texels[0], op, clamp, vectorsOf(lanes))
}

// BilinearSpan filters between four texels of one component: along x, then along y.
func BilinearSpan(dst *SpanWords, texels *[4]SpanWords, x, y *[SpanLanes / PlaneWidth]PlanePairs, lanes int) {
	avx512Bilinear(&dst[0], &texels[0][0], &x[0], &y[0], vectorsOf(lanes))
}

// Plane is Quad for so many lanes. All offsets lie inside, also those of the lanes up to the next multiple of
// PlaneWidth.
func (f *Format) Plane(dst *[4]SpanWords, data []byte, x, y *[SpanLanes / PlaneWidth]PlanePairs, lanes int) {
	avx512Quad(f.way, f, &dst[0][0], data, &x[0], &y[0], vectorsOf(lanes))
}

// MixSpan is Mix with a weighted average.
func MixSpan(dst, other *[4]SpanWords, weights *SpanWords, lanes int) {
	avx512AverageSome(&dst[0][0], &other[0][0], &weights[0], vectorsOf(lanes))
}

// PlacesSpan gives coordinates along two axes: where the lanes start, and so many steps.
func PlacesSpan(to, start, step *[2]SpanWords, many float32, lanes int) {
	avx512Places(&to[0][0], &start[0][0], &step[0][0], many, vectorsOf(lanes))
}

// SumsSpan adds components to sums in the lanes that have at least so many samples.
func SumsSpan(sums, other *[4]SpanWords, samples *SpanWords, many float32, lanes int) {
	avx512Sums(&sums[0][0], &other[0][0], &samples[0], many, vectorsOf(lanes))
}

// MeansSpan divides sums by how many samples the lanes have.
func MeansSpan(dst, sums *[4]SpanWords, samples *SpanWords, lanes int) {
	avx512Means(&dst[0][0], &sums[0][0], &samples[0], vectorsOf(lanes))
}

// vectorsOf is how many vectors have so many lanes.
func vectorsOf(lanes int) int { return (lanes + PlaneWidth - 1) / PlaneWidth }
