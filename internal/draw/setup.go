package draw

import (
	"math"

	"farside/internal/vk"
)

// viewport is a viewport with its scissor, as the rasterizer needs both.
type viewport struct {
	ox, oy, oz float64 // the centre
	hx, hy, pz float64 // half the size; the range of depths
	low, high  float64 // depths, in order
	// What triangles are cut to, in 1/256 pixels; and the pixels that fragments may have.
	left, top, right, bottom int64
	x0, y0, x1, y1           int32
}

// newViewport takes in a viewport, its scissor, the render area and the attachments.
func (r *run) newViewport(vp *vk.Viewport, scissor *vk.Rect2D) viewport {
	v := viewport{hx: float64(vp.Width) / 2, hy: float64(vp.Height) / 2}
	v.ox, v.oy = float64(vp.X)+v.hx, float64(vp.Y)+v.hy
	near, far := float64(vp.MinDepth), float64(vp.MaxDepth)
	v.low, v.high = min(near, far), max(near, far)
	v.oz, v.pz = near, far-near
	if r.state.MinusOneToOne {
		v.oz, v.pz = (near+far)/2, (far-near)/2
	}
	// Coordinates beyond the guard band are none that a pixel has.
	edge := func(at float64) int64 { return snap(min(max(at, -guardBand), guardBand)) }
	v.left, v.right = edge(min(v.ox-v.hx, v.ox+v.hx)), edge(max(v.ox-v.hx, v.ox+v.hx))
	v.top, v.bottom = edge(min(v.oy-v.hy, v.oy+v.hy)), edge(max(v.oy-v.hy, v.oy+v.hy))
	x0, y0, x1, y1 := int64(0), int64(0), int64(r.width), int64(r.height)
	for _, rect := range [2]*vk.Rect2D{scissor, &r.pass.Area} {
		x, y := int64(rect.Offset.X), int64(rect.Offset.Y)
		x0, x1 = max(x0, x), min(x1, x+int64(rect.Extent.Width))
		y0, y1 = max(y0, y), min(y1, y+int64(rect.Extent.Height))
	}
	// Without attachments, an area may be larger than any coordinate.
	v.x0, v.y0 = int32(min(x0, guardBand)), int32(min(y0, guardBand))
	v.x1, v.y1 = int32(max(min(x1, guardBand), 0)), int32(max(min(y1, guardBand), 0))
	return v
}

// rasterizer makes fragments of primitives.
type rasterizer struct {
	viewports  []viewport
	depthClip  bool
	symmetric  bool // depths of clip coordinates begin at -w
	smooth     bool // lines have the coverage of pixels in their alpha
	samples    int
	positions  *[16][2]int64 // of the samples, in 1/256 pixels
	sampleBits uint16        // all samples that the sample mask has

	wide           bool      // by AVX-512, where there is a way
	corners        [3]corner // of the primitive
	polygon, spare [mostCorners]corner
	distances      [3][maxDistances]float64
	w              [3]float64 // of the primitive's vertices

	lines        lineState
	work         int64               // pixels of rows since Stop was asked
	sides        [16][4]side         // of a sample and an edge
	rows         [2][16]interval     // of a row of quads and a sample
	spans        spanPlan            // both, on vectors
	covers, raws [rowQuads][4]uint16 // of a row of quads that are tested together
	prim         prim                // the one that is being set up
	at           *prim               // the one that is being filled: that one, or one of the bins
}

// prepare takes in the state.
func (z *rasterizer) prepare(r *run) {
	s := r.state
	z.lines, z.work, z.at = lineState{}, 0, &z.prim
	z.wide = !r.draw.InOrder && vectors() && wide()
	z.depthClip, z.symmetric = s.DepthClip, s.MinusOneToOne
	samples := max(s.Samples, 1)
	if r.pass.Samples != 0 {
		samples = r.pass.Samples
	}
	z.samples = int(samples)
	if z.positions = samplePositions[samples]; z.positions == nil {
		z.samples, z.positions = 1, samplePositions[1]
	}
	z.smooth = s.LineMode == vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH
	z.sampleBits = uint16(1<<z.samples-1) & uint16(s.SampleMask)
}

