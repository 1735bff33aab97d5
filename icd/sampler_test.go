package icd

import (
	"testing"
	"unsafe"

	"farside/internal/sampling"
	"farside/internal/vk"
)

func plainSampler() vk.SamplerCreateInfo {
	return vk.SamplerCreateInfo{SType: vk.STRUCTURE_TYPE_SAMPLER_CREATE_INFO, MaxLod: 1}
}

func TestSamplerRules(t *testing.T) {
	d := imageTestDevice(t)
	const edge, border = vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER
	unnormalized := func(s *vk.SamplerCreateInfo) {
		s.UnnormalizedCoordinates, s.MaxLod, s.AddressModeU, s.AddressModeV = vk.TRUE, 0, edge, edge
	}
	custom := vk.SamplerCustomBorderColorCreateInfoEXT{
		SType: vk.STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
	}
	least := vk.SamplerReductionModeCreateInfo{SType: vk.STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
		ReductionMode: vk.SAMPLER_REDUCTION_MODE_MIN}
	for _, c := range []struct {
		name     string
		change   func(*vk.SamplerCreateInfo)
		features []string
		vuid     string
	}{
		{"plain", func(*vk.SamplerCreateInfo) {}, nil, ""},
		{"garbage where it does not count", func(s *vk.SamplerCreateInfo) {
			s.CompareOp, s.BorderColor, s.MaxAnisotropy = 77,
				77, 77
		}, nil, ""},
		{"unnormalized", unnormalized, nil, ""},
		{"reduction", func(s *vk.SamplerCreateInfo) { s.PNext = unsafe.Pointer(&least) }, nil, ""},
		{"filter", func(s *vk.SamplerCreateInfo) { s.MagFilter = vk.FILTER_CUBIC_EXT }, nil,
			"VUID-VkSamplerCreateInfo-magFilter-parameter"},
		{"address mode", func(s *vk.SamplerCreateInfo) { s.AddressModeW = 9 }, nil,
			"VUID-VkSamplerCreateInfo-addressModeU-parameter"},
		{"mirror", func(s *vk.SamplerCreateInfo) { s.AddressModeV = vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE }, nil,
			"VUID-VkSamplerCreateInfo-addressModeU-01079"},
		{"mirror with the feature",
			func(s *vk.SamplerCreateInfo) { s.AddressModeV = vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE },
			[]string{"samplerMirrorClampToEdge"}, ""},
		{"bias", func(s *vk.SamplerCreateInfo) { s.MipLodBias = sampling.MaxLodBias + 1 }, nil,
			"VUID-VkSamplerCreateInfo-mipLodBias-01069"},
		{"levels", func(s *vk.SamplerCreateInfo) { s.MinLod = 2 }, nil, "VUID-VkSamplerCreateInfo-maxLod-01973"},
		{"anisotropy", func(s *vk.SamplerCreateInfo) { s.AnisotropyEnable = vk.TRUE }, nil,
			"VUID-VkSamplerCreateInfo-anisotropyEnable-01070"},
		{"little anisotropy", func(s *vk.SamplerCreateInfo) { s.AnisotropyEnable, s.MaxAnisotropy = vk.TRUE, 0.5 },
			[]string{"samplerAnisotropy"}, "VUID-VkSamplerCreateInfo-anisotropyEnable-01071"},
		{"most anisotropy", func(s *vk.SamplerCreateInfo) { s.AnisotropyEnable, s.MaxAnisotropy = vk.TRUE, 16 },
			[]string{"samplerAnisotropy"}, ""},
		{"comparison", func(s *vk.SamplerCreateInfo) { s.CompareEnable, s.CompareOp = vk.TRUE, 8 }, nil,
			"VUID-VkSamplerCreateInfo-compareEnable-01080"},
		{"comparison of the least", func(s *vk.SamplerCreateInfo) {
			s.CompareEnable, s.PNext = vk.TRUE,
				unsafe.Pointer(&least)
		}, nil, "VUID-VkSamplerCreateInfo-compareEnable-01423"},
		{"unnormalized filters", func(s *vk.SamplerCreateInfo) { unnormalized(s); s.MinFilter = vk.FILTER_LINEAR }, nil,
			"VUID-VkSamplerCreateInfo-unnormalizedCoordinates-01072"},
		{"unnormalized mipmaps",
			func(s *vk.SamplerCreateInfo) { unnormalized(s); s.MipmapMode = vk.SAMPLER_MIPMAP_MODE_LINEAR }, nil,
			"VUID-VkSamplerCreateInfo-unnormalizedCoordinates-01073"},
		{"unnormalized levels", func(s *vk.SamplerCreateInfo) { unnormalized(s); s.MaxLod = 1 }, nil,
			"VUID-VkSamplerCreateInfo-unnormalizedCoordinates-01074"},
		{"unnormalized repeat", func(s *vk.SamplerCreateInfo) { unnormalized(s); s.AddressModeV = 0 }, nil,
			"VUID-VkSamplerCreateInfo-unnormalizedCoordinates-01075"},
		{"unnormalized comparison", func(s *vk.SamplerCreateInfo) { unnormalized(s); s.CompareEnable = vk.TRUE }, nil,
			"VUID-VkSamplerCreateInfo-unnormalizedCoordinates-01077"},
		{"seams", func(s *vk.SamplerCreateInfo) { s.Flags = vk.SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT }, nil,
			"VUID-VkSamplerCreateInfo-nonSeamlessCubeMap-06788"},
		{"seams with the feature",
			func(s *vk.SamplerCreateInfo) { s.Flags = vk.SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT },
			[]string{"nonSeamlessCubeMap"}, ""},
		{"border", func(s *vk.SamplerCreateInfo) { s.AddressModeU, s.BorderColor = border, 6 }, nil,
			"VUID-VkSamplerCreateInfo-addressModeU-01078"},
		{"custom border", func(s *vk.SamplerCreateInfo) {
			s.AddressModeU, s.BorderColor = border,
				vk.BORDER_COLOR_INT_CUSTOM_EXT
		}, nil, "VUID-VkSamplerCreateInfo-customBorderColors-04085"},
		{"custom border without a colour", func(s *vk.SamplerCreateInfo) {
			s.AddressModeU, s.BorderColor = border,
				vk.BORDER_COLOR_INT_CUSTOM_EXT
		}, []string{"customBorderColors"}, "VUID-VkSamplerCreateInfo-borderColor-04011"},
		{"custom border without a format", func(s *vk.SamplerCreateInfo) {
			s.AddressModeU, s.BorderColor, s.PNext = border, vk.BORDER_COLOR_INT_CUSTOM_EXT, unsafe.Pointer(&custom)
		}, []string{"customBorderColors"}, "VUID-VkSamplerCustomBorderColorCreateInfoEXT-format-04014"},
		{"custom border with all features", func(s *vk.SamplerCreateInfo) {
			s.AddressModeU, s.BorderColor, s.PNext = border, vk.BORDER_COLOR_INT_CUSTOM_EXT, unsafe.Pointer(&custom)
		}, []string{"customBorderColors", "customBorderColorWithoutFormat"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := plainSampler()
			c.change(&info)
			defer lacking(t, d, "samplerMirrorClampToEdge", "samplerAnisotropy", "customBorderColors",
				"customBorderColorWithoutFormat", "nonSeamlessCubeMap")()
			d.features = map[string]bool{}
			for _, f := range c.features {
				d.features[f] = true
			}
			if _, err := d.newSampler(&info); vk.VUIDOf(err).String() != c.vuid || (err == nil) != (c.vuid == "") {
				t.Errorf("%v (%q), want %q", err, vk.VUIDOf(err).String(), c.vuid)
			}
		})
	}
}

