package draw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	shaded := 0
	for seed := range uint64(1000) {
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
				if s.stats.Samples > 0 && s.stats.Counts[countFragments] > 0 {
					shaded++
				}
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
	if shaded < 80 {
		t.Errorf("only %d draws have fragments", shaded)
	}
}

// TestLeftovers has random draws give the same bits with memory that is new and with what draws before them have left.
func TestLeftovers(t *testing.T) {
	for seed := range uint64(2000) {
		var scenes [2]*scene
		for i := range scenes {
			if i == 0 {
				runs.Put(new(run)) // the pool gives what it got last
			} else {
				randomScene(t, seed+2000).draw(t)
				bad := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 4)
				bad.vertices(slices.Repeat([]float32{float32(math.NaN())}, 3*8)...)
				bad.draw(t)
			}
			scenes[i] = randomScene(t, seed)
			scenes[i].InOrder = true
			scenes[i].draw(t)
		}
		scenes[1].same(t, scenes[0], fmt.Sprintf("seed %d", seed))
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
		if vs.open.Load() != 0 || fs.open.Load() != 0 {
			t.Errorf("%d and %d batches are open", vs.open.Load(), fs.open.Load())
		}
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
