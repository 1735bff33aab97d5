package transfer

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

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

// change overwrites words of a region as changes says, three bytes at a time: which word, how, and with what.
func change[Region vk.BufferImageCopy | vk.ImageCopy | vk.ImageResolve](region *Region, changes []byte) {
	words := unsafe.Slice((*uint32)(unsafe.Pointer(region)), unsafe.Sizeof(*region)/4)
	for ; len(changes) >= 3; changes = changes[3:] {
		word, value := &words[int(changes[0])%len(words)], uint32(changes[2])
		switch changes[1] % 6 {
		case 0:
			*word = value
		case 1:
			*word += value
		case 2:
			*word -= value
		case 3:
			*word ^= 1 << (value % 32)
		case 4:
			*word = math.MaxUint32 >> (value % 32)
		case 5:
			*word *= value
		}
	}
}

// FuzzRegions changes legal regions in any way and gives them to all copies. What is refused changes nothing, what
// is done is what the reference does, and in no case is a byte outside of the slices touched.
func FuzzRegions(f *testing.F) {
	formats := allFormats()
	targets := partners(formats)
	for what := range byte(6) {
		for format := range uint16(8) {
			f.Add(what, uint64(format), 25*format, []byte{})
			f.Add(what, uint64(format), 25*format, []byte{byte(format), 1, 1})
			f.Add(what, uint64(format), 25*format, []byte{byte(format) + 6, 4, 0, 2, 3, 31})
		}
	}
	f.Fuzz(func(t *testing.T, what byte, seed uint64, format uint16, changes []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := randomShape(r, formats[int(format)%len(formats)], imageTypes[r.IntN(3)])
		img, m := s.image(t, 1)
		if what%6 == 5 {
			d, region := randomImageCopy(r, img, targets[s.format][r.IntN(len(targets[s.format]))])
			change(&region, changes)
			fuzzImageCopy(t, img, m, d, region)
			return
		}
		region, size := randomBufferImageCopy(r, img)
		flags := vk.HostImageCopyFlags(what % 6 / 4) // 4: as it is stored
		if what%6 >= 2 {
			region.BufferOffset = 0
		}
		change(&region, changes)
		fuzzLinearCopy(t, what%6, img, m, newMemory(2, size), &region, flags)
	})
}

func fuzzLinearCopy(t *testing.T, what byte, img *Image, m, linear memory, region *vk.BufferImageCopy,
	flags vk.HostImageCopyFlags) {
	var err error
	toImage := what%2 == 0
	wantImage, wantLinear := m.clone(), linear.clone()
	switch what {
	case 0:
		err = CopyBufferToImage(img, linear.bytes, []vk.BufferImageCopy{*region})
	case 1:
		err = CopyImageToBuffer(linear.bytes, img, []vk.BufferImageCopy{*region})
	case 3:
		err = CopyImageToMemory(linear.bytes, img, region, flags)
	default:
		err = CopyMemoryToImage(img, linear.bytes, region, flags)
	}
	switch {
	case err != nil && vk.VUIDOf(err).String() == "":
		t.Errorf("%v: no VUID", err)
	case err == nil && flags != 0: // TestHostMemcpy has the reference
		copy(wantImage.bytes, m.bytes)
	case err == nil && toImage:
		referenceBufferImage(img.on(wantImage), linear.bytes, region, true)
	case err == nil:
		referenceBufferImage(img, wantLinear.bytes, region, false)
	}
	if !bytes.Equal(m.all, wantImage.all) || !bytes.Equal(linear.all, wantLinear.all) {
		t.Errorf("%v %v: %+v (%v) is not what the reference does", img.Format, *img.Layout, *region, err)
	}
}

func fuzzImageCopy(t *testing.T, src *Image, srcMemory memory, to shape, region vk.ImageCopy) {
	dst, dstMemory := to.image(t, 2)
	wantSrc, want := srcMemory.clone(), dstMemory.clone()
	err := CopyImage(dst, src, []vk.ImageCopy{region})
	if err == nil {
		referenceImageCopy(dst.on(want), src, &region)
	} else if vk.VUIDOf(err).String() == "" {
		t.Errorf("%v: no VUID", err)
	}
	if !bytes.Equal(dstMemory.all, want.all) || !bytes.Equal(srcMemory.all, wantSrc.all) {
		t.Errorf("%v %v to %v: %+v (%v) is not what the reference does", src.Format, *src.Layout, to, region, err)
	}
	// And within one image. As what both reads and writes a texel is refused, the order makes no difference.
	if err := CopyImage(src, src, []vk.ImageCopy{region}); err == nil {
		referenceImageCopy(src.on(wantSrc), src.on(wantSrc), &region)
	}
	if !bytes.Equal(srcMemory.all, wantSrc.all) {
		t.Errorf("%v %v to itself: %+v is not what the reference does", src.Format, *src.Layout, region)
	}
}

// A layout that the application made has gaps and begins anywhere.
func FuzzModifierLayoutCopy(f *testing.F) {
	f.Add(uint16(0), uint16(64), uint16(1024), uint8(16), uint8(16), uint8(2))
	f.Add(uint16(100), uint16(67), uint16(1100), uint8(16), uint8(15), uint8(3))
	f.Fuzz(func(t *testing.T, offset, rowPitch, arrayPitch uint16, width, height, layers uint8) {
		format, _ := texel.FormatOf(vk.FORMAT_R8G8B8A8_UNORM)
		extent := [3]uint32{1 + uint32(width%32), 1 + uint32(height%32), 1}
		n := 1 + uint32(layers%3)
		layout, ok := texel.ModifierLayout(format, extent, n,
			[]vk.SubresourceLayout{{Offset: uint64(offset), RowPitch: uint64(rowPitch), ArrayPitch: uint64(arrayPitch)}},
			false)
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
		if err := CopyBufferToImage(img, buffer.bytes, []vk.BufferImageCopy{region}); err != nil ||
			!bytes.Equal(m.all, want.all) {
			t.Errorf("%+v: %v", layout, err)
		}
	})
}
