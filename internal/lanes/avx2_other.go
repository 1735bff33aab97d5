//go:build !amd64

package lanes

import "farside/internal/vk"

// Vectors() is false here, so that nothing calls these.

func avx2Nearest(vk.SamplerAddressMode, *Offsets, *Lanes, *Places, *Axis, *Lanes)      {}
func avx2NearestWide(vk.SamplerAddressMode, *Offsets, *Places, *Places, *Axis, *Lanes) {}
func avx2Pairs(vk.SamplerAddressMode, *Pair, *Lanes, *Places, *Axis, *Lanes)           {}
func avx2PairsWide(vk.SamplerAddressMode, *Pair, *Places, *Places, *Axis, *Lanes)      {}
func avx2Locate(*Offsets, *Lanes, *Lanes, *Lanes, *Level, Mask)                        {}
func avx2Average(dst, other *Texels, weights *Lanes)                                   {}
func avx2AverageSome(dst, other *Texels, weights *Lanes)                               {}
func avx2Least(dst, other *Texels, weights *Lanes)                                     {}
func avx2Greatest(dst, other *Texels, weights *Lanes)                                  {}
func avx2Read(way, *Format, *Texels, []byte, *Offsets, *Texels)                        {}
func avx2Quad(way, *Format, *Texels, []byte, *Pair, *Pair, *Offsets)                   {}
func avx2Encode(way, *[2]Lanes, *Texels)                                               {}
func avx512Lods(to, dx, dy *uint32, p *PlaneLods, n int) uint8                         { return 0 }
func avx512Footprints(l, samples, start, step, coordinates, dx, dy *uint32, p *PlaneLods, most float64, n int) uint32 {
	return 0
}
func avx512Levels(high, low, between, lods *uint32, p *PlaneLods, n int) uint8              { return 0 }
func avx512AverageSome(dst, other, weights *uint32, n int)                                  {}
func avx512Places(to, start, step *uint32, many float32, n int)                             {}
func avx512Sums(sums, other, samples *uint32, many float32, n int)                          {}
func avx512Means(dst, sums, samples *uint32, n int)                                         {}
func avx512Quad(way, *Format, *uint32, []byte, *PlanePairs, *PlanePairs, int)               {}
func avx512Layers(to *PlanePairs, z, levels *uint32, a *PlaneAxis, n int)                   {}
func avx512Read(way, *Format, *uint32, []byte, *[PlaneWidth]int32, *[PlaneWidth]int32, int) {}

func avx512Pairs(vk.SamplerAddressMode, *PlanePairs, *uint32, *uint32, *PlaneAxis, int32, int)   {}
func avx512Nearest(vk.SamplerAddressMode, *PlanePairs, *uint32, *uint32, *PlaneAxis, int32, int) {}
func avx512BorderPairs(to *PlanePairs, u, levels *uint32, a *PlaneAxis, shift int32, n int) uint8 {
	return 0
}
func avx512BorderNearest(to *PlanePairs, u, levels *uint32, a *PlaneAxis, shift int32, n int) uint8 {
	return 0
}
func avx512Compare(dst, references, texels *uint32, op vk.CompareOp, clamp bool, n int) {}
func avx512Bilinear(dst, texels *uint32, x, y *PlanePairs, n int)                       {}
