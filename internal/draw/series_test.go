package draw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

// parts are draws of some of the vertices of a scene, each with a buffer of its own.
func (s *scene) parts(random *rand.Rand) []Draw {
	var all []Draw
	for range 1 + random.IntN(6) {
		d := s.Draw
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
		all = append(all, d)
	}
	return all
}

// TestSeries has draws that join give the same bits and counts as draws of their own, in order.
func TestSeries(t *testing.T) {
	shareAlways(t, 2)
	shaded, joined := 0, 0
	for seed := range uint64(600) {
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
			var series Series
			for _, d := range s.parts(rand.New(rand.NewPCG(seed, 4))) {
				d.InOrder = i == 0
				if err := series.Draw(&d); err != nil {
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
	if shaded < 20 || joined < 150 {
		t.Errorf("only %d draws have samples, only %d series join", shaded, joined)
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

// TestSeriesAlone has draws not join whose shaders others can look into, and says who reads push constants.
func TestSeriesAlone(t *testing.T) {
	for i, change := range []func(vs, fs *goShader){
		func(*goShader, *goShader) {},
		func(_, fs *goShader) { fs.modes.Constants = true },
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
		if joins := series.run != nil; joins != (i < 2) || series.ReadsConstants() != (i == 1) {
			t.Errorf("shaders %d: joins %v, reads constants %v", i, joins, series.ReadsConstants())
		}
		if err := series.End(); err != nil {
			t.Fatal(err)
		}
	}
}
