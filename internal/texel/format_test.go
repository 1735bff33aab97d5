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
	)
	one := [3]uint32{1, 1, 1}
	for f, want := range map[vk.Format]Format{
		vk.FORMAT_R8_UNORM:                               {one, [2]Plane{{color, 1}}, 1, false},
		vk.FORMAT_R8G8B8_SRGB:                            {one, [2]Plane{{color, 3}}, 1, false},
		vk.FORMAT_R64G64B64A64_SFLOAT:                    {one, [2]Plane{{color, 32}}, 1, false},
		vk.FORMAT_A4R4G4B4_UNORM_PACK16:                  {one, [2]Plane{{color, 2}}, 1, false},
		vk.FORMAT_R10X6_UNORM_PACK16:                     {one, [2]Plane{{color, 2}}, 1, false},
		vk.FORMAT_E5B9G9R9_UFLOAT_PACK32:                 {one, [2]Plane{{color, 4}}, 1, false},
		vk.FORMAT_BC7_SRGB_BLOCK:                         {[3]uint32{4, 4, 1}, [2]Plane{{color, 16}}, 1, true},
		vk.FORMAT_EAC_R11_SNORM_BLOCK:                    {[3]uint32{4, 4, 1}, [2]Plane{{color, 8}}, 1, true},
		vk.FORMAT_ASTC_8x6_SFLOAT_BLOCK:                  {[3]uint32{8, 6, 1}, [2]Plane{{color, 16}}, 1, true},
		vk.FORMAT_D16_UNORM:                              {one, [2]Plane{{depth, 2}}, 1, false},
		vk.FORMAT_X8_D24_UNORM_PACK32:                    {one, [2]Plane{{depth, 4}}, 1, false},
		vk.FORMAT_D32_SFLOAT:                             {one, [2]Plane{{depth, 4}}, 1, false},
		vk.FORMAT_S8_UINT:                                {one, [2]Plane{{stencil, 1}}, 1, false},
		vk.FORMAT_D16_UNORM_S8_UINT:                      {one, [2]Plane{{depth, 2}, {stencil, 1}}, 2, false},
		vk.FORMAT_D24_UNORM_S8_UINT:                      {one, [2]Plane{{depth, 4}, {stencil, 1}}, 2, false},
		vk.FORMAT_D32_SFLOAT_S8_UINT:                     {one, [2]Plane{{depth, 4}, {stencil, 1}}, 2, false},
		vk.FORMAT_UNDEFINED:                              {},
		vk.Format(-1):                                    {},
		vk.Format(0x7fffffff):                            {},
		vk.FORMAT_G8B8G8R8_422_UNORM:                     {},
		vk.FORMAT_G8_B8R8_2PLANE_420_UNORM:               {},
		vk.FORMAT_PVRTC1_2BPP_UNORM_BLOCK_IMG:            {},
		vk.FORMAT_G16_B16_R16_3PLANE_444_UNORM:           {},
		vk.FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16: {},
	} {
		got, ok := FormatOf(f)
		if got != want || ok != (want.PlaneCount > 0) {
			t.Errorf("FormatOf(%v) = %+v, %v, want %+v", f, got, ok, want)
		}
	}
}
