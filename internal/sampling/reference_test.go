package sampling

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// picture is an image with random texels.
type picture struct {
	data   []byte
	layout texel.Layout
	info   ImageView
}

// newPicture makes an image and a view of all of it.
func newPicture(t testing.TB, r *rand.Rand, format vk.Format, viewType vk.ImageViewType, extent [3]uint32, levels,
	layers uint32) (*picture, *View) {
	t.Helper()
	storage, ok := texel.FormatOf(format)
	if !ok {
		t.Fatalf("no format %v", format)
	}
	layout, ok := texel.NewLayout(storage, extent, levels, layers, 1)
	if !ok {
		t.Fatalf("no layout")
	}
	p := &picture{layout: layout, data: make([]byte, layout.Size)}
	for i := range p.data {
		p.data[i] = byte(r.Uint32())
	}
	aspect := storage.Planes[0].Aspect
	p.info = ImageView{Data: p.data, Layout: &p.layout, Type: viewType, Format: format,
		Volume: viewType == vk.IMAGE_VIEW_TYPE_3D,
		Range:  vk.ImageSubresourceRange{AspectMask: aspect, LevelCount: levels, LayerCount: layers}}
	p.fillFloats(r)
	v, err := NewImageView(&p.info)
	if err != nil {
		t.Fatal(err)
	}
	return p, v
}

// fillFloats replaces the random bits of floats, among which are numbers that no filter can add, and those of blocks of
// ASTC, most of which would be errors.
func (p *picture) fillFloats(r *rand.Rand) {
	if strings.Contains(p.info.Format.String(), "ASTC") {
		// A grid of 4 x 2 weights of three bits for one pair of colours with alpha; every size of block has room for it.
		p.each(func(block []byte) { block[0], block[1], block[2] = 0x13, 0x80, block[2]|1 }, 16)
		return
	}
	codec, ok := texel.CodecOf(p.info.Format, p.info.Range.AspectMask)
	if !ok || codec.Class() != texel.Float {
		return
	}
	p.each(func(bytes []byte) {
		codec.EncodeFloat(bytes, [][4]float64{{r.Float64()*4 - 2, r.Float64()*2 - 1, r.Float64(), r.Float64()}})
	}, codec.Size())
}

func (p *picture) each(f func([]byte), size int) {
	for level := range p.layout.Levels {
		for layer := range p.layout.Layers {
			s, _ := p.layout.Subresource(p.info.Range.AspectMask, level, layer)
			for z := range s.Slices {
				for y := range s.Rows {
					for x := uint64(0); x < s.RowBytes; x += uint64(size) {
						f(p.data[s.Offset+z*s.DepthPitch+y*s.RowPitch+x:][:size])
					}
				}
			}
		}
	}
}

// numbers are a texel as the reference has it: of whichever class.
type numbers [4]float64

// texel reads a texel by layout and codec; false outside of the image.
func (p *picture) texel(level, layer uint32, x, y, z int) (n numbers, ok bool) {
	s, ok := p.layout.Subresource(p.info.Range.AspectMask, level+p.info.Range.BaseMipLevel, layer)
	if blocks, compressed := texel.BlocksOf(p.info.Format); compressed {
		e := p.extent(level + p.info.Range.BaseMipLevel)
		if !ok || x < 0 || y < 0 || z < 0 || x >= e[0] || y >= e[1] || z >= e[2] {
			return n, false
		}
		decoded := make([]byte, blocks.UnpackedSize())
		w, h := blocks.Extent()
		blocks.Decode(decoded, p.data[int(s.Offset)+z*int(s.DepthPitch)+y/h*int(s.RowPitch)+x/w*blocks.Size():])
		codec, _ := texel.CodecOf(blocks.Unpacked(), vk.IMAGE_ASPECT_COLOR_BIT)
		var v [1][4]float64
		codec.DecodeFloat(v[:], decoded[(y%h*w+x%w)*codec.Size():])
		return v[0], true
	}
	codec, _ := texel.CodecOf(p.info.Format, p.info.Range.AspectMask)
	if !ok || x < 0 || y < 0 || z < 0 || uint64(x+1)*uint64(codec.Size()) > s.RowBytes || uint64(y) >= s.Rows ||
		uint64(z) >= s.Slices {
		return n, false
	}
	bytes := p.data[s.Offset+uint64(z)*s.DepthPitch+uint64(y)*s.RowPitch+uint64(x)*uint64(codec.Size()):]
	switch codec.Class() {
	case texel.Float:
		var v [1][4]float64
		codec.DecodeFloat(v[:], bytes)
		return v[0], true
	case texel.Uint:
		var v [1][4]uint64
		codec.DecodeUint(v[:], bytes)
		for c := range n {
			n[c] = float64(v[0][c])
		}
	default:
		var v [1][4]int64
		codec.DecodeSint(v[:], bytes)
		for c := range n {
			n[c] = float64(v[0][c])
		}
	}
	return n, true
}

