package compute

import (
	"math"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

// picture is an image of its own memory, of the given texels' bytes.
func picture(t *testing.T, format vk.Format, viewType vk.ImageViewType, extent [3]uint32, levels, layers,
	samples uint32) *sampling.View {
	t.Helper()
	storage, _ := texel.FormatOf(format)
	layout, ok := texel.NewLayout(storage, extent, levels, layers, samples)
	if !ok {
		t.Fatal("no layout")
	}
	data := make([]byte, layout.Size)
	for i := range data {
		data[i] = byte(i*37 + i>>8*11)
		if format == vk.FORMAT_R32_SFLOAT && i%4 == 3 {
			data[i] = 0x3f
		}
	}
	v, err := sampling.NewImageView(&sampling.ImageView{Data: data, Layout: &layout,
		Volume: viewType == vk.IMAGE_VIEW_TYPE_3D, Type: viewType, Format: format,
		Range: vk.ImageSubresourceRange{AspectMask: storage.Planes[0].Aspect, LevelCount: levels, LayerCount: layers}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// imageHead declares views of one kind, and samplers: nearest, linear between levels, and one that compares.
const imageHead = `#version 450
#extension GL_EXT_nonuniform_qualifier : enable
#extension GL_EXT_samplerless_texture_functions : enable
#extension GL_EXT_shader_image_load_formatted : enable
#extension GL_EXT_shader_image_int64 : enable
#extension GL_EXT_shader_atomic_float : enable
#extension GL_EXT_shader_atomic_float2 : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 40) in;
layout(set=0,binding=0) buffer Out { vec4 result[]; };
layout(set=2,binding=4) uniform sampler s[3];
`

// imageShader is a shader whose result is an expression of the invocation's number i and of p, numbers between -0.5 and
// 1.5.
func imageShader(declare, body string) string {
	return imageHead + "layout(set=1,binding=3) " + declare + ";\n" + `void main() {
	uint i = gl_GlobalInvocationID.x;
	vec4 p = fract(vec4(i, i * 3, i * 7, i * 5) * 0.137) * 2.0 - 0.5;
	vec4 r = vec4(0);
` + body + `
	result[i] = r;
}
`
}

// place is p of a shader.
func place(i int) (p [4]float32) {
	for c, by := range [4]float32{1, 3, 7, 5} {
		v := float32(i) * by * 0.137
		p[c] = (v-float32(math.Floor(float64(v))))*2 - 0.5
	}
	return p
}

// What a shader gets of images is what internal/sampling gives for the same operands.
func TestImageShaders(t *testing.T) {
	two := picture(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{16, 8, 1}, 4, 1, 1)
	floats := picture(t, vk.FORMAT_R32_SFLOAT, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{8, 16, 1}, 1, 1, 1)
	array := picture(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_VIEW_TYPE_2D_ARRAY, [3]uint32{16, 8, 1}, 4, 3, 1)
	cubes := picture(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY, [3]uint32{8, 8, 1}, 3, 12, 1)
	volume := picture(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_VIEW_TYPE_3D, [3]uint32{8, 8, 8}, 3, 1, 1)
	multisampled := picture(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_VIEW_TYPE_2D_ARRAY, [3]uint32{8, 3, 1}, 1, 2, 4)
	line := picture(t, vk.FORMAT_R8G8B8A8_UINT, vk.IMAGE_VIEW_TYPE_1D_ARRAY, [3]uint32{40, 1, 1}, 1, 2, 1)
	depth := picture(t, vk.FORMAT_D16_UNORM, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{16, 8, 1}, 2, 1, 1)
	samplers := []*sampling.Sampler{
		sampling.NewSampler(&sampling.SamplerInfo{MaxLod: 10}),
		sampling.NewSampler(&sampling.SamplerInfo{MaxLod: 10, MagFilter: 1, MinFilter: 1, MipmapMode: 1}),
		sampling.NewSampler(&sampling.SamplerInfo{MaxLod: 10, MagFilter: 1, MinFilter: 1, CompareOp: vk.COMPARE_OP_LESS}),
	}
	type lookup struct {
		view     *sampling.View
		sampler  int
		at       []float32
		lod      float32
		dx, dy   []float32
		offset   []int32
		dref     float32
		compare  bool
		gather   int // component + 1
		shifts   *[4][2]int32
		gradient bool
	}
	for _, c := range []struct {
		name, declare, body string
		views               []*sampling.View
		want                func(i int, p [4]float32) lookup
	}{
		{"textureLod", "uniform texture2D t", "r = textureLod(sampler2D(t, s[1]), p.xy, p.z * 3.0);", []*sampling.View{two},
			func(i int, p [4]float32) lookup { return lookup{view: two, sampler: 1, at: p[:2], lod: p[2] * 3} }},
		{"textureLodOffset", "uniform texture2D t", "r = textureLodOffset(sampler2D(t, s[1]), p.xy, 1.0, ivec2(3, -2));",
			[]*sampling.View{two},
			func(i int, p [4]float32) lookup {
				return lookup{view: two, sampler: 1, at: p[:2], lod: 1, offset: []int32{3, -2}}
			}},
		{"textureGrad", "uniform texture2D t", "r = textureGrad(sampler2D(t, s[1]), p.xy, p.zw * 0.5, p.wz * 0.2);",
			[]*sampling.View{two},
			func(i int, p [4]float32) lookup {
				return lookup{view: two, sampler: 1, at: p[:2], gradient: true, dx: []float32{p[2] * 0.5, p[3] * 0.5},
					dy: []float32{p[3] * 0.2, p[2] * 0.2}}
			}},
		{"textureProjLod", "uniform texture2D t", "r = textureProjLod(sampler2D(t, s[0]), vec3(p.xy, 2.0), 0.0);",
			[]*sampling.View{two},
			func(i int, p [4]float32) lookup { return lookup{view: two, at: []float32{p[0] / 2, p[1] / 2}} }},
		{"array", "uniform texture2DArray t", "r = textureLod(sampler2DArray(t, s[1]), vec3(p.xy, p.z * 4.0), 0.5);",
			[]*sampling.View{array},
			func(i int, p [4]float32) lookup {
				return lookup{view: array, sampler: 1, at: []float32{p[0], p[1], p[2] * 4}, lod: 0.5}
			}},
		{"cubes", "uniform textureCubeArray t",
			"r = textureLod(samplerCubeArray(t, s[1]), vec4(p.xyz - 0.45, float(i & 1)), 1.0);", []*sampling.View{cubes},
			func(i int, p [4]float32) lookup {
				return lookup{view: cubes, sampler: 1, at: []float32{p[0] - 0.45, p[1] - 0.45, p[2] - 0.45, float32(i & 1)}, lod: 1}
			}},
		{"volume", "uniform texture3D t", "r = textureLod(sampler3D(t, s[1]), p.xyz, 0.25);", []*sampling.View{volume},
			func(i int, p [4]float32) lookup { return lookup{view: volume, sampler: 1, at: p[:3], lod: 0.25} }},
		{"shadow", "uniform texture2D t", "r.x = textureLod(sampler2DShadow(t, s[2]), vec3(p.xy, p.z), 0.0);",
			[]*sampling.View{depth},
			func(i int, p [4]float32) lookup {
				return lookup{view: depth, sampler: 2, at: p[:2], dref: p[2], compare: true}
			}},
		{"textureGather", "uniform texture2D t", "r = textureGather(sampler2D(t, s[1]), p.xy, 2);", []*sampling.View{two},
			func(i int, p [4]float32) lookup { return lookup{view: two, sampler: 1, at: p[:2], gather: 3} }},
		{"textureGather with a reference", "uniform texture2D t", "r = textureGather(sampler2DShadow(t, s[2]), p.xy, p.z);",
			[]*sampling.View{depth},
			func(i int, p [4]float32) lookup {
				return lookup{view: depth, sampler: 2, at: p[:2], dref: p[2], compare: true, gather: 1}
			}},
		{"textureGatherOffset", "uniform texture2D t",
			"r = textureGatherOffset(sampler2D(t, s[1]), p.xy, ivec2(int(i) % 5 - 2, 1), 1);", []*sampling.View{two},
			func(i int, p [4]float32) lookup {
				return lookup{view: two, sampler: 1, at: p[:2], gather: 2, offset: []int32{int32(i%5 - 2), 1}}
			}},
		{"textureGatherOffsets", "uniform texture2D t",
			"const ivec2 o[4] = ivec2[](ivec2(1, 2), ivec2(-3, 4), ivec2(5, -6), ivec2(0, 7)); r = " +
				"textureGatherOffsets(sampler2D(t, s[1]), p.xy, o, 0);", []*sampling.View{two},
			func(i int, p [4]float32) lookup {
				return lookup{view: two, sampler: 1, at: p[:2], gather: 1, shifts: &[4][2]int32{{1, 2}, {-3, 4}, {5, -6}, {0, 7}}}
			}},
		{"lanes choose", "uniform texture2D t[]",
			"r = textureLod(sampler2D(t[nonuniformEXT(i % 2)], s[nonuniformEXT(i % 3 % 2)]), p.xy, 0.0);",
			[]*sampling.View{two, floats},
			func(i int, p [4]float32) lookup {
				return lookup{view: []*sampling.View{two, floats}[i%2], sampler: i % 3 % 2, at: p[:2]}
			}},
		{"divergent", "uniform texture2D t[]",
			"if (i % 3 == 1) r = textureLod(sampler2D(t[0], s[1]), p.xy, 0.0); else for (uint k = 0; k < i; k++) r = " +
				"textureLod(sampler2D(t[1], s[1]), p.yx, 0.0);", []*sampling.View{two, floats},
			func(i int, p [4]float32) lookup {
				switch {
				case i == 0:
					return lookup{}
				case i%3 == 1:
					return lookup{view: two, sampler: 1, at: p[:2]}
				}
				return lookup{view: floats, sampler: 1, at: []float32{p[1], p[0]}}
			}},
		{"uniform", "uniform texture2D t", "r = textureLod(sampler2D(t, s[1]), vec2(0.3, 0.4), 0.0);", []*sampling.View{two},
			func(i int, p [4]float32) lookup { return lookup{view: two, sampler: 1, at: []float32{0.3, 0.4}} }},
		{"part of a texel", "uniform texture2D t",
			"r.y = textureLod(sampler2D(t, s[1]), p.xy, 0.0).y; r.z = textureLod(sampler2D(t, s[1]), p.xy, 0.0).z; r.xw " +
				"= textureLod(sampler2D(t, s[1]), p.xy, 0.0).xw;", []*sampling.View{two},
			func(i int, p [4]float32) lookup { return lookup{view: two, sampler: 1, at: p[:2]} }},
		{"no view", "uniform texture2D t", "r = textureLod(sampler2D(t, s[1]), p.xy, 0.0);", nil,
			func(i int, p [4]float32) lookup { return lookup{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileWords(t, glslWords(t, imageShader(c.declare, c.body)), Options{})
			words := make([]uint32, 80*4)
			mustRun(t, p, dispatch([3]uint32{2, 1, 1},
				vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{words}}, Views: c.views, Samplers: samplers}))
			for i := range 80 {
				w := c.want(i, place(i))
				q := sampling.Lookup{Mode: sampling.LodExplicit, Compare: w.compare, HasOffset: w.offset != nil}
				for axis, v := range w.at {
					q.Coordinates[axis][0] = math.Float32bits(v)
				}
				for axis, v := range w.offset {
					q.Offset[axis][0] = uint32(v)
				}
				if w.gradient {
					q.Mode = sampling.LodGradient
					for axis := range w.dx {
						q.Dx[axis][0], q.Dy[axis][0] = math.Float32bits(w.dx[axis]), math.Float32bits(w.dy[axis])
					}
				}
				q.Lod[0], q.Dref[0] = math.Float32bits(w.lod), math.Float32bits(w.dref)
				var want sampling.Texels
				if w.gather != 0 {
					w.view.Routine(samplers[w.sampler], &q).Gather(&want, &q, uint32(w.gather-1), w.shifts, 1)
				} else {
					w.view.Routine(samplers[w.sampler], &q).Sample(&want, &q, 1)
				}
				for comp := range 4 {
					expected := want[comp][0]
					if w.compare && w.gather == 0 && comp > 0 {
						expected = 0
					}
					// A compiler may multiply in another order than this test.
					if got := words[4*i+comp]; math.Abs(float64(math.Float32frombits(got)-math.Float32frombits(expected))) > 1e-4 {
						t.Fatalf("invocation %d: component %d is %v, want %v\n%s", i, comp, math.Float32frombits(got),
							math.Float32frombits(expected), p)
					}
				}
			}
		})
	}
	for _, c := range []struct {
		name, declare, body string
		views               []*sampling.View
		want                func(i int) [4]float32
	}{
		{"sizes", "uniform texture2D t", "r = vec4(textureSize(t, int(i % 5)), textureQueryLevels(t), 7);",
			[]*sampling.View{two}, func(i int) [4]float32 {
				size := two.Size(uint32(i % 5))
				return [4]float32{float32(size[0]), float32(size[1]), 4, 7}
			}},
		{"size of cubes", "uniform textureCubeArray t", "r = vec4(textureSize(t, 1), 7);", []*sampling.View{cubes},
			func(int) [4]float32 { return [4]float32{4, 4, 2, 7} }},
		{"texelFetch", "uniform utexture1DArray t", "r = vec4(texelFetch(t, ivec2(i, 1), 0));", []*sampling.View{line},
			func(i int) (want [4]float32) {
				var got sampling.Texels
				line.Fetch(&got, &[3]sampling.Lanes{{uint32(i)}, {1}}, nil, nil, 1)
				for c := range want {
					want[c] = float32(got[c][0])
				}
				return want
			}},
		{"samples", "uniform texture2DMSArray t",
			"r = vec4(texelFetch(t, ivec3(i % 8, i / 8 % 3, i / 24), int(i % 7) - 1).xyz, textureSamples(t));",
			[]*sampling.View{multisampled}, func(i int) (want [4]float32) {
				var got sampling.Texels
				multisampled.Fetch(&got, &[3]sampling.Lanes{{uint32(i % 8)}, {uint32(i / 8 % 3)}, {uint32(i / 24)}}, nil,
					&sampling.Lanes{uint32(i%7 - 1)}, 1)
				for c := range want {
					want[c] = math.Float32frombits(got[c][0])
				}
				want[3] = 4
				return want
			}},
		{"one sample in all lanes", "uniform texture2DMSArray t",
			"r = texelFetch(t, ivec3(3, 2, 1), 2); r.w = float(textureSize(t).z);", []*sampling.View{multisampled},
			func(int) (want [4]float32) {
				var got sampling.Texels
				multisampled.Fetch(&got, &[3]sampling.Lanes{{3}, {2}, {1}}, nil, &sampling.Lanes{2}, 1)
				for c := range want {
					want[c] = math.Float32frombits(got[c][0])
				}
				want[3] = 2
				return want
			}},
		{"samples of an image with one", "uniform texture2DMS t",
			"r = vec4(texelFetch(t, ivec2(i % 8, i / 8), int(i % 4)).xy, textureSamples(t), 0);", []*sampling.View{floats},
			func(i int) (want [4]float32) {
				if i%4 == 0 {
					var got sampling.Texels
					floats.Fetch(&got, &[3]sampling.Lanes{{uint32(i % 8)}, {uint32(i / 8)}}, nil, nil, 1)
					want[0] = math.Float32frombits(got[0][0])
				}
				want[2] = 1
				return want
			}},
		{"no view with samples", "uniform texture2DMSArray t",
			"r = texelFetch(t, ivec3(i), int(i % 4)) + textureSamples(t) + vec4(textureSize(t), 0);", nil,
			func(int) (want [4]float32) { return want }},
		{"store and load", "uniform image2D t",
			"imageStore(t, ivec2(i % 8, i / 8), vec4(i, 2, 3, 4)); r = imageLoad(t, ivec2(i % 8, i / 8));",
			[]*sampling.View{picture(t, vk.FORMAT_R32G32_SFLOAT, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{8, 9, 1}, 1, 1, 1)},
			func(i int) [4]float32 {
				if i >= 72 {
					return [4]float32{0, 0, 0, 1}
				}
				return [4]float32{float32(i), 2, 0, 1}
			}},
		{"counters", "layout(r32ui) uniform uimageBuffer t",
			"r.x = imageAtomicAdd(t, int(i / 4 * 4), 3u); imageAtomicMax(t, 1, i); r.y = imageAtomicCompSwap(t, int(i + " +
				"100), 1u, 2u); barrier(); r.z = imageLoad(t, int(i / 4 * 4)).x;",
			[]*sampling.View{zeros(t, vk.FORMAT_R32_UINT, 400)},
			func(i int) [4]float32 { return [4]float32{float32(i % 4 * 3), 0, 12, 0} }},
		{"float atomics", "layout(r32f) uniform imageBuffer t",
			"r.x = imageAtomicExchange(t, int(i), 2.5); r.y = imageAtomicAdd(t, int(i), float(i)); r.z = " +
				"imageAtomicMin(t, int(i), 7.0); r.w = imageAtomicMax(t, int(i), 3.0) + imageLoad(t, int(i)).x;",
			[]*sampling.View{zeros(t, vk.FORMAT_R32_SFLOAT, 400)}, func(i int) [4]float32 {
				sum := 2.5 + float32(i)
				least := min(sum, 7)
				return [4]float32{0, 2.5, sum, least + max(least, 3)}
			}},
		{"64 bits", "layout(r64ui) uniform u64imageBuffer t",
			"r.x = float(imageAtomicAdd(t, 0, 0x100000000ul) >> 32); imageStore(t, int(i) + 1, u64vec4(0x500000000ul + " +
				"i)); r.y = float(imageLoad(t, int(i) + 1).x - 0x500000000ul); r.zw = vec2(imageLoad(t, 0).yw);",
			[]*sampling.View{zeros(t, vk.FORMAT_R64_UINT, 8*90)},
			func(i int) [4]float32 { return [4]float32{-1, float32(i), 0, 1} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileWords(t, glslWords(t, imageShader(c.declare, c.body)), Options{})
			words := make([]uint32, 80*4)
			mustRun(t, p, dispatch([3]uint32{2, 1, 1},
				vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{words}}, Views: c.views, Samplers: samplers}))
			for i := range 80 {
				want := c.want(i)
				for comp := range want {
					if got := math.Float32frombits(words[4*i+comp]); got != want[comp] && want[comp] >= 0 {
						t.Fatalf("invocation %d: component %d is %v, want %v\n%s", i, comp, got, want[comp], p)
					}
				}
			}
		})
	}
}

// zeros is a texel buffer.
func zeros(t *testing.T, format vk.Format, bytes int) *sampling.View {
	t.Helper()
	v, err := sampling.NewBufferView(make([]byte, bytes), format)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
