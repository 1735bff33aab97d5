package conformance

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"farside/internal/sampling"
	"farside/internal/vk"
)

// A texturePlace is what an invocation of image/lookup.comp takes, as the shader's struct Item.
type texturePlace struct {
	at, dx, dy [4]float32
	lod, dref  float32
	_          [2]float32
}

// A textureCase looks places up by an expression, and compares with what the reference gives for the same.
type textureCase struct {
	name    string
	sampler string // GLSL's type
	expr    string
	texture textureConfig
	with    sampling.SamplerInfo
	compare bool
	gather  int                                       // component + 1
	fetch   bool                                      // the coordinates are of texels, in level 0
	sample  bool                                      // and lod is the number of a sample
	shifts  *[4][2]int32                              // of a gather
	always  *float32                                  // every component of every result, whatever the reference says
	prepare func(p *texturePlace, r *rand.Rand)       // changes what random made
	lookup  func(q *sampling.Lookup, p *texturePlace) // tells the reference what expr says
	// how far other drivers may be away, if 0 a step of an 8-bit weight or two
	loose      float64
	needs      []string // features
	extensions []string // of the device
}

const texturePlaces = 500

// axesOf is how many coordinates besides the layer a lookup has, and whether it has a layer.
func axesOf(t vk.ImageViewType) (axes int, layers bool) {
	switch t {
	case vk.IMAGE_VIEW_TYPE_1D:
		return 1, false
	case vk.IMAGE_VIEW_TYPE_1D_ARRAY:
		return 1, true
	case vk.IMAGE_VIEW_TYPE_2D_ARRAY:
		return 2, true
	case vk.IMAGE_VIEW_TYPE_3D, vk.IMAGE_VIEW_TYPE_CUBE:
		return 3, false
	case vk.IMAGE_VIEW_TYPE_CUBE_ARRAY:
		return 3, true
	}
	return 2, false
}

// place makes coordinates well inside of texels, whichever level they are of, some outside of the image.
func (t *textureCase) place(r *rand.Rand) (p texturePlace) {
	// Which texels a gather takes changes in their middle, where drivers round to 1/2^subTexelPrecisionBits.
	in := func() float64 {
		if t.gather != 0 {
			return 0.1 + 0.3*r.Float64() + 0.5*float64(r.IntN(2))
		}
		return 0.25 + r.Float64()/2
	}
	axes, layers := axesOf(t.texture.view)
	for axis := range axes {
		n := float64(t.texture.extent[axis])
		p.at[axis] = float32((math.Floor(r.Float64()*3*n-n) + in()) / n)
	}
	if t.texture.cube() {
		// A face, and a place on it that is nowhere near its edges in texels of the smallest level, or very near.
		n := float64(t.texture.extent[0])
		on := func() float32 { return float32((math.Floor(r.Float64()*n)+in())/n*2 - 1) }
		axis := r.IntN(3)
		p.at[axis], p.at[(axis+1)%3], p.at[(axis+2)%3] = float32(r.IntN(2)*2-1), on(), on()
	}
	if layers {
		p.at[axes] = float32(r.IntN(6)-1) + float32(r.Float64()-0.5)*0.8
	}
	p.lod = float32(r.IntN(6)-1) + float32(r.Float64()-0.5)*0.6
	p.dref = float32(r.Float64()*2.4 - 1.2)
	return p
}

func (t *textureCase) run(c *Case) {
	tex := c.texture(t.texture)
	defer tex.free()
	s, reference, free := c.sampler(t.with, t.compare)
	defer free()
	r := rand.New(rand.NewPCG(t.texture.seed, 99))
	places := make([]texturePlace, texturePlaces)
	for i := range places {
		places[i] = t.place(r)
		if t.prepare != nil {
			t.prepare(&places[i], r)
		}
	}
	kind := "vec4"
	if strings.HasPrefix(t.sampler, "u") || strings.HasPrefix(t.sampler, "i") {
		kind = t.sampler[:1] + "vec4"
	}
	out := make([]uint32, 4*len(places))
	c.dispatch(dispatch{
		shader:  glsl("image/lookup.comp", "TYPE="+kind, "SAMPLER="+t.sampler, "EXPR="+t.expr),
		groups:  [3]uint32{(texturePlaces + 31) / 32},
		buffers: []any{out, places, tex.descriptor(vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, s)},
	})
	v := tex.reference()
	bad := 0
	for i := range places {
		want := t.want(v, reference, &places[i])
		for n, w := range want {
			if !t.same(c, kind, out[4*i+n], w) {
				if bad++; bad <= 3 {
					c.Errorf("place %d, %+v: component %d is %v (%#x), want %v (%#x)", i, places[i], n,
						math.Float32frombits(out[4*i+n]), out[4*i+n], math.Float32frombits(w), w)
				}
			}
		}
	}
	if bad > 3 {
		c.Errorf("%d of %d components are wrong", bad, 4*len(places))
	}
}