// place takes in the viewports and scissors.
func (z *rasterizer) place(r *run) {
	s := r.state
	z.viewports = z.viewports[:0]
	var none vk.Rect2D
	for i := range s.Viewports {
		scissor := &none
		if i < len(s.Scissors) {
			scissor = &s.Scissors[i]
		}
		z.viewports = append(z.viewports, r.newViewport(&s.Viewports[i], scissor))
	}
}

// batch rasterizes the primitives of a batch of n vertices.
func (z *rasterizer) batch(r *run, vs *vertexStage, n int) {
	if len(z.viewports) == 0 || len(vs.primitives) == 0 {
		return
	}
	located := vs.viewport == nil && (vs.primitives[0].corners < 3 || r.state.PolygonMode == vk.POLYGON_MODE_FILL)
	if located {
		z.locate(vs, n)
	}
	for i := range vs.primitives {
		p := &vs.primitives[i]
		r.counts.Counts[countClipIn]++
		if p.fresh { // also where this line itself is dropped
			z.lines.stipple = 0
		}
		if vs.culls > 0 && culled(vs, &p.lane, p.corners) {
			continue
		}
		t := &z.prim
		*t = prim{view: r.view, id: p.id, layer: r.view, corners: p.corners}
		if vs.layer != nil && r.pass.ViewMask == 0 {
			t.layer = vs.layer[p.provoker]
		}
		if t.layer >= r.layers {
			continue // "undefined": no layer can have it
		}
		if vs.viewport != nil {
			if t.viewport = vs.viewport[p.provoker]; uint64(t.viewport) >= uint64(len(z.viewports)) {
				t.viewport = 0
			}
		}
		v := &z.viewports[t.viewport]
		t.low, t.high = v.low, v.high
		t.lanes, t.provoker = p.lane, p.provoker
		if located {
			all, any := vs.corners.planes(p)
			if all != 0 {
				continue
			}
			if any == 0 || p.corners == 3 && any&^volumePlanes == 0 {
				vs.corners.take(z, vs, p, r.shading.linear)
				if r.drawCorners(vs, p, any, v); r.err != nil {
					return
				}
				continue
			}
		}
		if z.primitive(r, vs, p, v); r.err != nil {
			return
		}
	}
}

// primitive rasterizes a primitive, clipped where that is needed.
func (z *rasterizer) primitive(r *run, vs *vertexStage, p *assembled, v *viewport) {
	all, any := ^uint32(0), uint32(0)
	z.w = [3]float64{} // of a vertex that isn't there nothing counts: what was left there may be infinite
	corners := &z.corners
	for k := range p.corners {
		c := &corners[k]
		z.load(c, vs, p.lane[k], v)
		c.b = [3]float64{}
		c.b[k] = 1
		z.w[k] = c.w
		all, any = all&c.code, any|c.code
	}
	if all != 0 || any&(1<<planeBad) != 0 {
		return
	}
	if any>>planeUser != 0 {
		z.readDistances(vs, &p.lane, p.corners)
	}
	r.drawCorners(vs, p, any, v)
}

// drawCorners rasterizes a primitive, whose corners are known. The code has the planes that any is outside of.
func (r *run) drawCorners(vs *vertexStage, p *assembled, code uint32, v *viewport) {
	corners := &r.raster.corners
	switch p.corners {
	case 1:
		r.drawPoint(&corners[0], float(vs.pointSize, p.lane[0]), v, vs.pointSize != nil)
	case 2:
		r.drawLine(&corners[0], &corners[1], code, v, true)
	case 3:
		r.drawTriangle(corners, code, v, vs)
	}
}

