package icd

import (
	"testing"
	"unsafe"

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

// TestViewUsage: what a view is for depends on its aspects, if the stencil aspect has a usage of its own.
func TestViewUsage(t *testing.T) {
	d := imageTestDevice(t)
	const (
		src, dst, sampled = vk.IMAGE_USAGE_TRANSFER_SRC_BIT, vk.IMAGE_USAGE_TRANSFER_DST_BIT, vk.IMAGE_USAGE_SAMPLED_BIT
		depth, stencil    = vk.IMAGE_ASPECT_DEPTH_BIT, vk.IMAGE_ASPECT_STENCIL_BIT
	)
	info := plainImage()
	info.Format = vk.FORMAT_D32_SFLOAT_S8_UINT
	img := images.Get(uint64(newTestImage(t, d, &info)))
	for _, c := range []struct {
		name                       string
		usage, stencilUsage, asked vk.ImageUsageFlags
		aspects                    vk.ImageAspectFlags
		want                       vk.ImageUsageFlags
		vuid                       string
	}{
		{"depth", sampled | src, sampled | dst, 0, depth, sampled | src, ""},
		{"stencil", sampled | src, sampled | dst, 0, stencil, sampled | dst, ""},
		{"both", sampled | src, sampled | dst, 0, depth | stencil, sampled, ""},
		{"both, one usage", sampled | src, sampled | src, 0, depth | stencil, sampled | src, ""},
		{"both, less", sampled | src, sampled | src, sampled, depth | stencil, sampled, ""},
		{"more than the image", sampled, sampled, sampled | dst, depth, 0, "VUID-VkImageViewCreateInfo-pNext-02662"},
		{"more than the stencil", sampled | src, sampled, sampled | src, depth | stencil, 0,
			"VUID-VkImageViewCreateInfo-pNext-02663"},
		{"more than the depth", sampled, sampled | src, sampled | src, depth | stencil, 0,
			"VUID-VkImageViewCreateInfo-pNext-02664"},
	} {
		t.Run(c.name, func(t *testing.T) {
			img.usage, img.stencilUsage = c.usage, c.stencilUsage
			view := vk.ImageViewCreateInfo{ViewType: vk.IMAGE_VIEW_TYPE_2D, Format: info.Format,
				SubresourceRange: vk.ImageSubresourceRange{AspectMask: c.aspects, LevelCount: 1, LayerCount: 1}}
			if c.asked != 0 {
				view.PNext = unsafe.Pointer(&vk.ImageViewUsageCreateInfo{
					SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO, Usage: c.asked})
			}
			v := imageView{child: child{device: d}, image: img}
			err := v.init(&view)
			if got := vk.VUIDOf(err).String(); err != nil && got != c.vuid || err == nil && (c.vuid != "" || v.usage != c.want) {
				t.Errorf("usage %v, %v; want %v, %s", v.usage, err, c.want, c.vuid)
			}
		})
	}
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