func TestSamplerHandles(t *testing.T) {
	d := imageTestDevice(t)
	info := plainSampler()
	var h vk.Sampler
	wantResult(t, "vkCreateSampler", commands.CreateSampler(d.handle, &info, nil, &h), vk.SUCCESS)
	if s, err := (&resources{d, 0}).Sampler(h); err != nil || s == nil {
		t.Errorf("the sampler: %v, %v", s, err)
	}
	if _, err := (&resources{&device{}, 0}).Sampler(h); err == nil {
		t.Error("another device has the sampler")
	}
	commands.DestroySampler(d.handle, h, nil)
	commands.DestroySampler(d.handle, 0, nil)
	if _, err := (&resources{d, 0}).Sampler(h); err == nil {
		t.Error("a destroyed sampler is found")
	}
	info.MagFilter = 7
	h = 1
	wantResult(t, "vkCreateSampler", commands.CreateSampler(d.handle, &info, nil, &h), vk.ERROR_VALIDATION_FAILED)
	if h != 0 {
		t.Errorf("a handle of what was not created: %#x", uint64(h))
	}
}

// Shaders reach the texels of a view in the memory that its image or buffer is bound to, as long as that lives.
func TestViewsReachTexels(t *testing.T) {
	d := hostCopyDevice(t)
	h, mem := hostCopyImage(t, d, 0, func(i *vk.ImageCreateInfo) {
		i.Usage |= vk.IMAGE_USAGE_STORAGE_BIT | vk.IMAGE_USAGE_SAMPLED_BIT
		i.ArrayLayers, i.MipLevels = 3, 2
	})
	info := vk.ImageViewCreateInfo{
		SType: vk.STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, Image: h, ViewType: vk.IMAGE_VIEW_TYPE_2D_ARRAY,
		Format:     vk.FORMAT_R8G8B8A8_UNORM,
		Components: vk.ComponentMapping{R: vk.COMPONENT_SWIZZLE_A, G: vk.COMPONENT_SWIZZLE_ONE},
		SubresourceRange: vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, BaseMipLevel: 1, LevelCount: 1,
			BaseArrayLayer: 1, LayerCount: 2},
	}
	var v vk.ImageView
	wantResult(t, "vkCreateImageView", commands.CreateImageView(d.handle, &info, nil, &v), vk.SUCCESS)
	defer commands.DestroyImageView(d.handle, v, nil)
	texel := [4]byte{10, 20, 30, 255}
	wantResult(t, "vkCopyMemoryToImage", toImage(h, 0, vk.MemoryToImageCopy{
		PHostPointer: unsafe.Pointer(&texel),
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: 1, BaseArrayLayer: 2,
			LayerCount: 1},
		ImageOffset: vk.Offset3D{X: 7, Y: 5}, ImageExtent: vk.Extent3D{Width: 1, Height: 1, Depth: 1},
	}), vk.SUCCESS)
	for range 2 { // the second time from the view's cache
		view, err := (&resources{d, 0}).ImageView(v)
		if err != nil {
			t.Fatal(err)
		}
		if size := view.Size(0); size != [3]uint32{8, 8, 2} {
			t.Errorf("size %v", size)
		}
		var got sampling.Texels
		view.Fetch(&got, &[3]sampling.Lanes{{7}, {5}, {1}}, nil, nil, 1)
		if got[0][0] != 0x3f800000 || got[1][0] != 0x3f800000 || got[2][0] == 0 {
			t.Errorf("fetched %x", got)
		}
		view.Payload.Release()
	}
	view := imageViews.Get(uint64(v))
	if n := testing.AllocsPerRun(50, func() {
		_, p, err := view.texels(0)
		if err != nil {
			t.Fatal(err)
		}
		p.end()
	}); n != 0 {
		t.Errorf("finding a view again allocates %v times", n)
	}
	commands.FreeMemory(d.handle, mem, nil)
	if _, err := (&resources{d, 0}).ImageView(v); err == nil {
		t.Error("a view of freed memory is found")
	}
	if _, err := (&resources{&device{}, 0}).ImageView(v); err == nil {
		t.Error("another device has the view")
	}
}