// drawTriangle clips and culls a triangle, and rasterizes what is left in its polygon mode.
func (r *run) drawTriangle(corners *[3]corner, code uint32, v *viewport, vs *vertexStage) {
	z := &r.raster
	poly, n, whole := corners[:], 3, true
	if clip := code &^ volumePlanes; clip != 0 {
		copy(z.polygon[:], poly)
		poly, whole = z.polygon[:], false
		if n = z.clipPolygon(3, clip, v); n == 0 {
			return
		}
	}
	var area int64
	for i := 1; i+1 < n; i++ {
		a, b := &poly[i], &poly[i+1]
		area += (a.fx-poly[0].fx)*(b.fy-poly[0].fy) - (b.fx-poly[0].fx)*(a.fy-poly[0].fy)
	}
	s := r.state
	// The specification's area has the other sign. One of zero is that of no front face.
	front := area < 0 == (s.FrontFace == vk.FRONT_FACE_COUNTER_CLOCKWISE) && area != 0
	if front && s.CullMode&vk.CULL_MODE_FRONT_BIT != 0 || !front && s.CullMode&vk.CULL_MODE_BACK_BIT != 0 {
		return
	}
	z.prim.back = !front
	r.counts.Counts[countClipOut]++
	if s.PolygonMode == vk.POLYGON_MODE_FILL {
		if area == 0 {
			return
		}
		for i := 1; i+1 < n && r.err == nil; i++ {
			r.fillTriangle(&poly[0], &poly[i], &poly[i+1], area < 0, whole, v)
		}
		return
	}
	bias := r.polygonBias(poly, n)
	z.prim.bias = bias
	for i := range 3 {
		if r.err != nil {
			return
		}
		if s.PolygonMode == vk.POLYGON_MODE_POINT {
			c := corners[i]
			if c.code == 0 {
				r.drawPoint(&c, float(vs.pointSize, z.prim.lanes[i]), v, vs.pointSize != nil)
			}
			continue
		}
		a, b := corners[i], corners[(i+1)%3]
		if a.code&b.code == 0 {
			z.lines.stipple = 0
			r.drawLine(&a, &b, a.code|b.code, v, false)
		}
	}
}

// polygonBias is the depth bias of a polygon that isn't filled.
func (r *run) polygonBias(poly []corner, n int) float64 {
	if !r.state.DepthBias.Enable {
		return 0
	}
	most := 0.0
	for i := range n {
		most = max(most, math.Abs(poly[i].depth))
	}
	var slope plane
	for i := 1; i+1 < n; i++ {
		var g gradient
		if g.of(&poly[0], &poly[i], &poly[i+1]) {
			g.plane(&slope, poly[0].depth, poly[i].depth, poly[i+1].depth)
			break
		}
	}
	return r.biasOf(&slope, most)
}

// plane is a value that is linear in the framebuffer: c at the primitive's origin, x and y for each pixel from there.
type plane struct{ x, y, c float64 }

// gradient makes planes of the values at three corners. It writes number by number: a processor waits where numbers
// that were just written are copied two at a time.
type gradient struct{ x1, y1, x2, y2, scale float64 }

// of takes the corners. It answers false where they have no area.
func (g *gradient) of(a, b, c *corner) bool {
	x1, y1 := float64(b.fx-a.fx)/subpixels, float64(b.fy-a.fy)/subpixels
	x2, y2 := float64(c.fx-a.fx)/subpixels, float64(c.fy-a.fy)/subpixels
	area := float64(x1*y2) - float64(x2*y1)
	g.x1, g.y1, g.x2, g.y2, g.scale = x1, y1, x2, y2, 1/area
	return area != 0
}

// plane is for a value at each corner.
func (g *gradient) plane(to *plane, a, b, c float64) {
	b, c = b-a, c-a
	to.x = (float64(b*g.y2) - float64(c*g.y1)) * g.scale
	to.y = (float64(c*g.x1) - float64(b*g.x2)) * g.scale
	to.c = a
}

// second is for a value at the second corner and 0 at the others, third for one at the third corner.
func (g *gradient) second(to *plane, v float64) {
	to.x, to.y, to.c = v*g.y2*g.scale, -v*g.x2*g.scale, 0
}

func (g *gradient) third(to *plane, v float64) {
	to.x, to.y, to.c = -v*g.y1*g.scale, v*g.x1*g.scale, 0
}

