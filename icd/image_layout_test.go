package icd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"farside/internal/vk"
)

func mustFormat(t *testing.T, f vk.Format) texelFormat {
	t.Helper()
	texels, ok := formatOf(f)
	if !ok {
		t.Fatalf("%v is not supported", f)
	}
	return texels
}

func TestImageLayoutTable(t *testing.T) {
	const (
		color   = vk.IMAGE_ASPECT_COLOR_BIT
		depth   = vk.IMAGE_ASPECT_DEPTH_BIT
		stencil = vk.IMAGE_ASPECT_STENCIL_BIT
	)
	for _, c := range []struct {
		name           string
		format         vk.Format
		extent         [3]uint32
		levels, layers uint32
		total          uint64

		aspect       vk.ImageAspectFlags
		level, layer uint32
		want         subresourceLayout
	}{
		{"one texel", vk.FORMAT_R8_UNORM, [3]uint32{1, 1, 1}, 1, 1, 64, color, 0, 0,
			subresourceLayout{offset: 0, size: 16, rowPitch: 16, depthPitch: 16, rowBytes: 1, rows: 1, slices: 1}},
		{"padded rows", vk.FORMAT_R8G8B8_UNORM, [3]uint32{7, 5, 1}, 1, 1, 192, color, 0, 0,
			subresourceLayout{size: 160, rowPitch: 32, depthPitch: 160, rowBytes: 21, rows: 5, slices: 1}},
		{"mip chain", vk.FORMAT_R8G8B8A8_UNORM, [3]uint32{16, 16, 1}, 5, 1, 1024 + 256 + 64 + 64 + 64, color, 2, 0,
			subresourceLayout{offset: 1280, size: 64, rowPitch: 16, depthPitch: 64, rowBytes: 16, rows: 4, slices: 1}},
		{"layers", vk.FORMAT_R8G8B8A8_UNORM, [3]uint32{16, 16, 1}, 5, 3, 3 * 1472, color, 1, 2,
			subresourceLayout{offset: 2*1472 + 1024, size: 256, rowPitch: 32, depthPitch: 256, rowBytes: 32, rows: 8, slices: 1}},
		{"3D level", vk.FORMAT_R32G32B32A32_SFLOAT, [3]uint32{8, 4, 4}, 2, 1, 2048 + 256, color, 1, 0,
			subresourceLayout{offset: 2048, size: 256, rowPitch: 64, depthPitch: 128, rowBytes: 64, rows: 2, slices: 2}},
		{"blocks", vk.FORMAT_BC1_RGB_UNORM_BLOCK, [3]uint32{9, 5, 1}, 1, 1, 64, color, 0, 0,
			subresourceLayout{size: 64, rowPitch: 32, depthPitch: 64, rowBytes: 24, rows: 2, slices: 1}},
		{"wide blocks", vk.FORMAT_ASTC_12x10_UNORM_BLOCK, [3]uint32{25, 11, 1}, 1, 1, 128, color, 0, 0,
			subresourceLayout{size: 96, rowPitch: 48, depthPitch: 96, rowBytes: 48, rows: 2, slices: 1}},
		{"depth of two planes", vk.FORMAT_D16_UNORM_S8_UINT, [3]uint32{16, 4, 1}, 1, 1, 192, depth, 0, 0,
			subresourceLayout{size: 128, rowPitch: 32, depthPitch: 128, rowBytes: 32, rows: 4, slices: 1}},
		{"stencil of two planes", vk.FORMAT_D16_UNORM_S8_UINT, [3]uint32{16, 4, 1}, 1, 1, 192, stencil, 0, 0,
			subresourceLayout{offset: 128, size: 64, rowPitch: 16, depthPitch: 64, rowBytes: 16, rows: 4, slices: 1}},
		{"largest", vk.FORMAT_R64G64B64A64_SFLOAT, [3]uint32{16384, 16384, 1}, 1, 2048, 1 << 44, color, 0, 2047,
			subresourceLayout{offset: 2047 << 33, size: 1 << 33, rowPitch: 1 << 19, depthPitch: 1 << 33, rowBytes: 1 << 19, rows: 16384, slices: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ok := newImageLayout(mustFormat(t, c.format), c.extent, c.levels, c.layers)
			if !ok || l.size != c.total {
				t.Fatalf("the image has %d bytes (%v), want %d", l.size, ok, c.total)
			}
			got, ok := l.subresource(c.aspect, c.level, c.layer)
			if !ok || got != c.want {
				t.Errorf("subresource is\n%+v (%v), want\n%+v", got, ok, c.want)
			}
		})
	}
}

