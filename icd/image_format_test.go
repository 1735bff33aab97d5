package icd

import (
	"testing"
	"unsafe"

	"farside/internal/config"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/memory"
)

// imageTestDevice returns a device that exists for one test, of a 4 GiB heap and one memory type.
func imageTestDevice(t *testing.T) *device {
	t.Helper()
	i := &instance{}
	p := &physicalDevice{instance: i, settings: new(config.Settings), optimalTypes: 1, linearTypes: 1}
	p.profile = memory.Profile{
		Heaps: []memory.Heap{{Size: 4 << 30}},
		Types: []memory.Type{{Flags: vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT}},
	}
	i.devices = []*physicalDevice{p}
	p.settle(0)
	ph, err := physicalDevices.Insert(p)
	if err != nil {
		t.Fatal(err)
	}
	d := &device{physical: p}
	dh, err := devices.Insert(d)
	if err != nil {
		t.Fatal(err)
	}
	p.handle, d.handle = vk.PhysicalDevice(ph), vk.Device(dh)
	t.Cleanup(func() {
		devices.Remove(dh)
		physicalDevices.Remove(ph)
	})
	return d
}

func TestFormatProperties(t *testing.T) {
	d := imageTestDevice(t)
	counts := map[vk.FormatFeatureFlags]int{}
	for _, f := range vk.AllFormats {
		p3 := vk.FormatProperties3{SType: vk.STRUCTURE_TYPE_FORMAT_PROPERTIES_3, BufferFeatures: 1}
		p2 := vk.FormatProperties2{SType: vk.STRUCTURE_TYPE_FORMAT_PROPERTIES_2, PNext: unsafe.Pointer(&p3)}
		commands.GetPhysicalDeviceFormatProperties2(d.physical.handle, f, &p2)
		var p1 vk.FormatProperties
		commands.GetPhysicalDeviceFormatProperties(d.physical.handle, f, &p1)
		if p1 != p2.FormatProperties {
			t.Fatalf("%v: the two queries differ: %+v and %+v", f, p1, p2.FormatProperties)
		}
		if p1.LinearTilingFeatures != p1.OptimalTilingFeatures || p3.LinearTilingFeatures != p3.OptimalTilingFeatures {
			t.Errorf("%v: the tilings differ: %+v", f, p3)
		}
		const beyond = 1<<31 - 1 // what 32 bits have no room for
		if p3.OptimalTilingFeatures&beyond != vk.FormatFeatureFlags2(p1.OptimalTilingFeatures) ||
			p3.BufferFeatures&beyond != vk.FormatFeatureFlags2(p1.BufferFeatures) {
			t.Errorf("%v: VkFormatProperties3 %+v differs from %+v", f, p3, p1)
		}
		has := func(flags vk.FormatFeatureFlags2) bool { return p3.OptimalTilingFeatures&flags != 0 }
		if has(vk.FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT) != (p1.OptimalTilingFeatures != 0) ||
			has(vk.FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT) != has(vk.FORMAT_FEATURE_2_STORAGE_IMAGE_BIT) ||
			has(vk.FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT) != has(vk.FORMAT_FEATURE_2_STORAGE_IMAGE_BIT) ||
			has(vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_DEPTH_COMPARISON_BIT) && !has(vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT) {
			t.Errorf("%v: %v", f, p3.OptimalTilingFeatures)
		}
		for bit := range 31 {
			if flag := vk.FormatFeatureFlags(1) << bit; p1.OptimalTilingFeatures&flag != 0 {
				counts[flag]++
			}
		}
	}
	// 158 formats of Vulkan 1.0, whose other 26 are scaled, 4 that YCbCr conversion brought and that do not need it, 14 of
	// ASTC HDR, 2 of 4444, 2 of maintenance5:
	// of them 68 are compressed, 7 have depth or stencil, 21 unsigned and 21 signed integers. Not sampled are 12
	// with 64 bits. 34 more need a conversion, of which 24 have several planes.
	for flag, want := range map[vk.FormatFeatureFlags]int{
		vk.FORMAT_FEATURE_TRANSFER_SRC_BIT:                180 + 34,
		vk.FORMAT_FEATURE_TRANSFER_DST_BIT:                180 + 34,
		vk.FORMAT_FEATURE_BLIT_SRC_BIT:                    180,
		vk.FORMAT_FEATURE_BLIT_DST_BIT:                    180 - 68,
		vk.FORMAT_FEATURE_SAMPLED_IMAGE_BIT:               180 - 12 + 34,
		vk.FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT: 105 - 2*21 + 6 + 68 + 34,
		vk.FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_MINMAX_BIT: 105 - 2*21 + 6 - 4 + 68,
		vk.FORMAT_FEATURE_COSITED_CHROMA_SAMPLES_BIT:      34,
		vk.FORMAT_FEATURE_MIDPOINT_CHROMA_SAMPLES_BIT:     34,
		vk.FORMAT_FEATURE_DISJOINT_BIT:                    24,

		vk.FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER_BIT:                            34,
		vk.FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_SEPARATE_RECONSTRUCTION_FILTER_BIT:           34,
		vk.FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_CHROMA_RECONSTRUCTION_EXPLICIT_FORCEABLE_BIT: 34,

		vk.FORMAT_FEATURE_STORAGE_IMAGE_BIT:        5*4 + 3*5 + 3*3 + 3 + 1 + 2,
		vk.FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT: 5,
		// 14 that blend, 24 others, and all with depth or stencil.
		vk.FORMAT_FEATURE_COLOR_ATTACHMENT_BIT:         14 + 24,
		vk.FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT:   14,
		vk.FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT: 7,
	} {
		if counts[flag] != want {
			t.Errorf("%d formats have %v, want %d", counts[flag], flag, want)
		}
		delete(counts, flag)
	}
	if len(counts) != 0 {
		t.Errorf("other features: %v", counts)
	}
}