// biasOf computes a depth bias (chapter "Depth Bias"), from the plane of depths and the greatest one.
func (r *run) biasOf(depth *plane, most float64) float64 {
	b := &r.state.DepthBias
	unit := 1.0
	if b.Representation != vk.DEPTH_BIAS_REPRESENTATION_FLOAT_EXT {
		switch {
		case r.tests.kind != depthFloat:
			unit = math.Ldexp(1, -int(r.tests.bits))
		case b.Representation == vk.DEPTH_BIAS_REPRESENTATION_LEAST_REPRESENTABLE_VALUE_FORCE_UNORM_EXT:
			unit = 0x1p-24
		default:
			_, e := math.Frexp(most)
			unit = math.Ldexp(1, e-1-23) // Frexp's fractions begin at 1/2
		}
	}
	bias := float64(math.Hypot(depth.x, depth.y)*float64(b.Slope)) + float64(unit*float64(b.Constant))
	switch limit := float64(b.Clamp); {
	case limit > 0:
		bias = min(bias, limit)
	case limit < 0:
		bias = max(bias, limit)
	}
	if math.IsNaN(bias) {
		return 0
	}
	return bias
}

// fillTriangle fills a triangle that needs no clipping; turned says that its corners go round counterclockwise, whole
// that they are the primitive's vertices.
func (r *run) fillTriangle(a, b, c *corner, turned, whole bool, v *viewport) {
	area := (b.fx-a.fx)*(c.fy-a.fy) - (c.fx-a.fx)*(b.fy-a.fy)
	if area == 0 || area < 0 != turned {
		return // rounding has turned a part of a clipped polygon around
	}
	z := &r.raster
	p := &z.prim
	var g gradient
	g.of(a, b, c)
	p.x0, p.y0 = float64(a.fx)/subpixels, float64(a.fy)/subpixels
	g.plane(&p.z, a.depth, b.depth, c.depth)
	if r.state.DepthBias.Enable {
		p.z.c += r.biasOf(&p.z, max(math.Abs(a.depth), math.Abs(b.depth), math.Abs(c.depth)))
	}
	if r.shading.active {
		q1, q2, q3 := a.q, b.q, c.q
		g.plane(&p.q, q1, q2, q3)
		if p.affine = q1 == q2 && q1 == q3; p.affine {
			q1, q2, q3 = 1, 1, 1
		}
		if whole {
			g.second(&p.b[0], q2)
			g.third(&p.b[1], q3)
		} else {
			g.plane(&p.b[0], a.b[1]*q1, b.b[1]*q2, c.b[1]*q3)
			g.plane(&p.b[1], a.b[2]*q1, b.b[2]*q2, c.b[2]*q3)
		}
		for i := range p.l {
			if r.shading.linear {
				g.plane(&p.l[i], z.onScreen(a, i+1), z.onScreen(b, i+1), z.onScreen(c, i+1))
			}
		}
	}
	r.shading.begin()
	if turned {
		b, c = c, b
	}
	var shape polygonShape
	shape.n = 3
	shape.x[0], shape.x[1], shape.x[2] = a.fx, b.fx, c.fx
	shape.y[0], shape.y[1], shape.y[2] = a.fy, b.fy, c.fy
	r.fill(&shape, v, true)
}

// onScreen is how much of a vertex a corner is in framebuffer coordinates: what noperspective inputs are weighted by.
// It is linear there through clipping, whatever the sign of w outside.
func (z *rasterizer) onScreen(c *corner, i int) float64 { return c.b[i] * z.w[i] * c.q }

// drawPoint rasterizes a point as a square (chapter "Basic Point Rasterization").
func (r *run) drawPoint(c *corner, size float64, v *viewport, sized bool) {
	if c.code != 0 {
		return
	}
	if !sized || !(size >= 1) {
		size = 1
	}
	size = min(size, MaxPointSize)
	p := &r.raster.prim
	if r.state.Topology == vk.PRIMITIVE_TOPOLOGY_POINT_LIST {
		r.counts.Counts[countClipOut]++
	}
	p.x0, p.y0 = c.px, c.py
	p.z, p.q = plane{c: c.depth + p.bias}, plane{c: c.q}
	p.affine = true
	for i := range p.b {
		p.b[i], p.l[i] = plane{c: c.b[i+1]}, plane{c: c.b[i+1]}
	}
	p.size = size
	half := size / 2
	x0, y0 := snap(c.px-half), snap(c.py-half)
	x1, y1 := x0+snap(size), y0+snap(size)
	r.shading.begin()
	r.fill(&polygonShape{n: 4, x: [4]int64{x0, x1, x1, x0}, y: [4]int64{y0, y0, y1, y1}}, v, false)
}

// MaxPointSize is the end of pointSizeRange. Larger points are of this size.
const MaxPointSize = 1024
