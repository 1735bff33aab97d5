package transfer

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// fillNumbers gives an image texels that are ordinary numbers in and around 0..1, or any bits if it has integers.
func fillNumbers(m *Image, random *rand.Rand) {
	codec, ok := texel.CodecOf(m.Format, vk.IMAGE_ASPECT_COLOR_BIT)
	for i := range m.Bytes {
		m.Bytes[i] = byte(random.Uint32())
	}
	if !ok || codec.Class() != texel.Float {
		return
	}
	for layer := range m.Layout.Layers {
		for level := range m.Layout.Levels {
			m.texels(vk.IMAGE_ASPECT_COLOR_BIT, level, layer, func(_, _, _ int, b []byte) {
				var v [1][4]float64
				for c := range v[0] {
					v[0][c] = random.Float64()*1.4 - 0.2
				}
				codec.EncodeFloat(b, v[:])
			})
		}
	}
}

// fraction is a place in the source as the chapter computes it, without rounding.
type fraction struct{ numerator, denominator int }

func sourcePlace(i, dst0, dst1, src0, src1 int32) fraction {
	n := int(2*(i-dst0)+1)*int(src1-src0) + 2*int(src0)*int(dst1-dst0)
	d := 2 * int(dst1-dst0)
	if d < 0 {
		n, d = -n, -d
	}
	return fraction{n, d}
}

func (f fraction) floor() int {
	n := f.numerator
	if n < 0 {
		n -= f.denominator - 1
	}
	return n / f.denominator
}

func (f fraction) value() float64 { return float64(f.numerator) / float64(f.denominator) }

// reference checks what a blit has written against the chapter's formulas, texel by texel, one at a time.
// before is what the destination's memory was.
func reference(t *testing.T, dst *guarded, before []byte, src *Image, r *vk.ImageBlit, filter vk.Filter) {
	t.Helper()
	expected := &guarded{Image{Bytes: bytes.Clone(before)[guard : guard+len(dst.Bytes)], Layout: dst.Layout,
		Format: dst.Format, Type: dst.Type}, nil}
	to, from, d, s := &r.DstSubresource, &r.SrcSubresource, &r.DstOffsets, &r.SrcOffsets
	for _, p := range src.Layout.Format.Planes[:src.Layout.Format.PlaneCount] {
		if from.AspectMask&p.Aspect == 0 {
			continue
		}
		dstCodec, _ := texel.CodecOf(dst.Format, p.Aspect)
		srcCodec, _ := texel.CodecOf(src.Format, p.Aspect)
		size := [3]int{int(levelSize(src, from.MipLevel, 0)), int(levelSize(src, from.MipLevel, 1)),
			int(levelSize(src, from.MipLevel, 2))}
		for layer := range layersLeft(&dst.Image, to) {
			read := func(x, y, z int) []byte {
				clamp := func(v, axis int) int { return min(max(v, 0), size[axis]-1) }
				return src.block(p.Aspect, from.MipLevel, from.BaseArrayLayer+layer, clamp(x, 0), clamp(y, 1), clamp(z, 2))
			}
			for z := min(d[0].Z, d[1].Z); z < max(d[0].Z, d[1].Z); z++ {
				for y := min(d[0].Y, d[1].Y); y < max(d[0].Y, d[1].Y); y++ {
					for x := min(d[0].X, d[1].X); x < max(d[0].X, d[1].X); x++ {
						u := sourcePlace(x, d[0].X, d[1].X, s[0].X, s[1].X)
						v := sourcePlace(y, d[0].Y, d[1].Y, s[0].Y, s[1].Y)
						w := sourcePlace(z, d[0].Z, d[1].Z, s[0].Z, s[1].Z)
						place := expected.block(p.Aspect, to.MipLevel, to.BaseArrayLayer+layer, int(x), int(y), int(z))
						got := dst.block(p.Aspect, to.MipLevel, to.BaseArrayLayer+layer, int(x), int(y), int(z))
						if filter == vk.FILTER_NEAREST {
							texel := read(u.floor(), v.floor(), w.floor())
							if dst.Format == src.Format {
								copy(place, texel)
							} else {
								convert(dstCodec, place, srcCodec, texel)
							}
							if !bytes.Equal(place, got) {
								t.Fatalf("texel %d,%d,%d of layer %d is % x, want % x", x, y, z, layer, got, place)
							}
							continue
						}
						checkFiltered(t, fmt.Sprintf("texel %d,%d,%d of layer %d", x, y, z, layer), dst.Format, dstCodec, got,
							func(x, y, z int) (v [4]float64) {
								var one [1][4]float64
								srcCodec.DecodeFloat(one[:], read(x, y, z))
								return one[0]
							}, u.value(), v.value(), w.value())
						copy(place, got)
					}
				}
			}
		}
	}
	copy(before[guard:], expected.Bytes)
	if !bytes.Equal(before, dst.all) {
		t.Fatal("bytes beside the region changed")
	}
}

