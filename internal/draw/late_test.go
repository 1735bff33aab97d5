package draw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// TestVectorLate has shaders that end lanes, replace depths and mask samples, and coverage by alpha give the same bits
// and counts on vectors and in Go.
func TestVectorLate(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 8))
	passed, tested := 0, 0
	for round := range 800 {
		f, samples := depthFormats[round%len(depthFormats)], []uint32{1, 1, 2, 4, 8, 16}[random.IntN(6)]
		width, height := uint32(1+random.IntN(90)), uint32(1+random.IntN(20))
		data := randomCorners(random, -0.2, 1.2)
		op, choices, bounds := vk.CompareOp(random.IntN(8)), random.Uint32(), randomBounds(random)
		some := threeWays(t, func() *scene {
			s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, width, height, samples, 4)
			img := s.withDepth(t, f, samples)
			for k := range img.Bytes {
				img.Bytes[k] = byte(k*k) & 0x3f
			}
			s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = choices&1 == 0, choices&6 != 0, op
			bounds(t, s, img)
			s.state.DepthClip, s.state.DepthClamp = choices&8 != 0, choices&16 != 0
			s.state.Viewports[0].MinDepth, s.state.Viewports[0].MaxDepth = 0.125, 0.875
			s.state.ClampRange, s.state.ClampMin, s.state.ClampMax = choices&0x60 == 0, 0.25, 0.75
			fs := s.state.Fragment.(*goShader)
			fs.modes = compute.StageModes{Discards: true, EarlyTests: choices&0x780 == 0}
			if choices>>11&1 == 0 {
				fs.out = join(fs.out, builtins(spirv.BuiltInFragDepth, 1))
				fs.modes.DepthReplacing = true
			}
			if choices>>12&1 == 0 {
				fs.out = join(fs.out, builtins(spirv.BuiltInSampleMask, 1))
			}
			s.state.AlphaToCoverage, s.state.AlphaToOne = choices>>13&1 == 0, choices>>14&1 == 0
			special := []uint32{0x7fc00000, 0x7f800000, 0xff800000, 0, 1 << 31, 1, 0x3dffffff, 0x3e000000}
			fs.code = func(l *lane) bool {
				copy(l.out, l.in[:4])
				for i := 4; i < len(l.out); i++ {
					if l.out[i] = l.in[1]; fs.out[i].BuiltIn == spirv.BuiltInSampleMask {
						l.out[i] = l.in[1]>>3 | l.in[0]>>5
					}
				}
				if l.in[0]>>3&7 == 0 {
					l.out[3] = special[l.in[0]>>6&7]
				}
				return l.in[2]>>18&3 != 0
			}
			s.vertices(data...)
			return s
		}, fmt.Sprintf("round %d: %v, %v, %d samples", round, f, op, samples))
		if some {
			passed++
			if choices&1 == 0 {
				tested++
			}
		}
	}
	if passed < 300 || tested < 100 {
		t.Errorf("only %d draws have samples, %d of them after tests", passed, tested)
	}
}
