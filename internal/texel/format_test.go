package texel

import (
	"testing"

	"farside/internal/vk"
)

func TestFormatOf(t *testing.T) {
	const (
		color   = vk.IMAGE_ASPECT_COLOR_BIT
		depth   = vk.IMAGE_ASPECT_DEPTH_BIT
		stencil = vk.IMAGE_ASPECT_STENCIL_BIT
		plane0  = vk.IMAGE_ASPECT_PLANE_0_BIT
	)
	one := [3]uint32{1, 1, 1}
	for f, want := range map[vk.Format]Format{
		vk.FORMAT_R8_UNORM:               {one, [3]Plane{{Aspect: color, BlockSize: 1}}, 1, false, false},
		vk.FORMAT_R8G8B8_SRGB:            {one, [3]Plane{{Aspect: color, BlockSize: 3}}, 1, false, false},
		vk.FORMAT_R64G64B64A64_SFLOAT:    {one, [3]Plane{{Aspect: color, BlockSize: 32}}, 1, false, false},
		vk.FORMAT_A4R4G4B4_UNORM_PACK16:  {one, [3]Plane{{Aspect: color, BlockSize: 2}}, 1, false, false},
		vk.FORMAT_R10X6_UNORM_PACK16:     {one, [3]Plane{{Aspect: color, BlockSize: 2}}, 1, false, false},
		vk.FORMAT_E5B9G9R9_UFLOAT_PACK32: {one, [3]Plane{{Aspect: color, BlockSize: 4}}, 1, false, false},
		vk.FORMAT_BC7_SRGB_BLOCK:         {[3]uint32{4, 4, 1}, [3]Plane{{Aspect: color, BlockSize: 16}}, 1, true, false},
		vk.FORMAT_EAC_R11_SNORM_BLOCK:    {[3]uint32{4, 4, 1}, [3]Plane{{Aspect: color, BlockSize: 8}}, 1, true, false},
		vk.FORMAT_ASTC_8x6_SFLOAT_BLOCK:  {[3]uint32{8, 6, 1}, [3]Plane{{Aspect: color, BlockSize: 16}}, 1, true, false},
		vk.FORMAT_D16_UNORM:              {one, [3]Plane{{Aspect: depth, BlockSize: 2}}, 1, false, false},
		vk.FORMAT_X8_D24_UNORM_PACK32:    {one, [3]Plane{{Aspect: depth, BlockSize: 4}}, 1, false, false},
		vk.FORMAT_D32_SFLOAT:             {one, [3]Plane{{Aspect: depth, BlockSize: 4}}, 1, false, false},
		vk.FORMAT_S8_UINT:                {one, [3]Plane{{Aspect: stencil, BlockSize: 1}}, 1, false, false},
		vk.FORMAT_D16_UNORM_S8_UINT: {
			one, [3]Plane{{Aspect: depth, BlockSize: 2}, {Aspect: stencil, BlockSize: 1}}, 2, false, false},
		vk.FORMAT_D24_UNORM_S8_UINT: {
			one, [3]Plane{{Aspect: depth, BlockSize: 4}, {Aspect: stencil, BlockSize: 1}}, 2, false, false},
		vk.FORMAT_D32_SFLOAT_S8_UINT: {
			one, [3]Plane{{Aspect: depth, BlockSize: 4}, {Aspect: stencil, BlockSize: 1}}, 2, false, false},
		vk.FORMAT_UNDEFINED:   {},
		vk.Format(-1):         {},
		vk.Format(0x7fffffff): {},

		vk.FORMAT_G14X2_B14X2R14X2_2PLANE_420_UNORM_3PACK16_ARM: {},

		vk.FORMAT_PVRTC1_2BPP_UNORM_BLOCK_IMG: {},

		vk.FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16: {one, [3]Plane{{Aspect: color, BlockSize: 8}}, 1, false, true},
		vk.FORMAT_G8B8G8R8_422_UNORM: {[3]uint32{2, 1, 1}, [3]Plane{{Aspect: color, BlockSize: 4}}, 1,
			false, true},
		vk.FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16: {[3]uint32{2, 1, 1}, [3]Plane{{Aspect: color, BlockSize: 8}}, 1,
			false, true},
		vk.FORMAT_G8_B8R8_2PLANE_420_UNORM: {one, [3]Plane{
			{plane0, 1, vk.FORMAT_R8_UNORM, [2]uint32{1, 1}}, {plane0 << 1, 2, vk.FORMAT_R8G8_UNORM, [2]uint32{2, 2}},
		}, 2, false, true},
		vk.FORMAT_G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16: {one, [3]Plane{
			{plane0, 2, vk.FORMAT_R10X6_UNORM_PACK16, [2]uint32{1, 1}},
			{plane0 << 1, 4, vk.FORMAT_R10X6G10X6_UNORM_2PACK16, [2]uint32{1, 1}},
		}, 2, false, true},
		vk.FORMAT_G16_B16_R16_3PLANE_422_UNORM: {one, [3]Plane{
			{plane0, 2, vk.FORMAT_R16_UNORM, [2]uint32{1, 1}}, {plane0 << 1, 2, vk.FORMAT_R16_UNORM, [2]uint32{2, 1}},
			{plane0 << 2, 2, vk.FORMAT_R16_UNORM, [2]uint32{2, 1}},
		}, 3, false, true},
	} {
		got, ok := FormatOf(f)
		if got != want || ok != (want.PlaneCount > 0) {
			t.Errorf("FormatOf(%v) = %+v, %v, want %+v", f, got, ok, want)
		}
	}
}