// The tables "Mandatory Format Support" of chapter "Formats", as far as they don't concern transfers, and the formats
// that the shaderStorageImageExtendedFormats feature adds.
func TestMandatoryFormats(t *testing.T) {
	const (
		sampled = vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT
		linear  = sampled | vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT
		storage = vk.FORMAT_FEATURE_2_STORAGE_IMAGE_BIT
		atomic  = storage | vk.FORMAT_FEATURE_2_STORAGE_IMAGE_ATOMIC_BIT
		uniform = vk.FORMAT_FEATURE_2_UNIFORM_TEXEL_BUFFER_BIT
		texels  = vk.FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT
		color   = vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT
		blend   = color | vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BLEND_BIT
		depth   = vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT
		vertex  = vk.FORMAT_FEATURE_2_VERTEX_BUFFER_BIT
	)
	for _, row := range []struct {
		image, buffer vk.FormatFeatureFlags2
		formats       []vk.Format
	}{
		{linear, 0, []vk.Format{vk.FORMAT_B4G4R4A4_UNORM_PACK16, vk.FORMAT_R5G6B5_UNORM_PACK16,
			vk.FORMAT_A1R5G5B5_UNORM_PACK16, vk.FORMAT_R8G8B8A8_SRGB,
			vk.FORMAT_B8G8R8A8_SRGB, vk.FORMAT_A8B8G8R8_SRGB_PACK32, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32}},
		{linear, uniform, []vk.Format{vk.FORMAT_R8_UNORM, vk.FORMAT_R8_SNORM, vk.FORMAT_R8G8_UNORM, vk.FORMAT_R8G8_SNORM,
			vk.FORMAT_B8G8R8A8_UNORM,
			vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16_SFLOAT,
			vk.FORMAT_B10G11R11_UFLOAT_PACK32}},
		{sampled, uniform, []vk.Format{vk.FORMAT_R8_UINT, vk.FORMAT_R8_SINT, vk.FORMAT_R8G8_UINT, vk.FORMAT_R8G8_SINT,
			vk.FORMAT_A2B10G10R10_UINT_PACK32,
			vk.FORMAT_R16_UINT, vk.FORMAT_R16_SINT, vk.FORMAT_R16G16_UINT, vk.FORMAT_R16G16_SINT}},
		{linear | storage, uniform | texels, []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SNORM,
			vk.FORMAT_R16G16B16A16_SFLOAT}},
		{0, uniform | texels, []vk.Format{vk.FORMAT_A8B8G8R8_UNORM_PACK32, vk.FORMAT_A8B8G8R8_SNORM_PACK32,
			vk.FORMAT_A8B8G8R8_UINT_PACK32, vk.FORMAT_A8B8G8R8_SINT_PACK32}},
		{linear, 0, []vk.Format{vk.FORMAT_A8B8G8R8_UNORM_PACK32, vk.FORMAT_A8B8G8R8_SNORM_PACK32}},
		{sampled | storage, uniform | texels, []vk.Format{vk.FORMAT_R8G8B8A8_UINT, vk.FORMAT_R8G8B8A8_SINT,
			vk.FORMAT_R16G16B16A16_UINT, vk.FORMAT_R16G16B16A16_SINT,
			vk.FORMAT_R32_SFLOAT, vk.FORMAT_R32G32_UINT, vk.FORMAT_R32G32_SINT, vk.FORMAT_R32G32_SFLOAT,
			vk.FORMAT_R32G32B32A32_UINT,
			vk.FORMAT_R32G32B32A32_SINT, vk.FORMAT_R32G32B32A32_SFLOAT}},
		{sampled | atomic, uniform | texels | vk.FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_ATOMIC_BIT,
			[]vk.Format{vk.FORMAT_R32_UINT, vk.FORMAT_R32_SINT}},
		{sampled | vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_DEPTH_COMPARISON_BIT, 0,
			[]vk.Format{vk.FORMAT_D16_UNORM, vk.FORMAT_D32_SFLOAT}},
		{storage, 0, []vk.Format{vk.FORMAT_R16G16_SFLOAT, vk.FORMAT_B10G11R11_UFLOAT_PACK32, vk.FORMAT_R16_SFLOAT,
			vk.FORMAT_R16G16B16A16_UNORM,
			vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_R16G16_UNORM, vk.FORMAT_R8G8_UNORM, vk.FORMAT_R16_UNORM,
			vk.FORMAT_R8_UNORM,
			vk.FORMAT_R16G16B16A16_SNORM, vk.FORMAT_R16G16_SNORM, vk.FORMAT_R8G8_SNORM, vk.FORMAT_R16_SNORM, vk.FORMAT_R8_SNORM,
			vk.FORMAT_R16G16_SINT, vk.FORMAT_R8G8_SINT, vk.FORMAT_R16_SINT, vk.FORMAT_R8_SINT, vk.FORMAT_A2B10G10R10_UINT_PACK32,
			vk.FORMAT_R16G16_UINT, vk.FORMAT_R8G8_UINT, vk.FORMAT_R16_UINT, vk.FORMAT_R8_UINT}},
		{blend, 0, []vk.Format{vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_A1R5G5B5_UNORM_PACK16, vk.FORMAT_R8_UNORM,
			vk.FORMAT_R8G8_UNORM,
			vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_B8G8R8A8_SRGB,
			vk.FORMAT_A8B8G8R8_UNORM_PACK32,
			vk.FORMAT_A8B8G8R8_SRGB_PACK32, vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16_SFLOAT,
			vk.FORMAT_R16G16B16A16_SFLOAT}},
		{color, 0, []vk.Format{vk.FORMAT_R8_UINT, vk.FORMAT_R8_SINT, vk.FORMAT_R8G8_UINT, vk.FORMAT_R8G8_SINT,
			vk.FORMAT_R8G8B8A8_UINT,
			vk.FORMAT_R8G8B8A8_SINT, vk.FORMAT_A8B8G8R8_UINT_PACK32, vk.FORMAT_A8B8G8R8_SINT_PACK32,
			vk.FORMAT_A2B10G10R10_UINT_PACK32, vk.FORMAT_R16_UINT,
			vk.FORMAT_R16_SINT, vk.FORMAT_R16G16_UINT, vk.FORMAT_R16G16_SINT, vk.FORMAT_R16G16B16A16_UINT,
			vk.FORMAT_R16G16B16A16_SINT, vk.FORMAT_R32_UINT,
			vk.FORMAT_R32_SINT, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R32G32_UINT, vk.FORMAT_R32G32_SINT, vk.FORMAT_R32G32_SFLOAT,
			vk.FORMAT_R32G32B32A32_UINT,
			vk.FORMAT_R32G32B32A32_SINT, vk.FORMAT_R32G32B32A32_SFLOAT}},
		{depth, 0, []vk.Format{vk.FORMAT_D16_UNORM, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_D32_SFLOAT,
			vk.FORMAT_D24_UNORM_S8_UINT,
			vk.FORMAT_D32_SFLOAT_S8_UINT}},
		{0, vertex, []vk.Format{vk.FORMAT_R8_UNORM, vk.FORMAT_R8_SNORM, vk.FORMAT_R8_UINT, vk.FORMAT_R8_SINT,
			vk.FORMAT_R8G8_UNORM, vk.FORMAT_R8G8_SNORM,
			vk.FORMAT_R8G8_UINT, vk.FORMAT_R8G8_SINT, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SNORM,
			vk.FORMAT_R8G8B8A8_UINT, vk.FORMAT_R8G8B8A8_SINT,
			vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_A8B8G8R8_UNORM_PACK32, vk.FORMAT_A8B8G8R8_SNORM_PACK32,
			vk.FORMAT_A8B8G8R8_UINT_PACK32,
			vk.FORMAT_A8B8G8R8_SINT_PACK32, vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_R16_UNORM, vk.FORMAT_R16_SNORM,
			vk.FORMAT_R16_UINT,
			vk.FORMAT_R16_SINT, vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16_UNORM, vk.FORMAT_R16G16_SNORM, vk.FORMAT_R16G16_UINT,
			vk.FORMAT_R16G16_SINT,
			vk.FORMAT_R16G16_SFLOAT, vk.FORMAT_R16G16B16A16_UNORM, vk.FORMAT_R16G16B16A16_SNORM, vk.FORMAT_R16G16B16A16_UINT,
			vk.FORMAT_R16G16B16A16_SINT,
			vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R32_UINT, vk.FORMAT_R32_SINT, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R32G32_UINT,
			vk.FORMAT_R32G32_SINT,
			vk.FORMAT_R32G32_SFLOAT, vk.FORMAT_R32G32B32_UINT, vk.FORMAT_R32G32B32_SINT, vk.FORMAT_R32G32B32_SFLOAT,
			vk.FORMAT_R32G32B32A32_UINT,
			vk.FORMAT_R32G32B32A32_SINT, vk.FORMAT_R32G32B32A32_SFLOAT}},
	} {
		for _, f := range row.formats {
			if missing := row.image &^ formatFeatures(f); missing != 0 {
				t.Errorf("images of %v lack %v", f, missing)
			}
			if missing := row.buffer &^ bufferFeatures(f); missing != 0 {
				t.Errorf("buffers of %v lack %v", f, missing)
			}
		}
	}
}