func TestImageLayoutRefusesWhatIsNotThere(t *testing.T) {
	l, ok := newImageLayout(mustFormat(t, vk.FORMAT_R8_UNORM), [3]uint32{4, 4, 1}, 3, 2)
	if !ok {
		t.Fatal("no layout")
	}
	for _, c := range []struct {
		aspect       vk.ImageAspectFlags
		level, layer uint32
	}{
		{vk.IMAGE_ASPECT_DEPTH_BIT, 0, 0},
		{vk.IMAGE_ASPECT_STENCIL_BIT, 0, 0},
		{0, 0, 0},
		{vk.IMAGE_ASPECT_COLOR_BIT | vk.IMAGE_ASPECT_DEPTH_BIT, 0, 0},
		{vk.IMAGE_ASPECT_COLOR_BIT, 3, 0},
		{vk.IMAGE_ASPECT_COLOR_BIT, math.MaxUint32, 0},
		{vk.IMAGE_ASPECT_COLOR_BIT, 0, 2},
		{vk.IMAGE_ASPECT_COLOR_BIT, 0, math.MaxUint32},
	} {
		if s, ok := l.subresource(c.aspect, c.level, c.layer); ok {
			t.Errorf("subresource(%v, %d, %d) = %+v", c.aspect, c.level, c.layer, s)
		}
	}
}

func TestImageLayoutOverflow(t *testing.T) {
	const most = math.MaxUint32
	if l, ok := newImageLayout(mustFormat(t, vk.FORMAT_R64G64B64A64_SFLOAT), [3]uint32{most, most, most}, 1, most); ok {
		t.Errorf("an image beyond 64 bits has %d bytes", l.size)
	}
	for _, plane := range []vk.SubresourceLayout{
		{Offset: math.MaxUint64, RowPitch: 64},
		{RowPitch: math.MaxUint64},
		{RowPitch: 64, ArrayPitch: math.MaxUint64},
		{RowPitch: 1 << 62, ArrayPitch: 1 << 63},
	} {
		if l, ok := explicitLayout(mustFormat(t, vk.FORMAT_R8G8B8A8_UNORM), [3]uint32{16, 16, 1}, 3, &plane); ok {
			t.Errorf("%+v gives an image of %d bytes", plane, l.size)
		}
	}
}

// supportedFormats are the registry's formats that images can have.
func supportedFormats() []vk.Format {
	var list []vk.Format
	for _, f := range vk.AllFormats {
		if _, ok := formatOf(f); ok {
			list = append(list, f)
		}
	}
	return list
}

// checkLayout holds all subresources of a layout against each other: none overlap, each lies in the image, each
// row has room for its texels.
func checkLayout(t *testing.T, l *imageLayout) {
	t.Helper()
	type span struct{ from, to uint64 }
	var spans []span
	for plane := range l.texels.planeCount {
		for layer := range l.layers {
			for level := range l.levels {
				s, ok := l.subresource(l.texels.planes[plane].aspect, level, layer)
				if !ok {
					t.Fatalf("no plane %d, level %d, layer %d", plane, level, layer)
				}
				if l.rowPitch == 0 && (s.offset%imageAlignment != 0 || s.rowPitch%rowAlignment != 0) {
					t.Fatalf("unaligned: %+v", s)
				}
				if s.rowBytes == 0 || s.rowPitch < s.rowBytes || s.depthPitch != s.rowPitch*s.rows || s.size != s.depthPitch*s.slices {
					t.Fatalf("inconsistent: %+v", s)
				}
				spans = append(spans, span{s.offset, s.offset + s.size})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	end := l.start
	for _, s := range spans {
		if s.from < end || s.to <= s.from {
			t.Fatalf("subresource [%d, %d) overlaps another that ends at %d, in %+v", s.from, s.to, end, *l)
		}
		end = s.to
	}
	if end > l.size {
		t.Fatalf("subresources end at %d of %d bytes, in %+v", end, l.size, *l)
	}
}

func TestImageLayoutSubresourcesNeverOverlap(t *testing.T) {
	formats := supportedFormats()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		extent := [3]uint32{1 + r.Uint32N(300), 1 + r.Uint32N(300), 1}
		layers := 1 + r.Uint32N(4)
		switch r.IntN(3) {
		case 0:
			extent[1] = 1
		case 1:
			extent[2], layers = 1+r.Uint32N(20), 1
		}
		levels := 1 + r.Uint32N(5)
		texels := mustFormat(t, formats[r.IntN(len(formats))])
		l, ok := newImageLayout(texels, extent, levels, layers)
		if !ok {
			t.Fatalf("%v does not fit in 64 bits", extent)
		}
		checkLayout(t, &l)
	}
}

func FuzzExplicitLayout(f *testing.F) {
	f.Add(uint32(16), uint32(16), uint32(2), uint64(0), uint64(64), uint64(1024))
	f.Add(uint32(16), uint32(16), uint32(1), uint64(1)<<63, uint64(1)<<60, uint64(0))
	f.Add(uint32(1), uint32(1), uint32(3), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, width, height, layers uint32, offset, rowPitch, arrayPitch uint64) {
		width, height, layers = 1+width%maxImageDimension2D, 1+height%maxImageDimension2D, 1+layers%64
		plane := vk.SubresourceLayout{Offset: offset, RowPitch: rowPitch, ArrayPitch: arrayPitch}
		if l, ok := explicitLayout(mustFormat(t, vk.FORMAT_R8G8B8A8_UNORM), [3]uint32{width, height, 1}, layers, &plane); ok {
			checkLayout(t, &l)
			if l.start != offset || l.rowPitch != rowPitch {
				t.Errorf("%+v was not honoured: %+v", plane, l)
			}
		}
	})
}
