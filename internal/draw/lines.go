package draw

import (
	"math"

	"farside/internal/vk"
)

// lineState is what lines remember of the ones before.
type lineState struct {
	stipple float64 // how far along its strip the next line begins: fragments of Bresenham's lines, pixels of others
	// Of the line at hand: its stipple is measured along (dx, dy), which has length 1, from (x0, y0).
	x0, y0, dx, dy float64
	stippled       bool
	// The quad that Bresenham's fragments are collected in.
	x, y  int32
	cover [4]uint16
	some  bool
}

func (r *run) lines() *lineState { return &r.raster.lines }

// drawLine clips and rasterizes a line. That of a polygon's edge is not counted.
func (r *run) drawLine(from, to *corner, code uint32, v *viewport, count bool) {
	z := &r.raster
	a, b := *from, *to
	if code &^= guardPlanes; code != 0 && !z.clipLine(&a, &b, code, v) {
		return
	}
	if count {
		r.counts.Counts[countClipOut]++
	}
	dx, dy := float64(b.fx-a.fx)/subpixels, float64(b.fy-a.fy)/subpixels
	length := dx*dx + dy*dy
	if length == 0 {
		return
	}
	p := &z.prim
	p.x0, p.y0 = float64(a.fx)/subpixels, float64(a.fy)/subpixels
	along := func(at, end float64) plane {
		t := (end - at) / length
		return plane{t * dx, t * dy, at}
	}
	p.z = along(a.depth+p.bias, b.depth+p.bias)
	p.q = along(a.q, b.q)
	p.affine = a.q == b.q
	for i := range p.b {
		if p.affine {
			p.b[i] = along(a.b[i+1], b.b[i+1])
		} else {
			p.b[i] = along(a.b[i+1]*a.q, b.b[i+1]*b.q)
		}
		p.l[i] = along(z.onScreen(&a, i+1), z.onScreen(&b, i+1))
	}
	l := r.lines()
	length = math.Sqrt(length)
	l.x0, l.y0, l.dx, l.dy = p.x0, p.y0, dx/length, dy/length
	r.shading.begin()
	l.stippled = r.state.StippleLines
	if r.state.LineMode == vk.LINE_RASTERIZATION_MODE_BRESENHAM {
		r.drawBresenham(&a, &b, v)
	} else {
		r.drawRectangle(&a, &b, v)
		l.stipple = r.wrapStipple(l.stipple + length)
	}
	l.stippled = false
}

// drawRectangle draws a line as the rectangle around it (chapter "Line Segment Rasterization"). Its corners are a
// parallelogram in 1/256 pixels, too.
func (r *run) drawRectangle(a, b *corner, v *viewport) {
	l := r.lines()
	half := float64(r.state.LineWidth) / 2
	if !(half > 0) {
		half = 0.5
	}
	z := &r.raster
	more := 0.0
	if z.smooth {
		length := math.Hypot(float64(b.fx-a.fx), float64(b.fy-a.fy)) / subpixels
		z.prim.smooth = rectangle{l.x0, l.y0, l.dx, l.dy, length, half}
		more = smoothReach
	}
	hx, hy := snap(-l.dy*(half+more)), snap(l.dx*(half+more))
	ex, ey := snap(l.dx*more), snap(l.dy*more)
	// Walking along the line, its left side, (dy, -dx) as y goes down, comes first on a clockwise way.
	s := polygonShape{n: 4, x: [4]int64{a.fx - ex - hx, b.fx + ex - hx, b.fx + ex + hx, a.fx - ex + hx},
		y: [4]int64{a.fy - ey - hy, b.fy + ey - hy, b.fy + ey + hy, a.fy - ey + hy}}
	r.fill(&s, v, false)
	z.prim.smooth = rectangle{}
}

// rectangle is that of a smooth line: it begins at (x, y) and goes along (dx, dy), which has length 1.
type rectangle struct{ x, y, dx, dy, length, half float64 }

