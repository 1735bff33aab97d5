package draw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// TestVectorStencil has tests of stencil, with and without those of depth and its bounds, before shading and after,
// give the same bits and counts on vectors and in Go.
func TestVectorStencil(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 8))
	formats := []vk.Format{vk.FORMAT_D32_SFLOAT_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_S8_UINT}
	passed := 0
	for round := range 1500 {
		f, samples := formats[round%len(formats)], []uint32{1, 4, 1, 2, 8, 16}[random.IntN(6)]
		width, height := uint32(1+random.IntN(90)), uint32(1+random.IntN(20))
		data := randomCorners(random, 0, 1)
		face := func() Stencil {
			op := func() vk.StencilOp { return vk.StencilOp(random.IntN(8)) }
			masks := []uint32{255, 255, 0, random.Uint32()}
			return Stencil{FailOp: op(), PassOp: op(), DepthFailOp: op(), CompareOp: vk.CompareOp(random.IntN(8)),
				CompareMask: masks[random.IntN(4)], WriteMask: masks[random.IntN(4)], Reference: random.Uint32N(300)}
		}
		front, back, choices, bounds := face(), face(), random.Uint32(), randomBounds(random)
		some := threeWays(t, func() *scene {
			s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, width, height, samples, 4)
			img := s.withDepth(t, f, samples)
			for k := range img.Bytes {
				img.Bytes[k] = []byte{0, 1, 0x3f, 0x7f, 0xff, byte(k)}[k*7%11%6]
			}
			s.state.StencilTest, s.state.Front, s.state.Back = true, front, back
			s.state.DepthTest, s.state.DepthWrite = choices&1 == 0, choices&2 == 0
			s.state.DepthCompare = vk.CompareOp(choices >> 2 & 7)
			s.state.Fragment.(*goShader).modes = compute.StageModes{EarlyTests: choices&32 != 0, PostDepth: choices&64 != 0}
			bounds(t, s, img)
			switch choices >> 7 & 7 {
			case 0:
				s.state.Fragment = nil
			case 1, 2, 3:
				s.lateStencil(choices >> 10)
			}
			s.vertices(data...)
			return s
		}, fmt.Sprintf("round %d: %v, %d samples, %+v, %+v", round, f, samples, front, back))
		if some {
			passed++
		}
	}
	if passed < 500 {
		t.Errorf("only %d draws have samples", passed)
	}
}

// lateStencil has the fragment shader end lanes, and replace depths and references of stencil.
func (s *scene) lateStencil(choices uint32) {
	fs := s.state.Fragment.(*goShader)
	fs.modes.Discards = true
	if choices&1 == 0 {
		fs.out = join(fs.out, builtins(spirv.BuiltInFragDepth, 1))
		fs.modes.DepthReplacing = true
	}
	if choices&2 == 0 {
		fs.out = join(fs.out, builtins(spirv.BuiltInFragStencilRefEXT, 1))
		fs.modes.StencilReplacing = true
	}
	fs.code = func(l *lane) bool {
		copy(l.out, l.in[:4])
		for i := 4; i < len(l.out); i++ {
			if l.out[i] = l.in[1]; fs.out[i].BuiltIn == spirv.BuiltInFragStencilRefEXT {
				l.out[i] = l.in[1] >> 13
			}
		}
		return l.in[2]>>18&3 != 0
	}
}
