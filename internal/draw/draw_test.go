package draw

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// TestTriangle draws one over the left half, whose red goes from 0 to 1 to the right.
func TestTriangle(t *testing.T) {
	s := newScene(t, vk.FORMAT_R32G32B32A32_SFLOAT, 8, 4, 1, 4)
	s.vertices(
		-1, -1, 0, 1, 0, 1, 0, 1,
		-1, 3, 0, 1, 0, 1, 0, 1,
		3, -1, 0, 1, 2, 1, 0, 1)
	s.state.Scissors[0].Extent.Width = 4
	s.draw(t)
	for y := range 4 {
		for x := range 8 {
			want := [4]float64{(float64(x) + 0.5) / 8, 1, 0, 1}
			if x >= 4 {
				want = [4]float64{}
			}
			if got := s.color(t, x, y, 0); got != want {
				t.Errorf("pixel %d,%d is %v, not %v", x, y, got, want)
			}
		}
	}
	if s.stats.Samples != 16 || s.stats.Counts[countFragments] != 16 || s.stats.Counts[countVertices] != 3 ||
		s.stats.Counts[countPrimitives] != 1 || s.stats.Counts[countVertexRuns] != 3 {
		t.Errorf("counts are %+v", s.stats)
	}
}

// TestPerspective has a floor that goes away from the eye: what is in the middle of the screen is far from the middle.
func TestPerspective(t *testing.T) {
	for _, linear := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 16, 16, 1, 1)
		if linear {
			s.state.Fragment.(*goShader).in[0].Interpolation = compute.Linear
		}
		const far = 10
		s.vertices(
			-1, -1, 0, 1, 0,
			1, -1, 0, 1, 0,
			-far, far, 0, far, 1,
			1, -1, 0, 1, 0,
			far, far, 0, far, 1,
			-far, far, 0, far, 1)
		s.draw(t)
		for y := range 16 {
			screen := (float64(y) + 0.5) / 16
			want := screen
			if !linear { // v/w and 1/w are what is linear
				want = screen / far / (screen/far + (1 - screen))
			}
			for x := range 16 {
				if got := s.color(t, x, y, 0)[0]; math.Abs(got-want) > 1e-6 {
					t.Errorf("linear %v: pixel %d,%d is %v, not %v", linear, x, y, got, want)
				}
			}
		}
	}
}

// TestFailures has errors of batches come out, and ended batches.
func TestFailures(t *testing.T) {
	bad := errors.New("bad")
	for _, vertex := range []bool{true, false} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
		s.vertices(-1, -1, 0, 1, 1, 3, -1, 0, 1, 1, -1, 3, 0, 1, 1)
		shader := s.state.Fragment.(*goShader)
		if vertex {
			shader = s.state.Vertex.(*goShader)
		}
		shader.err = bad
		if err := s.Execute(); !errors.Is(err, bad) {
			t.Errorf("vertex %v: the error is %v", vertex, err)
		}
		if v, f := s.state.Vertex.(*goShader).open.Load(), s.state.Fragment.(*goShader).open.Load(); v != 0 || f != 0 {
			t.Errorf("%d, %d batches are open", v, f)
		}
	}
	s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
	s.vertices(-1, -1, 0, 1, 1, 3, -1, 0, 1, 1, -1, 3, 0, 1, 1)
	s.pass.Colors[0].Image.Bytes = s.pass.Colors[0].Image.Bytes[:8]
	if err := s.Execute(); !errors.Is(err, errTarget) {
		t.Errorf("the error of short memory is %v", err)
	}
}