const (
	// smoothReach is more than half of a pixel's diagonal: as far as a pixel's centre may be away from what is in it.
	smoothReach = 0.75
	// smoothGrid is how many places along each side of a pixel its coverage is counted at.
	smoothGrid = 16
)

// coverage is how much of a pixel a smooth line covers (chapter "Smooth Lines").
func (l *rectangle) coverage(x, y int32) float64 {
	count := 0
	for i := range smoothGrid {
		for k := range smoothGrid {
			px, py := float64(x)+(float64(i)+0.5)/smoothGrid-l.x, float64(y)+(float64(k)+0.5)/smoothGrid-l.y
			along, across := px*l.dx+py*l.dy, px*l.dy-py*l.dx
			if along >= 0 && along < l.length && math.Abs(across) < l.half {
				count++
			}
		}
	}
	return float64(count) / (smoothGrid * smoothGrid)
}

// stippleBits takes those pixels of a quad away that the stipple pattern leaves out.
func (l *lineState) stippleBits(s *State, x, y int32, cover *[4]uint16) {
	for i := range cover {
		px, py := float64(x)+float64(i&1)+0.5, float64(y)+float64(i>>1)+0.5
		at := l.stipple + (px-l.x0)*l.dx + (py-l.y0)*l.dy
		if !stippleBit(s, max(at, 0)) {
			cover[i] = 0
		}
	}
}

// stippleBit says whether the pattern has a fragment at a place along the line.
func stippleBit(s *State, at float64) bool {
	return s.StipplePattern>>(uint64(at)/uint64(max(s.StippleFactor, 1))&15)&1 != 0
}

// wrapStipple takes off whole patterns: what is left stays exact on strips of any length.
func (r *run) wrapStipple(at float64) float64 {
	return math.Mod(at, 16*float64(max(r.state.StippleFactor, 1)))
}

// drawBresenham draws the pixels whose diamonds the line leaves (chapter "Bresenham Line Segment Rasterization"). The
// coordinates that a line advances along are u, the others w: x and y of an x-major line.
//
// The specification moves both ends by (-e, -e*e) to decide where they lie on the border of a diamond. So an end at a
// pixel's centre lies before it, and one at u of the centre and w of a border belongs to the pixel with the lesser w.
func (r *run) drawBresenham(a, b *corner, v *viewport) {
	dx, dy := b.fx-a.fx, b.fy-a.fy
	steep := max(dy, -dy) > max(dx, -dx)
	m := bresenham{au: a.fx, aw: a.fy, bu: b.fx, bw: b.fy, steep: steep}
	low, high := int64(v.x0), int64(v.x1)
	if steep {
		m.au, m.aw, m.bu, m.bw = a.fy, a.fx, b.fy, b.fx
		low, high = int64(v.y0), int64(v.y1)
	}
	wide := max(int64(math.Floor(float64(r.state.LineWidth)+0.5)), 1)
	m.aw -= (wide - 1) * (subpixels / 2)
	m.bw -= (wide - 1) * (subpixels / 2)
	m.du, m.dw = m.bu-m.au, m.bw-m.aw
	l := r.lines()
	first, last, step := m.au>>8, m.bu>>8, int64(1)
	// An end on a border lies before it.
	if m.au&255 == 0 {
		first--
	}
	if m.bu&255 == 0 {
		last--
	}
	if m.du < 0 {
		step = -1
	}
	at, end := first, last+step
	if step > 0 && at < low {
		at = min(low, end)
	} else if step < 0 && at >= high {
		at = max(high-1, end)
	}
	count := l.stipple + float64(m.skipped(first, at, step))
	for ; at != end; at += step {
		if step > 0 && at >= high || step < 0 && at < low {
			break
		}
		row, ok := m.pixel(at, at == first, at == last)
		if !ok {
			continue
		}
		if !l.stippled || stippleBit(r.state, count) {
			for i := range wide {
				r.linePixel(m.steep, at, row+i, v)
			}
		}
		count++
	}
	r.lineEnd()
	l.stipple = r.wrapStipple(l.stipple + float64(m.skipped(first, end, step)))
}

