package draw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/vk"
)

// part is a draw of a series, and what is set before it.
type part struct {
	Draw
	viewport *vk.Viewport
	scissor  *vk.Rect2D
	bound    uint32 // for vertices
}

// draw has a series go on with the part.
func (p *part) draw(s *scene, series *Series) error {
	if p.viewport != nil {
		s.state.Viewports[0] = *p.viewport
	}
	if p.scissor != nil {
		s.state.Scissors[0] = *p.scissor
	}
	p.Vertex.DeviceIndex = p.bound
	d := p.Draw // which is the caller's again
	return series.Draw(&d)
}

// parts are draws of some of the vertices of a scene, each with a buffer of its own, and some with other viewports,
// scissors, bindings and constants than those before them.
func (s *scene) parts(random *rand.Rand) []part {
	var all []part
	fragment, bound := s.Fragment, uint32(0)
	for range 1 + random.IntN(6) {
		p := part{Draw: s.Draw}
		if random.IntN(3) == 0 {
			w, h := int(s.pass.Area.Extent.Width), int(s.pass.Area.Extent.Height)
			p.Changed |= ChangedViewports
			x, y := random.IntN(w), random.IntN(h)
			p.viewport = &vk.Viewport{X: float32(x)/4 + random.Float32(), Y: float32(y)/4 + random.Float32(),
				Width: float32(w) * 0.7, Height: float32(h) * 0.7, MaxDepth: random.Float32()}
			p.scissor = &vk.Rect2D{Offset: vk.Offset2D{X: int32(x / 2), Y: int32(y / 2)},
				Extent: vk.Extent2D{Width: uint32(w), Height: uint32(h - y/2)}}
		}
		if random.IntN(3) == 0 {
			p.Changed |= ChangedBindings
			bound = random.Uint32N(9)
		}
		if random.IntN(2) == 0 {
			fragment = &compute.Environment{DeviceIndex: random.Uint32N(9), PushConstants: []byte{byte(random.Uint32N(99))}}
		}
		p.Fragment, p.bound = fragment, bound
		d := &p.Draw
		if !d.Indexed && d.Count > 0 {
			d.First = random.Uint32N(d.Count)
			d.Count -= d.First
		}
		d.Instances = 1 + random.Uint32N(2)
		d.Buffers = append([]VertexBuffer(nil), d.Buffers...)
		for i := range d.Buffers {
			if b := &d.Buffers[i]; len(b.Bytes) > 0 {
				b.Bytes = b.Bytes[random.IntN(len(b.Bytes))&^3:]
			}
		}
		all = append(all, p)
	}
	return all
}

// TestSeries has draws that join give the same bits and counts as draws of their own, in order.
func TestSeries(t *testing.T) {
	shareAlways(t, 2)
	shaded, joined, changed := 0, 0, 0
	for seed := range uint64(1200) {
		binShift = 1 + int(seed%4)
		binShare = 1 + int64(seed%2)<<20 // with workers, and without
		var scenes [2]*scene
		for i := range scenes {
			s := randomScene(t, seed)
			if seed%3 > 0 {
				s.state.Vertex.(*goShader).modes.Effects = false
				if fs, ok := s.state.Fragment.(*goShader); ok {
					fs.modes.Effects = false
				}
			}
			if seed%2 > 0 {
				s.Statistics = nil
			}
			s.findEnvironments()
			var series Series
			before := s.Fragment
			for _, p := range s.parts(rand.New(rand.NewPCG(seed, 4))) {
				p.InOrder = i == 0
				if series.run != nil && (p.Changed != 0 || p.Fragment != before) {
					changed++
				}
				before = p.Fragment
				if err := p.draw(s, &series); err != nil {
					t.Fatal(err)
				}
				if i == 0 && series.run != nil {
					t.Fatal("draws in order join")
				}
			}
			if series.run != nil {
				joined++
			}
			if err := series.End(); err != nil {
				t.Fatal(err)
			}
			s.check()
			scenes[i] = s
		}
		scenes[1].same(t, scenes[0], fmt.Sprintf("seed %d", seed))
		if scenes[0].stats.Samples > 0 {
			shaded++
		}
	}
	if shaded < 40 || joined < 600 || changed < 1000 {
		t.Errorf("only %d draws have samples, only %d series join, only %d changes are within one", shaded, joined, changed)
	}
}

// findEnvironments has both shaders show what they find in their environments.
func (s *scene) findEnvironments() {
	vs := s.state.Vertex.(*goShader)
	vertex := vs.code
	vs.code = func(l *lane) bool {
		stays := vertex(l)
		l.out[0] ^= l.bound << 20
		return stays
	}
	fs, ok := s.state.Fragment.(*goShader)
	if !ok {
		return
	}
	fragment := fs.code
	fs.code = func(l *lane) bool {
		stays := fragment == nil || fragment(l)
		for i := range l.out {
			l.out[i] ^= l.bound << 19
			if len(l.pushed) > 0 {
				l.out[i] ^= uint32(l.pushed[0]) << 16
			}
		}
		return stays
	}
}

// TestSeriesEnds has errors and panics end a series, at its draws and at its end.
func TestSeriesEnds(t *testing.T) {
	shareAlways(t, 2)
	bad := errors.New("bad")
	for _, panics := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 64, 64, 1, 1)
		s.full(0, 1)
		vs, fs := s.state.Vertex.(*goShader), s.state.Fragment.(*goShader)
		var series Series
		if err := series.Draw(&s.Draw); err != nil || fs.open.Load() == 0 {
			t.Fatalf("the error of the first draw is %v, and %d batches are open", err, fs.open.Load())
		}
		if panics {
			fs.code = func(*lane) bool { panic("bad") }
		} else {
			fs.err = bad
		}
		func() {
			defer func() {
				if (recover() == "bad") != panics {
					t.Error("no panic, or one too many")
				}
			}()
			if err := series.End(); !errors.Is(err, bad) {
				t.Errorf("the error is %v", err)
			}
		}()
		if vs.open.Load() != 0 || fs.open.Load() != 0 || series.run != nil {
			t.Errorf("%d and %d batches are open", vs.open.Load(), fs.open.Load())
		}
		if err := series.End(); err != nil {
			t.Errorf("the end of nothing: %v", err)
		}
	}
	s := newScene(t, vk.FORMAT_R32_SFLOAT, 64, 64, 1, 1)
	s.full(0, 1)
	var series Series
	if err := series.Draw(&s.Draw); err != nil {
		t.Fatal(err)
	}
	series.Drop()
	if n := s.state.Fragment.(*goShader).open.Load(); n != 0 || series.run != nil {
		t.Errorf("%d batches are open", n)
	}
}

// TestSeriesAlone has draws not join whose shaders others can look into.
func TestSeriesAlone(t *testing.T) {
	for i, change := range []func(vs, fs *goShader){
		func(*goShader, *goShader) {},
		func(vs, _ *goShader) { vs.modes.Effects = true },
		func(_, fs *goShader) { fs.modes.Effects = true },
		func(_, fs *goShader) { fs.modes.ReadsInputs = true },
		func(_, fs *goShader) { fs.modes.Subgroups = true },
	} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 64, 64, 1, 1)
		s.full(0, 1)
		change(s.state.Vertex.(*goShader), s.state.Fragment.(*goShader))
		var series Series
		if err := series.Draw(&s.Draw); err != nil {
			t.Fatal(err)
		}
		if joins := series.run != nil; joins != (i == 0) {
			t.Errorf("shaders %d: joins %v", i, joins)
		}
		if err := series.End(); err != nil {
			t.Fatal(err)
		}
	}
}
