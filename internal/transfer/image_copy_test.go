package transfer

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// partners are the formats that a copy may go to, by format.
func partners(formats []vk.Format) map[vk.Format][]vk.Format {
	list := map[vk.Format][]vk.Format{}
	for _, from := range formats {
		s, _ := texel.FormatOf(from)
		for _, to := range formats {
			d, _ := texel.FormatOf(to)
			colour := s.Aspects()|d.Aspects() == vk.IMAGE_ASPECT_COLOR_BIT && s.Planes[0].BlockSize == d.Planes[0].BlockSize
			if from == to || colour && (!s.Compressed || !d.Compressed || s.Block == d.Block) {
				list[from] = append(list[from], to)
			}
		}
	}
	return list
}

// randomImageCopy makes an image that a region of src can go to, and the region.
func randomImageCopy(r *rand.Rand, src *Image, to vk.Format) (shape, vk.ImageCopy) {
	format, _ := texel.FormatOf(to)
	region := vk.ImageCopy{SrcSubresource: randomLayers(r, src, src.Layout.Format.Aspects())}
	region.SrcOffset, region.Extent = randomBox(r, src, region.SrcSubresource.MipLevel)
	if aspects := src.Layout.Format.Aspects(); r.IntN(2) == 0 {
		region.SrcSubresource.AspectMask = aspects & -aspects
	}
	region.DstSubresource.AspectMask = region.SrcSubresource.AspectMask
	region.DstSubresource.LayerCount = region.SrcSubresource.LayerCount

	blocks := [3]uint32{uint32(src.blocks(region.Extent.Width, 0)), uint32(src.blocks(region.Extent.Height, 1)),
		region.Extent.Depth}
	level, layers := r.Uint32N(2), uint32(1)
	imageType := imageTypes[r.IntN(len(imageTypes))]
	if imageType == vk.IMAGE_TYPE_1D && blocks[1] != 1 {
		imageType = src.Type
	}
	switch solid := imageType == vk.IMAGE_TYPE_3D; {
	case solid == (src.Type == vk.IMAGE_TYPE_3D):
	case solid:
		blocks[2] = region.SrcSubresource.LayerCount
		region.Extent.Depth, region.DstSubresource.LayerCount = blocks[2], 1
	default:
		region.DstSubresource.LayerCount = blocks[2]
	}
	var offset [3]uint32
	s := shape{to, imageType, [3]uint32{1, 1, 1}, level + 1, layers}
	for axis := range offset {
		if axis == 1 && imageType == vk.IMAGE_TYPE_1D || axis == 2 && imageType != vk.IMAGE_TYPE_3D {
			continue
		}
		offset[axis] = r.Uint32N(3) * format.Block[axis]
		texels := offset[axis] + blocks[axis]*format.Block[axis]
		// The last block may be a part of one.
		s.extent[axis] = (texels - r.Uint32N(format.Block[axis])) << level
	}
	if imageType != vk.IMAGE_TYPE_3D {
		region.DstSubresource.BaseArrayLayer = r.Uint32N(3)
		s.layers = region.DstSubresource.BaseArrayLayer + region.DstSubresource.LayerCount + r.Uint32N(2)
	}
	region.DstSubresource.MipLevel = level
	region.DstOffset = vk.Offset3D{X: int32(offset[0]), Y: int32(offset[1]), Z: int32(offset[2])}
	return s, region
}

func TestCopyImageRandomRegions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	formats := allFormats()
	targets := partners(formats)
	for _, format := range formats {
		for _, imageType := range imageTypes {
			for range 4 {
				s := randomShape(r, format, imageType)
				src, _ := s.image(t, r.Uint64N(256))
				d, region := randomImageCopy(r, src, targets[format][r.IntN(len(targets[format]))])
				dst, got := d.image(t, r.Uint64N(256))
				want := got.clone()
				referenceImageCopy(dst.on(want), src, &region)
				if err := CopyImage(dst, src, []vk.ImageCopy{region}); err != nil || !bytes.Equal(got.all, want.all) {
					t.Fatalf("%v to %v, %+v: %v (%s)", s, d, region, err, vk.VUIDOf(err).String())
				}
			}
		}
	}
}