func TestDrmFormatModifierLists(t *testing.T) {
	d := imageTestDevice(t)
	for f, want := range map[vk.Format]uint32{
		vk.FORMAT_B8G8R8A8_UNORM:            1,
		vk.FORMAT_D32_SFLOAT:                0,
		vk.FORMAT_BC1_RGB_UNORM_BLOCK:       0,
		vk.FORMAT_G8B8G8R8_422_UNORM:        1,
		vk.FORMAT_G8_B8R8_2PLANE_420_UNORM:  2,
		vk.FORMAT_G8_B8_R8_3PLANE_420_UNORM: 3,
	} {
		planes := want
		want = min(want, 1)
		l2 := vk.DrmFormatModifierPropertiesList2EXT{SType: vk.STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT}
		l1 := vk.DrmFormatModifierPropertiesListEXT{SType: vk.STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT,
			PNext: unsafe.Pointer(&l2)}
		p := vk.FormatProperties2{SType: vk.STRUCTURE_TYPE_FORMAT_PROPERTIES_2, PNext: unsafe.Pointer(&l1)}
		commands.GetPhysicalDeviceFormatProperties2(d.physical.handle, f, &p)
		if l1.DrmFormatModifierCount != want || l2.DrmFormatModifierCount != want {
			t.Fatalf("%v has %d and %d modifiers, want %d", f, l1.DrmFormatModifierCount, l2.DrmFormatModifierCount, want)
		}
		m1, m2 := [2]vk.DrmFormatModifierPropertiesEXT{}, [2]vk.DrmFormatModifierProperties2EXT{}
		l1.DrmFormatModifierCount, l1.PDrmFormatModifierProperties = 2, &m1[0]
		l2.DrmFormatModifierCount, l2.PDrmFormatModifierProperties = 2, &m2[0]
		commands.GetPhysicalDeviceFormatProperties2(d.physical.handle, f, &p)
		if l1.DrmFormatModifierCount != want || l2.DrmFormatModifierCount != want {
			t.Fatalf("%v lists %d and %d modifiers, want %d", f, l1.DrmFormatModifierCount, l2.DrmFormatModifierCount, want)
		}
		if want == 1 && (m1[0].DrmFormatModifierPlaneCount != planes ||
			m1[0].DrmFormatModifierTilingFeatures != p.FormatProperties.LinearTilingFeatures ||
			m2[0].DrmFormatModifierPlaneCount != planes || m2[0].DrmFormatModifierTilingFeatures != formatFeatures(f)) {
			t.Errorf("%v: %+v, %+v", f, m1[0], m2[0])
		}
	}
}

