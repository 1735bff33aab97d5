package sampling

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// chromaFormats are the formats that need a conversion.
func chromaFormats(t *testing.T) (list []vk.Format) {
	for _, f := range vk.AllFormats {
		if storage, ok := texel.FormatOf(f); ok && storage.Chroma {
			list = append(list, f)
		}
	}
	if len(list) != 34 {
		t.Fatalf("%d formats need a conversion, want 34", len(list))
	}
	return list
}

// ycbcrPicture is an image of such a format with random bytes.
type ycbcrPicture struct {
	format  vk.Format
	info    *vk.FormatDescription
	storage texel.Format
	layout  texel.Layout
	data    []byte
	planes  []ImagePlane
}

func newYcbcrPicture(r *rand.Rand, f vk.Format, width, height, layers uint32) *ycbcrPicture {
	p := &ycbcrPicture{format: f}
	p.info, _ = vk.FormatInfo(f)
	p.storage, _ = texel.FormatOf(f)
	p.layout, _ = texel.NewLayout(p.storage, [3]uint32{width, height, 1}, 1, layers, 1)
	p.data = make([]byte, p.layout.Size)
	for i := range p.data {
		p.data[i] = byte(r.Uint32())
	}
	if p.storage.MultiPlanar() {
		for i := range p.storage.PlaneCount {
			p.planes = append(p.planes, ImagePlane{p.data, p.layout.Plane(i)})
		}
	}
	return p
}

// component is where a component (0 is red) lies: divisors of the coordinates, and the number that is at a place.
func (p *ycbcrPicture) component(c int) (divisor [2]int, at func(i, j, layer int) float64) {
	n := -1
	for i, component := range p.info.Components() {
		if component.Name == "RGBA"[c] && n < 0 {
			n = i
		}
	}
	if n < 0 {
		return [2]int{1, 1}, nil
	}
	component := p.info.Components()[n]
	word := 2
	if component.Bits == 8 {
		word = 1
	}
	read := func(o int) float64 {
		if word == 1 {
			return float64(p.data[o]) / 255
		}
		raw := binary.LittleEndian.Uint16(p.data[o:]) >> (16 - component.Bits)
		return float64(raw) / float64(uint(1)<<component.Bits-1)
	}
	switch {
	case p.storage.MultiPlanar():
		own := 0 // number of the component in its plane
		for _, before := range p.info.Components()[:n] {
			if before.Plane == component.Plane {
				own++
			}
		}
		plane := int(component.Plane)
		place, of := p.layout.Planes[plane], p.info.Planes()[plane]
		size := int(p.storage.Planes[plane].BlockSize)
		return [2]int{int(of.WidthDivisor), int(of.HeightDivisor)}, func(i, j, layer int) float64 {
			return read(int(place.Start) + layer*int(place.LayerPitch) + j*int(place.RowPitch) + i*size + own*word)
		}
	case p.info.Chroma.String() == "422":
		s, _ := p.layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, 0, 0)
		base := func(j, layer int) int { return layer*int(p.layout.LayerPitch) + j*int(s.RowPitch) }
		if c == 1 {
			return [2]int{1, 1}, func(i, j, layer int) float64 { return read(base(j, layer) + (2*i+n)*word) }
		}
		return [2]int{2, 1}, func(i, j, layer int) float64 { return read(base(j, layer) + (4*i+n)*word) }
	}
	s, _ := p.layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, 0, 0)
	return [2]int{1, 1}, func(i, j, layer int) float64 {
		return read(layer*int(p.layout.LayerPitch) + j*int(s.RowPitch) + (4*i+n)*word)
	}
}

// ycbcrReference is what the specification's formulas give, in float64.
type ycbcrReference struct {
	*ycbcrPicture
	info   *ConversionInfo
	linear bool // filter of luma
	layer  int
}

func clampTo(i, size int) int { return min(max(i, 0), size-1) }