func TestCopyImageLarge(t *testing.T) {
	s := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{1024, 512, 1}, 1, 2}
	src, _ := s.image(t, 1)
	dst, got := s.image(t, 2)
	both := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 2}
	for _, region := range []vk.ImageCopy{
		{Extent: vk.Extent3D{Width: 1024, Height: 512, Depth: 1}},
		{SrcOffset: vk.Offset3D{X: 1}, DstOffset: vk.Offset3D{X: 2, Y: 3},
			Extent: vk.Extent3D{Width: 1000, Height: 509, Depth: 1}},
	} {
		region.SrcSubresource, region.DstSubresource = both, both
		want := got.clone()
		referenceImageCopy(dst.on(want), src, &region)
		if err := CopyImage(dst, src, []vk.ImageCopy{region}); err != nil || !bytes.Equal(got.all, want.all) {
			t.Errorf("%+v: %v", region, err)
		}
	}
}

func TestCopyImageRefuses(t *testing.T) {
	const (
		colour = vk.IMAGE_ASPECT_COLOR_BIT
		of     = "VUID-vkCmdCopyImage-"
	)
	flat := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 2, 3}
	line := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_1D, [3]uint32{16, 1, 1}, 1, 3}
	solid := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_3D, [3]uint32{16, 16, 3}, 1, 1}
	wide := shape{vk.FORMAT_R16G16B16A16_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 1}
	blocks := shape{vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.IMAGE_TYPE_2D, [3]uint32{18, 18, 1}, 1, 1}
	depth := shape{vk.FORMAT_D32_SFLOAT, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 1}
	astc4 := shape{vk.FORMAT_ASTC_4x4_UNORM_BLOCK, vk.IMAGE_TYPE_2D, [3]uint32{24, 24, 1}, 1, 1}
	astc6 := shape{vk.FORMAT_ASTC_6x6_UNORM_BLOCK, vk.IMAGE_TYPE_2D, [3]uint32{24, 24, 1}, 1, 1}
	nothing := func(*vk.ImageCopy) {}
	for _, c := range []struct {
		name     string
		dst, src shape
		change   func(r *vk.ImageCopy)
		vuid     string
	}{
		{"sizes", flat, wide, nothing, of + "srcImage-01548"},
		{"depth to colour", flat, depth, nothing, of + "srcImage-01548"},
		{"block extents", astc4, astc6, nothing, of + "srcImage-09247"},
		{"two rows to a line", line, flat, func(r *vk.ImageCopy) { r.Extent.Height = 2 }, of + "dstOffset-00151"},
		{"two slices to a line", line, solid, func(r *vk.ImageCopy) { r.Extent.Depth = 2 }, of + "dstImage-01792"},
		{"lines to a slice", solid, line, func(r *vk.ImageCopy) { r.SrcSubresource.LayerCount = 2 }, of + "srcImage-01791"},
		{"lines to a plane", flat, line, func(r *vk.ImageCopy) { r.SrcSubresource.LayerCount = 2 }, of + "srcImage-08793"},
		{"depth of a line to a plane", flat, line, func(r *vk.ImageCopy) { r.Extent.Depth = 2 }, of + "srcImage-01785"},
		{"no width", flat, flat, func(r *vk.ImageCopy) { r.Extent.Width = 0 }, "VUID-VkImageCopy-extent-06668"},
		{"no height", flat, flat, func(r *vk.ImageCopy) { r.Extent.Height = 0 }, "VUID-VkImageCopy-extent-06669"},
		{"no depth", flat, flat, func(r *vk.ImageCopy) { r.Extent.Depth = 0 }, "VUID-VkImageCopy-extent-06670"},
		{"source aspect", flat, flat, func(r *vk.ImageCopy) { r.SrcSubresource.AspectMask |= 2 }, of + "aspectMask-00142"},
		{"target aspect", flat, flat, func(r *vk.ImageCopy) { r.DstSubresource.AspectMask |= 2 }, of + "aspectMask-00143"},
		{"source level", flat, flat, func(r *vk.ImageCopy) { r.SrcSubresource.MipLevel = 2 }, of + "srcSubresource-07967"},
		{"target level", flat, flat, func(r *vk.ImageCopy) { r.DstSubresource.MipLevel = math.MaxUint32 },
			of + "dstSubresource-07967"},
		{"source layers", flat, flat, func(r *vk.ImageCopy) { r.SrcSubresource.BaseArrayLayer = 3 },
			of + "srcSubresource-07968"},
		{"target layers", flat, flat, func(r *vk.ImageCopy) { r.DstSubresource.BaseArrayLayer = math.MaxUint32 },
			of + "dstSubresource-07968"},
		{"remaining layers", flat, flat, func(r *vk.ImageCopy) { r.DstSubresource.LayerCount = vk.REMAINING_ARRAY_LAYERS },
			of + "srcImage-08793"},
		{"layers of a 3D source", flat, solid, func(r *vk.ImageCopy) { r.SrcSubresource.LayerCount = 2 },
			of + "srcImage-04443"},
		{"layers of a 3D target", solid, flat, func(r *vk.ImageCopy) { r.DstSubresource.BaseArrayLayer = 1 },
			of + "dstImage-04444"},
		{"layer counts", flat, flat, func(r *vk.ImageCopy) { r.SrcSubresource.LayerCount = 2 }, of + "srcImage-08793"},
		{"depth of planes", flat, flat, func(r *vk.ImageCopy) { r.Extent.Depth = 2 }, of + "srcImage-01790"},
		{"depth of lines", line, line, func(r *vk.ImageCopy) { r.Extent.Depth = 2 }, of + "srcImage-01785"},
		{"depth of layers", solid, flat, func(r *vk.ImageCopy) { r.SrcSubresource.LayerCount = 2 }, of + "srcImage-01791"},
		{"depth to layers", flat, solid, func(r *vk.ImageCopy) { r.Extent.Depth = 2 }, of + "dstImage-01792"},
		{"source z of a plane", flat, flat, func(r *vk.ImageCopy) { r.SrcOffset.Z = 1 }, of + "srcImage-01787"},
		{"target z of a plane", flat, flat, func(r *vk.ImageCopy) { r.DstOffset.Z = -1 }, of + "dstImage-01788"},
		{"source y of a line", line, line, func(r *vk.ImageCopy) { r.SrcOffset.Y = 1 }, of + "srcImage-00146"},
		{"target y of a line", line, line, func(r *vk.ImageCopy) { r.DstOffset.Y = 1 }, of + "dstImage-00152"},
		{"source x", flat, flat, func(r *vk.ImageCopy) { r.SrcOffset.X = 13 }, of + "srcOffset-00144"},
		{"source y", flat, flat, func(r *vk.ImageCopy) { r.SrcOffset.Y = -1 }, of + "srcOffset-00145"},
		{"source z", solid, solid, func(r *vk.ImageCopy) { r.SrcOffset.Z = 3 }, of + "srcOffset-00147"},
		{"target x", flat, flat, func(r *vk.ImageCopy) { r.DstOffset.X = 13 }, of + "dstOffset-00150"},
		{"target x wraps around", flat, flat, func(r *vk.ImageCopy) { r.DstOffset.X = -2 }, of + "dstOffset-00150"},
		{"target y", flat, flat, func(r *vk.ImageCopy) { r.DstOffset.Y = math.MaxInt32 }, of + "dstOffset-00151"},
		{"target z", solid, solid, func(r *vk.ImageCopy) { r.DstOffset.Z = 3 }, of + "dstOffset-00153"},
		{"source x in a block", wide, blocks, func(r *vk.ImageCopy) { r.SrcOffset.X = 2 }, of + "pRegions-07278"},
		{"source y in a block", wide, blocks, func(r *vk.ImageCopy) { r.SrcOffset.Y = 2 }, of + "pRegions-07279"},
		{"target x in a block", blocks, wide, func(r *vk.ImageCopy) { r.DstOffset.X = 2 }, of + "pRegions-07281"},
		{"target y in a block", blocks, wide, func(r *vk.ImageCopy) { r.DstOffset.Y = 2 }, of + "pRegions-07282"},
		{"source ends in a block", wide, blocks, func(r *vk.ImageCopy) { r.Extent.Width = 3 }, of + "srcImage-01728"},
		{"source height ends in a block", wide, blocks, func(r *vk.ImageCopy) { r.Extent.Height = 5 }, of + "srcImage-01729"},
		{"too many texels for the blocks", blocks, wide, func(r *vk.ImageCopy) { r.Extent.Width = 6 },
			of + "dstOffset-00150"},
	} {
		src, _ := c.src.image(t, 1)
		dst, m := c.dst.image(t, 2)
		layers := vk.ImageSubresourceLayers{AspectMask: src.Layout.Format.Aspects(), LayerCount: 1}
		legal := vk.ImageCopy{SrcSubresource: layers, DstSubresource: layers,
			Extent: vk.Extent3D{Width: 4, Height: 1, Depth: 1}}
		if src.Layout.Format.Compressed {
			legal.Extent.Height = 4
		}
		wrong := legal
		c.change(&wrong)
		before := m.clone()
		err := CopyImage(dst, src, []vk.ImageCopy{legal, wrong})
		if vk.VUIDOf(err).String() != c.vuid {
			t.Errorf("%s: %v (%s), want %s", c.name, err, vk.VUIDOf(err).String(), c.vuid)
		}
		if !bytes.Equal(m.all, before.all) {
			t.Errorf("%s: an earlier region was copied", c.name)
		}
	}
	both := shape{vk.FORMAT_D32_SFLOAT_S8_UINT, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 1}
	src, _ := both.image(t, 1)
	dst, _ := both.image(t, 2)
	err := CopyImage(dst, src, []vk.ImageCopy{{
		SrcSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT, LayerCount: 1},
		DstSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_STENCIL_BIT, LayerCount: 1},
		Extent:         vk.Extent3D{Width: 1, Height: 1, Depth: 1},
	}})
	if vk.VUIDOf(err).String() != of+"srcImage-01551" {
		t.Errorf("depth to stencil: %v", err)
	}
}

