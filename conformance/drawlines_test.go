package conformance

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// lineCases are about how lines are drawn, and points of several sizes.
func lineCases() []definition {
	return []definition{
		drawCase("rasterization.lines.rectangular", func(c *Case) {
			rectangularCase(c, vk.LINE_RASTERIZATION_MODE_RECTANGULAR, 1)
		}, "RectangularLines"),
		drawCase("rasterization.lines.rectangular_wide", func(c *Case) {
			rectangularCase(c, vk.LINE_RASTERIZATION_MODE_RECTANGULAR, 5)
		}, "RectangularLines", "WideLines"),
		drawCase("rasterization.lines.wide", func(c *Case) {
			if c.inst.Properties2(c.pd, nil).Properties.Limits.StrictLines == vk.FALSE {
				c.Unsupported("strictLines")
			}
			rectangularCase(c, vk.LINE_RASTERIZATION_MODE_DEFAULT, 3)
		}, "RectangularLines", "WideLines"),
		drawCase("rasterization.lines.bresenham", func(c *Case) { bresenhamCase(c, 1) }, "BresenhamLines"),
		drawCase("rasterization.lines.bresenham_wide", func(c *Case) { bresenhamCase(c, 4) }, "BresenhamLines", "WideLines"),
		drawCase("rasterization.lines.smooth", smoothCase, "SmoothLines", "WideLines"),
		drawCase("rasterization.lines.stippled_rectangular", func(c *Case) {
			stippleCase(c, vk.LINE_RASTERIZATION_MODE_RECTANGULAR, false)
		}, "RectangularLines", "StippledRectangularLines"),
		drawCase("rasterization.lines.stippled_bresenham", func(c *Case) {
			stippleCase(c, vk.LINE_RASTERIZATION_MODE_BRESENHAM, false)
		}, "BresenhamLines", "StippledBresenhamLines"),
		drawCase("rasterization.lines.stippled_smooth", func(c *Case) {
			stippleCase(c, vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH, false)
		}, "SmoothLines", "StippledSmoothLines"),
		drawCase("rasterization.lines.dynamic_stipple", func(c *Case) {
			stippleCase(c, vk.LINE_RASTERIZATION_MODE_BRESENHAM, true)
		}, "BresenhamLines", "StippledBresenhamLines"),
		drawCase("rasterization.points.large", largePointCase, "LargePoints"),
	}
}

// lineVertices is a vertex shader of lines whose ends are in the buffer, in pixels of a target of 64 x 64. Each has its
// number, 2 to the power of which v is.
const lineVertices = `layout(binding = 0) readonly buffer B { vec2 p[]; };
	layout(location = 0) flat out vec4 v;
	void main() {
		gl_Position = vec4(p[gl_VertexIndex] / 32 - 1, 0, 1);
		v = vec4(1 << (gl_VertexIndex / 2), 0, 0, 1);
	}`

// lines makes a pipeline draw lines of a mode and a width.
func (s *scene) lines(g *vulkan.GraphicsState, mode vk.LineRasterizationMode, width float32) {
	g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_LIST
	g.Raster.LineWidth = width
	l := vulkan.Struct[vk.PipelineRasterizationLineStateCreateInfo](&s.a)
	l.LineRasterizationMode = mode
	vulkan.Behind(unsafe.Pointer(g.Raster), unsafe.Pointer(l))
}

// adds makes colours be added to what is there.
func adds(g *vulkan.GraphicsState) {
	b := &g.Attachments[0]
	b.BlendEnable, b.SrcColorBlendFactor, b.DstColorBlendFactor = vk.TRUE, vk.BLEND_FACTOR_ONE, vk.BLEND_FACTOR_ONE
}

// randomLines are lines whose ends are multiples of a sixteenth, within a target of 64 x 64.
func randomLines(n int) []float32 {
	random := rand.New(rand.NewPCG(5, 6))
	ends := make([]float32, 4*n)
	for i := range ends {
		ends[i] = float32(random.IntN(48*16))/16 + 8
	}
	return ends
}

