package compute

import (
	"math"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/internal/sampling"
	"farside/internal/vk"
	"farside/spirv"
)

// fillSteps gives quads FragCoord, a quarter of a pixel apart from one quad to the next.
func fillSteps(b *batchOf) {
	for c := range uint32(2) {
		b.fill(Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInFragCoord, Component: c}, func(lane int) uint32 {
			return bits32(float32(lane/4)*0.25 + float32(lane>>c&1))
		})
	}
}

// pictures are bindings that are one image and one sampler.
type pictures struct {
	vmtest.Buffers
	view    *sampling.View
	sampler *sampling.Sampler
}

func (p *pictures) Image(set, binding, element uint32) *sampling.View      { return p.view }
func (p *pictures) Sampler(set, binding, element uint32) *sampling.Sampler { return p.sampler }

// TestFragmentLevels: coordinates that grow by two texels a pixel are those of level 1, and a bias adds to that.
func TestFragmentLevels(t *testing.T) {
	eachWay(t, "frag", `#version 450
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D image;
void main() {
	vec2 at = gl_FragCoord.xy / 8;
	vec2 lod = textureQueryLod(image, at);
	color = vec4(lod, texture(image, at).x - textureLod(image, at, 1).x,
		textureProj(image, vec3(at * 2, 2), 1.0).x - textureLod(image, at, 2).x);
}`, func(t *testing.T, p *Program) {
		b := newBatchOf(t, p)
		fillSteps(b)
		v := environment()
		v.Bindings = &pictures{view: picture(t, vk.FORMAT_R32_SFLOAT, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{16, 16, 1}, 5, 1, 1),
			sampler: sampling.NewSampler(&sampling.SamplerInfo{MaxLod: 8})}
		b.run(v, b.all(), b.all())
		for lane := range b.Lanes() {
			for c, want := range []float32{1, 1, 0, 0} {
				if got := b.output(Variable{Component: uint32(c)})[lane]; math.Float32frombits(got) != want {
					t.Errorf("lane %d: component %d is %v, want %v", lane, c, math.Float32frombits(got), want)
				}
			}
		}
	})
}

// TestSpansOfLanes: samples of many lanes at once are what chunks of lanes sample, which go where each lane chooses its
// image, and lanes that don't take part keep what they have.
func TestSpansOfLanes(t *testing.T) {
	eachWay(t, "frag", `#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 0) uniform sampler2D images[2];
layout(set = 0, binding = 1) uniform sampler2DShadow shadow;
layout(set = 0, binding = 1) uniform sampler2DShadow shadows[2];
void main() {
	vec2 at = gl_FragCoord.xy / 7;
	int k = nonuniformEXT(min(int(at.x), 0));
	vec3 bound = vec3(at, 0.5);
	vec4 one = vec4(5), other = vec4(5);
	vec4 all = texture(image, at), same = texture(images[k], at);
	bool alike = all == same && texture(image, at, 1.5) == texture(images[k], at, 1.5) &&
		textureOffset(image, at, ivec2(3, -2)) == textureOffset(images[k], at, ivec2(3, -2)) &&
		textureProj(image, vec3(at, 1.5)) == textureProj(images[k], vec3(at, 1.5));
	if (int(gl_FragCoord.x * 8) % 3 != 0) {
		one = textureLod(image, at, at.x / 4);
		other = textureLod(images[k], at, at.x / 4);
	}
	vec4 fixed_ = textureLod(image, vec2(0.3), at.y), fixedToo = textureLod(images[k], vec2(0.3), at.y);
	bool gathers = fixed_ == fixedToo && textureGather(image, at, 0) == textureGather(images[k], at, 0) &&
		textureGatherOffset(image, at, ivec2(-1, 2), 3) == textureGatherOffset(images[k], at, ivec2(-1, 2), 3) &&
		textureGather(shadow, at, 0.4) == textureGather(shadows[k], at, 0.4) &&
		texture(shadow, bound) == texture(shadows[k], bound) &&
		textureLod(shadow, bound, 1.25) == textureLod(shadows[k], bound, 1.25);
	color = vec4(alike, one == other, one.x, gathers);
}`, func(t *testing.T, p *Program) {
		b := newBatchOf(t, p)
		fillSteps(b)
		v := environment()
		v.Bindings = &pictures{view: picture(t, vk.FORMAT_R8_UNORM, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{16, 16, 1}, 5, 1, 1),
			sampler: sampling.NewSampler(&sampling.SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
				MipmapMode: vk.SAMPLER_MIPMAP_MODE_LINEAR, MaxLod: 8})}
		b.run(v, b.all(), b.all())
		for lane := range b.Lanes() {
			x := float32(lane/4)*0.25 + float32(lane&1)
			for c := range uint32(4) {
				got := math.Float32frombits(b.output(Variable{Component: c})[lane])
				switch {
				case c == 2 && (got == 5) != (int(x*8)%3 == 0):
					t.Errorf("lane %d: %v, though it takes part or doesn't", lane, got)
				case c != 2 && got != 1:
					t.Errorf("lane %d: component %d is %v", lane, c, got)
				}
			}
		}
	})
}

// TestDerivativesOnce: lookups around a place have the derivatives of that place, which needs each other lane once, and
// components that nobody reads are not looked up.
func TestDerivativesOnce(t *testing.T) {
	eachWay(t, "frag", `#version 450
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(push_constant) uniform Block { vec2 texel; };
void main() {
	vec2 at = gl_FragCoord.xy / 8;
	color.xy = texture(image, at).xy + texture(image, at + texel).xy + texture(image, vec2(0.5, 2.0) + at).xy;
	color.zw = texture(image, at - 3.0 * texel).xy * dFdxCoarse(at);
}`, func(t *testing.T, p *Program) {
		if got := strings.Count(p.String(), "OpGroupNonUniformQuadBroadcast"); got != 2*3 {
			t.Errorf("%d values of other lanes, want those of three lanes for two coordinates\n%s", got, p)
		}
		for _, op := range p.Images {
			for c, r := range op.Dst {
				if used := r.Size != 0; used != (c < 2) {
					t.Errorf("component %d is used: %v\n%s", c, used, p)
				}
			}
		}
	})
}
