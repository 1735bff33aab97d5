package transfer

import (
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

func areaImage(t testing.TB, format vk.Format, of vk.ImageType, extent [3]uint32,
	levels, layers, samples uint32) *Image {
	t.Helper()
	f, ok := texel.FormatOf(format)
	l, fits := texel.NewLayout(f, extent, levels, layers, samples)
	if !ok || !fits {
		t.Fatalf("no image of format %v", format)
	}
	return &Image{Bytes: make([]byte, l.Size), Layout: &l, Format: format, Type: of}
}

func rect(x, y int32, width, height uint32) vk.Rect2D {
	return vk.Rect2D{Offset: vk.Offset2D{X: x, Y: y}, Extent: vk.Extent2D{Width: width, Height: height}}
}

// TestClearArea: exactly the texels of the area change, in every format.
func TestClearArea(t *testing.T) {
	for _, format := range vk.AllFormats {
		f, ok := texel.FormatOf(format)
		if !ok || f.Compressed || f.Chroma {
			continue
		}
		for _, plane := range f.Planes[:f.PlaneCount] {
			for _, samples := range []uint32{1, 4, 8} {
				img := areaImage(t, format, vk.IMAGE_TYPE_2D, [3]uint32{13, 9, 1}, 1, 3, samples)
				for i := range img.Bytes {
					img.Bytes[i] = 0xa5
				}
				a := Area{Image: img, Format: format, Aspect: plane.Aspect, Layer: 1, Rect: rect(2, 3, 5, 4)}
				var value vk.ClearValue
				if plane.Aspect == vk.IMAGE_ASPECT_COLOR_BIT {
					*value.Color().Float32() = [4]float32{1, 0, 1, 1}
				} else {
					*value.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1, Stencil: 0x77}
				}
				if err := a.Clear(&value); err != nil {
					t.Fatal(err)
				}
				codec, _ := texel.CodecOf(format, plane.Aspect)
				s, _ := img.Layout.Subresource(plane.Aspect, 0, 1)
				size := codec.Size() * int(samples)
				inside := make([]bool, len(img.Bytes))
				first := img.Bytes[int(s.Offset)+3*int(s.RowPitch)+2*size:][:codec.Size()]
				for y := 3; y < 7; y++ {
					at := int(s.Offset) + y*int(s.RowPitch) + 2*size
					for i := range 5 * size {
						inside[at+i] = true
						if img.Bytes[at+i] != first[i%len(first)] {
							t.Fatalf("%v %v: byte %d of row %d is %#x", format, plane.Aspect, i, y, img.Bytes[at+i])
						}
					}
				}
				for i, in := range inside {
					if !in && img.Bytes[i] != 0xa5 {
						t.Fatalf("%v %v: byte %d outside of the area changed", format, plane.Aspect, i)
					}
				}
			}
		}
	}
}

// TestAreaLimits: an area that is not within the image changes nothing.
func TestAreaLimits(t *testing.T) {
	img := areaImage(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 8, 1}, 2, 2, 1)
	volume := areaImage(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_3D, [3]uint32{16, 8, 6}, 2, 1, 1)
	good := Area{Image: img, Format: img.Format, Aspect: vk.IMAGE_ASPECT_COLOR_BIT, Rect: rect(0, 0, 16, 8)}
	for name, change := range map[string]func(a *Area){
		"wide":     func(a *Area) { a.Rect.Extent.Width++ },
		"high":     func(a *Area) { a.Rect.Extent.Height = math.MaxUint32 },
		"negative": func(a *Area) { a.Rect.Offset.X = -1 },
		"far":      func(a *Area) { a.Rect.Offset = vk.Offset2D{X: math.MaxInt32, Y: math.MaxInt32} },
		"level":    func(a *Area) { a.Level = 2 },
		"smaller":  func(a *Area) { a.Level = 1 },
		"layer":    func(a *Area) { a.Layer = 2 },
		"aspect":   func(a *Area) { a.Aspect = vk.IMAGE_ASPECT_DEPTH_BIT },
		"format":   func(a *Area) { a.Format = vk.FORMAT_R16G16B16A16_SFLOAT },
		"slice":    func(a *Area) { a.Image, a.Layer, a.Level, a.Rect = volume, 3, 1, rect(0, 0, 1, 1) },
		"bytes":    func(a *Area) { short := *img; short.Bytes = short.Bytes[1:]; a.Image = &short },
	} {
		a := good
		change(&a)
		if err := a.Clear(&vk.ClearValue{}); err == nil {
			t.Errorf("%s: cleared", name)
		}
		if err := a.Resolve(&good, vk.RESOLVE_MODE_AVERAGE_BIT); err == nil {
			t.Errorf("%s: resolved", name)
		}
	}
	good.Image, good.Layer, good.Level, good.Rect = volume, 2, 1, rect(0, 0, 8, 4)
	var value vk.ClearValue
	value.Color().Float32()[0] = 1
	if err := good.Clear(&value); err != nil {
		t.Fatal(err)
	}
	if s, _ := volume.Layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, 1, 0); volume.Bytes[s.Offset+2*s.DepthPitch] != 255 ||
		volume.Bytes[s.Offset+2*s.DepthPitch-4] != 0 {
		t.Error("another slice is cleared")
	}
	depth := areaImage(t, vk.FORMAT_D32_SFLOAT, vk.IMAGE_TYPE_2D, [3]uint32{4, 4, 1}, 1, 1, 1)
	a := Area{Image: depth, Format: depth.Format, Aspect: vk.IMAGE_ASPECT_DEPTH_BIT, Rect: rect(0, 0, 4, 4)}
	for _, d := range []float32{-0.5, 1.5, float32(math.NaN())} {
		value.DepthStencil().Depth = d
		if err := a.Clear(&value); vk.VUIDOf(err) != vk.VUID_VkClearDepthStencilValue_depth_00022 {
			t.Errorf("depth %v: %v", d, err)
		}
	}
	blocks := areaImage(t, vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.IMAGE_TYPE_2D, [3]uint32{10, 6, 1}, 1, 1, 1)
	a = Area{Image: blocks, Format: vk.FORMAT_R32G32_UINT, Aspect: vk.IMAGE_ASPECT_COLOR_BIT, Rect: rect(2, 1, 1, 1)}
	if err := a.Clear(&value); err != nil || AreaExtent(blocks, a.Format, 0) != (vk.Extent2D{Width: 3, Height: 2}) {
		t.Errorf("blocks as texels: %v", err)
	}
}

