package icd

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"farside/internal/texel"
	"farside/internal/vk"
)

// plainImage can be created; tests change one thing of it.
func plainImage() vk.ImageCreateInfo {
	return vk.ImageCreateInfo{
		SType: vk.STRUCTURE_TYPE_IMAGE_CREATE_INFO, ImageType: vk.IMAGE_TYPE_2D, Format: vk.FORMAT_R8G8B8A8_UNORM,
		Extent: vk.Extent3D{Width: 16, Height: 16, Depth: 1}, MipLevels: 1, ArrayLayers: 1,
		Samples: vk.SAMPLE_COUNT_1_BIT, Tiling: vk.IMAGE_TILING_LINEAR,
		Usage: vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT,
	}
}

func newTestImage(t *testing.T, d *device, info *vk.ImageCreateInfo) vk.Image {
	t.Helper()
	var h vk.Image
	if r := commands.CreateImage(d.handle, info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateImage: %v, handle %#x", r, uint64(h))
	}
	t.Cleanup(func() { commands.DestroyImage(d.handle, h, nil) })
	return h
}

func TestCreateImageRules(t *testing.T) {
	d := imageTestDevice(t)
	lacking(t, d, "hostImageCopy")
	const invalidUse = vk.ERROR_VALIDATION_FAILED
	for _, c := range []struct {
		name   string
		change func(*vk.ImageCreateInfo)
		result vk.Result
		vuid   string
	}{
		{"plain", func(i *vk.ImageCreateInfo) {}, vk.SUCCESS, ""},
		{"cube", func(i *vk.ImageCreateInfo) { i.Flags, i.ArrayLayers = vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 6 }, vk.SUCCESS,
			""},
		{"preinitialized", func(i *vk.ImageCreateInfo) { i.InitialLayout = vk.IMAGE_LAYOUT_PREINITIALIZED }, vk.SUCCESS, ""},
		{"full mip chain", func(i *vk.ImageCreateInfo) { i.MipLevels = 5 }, vk.SUCCESS, ""},
		{"optimal depth/stencil", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Format = vk.IMAGE_TILING_OPTIMAL, vk.FORMAT_D24_UNORM_S8_UINT
		}, vk.SUCCESS, ""},
		{"no width", func(i *vk.ImageCreateInfo) { i.Extent.Width = 0 }, invalidUse, "VUID-VkImageCreateInfo-extent-00944"},
		{"no height", func(i *vk.ImageCreateInfo) { i.Extent.Height = 0 }, invalidUse, "VUID-VkImageCreateInfo-extent-00945"},
		{"no depth", func(i *vk.ImageCreateInfo) { i.Extent.Depth = 0 }, invalidUse, "VUID-VkImageCreateInfo-extent-00946"},
		{"no levels", func(i *vk.ImageCreateInfo) { i.MipLevels = 0 }, invalidUse, "VUID-VkImageCreateInfo-mipLevels-00947"},
		{"no layers", func(i *vk.ImageCreateInfo) { i.ArrayLayers = 0 }, invalidUse,
			"VUID-VkImageCreateInfo-arrayLayers-00948"},
		{"no usage", func(i *vk.ImageCreateInfo) { i.Usage = 0 }, invalidUse, "VUID-VkImageCreateInfo-usage-requiredbitmask"},
		{"for the host, on a device that can't", func(i *vk.ImageCreateInfo) { i.Usage |= vk.IMAGE_USAGE_HOST_TRANSFER_BIT },
			invalidUse, "VUID-VkImageCreateInfo-usage-10245"},
		{"attachment", func(i *vk.ImageCreateInfo) { i.Usage = vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT }, vk.SUCCESS, ""},
		{"transient attachment", func(i *vk.ImageCreateInfo) {
			i.Format, i.Usage = vk.FORMAT_D16_UNORM,
				vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT|vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT|
					vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT
		}, vk.SUCCESS, ""},
		{"stencil attachment", func(i *vk.ImageCreateInfo) {
			i.Format, i.PNext = vk.FORMAT_D24_UNORM_S8_UINT, unsafe.Pointer(&vk.ImageStencilUsageCreateInfo{
				SType:        vk.STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
				StencilUsage: vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT})
		}, vk.SUCCESS, ""},
		{"depth attachment of colors", func(i *vk.ImageCreateInfo) { i.Usage = vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT },
			invalidUse, "VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"color attachment of depths", func(i *vk.ImageCreateInfo) {
			i.Format, i.Usage = vk.FORMAT_D16_UNORM, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"attachment of blocks", func(i *vk.ImageCreateInfo) {
			i.Format, i.Usage = vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"sparse", func(i *vk.ImageCreateInfo) { i.Flags = vk.IMAGE_CREATE_SPARSE_BINDING_BIT }, invalidUse,
			"VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"too many levels", func(i *vk.ImageCreateInfo) { i.MipLevels = 6 }, invalidUse,
			"VUID-VkImageCreateInfo-mipLevels-00958"},
		{"too wide", func(i *vk.ImageCreateInfo) { i.Extent.Width = 16385 }, invalidUse,
			"VUID-VkImageCreateInfo-extent-02252"},
		{"too high", func(i *vk.ImageCreateInfo) { i.Extent.Height = 1 << 31 }, invalidUse,
			"VUID-VkImageCreateInfo-extent-02253"},
		{"2D with depth", func(i *vk.ImageCreateInfo) { i.Extent.Depth = 2 }, invalidUse,
			"VUID-VkImageCreateInfo-imageType-00957"},
		{"1D with height", func(i *vk.ImageCreateInfo) { i.ImageType = vk.IMAGE_TYPE_1D }, invalidUse,
			"VUID-VkImageCreateInfo-imageType-00956"},
		{"3D with layers", func(i *vk.ImageCreateInfo) { i.ImageType, i.ArrayLayers = vk.IMAGE_TYPE_3D, 2 }, invalidUse,
			"VUID-VkImageCreateInfo-imageType-00961"},
		{"too many layers", func(i *vk.ImageCreateInfo) { i.ArrayLayers = 2049 }, invalidUse,
			"VUID-VkImageCreateInfo-arrayLayers-02256"},
		{"multisampled", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Samples = vk.IMAGE_TILING_OPTIMAL, vk.SAMPLE_COUNT_4_BIT
		}, vk.SUCCESS, ""},
		{"multisampled depth in layers", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Samples, i.Format, i.ArrayLayers = vk.IMAGE_TILING_OPTIMAL, vk.SAMPLE_COUNT_4_BIT,
				vk.FORMAT_D24_UNORM_S8_UINT, 3
		}, vk.SUCCESS, ""},
		{"multisampled and linear", func(i *vk.ImageCreateInfo) { i.Samples = vk.SAMPLE_COUNT_4_BIT }, invalidUse,
			"VUID-VkImageCreateInfo-samples-02258"},
		{"multisampled levels", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Samples, i.MipLevels = vk.IMAGE_TILING_OPTIMAL, vk.SAMPLE_COUNT_4_BIT, 2
		}, invalidUse, "VUID-VkImageCreateInfo-samples-02257"},
		{"multisampled for storage", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Samples, i.Usage = vk.IMAGE_TILING_OPTIMAL, vk.SAMPLE_COUNT_4_BIT, vk.IMAGE_USAGE_STORAGE_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-samples-02258"},
		{"two samples", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Samples = vk.IMAGE_TILING_OPTIMAL, vk.SAMPLE_COUNT_2_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-samples-02258"},
		{"one or four samples", func(i *vk.ImageCreateInfo) {
			i.Tiling, i.Samples = vk.IMAGE_TILING_OPTIMAL, vk.SAMPLE_COUNT_1_BIT|vk.SAMPLE_COUNT_4_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-samples-02258"},
		{"no samples", func(i *vk.ImageCreateInfo) { i.Samples = 0 }, invalidUse, "VUID-VkImageCreateInfo-samples-02258"},
		{"transient alone", func(i *vk.ImageCreateInfo) { i.Usage = vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT }, invalidUse,
			"VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"transient for copies", func(i *vk.ImageCreateInfo) {
			i.Usage |= vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT | vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"attachment of a format that is none", func(i *vk.ImageCreateInfo) {
			i.Format, i.Usage = vk.FORMAT_R8G8B8A8_SNORM, vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT
		}, invalidUse, "VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251"},
		{"cube of 5 faces", func(i *vk.ImageCreateInfo) { i.Flags, i.ArrayLayers = vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 5 },
			invalidUse, "VUID-VkImageCreateInfo-flags-08866"},
		{"oblong cube", func(i *vk.ImageCreateInfo) {
			i.Flags, i.ArrayLayers, i.Extent.Width = vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 6, 2*i.Extent.Height
		}, invalidUse, "VUID-VkImageCreateInfo-flags-08865"},
		{"general layout", func(i *vk.ImageCreateInfo) { i.InitialLayout = vk.IMAGE_LAYOUT_GENERAL }, invalidUse,
			"VUID-VkImageCreateInfo-initialLayout-00993"},
		{"modifier without a structure", func(i *vk.ImageCreateInfo) { i.Tiling = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT },
			invalidUse, "VUID-VkImageCreateInfo-tiling-02261"},
		{"beyond the heap", func(i *vk.ImageCreateInfo) {
			i.Extent, i.ArrayLayers = vk.Extent3D{Width: 16384, Height: 16384, Depth: 1}, 2048
		}, vk.ERROR_OUT_OF_DEVICE_MEMORY, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := plainImage()
			c.change(&info)
			img := image{child: child{device: d}}
			if err := img.init(&info); vk.ResultOf(err) != c.result || vk.VUIDOf(err).String() != c.vuid {
				t.Errorf("%v, %q (%v), want %v, %q", vk.ResultOf(err), vk.VUIDOf(err).String(), err, c.result, c.vuid)
			}
			var h vk.Image
			if r := commands.CreateImage(d.handle, &info, nil, &h); r != c.result || (h != 0) != (r == vk.SUCCESS) {
				t.Errorf("vkCreateImage: %v, %#x", r, uint64(h))
			}
			commands.DestroyImage(d.handle, h, nil)
		})
	}
	for o := range d.children() {
		t.Errorf("%v %#x is still listed as live", o.objectType(), o.base().handle)
	}
}

func TestExternalImageRules(t *testing.T) {
	d := imageTestDevice(t)
	const fd, rdma, host = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
		vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV, vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
	for _, c := range []struct {
		types   vk.ExternalMemoryHandleTypeFlags
		typesNV vk.ExternalMemoryHandleTypeFlagsNV
		initial vk.ImageLayout
		vuid    string
	}{
		{types: fd},
		{types: fd | rdma},
		{types: host},
		{typesNV: vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV},
		{types: fd | host, vuid: "VUID-VkImageCreateInfo-pNext-00990"},
		{types: vk.EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_TEXTURE_BIT, vuid: "VUID-VkImageCreateInfo-pNext-00990"},
		{types: 1 << 31, vuid: "VUID-VkImageCreateInfo-pNext-00990"},
		{typesNV: vk.EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_IMAGE_BIT_NV, vuid: "VUID-VkImageCreateInfo-pNext-00991"},
		{types: fd, typesNV: vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV, vuid: "VUID-VkImageCreateInfo-pNext-00988"},
		{types: fd, initial: vk.IMAGE_LAYOUT_PREINITIALIZED, vuid: "VUID-VkImageCreateInfo-pNext-01443"},
	} {
		nv := vk.ExternalMemoryImageCreateInfoNV{SType: vk.STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV,
			HandleTypes: c.typesNV}
		e := vk.ExternalMemoryImageCreateInfo{SType: vk.STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
			PNext: unsafe.Pointer(&nv), HandleTypes: c.types}
		info := plainImage()
		info.PNext, info.InitialLayout = unsafe.Pointer(&e), c.initial
		img := image{child: child{device: d}}
		err := img.init(&info)
		if vk.VUIDOf(err).String() != c.vuid || (err == nil) != (c.vuid == "") {
			t.Errorf("%v, %v: %v (%q), want %q", c.types, c.typesNV, err, vk.VUIDOf(err).String(), c.vuid)
		}
		if img.externalTypes != c.types && err == nil {
			t.Errorf("the image forgot its handle types: %v, want %v", img.externalTypes, c.types)
		}
	}
}

func TestDrmModifierImages(t *testing.T) {
	d := imageTestDevice(t)
	modifiers := []uint64{0x0100000000000001, 0}
	list := vk.ImageDrmFormatModifierListCreateInfoEXT{
		SType:                  vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
		DrmFormatModifierCount: 2, PDrmFormatModifiers: &modifiers[0],
	}
	info := plainImage()
	info.Tiling, info.PNext = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, unsafe.Pointer(&list)
	h := newTestImage(t, d, &info)
	got := vk.ImageDrmFormatModifierPropertiesEXT{SType: vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT,
		DrmFormatModifier: 9}
	if r := commands.GetImageDrmFormatModifierPropertiesEXT(d.handle, h, &got); r != vk.SUCCESS ||
		got.DrmFormatModifier != 0 {
		t.Errorf("modifier: %v, %#x", r, got.DrmFormatModifier)
	}
	sub := vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT}
	var l vk.SubresourceLayout
	commands.GetImageSubresourceLayout(d.handle, h, &sub, &l)
	if l.RowPitch != 64 || l.Size != 1024 || l.Offset != 0 {
		t.Errorf("plane layout %+v", l)
	}
	list.DrmFormatModifierCount = 1
	img := image{child: child{device: d}}
	if err := img.init(&info); vk.VUIDOf(err).String() !=
		"VUID-VkImageDrmFormatModifierListCreateInfoEXT-pDrmFormatModifiers-02263" {
		t.Errorf("a list without the linear modifier: %v", err)
	}
	info.Tiling = vk.IMAGE_TILING_OPTIMAL
	if err := img.init(&info); vk.VUIDOf(err).String() != "VUID-VkImageCreateInfo-pNext-02262" {
		t.Errorf("modifiers with optimal tiling: %v", err)
	}
}

