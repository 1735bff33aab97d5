package icd

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"farside/internal/config"
	"farside/internal/descriptor"
	"farside/internal/exec"
	"farside/internal/sampling"
	"farside/internal/vk"
)

const (
	nv12       = vk.FORMAT_G8_B8R8_2PLANE_420_UNORM
	threePlane = vk.FORMAT_G8_B8_R8_3PLANE_420_UNORM
	packed422  = vk.FORMAT_G8B8G8R8_422_UNORM
)

// ycbcrDevice has the features for conversions and copies by the host.
func ycbcrDevice(t *testing.T) *device {
	captureLog(t, config.LevelOff)
	y := vk.PhysicalDeviceSamplerYcbcrConversionFeatures{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SAMPLER_YCBCR_CONVERSION_FEATURES, SamplerYcbcrConversion: vk.TRUE}
	f := vk.PhysicalDeviceHostImageCopyFeatures{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES,
		HostImageCopy: vk.TRUE, PNext: unsafe.Pointer(&y)}
	return propertiesDevice(t, testInstance(t, nil), unsafe.Pointer(&f))
}

func plainConversion() vk.SamplerYcbcrConversionCreateInfo {
	return vk.SamplerYcbcrConversionCreateInfo{SType: vk.STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO, Format: nv12,
		YcbcrModel: vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709}
}

func newTestConversion(
	t *testing.T, d *device, info *vk.SamplerYcbcrConversionCreateInfo,
) vk.SamplerYcbcrConversionInfo {
	t.Helper()
	var h vk.SamplerYcbcrConversion
	wantResult(t, "vkCreateSamplerYcbcrConversion", commands.CreateSamplerYcbcrConversion(d.handle, info, nil, &h),
		vk.SUCCESS)
	t.Cleanup(func() { commands.DestroySamplerYcbcrConversion(d.handle, h, nil) })
	return vk.SamplerYcbcrConversionInfo{SType: vk.STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO, Conversion: h}
}

// wantRule wants an error with a VUID, or none for "".
func wantRule(t *testing.T, what string, err error, vuid string) {
	t.Helper()
	if vuid == "" && err != nil || vuid != "" && vk.VUIDOf(err).String() != vuid {
		t.Errorf("%s: %v (%s), want %q", what, err, vk.VUIDOf(err).String(), vuid)
	}
}

func TestConversionRules(t *testing.T) {
	d := ycbcrDevice(t)
	const of = "VUID-VkSamplerYcbcrConversionCreateInfo-"
	const zero, a, r, g, b = vk.COMPONENT_SWIZZLE_ZERO, vk.COMPONENT_SWIZZLE_A, vk.COMPONENT_SWIZZLE_R,
		vk.COMPONENT_SWIZZLE_G, vk.COMPONENT_SWIZZLE_B
	type info = vk.SamplerYcbcrConversionCreateInfo
	identity := func(i *info) { i.YcbcrModel = vk.SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY }
	for _, c := range []struct {
		name, vuid string
		change     func(i *info)
	}{
		{"plain", "", func(*info) {}},
		{"no format", of + "format-04061", func(i *info) { i.Format = 0 }},
		{"RGBA8", of + "format-01650", func(i *info) { i.Format = vk.FORMAT_R8G8B8A8_UNORM }},
		{"unknown format", of + "format-01650", func(i *info) { i.Format = 12345 }},
		{"model", of + "ycbcrModel-parameter", func(i *info) { i.YcbcrModel = 9 }},
		{"range", of + "ycbcrRange-parameter", func(i *info) { i.YcbcrRange = 2 }},
		{"x", of + "xChromaOffset-parameter", func(i *info) { i.XChromaOffset = 2 }},
		{"y", of + "yChromaOffset-parameter", func(i *info) { i.YChromaOffset = -1 }},
		{"filter", of + "chromaFilter-parameter", func(i *info) { i.ChromaFilter = vk.FILTER_CUBIC_EXT }},
		{"swizzle", of + "components-parameter", func(i *info) { i.Components.R = 7 }},
		{"green", of + "components-02581", func(i *info) { i.Components.G = r }},
		{"green is green", "", func(i *info) { i.Components.G = g }},
		{"alpha", of + "components-02582", func(i *info) { i.Components.A = r }},
		{"alpha is 0", "", func(i *info) { i.Components.A = zero }},
		{"red", of + "components-02583", func(i *info) { i.Components.R = a }},
		{"blue", of + "components-02584", func(i *info) { i.Components.B = g }},
		{"blue twice", of + "components-02585", func(i *info) { i.Components.R = b }},
		{"exchanged", "", func(i *info) { i.Components.R, i.Components.B = b, r }},
		{"packed", of + "components-02581", func(i *info) { i.Format, i.Components.G = packed422, b }},
		{"zero of 444", of + "ycbcrModel-01655", func(i *info) {
			i.Format, i.Components.R = vk.FORMAT_G8_B8_R8_3PLANE_444_UNORM, zero
		}},
		{"no alpha in 444", of + "ycbcrModel-01655", func(i *info) {
			i.Format, i.Components.B = vk.FORMAT_G8_B8_R8_3PLANE_444_UNORM, a
		}},
		{"alpha in 4PACK16", "", func(i *info) {
			i.Format, i.Components.B = vk.FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16, a
		}},
		{"zero without a model", "", func(i *info) {
			identity(i)
			i.Format, i.Components.R = vk.FORMAT_G8_B8_R8_3PLANE_444_UNORM, zero
		}},
	} {
		i := plainConversion()
		c.change(&i)
		_, err := d.newConversion(&i)
		wantRule(t, c.name, err, c.vuid)
	}
	bare := imageTestDevice(t)
	i := plainConversion()
	_, err := bare.newConversion(&i)
	wantRule(t, "without the feature", err, "VUID-vkCreateSamplerYcbcrConversion-None-01648")
	h := vk.SamplerYcbcrConversion(7)
	if got := commands.CreateSamplerYcbcrConversion(bare.handle, &i, nil, &h); got != vk.ERROR_VALIDATION_FAILED ||
		h != 0 {
		t.Errorf("without the feature: %v, handle %#x", got, uint64(h))
	}
	commands.DestroySamplerYcbcrConversion(d.handle, 0, nil)
}

