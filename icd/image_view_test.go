package icd

import (
	"testing"

	"farside/internal/vk"
)

func TestImagesOfTransfersHaveNoViews(t *testing.T) {
	d := imageTestDevice(t)
	info := plainImage()
	view := vk.ImageViewCreateInfo{
		SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, Image: newTestImage(t, d, &info), ViewType: vk.IMAGE_VIEW_TYPE_2D,
		Format:           info.Format,
		SubresourceRange: vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1},
	}
	h := vk.ImageView(7)
	if r := commands.CreateImageView(d.handle, &view, nil, &h); r != vk.ERROR_VALIDATION_FAILED || h != 0 {
		t.Errorf("vkCreateImageView: %v, %#x", r, uint64(h))
	}
	v := imageView{child: child{device: d}, image: images.Get(uint64(view.Image))}
	if err := v.init(&view); vk.VUIDOf(err).String() != "VUID-VkImageViewCreateInfo-image-04441" {
		t.Errorf("a view of a transfer image: %v", err)
	}
	commands.DestroyImageView(d.handle, 0, nil)
}

// The rules of views are held against images as a device with shaders would make them.
func TestImageViewRules(t *testing.T) {
	d := imageTestDevice(t)
	info := plainImage()
	info.MipLevels, info.ArrayLayers, info.Flags = 3, 12, vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT
	sampled := func(flags vk.ImageCreateFlags, imageType vk.ImageType) *image {
		i := info
		i.Flags, i.ImageType = flags, imageType
		if imageType == vk.IMAGE_TYPE_3D {
			i.ArrayLayers, i.Extent.Depth = 1, 8
		}
		img := images.Get(uint64(newTestImage(t, d, &i)))
		img.usage |= vk.IMAGE_USAGE_SAMPLED_BIT
		return img
	}
	array := sampled(vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT|vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT, vk.IMAGE_TYPE_2D)
	plain := sampled(0, vk.IMAGE_TYPE_2D)
	volume := sampled(vk.IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT, vk.IMAGE_TYPE_3D)
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	const rgba = vk.FORMAT_R8G8B8A8_UNORM
	for _, c := range []struct {
		name     string
		img      *image
		viewType vk.ImageViewType
		format   vk.Format
		r        vk.ImageSubresourceRange
		vuid     string
		levels   uint32
		layers   uint32
	}{
		{"whole array", array, vk.IMAGE_VIEW_TYPE_2D_ARRAY, rgba,
			vk.ImageSubresourceRange{AspectMask: color, BaseMipLevel: 1, LevelCount: vk.REMAINING_MIP_LEVELS, BaseArrayLayer: 2,
				LayerCount: vk.REMAINING_ARRAY_LAYERS}, "", 2, 10},
		{"cube", array, vk.IMAGE_VIEW_TYPE_CUBE, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 3, LayerCount: 6}, "", 3, 6},
		{"other format", array, vk.IMAGE_VIEW_TYPE_2D, vk.FORMAT_R32_UINT,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}, "", 1, 1},
		{"slices of a volume", volume, vk.IMAGE_VIEW_TYPE_2D_ARRAY, rgba,
			vk.ImageSubresourceRange{AspectMask: color, BaseMipLevel: 1, LevelCount: 1, LayerCount: vk.REMAINING_ARRAY_LAYERS},
			"", 1, 4},
		{"other block size", array, vk.IMAGE_VIEW_TYPE_2D, vk.FORMAT_R16_UINT,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}, "VUID-VkImageViewCreateInfo-image-01761",
			0, 0},
		{"other format of an immutable image", plain, vk.IMAGE_VIEW_TYPE_2D, vk.FORMAT_R32_UINT,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}, "VUID-VkImageViewCreateInfo-image-12397",
			0, 0},
		{"no such format", array, vk.IMAGE_VIEW_TYPE_2D, vk.FORMAT_UNDEFINED,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}, "VUID-VkImageViewCreateInfo-None-02273",
			0, 0},
		{"no such aspect", array, vk.IMAGE_VIEW_TYPE_2D, rgba,
			vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT, LevelCount: 1, LayerCount: 1},
			"VUID-VkImageSubresourceRange-aspectMask-parameter", 0, 0},
		{"3D view of an array", array, vk.IMAGE_VIEW_TYPE_3D, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1},
			"VUID-VkImageViewCreateInfo-subResourceRange-01021", 0, 0},
		{"no such view type", array, 99, rgba, vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1},
			"VUID-VkImageViewCreateInfo-subResourceRange-01021", 0, 0},
		{"cube of an array", plain, vk.IMAGE_VIEW_TYPE_CUBE, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 6}, "VUID-VkImageViewCreateInfo-image-01003",
			0, 0},
		{"cube of 5 faces", array, vk.IMAGE_VIEW_TYPE_CUBE, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 5},
			"VUID-VkImageViewCreateInfo-viewType-02960", 0, 0},
		{"cubes of 11 faces", array, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 11},
			"VUID-VkImageViewCreateInfo-viewType-02961", 0, 0},
		{"2D of two layers", array, vk.IMAGE_VIEW_TYPE_2D, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 2},
			"VUID-VkImageViewCreateInfo-imageViewType-04973", 0, 0},
		{"no such level", array, vk.IMAGE_VIEW_TYPE_2D, rgba,
			vk.ImageSubresourceRange{AspectMask: color, BaseMipLevel: 3, LevelCount: 1, LayerCount: 1},
			"VUID-VkImageViewCreateInfo-subresourceRange-01478", 0, 0},
		{"too many levels", array, vk.IMAGE_VIEW_TYPE_2D, rgba,
			vk.ImageSubresourceRange{AspectMask: color, BaseMipLevel: 2, LevelCount: 2, LayerCount: 1},
			"VUID-VkImageViewCreateInfo-subresourceRange-01718", 0, 0},
		{"no such layer", array, vk.IMAGE_VIEW_TYPE_2D, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, BaseArrayLayer: 12, LayerCount: 1},
			"VUID-VkImageViewCreateInfo-image-06724", 0, 0},
		{"too many layers", array, vk.IMAGE_VIEW_TYPE_2D_ARRAY, rgba,
			vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, BaseArrayLayer: 11, LayerCount: 2},
			"VUID-VkImageViewCreateInfo-subresourceRange-06725", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := imageView{child: child{device: d}, image: c.img}
			err := v.init(&vk.ImageViewCreateInfo{SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, ViewType: c.viewType,
				Format: c.format, SubresourceRange: c.r})
			if vk.VUIDOf(err).String() != c.vuid || (err == nil) != (c.vuid == "") {
				t.Fatalf("%v (%q), want %q", err, vk.VUIDOf(err).String(), c.vuid)
			}
			if err == nil && (v.levelCount != c.levels || v.layerCount != c.layers) {
				t.Errorf("%d levels and %d layers, want %d and %d", v.levelCount, v.layerCount, c.levels, c.layers)
			}
		})
	}
}