func TestDrmExplicitLayouts(t *testing.T) {
	d := imageTestDevice(t)
	for _, c := range []struct {
		plane    vk.SubresourceLayout
		layers   uint32
		modifier uint64
		planes   uint32
		size     uint64
		result   vk.Result
	}{
		{plane: vk.SubresourceLayout{RowPitch: 64}, layers: 1, planes: 1, size: 1024},
		{plane: vk.SubresourceLayout{Offset: 4096, RowPitch: 256}, layers: 1, planes: 1, size: 4096 + 16*256},
		{plane: vk.SubresourceLayout{RowPitch: 64, ArrayPitch: 4096}, layers: 3, planes: 1, size: 2*4096 + 1024},
		{plane: vk.SubresourceLayout{RowPitch: 63}, layers: 1, planes: 1,
			result: vk.ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT},
		{plane: vk.SubresourceLayout{}, layers: 1, planes: 1, result: vk.ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT},
		{plane: vk.SubresourceLayout{RowPitch: 64, ArrayPitch: 1023}, layers: 2, planes: 1,
			result: vk.ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT},
		{plane: vk.SubresourceLayout{RowPitch: 1 << 63}, layers: 1, planes: 1,
			result: vk.ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT},
		{plane: vk.SubresourceLayout{RowPitch: 1 << 40}, layers: 1, planes: 1, result: vk.ERROR_OUT_OF_DEVICE_MEMORY},
		{plane: vk.SubresourceLayout{RowPitch: 64, Size: 1}, layers: 1, planes: 1, result: vk.ERROR_VALIDATION_FAILED},
		{plane: vk.SubresourceLayout{RowPitch: 64, ArrayPitch: 1024}, layers: 1, planes: 1,
			result: vk.ERROR_VALIDATION_FAILED},
		{plane: vk.SubresourceLayout{RowPitch: 64, DepthPitch: 1024}, layers: 1, planes: 1,
			result: vk.ERROR_VALIDATION_FAILED},
		{plane: vk.SubresourceLayout{RowPitch: 64}, layers: 1, planes: 2, result: vk.ERROR_VALIDATION_FAILED},
		{plane: vk.SubresourceLayout{RowPitch: 64}, layers: 1, planes: 1, modifier: 1, result: vk.ERROR_VALIDATION_FAILED},
	} {
		explicit := vk.ImageDrmFormatModifierExplicitCreateInfoEXT{
			SType:                       vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
			DrmFormatModifier:           c.modifier,
			DrmFormatModifierPlaneCount: c.planes, PPlaneLayouts: &c.plane,
		}
		info := plainImage()
		info.Tiling, info.ArrayLayers, info.PNext = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, c.layers,
			unsafe.Pointer(&explicit)
		img := image{child: child{device: d}}
		err := img.init(&info)
		if vk.ResultOf(err) != c.result {
			t.Errorf("%+v: %v, %v, want %v", c, vk.ResultOf(err), err, c.result)
			continue
		}
		if size, _, _ := img.requirements(0); err == nil && size != c.size {
			t.Errorf("%+v: %d bytes, want %d", c.plane, size, c.size)
		}
	}
}