func (p *picture) extent(level uint32) (e [3]int) {
	for axis := range e {
		e[axis] = int(max(p.layout.Extent[axis]>>level, 1))
	}
	return e
}

// reference samples as the specification has it, one step after the other.
type reference struct {
	p      *picture
	v      *View // for its type only
	s      *SamplerInfo
	lookup *Lookup
	lane   int
}

func (r *reference) coordinate(i int) float64 { return float64(float(r.lookup.Coordinates[i][r.lane])) }

func (r *reference) wrap(mode vk.SamplerAddressMode, i, n int) int {
	mirror := func(a int) int {
		if a >= 0 {
			return a
		}
		return -(1 + a)
	}
	mod := func(a, b int) int { return ((a % b) + b) % b }
	switch mode {
	case vk.SAMPLER_ADDRESS_MODE_REPEAT:
		return mod(i, n)
	case vk.SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT:
		return n - 1 - mirror(mod(i, 2*n)-n)
	case vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE:
		return min(max(i, 0), n-1)
	case vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER:
		return min(max(i, -1), n)
	}
	return min(max(mirror(i), 0), n-1)
}

// fetch returns the texel at wrapped coordinates, or the border.
func (r *reference) fetch(level uint32, layer int, at [3]int) numbers {
	e := r.p.extent(level)
	for axis := range r.v.axes {
		at[axis] = r.wrap(r.s.AddressMode[axis], at[axis], e[axis])
	}
	n, ok := r.p.texel(level, uint32(layer), at[0], at[1], at[2])
	if !ok {
		n = r.border()
	}
	if r.lookup.Compare {
		n = numbers{r.compared(n[0]), 0, 0, 1}
	}
	return n
}

func (r *reference) compared(texel float64) float64 {
	d := float64(float(r.lookup.Dref[r.lane]))
	if r.v.format.Unorm {
		d = math.Max(0, math.Min(1, d))
	}
	var yes bool
	switch r.s.CompareOp {
	case vk.COMPARE_OP_LESS:
		yes = d < texel
	case vk.COMPARE_OP_GREATER_OR_EQUAL:
		yes = d >= texel
	case vk.COMPARE_OP_ALWAYS:
		yes = true
	}
	if yes {
		return 1
	}
	return 0
}

func (r *reference) border() numbers {
	var n numbers
	switch r.s.BorderColor {
	case vk.BORDER_COLOR_FLOAT_OPAQUE_WHITE, vk.BORDER_COLOR_INT_OPAQUE_WHITE:
		n = numbers{1, 1, 1, 1}
	case vk.BORDER_COLOR_FLOAT_OPAQUE_BLACK, vk.BORDER_COLOR_INT_OPAQUE_BLACK:
		n = numbers{0, 0, 0, 1}
	}
	for c, present := range r.v.format.Present {
		if !present {
			n[c] = [4]float64{0, 0, 0, 1}[c]
		}
	}
	return n
}

// sample returns the result.
func (r *reference) sample() numbers {
	if r.lookup.Mode != LodGradient || r.s.MaxAnisotropy <= 1 {
		return r.one()
	}
	// The specification's formulas of anisotropy, in its names.
	var rho [2]float64
	e := r.p.extent(0)
	for n, d := range [2]*[3]Lanes{&r.lookup.Dx, &r.lookup.Dy} {
		for axis := range r.v.axes {
			rho[n] = math.Hypot(rho[n], float64(float(d[axis][r.lane]))*float64(e[axis]))
		}
	}
	eta := math.Min(math.Max(rho[0], rho[1])/math.Min(rho[0], rho[1]), float64(r.s.MaxAnisotropy))
	samples := math.Ceil(eta)
	along := &r.lookup.Dx
	if rho[1] > rho[0] {
		along = &r.lookup.Dy
	}
	one := *r
	q := *r.lookup
	one.lookup = &q
	q.Mode = LodExplicit
	q.Lod[r.lane] = bits(float32(math.Log2(math.Max(rho[0], rho[1]) / eta)))
	var all []numbers
	var weights []float64
	for i := 1.0; i <= samples; i++ {
		for axis := range r.v.axes {
			q.Coordinates[axis][r.lane] = bits(float32(r.coordinate(axis) +
				float64(float(along[axis][r.lane]))*(i/(samples+1)-0.5)))
		}
		all, weights = append(all, one.one()), append(weights, 1/samples)
	}
	return r.combine(all, weights)
}

