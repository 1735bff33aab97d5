package draw

import (
	"math"
	"math/bits"
)

// corner is a vertex of a primitive, or one that clipping made.
type corner struct {
	x, y, z, w float64    // clip coordinates
	b          [3]float64 // how much of each vertex of the primitive it is, in clip coordinates
	code       uint32     // the planes that it is outside of, a bit each
	px, py     float64    // framebuffer coordinates
	fx, fy     int64      // in 1/256 pixels
	depth, q   float64    // q: 1/w
}

// The planes that primitives are clipped at. Those of the guard band lie so far out that numbers behind them have no
// place in the arithmetic of the rasterizer. The volume's are those that the specification has; a triangle is cut there
// by its pixels, lines and points by geometry.
const (
	planeBad  = iota // not a plane: a coordinate that is no number, or infinite
	planeW           // w > 0
	planeNear        //
	planeFar
	planeGuard                   // left, right, top, bottom
	planeVolume = planeGuard + 4 // -x, +x, -y, +y
	planeUser   = planeVolume + 4
	planes      = planeUser + maxDistances

	guardPlanes  = 15 << planeGuard
	volumePlanes = 15 << planeVolume
)

const (
	// guardBand is as far from the origin as framebuffer coordinates go, in pixels.
	guardBand = 1 << 20
	// leastW is less than any number that a shader's w > 0 may be, whose reciprocal float64 can hold many times over.
	leastW = 0x1p-160
	// most are the corners of a triangle that each plane gives one more, and some to spare.
	mostCorners = 3 + planes
)

// distance says how far a corner is inside of a plane; it is linear in clip coordinates, negative outside.
func (z *rasterizer) distance(plane int, c *corner, v *viewport) float64 {
	switch plane {
	case planeW:
		return c.w - leastW
	case planeNear:
		if z.symmetric {
			return c.z + c.w
		}
		return c.z
	case planeFar:
		return c.w - c.z
	case planeGuard:
		return v.hx*c.x + (v.ox+guardBand)*c.w
	case planeGuard + 1:
		return (guardBand-v.ox)*c.w - v.hx*c.x
	case planeGuard + 2:
		return v.hy*c.y + (v.oy+guardBand)*c.w
	case planeGuard + 3:
		return (guardBand-v.oy)*c.w - v.hy*c.y
	case planeVolume:
		return c.x + c.w
	case planeVolume + 1:
		return c.w - c.x
	case planeVolume + 2:
		return c.y + c.w
	case planeVolume + 3:
		return c.w - c.y
	}
	d := &z.distances
	k := plane - planeUser
	return c.b[0]*d[0][k] + c.b[1]*d[1][k] + c.b[2]*d[2][k]
}

// load reads a lane's position, and finds which planes it is outside of and where it lies in the framebuffer.
func (z *rasterizer) load(c *corner, vs *vertexStage, lane uint32, v *viewport) {
	p := &vs.position
	c.x, c.y, c.z, c.w = float(p[0], lane), float(p[1], lane), float(p[2], lane), float(p[3], lane)
	c.code = 0
	// A sum of finite float32 numbers can't overflow in float64; one that is infinite or no number shows in it.
	if sum := c.x - c.x + c.y - c.y + c.z - c.z + c.w - c.w; sum != 0 {
		c.code = 1 << planeBad
		return
	}
	if c.w < leastW {
		c.code |= 1 << planeW
	}
	if z.depthClip {
		if z.distance(planeNear, c, v) < 0 {
			c.code |= 1 << planeNear
		}
		if c.z > c.w {
			c.code |= 1 << planeFar
		}
	}
	if c.x < -c.w {
		c.code |= 1 << planeVolume
	}
	if c.x > c.w {
		c.code |= 2 << planeVolume
	}
	if c.y < -c.w {
		c.code |= 4 << planeVolume
	}
	if c.y > c.w {
		c.code |= 8 << planeVolume
	}
	for i := range 4 {
		if z.distance(planeGuard+i, c, v) < 0 {
			c.code |= 1 << (planeGuard + i)
		}
	}
	for k := range vs.clips {
		switch d := float(vs.clip[k], lane); {
		case d != d:
			c.code |= 1 << planeBad
		case d < 0:
			c.code |= 1 << (planeUser + k)
		}
	}
	if c.code&(1<<planeBad|1<<planeW|guardPlanes) == 0 {
		z.project(c, v)
	}
}