// checkFiltered computes the mean of eight texels with exact weights. Those of Blit may be 1/512 off along each axis.
func checkFiltered(t *testing.T, what string, f vk.Format, codec *texel.Codec, got []byte,
	read func(x, y, z int) [4]float64, u, v, w float64) {
	t.Helper()
	var mean, low, high [4]float64
	for c := range 4 {
		low[c], high[c] = math.Inf(1), math.Inf(-1)
	}
	x, y, z := math.Floor(u-0.5), math.Floor(v-0.5), math.Floor(w-0.5)
	for corner := range 8 {
		weight := 1.0
		at := [3]float64{x, y, z}
		for axis, alpha := range [3]float64{u - 0.5 - x, v - 0.5 - y, w - 0.5 - z} {
			if corner>>axis&1 != 0 {
				weight *= alpha
				at[axis]++
			} else {
				weight *= 1 - alpha
			}
		}
		for c, number := range read(int(at[0]), int(at[1]), int(at[2])) {
			mean[c] += weight * number
			low[c], high[c] = min(low[c], number), max(high[c], number)
		}
	}
	var a, b, g [1][4]float64
	largest := max(mean[0], mean[1], mean[2])
	for c := range 4 {
		off := (high[c]-low[c])*3/512 + 1e-12
		if f == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 { // the exponent is that of the largest channel
			off += math.Abs(largest) / 200
		}
		a[0][c], b[0][c] = mean[c]-off, mean[c]+off
	}
	bytesOf := make([]byte, codec.Size())
	codec.EncodeFloat(bytesOf, a[:])
	codec.DecodeFloat(a[:], bytesOf)
	codec.EncodeFloat(bytesOf, b[:])
	codec.DecodeFloat(b[:], bytesOf)
	codec.DecodeFloat(g[:], got)
	for c := range 4 {
		if !(g[0][c] >= a[0][c]-1e-12 && g[0][c] <= b[0][c]+1e-12) {
			t.Fatalf("%s: channel %d is %v, want %v to %v", what, c, g[0][c], a[0][c], b[0][c])
		}
	}
}

// between returns two numbers of 0..n in any order.
func between(random *rand.Rand, n int32) (a, b int32) {
	return random.Int32N(n + 1), random.Int32N(n + 1)
}

// randomSide makes one side of a region, that lies in the image.
func randomSide(random *rand.Rand, m *Image, aspect vk.ImageAspectFlags, layers uint32) (vk.ImageSubresourceLayers,
	[2]vk.Offset3D) {
	s := vk.ImageSubresourceLayers{
		AspectMask: aspect, MipLevel: random.Uint32N(m.Layout.Levels),
		BaseArrayLayer: random.Uint32N(m.Layout.Layers - layers + 1), LayerCount: layers,
	}
	o := [2]vk.Offset3D{1: {Y: 1, Z: 1}}
	o[0].X, o[1].X = between(random, int32(levelSize(m, s.MipLevel, 0)))
	if m.Type != vk.IMAGE_TYPE_1D {
		o[0].Y, o[1].Y = between(random, int32(levelSize(m, s.MipLevel, 1)))
	}
	if m.Type == vk.IMAGE_TYPE_3D {
		o[0].Z, o[1].Z = between(random, int32(levelSize(m, s.MipLevel, 2)))
	}
	if random.IntN(4) == 0 { // all of it
		o = [2]vk.Offset3D{{}, {X: int32(levelSize(m, s.MipLevel, 0)), Y: int32(levelSize(m, s.MipLevel, 1)),
			Z: int32(levelSize(m, s.MipLevel, 2))}}
	}
	return s, o
}

