package draw

// vertexCorners are the corners of a batch's vertices, for one viewport: of primitives that need no clipping this is
// all that counts.
type vertexCorners struct {
	codes            []uint32
	fx, fy           []int64
	px, py, depth, q []float64
}

// resize makes room for so many lanes.
func (c *vertexCorners) resize(lanes int) {
	if len(c.codes) < lanes {
		c.codes = make([]uint32, lanes)
		c.fx, c.fy = make([]int64, lanes), make([]int64, lanes)
		c.px, c.py = make([]float64, lanes), make([]float64, lanes)
		c.depth, c.q = make([]float64, lanes), make([]float64, lanes)
	}
}

// cornerPlan is how corners are found with AVX-512: what load and project compute with, and where the results go.
type cornerPlan struct {
	position               [4]*uint32
	hx, hy, ox, oy, oz, pz float64
	left, right            float64 // of the guard band, as far as they aren't of a vertex
	top, bottom            float64
	depthClip, symmetric   bool
	codes                  *uint32
	fx, fy                 *int64
	px, py, depth, q       *float64
}

// locate finds the corners of the first n lanes.
func (z *rasterizer) locate(vs *vertexStage, n int) {
	v, to := &z.viewports[0], &vs.corners
	to.resize(vs.lanes)
	if p := &vs.position; z.wide && vs.clips == 0 && p[0] != nil && p[1] != nil && p[2] != nil && p[3] != nil {
		plan := cornerPlan{position: [4]*uint32{&p[0][0], &p[1][0], &p[2][0], &p[3][0]},
			hx: v.hx, hy: v.hy, ox: v.ox, oy: v.oy, oz: v.oz, pz: v.pz,
			left: v.ox + guardBand, right: guardBand - v.ox, top: v.oy + guardBand, bottom: guardBand - v.oy,
			depthClip: z.depthClip, symmetric: z.symmetric,
			codes: &to.codes[0], fx: &to.fx[0], fy: &to.fy[0], px: &to.px[0], py: &to.py[0],
			depth: &to.depth[0], q: &to.q[0]}
		cornersAVX512(&plan, n)
		return
	}
	var c corner
	for lane := range n {
		z.load(&c, vs, uint32(lane), v)
		to.codes[lane], to.fx[lane], to.fy[lane], to.px[lane], to.py[lane] = c.code, c.fx, c.fy, c.px, c.py
		to.depth[lane], to.q[lane] = c.depth, c.q
	}
}

// take makes the corners of a primitive that needs no clipping. Where it has three, it is a polygon that is filled, of
// which less counts. Their w count only where linear is true.
func (c *vertexCorners) take(z *rasterizer, vs *vertexStage, p *assembled, linear bool) {
	to := &z.corners
	if p.corners < 3 || linear {
		z.w = [3]float64{}
		for k, lane := range p.lane[:p.corners] {
			z.w[k] = float(vs.position[3], lane)
		}
	}
	if p.corners < 3 {
		for k, lane := range p.lane[:p.corners] {
			to[k] = corner{px: c.px[lane], py: c.py[lane], fx: c.fx[lane], fy: c.fy[lane], depth: c.depth[lane], q: c.q[lane]}
			to[k].b[k] = 1
		}
		return
	}
	for k, lane := range &p.lane {
		t := &to[k]
		t.fx, t.fy, t.depth, t.q = c.fx[lane], c.fy[lane], c.depth[lane], c.q[lane]
		t.b[0], t.b[1], t.b[2] = 0, 0, 0
		t.b[k] = 1
	}
}

// planes are those that all corners of a primitive are outside of, and those that any is.
func (c *vertexCorners) planes(p *assembled) (all, any uint32) {
	if p.corners == 3 {
		a, b, d := c.codes[p.lane[0]], c.codes[p.lane[1]], c.codes[p.lane[2]]
		return a & b & d, a | b | d
	}
	all = ^uint32(0)
	for _, lane := range p.lane[:p.corners] {
		all, any = all&c.codes[lane], any|c.codes[lane]
	}
	return all, any
}