func TestConvertingSamplerRules(t *testing.T) {
	d := ycbcrDevice(t)
	i := plainConversion()
	chain := newTestConversion(t, d, &i)
	minimum := vk.SamplerReductionModeCreateInfo{SType: vk.STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
		ReductionMode: vk.SAMPLER_REDUCTION_MODE_MIN, PNext: unsafe.Pointer(&chain)}
	d.features["samplerAnisotropy"] = true
	for _, c := range []struct {
		name, vuid string
		change     func(s *vk.SamplerCreateInfo)
	}{
		{"plain", "", func(*vk.SamplerCreateInfo) {}},
		{"another filter", "", func(s *vk.SamplerCreateInfo) { s.MagFilter = vk.FILTER_LINEAR }},
		{"repeat", "VUID-VkSamplerCreateInfo-addressModeU-01646", func(s *vk.SamplerCreateInfo) { s.AddressModeW = 0 }},
		{"anisotropy", "VUID-VkSamplerCreateInfo-addressModeU-01646", func(s *vk.SamplerCreateInfo) {
			s.AnisotropyEnable, s.MaxAnisotropy = vk.TRUE, 2
		}},
		{"unnormalized", "VUID-VkSamplerCreateInfo-addressModeU-01646", func(s *vk.SamplerCreateInfo) {
			s.UnnormalizedCoordinates, s.MaxLod = vk.TRUE, 0
		}},
		{"minimum", "VUID-VkSamplerCreateInfo-None-01647",
			func(s *vk.SamplerCreateInfo) { s.PNext = unsafe.Pointer(&minimum) }},
	} {
		s := plainSampler()
		s.PNext = unsafe.Pointer(&chain)
		const edge = vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
		s.AddressModeU, s.AddressModeV, s.AddressModeW = edge, edge, edge
		c.change(&s)
		made, err := d.newSampler(&s)
		wantRule(t, c.name, err, c.vuid)
		if err == nil && made.conversion == nil {
			t.Errorf("%s: the sampler has no conversion", c.name)
		}
	}
}

