package transfer

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

func TestHostCopyRandomRegions(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, format := range allFormats() {
		s := randomShape(r, format, imageTypes[r.IntN(3)])
		img, m := s.image(t, 1)
		region, size := randomBufferImageCopy(r, img)
		size -= int(region.BufferOffset)
		region.BufferOffset = 0
		for name, f := range map[string]func(*Image, *vk.BufferImageCopy, vk.HostImageCopyFlags) (uint64, error){
			"MemoryToImageSize": MemoryToImageSize, "ImageToMemorySize": ImageToMemorySize,
		} {
			if got, err := f(img, &region, 0); err != nil || got != uint64(size) {
				t.Fatalf("%v: %s of %+v is %d (%v), want %d", s, name, region, got, err, size)
			}
		}
		host := newMemory(2, size)
		want := m.clone()
		referenceBufferImage(img.on(want), host.bytes, &region, true)
		if err := CopyMemoryToImage(img, host.bytes, &region, 0); err != nil || !bytes.Equal(m.all, want.all) {
			t.Fatalf("%v: to the image, %+v: %v", s, region, err)
		}
		clear(host.bytes)
		wantHost := host.clone()
		referenceBufferImage(img, wantHost.bytes, &region, false)
		if err := CopyImageToMemory(host.bytes, img, &region, 0); err != nil || !bytes.Equal(host.all, wantHost.all) {
			t.Fatalf("%v: to the host, %+v: %v", s, region, err)
		}
	}
}

func TestHostMemcpy(t *testing.T) {
	const memcpy = vk.HOST_IMAGE_COPY_MEMCPY_BIT
	for _, c := range []struct {
		shape       shape
		aspect      vk.ImageAspectFlags
		level, base uint32
		layers      uint32
		extent      vk.Extent3D
	}{
		{shape{vk.FORMAT_R8G8B8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{7, 5, 1}, 2, 4}, vk.IMAGE_ASPECT_COLOR_BIT, 1, 1, 3,
			vk.Extent3D{Width: 3, Height: 2, Depth: 1}},
		{shape{vk.FORMAT_R16_UNORM, vk.IMAGE_TYPE_3D, [3]uint32{7, 5, 6}, 2, 1}, vk.IMAGE_ASPECT_COLOR_BIT, 1, 0, 1,
			vk.Extent3D{Width: 3, Height: 2, Depth: 3}},
		{shape{vk.FORMAT_D16_UNORM_S8_UINT, vk.IMAGE_TYPE_2D, [3]uint32{9, 5, 1}, 1, 2}, vk.IMAGE_ASPECT_STENCIL_BIT, 0, 0, 2,
			vk.Extent3D{Width: 9, Height: 5, Depth: 1}},
		{shape{vk.FORMAT_BC7_UNORM_BLOCK, vk.IMAGE_TYPE_2D, [3]uint32{9, 5, 1}, 2, 1}, vk.IMAGE_ASPECT_COLOR_BIT, 1, 0, 1,
			vk.Extent3D{Width: 4, Height: 2, Depth: 1}},
	} {
		img, m := c.shape.image(t, 1)
		region := vk.BufferImageCopy{
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: c.aspect, MipLevel: c.level, BaseArrayLayer: c.base,
				LayerCount: c.layers},
			ImageExtent: c.extent,
		}
		first, _ := img.Layout.Subresource(c.aspect, c.level, c.base)
		size, err := ImageToMemorySize(img, &region, memcpy)
		if err != nil || size != first.Size*uint64(c.layers) {
			t.Fatalf("%v: %d bytes (%v), want %d layers of %d", c.shape, size, err, c.layers, first.Size)
		}
		host := newMemory(2, int(size))
		before := host.clone()
		if err := CopyImageToMemory(host.bytes, img, &region, memcpy); err != nil {
			t.Fatal(err)
		}
		for layer := range c.layers {
			s, _ := img.Layout.Subresource(c.aspect, c.level, c.base+layer)
			copy(before.bytes[uint64(layer)*s.Size:], img.Bytes[s.Offset:s.Offset+s.Size])
		}
		if !bytes.Equal(host.all, before.all) {
			t.Errorf("%v: the host has something else than what is stored", c.shape)
		}
		stored := m.clone()
		for layer := range c.layers {
			s, _ := img.Layout.Subresource(c.aspect, c.level, c.base+layer)
			clear(img.Bytes[s.Offset : s.Offset+s.Size])
		}
		if err := CopyMemoryToImage(img, host.bytes, &region, memcpy); err != nil || !bytes.Equal(m.all, stored.all) {
			t.Errorf("%v: the image is not as before: %v", c.shape, err)
		}
		if err := CopyMemoryToImage(img, host.bytes[1:], &region,
			memcpy); vk.VUIDOf(err).String() != "VUID-VkMemoryToImageCopy-pHostPointer-09061" {
			t.Errorf("%v: one byte less is enough: %v", c.shape, err)
		}
		if err := CopyImageToMemory(host.bytes[1:], img, &region,
			memcpy); vk.VUIDOf(err).String() != "VUID-VkImageToMemoryCopy-pHostPointer-09066" {
			t.Errorf("%v: one byte less is enough: %v", c.shape, err)
		}
	}
}

func TestHostMemcpyRefuses(t *testing.T) {
	const memcpy = vk.HOST_IMAGE_COPY_MEMCPY_BIT
	img, _ := shape{vk.FORMAT_R8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{8, 8, 1}, 1, 1}.image(t, 1)
	for _, c := range []struct {
		name   string
		change func(r *vk.BufferImageCopy)
		to, of string // the VUIDs of vkCopyMemoryToImage and vkCopyImageToMemory
	}{
		{"offset", func(r *vk.BufferImageCopy) { r.ImageOffset.X, r.ImageExtent.Width = 1, 7 },
			"VUID-VkCopyMemoryToImageInfo-imageOffset-09114", "VUID-VkCopyImageToMemoryInfo-imageOffset-09114"},
		{"extent", func(r *vk.BufferImageCopy) { r.ImageExtent.Height = 7 },
			"VUID-VkCopyMemoryToImageInfo-dstImage-09115", "VUID-VkCopyImageToMemoryInfo-srcImage-09115"},
		{"row length", func(r *vk.BufferImageCopy) { r.BufferRowLength = 8 },
			"VUID-VkCopyMemoryToImageInfo-flags-09393", "VUID-VkCopyImageToMemoryInfo-flags-09394"},
		{"image height", func(r *vk.BufferImageCopy) { r.BufferImageHeight = 8 },
			"VUID-VkCopyMemoryToImageInfo-flags-09393", "VUID-VkCopyImageToMemoryInfo-flags-09394"},
		{"width", func(r *vk.BufferImageCopy) { r.ImageExtent.Width = 9 },
			"VUID-VkCopyMemoryToImageInfo-imageSubresource-07971", "VUID-VkCopyImageToMemoryInfo-imageSubresource-07971"},
	} {
		region := vk.BufferImageCopy{
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1},
			ImageExtent:      vk.Extent3D{Width: 8, Height: 8, Depth: 1},
		}
		c.change(&region)
		if _, err := MemoryToImageSize(img, &region, memcpy); vk.VUIDOf(err).String() != c.to {
			t.Errorf("%s: %v (%s), want %s", c.name, err, vk.VUIDOf(err).String(), c.to)
		}
		if err := CopyImageToMemory(make([]byte, 4096), img, &region, memcpy); vk.VUIDOf(err).String() != c.of {
			t.Errorf("%s: %v (%s), want %s", c.name, err, vk.VUIDOf(err).String(), c.of)
		}
	}
}