// bilinear filters at (x, y), in texels of a component.
func bilinear(x, y float64, width, height int, at func(i, j int) float64) float64 {
	x, y = x-0.5, y-0.5
	i, j := int(math.Floor(x)), int(math.Floor(y))
	a, b := x-math.Floor(x), y-math.Floor(y)
	of := func(i, j int) float64 { return at(clampTo(i, width), clampTo(j, height)) }
	return (of(i, j)*(1-a)+of(i+1, j)*a)*(1-b) + (of(i, j+1)*(1-a)+of(i+1, j+1)*a)*b
}

// reconstructed is a component at a texel of the image: explicit reconstruction.
func (r *ycbcrReference) reconstructed(c, i, j int) float64 {
	divisor, at := r.component(c)
	width, height := int(r.layout.Extent[0])/divisor[0], int(r.layout.Extent[1])/divisor[1]
	if r.info.ChromaFilter == vk.FILTER_NEAREST {
		return at(i/divisor[0], j/divisor[1], r.layer)
	}
	place := func(n, divisor int, offset vk.ChromaLocation) float64 {
		switch {
		case divisor == 1:
			return float64(n)
		case offset == vk.CHROMA_LOCATION_COSITED_EVEN:
			return 0.5 * float64(n)
		}
		return 0.5 * (float64(n) - 0.5)
	}
	x, y := place(i, divisor[0], r.info.XOffset), place(j, divisor[1], r.info.YOffset)
	return bilinear(x+0.5, y+0.5, width, height, func(i, j int) float64 { return at(i, j, r.layer) })
}

// filtered is a component at coordinates of the image, in texels.
func (r *ycbcrReference) filtered(c int, x, y float64) float64 {
	divisor, at := r.component(c)
	switch {
	case at == nil:
		return float64(c / 3)
	case r.info.Explicit:
		width, height := int(r.layout.Extent[0]), int(r.layout.Extent[1])
		if !r.linear {
			return r.reconstructed(c, clampTo(int(math.Floor(x)), width), clampTo(int(math.Floor(y)), height))
		}
		return bilinear(x, y, width, height, func(i, j int) float64 { return r.reconstructed(c, i, j) })
	}
	linear := r.linear
	if divisor[0] == 2 {
		linear = r.info.ChromaFilter == vk.FILTER_LINEAR
	}
	place := func(u float64, divisor int, offset vk.ChromaLocation) float64 {
		switch {
		case divisor == 1:
			return u
		case offset == vk.CHROMA_LOCATION_COSITED_EVEN:
			return 0.5 * (u + 0.5)
		}
		return 0.5 * u
	}
	x, y = place(x, divisor[0], r.info.XOffset), place(y, divisor[1], r.info.YOffset)
	width, height := int(r.layout.Extent[0])/divisor[0], int(r.layout.Extent[1])/divisor[1]
	if !linear {
		return at(clampTo(int(math.Floor(x)), width), clampTo(int(math.Floor(y)), height), r.layer)
	}
	return bilinear(x, y, width, height, func(i, j int) float64 { return at(i, j, r.layer) })
}