func TestCopyImageWithinItself(t *testing.T) {
	at := func(x, y int32, level, layer uint32) (vk.ImageSubresourceLayers, vk.Offset3D) {
		return vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: level, BaseArrayLayer: layer,
				LayerCount: 1},
			vk.Offset3D{X: x, Y: y}
	}
	s := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{32, 32, 1}, 2, 2}
	for _, c := range []struct {
		name         string
		dx, dy       int32
		level, layer uint32
		legal        bool
	}{
		{"beside", 8, 0, 0, 0, true},
		{"below", 0, 8, 0, 0, true},
		{"other level", 0, 0, 1, 0, true},
		{"other layer", 0, 0, 0, 1, true},
		{"itself", 0, 0, 0, 0, false},
		{"by a column", 7, 0, 0, 0, false},
		{"by a row", 0, 7, 0, 0, false},
		{"by a corner", 7, 7, 0, 0, false},
	} {
		img, m := s.image(t, 7)
		region := vk.ImageCopy{Extent: vk.Extent3D{Width: 8, Height: 8, Depth: 1}}
		region.SrcSubresource, region.SrcOffset = at(0, 0, 0, 0)
		region.DstSubresource, region.DstOffset = at(c.dx, c.dy, c.level, c.layer)
		want := m.clone()
		wantVUID := "VUID-vkCmdCopyImage-pRegions-00124"
		if c.legal {
			referenceImageCopy(img.on(want), img.on(want), &region)
			wantVUID = ""
		}
		if err := CopyImage(img, img, []vk.ImageCopy{region}); vk.VUIDOf(err).String() != wantVUID ||
			!bytes.Equal(m.all, want.all) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