func randomImage(t *testing.T, random *rand.Rand, f vk.Format, imageType vk.ImageType) *guarded {
	extent := [3]uint32{1 + random.Uint32N(40), 1, 1}
	layers := 1 + random.Uint32N(3)
	switch imageType {
	case vk.IMAGE_TYPE_2D:
		extent[1] = 1 + random.Uint32N(20)
	case vk.IMAGE_TYPE_3D:
		extent[1], extent[2], layers = 1+random.Uint32N(12), 1+random.Uint32N(8), 1
	}
	m := newGuarded(t, f, imageType, extent, 1+random.Uint32N(3), layers)
	fillNumbers(&m.Image, random)
	return m
}

// blitFormats are all uncompressed color formats that need no conversion, by class.
func blitFormats() map[texel.Class][]vk.Format {
	all := make(map[texel.Class][]vk.Format)
	for _, f := range vk.AllFormats {
		t, _ := texel.FormatOf(f)
		if c, ok := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT); ok && !t.Chroma {
			all[c.Class()] = append(all[c.Class()], f)
		}
	}
	return all
}

func TestBlitRandom(t *testing.T) {
	formats := blitFormats()
	common := []vk.Format{
		vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_A8B8G8R8_UNORM_PACK32, vk.FORMAT_R8G8B8A8_SRGB,
		vk.FORMAT_B8G8R8A8_SRGB,
	}
	for seed := range uint64(1200) {
		random := rand.New(rand.NewPCG(seed, 1))
		class := []texel.Class{texel.Float, texel.Float, texel.Float, texel.Uint, texel.Sint}[random.IntN(5)]
		filter := vk.FILTER_NEAREST
		if class == texel.Float && random.IntN(2) == 0 {
			filter = vk.FILTER_LINEAR
		}
		pick := func() vk.Format {
			list := formats[class]
			if class == texel.Float && random.IntN(2) == 0 {
				list = common
			}
			return list[random.IntN(len(list))]
		}
		srcType, dstType := imageTypes[random.IntN(3)], imageTypes[random.IntN(3)]
		src := randomImage(t, random, pick(), srcType)
		dstFormat := pick()
		if random.IntN(4) == 0 {
			dstFormat = src.Format
		}
		dst := randomImage(t, random, dstFormat, dstType)
		layers := 1 + random.Uint32N(min(src.Layout.Layers, dst.Layout.Layers))
		if srcType == vk.IMAGE_TYPE_3D || dstType == vk.IMAGE_TYPE_3D {
			layers = 1
		}
		var r vk.ImageBlit
		r.SrcSubresource, r.SrcOffsets = randomSide(random, &src.Image, vk.IMAGE_ASPECT_COLOR_BIT, layers)
		r.DstSubresource, r.DstOffsets = randomSide(random, &dst.Image, vk.IMAGE_ASPECT_COLOR_BIT, layers)
		if srcType == vk.IMAGE_TYPE_3D || dstType == vk.IMAGE_TYPE_3D {
			r.SrcSubresource.BaseArrayLayer, r.DstSubresource.BaseArrayLayer = 0, 0
		}
		t.Run(fmt.Sprintf("%d/%v_%v/%v", seed, src.Format, dst.Format, filter), func(t *testing.T) {
			before, source := bytes.Clone(dst.all), bytes.Clone(src.all)
			if err := Blit(&dst.Image, &src.Image, []vk.ImageBlit{r}, filter); err != nil {
				t.Fatal(err)
			}
			reference(t, dst, before, &src.Image, &r, filter)
			if !bytes.Equal(source, src.all) {
				t.Error("the source changed")
			}
		})
	}
}