// TestResolveArea compares each mode with its definition, on random samples.
func TestResolveArea(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R16G16_SFLOAT,
		vk.FORMAT_R8_UNORM, vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R16G16B16_SNORM,
		vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_R64_SFLOAT,
		vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R8_SINT, vk.FORMAT_D16_UNORM, vk.FORMAT_D32_SFLOAT_S8_UINT} {
		f, _ := texel.FormatOf(format)
		for _, plane := range f.Planes[:f.PlaneCount] {
			for _, samples := range []uint32{4, 8} {
				for _, mode := range []vk.ResolveModeFlagBits{vk.RESOLVE_MODE_SAMPLE_ZERO_BIT, vk.RESOLVE_MODE_AVERAGE_BIT,
					vk.RESOLVE_MODE_MIN_BIT, vk.RESOLVE_MODE_MAX_BIT} {
					resolveCase(t, r, format, plane.Aspect, samples, mode)
				}
			}
		}
	}
}

func resolveCase(t *testing.T, r *rand.Rand, format vk.Format, aspect vk.ImageAspectFlags, samples uint32,
	mode vk.ResolveModeFlagBits) {
	src := areaImage(t, format, vk.IMAGE_TYPE_2D, [3]uint32{41, 7, 1}, 1, 2, samples)
	dst := areaImage(t, format, vk.IMAGE_TYPE_2D, [3]uint32{41, 7, 1}, 1, 1, 1)
	for i := range src.Bytes {
		src.Bytes[i] = byte(r.Uint32()) & 0x3f // no NaN
	}
	from := Area{Image: src, Format: format, Aspect: aspect, Layer: 1, Rect: rect(1, 2, 39, 4)}
	to := Area{Image: dst, Format: format, Aspect: aspect, Rect: rect(2, 3, 39, 4)}
	if err := to.Resolve(&from, mode); err != nil {
		t.Fatal(err)
	}
	codec, _ := texel.CodecOf(format, aspect)
	s, _ := src.Layout.Subresource(aspect, 0, 1)
	d, _ := dst.Layout.Subresource(aspect, 0, 0)
	size := codec.Size()
	written := make([]byte, len(dst.Bytes))
	for y := range 4 {
		for x := range 39 {
			in := src.Bytes[int(s.Offset)+(2+y)*int(s.RowPitch)+(1+x)*size*int(samples):][:size*int(samples)]
			want := make([]byte, size)
			numbers := make([][4]float64, samples)
			switch codec.Class() {
			case texel.Float:
				codec.DecodeFloat(numbers, in)
			case texel.Uint:
				u := make([][4]uint64, samples)
				codec.DecodeUint(u, in)
				for i := range u {
					for c := range u[i] {
						numbers[i][c] = float64(u[i][c])
					}
				}
			case texel.Sint:
				u := make([][4]int64, samples)
				codec.DecodeSint(u, in)
				for i := range u {
					for c := range u[i] {
						numbers[i][c] = float64(u[i][c])
					}
				}
			}
			out := numbers[0]
			for _, n := range numbers[1:] {
				for c := range out {
					switch {
					case mode == vk.RESOLVE_MODE_MIN_BIT:
						out[c] = min(out[c], n[c])
					case mode == vk.RESOLVE_MODE_MAX_BIT:
						out[c] = max(out[c], n[c])
					}
				}
			}
			switch codec.Class() {
			case texel.Float:
				if mode == vk.RESOLVE_MODE_AVERAGE_BIT {
					out = wantAverage(codec, numbers)
				}
				codec.EncodeFloat(want, [][4]float64{out})
			case texel.Uint:
				codec.EncodeUint(want, [][4]uint64{{uint64(out[0]), uint64(out[1]), uint64(out[2]), uint64(out[3])}})
			case texel.Sint:
				codec.EncodeSint(want, [][4]int64{{int64(out[0]), int64(out[1]), int64(out[2]), int64(out[3])}})
			}
			at := int(d.Offset) + (3+y)*int(d.RowPitch) + (2+x)*size
			if got := dst.Bytes[at:][:size]; string(got) != string(want) {
				t.Fatalf("%v %v of %d samples by %v: %x at %d, %d, want %x", format, aspect, samples, mode, got, x, y, want)
			}
			copy(written[at:], want)
		}
	}
	if string(written) != string(dst.Bytes) {
		t.Fatalf("%v %v by %v: texels outside of the area changed", format, aspect, mode)
	}
}