// plainQuery is supported; tests change one thing of it.
func plainQuery() vk.PhysicalDeviceImageFormatInfo2 {
	return vk.PhysicalDeviceImageFormatInfo2{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2, Format: vk.FORMAT_R8G8B8A8_UNORM,
		Type: vk.IMAGE_TYPE_2D, Tiling: vk.IMAGE_TILING_OPTIMAL, Usage: vk.IMAGE_USAGE_TRANSFER_SRC_BIT,
	}
}

func TestImageFormatProperties(t *testing.T) {
	d := imageTestDevice(t)
	for _, c := range []struct {
		name   string
		change func(*vk.PhysicalDeviceImageFormatInfo2)
		want   vk.ImageFormatProperties
	}{
		{"1D", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Type = vk.IMAGE_TYPE_1D },
			vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 1, Depth: 1}, MaxMipLevels: 15,
				MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"2D", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Flags = vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT },
			vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 16384, Depth: 1}, MaxMipLevels: 15,
				MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"3D", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Type, q.Flags, q.Tiling = vk.IMAGE_TYPE_3D, vk.IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT, vk.IMAGE_TILING_LINEAR
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 2048, Height: 2048, Depth: 2048}, MaxMipLevels: 12,
			MaxArrayLayers: 1, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"sampled", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Type, q.Usage = vk.IMAGE_TYPE_1D, vk.IMAGE_USAGE_SAMPLED_BIT|vk.IMAGE_USAGE_STORAGE_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 1, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"storage of a sampled format", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Format, q.Usage = vk.FORMAT_R8G8B8A8_SRGB, vk.IMAGE_USAGE_STORAGE_BIT
		}, vk.ImageFormatProperties{}},
		{"storage of views only", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Format, q.Usage, q.Type = vk.FORMAT_R8G8B8A8_SRGB, vk.IMAGE_USAGE_STORAGE_BIT, vk.IMAGE_TYPE_1D
			q.Flags = vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT | vk.IMAGE_CREATE_EXTENDED_USAGE_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 1, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"storage of blocks", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Format, q.Usage = vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.IMAGE_USAGE_SAMPLED_BIT|vk.IMAGE_USAGE_STORAGE_BIT
		}, vk.ImageFormatProperties{}},
		{"attachment", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Type, q.Usage = vk.IMAGE_TYPE_1D, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT|vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 1, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"multisampled", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Usage |= vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_SAMPLED_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 16384, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 5, MaxResourceSize: 4 << 30}},
		{"multisampled depth", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Format, q.Usage = vk.FORMAT_D32_SFLOAT_S8_UINT, vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 16384, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 5, MaxResourceSize: 4 << 30}},
		{"linear attachment", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Tiling, q.Usage = vk.IMAGE_TILING_LINEAR, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 16384, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"no attachment", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Format, q.Usage = vk.FORMAT_R8_SNORM, vk.IMAGE_USAGE_TRANSFER_SRC_BIT
		}, vk.ImageFormatProperties{MaxExtent: vk.Extent3D{Width: 16384, Height: 16384, Depth: 1}, MaxMipLevels: 15,
			MaxArrayLayers: 2048, SampleCounts: 1, MaxResourceSize: 4 << 30}},
		{"color and depth at once", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Usage = vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
		}, vk.ImageFormatProperties{}},
		{"transient for copies", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Usage |= vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT
		}, vk.ImageFormatProperties{}},
		{"transient alone", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Usage = vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT },
			vk.ImageFormatProperties{}},
		{"sparse", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Flags = vk.IMAGE_CREATE_SPARSE_BINDING_BIT },
			vk.ImageFormatProperties{}},
		{"protected", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Flags = vk.IMAGE_CREATE_PROTECTED_BIT },
			vk.ImageFormatProperties{}},
		{"1D cube", func(q *vk.PhysicalDeviceImageFormatInfo2) {
			q.Type, q.Flags = vk.IMAGE_TYPE_1D, vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT
		}, vk.ImageFormatProperties{}},
		{"no such type", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Type = 3 }, vk.ImageFormatProperties{}},
		{"no such tiling", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Tiling = 2 }, vk.ImageFormatProperties{}},
		{"no such format", func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Format = 12345 }, vk.ImageFormatProperties{}},
		{"modifier without a structure",
			func(q *vk.PhysicalDeviceImageFormatInfo2) { q.Tiling = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT },
			vk.ImageFormatProperties{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := plainQuery()
			c.change(&q)
			wantResult := vk.SUCCESS
			if c.want == (vk.ImageFormatProperties{}) {
				wantResult = vk.ERROR_FORMAT_NOT_SUPPORTED
			}
			out := vk.ImageFormatProperties2{SType: vk.STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2}
			out.ImageFormatProperties.MaxMipLevels = 99
			if r := commands.GetPhysicalDeviceImageFormatProperties2(d.physical.handle, &q, &out); r != wantResult ||
				out.ImageFormatProperties != c.want {
				t.Errorf("%v, %+v, want %v, %+v", r, out.ImageFormatProperties, wantResult, c.want)
			}
			var old vk.ImageFormatProperties
			if r := commands.GetPhysicalDeviceImageFormatProperties(d.physical.handle, q.Format, q.Type, q.Tiling, q.Usage,
				q.Flags, &old); r != wantResult || old != c.want {
				t.Errorf("first form: %v, %+v, want %v, %+v", r, old, wantResult, c.want)
			}
		})
	}
}