// drawnLines draws lines, each into a bit of its own.
func (s *scene) drawnLines(ends []float32, mode vk.LineRasterizationMode, width float32) []uint32 {
	s.draw(&look{vertex: lineVertices, fragment: passValue, buffers: []any{ends},
		edit: func(g *vulkan.GraphicsState) {
			s.lines(g, mode, width)
			adds(g)
		},
		record: func(cb vk.CommandBuffer) {
			s.c.dev.CallOn("vkCmdDraw", uintptr(cb), uintptr(len(ends)/2), 1, 0, 0)
		}})
	out := make([]uint32, s.width*s.height)
	for i, v := range s.floats(s.colors[0]) {
		if i%4 == 0 {
			out[i/4] = uint32(v)
		}
	}
	return out
}

// rectangularCase compares lines with the rectangles around them. Pixels whose centre is near an edge don't count.
func rectangularCase(c *Case, mode vk.LineRasterizationMode, width float32) {
	const lines, near = 20, 0.03
	s := c.scene(64, 64, 1, 1, 0, rgba32f)
	defer s.close()
	ends := randomLines(lines)
	got := s.drawnLines(ends, mode, width)
	for i := range lines {
		x0, y0, x1, y1 := float64(ends[4*i]), float64(ends[4*i+1]), float64(ends[4*i+2]), float64(ends[4*i+3])
		length := math.Hypot(x1-x0, y1-y0)
		dx, dy := (x1-x0)/length, (y1-y0)/length
		wrong := 0
		for at, bits := range got {
			px, py := float64(at%64)+0.5-x0, float64(at/64)+0.5-y0
			along, across := px*dx+py*dy, math.Abs(px*dy-py*dx)
			inside := min(along, length-along, float64(width)/2-across)
			if math.Abs(inside) > near && inside > 0 != (bits>>i&1 != 0) {
				wrong++
			}
		}
		if wrong > 0 {
			c.Errorf("line %d, %v: %d pixels are wrong", i, ends[4*i:4*i+4], wrong)
		}
	}
}

// bresenhamCase looks at the columns that lie wholly between the ends of a line: each has a run of pixels, as many as
// the line is wide, about where the line crosses it.
func bresenhamCase(c *Case, width int) {
	const lines = 20
	s := c.scene(64, 64, 1, 1, 0, rgba32f)
	defer s.close()
	ends := randomLines(lines)
	got := s.drawnLines(ends, vk.LINE_RASTERIZATION_MODE_BRESENHAM, float32(width))
	for i := range lines {
		// Along u the line goes by more than along w.
		au, aw, bu, bw := float64(ends[4*i]), float64(ends[4*i+1]), float64(ends[4*i+2]), float64(ends[4*i+3])
		pixel := func(u, w int) bool { return got[w*64+u]>>i&1 != 0 }
		if math.Abs(bw-aw) > math.Abs(bu-au) {
			au, aw, bu, bw = aw, au, bw, bu
			pixel = func(u, w int) bool { return got[u*64+w]>>i&1 != 0 }
		}
		for u := range 64 {
			centre := float64(u) + 0.5
			low, high := min(au, bu), max(au, bu)
			count, first := 0, -1
			for w := range 64 {
				if pixel(u, w) {
					if count++; first < 0 {
						first = w
					}
				}
			}
			switch {
			case centre < low-1 || centre > high+1:
				if count > 0 {
					c.Errorf("line %d, %v: %d pixels in column %d", i, ends[4*i:4*i+4], count, u)
				}
			case centre > low+1 && centre < high-1:
				middle := aw + (bw-aw)*(centre-au)/(bu-au)
				if off := float64(first) + float64(width)/2 - middle; count != width || math.Abs(off) > 0.51 {
					c.Errorf("line %d, %v: %d pixels in column %d, from %d on; the line is at %v", i, ends[4*i:4*i+4], count, u, first,
						middle)
				}
			}
		}
	}
}

