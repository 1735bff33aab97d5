package reference

import (
	"math"

	"farside/internal/vk"
)

// remaining resolves VK_REMAINING_MIP_LEVELS and VK_REMAINING_ARRAY_LAYERS.
func remaining(count, base, all uint32) uint32 {
	if count == vk.REMAINING_MIP_LEVELS {
		return all - base
	}
	return count
}

// Clear is one range of vkCmdClearColorImage or vkCmdClearDepthStencilImage; what t holds for each aspect is
// asked of value.
func Clear(dst *Image, r vk.ImageSubresourceRange, value func(aspect vk.ImageAspectFlags) Texel) {
	for _, aspect := range dst.Aspects() {
		if r.AspectMask&aspect == 0 {
			continue
		}
		block := make([]byte, dst.BlockSize(aspect))
		dst.Encode(aspect, block, value(aspect))
		for level := r.BaseMipLevel; level < r.BaseMipLevel+remaining(r.LevelCount, r.BaseMipLevel, dst.Levels); level++ {
			for layer := r.BaseArrayLayer; layer < r.BaseArrayLayer+remaining(r.LayerCount, r.BaseArrayLayer,
				dst.Layers); layer++ {
				b := dst.Bytes(aspect, level, layer)
				for at := 0; at < len(b); at += len(block) {
					copy(b[at:], block)
				}
			}
		}
	}
}

// Blit is one region of vkCmdBlitImage: the centre of each texel of the target's box is taken back to the
// source, whose nearest texel, or the mean of the neighbours by distance, is what it gets.
func Blit(dst, src *Image, r vk.ImageBlit, filter vk.Filter) {
	from := box(r.SrcOffsets)
	to := box(r.DstOffsets)
	for _, aspect := range dst.Aspects() {
		if r.DstSubresource.AspectMask&aspect == 0 {
			continue
		}
		for layer := range r.DstSubresource.LayerCount {
			texel := func(x, y, z int) Texel {
				e := src.LevelExtent(r.SrcSubresource.MipLevel)
				at := func(v int, n uint32) uint32 { return uint32(min(max(v, 0), int(n)-1)) }
				return src.Decode(aspect, src.Block(aspect, r.SrcSubresource.MipLevel, r.SrcSubresource.BaseArrayLayer+layer,
					at(x, e[0]), at(y, e[1]), at(z, e[2])))
			}
			to.each(func(x, y, z int32) {
				var at [3]float64
				for i, v := range [3]int32{x, y, z} {
					scale := float64(from[i][1]-from[i][0]) / float64(to[i][1]-to[i][0])
					at[i] = (float64(v-to[i][0])+0.5)*scale + float64(from[i][0])
				}
				var t Texel
				if filter == vk.FILTER_LINEAR {
					t = linear(at, src.Type, texel)
				} else {
					t = texel(int(math.Floor(at[0])), int(math.Floor(at[1])), int(math.Floor(at[2])))
				}
				dst.Encode(aspect, dst.Block(aspect, r.DstSubresource.MipLevel, r.DstSubresource.BaseArrayLayer+layer,
					uint32(x), uint32(y), uint32(z)), t)
			})
		}
	}
}

// Resolve is one region of vkCmdResolveImage, of a color image in which the samples of a texel are texels next to each
// other. Integers come from sample 0, other numbers are the mean.
func Resolve(dst, src *Image, samples uint32, r vk.ImageResolve) {
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	for layer := range r.SrcSubresource.LayerCount {
		for y := range r.Extent.Height {
			for x := range r.Extent.Width {
				sample := func(s uint32) Texel {
					return src.Decode(color, src.Block(color, 0, r.SrcSubresource.BaseArrayLayer+layer,
						(uint32(r.SrcOffset.X)+x)*samples+s, uint32(r.SrcOffset.Y)+y, 0))
				}
				t := sample(0)
				for s := uint32(1); s < samples; s++ {
					for i, f := range sample(s).F {
						t.F[i] += f
					}
				}
				for i := range t.F {
					t.F[i] /= float64(samples)
				}
				dst.Encode(color, dst.Block(color, r.DstSubresource.MipLevel, r.DstSubresource.BaseArrayLayer+layer,
					uint32(r.DstOffset.X)+x, uint32(r.DstOffset.Y)+y, uint32(r.DstOffset.Z)), t)
			}
		}
	}
}

// linear weighs the two texels next to a place in each dimension that the image has.
func linear(at [3]float64, dimensions vk.ImageType, texel func(x, y, z int) Texel) Texel {
	var base [3]int
	var weight [3]float64
	for i := range at {
		if i > int(dimensions) { // 1D is 0
			base[i] = int(math.Floor(at[i]))
			continue
		}
		f := math.Floor(at[i] - 0.5)
		base[i], weight[i] = int(f), at[i]-0.5-f
	}
	var sum Texel
	for corner := range 8 {
		w := 1.0
		var p [3]int
		for i := range p {
			p[i] = base[i] + corner>>i&1
			if corner>>i&1 != 0 {
				w *= weight[i]
			} else {
				w *= 1 - weight[i]
			}
		}
		if w == 0 {
			continue
		}
		t := texel(p[0], p[1], p[2])
		for i := range sum.F {
			sum.F[i] += w * t.F[i]
		}
	}
	return sum
}

// bounds are the two ends of a region in each dimension, in the order in which they were given.
type bounds [3][2]int32

func box(o [2]vk.Offset3D) bounds {
	return bounds{{o[0].X, o[1].X}, {o[0].Y, o[1].Y}, {o[0].Z, o[1].Z}}
}

func (b bounds) each(visit func(x, y, z int32)) {
	low := func(i int) int32 { return min(b[i][0], b[i][1]) }
	high := func(i int) int32 { return max(b[i][0], b[i][1]) }
	for z := low(2); z < high(2); z++ {
		for y := low(1); y < high(1); y++ {
			for x := low(0); x < high(0); x++ {
				visit(x, y, z)
			}
		}
	}
}