// bresenham is a line in coordinates u, along which it goes by more, and w.
type bresenham struct {
	au, aw, bu, bw, du, dw int64
	steep                  bool
}

// skipped is how many pixels the line has between two columns.
func (m *bresenham) skipped(first, at, step int64) int64 {
	if at == first {
		return 0
	}
	n := (at - first) * step
	if _, ok := m.pixel(first, true, m.lastColumn() == first); !ok {
		n--
	}
	if at-step == m.lastColumn() && at-step != first {
		if _, ok := m.pixel(at-step, false, true); !ok {
			n--
		}
	}
	return n
}

// lastColumn is the column of the line's end.
func (m *bresenham) lastColumn() int64 {
	last := m.bu >> 8
	if m.bu&255 == 0 {
		last--
	}
	return last
}

// pixel is the line's pixel in a column; false: it has none. Only the columns of the ends may have none.
func (m *bresenham) pixel(column int64, first, last bool) (row int64, ok bool) {
	centre := column*subpixels + subpixels/2
	forward := m.du > 0
	row = m.rowAt(centre)
	if first {
		// The line crosses the centre if it begins before it; an end at the centre lies before it along u.
		crosses := m.au <= centre
		if !forward {
			crosses = m.au > centre
		}
		if !crosses {
			row = rowOf(m.aw)
			if !m.inside(m.au, m.aw, centre, row) {
				return 0, false
			}
		}
	}
	if last {
		crosses := m.bu > centre
		if !forward {
			crosses = m.bu <= centre
		}
		if !crosses || m.inside(m.bu, m.bw, centre, row) {
			return 0, false
		}
	}
	return row, true
}

// rowOf is the pixel that has an end.
func rowOf(w int64) int64 { return (w - 1) >> 8 }

// rowAt is the pixel that the line crosses at u. The ends are moved by -e along x and by -e*e along y: on the border of
// two pixels this decides.
func (m *bresenham) rowAt(u int64) int64 {
	// w = aw + dw*(u-au)/du
	num, den := m.dw*(u-m.au), m.du
	if den < 0 {
		num, den = -num, -den
	}
	rising := m.dw != 0 && m.dw > 0 == (m.du > 0)
	row := floorDiv(m.aw*den+num, den*subpixels)
	exact := (m.aw*den+num)%(den*subpixels) == 0
	// Along x a line is moved back by e: as seen at u, w changes by the slope. Along y it is w that is moved back.
	if exact && (m.steep || !rising) {
		row--
	}
	return row
}

// inside says whether an end lies in the diamond of a pixel, once it has been moved.
func (m *bresenham) inside(u, w, centre, row int64) bool {
	middle := row*subpixels + subpixels/2
	d := max(u-centre, centre-u) + max(w-middle, middle-w)
	if m.steep {
		return d < subpixels/2 || d == subpixels/2 && w > middle
	}
	return d < subpixels/2 || d == subpixels/2 && u > centre
}

// linePixel adds a pixel to the quad at hand.
func (r *run) linePixel(steep bool, u, w int64, v *viewport) {
	x, y := u, w
	if steep {
		x, y = w, u
	}
	if x < int64(v.x0) || x >= int64(v.x1) || y < int64(v.y0) || y >= int64(v.y1) {
		return
	}
	l := r.lines()
	qx, qy := int32(x)&^1, int32(y)&^1
	if l.some && (l.x != qx || l.y != qy) {
		r.lineEnd()
	}
	l.some, l.x, l.y = true, qx, qy
	l.cover[x&1+y&1*2] |= 1<<r.raster.samples - 1
}

// lineEnd hands on the quad at hand.
func (r *run) lineEnd() {
	l := r.lines()
	if !l.some {
		return
	}
	cover := l.cover
	l.some, l.cover = false, [4]uint16{}
	stippled := l.stippled
	l.stippled = false // it has been asked for each pixel
	if r.err == nil {
		r.shading.quad(r, l.x, l.y, &cover)
	}
	l.stippled = stippled
}