// TestModifierImagesAgree makes an image with a list of modifiers, and one with the plane layout that the first one
// reports, as an importer does: a dedicated import needs the same hash and the same size of both
// (VUID-VkMemoryDedicatedAllocateInfo-image-01878, -image-02964).
func TestModifierImagesAgree(t *testing.T) {
	d := imageTestDevice(t)
	modifiers := []uint64{drmModifierLinear}
	list := vk.ImageDrmFormatModifierListCreateInfoEXT{
		SType:                  vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
		DrmFormatModifierCount: 1, PDrmFormatModifiers: &modifiers[0],
	}
	for _, extent := range []vk.Extent3D{{Width: 64, Height: 64, Depth: 1}, {Width: 37, Height: 19, Depth: 1},
		{Width: 1, Height: 1, Depth: 1}} {
		for layers := range uint32(3) {
			for _, format := range []vk.Format{vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32G32B32A32_SFLOAT} {
				info := plainImage()
				info.Format, info.Extent, info.ArrayLayers = format, extent, layers+1
				info.Tiling, info.PNext = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, unsafe.Pointer(&list)
				first := images.Get(uint64(newTestImage(t, d, &info)))
				var plane vk.SubresourceLayout
				sub := vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT}
				if err := first.subresourceLayout(&sub, &plane); err != nil {
					t.Fatal(err)
				}
				plane.Size, plane.DepthPitch = 0, 0
				if layers == 0 {
					plane.ArrayPitch = 0
				}
				info.PNext = unsafe.Pointer(&vk.ImageDrmFormatModifierExplicitCreateInfoEXT{
					SType:                       vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
					DrmFormatModifierPlaneCount: 1, PPlaneLayouts: &plane,
				})
				second := images.Get(uint64(newTestImage(t, d, &info)))
				if first.parameterHash() != second.parameterHash() {
					t.Errorf("%v, %v, %d layers: the hashes differ", format, extent, layers+1)
				}
				if diff := cmp.Diff(first.layout, second.layout, cmp.AllowUnexported(first.layout)); diff != "" {
					t.Errorf("%v, %v, %d layers (-list +explicit):\n%s", format, extent, layers+1, diff)
				}
			}
		}
	}
}