func TestPlanarImageRules(t *testing.T) {
	d := ycbcrDevice(t)
	const of = "VUID-VkImageCreateInfo-"
	for _, c := range []struct {
		name, vuid string
		change     func(i *vk.ImageCreateInfo)
	}{
		{"plain", "", func(*vk.ImageCreateInfo) {}},
		{"disjoint", "", func(i *vk.ImageCreateInfo) { i.Flags = vk.IMAGE_CREATE_DISJOINT_BIT }},
		{"array", "", func(i *vk.ImageCreateInfo) { i.ArrayLayers = 4 }},
		{"disjoint RGBA8", of + "format-01577", func(i *vk.ImageCreateInfo) {
			i.Format, i.Flags = vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_CREATE_DISJOINT_BIT
		}},
		{"disjoint RGBA8, an alias", "", func(i *vk.ImageCreateInfo) {
			i.Format, i.Flags = vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_CREATE_DISJOINT_BIT|vk.IMAGE_CREATE_ALIAS_BIT
		}},
		{"disjoint, packed", of + "format-01577", func(i *vk.ImageCreateInfo) {
			i.Format, i.Flags = packed422, vk.IMAGE_CREATE_DISJOINT_BIT
		}},
		{"levels", of + "format-06410", func(i *vk.ImageCreateInfo) { i.MipLevels = 2 }},
		{"samples", of + "format-06411", func(i *vk.ImageCreateInfo) { i.Samples = vk.SAMPLE_COUNT_4_BIT }},
		{"3D", of + "format-06412", func(i *vk.ImageCreateInfo) { i.ImageType = vk.IMAGE_TYPE_3D }},
		{"odd width", of + "format-04712", func(i *vk.ImageCreateInfo) { i.Extent.Width = 15 }},
		{"odd height", of + "format-04713", func(i *vk.ImageCreateInfo) { i.Extent.Height = 15 }},
		{"odd height of 422", "", func(i *vk.ImageCreateInfo) { i.Format, i.Extent.Height = packed422, 15 }},
		{"odd extent of 444", "", func(i *vk.ImageCreateInfo) {
			i.Format, i.Extent.Width, i.Extent.Height = vk.FORMAT_G8_B8_R8_3PLANE_444_UNORM, 15, 15
		}},
		{"cube", of + "imageCreateMaxMipLevels-02251", func(i *vk.ImageCreateInfo) {
			i.Flags, i.ArrayLayers = vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 6
		}},
		{"storage", of + "imageCreateMaxMipLevels-02251", func(i *vk.ImageCreateInfo) {
			i.Usage |= vk.IMAGE_USAGE_STORAGE_BIT
		}},
		{"storage of planes", "", func(i *vk.ImageCreateInfo) {
			i.Usage |= vk.IMAGE_USAGE_STORAGE_BIT
			i.Flags = vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT | vk.IMAGE_CREATE_EXTENDED_USAGE_BIT
		}},
	} {
		i := plainImage()
		i.Format = nv12
		c.change(&i)
		img := image{child: child{device: d}}
		wantRule(t, c.name, img.init(&i), c.vuid)
	}
}

// disjointImage is one of NV12, and the requirements of its planes.
func disjointImage(t *testing.T, d *device, tiling vk.ImageTiling) (*image, vk.Image, [2]vk.MemoryRequirements) {
	t.Helper()
	modifier := uint64(0)
	list := vk.ImageDrmFormatModifierListCreateInfoEXT{
		SType:                  vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
		DrmFormatModifierCount: 1, PDrmFormatModifiers: &modifier}
	info := plainImage()
	info.Format, info.Flags, info.Tiling = nv12, vk.IMAGE_CREATE_DISJOINT_BIT, tiling
	info.Usage |= vk.IMAGE_USAGE_HOST_TRANSFER_BIT | vk.IMAGE_USAGE_SAMPLED_BIT
	first := vk.IMAGE_ASPECT_PLANE_0_BIT
	if tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
		info.PNext, first = unsafe.Pointer(&list), vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT
	}
	h := newTestImage(t, d, &info)
	var needs [2]vk.MemoryRequirements
	for i := range needs {
		plane := vk.ImagePlaneMemoryRequirementsInfo{SType: vk.STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO,
			PlaneAspect: first << i}
		ask := vk.ImageMemoryRequirementsInfo2{SType: vk.STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, Image: h,
			PNext: unsafe.Pointer(&plane)}
		need := vk.MemoryRequirements2{SType: vk.STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2}
		commands.GetImageMemoryRequirements2(d.handle, &ask, &need)
		needs[i] = need.MemoryRequirements
		same := vk.DeviceImageMemoryRequirements{SType: vk.STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS,
			PCreateInfo: &info, PlaneAspect: first << i}
		before := vk.MemoryRequirements2{SType: vk.STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2}
		commands.GetDeviceImageMemoryRequirements(d.handle, &same, &before)
		if before.MemoryRequirements != needs[i] {
			t.Errorf("plane %d needs %+v before it is made, and %+v afterwards", i, before.MemoryRequirements, needs[i])
		}
	}
	return images.Get(uint64(h)), h, needs
}

func bindPlane(
	img vk.Image, m vk.DeviceMemory, aspect vk.ImageAspectFlags, offset vk.DeviceSize,
) (vk.BindImageMemoryInfo, *vk.BindImagePlaneMemoryInfo) {
	p := &vk.BindImagePlaneMemoryInfo{SType: vk.STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO, PlaneAspect: aspect}
	return vk.BindImageMemoryInfo{SType: vk.STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, PNext: unsafe.Pointer(p), Image: img,
		Memory: m, MemoryOffset: offset}, p
}

