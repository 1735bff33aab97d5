package transfer

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

var imageTypes = []vk.ImageType{vk.IMAGE_TYPE_1D, vk.IMAGE_TYPE_2D, vk.IMAGE_TYPE_3D}

// randomBufferImageCopy makes a legal region and returns how many bytes of a buffer it needs.
func randomBufferImageCopy(r *rand.Rand, img *Image) (vk.BufferImageCopy, int) {
	format := &img.Layout.Format
	plane := format.Planes[r.IntN(format.PlaneCount)]
	region := vk.BufferImageCopy{ImageSubresource: randomLayers(r, img, plane.Aspect)}
	region.ImageOffset, region.ImageExtent = randomBox(r, img, region.ImageSubresource.MipLevel)
	extent := region.ImageExtent
	if r.IntN(2) == 0 {
		region.BufferRowLength = uint32(ceil(extent.Width, format.Block[0])+r.IntN(4)) * format.Block[0]
	}
	if r.IntN(2) == 0 {
		region.BufferImageHeight = uint32(ceil(extent.Height, format.Block[1])+r.IntN(4)) * format.Block[1]
	}
	region.BufferOffset = uint64(r.IntN(3)) * 4 * uint64(plane.BlockSize)
	size := linearAddress(img, &region, ceil(extent.Width, format.Block[0])-1, ceil(extent.Height, format.Block[1])-1,
		ceil(extent.Depth, format.Block[2])-1, int(region.ImageSubresource.LayerCount)-1) + int(plane.BlockSize)
	return region, size
}

func TestBufferImageRandomRegions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, format := range allFormats() {
		for _, imageType := range imageTypes {
			for range 4 {
				s := randomShape(r, format, imageType)
				img, imageMemory := s.image(t, r.Uint64N(256))
				region, size := randomBufferImageCopy(r, img)
				buffer := newMemory(r.Uint64N(256), size) // exactly what the region needs
				regions := []vk.BufferImageCopy{region}

				wantImage, got := imageMemory.clone(), imageMemory.clone()
				referenceBufferImage(img.on(wantImage), buffer.bytes, &region, true)
				if err := CopyBufferToImage(img.on(got), buffer.bytes, regions); err != nil ||
					!bytes.Equal(got.all, wantImage.all) {
					t.Fatalf("%v: to the image, %+v: %v", s, region, err)
				}
				wantBuffer, gotBuffer := buffer.clone(), buffer.clone()
				referenceBufferImage(img, wantBuffer.bytes, &region, false)
				if err := CopyImageToBuffer(gotBuffer.bytes, img, regions); err != nil ||
					!bytes.Equal(gotBuffer.all, wantBuffer.all) {
					t.Fatalf("%v: to the buffer, %+v: %v", s, region, err)
				}
				if err := CopyBufferToImage(img, buffer.bytes[:size-1],
					regions); vk.VUIDOf(err).String() != "VUID-vkCmdCopyBufferToImage-pRegions-00171" {
					t.Fatalf("%v: one byte less is enough for %+v: %v", s, region, err)
				}
				if err := CopyImageToBuffer(buffer.bytes[:size-1], img,
					regions); vk.VUIDOf(err).String() != "VUID-vkCmdCopyImageToBuffer-pRegions-00183" {
					t.Fatalf("%v: one byte less is enough for %+v: %v", s, region, err)
				}
			}
		}
	}
}

// Large enough for several cores, with and without gaps between the rows.
func TestBufferImageLarge(t *testing.T) {
	for _, c := range []struct {
		shape  shape
		region vk.BufferImageCopy
	}{
		{shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{1024, 1024, 1}, 1, 1},
			vk.BufferImageCopy{ImageExtent: vk.Extent3D{Width: 1024, Height: 1024, Depth: 1}}},
		{shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{1024, 700, 1}, 1, 2},
			vk.BufferImageCopy{BufferRowLength: 1000, ImageOffset: vk.Offset3D{X: 3, Y: 5},
				ImageExtent: vk.Extent3D{Width: 999, Height: 693, Depth: 1}}},
		{shape{vk.FORMAT_R32G32B32A32_SFLOAT, vk.IMAGE_TYPE_3D, [3]uint32{64, 64, 40}, 1, 1},
			vk.BufferImageCopy{BufferImageHeight: 70, ImageExtent: vk.Extent3D{Width: 64, Height: 64, Depth: 40}}},
		{shape{vk.FORMAT_R64G64B64A64_UINT, vk.IMAGE_TYPE_2D, [3]uint32{1 << 16, 2, 1}, 1, 2},
			vk.BufferImageCopy{BufferRowLength: 1<<16 + 1, ImageExtent: vk.Extent3D{Width: 1 << 16, Height: 2, Depth: 1}}},
	} {
		img, m := c.shape.image(t, 1)
		c.region.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT,
			LayerCount: c.shape.layers}
		buffer := newMemory(2, 2*len(img.Bytes))
		want := m.clone()
		referenceBufferImage(img.on(want), buffer.bytes, &c.region, true)
		if err := CopyBufferToImage(img, buffer.bytes, []vk.BufferImageCopy{c.region}); err != nil ||
			!bytes.Equal(m.all, want.all) {
			t.Errorf("%v: to the image, %+v: %v", c.shape, c.region, err)
		}
		wantBuffer := buffer.clone()
		clear(buffer.bytes)
		clear(wantBuffer.bytes)
		referenceBufferImage(img, wantBuffer.bytes, &c.region, false)
		if err := CopyImageToBuffer(buffer.bytes, img, []vk.BufferImageCopy{c.region}); err != nil ||
			!bytes.Equal(buffer.all, wantBuffer.all) {
			t.Errorf("%v: to the buffer, %+v: %v", c.shape, c.region, err)
		}
	}
}