// TestStop ends draws that would take hours.
func TestStop(t *testing.T) {
	for name, change := range map[string]func(s *scene){
		"vertices":             func(s *scene) { s.Count = math.MaxUint32 },
		"instances":            func(s *scene) { s.Instances = math.MaxUint32 },
		"instances of nothing": func(s *scene) { s.Instances, s.Indexed, s.Count = math.MaxUint32, true, 1 },
		"restarts":             func(s *scene) { s.restarts() },
		"discarded":            func(s *scene) { s.Count, s.state.NoRasterizer = math.MaxUint32, true },
		"pixels without a shader": func(s *scene) {
			s.pass.Area.Extent = vk.Extent2D{Width: 1 << 20, Height: 1 << 20} // no attachment has that many
			s.pass.Colors, s.state.Scissors[0], s.state.Fragment = nil, s.pass.Area, nil
			s.state.Viewports[0] = vk.Viewport{Width: 1 << 20, Height: 1 << 20, MaxDepth: 1}
		},
		"points without pixels": func(s *scene) { s.Count, s.state.Topology = math.MaxUint32, 0 },
	} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
		s.vertices(-1, -1, 0, 1, 1, 3, -1, 0, 1, 1, -1, 3, 0, 1, 1)
		change(s)
		var asked atomic.Uint64
		s.Vertex.Stop = func(uint64) bool { return asked.Add(1) > 20 }
		if err := s.Execute(); !errors.Is(err, compute.ErrStopped) || !strings.Contains(err.Error(), "draw") {
			t.Errorf("%s: the error is %v", name, err)
		}
		s.check()
	}
	s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
	s.Count, s.Instances = 2, math.MaxUint32
	s.draw(t) // no primitive: at once
}

// TestProgress: the part of a draw that is done grows from batch to batch, over instances and views, to nearly all.
func TestProgress(t *testing.T) {
	for _, views := range []uint32{0, 5} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
		s.pass.ViewMask, s.state.NoRasterizer = views, true
		s.Count, s.Instances, s.Progress = 3000, 4, new(Progress)
		s.Progress.Begin(0, 1)
		var parts []float64
		s.Vertex.Stop = func(uint64) bool {
			parts = append(parts, s.Progress.Part())
			return false
		}
		s.draw(t)
		if n := len(parts); n < 20 || !slices.IsSorted(parts) || parts[0] > 0.1 || parts[n-1] < 0.9 || parts[n-1] > 1 {
			t.Errorf("view mask %d: the parts done are %v", views, parts)
		}
		if s.Progress.Begin(0, 1); s.Progress.Part() != 0 {
			t.Errorf("a draw that begins is done to %v", s.Progress.Part())
		}
	}
}

// restarts makes a draw of 2^32-1 instances of nothing but restarts.
func (s *scene) restarts() {
	s.Instances, s.Indexed, s.Count, s.state.Restart, s.IndexType = math.MaxUint32, true, 3, true, vk.INDEX_TYPE_UINT16
	s.Indices = []byte{255, 255, 255, 255, 255, 255}
}

// TestLayers draws instances into layers, and views into theirs.
func TestLayers(t *testing.T) {
	for _, views := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 0)
		img, check := testImage(t, vk.FORMAT_R32_SFLOAT, 4, 4, 5, 1)
		s.pass.Colors[0], s.pass.Layers = target(img), 5
		s.vertices(-1, -1, 0, 1, 3, -1, 0, 1, -1, 3, 0, 1)
		vs := s.state.Vertex.(*goShader)
		fs := &goShader{in: builtins(spirv.BuiltInLayer, 1), out: floats(0, 1),
			code: func(l *lane) bool { l.set(0, float64(l.in[0])+1); return true }}
		s.state.Fragment = fs
		if views {
			s.pass.ViewMask = 0b11010
			fs.in = builtins(spirv.BuiltInViewIndex, 1)
		} else {
			s.Instances = 7
			vs.in, vs.out = join(vs.in, builtins(spirv.BuiltInInstanceIndex, 1)), join(vs.out, builtins(spirv.BuiltInLayer, 1))
		}
		s.draw(t)
		check()
		for layer := range uint32(5) {
			want := float64(layer + 1)
			if views && s.pass.ViewMask>>layer&1 == 0 {
				want = 0
			}
			sub, _ := img.Layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, 0, layer)
			own := *img
			own.Bytes = img.Bytes[sub.Offset:]
			if got := s.float(t, &own, 3, 2, 0)[0]; got != want {
				t.Errorf("views %v: layer %d is %v", views, layer, got)
			}
		}
	}
}
