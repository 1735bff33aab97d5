package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

var planarTypes = []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_1D_ARRAY, vk.IMAGE_VIEW_TYPE_2D,
	vk.IMAGE_VIEW_TYPE_2D_ARRAY, vk.IMAGE_VIEW_TYPE_3D}

// shape returns an extent and layers that a view type can have.
func shape(viewType vk.ImageViewType) (extent [3]uint32, levels, layers uint32) {
	switch viewType {
	case vk.IMAGE_VIEW_TYPE_1D:
		return [3]uint32{13, 1, 1}, 4, 1
	case vk.IMAGE_VIEW_TYPE_1D_ARRAY:
		return [3]uint32{13, 1, 1}, 4, 3
	case vk.IMAGE_VIEW_TYPE_2D_ARRAY:
		return [3]uint32{13, 7, 1}, 4, 3
	case vk.IMAGE_VIEW_TYPE_3D:
		return [3]uint32{13, 7, 5}, 4, 1
	case vk.IMAGE_VIEW_TYPE_CUBE:
		return [3]uint32{8, 8, 1}, 4, 6
	case vk.IMAGE_VIEW_TYPE_CUBE_ARRAY:
		return [3]uint32{8, 8, 1}, 4, 12
	}
	return [3]uint32{13, 7, 1}, 4, 1
}

func randomLookup(r *rand.Rand, v *View, s *SamplerInfo) *Lookup {
	q := &Lookup{Mode: LodMode(r.IntN(3)), HasBias: r.IntN(4) == 0, HasMinLod: r.IntN(4) == 0, HasOffset: r.IntN(2) == 0}
	if s.UnnormalizedCoordinates {
		q.Mode, q.HasBias, q.HasMinLod, q.HasOffset = LodZero, false, false, false
	}
	for i := range Width {
		for axis := range v.axes {
			c := r.Float64()*4 - 1.5
			if s.UnnormalizedCoordinates {
				c *= v.levels[0].texels[axis]
			}
			q.Coordinates[axis][i] = bits(float32(c))
			q.Dx[axis][i] = bits(float32(r.NormFloat64() * 0.3))
			q.Dy[axis][i] = bits(float32(r.NormFloat64() * 0.3))
			q.Offset[axis][i] = uint32(r.IntN(16) - 8)
		}
		if v.arrayed {
			q.Coordinates[v.axes][i] = bits(float32(r.Float64()*6 - 2))
		}
		q.Lod[i] = bits(float32(r.Float64()*6 - 2))
		q.Bias[i] = bits(float32(r.Float64()*2 - 1))
		q.MinLod[i] = bits(float32(r.Float64() * 2))
		q.Dref[i] = bits(float32(r.Float64()*1.4 - 0.2))
	}
	return q
}

func randomSampler(r *rand.Rand) *SamplerInfo {
	s := &SamplerInfo{
		MagFilter: vk.Filter(r.IntN(2)), MinFilter: vk.Filter(r.IntN(2)), MipmapMode: vk.SamplerMipmapMode(r.IntN(2)),
		MipLodBias: float32(r.IntN(3)-1) / 2, MinLod: float32(r.IntN(3)) / 2, MaxLod: float32(r.IntN(8)) / 2,
		BorderColor: vk.BorderColor(r.IntN(6)), CompareOp: vk.COMPARE_OP_GREATER_OR_EQUAL,
	}
	s.MaxLod = max(s.MaxLod, s.MinLod)
	for axis := range s.AddressMode {
		s.AddressMode[axis] = vk.SamplerAddressMode(r.IntN(5))
	}
	return s
}

// value returns a lane's result as numbers.
func value(v *View, t *Texels, lane int, float32s bool) (n numbers) {
	for c := range n {
		switch {
		case float32s || v.format.Class == texel.Float:
			n[c] = float64(float(t[c][lane]))
		case v.format.Class == texel.Sint:
			n[c] = float64(int32(t[c][lane]))
		default:
			n[c] = float64(t[c][lane])
		}
	}
	return n
}

func same(got, want numbers, tolerance float64) bool {
	for c := range got {
		if !(math.Abs(got[c]-want[c]) <= tolerance) {
			return false
		}
	}
	return true
}

// sampledFormats are one or two of each way to read texels.
var sampledFormats = []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_SRGB, vk.FORMAT_R8_SNORM,
	vk.FORMAT_R5G6B5_UNORM_PACK16,
	vk.FORMAT_A2B10G10R10_UNORM_PACK32, vk.FORMAT_B10G11R11_UFLOAT_PACK32, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32,
	vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16B16A16_SNORM, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R32G32B32A32_SFLOAT,
	vk.FORMAT_D16_UNORM,
	vk.FORMAT_D32_SFLOAT, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_R8G8_UINT, vk.FORMAT_R16G16_SINT, vk.FORMAT_R32G32_UINT,
	vk.FORMAT_S8_UINT,
	vk.FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK, vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK, vk.FORMAT_EAC_R11G11_SNORM_BLOCK,
	vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_BC3_SRGB_BLOCK, vk.FORMAT_BC4_SNORM_BLOCK, vk.FORMAT_BC7_UNORM_BLOCK,
	vk.FORMAT_ASTC_8x6_SFLOAT_BLOCK, vk.FORMAT_ASTC_5x4_UNORM_BLOCK, vk.FORMAT_ASTC_12x10_SRGB_BLOCK}

