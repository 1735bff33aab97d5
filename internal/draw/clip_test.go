package draw

import (
	"math"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// solve gives the weights of three vertices, by x, y, w, that make up a point with w = 1.
func solve(v *[3][4]float64, x, y float64) ([3]float64, bool) {
	det := func(a, b, c [3]float64) float64 {
		return a[0]*(b[1]*c[2]-b[2]*c[1]) - a[1]*(b[0]*c[2]-b[2]*c[0]) + a[2]*(b[0]*c[1]-b[1]*c[0])
	}
	var p [3][3]float64
	for i := range p {
		p[i] = [3]float64{v[i][0], v[i][1], v[i][3]}
	}
	at := [3]float64{x, y, 1}
	all := det(p[0], p[1], p[2])
	return [3]float64{det(at, p[1], p[2]) / all, det(p[0], at, p[2]) / all, det(p[0], p[1], at) / all},
		math.Abs(all) > 1e-3
}

// TestClipping compares triangles on all sides of all planes with what a ray through each pixel meets: exact weights in
// clip coordinates, without any clipping.
func TestClipping(t *testing.T) {
	const size = 16
	random := rand.New(rand.NewPCG(13, 14))
	drawn, all := 0, 0
	for round := range 1500 {
		s := newScene(t, vk.FORMAT_R32G32B32A32_SFLOAT, size, size, 1, 4)
		s.state.MinusOneToOne = round%2 == 1
		s.state.DepthClip = round%3 != 0
		vs := s.state.Vertex.(*goShader)
		distances := builtins(spirv.BuiltInClipDistance, 2)
		vs.out = join(vs.out, distances)
		vs.code = func(l *lane) bool { // the last two attributes are distances, too
			copy(l.out, l.in)
			copy(l.out[8:], l.in[6:])
			return true
		}
		fs := s.state.Fragment.(*goShader)
		fs.in = join(floats(1, 2), builtins(spirv.BuiltInFragCoord, 4), distances)
		fs.in[1].Interpolation = compute.Linear
		fs.code = func(l *lane) bool { // depth, attribute, noperspective attribute, 1/w
			l.set(0, l.float(4), l.float(0), l.float(1), l.float(5))
			if l.float(6) < -1e-4 || l.float(7) < -1e-4 {
				t.Errorf("round %d: clip distances %v, %v", round, l.float(6), l.float(7))
			}
			return true
		}
		var v [3][4]float64
		var attr [3][4]float64
		var data []float32
		for i := range v {
			for k := range 4 {
				v[i][k] = float64(float32(random.NormFloat64()))
				attr[i][k] = float64(float32(random.Float64() + 0.5 - random.Float64()*float64(k/2)))
			}
			v[i][3] = float64(float32(v[i][3] + 0.7))
			if round%5 == 0 {
				v[i][3] = 1
			}
			for _, c := range v[i] {
				data = append(data, float32(c))
			}
			for _, c := range attr[i] {
				data = append(data, float32(c))
			}
		}
		s.vertices(data...)
		s.draw(t)
		for y := range size {
			for x := range size {
				b, ok := solve(&v, (float64(x)+0.5)/size*2-1, (float64(y)+0.5)/size*2-1)
				if !ok {
					continue
				}
				got := s.color(t, x, y, 0)
				margin := min(b[0], b[1], b[2])
				z, q, linear := 0.0, 0.0, 0.0
				var dist [2]float64
				for i := range b {
					z, q, linear = z+b[i]*v[i][2], q+b[i], linear+b[i]*v[i][3]*attr[i][1]
					dist[0], dist[1] = dist[0]+b[i]*attr[i][2], dist[1]+b[i]*attr[i][3]
				}
				near := z
				if s.state.MinusOneToOne {
					near = z + 1
				}
				if s.state.DepthClip {
					margin = min(margin, near, 1-z)
				}
				margin = min(margin, dist[0], dist[1])
				inside := got != [4]float64{}
				all++
				if inside {
					drawn++
				}
				// The vertices are rounded to 1/256 pixels.
				if math.Abs(margin) < 0.02*(1+math.Abs(b[0])+math.Abs(b[1])+math.Abs(b[2])) {
					continue
				}
				if inside != (margin > 0) {
					t.Fatalf("round %d: pixel %d,%d is %v, margin %v, vertices %v", round, x, y, inside, margin, v)
				}
				if !inside {
					continue
				}
				if s.state.MinusOneToOne {
					z = (z + 1) / 2
				}
				attribute := (b[0]*attr[0][0] + b[1]*attr[1][0] + b[2]*attr[2][0]) / q
				scale := math.Abs(b[0]) + math.Abs(b[1]) + math.Abs(b[2])
				for i, want := range [4]float64{z, attribute, linear, q} {
					if math.Abs(got[i]-want) > 0.05*(1+scale+math.Abs(want)) {
						t.Fatalf("round %d: value %d at %d,%d is %v, not %v; vertices %v", round, i, x, y, got[i], want, v)
					}
				}
			}
		}
	}
	if drawn < all/50 {
		t.Errorf("only %d of %d pixels are drawn", drawn, all)
	}
}

// TestCull has triangles that are outside of a cull plane with all vertices, or with two.
func TestCull(t *testing.T) {
	for out := range 4 {
		s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 2)
		vs := s.state.Vertex.(*goShader)
		vs.out = join(vs.out[:4], builtins(spirv.BuiltInCullDistance, 2))
		s.state.Fragment = &goShader{out: floats(0, 1), code: func(l *lane) bool { l.set(0, 1.0); return true }}
		var data []float32
		for i, v := range [][2]float32{{-1, -1}, {3, -1}, {-1, 3}} {
			d := float32(1)
			if i < out {
				d = -1
			}
			data = append(data, v[0], v[1], 0, 1, 1, d)
		}
		s.vertices(data...)
		s.draw(t)
		if got := s.color(t, 1, 1, 0)[0] == 1; got != (out < 3) {
			t.Errorf("%d vertices are outside: drawn is %v", out, got)
		}
	}
}