func TestBlitDepthStencil(t *testing.T) {
	for _, f := range []vk.Format{
		vk.FORMAT_D16_UNORM, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_D32_SFLOAT, vk.FORMAT_S8_UINT,
		vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT,
	} {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 2))
			src, dst := randomImage(t, random, f, vk.IMAGE_TYPE_2D), randomImage(t, random, f, vk.IMAGE_TYPE_2D)
			aspects := src.Layout.Format.Planes[random.IntN(src.Layout.Format.PlaneCount)].Aspect
			if random.IntN(2) == 0 {
				aspects = src.Layout.Format.Aspects()
			}
			var r vk.ImageBlit
			r.SrcSubresource, r.SrcOffsets = randomSide(random, &src.Image, aspects, 1)
			r.DstSubresource, r.DstOffsets = randomSide(random, &dst.Image, aspects, 1)
			before := bytes.Clone(dst.all)
			if err := Blit(&dst.Image, &src.Image, []vk.ImageBlit{r}, vk.FILTER_NEAREST); err != nil {
				t.Fatal(err)
			}
			reference(t, dst, before, &src.Image, &r, vk.FILTER_NEAREST)
		}
	}
}

// TestBlitIntegers holds the filters in integers to the general one: they may round differently, no more.
func TestBlitIntegers(t *testing.T) {
	bytesOnly := []vk.Format{
		vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_B8G8R8A8_SRGB,
		vk.FORMAT_A8B8G8R8_SRGB_PACK32, vk.FORMAT_R8G8B8_UNORM, vk.FORMAT_B8G8R8_SRGB, vk.FORMAT_R8G8_UNORM,
		vk.FORMAT_R8_SRGB,
	}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 3))
		src := randomImage(t, random, bytesOnly[random.IntN(len(bytesOnly))], vk.IMAGE_TYPE_2D)
		dst := randomImage(t, random, bytesOnly[random.IntN(len(bytesOnly))], vk.IMAGE_TYPE_2D)
		var r vk.ImageBlit
		r.SrcSubresource, r.SrcOffsets = randomSide(random, &src.Image, vk.IMAGE_ASPECT_COLOR_BIT, 1)
		r.DstSubresource, r.DstOffsets = randomSide(random, &dst.Image, vk.IMAGE_ASPECT_COLOR_BIT, 1)
		if err := Blit(&dst.Image, &src.Image, []vk.ImageBlit{r}, vk.FILTER_LINEAR); err != nil {
			t.Fatal(err)
		}
		fast := bytes.Clone(dst.all)
		var b planeBlit
		b.set(&dst.Image, &src.Image, vk.IMAGE_ASPECT_COLOR_BIT, &r, vk.FILTER_LINEAR)
		b.rows = (*planeBlit).filterRows
		if len(b.columns) == 0 {
			b.columns = b.x.used(nil)
		}
		b.run(0, len(b.y.taps))
		for i := range fast {
			if d := int(fast[i]) - int(dst.all[i]); d < -1 || d > 1 {
				t.Fatalf("seed %d, %v to %v, byte %d: %d, but %d in general", seed, src.Format, dst.Format, i, fast[i], dst.all[i])
			}
		}
	}
}