func TestImageFormatLists(t *testing.T) {
	d := imageTestDevice(t)
	const mutable, texelView = vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT, vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT
	for _, c := range []struct {
		flags   vk.ImageCreateFlags
		format  vk.Format
		formats []vk.Format
		vuid    string
	}{
		{0, vk.FORMAT_R8G8B8A8_UNORM, []vk.Format{vk.FORMAT_R8G8B8A8_UNORM}, ""},
		{mutable, vk.FORMAT_R8G8B8A8_UNORM, []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB}, ""},
		{mutable | texelView, vk.FORMAT_BC1_RGB_UNORM_BLOCK, []vk.Format{vk.FORMAT_R16G16B16A16_UINT}, ""},
		{mutable, vk.FORMAT_D32_SFLOAT, []vk.Format{vk.FORMAT_D32_SFLOAT}, ""},
		{0, vk.FORMAT_R8G8B8A8_UNORM, []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB},
			"VUID-VkImageCreateInfo-flags-04738"},
		{mutable, vk.FORMAT_R8G8B8A8_UNORM, []vk.Format{vk.FORMAT_R8_UNORM}, "VUID-VkImageCreateInfo-pNext-06722"},
		{mutable, vk.FORMAT_BC1_RGB_UNORM_BLOCK, []vk.Format{vk.FORMAT_R16G16B16A16_UINT},
			"VUID-VkImageCreateInfo-pNext-06722"},
		{mutable, vk.FORMAT_D32_SFLOAT, []vk.Format{vk.FORMAT_R32_SFLOAT}, "VUID-VkImageCreateInfo-pNext-06722"},
	} {
		list := vk.ImageFormatListCreateInfo{
			SType:           vk.STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
			ViewFormatCount: uint32(len(c.formats)), PViewFormats: &c.formats[0],
		}
		info := plainImage()
		info.Flags, info.Format, info.PNext = c.flags, c.format, unsafe.Pointer(&list)
		img := image{child: child{device: d}}
		if err := img.init(&info); vk.VUIDOf(err).String() != c.vuid || (err == nil) != (c.vuid == "") {
			t.Errorf("%v as %v: %v (%q), want %q", c.format, c.formats, err, vk.VUIDOf(err).String(), c.vuid)
		}
	}
}

