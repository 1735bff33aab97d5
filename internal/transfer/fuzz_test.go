package transfer

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// fields deals out the bytes that the fuzzer made; zeros when they are spent.
type fields struct{ data []byte }

func (f *fields) byte() byte {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return b
}

// below is a number in [0, n).
func (f *fields) below(n int) int { return int(f.byte()) % n }

// any is mostly a small number, at times one of the edges or any at all.
func (f *fields) any() uint32 {
	switch b := f.byte(); {
	case b < 200:
		return uint32(b) % 40
	case b < 210:
		return uint32(-int32(b - 199))
	case b < 220:
		return math.MaxUint32 >> (b % 3)
	case b < 230:
		return 1 << (b % 32)
	default:
		return binary.LittleEndian.Uint32([]byte{f.byte(), f.byte(), f.byte(), f.byte()})
	}
}

func (f *fields) offset() vk.Offset3D {
	return vk.Offset3D{X: int32(f.any()), Y: int32(f.any()), Z: int32(f.any())}
}

func (f *fields) extent() vk.Extent3D {
	return vk.Extent3D{Width: f.any(), Height: f.any(), Depth: f.any()}
}

func (f *fields) layers() vk.ImageSubresourceLayers {
	return vk.ImageSubresourceLayers{
		AspectMask: vk.ImageAspectFlags(f.byte()), MipLevel: f.any(), BaseArrayLayer: f.any(), LayerCount: f.any(),
	}
}

func (f *fields) shape(formats []vk.Format) shape {
	s := shape{formats[f.below(len(formats))], imageTypes[f.below(3)], [3]uint32{1 + uint32(f.below(40)), 1, 1}, 1, 1}
	if s.imageType != vk.IMAGE_TYPE_1D {
		s.extent[1] = 1 + uint32(f.below(40))
	}
	if s.imageType == vk.IMAGE_TYPE_3D {
		s.extent[2] = 1 + uint32(f.below(6))
	} else {
		s.layers = 1 + uint32(f.below(4))
	}
	s.levels = 1 + uint32(f.below(4))
	return s
}

// FuzzRegions gives any regions to all copies. What is refused changes nothing, what is done is what the
// reference does, and in no case is a byte outside of the slices touched.
func FuzzRegions(f *testing.F) {
	formats := allFormats()
	f.Add(byte(0), uint64(0), []byte{})
	f.Add(byte(0), uint64(8), []byte{5, 1, 20, 20, 2, 1, 1, 0, 0, 1, 0, 0, 0, 8, 8, 1})
	f.Add(byte(1), uint64(0), []byte{9, 2, 20, 20, 3, 1, 1, 0, 0, 1, 201, 0, 0, 8, 8, 1})
	f.Add(byte(2), uint64(0), []byte{5, 1, 20, 20, 2, 1, 5, 2, 20, 20, 3, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 8, 8, 1})
	f.Add(byte(3), uint64(math.MaxUint64), []byte{5, 1, 20, 20, 2, 1, 1, 0, 0, 1, 0, 0, 0, 8, 8, 1, 212, 213})
	f.Add(byte(4), uint64(0), []byte{5, 1, 20, 20, 2, 1, 1, 0, 0, 1, 0, 0, 0, 20, 20, 1})
	f.Fuzz(func(t *testing.T, what byte, offset uint64, data []byte) {
		in := &fields{data}
		if what%6 == 2 {
			fuzzImageCopy(t, in, formats)
			return
		}
		s := in.shape(formats)
		img, m := s.image(t, 1)
		region := vk.BufferImageCopy{BufferOffset: offset, ImageSubresource: in.layers(), ImageOffset: in.offset(), ImageExtent: in.extent()}
		region.BufferRowLength, region.BufferImageHeight = in.any(), in.any()
		flags := vk.HostImageCopyFlags(in.byte() % 2)
		regions := []vk.BufferImageCopy{region}
		buffer := newMemory(2, 1<<14)
		wantImage, wantBuffer := m.clone(), buffer.clone()
		toImage := what%2 == 0
		var err error
		switch what % 6 {
		case 0:
			err = CopyBufferToImage(img, buffer.bytes, regions)
		case 1:
			err = CopyImageToBuffer(buffer.bytes, img, regions)
		case 3:
			err = CopyImageToMemory(buffer.bytes, img, &region, flags)
		default:
			toImage = true
			err = CopyMemoryToImage(img, buffer.bytes, &region, flags)
		}
		if err == nil && (what%6 < 2 || flags == 0) {
			if toImage {
				referenceBufferImage(img.on(wantImage), buffer.bytes, &region, true)
			} else {
				referenceBufferImage(img, wantBuffer.bytes, &region, false)
			}
		} else if err == nil {
			return // TestHostMemcpy has the reference
		} else if vk.VUIDOf(err) == "" {
			t.Errorf("%v: no VUID", err)
		}
		if !bytes.Equal(m.all, wantImage.all) || !bytes.Equal(buffer.all, wantBuffer.all) {
			t.Errorf("%v: %+v (%v) is not what the reference does", s, region, err)
		}
	})
}

