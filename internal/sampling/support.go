package sampling

import (
	"farside/internal/lanes"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Access is what shaders can do with a format.
type Access struct {
	Sampled bool // images are sampled and fetched from; colours also fetched from buffers
	Storage bool // images and texel buffers are read and written
	Atomic  bool // and changed by atomic operations
}

// AccessOf returns what shaders can do with a format. Left out are those that need a conversion, and numbers that a
// shader's image does not have: 64-bit floats and vectors of 64-bit integers. Storage images are the formats that
// SPIR-V has a name for, and the same with other names for the channels.
func AccessOf(format vk.Format) (a Access) {
	storage, ok := texel.FormatOf(format)
	if !ok || storage.Chroma {
		return a
	}
	if storage.Compressed {
		return Access{Sampled: true}
	}
	f, ok := lanes.FormatOf(format, storage.Planes[0].Aspect, lanes.Vectors())
	if !ok {
		return a
	}
	a.Sampled = true
	uniform := true // channels are words of 8, 16 or 32 bits
	for _, c := range f.Channels {
		if c.Kind == vk.NumericSRGB {
			uniform = false
		}
		if c.Bits > 32 && !f.Wide {
			return Access{}
		}
		uniform = uniform && (c.Bits == 8 || c.Bits == 16 || c.Bits == 32)
	}
	if storage.Aspects() != vk.IMAGE_ASPECT_COLOR_BIT {
		return a
	}
	switch format {
	case vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_A2B10G10R10_UINT_PACK32, vk.FORMAT_B10G11R11_UFLOAT_PACK32:
		a.Storage = true
	case vk.FORMAT_R32_UINT, vk.FORMAT_R32_SINT, vk.FORMAT_R32_SFLOAT:
		a.Storage, a.Atomic = true, true
	case vk.FORMAT_R64_UINT, vk.FORMAT_R64_SINT:
		return Access{Storage: true, Atomic: true}
	default:
		a.Storage = uniform && len(f.Channels) != 3
	}
	return a
}