func TestBufferViews(t *testing.T) {
	d := hostCopyDevice(t)
	info := vk.BufferCreateInfo{SType: vk.STRUCTURE_TYPE_BUFFER_CREATE_INFO, Size: 256,
		Usage: vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT}
	var b vk.Buffer
	wantResult(t, "vkCreateBuffer", commands.CreateBuffer(d.handle, &info, nil, &b), vk.SUCCESS)
	defer commands.DestroyBuffer(d.handle, b, nil)
	buf := buffers.Get(uint64(b))
	for _, c := range []struct {
		usage         vk.BufferUsageFlags
		format        vk.Format
		offset, bytes uint64
		vuid          string
	}{
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_R32_UINT, 16, 64, ""},
		{vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, vk.FORMAT_R32G32B32_SFLOAT, 0, vk.WHOLE_SIZE, ""},
		{vk.BUFFER_USAGE_STORAGE_BUFFER_BIT, vk.FORMAT_R32_UINT, 0, 64, "VUID-VkBufferViewCreateInfo-buffer-00932"},
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_R32G32B32_SFLOAT, 0, 12,
			"VUID-VkBufferViewCreateInfo-format-08779"},
		{vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, vk.FORMAT_BC1_RGB_UNORM_BLOCK, 0, 8,
			"VUID-VkBufferViewCreateInfo-format-08778"},
		{vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, vk.FORMAT_D32_SFLOAT, 0, 8, "VUID-VkBufferViewCreateInfo-format-08778"},
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_UNDEFINED, 0, 64,
			"VUID-VkBufferViewCreateInfo-format-parameter"},
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_R32_UINT, 8, 64, "VUID-VkBufferViewCreateInfo-buffer-02750"},
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_R32_UINT, 256, vk.WHOLE_SIZE,
			"VUID-VkBufferViewCreateInfo-offset-00925"},
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_R32_UINT, 0, 62, "VUID-VkBufferViewCreateInfo-range-00929"},
		{vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT, vk.FORMAT_R32_UINT, 16, 256, "VUID-VkBufferViewCreateInfo-offset-00931"},
	} {
		buf.usage = c.usage
		_, err := buf.newView(&vk.BufferViewCreateInfo{Buffer: b, Format: c.format, Offset: c.offset, Range: c.bytes})
		if vk.VUIDOf(err).String() != c.vuid || (err == nil) != (c.vuid == "") {
			t.Errorf("%v at %d, %d bytes: %v (%q), want %q", c.format, c.offset, c.bytes, err, vk.VUIDOf(err).String(), c.vuid)
		}
	}
	buf.usage = vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT
	var v vk.BufferView
	wantResult(t, "vkCreateBufferView", commands.CreateBufferView(d.handle,
		&vk.BufferViewCreateInfo{Buffer: b, Format: vk.FORMAT_R32_UINT, Offset: 16, Range: 64}, nil, &v), vk.SUCCESS)
	defer commands.DestroyBufferView(d.handle, v, nil)
	if _, err := (&resources{d, 0}).BufferView(v); err == nil {
		t.Error("a view of a buffer without memory is found")
	}
	var mem vk.DeviceMemory
	wantResult(t, "vkAllocateMemory", commands.AllocateMemory(d.handle,
		&vk.MemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, AllocationSize: 256}, nil, &mem), vk.SUCCESS)
	defer commands.FreeMemory(d.handle, mem, nil)
	wantResult(t, "vkBindBufferMemory", commands.BindBufferMemory(d.handle, b, mem, 0), vk.SUCCESS)
	view, err := (&resources{d, 0}).BufferView(v)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Payload.Release()
	view.Write(&[3]sampling.Lanes{{3, 16}}, &sampling.Texels{{77, 78}}, 3) // the second is outside
	bytes, err := view.Payload.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if bytes[16+3*4] != 77 || bytes[16+16*4] != 0 || view.Size(0)[0] != 16 {
		t.Errorf("written: %v, %d texels", bytes[:96], view.Size(0)[0])
	}
}
