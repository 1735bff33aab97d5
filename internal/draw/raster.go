package draw

const (
	// subpixels is what a pixel is divided into: subPixelPrecisionBits is 8.
	subpixels = 256
	// ofSixteenth makes subpixels of sixteenths of a pixel.
	ofSixteenth = subpixels / 16
)

// sixteenths are the standard sample locations (chapter "Rasterization", "Standard sample locations").
var sixteenths = map[uint32][][2]int64{
	1: {{8, 8}},
	2: {{12, 12}, {4, 4}},
	4: {{6, 2}, {14, 6}, {2, 10}, {10, 14}},
	8: {{9, 5}, {7, 11}, {13, 9}, {5, 3}, {3, 13}, {1, 7}, {11, 15}, {15, 1}},
	16: {{9, 9}, {7, 5}, {5, 10}, {12, 7}, {3, 6}, {10, 13}, {13, 11}, {11, 3}, {6, 14}, {8, 1}, {4, 2}, {2, 12}, {0, 8},
		{15, 4}, {14, 15}, {1, 0}},
}

var samplePositions = func() map[uint32]*[16][2]int64 {
	all := make(map[uint32]*[16][2]int64)
	for n, list := range sixteenths {
		all[n] = new([16][2]int64)
		for i, p := range list {
			all[n][i] = [2]int64{p[0] * ofSixteenth, p[1] * ofSixteenth}
		}
	}
	return all
}()

// polygonShape is a convex polygon of three or four corners in 1/256 pixels, clockwise as y goes down.
type polygonShape struct {
	x, y [4]int64
	n    int
}

// interval is the pixels from lo to hi-1 of a row.
type interval struct{ lo, hi int32 }

// edge is a side of a polygon: a point is inside where a*x + b*y + c >= 0.
type edge struct{ a, b, c int64 }

// edgeOf makes the edge from corner i to corner j. A point on it belongs to the polygon if it is a top or a left edge:
// polygons with a common edge share no sample, and leave none out.
func (s *polygonShape) edgeOf(i, j int) edge {
	dx, dy := s.x[j]-s.x[i], s.y[j]-s.y[i]
	e := edge{a: -dy, b: dx, c: dy*s.x[i] - dx*s.y[i]}
	if !(dy < 0 || dy == 0 && dx > 0) {
		e.c--
	}
	return e
}

// stopWork is how many pixels of rows go by until Stop is asked: without a fragment shader, no batch does it.
const stopWork = 1 << 19

// wholeBox is how many pixels of a box are worth the question whether it is in the polygon.
const wholeBox = 256

// floorDiv divides and rounds down; the divisor is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// side is where an edge cuts the rows of a sample. It goes from one row to the next without a division or a branch.
type side struct {
	at, rest       int64 // the edge's value at the sample of pixel 0, divided by scale
	step, stepRest int64 // how much these are more in the next row
	scale          int64 // how much the value changes from one pixel to the next; of a level edge 1
}

// begin takes in an edge, and a place in 1/256 pixels.
func (s *side) begin(e *edge, x, y int64) {
	k := e.a*x + e.b*y + e.c
	if e.a == 0 {
		*s = side{at: k, step: e.b * subpixels, scale: 1}
		return
	}
	slope := max(e.a, -e.a)
	*s = side{scale: slope * subpixels}
	s.at, s.step = floorDiv(k, s.scale), floorDiv(e.b, slope)
	s.rest, s.stepRest = k-s.at*s.scale, (e.b-s.step*slope)*subpixels
}

// next goes to the next row.
func (s *side) next() {
	rest := s.rest + s.stepRest
	over := (s.scale - 1 - rest) >> 63 // -1: one more
	s.at += s.step - over
	s.rest = rest - s.scale&over
}

// sides are those of a polygon: first left ones, to the right of which lies what is inside, then right ones, then level
// ones.
type sides struct {
	edges        [4]edge
	lefts, steep int // where right ones begin, and level ones
	n            int
}

// begin takes in the sides of a polygon.
func (s *sides) begin(shape *polygonShape, n int) {
	var rights, level [4]edge
	s.n, s.lefts = n, 0
	k, l := 0, 0
	for i := range n {
		switch e := shape.edgeOf(i, (i+1)%shape.n); {
		case e.a > 0:
			s.edges[s.lefts&3] = e
			s.lefts++
		case e.a < 0:
			rights[k&3] = e
			k++
		default:
			level[l&3] = e
			l++
		}
	}
	s.steep = s.lefts + k
	copy(s.edges[s.lefts:], rights[:k])
	copy(s.edges[s.steep:], level[:l])
}

// cut makes the interval from lo to hi shorter where the sample of a pixel lies outside, and goes to the next row. It
// may become one that ends before it begins.
func (s *sides) cut(at *[4]side, lo, hi int64) (int64, int64) {
	j := 0
	for ; j < s.lefts; j++ {
		e := &at[j&3]
		lo = max(lo, -e.at)
		e.next()
	}
	for ; j < s.steep; j++ {
		e := &at[j&3]
		hi = min(hi, e.at+1)
		e.next()
	}
	for ; j < s.n; j++ {
		e := &at[j&3]
		if e.at < 0 {
			hi = lo
		}
		e.at += e.step
	}
	return lo, hi
}