// Sampling is held against the specification's formulas, for all view types, address modes, filters and ways to say
// the level of detail. Cubes have a test of their own.
func TestSampleAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, viewType := range planarTypes {
		for _, format := range sampledFormats {
			extent, levels, layers := shape(viewType)
			p, v := newPicture(t, r, format, viewType, extent, levels, layers)
			for range 40 {
				checkSample(t, r, p, v, randomSampler(r))
			}
		}
	}
}

func checkSample(t *testing.T, r *rand.Rand, p *picture, v *View, s *SamplerInfo) {
	t.Helper()
	intBorder := s.BorderColor&1 == 1 // the integer colours have odd numbers
	if intBorder != (v.format.Class != texel.Float) {
		s.BorderColor ^= 1
	}
	q := randomLookup(r, v, s)
	q.Compare = p.info.Range.AspectMask == vk.IMAGE_ASPECT_DEPTH_BIT && r.IntN(2) == 0
	if v.format.Linear() && r.IntN(4) == 0 && !q.Compare {
		s.ReductionMode = vk.SamplerReductionMode(1 + r.IntN(2))
	}
	var got Texels
	v.Routine(NewSampler(s), q).Sample(&got, q, All)
	for lane := range Width {
		ref := reference{p: p, v: v, s: s, lookup: q, lane: lane}
		want := ref.sample()
		if n := value(v, &got, lane, q.Compare); !same(n, want, 1e-5) {
			t.Fatalf("%v %v, %+v, lookup %v: %v, want %v", p.info.Type, p.info.Format, *s, describe(q, lane), n, want)
		}
	}
}

// With linear filters: the nearest texel would differ where the reference rounds a coordinate to 32 bits.
func TestAnisotropyAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, viewType := range []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_2D_ARRAY} {
		for _, levels := range []uint32{1, 4} {
			extent, _, layers := shape(viewType)
			p, v := newPicture(t, r, vk.FORMAT_R8G8B8A8_UNORM, viewType, extent, levels, layers)
			for range 100 {
				s := &SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
					MipmapMode: vk.SAMPLER_MIPMAP_MODE_LINEAR, MaxLod: 9,
					MaxAnisotropy: float32(1 + r.Float64()*15)}
				q := randomLookup(r, v, s)
				q.Mode = LodGradient
				var got Texels
				v.Routine(NewSampler(s), q).Sample(&got, q, All)
				for lane := range Width {
					ref := reference{p: p, v: v, s: s, lookup: q, lane: lane}
					if n, want := value(v, &got, lane, false), ref.sample(); !same(n, want, 1e-4) {
						t.Fatalf("%v, anisotropy %v, %v: %v, want %v", viewType, s.MaxAnisotropy, describe(q, lane), n, want)
					}
				}
			}
		}
	}
}

// TestWeightsOfZero samples exactly at the centres of texels, and at whole levels of detail: what lies beside them has
// the weight 0 and does not count, in any reduction mode.
func TestWeightsOfZero(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, viewType := range append([]vk.ImageViewType{vk.IMAGE_VIEW_TYPE_CUBE}, planarTypes...) {
		_, levels, layers := shape(viewType)
		extent := [3]uint32{8, 8, 1}
		switch viewType {
		case vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_1D_ARRAY:
			extent[1] = 1
		case vk.IMAGE_VIEW_TYPE_3D:
			extent[2] = 8
		}
		sizes := extent
		if viewType == vk.IMAGE_VIEW_TYPE_CUBE {
			sizes[2] = 8 // of the direction
		}
		p, v := newPicture(t, r, vk.FORMAT_R8G8B8A8_UNORM, viewType, extent, levels, layers)
		for mode := range vk.SAMPLER_REDUCTION_MODE_MAX + 1 {
			s := &SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
				MipmapMode: vk.SAMPLER_MIPMAP_MODE_LINEAR, MaxLod: 9, ReductionMode: mode}
			nearest := &SamplerInfo{MipmapMode: vk.SAMPLER_MIPMAP_MODE_NEAREST, MaxLod: 9}
			for range 20 {
				q := &Lookup{Mode: LodExplicit}
				for i := range Width {
					level := r.IntN(int(levels) - 1)
					q.Lod[i] = bits(float32(level))
					for axis := range 3 {
						size := max(sizes[axis]>>level, 1)
						q.Coordinates[axis][i] = bits((float32(r.IntN(int(size))) + 0.5) / float32(size))
					}
				}
				if v.cube { // the middle of a face's texel, in the direction of +x
					for i := range Width {
						for axis := 1; axis < 3; axis++ {
							q.Coordinates[axis][i] = bits(2*float(q.Coordinates[axis][i]) - 1)
						}
						q.Coordinates[0][i] = bits(1)
					}
				}
				var got, want Texels
				v.Routine(NewSampler(s), q).Sample(&got, q, All)
				v.Routine(NewSampler(nearest), q).Sample(&want, q, All)
				for lane := range Width {
					if n, w := value(v, &got, lane, false), value(v, &want, lane, false); !same(n, w, 0) {
						t.Fatalf("%v, mode %v, %s: %v, want %v", p.info.Type, mode, describe(q, lane), n, w)
					}
				}
			}
		}
	}
}

