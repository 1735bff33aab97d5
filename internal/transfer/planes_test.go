package transfer

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// planarFormats are the multi-planar ones.
func planarFormats(t *testing.T) (list []vk.Format) {
	for _, f := range vk.AllFormats {
		if storage, ok := texel.FormatOf(f); ok && storage.MultiPlanar() {
			list = append(list, f)
		}
	}
	if len(list) != 24 {
		t.Fatalf("%d multi-planar formats, want 24", len(list))
	}
	return list
}

// planar is a multi-planar image, disjoint at times, and the memory of its planes: the same, or one each.
type planar struct {
	Image
	memories []memory
}

func newPlanar(t *testing.T, r *rand.Rand, f vk.Format, layers uint32) *planar {
	t.Helper()
	format, _ := texel.FormatOf(f)
	extent := [3]uint32{2 * (1 + r.Uint32N(20)), 2 * (1 + r.Uint32N(12)), 1}
	layout, ok := texel.NewLayout(format, extent, 1, layers, 1)
	p := &planar{}
	var planes [texel.MaxPlanes][]byte
	if r.IntN(2) == 0 {
		layout, ok = texel.NewDisjointLayout(format, extent, layers)
		for i := range format.PlaneCount {
			m := newMemory(r.Uint64N(256), int(layout.Planes[i].Size))
			p.memories, planes[i] = append(p.memories, m), m.bytes
		}
	} else {
		m := newMemory(r.Uint64N(256), int(layout.Size))
		p.memories, planes = []memory{m}, [texel.MaxPlanes][]byte{m.bytes, m.bytes, m.bytes}
	}
	if !ok {
		t.Fatalf("no image of %v", f)
	}
	p.Image = NewImage(&planes, &layout, f, vk.IMAGE_TYPE_2D)
	return p
}

// clone is the image with memory of its own.
func (p *planar) clone() *planar {
	c := &planar{Image: p.Image}
	c.Planes = append([]Image(nil), p.Planes...)
	for i, m := range p.memories {
		c.memories = append(c.memories, m.clone())
		if len(p.memories) > 1 {
			c.Planes[i].Bytes = c.memories[i].bytes
		}
	}
	if len(p.memories) == 1 {
		for i := range c.Planes {
			c.Planes[i].Bytes = c.memories[0].bytes
		}
	}
	c.Bytes = c.Planes[0].Bytes
	return c
}

func (p *planar) equal(other *planar) bool {
	for i, m := range p.memories {
		if !bytes.Equal(m.all, other.memories[i].all) {
			return false
		}
	}
	return true
}

// A plane is copied as an image of its own format: the reference works on that.
func TestCopiesOfPlanes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 11))
	for _, f := range planarFormats(t) {
		for range 12 {
			p := newPlanar(t, r, f, 1+r.Uint32N(3))
			plane := r.IntN(len(p.Planes))
			own := &p.Planes[plane]
			aspect := vk.IMAGE_ASPECT_PLANE_0_BIT << plane
			region, size := randomBufferImageCopy(r, own)
			buffer := newMemory(r.Uint64N(256), size)
			want, wantBuffer := p.clone(), buffer.clone()
			referenceBufferImage(&want.Planes[plane], buffer.bytes, &region, true)
			planeRegion := region
			planeRegion.ImageSubresource.AspectMask = aspect
			if err := CopyBufferToImage(&p.Image, buffer.bytes, []vk.BufferImageCopy{planeRegion}); err != nil ||
				!p.equal(want) {
				t.Fatalf("%v, plane %d, to the image, %+v: %v", f, plane, region, err)
			}
			clear(buffer.bytes)
			clear(wantBuffer.bytes)
			referenceBufferImage(own, wantBuffer.bytes, &region, false)
			if err := CopyImageToBuffer(buffer.bytes, &p.Image, []vk.BufferImageCopy{planeRegion}); err != nil ||
				!bytes.Equal(buffer.all, wantBuffer.all) {
				t.Fatalf("%v, plane %d, to the buffer, %+v: %v", f, plane, region, err)
			}
			planeRegion.BufferOffset, region.BufferOffset = 0, 0
			n, err := ImageToMemorySize(&p.Image, &planeRegion, 0)
			if err != nil {
				t.Fatal(err)
			}
			host, wantHost := make([]byte, n), make([]byte, n)
			referenceBufferImage(own, wantHost, &region, false)
			if err := CopyImageToMemory(host, &p.Image, &planeRegion, 0); err != nil || !bytes.Equal(host, wantHost) {
				t.Fatalf("%v, plane %d, to the host, %+v: %v", f, plane, region, err)
			}
		}
	}
}