// smoothCase looks at the alpha of lines along the axes that cover parts of pixels.
func smoothCase(c *Case) {
	s := c.scene(64, 64, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: lineVertices, fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(1); }`,
		buffers: []any{[]float32{8, 20, 56, 20, 8, 40.5, 56, 40.5}},
		edit:    func(g *vulkan.GraphicsState) { s.lines(g, vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH, 3) },
		record:  func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 4, 1, 0, 0) }})
	got := s.floats(s.colors[0])
	for y, want := range map[int]float32{15: 0, 18: 0.5, 19: 1, 20: 1, 21: 0.5, 24: 0, 36: 0, 39: 1, 40: 1, 41: 1, 45: 0} {
		for x := 16; x < 48; x++ {
			if a := got[(y*64+x)*4+3]; !(math.Abs(float64(a-want)) <= 0.2) {
				c.Errorf("alpha of pixel (%d, %d) is %v, want %v", x, y, a, want)
				break
			}
		}
	}
}

// stippleCase draws strips along rows of pixels with a pattern, of a factor: it goes on from one line of a strip to the
// next, and begins again with each line of a list.
func stippleCase(c *Case, mode vk.LineRasterizationMode, dynamic bool) {
	const factor, pattern = 3, 0x9a6d
	for _, strip := range []bool{true, false} {
		s := c.scene(64, 64, 1, 1, 0, rgba32f)
		// Row 10, from column 4 on; the second line begins in column 24. Of a list it is another. The ends are in diamonds.
		s.draw(&look{vertex: lineVertices, fragment: white, buffers: []any{[]float32{4.25, 10.5, 24.25, 10.5, 24.25,
			10.5, 60.25, 10.5, 4.25, 10.5, 24.25, 10.5, 60.25, 10.5}},
			edit: func(g *vulkan.GraphicsState) {
				s.lines(g, mode, 1)
				l := (*vk.PipelineRasterizationLineStateCreateInfo)(g.Raster.PNext)
				l.StippledLineEnable, l.LineStippleFactor, l.LineStipplePattern = vk.TRUE, factor, pattern
				if strip {
					g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_STRIP
				}
				if dynamic {
					l.LineStippleFactor, l.LineStipplePattern = 1, 0xffff
					g.Vary(vk.DYNAMIC_STATE_LINE_STIPPLE)
				}
			}, record: func(cb vk.CommandBuffer) {
				if dynamic {
					c.dev.CallOn("vkCmdSetLineStippleEXT", uintptr(cb), factor, pattern)
				}
				if strip {
					c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 4, 0)
				} else {
					c.dev.CallOn("vkCmdDraw", uintptr(cb), 4, 1, 0, 0)
				}
			}})
		got := s.floats(s.colors[0])
		for x := range 64 {
			at := x - 4
			if !strip && x >= 24 {
				at = x - 24
			}
			want := x >= 4 && x < 60 && pattern>>(at/factor%16)&1 != 0
			if alpha := got[(10*64+x)*4+3]; (alpha > 0.5) != want {
				c.Errorf("strip %v: the alpha of column %d is %v, want %v", strip, x, alpha, want)
			}
		}
		s.close()
	}
}

// largePointCase draws points of several sizes, and reads gl_PointCoord.
func largePointCase(c *Case) {
	s := c.scene(64, 64, 1, 1, 0, rgba32f)
	defer s.close()
	sizes := []float64{1, 5, 8, 15.5}
	s.draw(&look{vertex: `layout(location = 0) flat out vec4 v;
		void main() {
			float size = float[](1, 5, 8, 15.5)[gl_VertexIndex];
			gl_Position = vec4((gl_VertexIndex * 16 + 8.25) / 32 - 1, 0.0078125, 0, 1);
			gl_PointSize = size;
			v = vec4(size, 0, 0, 0);
		}`, fragment: `layout(location = 0) flat in vec4 v; layout(location = 0) out vec4 c;
		void main() { c = vec4(v.x, gl_PointCoord, 1); }`, edit: points,
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 4, 1, 0, 0) }})
	s.pixels(s.colors[0], 1e-4, func(x, y int) (w [4]float64) {
		for i, size := range sizes {
			left, top := float64(i*16)+8.25-size/2, 32.25-size/2
			u, v := (float64(x)+0.5-left)/size, (float64(y)+0.5-top)/size
			if u >= 0 && u < 1 && v >= 0 && v < 1 {
				w = [4]float64{size, u, v, 1}
			}
		}
		return w
	})
}