func describe(q *Lookup, lane int) string {
	var c [4]float32
	for i := range c {
		c[i] = float(q.Coordinates[i][lane])
	}
	return fmt.Sprintf("%v mode %d lod %v bias %v minLod %v offset %v", c, q.Mode, float(q.Lod[lane]), q.HasBias,
		q.HasMinLod, q.HasOffset)
}

func TestUnnormalizedCoordinates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, viewType := range []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_2D} {
		extent, _, layers := shape(viewType)
		p, v := newPicture(t, r, vk.FORMAT_R8G8B8A8_UNORM, viewType, extent, 1, layers)
		for range 40 {
			s := &SamplerInfo{UnnormalizedCoordinates: true, BorderColor: vk.BORDER_COLOR_FLOAT_OPAQUE_WHITE}
			s.MagFilter = vk.Filter(r.IntN(2))
			s.MinFilter = s.MagFilter
			mode := vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE + vk.SamplerAddressMode(r.IntN(2))
			s.AddressMode = [3]vk.SamplerAddressMode{mode, mode, mode}
			checkSample(t, r, p, v, s)
		}
	}
}

// Every number that floats and integers can be passes through without a fault.
func TestSampleOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	odd := []uint32{0, 1 << 31, bits(float32(math.Inf(1))), bits(float32(math.Inf(-1))), bits(float32(math.NaN())),
		bits(math.MaxFloat32),
		bits(-math.MaxFloat32), bits(1), bits(-1), bits(0.5), 1, math.MaxUint32, 1 << 30}
	any := func() uint32 {
		if r.IntN(3) == 0 {
			return r.Uint32()
		}
		return odd[r.IntN(len(odd))]
	}
	types := append([]vk.ImageViewType{vk.IMAGE_VIEW_TYPE_CUBE, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY}, planarTypes...)
	for _, viewType := range types {
		extent, levels, layers := shape(viewType)
		for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32G32_UINT} {
			_, v := newPicture(t, r, format, viewType, extent, levels, layers)
			for range 300 {
				info := randomSampler(r)
				info.UnnormalizedCoordinates = r.IntN(8) == 0
				info.MaxLod, info.MinLod, info.MaxAnisotropy = float(any()), float(any()), float32(r.IntN(20))
				q := &Lookup{Mode: LodMode(r.IntN(3)), HasBias: r.IntN(2) == 0, HasMinLod: r.IntN(2) == 0,
					HasOffset: r.IntN(2) == 0}
				for i := range Width {
					for _, l := range []*Lanes{&q.Coordinates[0], &q.Coordinates[1], &q.Coordinates[2], &q.Coordinates[3], &q.Lod,
						&q.Bias, &q.MinLod,
						&q.Dx[0], &q.Dx[1], &q.Dx[2], &q.Dy[0], &q.Dy[1], &q.Dy[2], &q.Offset[0], &q.Offset[1], &q.Offset[2]} {
						l[i] = any()
					}
				}
				var got Texels
				v.Routine(NewSampler(info), q).Sample(&got, q, Mask(r.Uint32()))
				v.Routine(NewSampler(info), q).Gather(&got, q, r.Uint32(), nil, Mask(r.Uint32()))
				v.Routine(NewSampler(info), q).Gather(&got, q, 0, &[4][2]int32{{math.MaxInt32, math.MinInt32}}, All)
				at := [3]Lanes(q.Coordinates[:3])
				v.Fetch(&got, &at, &q.Lod, nil, All)
				v.Read(&got, &at, All)
				v.Write(&at, &got, All)
			}
		}
	}
}

// What a descriptor without a view or a sampler gives.
func TestNilViews(t *testing.T) {
	var v *View
	got := Texels{{1}, {2}, {3}, {4}}
	v.Routine(nil, &Lookup{}).Sample(&got, &Lookup{}, All)
	if got != (Texels{}) {
		t.Errorf("sampled: %v", got)
	}
	v.Routine(nil, &Lookup{}).Gather(&got, &Lookup{}, 0, nil, All)
	v.Fetch(&got, &[3]Lanes{}, nil, nil, All)
	v.Read(&got, &[3]Lanes{}, All)
	v.Write(&[3]Lanes{}, &got, All)
	if got != (Texels{}) || v.Levels() != 0 || v.Size(0) != [3]uint32{} {
		t.Errorf("a nil view is not empty")
	}
	_, v = newPicture(t, rand.New(rand.NewPCG(1, 1)), vk.FORMAT_R8_UINT, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{4, 4, 1}, 1, 1)
	v.Routine(nil, &Lookup{}).Sample(&got, &Lookup{}, All)
	if got[0][0] != uint32(v.data[0]) {
		t.Errorf("a nil sampler gives %d, the texel is %d", got[0][0], v.data[0])
	}
}