// wantPlaneAccesses wants each plane of the image of TestDisjointBinding to be an access of its own.
func wantPlaneAccesses(t *testing.T, d *device, h vk.Image) {
	t.Helper()
	a := exec.Access{Type: vk.OBJECT_TYPE_IMAGE, Handle: uint64(h), Size: math.MaxUint64}
	if _, list := d.accessed(&a); len(list) != 2 || list[0].Offset != 1024 || list[0].Size != 256 ||
		list[1].Offset != 0 || list[1].Size != 128 {
		t.Errorf("accesses to %+v", list)
	}
	a.Layers = []vk.ImageSubresourceLayers{{AspectMask: vk.IMAGE_ASPECT_PLANE_1_BIT, LayerCount: 1}}
	if _, parts := d.spans(&a); len(parts) != 2 || len(parts[0].spans) != 0 || len(parts[1].spans) != 1 ||
		parts[1].spans[0].Size != 128 {
		t.Errorf("an access to one plane is to %+v", parts)
	}
	a.Layers[0].AspectMask = vk.IMAGE_ASPECT_COLOR_BIT
	if _, parts := d.spans(&a); len(parts) != 2 || len(parts[0].spans) != 1 || len(parts[1].spans) != 1 {
		t.Errorf("an access to all planes is to %+v", parts)
	}
}