func TestImageMemoryRequirements(t *testing.T) {
	d := imageTestDevice(t)
	info := plainImage()
	info.MipLevels, info.ArrayLayers = 5, 3
	h := newTestImage(t, d, &info)
	want := vk.MemoryRequirements{Size: 3 * 1472, Alignment: texel.Alignment, MemoryTypeBits: d.physical.typesFor(0)}
	var first vk.MemoryRequirements
	commands.GetImageMemoryRequirements(d.handle, h, &first)
	dedicated := vk.MemoryDedicatedRequirements{SType: vk.STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS,
		PrefersDedicatedAllocation: 7, RequiresDedicatedAllocation: 7}
	second := vk.MemoryRequirements2{SType: vk.STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, PNext: unsafe.Pointer(&dedicated)}
	commands.GetImageMemoryRequirements2(d.handle, &vk.ImageMemoryRequirementsInfo2{Image: h}, &second)
	third := vk.MemoryRequirements2{SType: vk.STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2}
	ask := vk.DeviceImageMemoryRequirements{SType: vk.STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS, PCreateInfo: &info}
	commands.GetDeviceImageMemoryRequirements(d.handle, &ask, &third)
	if first != want || second.MemoryRequirements != want || third.MemoryRequirements != want {
		t.Errorf("requirements %+v, %+v, %+v, want %+v", first, second.MemoryRequirements, third.MemoryRequirements, want)
	}
	if dedicated.PrefersDedicatedAllocation != vk.FALSE || dedicated.RequiresDedicatedAllocation != vk.FALSE {
		t.Errorf("dedicated requirements %+v", dedicated)
	}
	if n := testing.AllocsPerRun(100, func() { commands.GetImageMemoryRequirements(d.handle, h, &first) }); n != 0 {
		t.Errorf("vkGetImageMemoryRequirements allocates %v times", n)
	}
	info.Flags = vk.IMAGE_CREATE_SPARSE_BINDING_BIT
	commands.GetDeviceImageMemoryRequirements(d.handle, &ask, &third)
	if third.MemoryRequirements.MemoryTypeBits != 0 {
		t.Errorf("an impossible image can lie in memory types %#x", third.MemoryRequirements.MemoryTypeBits)
	}
	counts := [3]uint32{7, 7, 7}
	commands.GetImageSparseMemoryRequirements(d.handle, h, &counts[0], nil)
	commands.GetImageSparseMemoryRequirements2(d.handle, &vk.ImageSparseMemoryRequirementsInfo2{Image: h}, &counts[1], nil)
	commands.GetDeviceImageSparseMemoryRequirements(d.handle, &ask, &counts[2], nil)
	if counts != [3]uint32{} {
		t.Errorf("sparse requirements: %v", counts)
	}
}