// sample is the converted colour.
func (r *ycbcrReference) sample(x, y float64) (out [4]float64) {
	var in [4]float64
	for c, s := range [4]vk.ComponentSwizzle{r.info.Components.R, r.info.Components.G, r.info.Components.B,
		r.info.Components.A} {
		switch s {
		case vk.COMPONENT_SWIZZLE_IDENTITY:
			in[c] = r.filtered(c, x, y)
		case vk.COMPONENT_SWIZZLE_ZERO:
		case vk.COMPONENT_SWIZZLE_ONE:
			in[c] = 1
		default:
			in[c] = r.filtered(int(s-vk.COMPONENT_SWIZZLE_R), x, y)
		}
	}
	if r.info.Model == vk.SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY {
		return in
	}
	n := float64(r.ycbcrPicture.info.Components()[0].Bits)
	most := math.Exp2(n) - 1
	luma, cr, cb := in[1], in[0]-math.Exp2(n-1)/most, in[2]-math.Exp2(n-1)/most
	if r.info.Range == vk.SAMPLER_YCBCR_RANGE_ITU_NARROW {
		unit := math.Exp2(n - 8)
		luma = (in[1]*most - 16*unit) / (219 * unit)
		cr, cb = (in[0]*most-128*unit)/(224*unit), (in[2]*most-128*unit)/(224*unit)
	}
	switch r.info.Model {
	case vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709:
		return [4]float64{luma + 1.5748*cr, luma - 0.13397432/0.7152*cb - 0.33480248/0.7152*cr, luma + 1.8556*cb, in[3]}
	case vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601:
		return [4]float64{luma + 1.402*cr, luma - 0.202008/0.587*cb - 0.419198/0.587*cr, luma + 1.772*cb, in[3]}
	case vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_2020:
		return [4]float64{luma + 1.4746*cr, luma - 0.11156702/0.6780*cb - 0.38737742/0.6780*cr, luma + 1.8814*cb, in[3]}
	}
	return [4]float64{cr, luma, cb, in[3]}
}

// randomConversion is any conversion that the specification allows for a format.
func randomConversion(r *rand.Rand, f vk.Format) *ConversionInfo {
	info := &ConversionInfo{
		Format:       f,
		Model:        vk.SamplerYcbcrModelConversion(r.IntN(5)),
		Range:        vk.SamplerYcbcrRange(r.IntN(2)),
		XOffset:      vk.ChromaLocation(r.IntN(2)),
		YOffset:      vk.ChromaLocation(r.IntN(2)),
		ChromaFilter: vk.Filter(r.IntN(2)),
		Explicit:     r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		info.Components.R, info.Components.B = vk.COMPONENT_SWIZZLE_B, vk.COMPONENT_SWIZZLE_R
	}
	alphas := []vk.ComponentSwizzle{vk.COMPONENT_SWIZZLE_IDENTITY, vk.COMPONENT_SWIZZLE_ZERO, vk.COMPONENT_SWIZZLE_ONE,
		vk.COMPONENT_SWIZZLE_A}
	info.Components.A = alphas[r.IntN(len(alphas))]
	return info
}

// near says whether a coordinate is so close to where the nearest texel changes that either may be it.
func near(x float64) bool {
	for _, place := range []float64{x, 0.5 * x, 0.5 * (x + 0.5)} {
		if math.Abs(place-math.Round(place)) < 1e-4 {
			return true
		}
	}
	return false
}

func TestConversionsMatchReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for _, f := range chromaFormats(t) {
		compared := 0
		for range 40 {
			const layers = 2
			p := newYcbcrPicture(r, f, 2*(1+r.Uint32N(8)), 2*(1+r.Uint32N(8)), layers)
			info := randomConversion(r, f)
			c, err := NewConversion(info)
			if err != nil {
				t.Fatal(err)
			}
			v, err := NewConvertedView(&ImageView{
				Data: p.data, Layout: &p.layout, Type: vk.IMAGE_VIEW_TYPE_2D_ARRAY, Format: f,
				Range: vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: layers},
			}, p.planes, c)
			if err != nil {
				t.Fatalf("%v: %v", f, err)
			}
			if want := [3]uint32{p.layout.Extent[0], p.layout.Extent[1], layers}; v.Size(0) != want {
				t.Fatalf("%v: a view of %v, want %v", f, v.Size(0), want)
			}
			mag, minified := vk.Filter(r.IntN(2)), vk.Filter(r.IntN(2))
			s := NewSampler(&SamplerInfo{MagFilter: mag, MinFilter: minified, MaxLod: 4,
				AddressMode: [3]vk.SamplerAddressMode{vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
					vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE}})
			q := Lookup{Mode: LodExplicit}
			reference := ycbcrReference{ycbcrPicture: p, info: info, linear: mag == vk.FILTER_LINEAR, layer: r.IntN(layers)}
			if r.IntN(2) == 0 {
				q.Lod = Lanes{bits(1), bits(1), bits(1), bits(1), bits(1), bits(1), bits(1), bits(1)}
				reference.linear = minified == vk.FILTER_LINEAR
			}
			for i := range Width {
				q.Coordinates[0][i], q.Coordinates[1][i] = bits(r.Float32()*1.5-0.25), bits(r.Float32()*1.5-0.25)
				if r.IntN(3) == 0 { // in the middle of a texel, where luma is not filtered
					q.Coordinates[0][i] = bits((float32(r.Uint32N(p.layout.Extent[0])) + 0.5) / float32(p.layout.Extent[0]))
				}
				q.Coordinates[2][i] = bits(float32(reference.layer))
			}
			var got Texels
			v.Routine(s, &q).Sample(&got, &q, All)
			for i := range Width {
				x := float64(float(q.Coordinates[0][i])) * float64(p.layout.Extent[0])
				y := float64(float(q.Coordinates[1][i])) * float64(p.layout.Extent[1])
				if near(x) || near(y) {
					continue
				}
				compared++
				for c, want := range reference.sample(x, y) {
					if d := float64(float(got[c][i])) - want; !(math.Abs(d) < 1e-5) {
						t.Fatalf("%v, %+v, linear %v at (%v, %v) of %v: component %d is %v, want %v", f, *info, reference.linear,
							x, y, p.layout.Extent, c, float(got[c][i]), want)
					}
				}
			}
		}
		if compared < 100 {
			t.Errorf("%v: %d samples were compared", f, compared)
		}
	}
}

// Known colours: white, black and red of BT.601 in the narrow range, and grey of BT.709 in the full one.
func TestKnownColours(t *testing.T) {
	for _, c := range []struct {
		model   vk.SamplerYcbcrModelConversion
		ranged  vk.SamplerYcbcrRange
		y, u, v byte
		want    [3]float64
	}{
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 235, 128, 128, [3]float64{1, 1, 1}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 16, 128, 128, [3]float64{}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 81, 90, 240, [3]float64{1, 0, 0}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709, vk.SAMPLER_YCBCR_RANGE_ITU_FULL, 51, 128, 128,
			[3]float64{0.2, 0.2, 0.2}},
	} {
		p := newYcbcrPicture(rand.New(rand.NewPCG(1, 1)), vk.FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, 2, 1)
		for j := range 2 {
			copy(p.data[j*int(p.layout.Planes[0].RowPitch):], []byte{c.y, c.y})
		}
		copy(p.data[p.layout.Planes[1].Start:], []byte{c.u, c.v})
		conversion, err := NewConversion(&ConversionInfo{Format: p.format, Model: c.model, Range: c.ranged})
		if err != nil {
			t.Fatal(err)
		}
		v, err := NewConvertedView(&ImageView{Layout: &p.layout, Type: vk.IMAGE_VIEW_TYPE_2D, Format: p.format,
			Range: vk.ImageSubresourceRange{LevelCount: 1, LayerCount: 1}}, p.planes, conversion)
		if err != nil {
			t.Fatal(err)
		}
		var got Texels
		q := new(Lookup)
		v.Routine(nil, q).Sample(&got, q, 1)
		for i, want := range c.want {
			if d := float64(float(got[i][0])) - want; math.Abs(d) > 0.005 {
				t.Errorf("%d %d %d: component %d is %v, want %v", c.y, c.u, c.v, i, float(got[i][0]), want)
			}
		}
		if float(got[3][0]) != 1 {
			t.Errorf("alpha is %v", float(got[3][0]))
		}
	}
}