func TestDisjointBinding(t *testing.T) {
	for _, tiling := range []vk.ImageTiling{vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR,
		vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT} {
		d := ycbcrDevice(t)
		testMessenger(t, d.physical.instance, everySeverity, everyType, 0)
		img, h, needs := disjointImage(t, d, tiling)
		// 16 x 16 bytes of luma, 8 x 8 pairs of chroma in rows of 16 bytes.
		if needs[0].Size != 256 || needs[1].Size != 128 || needs[0].MemoryTypeBits == 0 {
			t.Fatalf("%v: planes need %+v", tiling, needs)
		}
		own, other := vk.IMAGE_ASPECT_PLANE_0_BIT, vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT
		wrong := "VUID-VkBindImagePlaneMemoryInfo-planeAspect-02283"
		if tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
			own, other, wrong = other, own, "VUID-VkBindImagePlaneMemoryInfo-planeAspect-02284"
		}
		m, err := d.newMemory(&vk.MemoryAllocateInfo{AllocationSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		mem := vk.DeviceMemory(d.add(m))
		luma, _ := bindPlane(h, mem, own, 1024)
		chroma, _ := bindPlane(h, mem, own<<1, 0)
		bind := func(list ...vk.BindImageMemoryInfo) []string {
			takeInbox()
			commands.BindImageMemory2(d.handle, uint32(len(list)), &list[0])
			return rules()
		}
		for name, c := range map[string]struct {
			vuid string
			list []vk.BindImageMemoryInfo
		}{
			"no plane": {"VUID-VkBindImageMemoryInfo-image-07736", []vk.BindImageMemoryInfo{
				{SType: vk.STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, Image: h, Memory: mem}}},
			"one plane alone": {"VUID-vkBindImageMemory2-pBindInfos-02858", []vk.BindImageMemoryInfo{luma}},
			"aspect of another tiling": {wrong, []vk.BindImageMemoryInfo{func() vk.BindImageMemoryInfo {
				i, _ := bindPlane(h, mem, other, 0)
				return i
			}()}},
			"third plane": {wrong, []vk.BindImageMemoryInfo{func() vk.BindImageMemoryInfo {
				i, _ := bindPlane(h, mem, own<<2, 0)
				return i
			}()}},
		} {
			if got := bind(c.list...); len(got) != 1 || got[0] != c.vuid {
				t.Errorf("%v, %s: %q, want %s", tiling, name, got, c.vuid)
			}
		}
		takeInbox()
		commands.BindImageMemory(d.handle, h, mem, 0)
		var need vk.MemoryRequirements
		commands.GetImageMemoryRequirements(d.handle, h, &need)
		if got := rules(); len(got) != 2 || got[0] != "VUID-vkBindImageMemory-image-01608" ||
			got[1] != "VUID-vkGetImageMemoryRequirements-image-01588" || need.MemoryTypeBits != 0 {
			t.Errorf("%v: all of a disjoint image: %q, %+v", tiling, got, need)
		}
		dedicated := vk.MemoryDedicatedAllocateInfo{SType: vk.STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, Image: h}
		_, err = d.newMemory(&vk.MemoryAllocateInfo{AllocationSize: 4096, PNext: unsafe.Pointer(&dedicated)})
		wantRule(t, "dedicated", err, "VUID-VkMemoryDedicatedAllocateInfo-image-01797")
		if img.isBound() {
			t.Errorf("%v: the image is bound", tiling)
		}
		if got := bind(luma, chroma); len(got) != 0 || !img.isBound() {
			t.Errorf("%v: binding both planes: %q", tiling, got)
		}
		if got := bind(luma, chroma); len(got) != 2 || got[0] != "VUID-VkBindImageMemoryInfo-image-07460" {
			t.Errorf("%v: binding again: %q", tiling, got)
		}
		found, err := (&resources{d, 0}).Image(h)
		if err != nil || len(found.Planes) != 2 || len(found.Others) != 1 {
			t.Fatalf("%v: %v, %d planes, %d more payloads", tiling, err, len(found.Planes), len(found.Others))
		}
		all, _ := m.payload.Bytes()
		if &found.Planes[0].Bytes[0] != &all[1024] || &found.Planes[1].Bytes[0] != &all[0] {
			t.Errorf("%v: the planes lie elsewhere", tiling)
		}
		found.Payload.Release()
		found.Others[0].Release()
		wantPlaneAccesses(t, d, h)
		commands.FreeMemory(d.handle, mem, nil)
		if img.isBound() {
			t.Errorf("%v: the image is bound to memory that is gone", tiling)
		}
		if _, err := (&resources{d, 0}).Image(h); err == nil {
			t.Errorf("%v: an image without memory is found", tiling)
		}
	}
}

func TestPlaneRequirementRules(t *testing.T) {
	d := ycbcrDevice(t)
	info := plainImage()
	info.Format = nv12
	joint := images.Get(uint64(newTestImage(t, d, &info)))
	split, _, _ := disjointImage(t, d, vk.IMAGE_TILING_OPTIMAL)
	modified, _, _ := disjointImage(t, d, vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT)
	for _, c := range []struct {
		vuid   string
		img    *image
		aspect vk.ImageAspectFlags // 0: no structure
	}{
		{"", joint, 0},
		{"VUID-VkImageMemoryRequirementsInfo2-image-01589", split, 0},
		{"VUID-VkImageMemoryRequirementsInfo2-image-01590", joint, vk.IMAGE_ASPECT_PLANE_0_BIT},
		{"VUID-VkImagePlaneMemoryRequirementsInfo-planeAspect-02281", split, vk.IMAGE_ASPECT_PLANE_2_BIT},
		{"VUID-VkImagePlaneMemoryRequirementsInfo-planeAspect-02281", split, vk.IMAGE_ASPECT_COLOR_BIT},
		{"VUID-VkImagePlaneMemoryRequirementsInfo-planeAspect-02282", modified, vk.IMAGE_ASPECT_PLANE_0_BIT},
		{"", split, vk.IMAGE_ASPECT_PLANE_1_BIT},
		{"", modified, vk.IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT},
	} {
		var ask *vk.ImagePlaneMemoryRequirementsInfo
		if c.aspect != 0 {
			ask = &vk.ImagePlaneMemoryRequirementsInfo{PlaneAspect: c.aspect}
		}
		_, err := c.img.planeOf(ask)
		wantRule(t, c.aspect.String(), err, c.vuid)
	}
}

func TestPlanarViewRules(t *testing.T) {
	d := ycbcrDevice(t)
	i := plainConversion()
	chain := newTestConversion(t, d, &i)
	i.Format = threePlane
	foreign := newTestConversion(t, d, &i)
	info := plainImage()
	info.Format, info.Usage = nv12, vk.IMAGE_USAGE_SAMPLED_BIT
	plain := newTestImage(t, d, &info)
	info.Flags = vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT
	mutable := newTestImage(t, d, &info)
	const colour, plane0, plane1 = vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_PLANE_0_BIT, vk.IMAGE_ASPECT_PLANE_1_BIT
	for _, c := range []struct {
		name, vuid string
		img        vk.Image
		format     vk.Format
		aspects    vk.ImageAspectFlags
		next       *vk.SamplerYcbcrConversionInfo
		red        vk.ComponentSwizzle
	}{
		{"all planes", "", plain, nv12, colour, &chain, 0},
		{"red is red", "", plain, nv12, colour, &chain, vk.COMPONENT_SWIZZLE_R},
		{"no conversion", "VUID-VkImageViewCreateInfo-format-06415", plain, nv12, colour, nil, 0},
		{"another format's", "VUID-VkImageViewCreateInfo-pNext-06658", plain, nv12, colour, &foreign, 0},
		{"swizzle", "VUID-VkImageViewCreateInfo-pNext-01970", plain, nv12, colour, &chain, vk.COMPONENT_SWIZZLE_B},
		{"luma", "", mutable, vk.FORMAT_R8_UNORM, plane0, nil, 0},
		{"luma as integers", "", mutable, vk.FORMAT_R8_UINT, plane0, nil, 0},
		{"chroma", "", mutable, vk.FORMAT_R8G8_UNORM, plane1, nil, 0},
		{"a plane of what is not mutable", "VUID-VkImageViewCreateInfo-image-12397", plain, vk.FORMAT_R8_UNORM, plane0, nil,
			0},
		{"a plane as all", "VUID-VkImageViewCreateInfo-image-12397", plain, nv12, plane0, nil, 0},
		{"chroma as luma", "VUID-VkImageViewCreateInfo-image-01586", mutable, vk.FORMAT_R8_UNORM, plane1, nil, 0},
		{"all planes as one", "VUID-VkImageViewCreateInfo-format-12398", mutable, vk.FORMAT_R8_UNORM, colour, nil, 0},
		{"two planes", "VUID-VkImageViewCreateInfo-subresourceRange-07818", mutable, vk.FORMAT_R8_UNORM, plane0 | plane1, nil,
			0},
		{"a third plane", "VUID-VkImageSubresourceRange-aspectMask-parameter", mutable, vk.FORMAT_R8_UNORM,
			vk.IMAGE_ASPECT_PLANE_2_BIT, nil, 0},
	} {
		create := vk.ImageViewCreateInfo{SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, PNext: unsafe.Pointer(c.next),
			Image: c.img, ViewType: vk.IMAGE_VIEW_TYPE_2D, Format: c.format, Components: vk.ComponentMapping{R: c.red},
			SubresourceRange: vk.ImageSubresourceRange{AspectMask: c.aspects, LevelCount: 1, LayerCount: 1}}
		v := imageView{child: child{device: d}, image: images.Get(uint64(c.img))}
		wantRule(t, c.name, v.init(&create), c.vuid)
	}
}

// Descriptors with a conversion have an immutable sampler with the same one.
func TestConvertedDescriptors(t *testing.T) {
	d := ycbcrDevice(t)
	info := plainImage()
	info.Format, info.Usage = nv12, vk.IMAGE_USAGE_SAMPLED_BIT
	img := newTestImage(t, d, &info)
	info.Format = vk.FORMAT_R8G8B8A8_UNORM
	flat := newTestImage(t, d, &info)
	view := func(img vk.Image, next *vk.SamplerYcbcrConversionInfo, f vk.Format) vk.ImageView {
		create := vk.ImageViewCreateInfo{SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, PNext: unsafe.Pointer(next),
			Image: img, ViewType: vk.IMAGE_VIEW_TYPE_2D, Format: f,
			SubresourceRange: vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}}
		var h vk.ImageView
		wantResult(t, "vkCreateImageView", commands.CreateImageView(d.handle, &create, nil, &h), vk.SUCCESS)
		t.Cleanup(func() { commands.DestroyImageView(d.handle, h, nil) })
		return h
	}
	sampler := func(next *vk.SamplerYcbcrConversionInfo) vk.Sampler {
		s := plainSampler()
		const edge = vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
		s.PNext, s.AddressModeU, s.AddressModeV, s.AddressModeW = unsafe.Pointer(next), edge, edge, edge
		var h vk.Sampler
		wantResult(t, "vkCreateSampler", commands.CreateSampler(d.handle, &s, nil, &h), vk.SUCCESS)
		t.Cleanup(func() { commands.DestroySampler(d.handle, h, nil) })
		return h
	}
	c := plainConversion()
	one, same := newTestConversion(t, d, &c), newTestConversion(t, d, &c)
	c.YcbcrRange = vk.SAMPLER_YCBCR_RANGE_ITU_NARROW
	other := newTestConversion(t, d, &c)
	converted, plain := view(img, &one, nv12), view(flat, nil, vk.FORMAT_R8G8B8A8_UNORM)
	const combined, sampled = vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE
	for _, x := range []struct {
		name, vuid string
		kind       vk.DescriptorType
		immutable  []vk.Sampler
		element    uint32
		view       vk.ImageView
	}{
		{"the same conversion", "", combined, []vk.Sampler{sampler(&one)}, 0, converted},
		{"an identical one", "", combined, []vk.Sampler{sampler(&same)}, 0, converted},
		{"the second element", "", combined, []vk.Sampler{sampler(nil), sampler(&one)}, 1, converted},
		{"a plain view and sampler", "", combined, []vk.Sampler{sampler(nil)}, 0, plain},
		{"another range", "VUID-VkWriteDescriptorSet-descriptorType-01948", combined, []vk.Sampler{sampler(&other)}, 0,
			converted},
		{"a plain sampler", "VUID-VkWriteDescriptorSet-descriptorType-01948", combined, []vk.Sampler{sampler(nil)}, 0,
			converted},
		{"a plain view", "VUID-VkWriteDescriptorSet-descriptorType-01948", combined, []vk.Sampler{sampler(&one)}, 0, plain},
		{"no immutable sampler", "VUID-VkWriteDescriptorSet-descriptorType-02738", combined, nil, 0, converted},
		{"a sampled image", "VUID-VkWriteDescriptorSet-descriptorType-01946", sampled, nil, 0, converted},
		{"no view", "", combined, []vk.Sampler{sampler(&one)}, 0, 0},
	} {
		l, err := descriptor.NewLayout(0, []descriptor.Binding{{Type: x.kind, Count: uint32(max(len(x.immutable), 1)),
			Immutable: x.immutable}})
		if err != nil {
			t.Fatal(err)
		}
		w := descriptor.Write{Type: x.kind, Count: 1, Element: x.element}
		wantRule(t, x.name, checkConverted(l, &w, 0, descriptor.Descriptor{ImageView: x.view}), x.vuid)
	}
}

