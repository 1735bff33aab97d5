package draw

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/internal/transfer"
	"farside/internal/vk"
)

// clears clears the attachments, or has that wait for the draws to come.
func (s *scene) clears(t *testing.T, waits bool) {
	t.Helper()
	s.pass.Area = vk.Rect2D{Offset: vk.Offset2D{X: 3, Y: 1}, Extent: vk.Extent2D{Width: 63, Height: 38}}
	c := new(Clears)
	c.Begin(s.pass.Area)
	add := func(of *Target, aspect vk.ImageAspectFlags, color int, value vk.ClearValue) {
		if of.Image == nil {
			return
		}
		at := transfer.Area{Image: of.Image, Format: of.Format, Aspect: aspect, Rect: s.pass.Area}
		clearing, err := at.Clearing(&value)
		if err != nil {
			t.Fatal(err)
		}
		if !waits {
			clearing.All()
		} else if !c.Add(&clearing, color) {
			t.Fatal("a clear doesn't wait")
		}
	}
	var value vk.ClearValue
	*value.Color().Float32() = [4]float32{0.25, 1, 0, 0.5}
	for i := range s.pass.Colors {
		add(&s.pass.Colors[i], vk.IMAGE_ASPECT_COLOR_BIT, i, value)
	}
	*value.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5, Stencil: 7}
	add(&s.pass.Depth, vk.IMAGE_ASPECT_DEPTH_BIT, -1, value)
	add(&s.pass.Stencil, vk.IMAGE_ASPECT_STENCIL_BIT, -1, value)
	if waits {
		s.pass.Clears = c
	}
}

// clearScene is a scene of triangles of all sizes, the same for a seed.
func clearScene(t *testing.T, seed uint64) *scene {
	random := rand.New(rand.NewPCG(seed, 11))
	samples := []uint32{1, 1, 4}[seed%3]
	s := newScene(t, []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R16G16B16A16_SFLOAT}[seed/2%2], 70, 50, samples, 4)
	if seed%4 == 0 {
		s.withDepth(t, vk.FORMAT_D24_UNORM_S8_UINT, samples)
		s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = seed%8 == 0, true, vk.COMPARE_OP_LESS
	}
	if seed%5 == 0 {
		s.state.Blends[0].ColorWriteMask = vk.ColorComponentFlags(random.IntN(16))
	}
	if seed%7 == 0 {
		s.state.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_LIST
	}
	if seed%11 == 0 { // with a second attachment that nobody writes
		s.pass.Colors = append(s.pass.Colors, newScene(t, vk.FORMAT_R8_UNORM, 70, 50, samples, 4).pass.Colors...)
	}
	s.Statistics = nil // nobody counts, so that polygons may hide others
	var data []float32
	for range random.IntN(8) {
		x, y, size := random.Float32()*2-1, random.Float32()*2-1, random.Float32()*6
		for range 3 {
			data = append(data, x+size*(random.Float32()-0.5), y+size*(random.Float32()-0.5), random.Float32(), 1)
			data = append(data, random.Float32(), random.Float32(), random.Float32(), random.Float32())
		}
	}
	s.vertices(data...)
	return s
}

// TestClears has clears that wait for draws leave the same bits as clears before them.
func TestClears(t *testing.T) {
	shareAlways(t, 2)
	least := leastTiles
	leastTiles = 1
	t.Cleanup(func() { leastTiles = least })
	for seed := range uint64(600) {
		binShift = 1 + int(seed%4)
		binShare = 1 + int64(seed/3%2)<<20 // with workers, and without
		var scenes [2]*scene
		for i := range scenes {
			s := clearScene(t, seed)
			for _, b := range s.images() {
				for k := range b {
					b[k] = byte(k*k) & 0x3f
				}
			}
			s.clears(t, i == 1)
			for more := range 1 + seed%3 {
				next := clearScene(t, seed+600*more)
				if next.state.Samples == s.state.Samples {
					next.Draw.Pass, next.InOrder = &s.pass, i == 0
					next.draw(t)
				}
			}
			if i == 1 {
				s.pass.Clears.Settle()
				if s.pass.Waits() {
					t.Fatal("clears wait behind Settle")
				}
			}
			s.check()
			scenes[i] = s
		}
		scenes[1].same(t, scenes[0], fmt.Sprintf("seed %d", seed))
		for i := 1; i < len(scenes[0].pass.Colors); i++ {
			if !bytes.Equal(scenes[0].pass.Colors[i].Image.Bytes, scenes[1].pass.Colors[i].Image.Bytes) {
				t.Fatalf("seed %d: attachment %d differs", seed, i)
			}
		}
	}
}

// TestClearsCovered has an opaque polygon take the place of clears of the colours that it covers, and of no others.
func TestClearsCovered(t *testing.T) {
	shareAlways(t, 3)
	at := func(s *scene, x, y int) (color, depth byte) {
		return s.texel(s.pass.Colors[0].Image, vk.IMAGE_ASPECT_COLOR_BIT, x, y, 0)[0],
			s.texel(s.pass.Depth.Image, vk.IMAGE_ASPECT_DEPTH_BIT, x, y, 0)[1]
	}
	s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, 70, 50, 1, 4)
	s.withDepth(t, vk.FORMAT_D16_UNORM, 1)
	s.clears(t, true)
	c := s.pass.Clears
	c.begun = true
	c.meet(&box{0, 0, 9, 2}, 1)
	for _, test := range []struct {
		x, y         int
		color, depth byte
	}{{3, 1, 0, 128}, {15, 7, 0, 128}, {2, 1, 0, 0}, {16, 1, 0, 0}, {3, 8, 0, 0}} {
		if color, depth := at(s, test.x, test.y); color != test.color || depth != test.depth {
			t.Errorf("texel %d, %d is %d, its depth %d", test.x, test.y, color, depth)
		}
	}
	c.Settle()
	if color, depth := at(s, 16, 1); color != 64 || depth != 128 {
		t.Errorf("a tile that is left has colour %d, depth %d", color, depth)
	}
	for _, masked := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, 70, 50, 1, 4)
		s.clears(t, true)
		s.Statistics = nil
		want := byte(255)
		if masked {
			s.state.Blends[0].ColorWriteMask, want = 7, 128
		}
		s.full(0, 1, 1, 1, 1)
		s.draw(t)
		if bytes.IndexByte(s.pass.Clears.done, 0) >= 0 {
			t.Error("tiles are left")
		}
		if got := s.texel(s.pass.Colors[0].Image, vk.IMAGE_ASPECT_COLOR_BIT, 40, 30, 0); got[0] != 255 || got[3] != want {
			t.Errorf("masked %v: the texel is %v", masked, got)
		}
	}
}