func TestImageFormatModifiers(t *testing.T) {
	d := imageTestDevice(t)
	m := vk.PhysicalDeviceImageDrmFormatModifierInfoEXT{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT,
	}
	q := plainQuery()
	q.PNext, q.Tiling = unsafe.Pointer(&m), vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
	out := vk.ImageFormatProperties2{SType: vk.STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2}
	if r := commands.GetPhysicalDeviceImageFormatProperties2(d.physical.handle, &q, &out); r != vk.SUCCESS ||
		out.ImageFormatProperties.MaxMipLevels != 1 {
		t.Errorf("linear modifier: %v, %+v", r, out.ImageFormatProperties)
	}
	m.DrmFormatModifier = 1
	if r := commands.GetPhysicalDeviceImageFormatProperties2(d.physical.handle, &q, &out); r !=
		vk.ERROR_FORMAT_NOT_SUPPORTED {
		t.Errorf("unknown modifier: %v", r)
	}
	m.DrmFormatModifier, q.Format = 0, vk.FORMAT_D32_SFLOAT
	if r := commands.GetPhysicalDeviceImageFormatProperties2(d.physical.handle, &q, &out); r !=
		vk.ERROR_FORMAT_NOT_SUPPORTED {
		t.Errorf("depth with a modifier: %v", r)
	}
}