func (t *textureCase) want(v *sampling.View, s *sampling.Sampler, p *texturePlace) (want [4]uint32) {
	if t.always != nil {
		n := math.Float32bits(*t.always)
		return [4]uint32{n, n, n, n}
	}
	q := sampling.Lookup{Mode: sampling.LodExplicit, Compare: t.compare}
	for axis, at := range p.at {
		q.Coordinates[axis][0] = math.Float32bits(at)
	}
	q.Lod[0], q.Dref[0] = math.Float32bits(p.lod), math.Float32bits(p.dref)
	if t.lookup != nil {
		t.lookup(&q, p)
	}
	var got sampling.Texels
	switch {
	case t.fetch:
		var at [3]sampling.Lanes
		for axis := range at {
			at[axis][0] = uint32(int32(p.at[axis]))
		}
		var sample *sampling.Lanes
		if t.sample {
			sample = &sampling.Lanes{uint32(int32(p.lod))}
		}
		v.Fetch(&got, &at, nil, sample, 1)
		got[3][0] = 0
	case t.gather != 0:
		v.Routine(s, &q).Gather(&got, &q, uint32(t.gather-1), t.shifts, 1)
	default:
		v.Routine(s, &q).Sample(&got, &q, 1)
	}
	for n := range want {
		want[n] = got[n][0]
		if t.compare && t.gather == 0 && n > 0 {
			want[n] = 0
		}
	}
	return want
}

func (t *textureCase) same(c *Case, kind string, got, want uint32) bool {
	if kind != "vec4" || got == want {
		return got == want
	}
	tolerance := t.loose
	switch {
	case c.driver == "farside":
		tolerance = 1e-6
	case tolerance == 0:
		tolerance = 0.025
	}
	return math.Abs(float64(math.Float32frombits(got))-float64(math.Float32frombits(want))) <= tolerance
}

// textureShapes are all that can be sampled.
var textureShapes = []struct {
	name, sampler, at string
	view              vk.ImageViewType
	extent            [3]uint32
	layers            uint32
}{
	{"1d", "sampler1D", "t.at.x", vk.IMAGE_VIEW_TYPE_1D, [3]uint32{32, 1, 1}, 1},
	{"1d_array", "sampler1DArray", "t.at.xy", vk.IMAGE_VIEW_TYPE_1D_ARRAY, [3]uint32{32, 1, 1}, 3},
	{"2d", "sampler2D", "t.at.xy", vk.IMAGE_VIEW_TYPE_2D, [3]uint32{32, 16, 1}, 1},
	{"2d_array", "sampler2DArray", "t.at.xyz", vk.IMAGE_VIEW_TYPE_2D_ARRAY, [3]uint32{16, 32, 1}, 3},
	{"3d", "sampler3D", "t.at.xyz", vk.IMAGE_VIEW_TYPE_3D, [3]uint32{16, 8, 8}, 1},
	{"cube", "samplerCube", "t.at.xyz", vk.IMAGE_VIEW_TYPE_CUBE, [3]uint32{16, 16, 1}, 6},
	{"cube_array", "samplerCubeArray", "t.at", vk.IMAGE_VIEW_TYPE_CUBE_ARRAY, [3]uint32{16, 16, 1}, 12},
}

func everyAxis(mode vk.SamplerAddressMode) [3]vk.SamplerAddressMode {
	return [3]vk.SamplerAddressMode{mode, mode, mode}
}