func fuzzImageCopy(t *testing.T, in *fields, formats []vk.Format) {
	from, to := in.shape(formats), in.shape(formats)
	if in.below(2) == 0 {
		to.format = from.format
	}
	src, srcMemory := from.image(t, 1)
	dst, dstMemory := to.image(t, 2)
	region := vk.ImageCopy{
		SrcSubresource: in.layers(), DstSubresource: in.layers(), SrcOffset: in.offset(), DstOffset: in.offset(), Extent: in.extent(),
	}
	if in.below(2) == 0 {
		region.DstSubresource.AspectMask = region.SrcSubresource.AspectMask
	}
	wantSrc, want := srcMemory.clone(), dstMemory.clone()
	err := CopyImage(dst, src, []vk.ImageCopy{region})
	if err == nil {
		referenceImageCopy(dst.on(want), src, &region)
	} else if vk.VUIDOf(err) == "" {
		t.Errorf("%v: no VUID", err)
	}
	if !bytes.Equal(dstMemory.all, want.all) || !bytes.Equal(srcMemory.all, wantSrc.all) {
		t.Errorf("%v to %v: %+v (%v) is not what the reference does", from, to, region, err)
	}
	if from.format == to.format { // and within one image, whose texels may be both sides
		if err := CopyImage(src, src, []vk.ImageCopy{region}); err != nil && !bytes.Equal(srcMemory.all, wantSrc.all) {
			t.Errorf("%v: %+v is refused (%v), but done", from, region, err)
		}
		if !bytes.Equal(srcMemory.all[:guard], wantSrc.all[:guard]) ||
			!bytes.Equal(srcMemory.all[len(srcMemory.all)-guard:], wantSrc.all[len(wantSrc.all)-guard:]) {
			t.Errorf("%v: %+v changes what is not the image's", from, region)
		}
	}
}

// A layout that the application made has gaps and begins anywhere.
func FuzzExplicitLayoutCopy(f *testing.F) {
	f.Add(uint16(0), uint16(64), uint16(1024), uint8(16), uint8(16), uint8(2))
	f.Add(uint16(100), uint16(67), uint16(1100), uint8(16), uint8(15), uint8(3))
	f.Fuzz(func(t *testing.T, offset, rowPitch, arrayPitch uint16, width, height, layers uint8) {
		format, _ := texel.FormatOf(vk.FORMAT_R8G8B8A8_UNORM)
		extent := [3]uint32{1 + uint32(width%32), 1 + uint32(height%32), 1}
		n := 1 + uint32(layers%3)
		layout, ok := texel.ExplicitLayout(format, extent, n,
			&vk.SubresourceLayout{Offset: uint64(offset), RowPitch: uint64(rowPitch), ArrayPitch: uint64(arrayPitch)})
		if !ok || layout.Size > 1<<20 {
			return
		}
		m := newMemory(1, int(layout.Size))
		img := &Image{Bytes: m.bytes, Layout: &layout, Format: vk.FORMAT_R8G8B8A8_UNORM, Type: vk.IMAGE_TYPE_2D}
		region := vk.BufferImageCopy{
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: n},
			ImageExtent:      vk.Extent3D{Width: extent[0], Height: extent[1], Depth: 1},
		}
		buffer := newMemory(2, int(extent[0]*extent[1]*n*4))
		want := m.clone()
		referenceBufferImage(img.on(want), buffer.bytes, &region, true)
		if err := CopyBufferToImage(img, buffer.bytes, []vk.BufferImageCopy{region}); err != nil || !bytes.Equal(m.all, want.all) {
			t.Errorf("%+v: %v", layout, err)
		}
	})
}