// What no application may do to such a view harms nobody: fetches, gathers, comparisons, border colours, NaN.
func TestConvertedViewSurvives(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range chromaFormats(t) {
		p := newYcbcrPicture(r, f, 4, 2, 1)
		c, err := NewConversion(randomConversion(r, f))
		if err != nil {
			t.Fatal(err)
		}
		v, err := NewConvertedView(&ImageView{Data: p.data, Layout: &p.layout, Type: vk.IMAGE_VIEW_TYPE_2D, Format: f,
			Range: vk.ImageSubresourceRange{LevelCount: 1, LayerCount: 1}}, p.planes, c)
		if err != nil {
			t.Fatal(err)
		}
		for mode := vk.SAMPLER_ADDRESS_MODE_REPEAT; mode <= vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE; mode++ {
			s := NewSampler(&SamplerInfo{MagFilter: vk.Filter(r.IntN(2)), MaxAnisotropy: 16,
				AddressMode: [3]vk.SamplerAddressMode{mode, mode, mode}, UnnormalizedCoordinates: r.IntN(2) == 0})
			q := Lookup{Mode: LodGradient, Compare: r.IntN(2) == 0, HasOffset: true}
			for i := range Width {
				q.Coordinates[0][i], q.Coordinates[1][i] = r.Uint32(), r.Uint32()
				q.Offset[0][i] = r.Uint32()
			}
			q.Coordinates[0][0] = bits(float32(math.NaN()))
			var got Texels
			v.Routine(s, &q).Sample(&got, &q, All)
			v.Routine(s, &q).Gather(&got, &q, r.Uint32N(4), nil, All)
			at := [3]Lanes{q.Coordinates[0], q.Coordinates[1]}
			v.Fetch(&got, &at, nil, nil, All)
			v.Write(&at, &got, All)
		}
	}
	if _, err := NewConversion(&ConversionInfo{Format: vk.FORMAT_R8G8B8A8_UNORM}); err == nil {
		t.Error("a conversion for R8G8B8A8")
	}
	c, _ := NewConversion(&ConversionInfo{Format: vk.FORMAT_G8_B8_R8_3PLANE_420_UNORM})
	p := newYcbcrPicture(r, vk.FORMAT_G8_B8R8_2PLANE_420_UNORM, 4, 2, 6)
	view := ImageView{Layout: &p.layout, Type: vk.IMAGE_VIEW_TYPE_2D, Format: p.format,
		Range: vk.ImageSubresourceRange{LevelCount: 1, LayerCount: 1}}
	if _, err := NewConvertedView(&view, p.planes, c); err == nil {
		t.Error("a view of two planes with a conversion for three")
	}
	c, _ = NewConversion(&ConversionInfo{Format: p.format})
	p = newYcbcrPicture(r, p.format, 4, 4, 6)
	view.Layout, view.Type, view.Range.LayerCount = &p.layout, vk.IMAGE_VIEW_TYPE_CUBE, 6
	if _, err := NewConvertedView(&view, p.planes, c); err == nil {
		t.Error("a cube with a conversion")
	}
}

func BenchmarkConversion(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	p := newYcbcrPicture(r, vk.FORMAT_G8_B8R8_2PLANE_420_UNORM, 256, 256, 1)
	c, err := NewConversion(&ConversionInfo{Format: p.format, Model: vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709,
		ChromaFilter: vk.FILTER_LINEAR})
	if err != nil {
		b.Fatal(err)
	}
	v, err := NewConvertedView(&ImageView{Layout: &p.layout, Type: vk.IMAGE_VIEW_TYPE_2D, Format: p.format,
		Range: vk.ImageSubresourceRange{LevelCount: 1, LayerCount: 1}}, p.planes, c)
	if err != nil {
		b.Fatal(err)
	}
	s := NewSampler(&SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR})
	var q Lookup
	for i := range Width {
		q.Coordinates[0][i], q.Coordinates[1][i] = bits(r.Float32()), bits(r.Float32())
	}
	var got Texels
	for b.Loop() {
		v.Routine(s, &q).Sample(&got, &q, All)
	}
}
