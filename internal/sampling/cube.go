package sampling

import (
	"math"

	"farside/internal/lanes"
	"farside/internal/vk"
)

// axisOf is an axis of a cube, with a sign.
type axisOf struct {
	axis     int
	negative bool
}

func (a axisOf) of(v *[3]float64) float64 {
	if a.negative {
		return -v[a.axis]
	}
	return v[a.axis]
}

// cubeFaces is the table "Cube map face and coordinate selection": the axes of s, t and the face's normal.
var cubeFaces = [6]struct{ s, t, r axisOf }{
	{axisOf{2, true}, axisOf{1, true}, axisOf{0, false}},
	{axisOf{2, false}, axisOf{1, true}, axisOf{0, true}},
	{axisOf{0, false}, axisOf{2, false}, axisOf{1, false}},
	{axisOf{0, false}, axisOf{2, true}, axisOf{1, true}},
	{axisOf{0, false}, axisOf{1, true}, axisOf{2, false}},
	{axisOf{0, true}, axisOf{1, true}, axisOf{2, true}},
}

// faceOf returns the face that a direction points to.
func faceOf(d *[3]float64) int {
	x, y, z := math.Abs(d[0]), math.Abs(d[1]), math.Abs(d[2])
	axis := 0
	switch {
	case z >= x && z >= y:
		axis = 2
	case y >= x:
		axis = 1
	}
	if math.Signbit(d[axis]) {
		return axis*2 + 1
	}
	return axis * 2
}

// direction returns the coordinates of a lane of a cube.
func (p *work) direction(lane int) (d [3]float64) {
	for axis := range d {
		d[axis] = float64(float(p.q.Coordinates[axis][lane]))
	}
	return d
}

// faces turns directions into places on faces.
func (p *work) faces() {
	last := p.r.view.levels[0].texels[2]/6 - 1
	for i := range Width {
		if !p.active.Has(i) { // but texels of theirs may be read
			p.u[0][i], p.u[1][i], p.z[i] = 0, 0, 0
			continue
		}
		d := p.direction(i)
		face := faceOf(&d)
		f := &cubeFaces[face]
		r := 2 * f.r.of(&d)
		p.u[0][i], p.u[1][i] = clamped(f.s.of(&d)/r+0.5), clamped(f.t.of(&d)/r+0.5)
		p.z[i] = int32(face)
		if p.r.view.arrayed {
			p.z[i] += 6 * int32(layer(p.q.Coordinates[3][i], last))
		}
	}
}

// clamped is v between 0 and 1; of NaN, which a direction without a length has, 0.
func clamped(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1)
}

// faceDerivatives turns a derivative of the direction into one of the place on the face (chapter "Cube Map Derivative
// Transformation").
func (p *work) faceDerivatives(lane int, derivative *[3]Lanes) (s, t float64) {
	d := p.direction(lane)
	var by [3]float64
	for axis := range by {
		by[axis] = float64(float(derivative[axis][lane]))
	}
	f := &cubeFaces[p.z[lane]%6]
	r, byR := f.r.of(&d), f.r.of(&by)
	s = (r*f.s.of(&by) - f.s.of(&d)*byR) / (2 * r * r)
	t = (r*f.t.of(&by) - f.t.of(&d)*byR) / (2 * r * r)
	return s, t
}

// cubeCorner says at which of the four texels of a footprint three faces meet, if any.
type cubeCorner [Width]int8

const noCorner = -1

// cubeFootprint finds the texels x, y of a footprint, at index y*2+x, across the edges of faces.
func (p *work) cubeFootprint(at *[4]lanes.Offsets, corner *cubeCorner, weights *[2]Lanes) {
	l := p.level
	for i := range Width {
		corner[i] = noCorner
		if !p.active.Has(i) {
			for t := range at {
				at[t][i] = lanes.Outside
			}
			continue
		}
		var first [2]int32
		for axis := range first {
			u := p.u[axis][i]*l.Axes[axis].Texels[i] - 0.5
			floor := math.Floor(u)
			weights[axis][i] = bits(float32(u - floor))
			first[axis] = int32(floor)
		}
		size := l.Axes[0].Size[i]
		for t := range at {
			x, y := first[0]+int32(t&1), first[1]+int32(t>>1)
			z := p.z[i]
			if uint32(x) >= uint32(size) && uint32(y) >= uint32(size) {
				corner[i] = int8(t)
				x, y = min(max(x, 0), size-1), min(max(y, 0), size-1)
			} else if uint32(x) >= uint32(size) || uint32(y) >= uint32(size) {
				x, y, z = acrossEdge(x, y, z, size)
			}
			at[t][i] = l.At(i, x, y, z)
		}
	}
}

// acrossEdge returns the texel on another face that lies beside one that is outside of its face by one. z is the face
// behind the layers.
func acrossEdge(x, y, z, size int32) (int32, int32, int32) {
	// In half texels from the middle of the cube the faces are size away, and centres of texels have odd distances to
	// that. Beyond an edge the way goes on along the normal.
	var d [3]float64
	f := &cubeFaces[z%6]
	normal := float64(size)
	place := [2]float64{float64(2*x + 1 - size), float64(2*y + 1 - size)}
	for axis := range place {
		if limit := float64(size); math.Abs(place[axis]) > limit {
			place[axis] = math.Copysign(limit, place[axis])
			normal--
		}
	}
	f.s.set(&d, place[0])
	f.t.set(&d, place[1])
	f.r.set(&d, normal)
	face := faceOf(&d)
	f = &cubeFaces[face]
	half := func(v float64) int32 { return (int32(v) + size - 1) / 2 }
	return half(f.s.of(&d)), half(f.t.of(&d)), z - z%6 + int32(face)
}

func (a axisOf) set(d *[3]float64, v float64) {
	if a.negative {
		v = -v
	}
	d[a.axis] = v
}

// filterCube is filter for cubes whose edges are seamless: where three faces meet, the fourth texel is the average of
// the other three (chapter "Cube Map Edge Handling").
func (p *work) filterCube(dst *Texels) {
	var t [4]Texels
	var weights [2]Lanes
	p.cubeTexels(&t, &weights)
	p.combine(&t[0], &t[1], &weights[0])
	p.combine(&t[2], &t[3], &weights[0])
	p.combine(&t[0], &t[2], &weights[1])
	*dst = t[0]
}

// cubeTexels reads the footprint.
func (p *work) cubeTexels(t *[4]Texels, weights *[2]Lanes) {
	var at [4]lanes.Offsets
	var corner cubeCorner
	p.cubeFootprint(&at, &corner, weights)
	for n := range t {
		p.texels(&t[n], &at[n])
	}
	for i, c := range corner {
		if c == noCorner {
			continue
		}
		a, b, d := &t[(c+1)&3], &t[(c+2)&3], &t[(c+3)&3]
		if !p.r.format().Linear() { // integers, for which one of the three will do
			for k := range a {
				t[c][k][i] = a[k][i]
			}
			continue
		}
		for k := range a {
			t[c][k][i] = bits((float(a[k][i]) + float(b[k][i]) + float(d[k][i])) / 3)
		}
	}
}

// cubeMode is the address mode of seamless cubes where no edge is crossed.
const cubeMode = vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