func TestExternalImageFormats(t *testing.T) {
	d := imageTestDevice(t)
	for handleType, want := range map[vk.ExternalMemoryHandleTypeFlags]vk.ExternalMemoryFeatureFlags{
		vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT: vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT |
			vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
		vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV: vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
		vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT:    0,
	} {
		e := vk.PhysicalDeviceExternalImageFormatInfo{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
			HandleType: handleType}
		q := plainQuery()
		q.PNext = unsafe.Pointer(&e)
		x := vk.ExternalImageFormatProperties{SType: vk.STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES}
		x.ExternalMemoryProperties.CompatibleHandleTypes = 0xff
		out := vk.ImageFormatProperties2{SType: vk.STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, PNext: unsafe.Pointer(&x)}
		r := commands.GetPhysicalDeviceImageFormatProperties2(d.physical.handle, &q, &out)
		got := &x.ExternalMemoryProperties
		if got.ExternalMemoryFeatures != want || (r == vk.SUCCESS) != (want != 0) ||
			(out.ImageFormatProperties.MaxMipLevels != 0) != (want != 0) {
			t.Errorf("%v: %v, %+v, %+v", handleType, r, *got, out.ImageFormatProperties)
		}
		if want != 0 && got.CompatibleHandleTypes&handleType == 0 || want == 0 && got.CompatibleHandleTypes != 0 {
			t.Errorf("%v is compatible with %v", handleType, got.CompatibleHandleTypes)
		}
	}
}

