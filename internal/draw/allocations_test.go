//go:build !race

package draw

import (
	"testing"

	"farside/internal/vk"
)

// TestAllocations has more primitives not need more memory. Under the race detector a sync.Pool forgets at random.
func TestAllocations(t *testing.T) {
	allocations := func(primitives int) float64 {
		s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, 16, 16, 4, 4)
		s.withDepth(t, vk.FORMAT_D24_UNORM_S8_UINT, 4)
		s.state.DepthTest, s.state.DepthCompare, s.state.StencilTest = true, vk.COMPARE_OP_ALWAYS, true
		s.state.Front.CompareOp, s.state.Back.CompareOp = vk.COMPARE_OP_ALWAYS, vk.COMPARE_OP_ALWAYS
		s.state.Blends[0] = Blend{BlendEnable: 1, DstColorBlendFactor: vk.BLEND_FACTOR_ONE, ColorWriteMask: 15}
		s.light(64)
		var data []float32
		for i := range 3 * primitives {
			data = append(data, float32(i%3)-1, float32(i%5)-2, float32(i%7)/4, 1, 0, 0, 0, 1)
		}
		s.vertices(data...)
		return testing.AllocsPerRun(5, func() {
			if err := s.Execute(); err != nil {
				t.Fatal(err)
			}
		})
	}
	allocations(1000)
	if few, many := allocations(1), allocations(1000); many > few+2 {
		t.Errorf("%v allocations for one primitive, %v for 1000", few, many)
	}
}