// fill makes fragments of the samples in a polygon. The numbers are exact: coordinates have 29 bits at most.
func (r *run) fill(s *polygonShape, v *viewport, inViewport bool) {
	x0, x1, y0, y1 := s.x[0], s.x[0], s.y[0], s.y[0]
	for i := 1; i < s.n; i++ {
		x0, x1 = min(x0, s.x[i]), max(x1, s.x[i])
		y0, y1 = min(y0, s.y[i]), max(y1, s.y[i])
	}
	if inViewport && x0 >= v.left && x1 <= v.right && y0 >= v.top && y1 <= v.bottom {
		inViewport = false // none of its samples lies outside: those on right and bottom edges are not its own
	}
	if inViewport {
		x0, x1, y0, y1 = max(x0, v.left), min(x1, v.right), max(y0, v.top), min(y1, v.bottom)
	}
	at := box{max(int32(x0>>8), v.x0), max(int32(y0>>8), v.y0), min(int32(x1>>8)+1, v.x1), min(int32(y1>>8)+1, v.y1)}
	switch {
	case at.empty():
	case r.bins.on:
		r.bins.add(r, s, &at, inViewport)
	default:
		r.fillBox(s, v, inViewport, &at)
	}
}

// fillBox makes fragments of the samples of a polygon whose pixels are in a box.
func (r *run) fillBox(s *polygonShape, v *viewport, inViewport bool, in *box) {
	z := &r.raster
	left, right, top, bottom := in.left, in.right, in.top, in.bottom
	n := s.n
	if (right-left)*(bottom-top) >= wholeBox && s.covers(in, v, inViewport) {
		n, inViewport = 0, false // no row is cut
	}
	if r.shading.inBoxes && (n > 0 || r.tests.rows.ok) {
		at := *in
		if inViewport {
			at = at.inViewport(v)
		}
		r.fillBoxed(s, &at, n)
		return
	}
	if r.shading.inSpans {
		r.fillSpans(s, v, inViewport, in, n)
		return
	}
	if r.tests.rows.ok {
		r.tests.rows.begin(r)
	}
	first := top &^ 1
	var edges sides
	edges.begin(s, n)
	for j := range n {
		for i := range z.samples {
			z.sides[i][j].begin(&edges.edges[j], z.positions[i][0], int64(first)*subpixels+z.positions[i][1])
		}
	}
	for y := first; y < bottom; y += 2 {
		from, to := right, left
		for row := range int32(2) {
			for i := range z.samples {
				out := y+row < top || y+row >= bottom
				lo, hi := int64(left), int64(right)
				if inViewport {
					at, sx := int64(y+row)*subpixels+z.positions[i][1], z.positions[i][0]
					lo, hi = max(lo, (v.left-sx+subpixels-1)>>8), min(hi, (v.right-sx+subpixels-1)>>8)
					out = out || at < v.top || at >= v.bottom
				}
				lo, hi = edges.cut(&z.sides[i], lo, hi)
				if out || lo >= hi {
					z.rows[row][i] = interval{left, left}
					continue
				}
				z.rows[row][i] = interval{int32(lo), int32(hi)}
				from, to = min(from, int32(lo)), max(to, int32(hi))
			}
		}
		if z.work += int64(max(to-from, 1)); z.work >= stopWork {
			z.work = 0
			r.tick()
		}
		if from < to && r.err == nil {
			r.fillRow(from, to, y)
		}
		if r.err != nil {
			return
		}
	}
}

// fillRow makes the quads of two rows of pixels, of which z.rows has the spans.
func (r *run) fillRow(from, to, y int32) {
	z := &r.raster
	if r.tests.rows.ok {
		r.fillRowTested(from, to, y)
		return
	}
	if z.samples == 1 {
		r.fillRowOnce(from, to, y)
		return
	}
	full0, full1 := to, to // where all samples of all pixels are covered
	if r.shading.plain {
		lo, hi := z.rows[0][0].lo, z.rows[0][0].hi
		for row := range 2 {
			for i := range z.samples {
				lo, hi = max(lo, z.rows[row][i].lo), min(hi, z.rows[row][i].hi)
			}
		}
		full0, full1 = (lo+1)&^1, hi&^1
	}
	for x := from &^ 1; x < to; x += 2 {
		if x == full0 && x < full1 {
			if r.shading.addFull(r, x, full1, y); r.err != nil || full1 >= to {
				return
			}
			x = full1
		}
		var cover [4]uint16
		some := uint16(0)
		for row := range 2 {
			for i := range z.samples {
				span := z.rows[row][i]
				if x >= span.lo && x < span.hi {
					cover[2*row] |= 1 << i
				}
				if x+1 >= span.lo && x+1 < span.hi {
					cover[2*row+1] |= 1 << i
				}
			}
			some |= cover[2*row] | cover[2*row+1]
		}
		if some != 0 {
			if r.shading.quad(r, x, y, &cover); r.err != nil {
				return
			}
		}
	}
}

// fillRowOnce is fillRow for one sample.
func (r *run) fillRowOnce(from, to, y int32) {
	a, b := r.raster.rows[0][0], r.raster.rows[1][0]
	if r.shading.plain {
		r.shading.addRow(r, from, to, y, a, b)
		return
	}
	for x := from &^ 1; x < to; x += 2 {
		cover := [4]uint16{a.has(x), a.has(x + 1), b.has(x), b.has(x + 1)}
		if cover == [4]uint16{} {
			continue
		}
		if r.shading.quad(r, x, y, &cover); r.err != nil {
			return
		}
	}
}

// has is 1 for a pixel of the interval, otherwise 0.
func (v interval) has(x int32) uint16 {
	if uint32(x-v.lo) < uint32(v.hi-v.lo) {
		return 1
	}
	return 0
}