func TestBufferImageRefuses(t *testing.T) {
	const (
		colour  = vk.IMAGE_ASPECT_COLOR_BIT
		depth   = vk.IMAGE_ASPECT_DEPTH_BIT
		stencil = vk.IMAGE_ASPECT_STENCIL_BIT
	)
	flat := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 2, 3}
	line := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_1D, [3]uint32{16, 1, 1}, 1, 1}
	solid := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_3D, [3]uint32{16, 16, 16}, 1, 1}
	blocks := shape{vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.IMAGE_TYPE_2D, [3]uint32{18, 18, 1}, 1, 1}
	both := shape{vk.FORMAT_D32_SFLOAT_S8_UINT, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 1}
	legal := vk.BufferImageCopy{
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: colour, LayerCount: 1},
		ImageExtent:      vk.Extent3D{Width: 16, Height: 1, Depth: 1},
	}
	const image = "VUID-vkCmdCopyBufferToImage-dstImage-"
	for _, c := range []struct {
		name   string
		shape  shape
		change func(r *vk.BufferImageCopy)
		vuid   string
	}{
		{"no width", flat, func(r *vk.BufferImageCopy) { r.ImageExtent.Width = 0 },
			"VUID-VkBufferImageCopy-imageExtent-06659"},
		{"no height", flat, func(r *vk.BufferImageCopy) { r.ImageExtent.Height = 0 },
			"VUID-VkBufferImageCopy-imageExtent-06660"},
		{"no depth", flat, func(r *vk.BufferImageCopy) { r.ImageExtent.Depth = 0 },
			"VUID-VkBufferImageCopy-imageExtent-06661"},
		{"no aspect", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.AspectMask = 0 },
			"VUID-VkImageSubresourceLayers-aspectMask-requiredbitmask"},
		{"wrong aspect", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.AspectMask = depth },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-09105"},
		{"memory plane", flat,
			func(r *vk.BufferImageCopy) { r.ImageSubresource.AspectMask = vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-09105"},
		{"two aspects", both, func(r *vk.BufferImageCopy) { r.ImageSubresource.AspectMask = depth | stencil },
			"VUID-VkBufferImageCopy-aspectMask-09103"},
		{"level", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.MipLevel = 2 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07967"},
		{"no layers", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.LayerCount = 0 },
			"VUID-VkImageSubresourceLayers-layerCount-01700"},
		{"remaining layers of none", flat, func(r *vk.BufferImageCopy) {
			r.ImageSubresource.BaseArrayLayer, r.ImageSubresource.LayerCount = 3, vk.REMAINING_ARRAY_LAYERS
		}, "VUID-vkCmdCopyBufferToImage-imageSubresource-07968"},
		{"layers", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.LayerCount = 4 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07968"},
		{"layers wrap around", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.BaseArrayLayer = math.MaxUint32 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07968"},
		{"layers of a 3D image", solid, func(r *vk.BufferImageCopy) { r.ImageSubresource.LayerCount = 2 }, image + "07983"},
		{"width", flat, func(r *vk.BufferImageCopy) { r.ImageExtent.Width = 17 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07971"},
		{"width of a level", flat, func(r *vk.BufferImageCopy) { r.ImageSubresource.MipLevel = 1 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07971"},
		{"x and width", flat, func(r *vk.BufferImageCopy) { r.ImageOffset.X = 1 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07971"},
		{"negative x", flat, func(r *vk.BufferImageCopy) { r.ImageOffset.X = -1 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07971"},
		{"x and width wrap around", flat, func(r *vk.BufferImageCopy) { r.ImageOffset.X, r.ImageExtent.Width = -8, 12 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07971"},
		{"most width", flat, func(r *vk.BufferImageCopy) { r.ImageExtent.Width = math.MaxUint32 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07971"},
		{"y", flat, func(r *vk.BufferImageCopy) { r.ImageOffset.Y = 16 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07972"},
		{"lowest y", flat, func(r *vk.BufferImageCopy) { r.ImageOffset.Y = math.MinInt32 },
			"VUID-vkCmdCopyBufferToImage-imageSubresource-07972"},
		{"z", solid, func(r *vk.BufferImageCopy) { r.ImageOffset.Z = 16 }, "VUID-vkCmdCopyBufferToImage-imageOffset-09104"},
		{"y of a line", line, func(r *vk.BufferImageCopy) { r.ImageOffset.Y = 1 }, image + "07979"},
		{"height of a line", line, func(r *vk.BufferImageCopy) { r.ImageExtent.Height = 2 }, image + "07979"},
		{"z of a plane", flat, func(r *vk.BufferImageCopy) { r.ImageOffset.Z = 1 }, image + "07980"},
		{"depth of a plane", flat, func(r *vk.BufferImageCopy) { r.ImageExtent.Depth = 3 }, image + "07980"},
		{"x in a block", blocks, func(r *vk.BufferImageCopy) { r.ImageOffset.X = 2 }, image + "07274"},
		{"y in a block", blocks, func(r *vk.BufferImageCopy) { r.ImageOffset.Y, r.ImageExtent.Height = 3, 4 },
			image + "07275"},
		{"short rows", flat, func(r *vk.BufferImageCopy) { r.BufferRowLength = 15 },
			"VUID-VkBufferImageCopy-bufferRowLength-09101"},
		{"few rows", flat, func(r *vk.BufferImageCopy) { r.BufferImageHeight, r.ImageExtent.Height = 7, 8 },
			"VUID-VkBufferImageCopy-bufferImageHeight-09102"},
		{"row of part blocks", blocks, func(r *vk.BufferImageCopy) { r.BufferRowLength, r.ImageExtent.Height = 18, 4 },
			"VUID-vkCmdCopyBufferToImage-bufferRowLength-09106"},
		{"rows of part blocks", blocks, func(r *vk.BufferImageCopy) { r.BufferImageHeight, r.ImageExtent.Height = 5, 4 },
			"VUID-vkCmdCopyBufferToImage-bufferImageHeight-09107"},
		{"rows of 2 GiB", flat, func(r *vk.BufferImageCopy) { r.BufferRowLength = 1 << 29 },
			"VUID-vkCmdCopyBufferToImage-bufferRowLength-09108"},
		{"offset", flat, func(r *vk.BufferImageCopy) { r.BufferOffset = 2 }, image + "07975"},
		{"offset of stencil", both, func(r *vk.BufferImageCopy) {
			r.ImageSubresource.AspectMask, r.BufferOffset = stencil,
				2
		}, image + "07978"},
		{"offset behind the buffer", flat, func(r *vk.BufferImageCopy) { r.BufferOffset = math.MaxUint64 - 3 },
			"VUID-vkCmdCopyBufferToImage-pRegions-00171"},
		{"far rows", flat, func(r *vk.BufferImageCopy) { r.BufferRowLength, r.ImageExtent.Height = 1<<29-1, 2 },
			"VUID-vkCmdCopyBufferToImage-pRegions-00171"},
		{"far slices", flat, func(r *vk.BufferImageCopy) {
			r.BufferRowLength, r.BufferImageHeight, r.ImageSubresource.LayerCount = 1<<29-1, math.MaxUint32, 3
		}, "VUID-vkCmdCopyBufferToImage-pRegions-00171"},
	} {
		img, m := c.shape.image(t, 1)
		buffer := newMemory(2, 1<<16)
		first, wrong := legal, legal
		if c.shape == blocks {
			first.ImageExtent.Height, wrong.ImageExtent.Height = 4, 4
		}
		if c.shape == both {
			first.ImageSubresource.AspectMask = depth
		}
		c.change(&wrong)
		before := m.clone()
		err := CopyBufferToImage(img, buffer.bytes, []vk.BufferImageCopy{first, wrong})
		if vk.VUIDOf(err).String() != c.vuid {
			t.Errorf("%s: %v (%s), want %s", c.name, err, vk.VUIDOf(err).String(), c.vuid)
		}
		if !bytes.Equal(m.all, before.all) {
			t.Errorf("%s: an earlier region was copied", c.name)
		}
	}
	img, _ := flat.image(t, 1)
	img.Bytes = img.Bytes[:len(img.Bytes)-1]
	if err := CopyBufferToImage(img, make([]byte, 64),
		[]vk.BufferImageCopy{legal}); vk.VUIDOf(err).String() != image+"07966" {
		t.Errorf("an image beyond its memory: %v", err)
	}
}
