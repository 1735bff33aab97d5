package draw

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

// clipOf is the coordinate in -1..1 of one in 1/256 pixels, exactly.
func clipOf(fixed int64, size uint32) float32 { return float32(fixed)/256/(float32(size)/2) - 1 }

// inTriangle says whether a point belongs to a triangle: it is inside, or would be once it is moved a little to the
// right and still less down.
func inTriangle(t *[3][2]int64, x, y int64) bool {
	a := *t
	if cross(a[0], a[1], a[2]) < 0 {
		a[1], a[2] = a[2], a[1]
	}
	if cross(a[0], a[1], a[2]) == 0 {
		return false
	}
	for i := range a {
		p, q := a[i], a[(i+1)%3]
		e := cross(p, q, [2]int64{x, y})
		right := cross(p, q, [2]int64{x + 1, y}) - e
		down := cross(p, q, [2]int64{x, y + 1}) - e
		if !(e > 0 || e == 0 && (right > 0 || right == 0 && down > 0)) {
			return false
		}
	}
	return true
}

func cross(p, q, r [2]int64) int64 {
	return (q[0]-p[0])*(r[1]-p[1]) - (r[0]-p[0])*(q[1]-p[1])
}

// TestCoverage compares random triangles with the rule for each sample.
func TestCoverage(t *testing.T) {
	const size = 16
	random := rand.New(rand.NewPCG(1, 2))
	for _, samples := range []uint32{1, 2, 4, 8, 16} {
		for round := range 150 {
			s := newScene(t, vk.FORMAT_R32_SFLOAT, size, size, samples, 0)
			s.state.Fragment = &goShader{out: floats(0, 1), code: func(l *lane) bool { l.set(0, 1.0); return true }}
			s.state.Scissors[0] = vk.Rect2D{Offset: vk.Offset2D{X: 1}, Extent: vk.Extent2D{Width: size - 2, Height: size - 1}}
			var tri [3][2]int64
			var data []float32
			for i := range tri {
				for k := range 2 {
					switch v := &tri[i][k]; round % 3 {
					case 0: // everywhere, also outside
						*v = random.Int64N(3*size*256) - size*256
					case 1: // whole and half pixels, where edges meet samples
						*v = random.Int64N(2*size) * 128
					case 2: // on samples of all counts
						*v = random.Int64N(16*size) * 16
					}
				}
				data = append(data, clipOf(tri[i][0], size), clipOf(tri[i][1], size), 0, 1)
			}
			s.vertices(data...)
			s.draw(t)
			count := 0
			for y := range size {
				for x := range size {
					for i := range int(samples) {
						at := samplePositions[samples][i]
						want := inTriangle(&tri, int64(x)*256+at[0], int64(y)*256+at[1]) && x >= 1 && x < size-1 && y < size-1
						if want {
							count++
						}
						if got := s.color(t, x, y, i)[0] == 1; got != want {
							t.Fatalf("%d samples, %v: sample %d of %d,%d is %v", samples, tri, i, x, y, got)
						}
					}
				}
			}
			if s.stats.Samples != uint64(count) {
				t.Fatalf("%d samples, %v: %d are counted, not %d", samples, tri, s.stats.Samples, count)
			}
		}
	}
}

// TestMesh draws meshes of random shape, whose edges each belong to two triangles: every sample is covered once. Their
// borders lie beyond the image, and in some beyond near, far and guard band.
func TestMesh(t *testing.T) {
	const size, cells = 32, 6
	random := rand.New(rand.NewPCG(3, 4))
	for _, samples := range []uint32{1, 4, 8} {
		for round := range 40 {
			s := newScene(t, vk.FORMAT_R32_SFLOAT, size, size, samples, 0)
			s.state.Fragment = &goShader{out: floats(0, 1), code: func(l *lane) bool { l.set(0, 1.0); return true }}
			s.state.Blends[0] = Blend{BlendEnable: 1, SrcColorBlendFactor: vk.BLEND_FACTOR_ONE,
				DstColorBlendFactor: vk.BLEND_FACTOR_ONE, ColorWriteMask: 15}
			far := [4]float32{1, 1e3, 1e6, 1e9}[round%4]
			var grid [cells + 1][cells + 1][4]float32
			for y := range grid {
				for x := range grid[y] {
					w := 0.5 + random.Float32()
					px := (float32(x)+0.4*(random.Float32()-0.5))/cells*2.4 - 1.2
					py := (float32(y)+0.4*(random.Float32()-0.5))/cells*2.4 - 1.2
					if x == 0 || x == cells {
						px *= far
					}
					if y == 0 || y == cells {
						py *= far
					}
					grid[y][x] = [4]float32{px * w, py * w, w * random.Float32(), w}
				}
			}
			var data []float32
			for y := range cells {
				for x := range cells {
					a, b, c, d := grid[y][x], grid[y][x+1], grid[y+1][x], grid[y+1][x+1]
					quad := [][4]float32{a, b, c, c, b, d}
					for _, v := range quad {
						data = append(data, v[:]...)
					}
				}
			}
			s.vertices(data...)
			s.draw(t)
			for y := range size {
				for x := range size {
					for i := range int(samples) {
						if got := s.color(t, x, y, i)[0]; got != 1 {
							t.Fatalf("%d samples, round %d: sample %d of %d,%d is drawn %v times", samples, round, i, x, y, got)
						}
					}
				}
			}
		}
	}
}