func TestImageSubresourceLayoutRules(t *testing.T) {
	d := imageTestDevice(t)
	info := plainImage()
	info.Format, info.MipLevels, info.ArrayLayers = vk.FORMAT_D32_SFLOAT_S8_UINT, 2, 2
	depth := images.Get(uint64(newTestImage(t, d, &info)))
	info.Format = vk.FORMAT_R8_UNORM
	color := images.Get(uint64(newTestImage(t, d, &info)))
	info.Tiling = vk.IMAGE_TILING_OPTIMAL
	optimal := images.Get(uint64(newTestImage(t, d, &info)))
	const prefix = "VUID-vkGetImageSubresourceLayout-"
	for _, c := range []struct {
		img  *image
		sub  vk.ImageSubresource
		vuid string
	}{
		{depth, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT, MipLevel: 1, ArrayLayer: 1}, ""},
		{depth, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_STENCIL_BIT}, ""},
		{color, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: 1}, ""},
		{optimal, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT}, ""},
		{depth, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT},
			prefix + "aspectMask-00997"},
		{color, vk.ImageSubresource{}, prefix + "aspectMask-00997"},
		{color, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: 2}, prefix + "mipLevel-01716"},
		{color, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, ArrayLayer: 2}, prefix + "arrayLayer-01717"},
		{color, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT}, prefix + "format-08886"},
		{depth, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT}, prefix + "format-04462"},
		{color, vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT}, prefix + "format-08886"},
	} {
		var out vk.SubresourceLayout
		if err := c.img.subresourceLayout(&c.sub, &out); vk.VUIDOf(err).String() != c.vuid ||
			(err == nil) != (c.vuid == "") || (out.Size == 0) != (err != nil) {
			t.Errorf("%+v: %v (%q), want %q", c.sub, err, vk.VUIDOf(err).String(), c.vuid)
		}
	}
}