func TestPlaneSubresourceLayouts(t *testing.T) {
	d := ycbcrDevice(t)
	const of = "VUID-vkGetImageSubresourceLayout-"
	info := plainImage()
	info.Format, info.ArrayLayers = nv12, 2
	linear := images.Get(uint64(newTestImage(t, d, &info)))
	planes := [2]vk.SubresourceLayout{{Offset: 512, RowPitch: 32, ArrayPitch: 4096}, {Offset: 64, RowPitch: 20,
		ArrayPitch: 8192}}
	explicit := vk.ImageDrmFormatModifierExplicitCreateInfoEXT{
		SType:                       vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
		DrmFormatModifierPlaneCount: 2, PPlaneLayouts: &planes[0]}
	info.Tiling, info.PNext = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, unsafe.Pointer(&explicit)
	modified := images.Get(uint64(newTestImage(t, d, &info)))
	if modified.size != 64+8192+8*20 {
		t.Errorf("the image has %d bytes", modified.size)
	}
	const plane0, plane1, memory0 = vk.IMAGE_ASPECT_PLANE_0_BIT, vk.IMAGE_ASPECT_PLANE_1_BIT,
		vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT
	for _, c := range []struct {
		img    *image
		aspect vk.ImageAspectFlags
		layer  uint32
		vuid   string
		want   vk.SubresourceLayout
	}{
		{linear, plane0, 0, "", vk.SubresourceLayout{Size: 256, RowPitch: 16, ArrayPitch: 256, DepthPitch: 256}},
		{linear, plane1, 1, "", vk.SubresourceLayout{Offset: 512 + 128, Size: 128, RowPitch: 16, ArrayPitch: 128,
			DepthPitch: 128}},
		{modified, memory0, 1, "", vk.SubresourceLayout{Offset: 512 + 4096, Size: 512, RowPitch: 32, ArrayPitch: 4096,
			DepthPitch: 512}},
		{modified, memory0 << 1, 0, "", vk.SubresourceLayout{Offset: 64, Size: 160, RowPitch: 20, ArrayPitch: 8192,
			DepthPitch: 160}},
		{linear, vk.IMAGE_ASPECT_COLOR_BIT, 0, of + "tiling-08717", vk.SubresourceLayout{}},
		{linear, vk.IMAGE_ASPECT_PLANE_2_BIT, 0, of + "tiling-08717", vk.SubresourceLayout{}},
		{linear, memory0, 0, of + "tiling-08717", vk.SubresourceLayout{}},
		{modified, plane0, 0, of + "tiling-09433", vk.SubresourceLayout{}},
		{modified, memory0 << 2, 0, of + "tiling-09433", vk.SubresourceLayout{}},
		{linear, plane0, 2, of + "arrayLayer-01717", vk.SubresourceLayout{}},
	} {
		var got vk.SubresourceLayout
		err := c.img.subresourceLayout(&vk.ImageSubresource{AspectMask: c.aspect, ArrayLayer: c.layer}, &got)
		wantRule(t, c.aspect.String(), err, c.vuid)
		if got != c.want {
			t.Errorf("%v of layer %d: %+v, want %+v", c.aspect, c.layer, got, c.want)
		}
	}
	explicit.DrmFormatModifierPlaneCount = 1
	img := image{child: child{device: d}}
	wantRule(t, "one plane layout", img.init(&info),
		"VUID-VkImageDrmFormatModifierExplicitCreateInfoEXT-drmFormatModifierPlaneCount-02265")
	explicit.DrmFormatModifierPlaneCount, planes[1].RowPitch = 2, 15
	if err := img.init(&info); vk.ResultOf(err) != vk.ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT {
		t.Errorf("rows of chroma that overlap: %v", err)
	}
}