// TestFaces has all ways to say which triangles are culled, and what shaders see of those that aren't.
func TestFaces(t *testing.T) {
	for _, clockwise := range []bool{false, true} { // as the triangle is seen, y going down
		for _, face := range []vk.FrontFace{vk.FRONT_FACE_CLOCKWISE, vk.FRONT_FACE_COUNTER_CLOCKWISE} {
			for cull := vk.CullModeFlags(0); cull < 4; cull++ {
				s := newScene(t, vk.FORMAT_R32_SFLOAT, 2, 2, 1, 0)
				s.state.FrontFace, s.state.CullMode = face, cull
				s.state.Fragment = &goShader{in: builtins(spirv.BuiltInFrontFacing, 1), out: floats(0, 1),
					code: func(l *lane) bool { l.set(0, 1+float64(l.in[0])); return true }}
				s.vertices(-1, -1, 0, 1, -1, 3, 0, 1, 3, -1, 0, 1)
				if clockwise {
					s.vertices(-1, -1, 0, 1, 3, -1, 0, 1, -1, 3, 0, 1)
				}
				s.draw(t)
				front := clockwise == (face == vk.FRONT_FACE_CLOCKWISE)
				want := 1.0
				gone := vk.CULL_MODE_BACK_BIT
				if front {
					want, gone = 2, vk.CULL_MODE_FRONT_BIT
				}
				if cull&gone != 0 {
					want = 0
				}
				if got := s.color(t, 1, 1, 0)[0]; got != want {
					t.Errorf("clockwise %v, %v, cull %v: %v, not %v", clockwise, face, cull, got, want)
				}
			}
		}
	}
}

// TestPolygonModes draws the edges and the corners of a triangle.
func TestPolygonModes(t *testing.T) {
	s := newScene(t, vk.FORMAT_R8_UNORM, 8, 8, 1, 0)
	at := func(v int64) float32 { return clipOf(v*256+128, 8) }
	s.vertices(at(1), at(1), 0, 1, at(6), at(1), 0, 1, at(1), at(6), 0, 1)
	s.state.LineMode, s.state.PolygonMode = vk.LINE_RASTERIZATION_MODE_BRESENHAM, vk.POLYGON_MODE_LINE
	const edges = "........\n.######.\n.#...#..\n.#..#...\n.#.#....\n.##.....\n.#......\n........\n"
	if got := s.pixels(t, 8); got != edges {
		t.Errorf("edges:\n%s", got)
	}
	s.state.PolygonMode = vk.POLYGON_MODE_POINT
	clear(s.pass.Colors[0].Image.Bytes)
	const corners = "........\n.#....#.\n........\n........\n........\n........\n.#......\n........\n"
	if got := s.pixels(t, 8); got != corners {
		t.Errorf("corners:\n%s", got)
	}
}

// TestFlat has flat inputs come from the provoking vertex, also of clipped triangles.
func TestFlat(t *testing.T) {
	for _, last := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 1, 1)
		s.state.ProvokingLast = last
		s.state.Fragment.(*goShader).in[0].Interpolation = compute.Flat
		s.vertices(-1, -1, -2, 1, 5, 3, -1, 0.5, 1, 6, -1, 3, 0.5, 1, 7)
		s.draw(t)
		want := 5.0
		if last {
			want = 7
		}
		if got := s.color(t, 3, 3, 0)[0]; got != want {
			t.Errorf("last %v: %v", last, got)
		}
		if got := s.color(t, 0, 0, 0)[0]; got != 0 {
			t.Errorf("the clipped corner is %v", got)
		}
	}
}

// TestViewports sends instances to viewports of their own.
func TestViewports(t *testing.T) {
	s := newScene(t, vk.FORMAT_R32_SFLOAT, 8, 8, 1, 0)
	vs := s.state.Vertex.(*goShader)
	vs.in, vs.out = join(vs.in, builtins(spirv.BuiltInInstanceIndex, 1)),
		join(vs.out, builtins(spirv.BuiltInViewportIndex, 1))
	s.state.Fragment = &goShader{in: builtins(spirv.BuiltInViewportIndex, 1), out: floats(0, 1),
		code: func(l *lane) bool { l.set(0, 1+float64(l.in[0])); return true }}
	s.state.Viewports = []vk.Viewport{{Width: 4, Height: 4, MaxDepth: 1}, {X: 4, Y: 2, Width: 2, Height: 6, MaxDepth: 1}}
	s.state.Scissors = []vk.Rect2D{s.pass.Area, {Offset: vk.Offset2D{X: 5}, Extent: vk.Extent2D{Width: 9, Height: 9}}}
	s.full(0)
	s.Instances = 2
	s.draw(t)
	for y := range 8 {
		for x := range 8 {
			want := 0.0
			switch {
			case x < 4 && y < 4:
				want = 1
			case x == 5 && y >= 2:
				want = 2
			}
			if got := s.color(t, x, y, 0)[0]; got != want {
				t.Errorf("pixel %d,%d is %v, not %v", x, y, got, want)
			}
		}
	}
}