// TestViewportCuts has triangles end where the viewport does, and the negative height turn the image around.
func TestViewportCuts(t *testing.T) {
	for _, height := range []float32{4, -4} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 16, 16, 1, 1)
		s.state.Viewports[0] = vk.Viewport{X: 3, Y: 5, Width: 6, Height: height, MaxDepth: 1}
		if height < 0 {
			s.state.Viewports[0].Y = 9
		}
		s.vertices(
			-4, -4, 0, 1, -3,
			8, -4, 0, 1, -3,
			-4, 8, 0, 1, 9) // y + 1
		s.draw(t)
		for y := range 16 {
			for x := range 16 {
				want := 0.0
				if x >= 3 && x < 9 && y >= 5 && y < 9 {
					want = (float64(y-5) + 0.5) / 2
					if height < 0 {
						want = 2 - want
					}
				}
				if got := s.color(t, x, y, 0)[0]; got != want {
					t.Errorf("height %v: pixel %d,%d is %v, not %v", height, x, y, got, want)
				}
			}
		}
	}
}

// pixels draws red 1 with one draw and gives the picture as text.
func (s *scene) pixels(t *testing.T, size int) string {
	t.Helper()
	s.state.Fragment = &goShader{out: floats(0, 1), code: func(l *lane) bool { l.set(0, 1.0); return true }}
	s.draw(t)
	text := ""
	for y := range size {
		for x := range size {
			if s.color(t, x, y, 0)[0] == 1 {
				text += "#"
			} else {
				text += "."
			}
		}
		text += "\n"
	}
	return text
}

// TestPoints has squares where the specification's rule has them, and coordinates within.
func TestPoints(t *testing.T) {
	const size = 16
	random := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		s := newScene(t, vk.FORMAT_R32G32_SFLOAT, size, size, 1, 1)
		s.state.Topology = vk.PRIMITIVE_TOPOLOGY_POINT_LIST
		vs := s.state.Vertex.(*goShader)
		vs.out = join(vs.out[:4], pointSize())
		s.state.Fragment = pointCoordinates()
		x, y, width := random.Int64N(size*256+1), random.Int64N(size*256+1), float32(random.IntN(10*4))/4
		s.vertices(clipOf(x, size), clipOf(y, size), 0, 1, width)
		s.draw(t)
		half := max(int64(width*128), 128)
		for py := range int64(size) {
			for px := range int64(size) {
				cx, cy := px*256+128, py*256+128
				inside := cx >= x-half && cx < x+half && cy >= y-half && cy < y+half
				want := [2]float64{}
				if inside {
					want[0] = float64(float32(0.5 + float64(cx-x)/float64(2*half)))
					want[1] = float64(float32(0.5 + float64(cy-y)/float64(2*half)))
				}
				if got := s.color(t, int(px), int(py), 0); got[0] != want[0] || got[1] != want[1] {
					t.Fatalf("point of %v at %d,%d: pixel %d,%d is %v, not %v", width, x, y, px, py, got, want)
				}
			}
		}
	}
}

// inDiamond says whether a point, in 1/2^40 pixels, lies in the diamond of a pixel.
func inDiamond(x, y int64, px, py int64) bool {
	const one = int64(1) << 40
	dx, dy := x-(px*one+one/2), y-(py*one+one/2)
	return max(dx, -dx)+max(dy, -dy) < one/2
}

// crossesDiamond says whether a segment has a point in the diamond of a pixel: none of the lines along its sides or
// along the segment has the two on different sides. Coordinates are 1/256 pixels, and the ends are moved by (-e, -e*e):
// signs decide first by the whole number, then by e, then by its square.
func crossesDiamond(a, b [2]int64, px, py int64) bool {
	cx, cy := px*256+128, py*256+128
	// Diagonals u = x+y, v = x-y: the diamond is a square there. An end has u less e and e*e, v less e and more e*e.
	for _, axis := range [2]int64{1, -1} {
		ua, ub := a[0]-cx+axis*(a[1]-cy), b[0]-cx+axis*(b[1]-cy)
		// Moved back by e: at 128 it is less than 128, at -128 it is beyond.
		low, high := min(ua, ub), max(ua, ub)
		if low > 128 || high <= -128 {
			return false
		}
	}
	dx, dy := b[0]-a[0], b[1]-a[1]
	above, below := false, false
	for _, corner := range [4][2]int64{{cx + 128, cy}, {cx - 128, cy}, {cx, cy + 128}, {cx, cy - 128}} {
		side := dx*(corner[1]-a[1]) - dy*(corner[0]-a[0])
		// The line moves by (-e, -e*e): the corner as seen from it by (e, e*e).
		if side == 0 {
			if side = -dy; side == 0 {
				side = dx
			}
		}
		above, below = above || side > 0, below || side < 0
	}
	return above && below
}

