package lanes

import "farside/internal/vk"

// Average brings two results together in all lanes: the weighted average.
func (f *Format) Average(dst, other *Texels, weights *Lanes) {
	if f.vectors {
		avx2Average(dst, other, weights)
		return
	}
	for c := range dst {
		a, b := &dst[c], &other[c]
		for i, w := range weights {
			x := Float(a[i])
			a[i] = Bits(x + float32((Float(b[i])-x)*Float(w)))
		}
	}
}

// Mix brings two results together in the lanes whose weight is not 0: the weighted average, or the lesser or greater
// number. Of a number and a NaN it is the first operand.
func (f *Format) Mix(reduction vk.SamplerReductionMode, dst, other *Texels, weights *Lanes) {
	if f.vectors {
		switch reduction {
		case vk.SAMPLER_REDUCTION_MODE_MIN:
			avx2Least(dst, other, weights)
		case vk.SAMPLER_REDUCTION_MODE_MAX:
			avx2Greatest(dst, other, weights)
		default:
			avx2AverageSome(dst, other, weights)
		}
		return
	}
	for c := range dst {
		a, b := &dst[c], &other[c]
		for i, w := range weights {
			if Float(w) == 0 {
				continue
			}
			x, y := Float(a[i]), Float(b[i])
			switch {
			case reduction == vk.SAMPLER_REDUCTION_MODE_MIN:
				if y < x {
					a[i] = b[i]
				}
			case reduction == vk.SAMPLER_REDUCTION_MODE_MAX:
				if y > x {
					a[i] = b[i]
				}
			default:
				a[i] = Bits(x + float32((y-x)*Float(w)))
			}
		}
	}
}