func TestExternalImageFormatsNV(t *testing.T) {
	d := imageTestDevice(t)
	const usages = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_SAMPLED_BIT | vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT
	ask := func(usage vk.ImageUsageFlags, handleType vk.ExternalMemoryHandleTypeFlagsNV) (vk.Result,
		vk.ExternalImageFormatPropertiesNV) {
		out := vk.ExternalImageFormatPropertiesNV{CompatibleHandleTypes: 0xff}
		r := commands.GetPhysicalDeviceExternalImageFormatPropertiesNV(d.physical.handle, vk.FORMAT_R8_UNORM,
			vk.IMAGE_TYPE_2D, vk.IMAGE_TILING_LINEAR, usage, 0, handleType, &out)
		return r, out
	}
	var plain vk.ImageFormatProperties
	if r := commands.GetPhysicalDeviceImageFormatProperties(d.physical.handle, vk.FORMAT_R8_UNORM, vk.IMAGE_TYPE_2D,
		vk.IMAGE_TILING_LINEAR, usages, 0, &plain); r != vk.SUCCESS {
		t.Fatal(r)
	}
	if r, got := ask(usages, 0); r != vk.SUCCESS ||
		got != (vk.ExternalImageFormatPropertiesNV{ImageFormatProperties: plain}) {
		t.Errorf("handle type 0: %v, %+v", r, got)
	}
	const win32 = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV
	both := vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT_NV | vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT_NV
	if r, got := ask(usages, win32); r != vk.SUCCESS || got.ImageFormatProperties != plain ||
		got.ExternalMemoryFeatures != both || got.CompatibleHandleTypes != win32 {
		t.Errorf("opaque win32: %v, %+v", r, got)
	}
	for _, handleType := range []vk.ExternalMemoryHandleTypeFlagsNV{2, 4, 8, win32 | 2, 1 << 31} {
		if r, got := ask(usages, handleType); r != vk.ERROR_FORMAT_NOT_SUPPORTED ||
			got != (vk.ExternalImageFormatPropertiesNV{}) {
			t.Errorf("%v: %v, %+v", handleType, r, got)
		}
	}
	if r, _ := ask(vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, win32); r != vk.ERROR_FORMAT_NOT_SUPPORTED {
		t.Errorf("depth attachment of colors: %v", r)
	}
}

func TestNothingIsSparse(t *testing.T) {
	d := imageTestDevice(t)
	counts := [2]uint32{7, 7}
	commands.GetPhysicalDeviceSparseImageFormatProperties(d.physical.handle, vk.FORMAT_R8_UNORM, vk.IMAGE_TYPE_2D, 1,
		imageUsages, vk.IMAGE_TILING_OPTIMAL, &counts[0], nil)
	commands.GetPhysicalDeviceSparseImageFormatProperties2(d.physical.handle, &vk.PhysicalDeviceSparseImageFormatInfo2{},
		&counts[1], nil)
	if counts != [2]uint32{} {
		t.Errorf("sparse formats: %v", counts)
	}
}

// TestSampledCompressedImages asks about images as the CTS' image.sample_texture makes them: written through a view
// without compression, sampled through one with their own format. Where they are supported, both views can be made.
func TestSampledCompressedImages(t *testing.T) {
	d := imageTestDevice(t)
	supported := 0
	for _, f := range vk.AllFormats {
		texels, ok := texel.FormatOf(f)
		if !ok || !texels.Compressed {
			continue
		}
		q := imageQuery{format: f, imageType: vk.IMAGE_TYPE_2D, tiling: vk.IMAGE_TILING_OPTIMAL,
			usage: vk.IMAGE_USAGE_STORAGE_BIT | vk.IMAGE_USAGE_SAMPLED_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT,
			flags: vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT | vk.IMAGE_CREATE_EXTENDED_USAGE_BIT |
				vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT}
		var out vk.ImageFormatProperties
		if d.physical.supported(&q, &out) {
			supported++
			if u := d.physical.unfit(f, vk.IMAGE_USAGE_SAMPLED_BIT); u != nil {
				t.Errorf("an image of format %v may be sampled, but no view with its format (%v)", f, u.rule)
			}
		} else if d.physical.unfit(f, vk.IMAGE_USAGE_SAMPLED_BIT) == nil {
			t.Errorf("format %v can be sampled, but an image that is written through other views can't be made", f)
		}
	}
	if supported != 68 {
		t.Errorf("%d compressed formats are sampled and written, want 68", supported)
	}
}