// endsIn says whether an end that has been moved lies in the diamond of a pixel.
func endsIn(p [2]int64, px, py int64) bool {
	const one = int64(1) << 32 // of 1/256 pixels, in 1/2^40 pixels
	return inDiamond(p[0]*one-1<<20, p[1]*one-1, px, py)
}

// TestBresenham compares random lines of one pixel with the diamond-exit rule for each pixel.
func TestBresenham(t *testing.T) {
	const size = 12
	random := rand.New(rand.NewPCG(7, 8))
	for round := range 4000 {
		s := newScene(t, vk.FORMAT_R8_UNORM, size, size, 1, 0)
		s.state.Topology, s.state.LineMode = vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.LINE_RASTERIZATION_MODE_BRESENHAM
		var ends [2][2]int64
		grid := [4]int64{1, 16, 64, 128}[round%4]
		for i := range ends {
			for k := range 2 {
				ends[i][k] = random.Int64N(size*256/grid+1) * grid
			}
		}
		if random.IntN(4) == 0 { // short ones
			for k := range 2 {
				ends[1][k] = min(max(ends[0][k]+(random.Int64N(512/grid+1)-256/grid)*grid, 0), size*256)
			}
		}
		s.vertices(clipOf(ends[0][0], size), clipOf(ends[0][1], size), 0, 1,
			clipOf(ends[1][0], size), clipOf(ends[1][1], size), 0, 1)
		got := s.pixels(t, size)
		want := ""
		for y := range int64(size) {
			for x := range int64(size) {
				if ends[0] != ends[1] && crossesDiamond(ends[0], ends[1], x, y) && !endsIn(ends[1], x, y) {
					want += "#"
				} else {
					want += "."
				}
			}
			want += "\n"
		}
		if got != want {
			t.Fatalf("line %v:\n%s\nwanted:\n%s", ends, got, want)
		}
	}
}

// TestRectangles compares strict lines with the two triangles that their rectangles are.
func TestRectangles(t *testing.T) {
	const size = 16
	for _, c := range []struct {
		ax, ay, bx, by int64
		width          float32
		x0, y0, x1, y1 int // the pixels
	}{
		{2 * 256, 4*256 + 128, 9 * 256, 4*256 + 128, 1, 2, 4, 9, 5},
		{9 * 256, 4*256 + 128, 2 * 256, 4*256 + 128, 1, 2, 4, 9, 5},
		{4*256 + 128, 3*256 + 128, 4*256 + 128, 11*256 + 129, 3, 3, 3, 6, 12},
		{8 * 256, 2 * 256, 8 * 256, 3 * 256, 10, 3, 2, 13, 3},
	} {
		s := newScene(t, vk.FORMAT_R8_UNORM, size, size, 1, 0)
		s.state.Topology, s.state.LineWidth = vk.PRIMITIVE_TOPOLOGY_LINE_LIST, c.width
		s.vertices(clipOf(c.ax, size), clipOf(c.ay, size), 0, 1, clipOf(c.bx, size), clipOf(c.by, size), 0, 1)
		got, want := s.pixels(t, size), ""
		for y := range size {
			for x := range size {
				if x >= c.x0 && x < c.x1 && y >= c.y0 && y < c.y1 {
					want += "#"
				} else {
					want += "."
				}
			}
			want += "\n"
		}
		if got != want {
			t.Errorf("%+v:\n%s", c, got)
		}
	}
}

// TestStipple has the pattern go on through a strip, in both ways to draw lines.
func TestStipple(t *testing.T) {
	for _, mode := range []vk.LineRasterizationMode{vk.LINE_RASTERIZATION_MODE_RECTANGULAR,
		vk.LINE_RASTERIZATION_MODE_BRESENHAM} {
		for _, strip := range []bool{true, false} {
			s := newScene(t, vk.FORMAT_R8_UNORM, 16, 16, 1, 0)
			s.state.LineMode, s.state.StippleLines = mode, true
			s.state.StippleFactor, s.state.StipplePattern = 2, 0b0101_0101_0101_0011
			row := clipOf(2*256+128, 16)
			at := func(x int64) []float32 { return []float32{clipOf(x*256+64, 16), row, 0, 1} }
			data := append(at(0), at(7)...)
			s.state.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_STRIP
			if !strip {
				s.state.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_LIST
				data = append(data, at(7)...)
			}
			s.vertices(append(data, at(15)...)...)
			want := ""
			for x := range 15 {
				count := x
				if !strip && x >= 7 {
					count -= 7
				}
				want += fmt.Sprint(s.state.StipplePattern >> (count / 2) & 1)
			}
			text := s.pixels(t, 16)[2*17:][:15]
			got := ""
			for _, c := range text {
				got += map[rune]string{'#': "1", '.': "0"}[c]
			}
			if got != want {
				t.Errorf("mode %v, strip %v: %s, not %s", mode, strip, got, want)
			}
		}
	}
}
