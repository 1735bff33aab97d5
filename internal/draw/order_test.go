package draw

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// randomScene is hostile for a seed; the same one each time.
func randomScene(t testing.TB, seed uint64) *scene {
	random := rand.New(rand.NewPCG(seed, 15))
	data := make([]byte, 4000)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return hostile(t, &choices{data})
}

// images are the bytes of all attachments.
func (s *scene) images() (all [][]byte) {
	for _, t := range []*Target{&s.pass.Colors[0], &s.pass.Depth, &s.pass.Stencil} {
		if t.Image != nil {
			all = append(all, t.Image.Bytes)
		}
	}
	return all
}

// TestBatchSizes has random draws give the same bits and counts whatever the sizes of batches, and whether tests come
// early or late where nobody can tell.
func TestBatchSizes(t *testing.T) {
	for seed := range uint64(400) {
		var first *scene
		for way, lanes := range []int{256, 8, 64} {
			s := randomScene(t, seed)
			s.state.Vertex.(*goShader).lanes = lanes
			if fs, ok := s.state.Fragment.(*goShader); ok {
				fs.lanes = lanes
				fs.in = fs.in[:4] // what early tests leave of a quad may be seen otherwise
				fs.out = fs.out[:8]
				fs.modes.EarlyTests, fs.modes.Discards = false, false
				fs.modes.Effects = way == 1
			}
			s.draw(t)
			if first == nil {
				first = s
				continue
			}
			for i, b := range s.images() {
				if !bytes.Equal(b, first.images()[i]) {
					t.Fatalf("seed %d: attachment %d differs with %d lanes", seed, i, lanes)
				}
			}
			if s.stats.Samples != first.stats.Samples {
				t.Fatalf("seed %d: %d samples, not %d", seed, s.stats.Samples, first.stats.Samples)
			}
		}
	}
}

// TestTogether draws in several goroutines.
func TestTogether(t *testing.T) {
	var wait sync.WaitGroup
	for worker := range uint64(4) {
		wait.Go(func() {
			for seed := range uint64(20) {
				s, again := randomScene(t, seed+20*worker), randomScene(t, seed+20*worker)
				if err := s.Execute(); err != nil {
					t.Error(err)
				}
				if err := again.Execute(); err != nil {
					t.Error(err)
				}
				for i, b := range s.images() {
					if !bytes.Equal(b, again.images()[i]) {
						t.Errorf("seed %d: two draws differ", seed)
					}
				}
			}
		})
	}
	wait.Wait()
}

// TestPanics has a fault come out of a draw, and batches ended all the same.
func TestPanics(t *testing.T) {
	for _, vertex := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
		vs, fs := s.state.Vertex.(*goShader), s.state.Fragment.(*goShader)
		bad := fs
		if vertex {
			bad = vs
		}
		bad.code = func(*lane) bool { panic("bad") }
		s.full(0, 1)
		func() {
			defer func() {
				if recover() != "bad" {
					t.Error("the panic is lost")
				}
			}()
			_ = s.Execute()
		}()
		if vs.open != 0 || fs.open != 0 {
			t.Errorf("%d and %d batches are open", vs.open, fs.open)
		}
	}
}

// TestAllocations has more primitives not need more memory.
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

// TestSubresources draws to levels, layers and slices, and to views with another format.
func TestSubresources(t *testing.T) {
	format, _ := texel.FormatOf(vk.FORMAT_R32_UINT)
	for _, c := range []struct {
		of            vk.ImageType
		extent        [3]uint32
		layers        uint32
		level, layer  uint32
		width, height uint32
	}{
		{vk.IMAGE_TYPE_2D, [3]uint32{9, 7, 1}, 4, 1, 2, 4, 3},
		{vk.IMAGE_TYPE_2D, [3]uint32{9, 7, 1}, 4, 0, 3, 9, 7},
		{vk.IMAGE_TYPE_3D, [3]uint32{9, 7, 8}, 1, 1, 2, 4, 3},
	} {
		layout, _ := texel.NewLayout(format, c.extent, 3, c.layers, 1)
		img := &transfer.Image{Bytes: make([]byte, layout.Size), Layout: &layout, Format: vk.FORMAT_R32_UINT, Type: c.of}
		s := newScene(t, vk.FORMAT_R8_UNORM, c.width, c.height, 1, 0)
		s.pass.Colors[0] = Target{Image: img, Format: vk.FORMAT_R8G8B8A8_UINT, Aspect: vk.IMAGE_ASPECT_COLOR_BIT,
			Level: c.level, Layer: c.layer, Layers: 1}
		s.pass.Area.Extent = vk.Extent2D{Width: 1000, Height: 1000}
		s.state.Scissors[0] = s.pass.Area
		s.state.Viewports[0].Width, s.state.Viewports[0].Height = 1000, 1000 // more than there is
		s.state.Fragment = &goShader{out: varying(0, 4, compute.Uint),
			code: func(l *lane) bool { l.set(0, 1, 2, 3, 4); return true }}
		s.full(0)
		s.draw(t)
		slice := uint32(0)
		layer := c.layer
		if c.of == vk.IMAGE_TYPE_3D {
			slice, layer = c.layer, 0
		}
		sub, _ := layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, c.level, layer)
		want := make([]byte, len(img.Bytes))
		for y := range uint64(c.height) {
			for x := range uint64(c.width) {
				at := sub.Offset + uint64(slice)*sub.DepthPitch + y*sub.RowPitch + 4*x
				binary.LittleEndian.PutUint32(want[at:], 0x04030201)
			}
		}
		if !bytes.Equal(img.Bytes, want) {
			t.Errorf("%+v: other texels are written", c)
		}
	}
	for name, bad := range map[string]func(s *Target){
		"level":  func(s *Target) { s.Level = 9 },
		"layer":  func(s *Target) { s.Layer = math.MaxUint32 },
		"format": func(s *Target) { s.Format = vk.FORMAT_R8_UINT },
		"depth":  func(s *Target) { s.Format = vk.FORMAT_D16_UNORM },
		"block":  func(s *Target) { s.Format = vk.FORMAT_BC1_RGB_UNORM_BLOCK },
	} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
		bad(&s.pass.Colors[0])
		s.full(0, 1)
		if err := s.Execute(); err == nil {
			t.Errorf("a target with a bad %s is drawn to", name)
		}
	}
}