// blockFormats are compressed formats of each kind: all of BC, which lavapipe has, too.
var blockFormats = []vk.Format{
	vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_BC1_RGB_SRGB_BLOCK, vk.FORMAT_BC1_RGBA_UNORM_BLOCK,
	vk.FORMAT_BC1_RGBA_SRGB_BLOCK, vk.FORMAT_BC2_UNORM_BLOCK, vk.FORMAT_BC2_SRGB_BLOCK, vk.FORMAT_BC3_UNORM_BLOCK,
	vk.FORMAT_BC3_SRGB_BLOCK, vk.FORMAT_BC4_UNORM_BLOCK, vk.FORMAT_BC4_SNORM_BLOCK, vk.FORMAT_BC5_UNORM_BLOCK,
	vk.FORMAT_BC5_SNORM_BLOCK, vk.FORMAT_BC6H_UFLOAT_BLOCK, vk.FORMAT_BC6H_SFLOAT_BLOCK, vk.FORMAT_BC7_UNORM_BLOCK,
	vk.FORMAT_BC7_SRGB_BLOCK,
	vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK, vk.FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK, vk.FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK,
	vk.FORMAT_EAC_R11_UNORM_BLOCK, vk.FORMAT_EAC_R11G11_SNORM_BLOCK,
	vk.FORMAT_ASTC_4x4_UNORM_BLOCK, vk.FORMAT_ASTC_5x4_SRGB_BLOCK, vk.FORMAT_ASTC_8x5_UNORM_BLOCK,
	vk.FORMAT_ASTC_12x10_SRGB_BLOCK, vk.FORMAT_ASTC_12x12_UNORM_BLOCK,
}

// legalASTC makes blocks with a grid of 4 x 2 weights of three bits and one pair of random colours with alpha. Random
// bits would be errors mostly.
func legalASTC(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 100))
	data := make([]byte, 64*16)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for at := 0; at < len(data); at += 16 {
		data[at], data[at+1], data[at+2] = 0x13, 0x80, data[at+2]|1
	}
	return data
}

// seamCases are cubes whose faces end at their edges, as pictures do (VK_EXT_non_seamless_cube_map).
func seamCases(add func(textureCase)) {
	for _, mode := range []vk.SamplerAddressMode{vk.SAMPLER_ADDRESS_MODE_REPEAT, vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
		vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER} {
		name := strings.ToLower(strings.TrimPrefix(mode.String(), "VK_SAMPLER_ADDRESS_MODE_"))
		add(textureCase{name: "non_seamless." + name, sampler: "samplerCube", expr: "textureLod(s, t.at.xyz, 0.0)",
			texture: textureConfig{format: vk.FORMAT_R8G8B8A8_UNORM, view: vk.IMAGE_VIEW_TYPE_CUBE,
				extent: [3]uint32{4, 4, 1}, levels: 1, layers: 6},
			with: sampling.SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR, NonSeamlessCubeMap: true,
				AddressMode: everyAxis(mode), BorderColor: vk.BORDER_COLOR_FLOAT_OPAQUE_WHITE},
			lookup: func(q *sampling.Lookup, _ *texturePlace) { q.Lod[0] = 0 },
			needs:  []string{"NonSeamlessCubeMap"}, extensions: []string{vk.EXT_NON_SEAMLESS_CUBE_MAP_EXTENSION_NAME}})
	}
}

