package draw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/vk"
)

// TestVectorStencil has tests of stencil, with and without those of depth, give the same bits and counts on vectors and
// in Go.
func TestVectorStencil(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 8))
	formats := []vk.Format{vk.FORMAT_D32_SFLOAT_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_S8_UINT}
	passed := 0
	for round := range 600 {
		f, samples := formats[round%len(formats)], []uint32{1, 4, 1, 2, 8}[random.IntN(5)]
		width, height := uint32(1+random.IntN(90)), uint32(1+random.IntN(20))
		data := randomCorners(random, 0, 1)
		face := func() Stencil {
			op := func() vk.StencilOp { return vk.StencilOp(random.IntN(8)) }
			masks := []uint32{255, 255, 0, random.Uint32()}
			return Stencil{FailOp: op(), PassOp: op(), DepthFailOp: op(), CompareOp: vk.CompareOp(random.IntN(8)),
				CompareMask: masks[random.IntN(4)], WriteMask: masks[random.IntN(4)], Reference: random.Uint32N(300)}
		}
		front, back, choices := face(), face(), random.Uint32()
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
			if choices>>7&3 == 0 {
				s.state.Fragment = nil
			}
			s.vertices(data...)
			return s
		}, fmt.Sprintf("round %d: %v, %d samples, %+v, %+v", round, f, samples, front, back))
		if some {
			passed++
		}
	}
	if passed < 200 {
		t.Errorf("only %d draws have samples", passed)
	}
}