// one is a sample at one place.
func (r *reference) one() numbers {
	lambda := 0.0
	switch r.lookup.Mode {
	case LodExplicit:
		lambda = float64(float(r.lookup.Lod[r.lane]))
	case LodGradient:
		var squares [2]float64
		e := r.p.extent(0)
		for axis := range r.v.axes {
			for n, d := range [2]*[3]Lanes{&r.lookup.Dx, &r.lookup.Dy} {
				squares[n] += math.Pow(float64(float(d[axis][r.lane]))*float64(e[axis]), 2)
			}
		}
		lambda = math.Log2(math.Sqrt(math.Max(squares[0], squares[1])))
	}
	bias := float64(r.s.MipLodBias)
	if r.lookup.HasBias {
		bias += float64(float(r.lookup.Bias[r.lane]))
	}
	lambda += math.Max(-MaxLodBias, math.Min(MaxLodBias, bias))
	least := float64(r.s.MinLod)
	if r.lookup.HasMinLod {
		least = math.Max(least, float64(float(r.lookup.MinLod[r.lane])))
	}
	lambda = math.Min(math.Max(lambda, least), float64(r.s.MaxLod))
	linear := r.s.MinFilter == vk.FILTER_LINEAR
	if lambda <= 0 {
		linear = r.s.MagFilter == vk.FILTER_LINEAR
	}
	if r.v.format.Class != texel.Float {
		linear = false
	}
	q := float64(r.p.layout.Levels - 1)
	d := math.Max(0, math.Min(q, lambda))
	if r.s.MipmapMode == vk.SAMPLER_MIPMAP_MODE_NEAREST || r.v.format.Class != texel.Float {
		level := math.Ceil(d+0.5) - 1
		if r.s.MipmapMode == vk.SAMPLER_MIPMAP_MODE_LINEAR {
			level = math.Floor(d)
		}
		return r.level(uint32(level), linear)
	}
	high := math.Floor(d)
	a := r.level(uint32(high), linear)
	if d == high {
		return a
	}
	b := r.level(uint32(math.Min(high+1, q)), linear)
	return r.combine([]numbers{a, b}, []float64{1 - (d - high), d - high})
}

func (r *reference) combine(n []numbers, weights []float64) (sum numbers) {
	first := true
	for i := range n {
		if weights[i] == 0 {
			continue
		}
		for c := range sum {
			switch {
			case r.s.ReductionMode == vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE:
				sum[c] += n[i][c] * weights[i]
			case first:
				sum[c] = n[i][c]
			case r.s.ReductionMode == vk.SAMPLER_REDUCTION_MODE_MIN:
				sum[c] = math.Min(sum[c], n[i][c])
			default:
				sum[c] = math.Max(sum[c], n[i][c])
			}
		}
		first = false
	}
	return sum
}

func (r *reference) level(level uint32, linear bool) numbers {
	e := r.p.extent(level)
	layer := 0
	if r.v.arrayed {
		layer = int(math.Max(0, math.Min(float64(r.p.layout.Layers-1), math.RoundToEven(r.coordinate(r.v.axes)))))
	}
	var at [3]int
	var weights [3]float64
	for axis := range r.v.axes {
		u := r.coordinate(axis)
		if !r.s.UnnormalizedCoordinates {
			u *= float64(e[axis])
		}
		if linear {
			u -= 0.5
		}
		at[axis] = int(math.Floor(u))
		weights[axis] = u - math.Floor(u)
		if r.lookup.HasOffset {
			at[axis] += int(int32(r.lookup.Offset[axis][r.lane]))
		}
	}
	if !linear {
		return r.fetch(level, layer, at)
	}
	var all []numbers
	var products []float64
	for n := range 1 << r.v.axes {
		here, weight := at, 1.0
		for axis := range r.v.axes {
			if n>>axis&1 != 0 {
				here[axis]++
				weight *= weights[axis]
			} else {
				weight *= 1 - weights[axis]
			}
		}
		all, products = append(all, r.fetch(level, layer, here)), append(products, weight)
	}
	return r.combine(all, products)
}