func TestImageParameterHash(t *testing.T) {
	d := imageTestDevice(t)
	hash := func(change func(*vk.ImageCreateInfo)) uint64 {
		info := plainImage()
		change(&info)
		return images.Get(uint64(newTestImage(t, d, &info))).parameterHash()
	}
	same := hash(func(*vk.ImageCreateInfo) {})
	if again := hash(func(*vk.ImageCreateInfo) {}); again != same {
		t.Errorf("equal images have hashes %#x and %#x", same, again)
	}
	for name, change := range map[string]func(*vk.ImageCreateInfo){
		"width":  func(i *vk.ImageCreateInfo) { i.Extent.Width = 17 },
		"format": func(i *vk.ImageCreateInfo) { i.Format = vk.FORMAT_B8G8R8A8_UNORM },
		"tiling": func(i *vk.ImageCreateInfo) { i.Tiling = vk.IMAGE_TILING_OPTIMAL },
		"usage":  func(i *vk.ImageCreateInfo) { i.Usage = vk.IMAGE_USAGE_TRANSFER_DST_BIT },
		"levels": func(i *vk.ImageCreateInfo) { i.MipLevels = 2 },
		"flags":  func(i *vk.ImageCreateInfo) { i.Flags = vk.IMAGE_CREATE_ALIAS_BIT },
	} {
		if hash(change) == same {
			t.Errorf("images that differ in %s have one hash", name)
		}
	}
}

func TestBindImage(t *testing.T) {
	d := imageTestDevice(t)
	info := plainImage()
	h := newTestImage(t, d, &info)
	m := &deviceMemory{child: child{device: d}, size: 4096}
	mem := vk.DeviceMemory(deviceMemories.Insert(m))
	t.Cleanup(func() { deviceMemories.Remove(uint64(mem)) })
	if r := commands.BindImageMemory(d.handle, h, mem, 4096-64); r == vk.SUCCESS {
		t.Error("an image is bound beyond the end of its memory")
	}
	if r := commands.BindImageMemory(d.handle, h, mem, 32); r == vk.SUCCESS {
		t.Error("an image is bound to an unaligned offset")
	}
	binds := [2]vk.BindImageMemoryInfo{{Image: h, Memory: mem, MemoryOffset: 1024}, {Image: h, Memory: mem}}
	if r := commands.BindImageMemory2(d.handle, 1, &binds[0]); r != vk.SUCCESS {
		t.Fatalf("vkBindImageMemory2: %v", r)
	}
	if img := images.Get(uint64(h)); img.bound[0].memory.Load() != m || img.bound[0].offset != 1024 {
		t.Errorf("bound to %p + %d, want %p + 1024", img.bound[0].memory.Load(), img.bound[0].offset, m)
	}
	if r := commands.BindImageMemory2(d.handle, 2, &binds[0]); r == vk.SUCCESS {
		t.Error("an image is bound twice")
	}
	if r := commands.BindImageMemory(d.handle, h+1<<40, mem, 0); r == vk.SUCCESS {
		t.Error("a handle that was never given out is bound")
	}
}

func FuzzCreateImage(f *testing.F) {
	f.Add(int32(37), int32(1), int32(1), uint32(16), uint32(16), uint32(1), uint32(1), uint32(1), uint32(1), uint32(3),
		uint32(0))
	f.Add(int32(129), int32(2), int32(0), uint32(2048), uint32(2048), uint32(2048), uint32(12), uint32(1), uint32(1),
		uint32(1), uint32(0x20))
	f.Add(int32(-1), int32(-1), int32(-1), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0),
		^uint32(0), ^uint32(0))
	f.Add(int32(37), int32(1), int32(0), uint32(64), uint32(32), uint32(1), uint32(1), uint32(2), uint32(4), uint32(0x17),
		uint32(8))
	f.Add(int32(183), int32(1), int32(0), uint32(16384), uint32(16384), uint32(1), uint32(15), uint32(2048), uint32(1),
		uint32(2), uint32(0x10))
	f.Fuzz(func(t *testing.T, format, imageType, tiling int32, width, height, depth, levels, layers, samples, usage,
		flags uint32) {
		d := imageTestDevice(t)
		info := vk.ImageCreateInfo{
			SType: vk.STRUCTURE_TYPE_IMAGE_CREATE_INFO, Format: vk.Format(format), ImageType: vk.ImageType(imageType),
			Tiling: vk.ImageTiling(tiling), Extent: vk.Extent3D{Width: width, Height: height, Depth: depth},
			MipLevels: levels, ArrayLayers: layers, Samples: vk.SampleCountFlagBits(samples),
			Usage: vk.ImageUsageFlags(usage), Flags: vk.ImageCreateFlags(flags),
		}
		img := image{child: child{device: d}}
		if err := img.init(&info); err != nil {
			return
		}
		var limits vk.ImageFormatProperties
		if r := commands.GetPhysicalDeviceImageFormatProperties(d.physical.handle, info.Format, info.ImageType, info.Tiling,
			info.Usage, info.Flags, &limits); r != vk.SUCCESS {
			t.Fatalf("%+v was created and is %v", info, r)
		}
		if info.Samples&limits.SampleCounts == 0 {
			t.Errorf("%+v has more samples than %+v", info, limits)
		}
		size, alignment, typeBits := img.requirements(0)
		if size == 0 || size > limits.MaxResourceSize || size%alignment != 0 || typeBits == 0 {
			t.Errorf("%+v needs %d bytes at %d in types %#x", info, size, alignment, typeBits)
		}
		for aspects := img.layout.Format.Aspects(); aspects != 0; aspects &= aspects - 1 {
			s, ok := img.layout.Subresource(aspects&-aspects, levels-1, layers-1)
			if !ok || s.Offset+s.Size > size {
				t.Errorf("%+v has %d bytes, its last subresource is %+v (%v)", info, size, s, ok)
			}
		}
	})
}