// project finds where a corner with w > 0 lies in the framebuffer (chapter "Controlling the Viewport"). Where clipping
// has rounded w to 0 or below, 1/w times 0 would be no number.
func (z *rasterizer) project(c *corner, v *viewport) {
	c.q = 1 / max(c.w, leastW)
	c.px = min(max(v.ox+float64(v.hx*(c.x*c.q)), -guardBand), guardBand)
	c.py = min(max(v.oy+float64(v.hy*(c.y*c.q)), -guardBand), guardBand)
	c.depth = v.oz + float64(v.pz*(c.z*c.q))
	c.fx, c.fy = snap(c.px), snap(c.py)
}

// snap rounds to 1/256 of a pixel.
func snap(v float64) int64 { return int64(math.Floor(v*subpixels + 0.5)) }

// readDistances reads the clip distances of a primitive that crosses one of their planes.
func (z *rasterizer) readDistances(vs *vertexStage, lanes *[3]uint32, corners int) {
	for i := range corners {
		for k := range vs.clips {
			z.distances[i][k] = min(max(float(vs.clip[k], lanes[i]), -math.MaxFloat32), math.MaxFloat32)
		}
	}
}

// culled says whether all vertices are outside of the same cull half-space.
func culled(vs *vertexStage, lanes *[3]uint32, corners int) bool {
	for k := range vs.culls {
		out := true
		for i := range corners {
			out = out && float(vs.cull[k], lanes[i]) < 0
		}
		if out {
			return true
		}
	}
	return false
}

// between makes the corner where the edge from one inside to one outside of a plane crosses it. Both triangles at an
// edge compute it from the same numbers in the same order, so that no gap opens.
func between(to, in, out *corner, din, dout float64) {
	t := din / (din - dout)
	at := func(a, b float64) float64 { return a + float64(t*(b-a)) }
	*to = corner{x: at(in.x, out.x), y: at(in.y, out.y), z: at(in.z, out.z), w: at(in.w, out.w)}
	for i := range to.b {
		to.b[i] = at(in.b[i], out.b[i])
	}
}

// clipPolygon clips the polygon in z.polygon at the planes of a code, and projects what is left.
func (z *rasterizer) clipPolygon(n int, code uint32, v *viewport) int {
	from, to := &z.polygon, &z.spare
	for left := code &^ (1 << planeBad); left != 0; left &= left - 1 {
		plane := bits.TrailingZeros32(left)
		made := 0
		last := n - 1
		before := z.distance(plane, &from[last], v)
		for i := range n {
			d := z.distance(plane, &from[i], v)
			switch {
			case before >= 0 && d < 0:
				between(&to[made], &from[last], &from[i], before, d)
				made++
			case before < 0 && d >= 0:
				between(&to[made], &from[i], &from[last], d, before)
				made++
			}
			if d >= 0 {
				to[made] = from[i]
				made++
			}
			before, last = d, i
			if made+2 > len(to) { // rounding made the polygon concave: it is none that anybody could see
				return 0
			}
		}
		if made < 3 {
			return 0
		}
		from, to, n = to, from, made
	}
	if from != &z.polygon {
		copy(z.polygon[:n], from[:n])
	}
	for i := range n {
		z.project(&z.polygon[i], v)
	}
	return n
}

// clipLine clips the line between two corners; false: nothing is left.
func (z *rasterizer) clipLine(a, b *corner, code uint32, v *viewport) bool {
	for left := code &^ (1 << planeBad); left != 0; left &= left - 1 {
		plane := bits.TrailingZeros32(left)
		da, db := z.distance(plane, a, v), z.distance(plane, b, v)
		var c corner
		switch {
		case da < 0 && db < 0:
			return false
		case da < 0:
			between(&c, b, a, db, da)
			*a = c
		case db < 0:
			between(&c, a, b, da, db)
			*b = c
		}
	}
	z.project(a, v)
	z.project(b, v)
	return true
}