// TestBlitLarge is large enough for all cores; mirrored, so that a wrong part would show.
func TestBlitLarge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4))
	for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R5G6B5_UNORM_PACK16} {
		for _, filter := range []vk.Filter{vk.FILTER_NEAREST, vk.FILTER_LINEAR} {
			src := newGuarded(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{150, 120, 1}, 1, 2)
			dst := newGuarded(t, format, vk.IMAGE_TYPE_2D, [3]uint32{191, 90, 1}, 1, 2)
			fillNumbers(&src.Image, random)
			layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 2}
			r := vk.ImageBlit{
				SrcSubresource: layers, SrcOffsets: [2]vk.Offset3D{{X: 150, Y: 120}, {Z: 1}},
				DstSubresource: layers, DstOffsets: [2]vk.Offset3D{{}, {X: 191, Y: 90, Z: 1}},
			}
			before := bytes.Clone(dst.all)
			if err := Blit(&dst.Image, &src.Image, []vk.ImageBlit{r}, filter); err != nil {
				t.Fatal(err)
			}
			reference(t, dst, before, &src.Image, &r, filter)
		}
	}
}

// BenchmarkBlit reports the time of a destination texel on one core.
func BenchmarkBlit(b *testing.B) {
	for _, c := range []struct {
		name     string
		dst, src vk.Format
		size     int32
		filter   vk.Filter
	}{
		{"nearest/half", vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, 1024, vk.FILTER_NEAREST},
		{"nearest/1.5", vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, 3072, vk.FILTER_NEAREST},
		{"nearest/swapped", vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_UNORM, 2048, vk.FILTER_NEAREST},
		{"nearest/converted", vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R8G8B8A8_UNORM, 2048, vk.FILTER_NEAREST},
		{"linear/half", vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, 1024, vk.FILTER_LINEAR},
		{"linear/0.7", vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, 1434, vk.FILTER_LINEAR},
		{"linear/1.5", vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, 3072, vk.FILTER_LINEAR},
		{"linear/565/half", vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R5G6B5_UNORM_PACK16, 1024, vk.FILTER_LINEAR},
		{"linear/srgb/half", vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R8G8B8A8_SRGB, 1024, vk.FILTER_LINEAR},
		{"linear/half-float/half", vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R16G16B16A16_SFLOAT, 1024, vk.FILTER_LINEAR},
		{"linear/float/half", vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_R32G32B32A32_SFLOAT, 1024, vk.FILTER_LINEAR},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := newGuarded(b, c.src, vk.IMAGE_TYPE_2D, [3]uint32{2048, 2048, 1}, 1, 1)
			fillNumbers(&src.Image, rand.New(rand.NewPCG(1, 5)))
			dst := newGuarded(b, c.dst, vk.IMAGE_TYPE_2D, [3]uint32{uint32(c.size), uint32(c.size), 1}, 1, 1)
			layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
			r := vk.ImageBlit{
				SrcSubresource: layers, SrcOffsets: [2]vk.Offset3D{{}, {X: 2048, Y: 2048, Z: 1}},
				DstSubresource: layers, DstOffsets: [2]vk.Offset3D{{}, {X: c.size, Y: c.size, Z: 1}},
			}
			var p planeBlit
			for b.Loop() {
				p.set(&dst.Image, &src.Image, vk.IMAGE_ASPECT_COLOR_BIT, &r, c.filter)
				p.run(0, int(c.size))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.size)/float64(c.size), "ns/texel")
		})
	}
}

// BenchmarkSmallBlit is what a blit of 16x16 texels costs in all.
func BenchmarkSmallBlit(b *testing.B) {
	for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R16G16B16A16_SFLOAT} {
		for _, filter := range []vk.Filter{vk.FILTER_NEAREST, vk.FILTER_LINEAR} {
			b.Run(fmt.Sprintf("%v/%v", format, filter), func(b *testing.B) {
				src := newGuarded(b, format, vk.IMAGE_TYPE_2D, [3]uint32{32, 32, 1}, 1, 1)
				dst := newGuarded(b, format, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 1)
				layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
				r := []vk.ImageBlit{{
					SrcSubresource: layers, SrcOffsets: [2]vk.Offset3D{{}, {X: 32, Y: 32, Z: 1}},
					DstSubresource: layers, DstOffsets: [2]vk.Offset3D{{}, {X: 16, Y: 16, Z: 1}},
				}}
				b.ReportAllocs()
				for b.Loop() {
					if err := Blit(&dst.Image, &src.Image, r, filter); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