// TestDeviceImageSubresourceLayout: an image that is only described lies as the one that is made.
func TestDeviceImageSubresourceLayout(t *testing.T) {
	d := syncDevice(t)
	info := vk.ImageCreateInfo{SType: vk.STRUCTURE_TYPE_IMAGE_CREATE_INFO, ImageType: vk.IMAGE_TYPE_2D,
		Format: vk.FORMAT_A1B5G5R5_UNORM_PACK16,
		Extent: vk.Extent3D{Width: 40, Height: 30, Depth: 1}, MipLevels: 3, ArrayLayers: 2, Samples: vk.SAMPLE_COUNT_1_BIT,
		Tiling: vk.IMAGE_TILING_OPTIMAL, Usage: vk.IMAGE_USAGE_TRANSFER_SRC_BIT}
	var handle vk.Image
	wantResult(t, "vkCreateImage", commands.CreateImage(d.handle, &info, nil, &handle), vk.SUCCESS)
	defer commands.DestroyImage(d.handle, handle, nil)
	sub := vk.ImageSubresource2{SType: vk.STRUCTURE_TYPE_IMAGE_SUBRESOURCE_2,
		ImageSubresource: vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: 1, ArrayLayer: 1}}
	var sizes [2]vk.SubresourceHostMemcpySize
	var layouts [2]vk.SubresourceLayout2
	for i := range sizes {
		sizes[i].SType = vk.STRUCTURE_TYPE_SUBRESOURCE_HOST_MEMCPY_SIZE
		layouts[i] = vk.SubresourceLayout2{SType: vk.STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2, PNext: unsafe.Pointer(&sizes[i])}
	}
	commands.GetImageSubresourceLayout2(d.handle, handle, &sub, &layouts[0])
	described := vk.DeviceImageSubresourceInfo{SType: vk.STRUCTURE_TYPE_DEVICE_IMAGE_SUBRESOURCE_INFO, PCreateInfo: &info,
		PSubresource: &sub}
	commands.GetDeviceImageSubresourceLayout(d.handle, &described, &layouts[1])
	if layouts[0].SubresourceLayout != layouts[1].SubresourceLayout || layouts[0].SubresourceLayout.Size < 20*15*2 {
		t.Errorf("made %+v, described %+v", layouts[0].SubresourceLayout, layouts[1].SubresourceLayout)
	}
	if sizes[0].Size != sizes[1].Size || sizes[0].Size == 0 {
		t.Errorf("sizes of host copies: made %d, described %d", sizes[0].Size, sizes[1].Size)
	}
	wantReports(t, "valid calls")
	sub.ImageSubresource.MipLevel = 3
	commands.GetDeviceImageSubresourceLayout(d.handle, &described, &layouts[1])
	wantReports(t, "a level that is not there", "VUID-vkGetImageSubresourceLayout-mipLevel-01716")
}

// TestBufferUsage2: the usage of VkBufferUsageFlags2CreateInfo counts, not the structure's own.
func TestBufferUsage2(t *testing.T) {
	d := syncDevice(t)
	flags := vk.BufferUsageFlags2CreateInfo{SType: vk.STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO,
		Usage: vk.BUFFER_USAGE_2_TRANSFER_DST_BIT}
	info := vk.BufferCreateInfo{SType: vk.STRUCTURE_TYPE_BUFFER_CREATE_INFO, PNext: unsafe.Pointer(&flags), Size: 64}
	b, err := d.newBuffer(&info)
	if err != nil || b.usage != vk.BUFFER_USAGE_TRANSFER_DST_BIT {
		t.Errorf("usage %v, %v", b.usage, err)
	}
}