// textureCases mirror glsl.texture_functions, and pipeline.sampler for what samplers do.
func textureCases() (list []definition) {
	plane := textureConfig{format: vk.FORMAT_R8G8B8A8_UNORM, view: vk.IMAGE_VIEW_TYPE_2D, extent: [3]uint32{32, 16, 1},
		levels: 4, layers: 1}
	depth := plane
	depth.format = vk.FORMAT_D32_SFLOAT
	linear := sampling.SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
		MipmapMode: vk.SAMPLER_MIPMAP_MODE_NEAREST, MaxLod: 8}
	nearest := sampling.SamplerInfo{MaxLod: 8}
	shadow := linear
	shadow.CompareOp = vk.COMPARE_OP_LESS
	add := func(t textureCase) {
		t.texture.usage, t.texture.seed = vk.IMAGE_USAGE_SAMPLED_BIT, uint64(len(list)) // the order is always the same
		// Depth and stencil cannot be copied to on a queue without graphics
		// (VUID-vkCmdCopyBufferToImage-commandBuffer-07739), and a reduction wants the feature of Vulkan 1.2, not only the
		// extension (VUID-VkSamplerCreateInfo-pNext-06726).
		valid := t.texture.everything().AspectMask == color && t.with.ReductionMode == 0
		list = append(list, definition{name: "glsl.texture_functions." + t.name, compute: true, valid: valid, needs: t.needs,
			extensions: t.extensions, run: t.run})
	}
	for _, s := range textureShapes {
		config := textureConfig{format: vk.FORMAT_R8G8B8A8_UNORM, view: s.view, extent: s.extent, levels: 3, layers: s.layers}
		var needs []string
		if s.view == vk.IMAGE_VIEW_TYPE_CUBE_ARRAY {
			needs = []string{"ImageCubeArray"}
		}
		between := linear
		between.MipmapMode = vk.SAMPLER_MIPMAP_MODE_LINEAR
		expr := "textureLod(s, " + s.at + ", t.lod)"
		add(textureCase{name: "texturelod.nearest." + s.name, sampler: s.sampler, expr: expr, texture: config, with: nearest,
			needs: needs})
		add(textureCase{name: "texturelod.linear." + s.name, sampler: s.sampler, expr: expr, texture: config, with: linear,
			needs: needs})
		add(textureCase{name: "texturelod.between_levels." + s.name, sampler: s.sampler, expr: expr, texture: config,
			with: between, needs: needs, loose: 0.05})
	}
	seamCases(add)
	modes := map[string]vk.SamplerAddressMode{"repeat": vk.SAMPLER_ADDRESS_MODE_REPEAT,
		"mirrored_repeat": vk.SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
		"clamp_to_edge":   vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, "clamp_to_border": vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
		"mirror_clamp_to_edge": vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE}
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		mode := modes[name]
		for _, filter := range []sampling.SamplerInfo{nearest, linear} {
			filter.AddressMode, filter.BorderColor = everyAxis(mode), vk.BORDER_COLOR_FLOAT_OPAQUE_WHITE
			way := []string{"nearest.", "linear."}[filter.MagFilter]
			t := textureCase{name: "address_modes." + way + name, sampler: "sampler2D", expr: "textureLod(s, t.at.xy, 0.0)",
				texture: plane, with: filter,
				lookup: func(q *sampling.Lookup, _ *texturePlace) { q.Lod[0] = 0 }}
			if mode == vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE {
				t.extensions = []string{vk.KHR_SAMPLER_MIRROR_CLAMP_TO_EDGE_EXTENSION_NAME}
			}
			add(t)
		}
	}
	add(textureCase{name: "textureloadoffset", sampler: "sampler2D",
		expr: "textureLodOffset(s, t.at.xy, 1.0, ivec2(-8, 7))", texture: plane, with: linear,
		lookup: func(q *sampling.Lookup, _ *texturePlace) {
			q.Lod[0], q.HasOffset = math.Float32bits(1), true
			q.Offset[0][0], q.Offset[1][0] = uint32(math.MaxUint32-7), 7
		}})
	add(textureCase{name: "textureprojlod", sampler: "sampler2D",
		expr: "textureProjLod(s, vec4(t.at.xy * 4.0, 99, 4.0), 0.0)", texture: plane, with: linear,
		lookup: func(q *sampling.Lookup, _ *texturePlace) { q.Lod[0] = 0 }})
	add(textureCase{name: "texturegrad", sampler: "sampler2D", expr: "textureGrad(s, t.at.xy, t.dx.xy, t.dy.xy)",
		texture: plane, with: linear,
		prepare: func(p *texturePlace, r *rand.Rand) {
			p.dx, p.dy = [4]float32{0.01}, [4]float32{0, float32(math.Exp2(float64(r.IntN(5)-1))) / 16}
			if r.IntN(2) == 0 {
				p.dx, p.dy = [4]float32{float32(math.Exp2(float64(r.IntN(5)-1))) / 32}, [4]float32{0, 0.01}
			}
		},
		lookup: func(q *sampling.Lookup, p *texturePlace) {
			q.Mode = sampling.LodGradient
			for axis := range 2 {
				q.Dx[axis][0], q.Dy[axis][0] = math.Float32bits(p.dx[axis]), math.Float32bits(p.dy[axis])
			}
		}})
	zero := func(q *sampling.Lookup, _ *texturePlace) { q.Lod[0] = 0 }
	add(textureCase{name: "shadow", sampler: "sampler2DShadow",
		expr: "vec4(textureLod(s, vec3(t.at.xy, t.dref), 0.0), 0, 0, 0)", texture: depth, with: shadow, compare: true,
		lookup: zero})
	add(textureCase{name: "shadow_gather", sampler: "sampler2DShadow", expr: "textureGather(s, t.at.xy, t.dref)",
		texture: depth, with: shadow, compare: true, gather: 1, lookup: zero})
	// The swizzle is of results of comparisons, too, and a gather of them has the first component (section "Component
	// Swizzle" of chapter "Image Operations").
	for result, from := range []vk.ComponentSwizzle{vk.COMPONENT_SWIZZLE_ZERO, vk.COMPONENT_SWIZZLE_ONE} {
		name := []string{"zero", "one"}[result]
		swizzled, result := depth, float32(result)
		swizzled.swizzle.R = from
		add(textureCase{name: "shadow_swizzle." + name, sampler: "sampler2DShadow", texture: swizzled, with: shadow,
			compare: true, always: &result, expr: "vec4(textureLod(s, vec3(t.at.xy, t.dref), 0.0))"})
		add(textureCase{name: "shadow_gather_swizzle." + name, sampler: "sampler2DShadow", texture: swizzled, with: shadow,
			compare: true, always: &result, expr: "textureGather(s, t.at.xy, t.dref)"})
	}
	add(textureCase{name: "texturegather", sampler: "sampler2D", expr: "textureGather(s, t.at.xy, 2)", texture: plane,
		with: linear, gather: 3, lookup: zero})
	add(textureCase{name: "texturegather_cube", sampler: "samplerCube", expr: "textureGather(s, t.at.xyz, 1)", gather: 2,
		lookup: zero, with: linear,
		texture: textureConfig{format: vk.FORMAT_R8G8B8A8_UNORM, view: vk.IMAGE_VIEW_TYPE_CUBE, extent: [3]uint32{16, 16, 1},
			levels: 1, layers: 6}})
	add(textureCase{name: "texturegatheroffsets", sampler: "sampler2D", texture: plane, with: linear, gather: 1,
		lookup: zero, needs: []string{"ShaderImageGatherExtended"},
		expr:   "textureGatherOffsets(s, t.at.xy, ivec2[](ivec2(1, 2), ivec2(-3, 4), ivec2(5, -6), ivec2(-8, 7)), 0)",
		shifts: &[4][2]int32{{1, 2}, {-3, 4}, {5, -6}, {-8, 7}}})
	// What is outside is 0, of an alpha that the feature leaves open; also far outside, and where numbers overflow.
	outside := func(p *texturePlace, r *rand.Rand) {
		for axis := range p.at {
			p.at[axis] = float32(r.IntN(120) - 40)
			if r.IntN(8) == 0 {
				p.at[axis] = []float32{-1, 1 << 30, -(1 << 31), 65536}[r.IntN(4)]
			}
		}
	}
	array := textureConfig{format: vk.FORMAT_R16G16_SFLOAT, view: vk.IMAGE_VIEW_TYPE_2D_ARRAY,
		extent: [3]uint32{32, 32, 1}, levels: 1, layers: 40}
	volume := textureConfig{format: vk.FORMAT_R8G8B8A8_UNORM, view: vk.IMAGE_VIEW_TYPE_3D, extent: [3]uint32{32, 16, 32},
		levels: 1, layers: 1}
	add(textureCase{name: "texelfetch_outside.2d", sampler: "sampler2D",
		expr: "vec4(texelFetch(s, ivec2(t.at.xy), 0).rgb, 0)", texture: plane, fetch: true, prepare: outside,
		needs: []string{"RobustImageAccess"}})
	add(textureCase{name: "texelfetch_outside.2d_array", sampler: "sampler2DArray",
		expr: "vec4(texelFetch(s, ivec3(t.at.xyz), 0).rgb, 0)", texture: array, fetch: true, prepare: outside,
		needs: []string{"RobustImageAccess"}})
	add(textureCase{name: "texelfetch_outside.3d", sampler: "sampler3D",
		expr: "vec4(texelFetch(s, ivec3(t.at.xyz), 0).rgb, 0)", texture: volume, fetch: true, prepare: outside,
		needs: []string{"RobustImageAccess"}})
	swizzled := plane
	swizzled.swizzle = vk.ComponentMapping{R: vk.COMPONENT_SWIZZLE_B, G: vk.COMPONENT_SWIZZLE_ONE,
		B: vk.COMPONENT_SWIZZLE_ZERO, A: vk.COMPONENT_SWIZZLE_R}
	add(textureCase{name: "swizzle", sampler: "sampler2D", expr: "textureLod(s, t.at.xy, t.lod)", texture: swizzled,
		with: linear})
	most := linear
	most.ReductionMode = vk.SAMPLER_REDUCTION_MODE_MAX
	add(textureCase{name: "reduction_max", sampler: "sampler2D", expr: "textureLod(s, t.at.xy, 0.0)", texture: plane,
		with: most, lookup: zero, extensions: []string{vk.EXT_SAMPLER_FILTER_MINMAX_EXTENSION_NAME}, loose: 1e-3,
		// not so near the middle of a texel that another's weight may be rounded to 0
		prepare: func(p *texturePlace, _ *rand.Rand) {
			for axis := range 2 {
				n := float64(plane.extent[axis])
				p.at[axis] = float32((math.Floor(float64(p.at[axis])*n) + 0.3) / n)
			}
		}})
	floats := map[string]vk.Format{"r8_snorm": vk.FORMAT_R8_SNORM, "b8g8r8a8_srgb": vk.FORMAT_B8G8R8A8_SRGB,
		"r5g6b5":      vk.FORMAT_R5G6B5_UNORM_PACK16,
		"a2b10g10r10": vk.FORMAT_A2B10G10R10_UNORM_PACK32, "b10g11r11": vk.FORMAT_B10G11R11_UFLOAT_PACK32,
		"e5b9g9r9":   vk.FORMAT_E5B9G9R9_UFLOAT_PACK32,
		"r16_sfloat": vk.FORMAT_R16_SFLOAT, "r16g16b16a16_snorm": vk.FORMAT_R16G16B16A16_SNORM,
		"r32g32b32a32_sfloat": vk.FORMAT_R32G32B32A32_SFLOAT, "d16_unorm": vk.FORMAT_D16_UNORM}
	for _, name := range slices.Sorted(maps.Keys(floats)) {
		f := floats[name]
		config := plane
		config.format = f
		add(textureCase{name: "formats." + name, sampler: "sampler2D", expr: "textureLod(s, t.at.xy, 0.0)", texture: config,
			with: linear, lookup: zero})
	}
	for _, f := range blockFormats {
		config := plane
		config.format = f
		needs := "TextureCompressionETC2"
		switch name := caseName(f); {
		case strings.HasPrefix(name, "bc"):
			needs = "TextureCompressionBC"
		case strings.HasPrefix(name, "astc"):
			needs = "TextureCompressionASTC_LDR"
			config.data = legalASTC(uint64(f))
		}
		add(textureCase{name: "formats." + strings.TrimSuffix(caseName(f), "_block"), sampler: "sampler2D",
			expr: "textureLod(s, t.at.xy, t.lod)", texture: config, with: nearest, needs: []string{needs}})
	}
	uints := map[string]vk.Format{"r8g8b8a8_uint": vk.FORMAT_R8G8B8A8_UINT, "r16g16_uint": vk.FORMAT_R16G16_UINT,
		"r32_uint": vk.FORMAT_R32_UINT, "s8_uint": vk.FORMAT_S8_UINT}
	for _, name := range slices.Sorted(maps.Keys(uints)) {
		f := uints[name]
		config := plane
		config.format = f
		add(textureCase{name: "formats." + name, sampler: "usampler2D", expr: "textureLod(s, t.at.xy, t.lod)",
			texture: config, with: nearest})
	}
	config := plane
	config.format = vk.FORMAT_R16G16B16A16_SINT
	add(textureCase{name: "formats.r16g16b16a16_sint", sampler: "isampler2D", expr: "textureLod(s, t.at.xy, t.lod)",
		texture: config, with: nearest})
	return list
}