// TestCopiesBetweenPlanes copies between planes, and between planes and images of one plane.
func TestCopiesBetweenPlanes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 12))
	targets := partners(allFormats())
	formats := planarFormats(t)
	for _, f := range formats {
		for range 12 {
			p := newPlanar(t, r, f, 1)
			plane := r.IntN(len(p.Planes))
			own := &p.Planes[plane]
			s, region := randomImageCopy(r, own, targets[own.Format][r.IntN(len(targets[own.Format]))])
			s.imageType = vk.IMAGE_TYPE_2D
			s.extent[2], s.layers, s.levels = 1, max(s.layers, region.DstSubresource.BaseArrayLayer+
				region.DstSubresource.LayerCount), max(s.levels, region.DstSubresource.MipLevel+1)
			if region.Extent.Depth != 1 || region.DstOffset.Z != 0 {
				continue
			}
			flat, m := s.image(t, r.Uint64N(256))
			want := m.clone()
			referenceImageCopy(flat.on(want), own, &region)
			planeRegion := region
			planeRegion.SrcSubresource.AspectMask = vk.IMAGE_ASPECT_PLANE_0_BIT << plane
			if err := CopyImage(flat, &p.Image, []vk.ImageCopy{planeRegion}); err != nil || !bytes.Equal(m.all, want.all) {
				t.Fatalf("%v, plane %d to %v, %+v: %v (%s)", f, plane, s, region, err, vk.VUIDOf(err).String())
			}
			// And on to a plane of the same shape of another image.
			other := newPlanar(t, r, f, 1)
			to := &other.Planes[plane]
			all := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_PLANE_0_BIT << plane, LayerCount: 1}
			extent := vk.Extent3D{Width: min(own.Layout.Extent[0], to.Layout.Extent[0]),
				Height: min(own.Layout.Extent[1], to.Layout.Extent[1]), Depth: 1}
			between := vk.ImageCopy{SrcSubresource: all, DstSubresource: all, Extent: extent}
			expected := other.clone()
			plain := between
			plain.SrcSubresource.AspectMask, plain.DstSubresource.AspectMask = vk.IMAGE_ASPECT_COLOR_BIT,
				vk.IMAGE_ASPECT_COLOR_BIT
			referenceImageCopy(&expected.Planes[plane], own, &plain)
			if err := CopyImage(&other.Image, &p.Image, []vk.ImageCopy{between}); err != nil || !other.equal(expected) {
				t.Fatalf("%v, plane %d to plane %d, %+v: %v", f, plane, plane, between, err)
			}
		}
	}
}

func TestPlanesRefuse(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 13))
	nv12 := newPlanar(t, r, vk.FORMAT_G8_B8R8_2PLANE_420_UNORM, 1)
	p010 := newPlanar(t, r, vk.FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, 1)
	flat, _ := shape{vk.FORMAT_R8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{4, 4, 1}, 1, 1}.image(t, 1)
	packed, _ := shape{vk.FORMAT_G8B8G8R8_422_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{4, 4, 1}, 1, 1}.image(t, 1)
	const colour, plane0, plane1, plane2 = vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_PLANE_0_BIT,
		vk.IMAGE_ASPECT_PLANE_1_BIT, vk.IMAGE_ASPECT_PLANE_2_BIT
	one := vk.Extent3D{Width: 1, Height: 1, Depth: 1}
	layers := func(aspect vk.ImageAspectFlags) vk.ImageSubresourceLayers {
		return vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 1}
	}
	buffer := make([]byte, 64)
	toBuffer := func(img *Image, aspect vk.ImageAspectFlags, offset uint64) error {
		return CopyImageToBuffer(buffer, img, []vk.BufferImageCopy{{BufferOffset: offset, ImageSubresource: layers(aspect),
			ImageExtent: one}})
	}
	between := func(dst, src *Image, to, from vk.ImageAspectFlags) error {
		return CopyImage(dst, src, []vk.ImageCopy{{SrcSubresource: layers(from), DstSubresource: layers(to), Extent: one}})
	}
	all := []vk.ImageSubresourceRange{{AspectMask: colour, LevelCount: 1, LayerCount: 1}}
	blit := []vk.ImageBlit{{SrcSubresource: layers(colour), DstSubresource: layers(colour)}}
	for want, err := range map[string]error{
		"VUID-vkCmdCopyImageToBuffer-srcImage-07981":     toBuffer(&nv12.Image, colour, 0),
		"VUID-vkCmdCopyImageToBuffer-srcImage-07981 (2)": toBuffer(&nv12.Image, plane2, 0),
		"VUID-vkCmdCopyImageToBuffer-srcImage-07981 (3)": toBuffer(&nv12.Image, plane0|plane1, 0),
		"VUID-vkCmdCopyImageToBuffer-srcImage-07976":     toBuffer(&nv12.Image, plane1, 1),
		"VUID-vkCmdCopyImage-srcImage-08713":             between(flat, &nv12.Image, colour, colour),
		"VUID-vkCmdCopyImage-dstImage-08714":             between(&nv12.Image, flat, colour, colour),
		"VUID-vkCmdCopyImage-srcImage-01556":             between(flat, &nv12.Image, plane0, plane0),
		"VUID-vkCmdCopyImage-dstImage-01557":             between(&nv12.Image, flat, plane0, plane0),
		"VUID-vkCmdCopyImage-None-01549":                 between(flat, &nv12.Image, colour, plane1),
		"VUID-vkCmdCopyImage-None-01549 (2)":             between(&nv12.Image, &p010.Image, plane0, plane0),
		"VUID-vkCmdClearColorImage-image-01545":          ClearColor(&nv12.Image, floatColor(1, 1, 1, 1), all),
		"VUID-vkCmdClearColorImage-image-01545 (2)":      ClearColor(packed, floatColor(1, 1, 1, 1), all),
		"VUID-vkCmdBlitImage-srcImage-06421":             Blit(flat, &nv12.Image, blit, vk.FILTER_NEAREST),
		"VUID-vkCmdBlitImage-dstImage-06422":             Blit(&nv12.Image, flat, blit, vk.FILTER_NEAREST),
	} {
		want, _, _ = strings.Cut(want, " ")
		if err == nil || vk.VUIDOf(err).String() != want {
			t.Errorf("%v (%s), want %s", err, vk.VUIDOf(err).String(), want)
		}
	}
}