// A view reaches the texels of all planes, wherever they lie.
func TestConvertedViewReachesPlanes(t *testing.T) {
	d := ycbcrDevice(t)
	_, h, _ := disjointImage(t, d, vk.IMAGE_TILING_LINEAR)
	m, err := d.newMemory(&vk.MemoryAllocateInfo{AllocationSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	mem := vk.DeviceMemory(d.add(m))
	defer commands.FreeMemory(d.handle, mem, nil)
	luma, _ := bindPlane(h, mem, vk.IMAGE_ASPECT_PLANE_0_BIT, 1024)
	chroma, _ := bindPlane(h, mem, vk.IMAGE_ASPECT_PLANE_1_BIT, 2048)
	list := [2]vk.BindImageMemoryInfo{luma, chroma}
	wantResult(t, "vkBindImageMemory2", commands.BindImageMemory2(d.handle, 2, &list[0]), vk.SUCCESS)
	all, _ := m.payload.Bytes()
	for i := range 256 {
		all[1024+i] = 81
	}
	for i := 0; i < 128; i += 2 {
		all[2048+i], all[2048+i+1] = 90, 240
	}
	c := plainConversion()
	c.YcbcrModel, c.YcbcrRange = vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW
	chain := newTestConversion(t, d, &c)
	create := vk.ImageViewCreateInfo{SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, PNext: unsafe.Pointer(&chain),
		Image: h, ViewType: vk.IMAGE_VIEW_TYPE_2D, Format: nv12,
		SubresourceRange: vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}}
	var v vk.ImageView
	wantResult(t, "vkCreateImageView", commands.CreateImageView(d.handle, &create, nil, &v), vk.SUCCESS)
	defer commands.DestroyImageView(d.handle, v, nil)
	view, err := (&resources{d, 0}).ImageView(v)
	if err != nil {
		t.Fatal(err)
	}
	var got sampling.Texels
	q := new(sampling.Lookup)
	view.Routine(nil, q).Sample(&got, q, 1)
	for i, want := range [4]float32{1, 0, 0, 1} {
		if x := math.Float32frombits(got[i][0]); x < want-0.01 || x > want+0.01 {
			t.Errorf("component %d is %v, want %v", i, x, want)
		}
	}
	view.Payload.Release()
	view.Others[0].Release()
}

// TestPlaneAlias has an image of one plane at the place of a disjoint image's plane, as the CTS' plane views do.
func TestPlaneAlias(t *testing.T) {
	d := ycbcrDevice(t)
	testMessenger(t, d.physical.instance, everySeverity, everyType, 0)
	info := plainImage()
	info.Format, info.Flags = vk.FORMAT_R8_UNORM, vk.IMAGE_CREATE_DISJOINT_BIT|vk.IMAGE_CREATE_ALIAS_BIT
	m, err := d.newMemory(&vk.MemoryAllocateInfo{AllocationSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	mem := vk.DeviceMemory(d.add(m))
	defer commands.FreeMemory(d.handle, mem, nil)
	for aspect, rule := range map[vk.ImageAspectFlags]string{
		vk.IMAGE_ASPECT_PLANE_0_BIT: "",
		vk.IMAGE_ASPECT_PLANE_1_BIT: "VUID-VkBindImageMemoryInfo-pNext-01618",
	} {
		h := newTestImage(t, d, &info)
		bind, plane := bindPlane(h, mem, aspect, 1024)
		takeInbox()
		r := commands.BindImageMemory2(d.handle, 1, &bind)
		runtime.KeepAlive(plane)
		var rules []string
		for _, message := range takeInbox() {
			rules = append(rules, message.id)
		}
		if (r == vk.SUCCESS) != (rule == "") || !slices.Equal(rules, oneRule(rule)) {
			t.Errorf("%v: %v, %v, want %q", aspect, r, rules, rule)
		}
		if bound := images.Get(uint64(h)).bound[0].boundTo(); (bound == m) != (rule == "") {
			t.Errorf("%v: bound to %p, the memory is %p", aspect, bound, m)
		}
	}
}
