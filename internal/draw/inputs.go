package draw

import (
	"math"
	"math/bits"
	"slices"

	"farside/compute"
	"farside/spirv"
)

// inputKind is how an input of the fragment shader gets its value.
type inputKind uint8

const (
	inputMissing inputKind = iota // the vertex shader doesn't write it: 0
	inputFlat
	inputInterpolated
	inputBuiltIn
	inputTerm  // of an interpolation that the shader does
	inputSetup // what else it needs for that
)

// fragmentInput is an input of the fragment shader.
type fragmentInput struct {
	kind      inputKind
	place     int // of places, of an interpolated one
	at        int // in the primitive's attrs or flats
	builtIn   spirv.BuiltIn
	component uint32
	half      uint8
	integer   bool
	term      compute.Term
	from      []uint32 // the vertex shader's output
	dst       []uint32
}

// weights are how much of the second and the third vertex each lane has at a place, of the first the rest. For
// perspective inputs these are weights in clip coordinates.
type weights struct {
	used   bool
	b1, b2 []float64
}

// location is where the lanes of a batch lie, for each of compute's places.
type location struct {
	used bool
	x, y []float64
}

// placeOf numbers the six ways to interpolate.
func placeOf(linear bool, p compute.Place) int {
	if linear {
		return 3 + int(p)
	}
	return int(p)
}

// planInputs finds out where the inputs come from.
func (f *fragmentStage) planInputs(r *run, inputs []compute.Variable) {
	f.inputs, f.perAttr, f.perFlat, f.linear = f.inputs[:0], 0, 0, false
	f.attributes = f.attributes[:0]
	for i := range f.places {
		f.places[i].used = false
	}
	for i := range f.positions {
		f.positions[i].used = false
	}
	f.raws = false
	outputs := r.state.Vertex.Outputs()
	for i := range inputs {
		v := &inputs[i]
		dst := f.batch.Input(i)
		if dst == nil {
			continue
		}
		in := fragmentInput{builtIn: v.BuiltIn, component: v.Component, integer: v.Numeric != compute.Float, dst: dst,
			half: v.Half, term: v.Term}
		if v.IsBuiltIn && v.BuiltIn == compute.BuiltInSetup {
			in.kind = inputSetup
			f.linear = f.linear || v.Component >= compute.SetupLinear
			f.inputs = append(f.inputs, in)
			continue
		}
		if v.IsBuiltIn && v.BuiltIn != spirv.BuiltInClipDistance && v.BuiltIn != spirv.BuiltInCullDistance {
			if in.kind = inputBuiltIn; ofPrimitive(v.BuiltIn) {
				in.kind, in.at = inputFlat, f.perFlat
				f.perFlat++
			}
			f.raws = f.raws || v.BuiltIn == spirv.BuiltInSampleMask
			if v.BuiltIn == spirv.BuiltInFragCoord {
				f.positions[f.placeFor(r, compute.AtCenter)].used = true
			}
			f.inputs = append(f.inputs, in)
			continue
		}
		for k := range outputs {
			o := &outputs[k]
			if o.IsBuiltIn == v.IsBuiltIn && o.BuiltIn == v.BuiltIn && o.Location == v.Location &&
				o.Component == v.Component && (o.Half == v.Half || v.Term != 0) {
				in.from = r.lead().vertices.batch.Output(k)
			}
		}
		switch {
		case in.from == nil:
			in.kind = inputMissing
		case v.Term != 0:
			in.kind = inputTerm
			f.planAttribute(&in)
		case v.Interpolation == compute.Flat || v.Numeric != compute.Float || v.Width == 64:
			in.kind, in.at = inputFlat, f.perFlat
			f.perFlat++
		default:
			place := f.placeFor(r, v.Place)
			linear := v.Interpolation == compute.Linear
			in.kind, in.place = inputInterpolated, placeOf(linear, place)
			f.planAttribute(&in)
			f.linear = f.linear || linear
			f.places[in.place].used = true
			f.positions[place].used = true
		}
		f.inputs = append(f.inputs, in)
	}
	for i := range f.places {
		if w := &f.places[i]; w.used && cap(w.b1) < f.lanes {
			w.b1, w.b2 = make([]float64, f.lanes), make([]float64, f.lanes)
		}
	}
	f.raws = f.raws || f.positions[compute.AtCentroid].used
	for i := range f.positions {
		if p := &f.positions[i]; p.used && cap(p.x) < f.lanes {
			p.x, p.y = make([]float64, f.lanes), make([]float64, f.lanes)
		}
	}
}

// placeFor is where in a pixel something is evaluated that asks for a place: a shader that runs for each sample has
// nothing but its sample, and the one sample of a pixel is at its center.
func (f *fragmentStage) placeFor(r *run, p compute.Place) compute.Place {
	switch {
	case f.perSample:
		return compute.AtSample
	case r.raster.samples == 1:
		return compute.AtCenter
	}
	return p
}

// ofPrimitive says whether a built-in is the same for all fragments of a primitive, as flat inputs are.
func ofPrimitive(b spirv.BuiltIn) bool {
	switch b {
	case spirv.BuiltInFrontFacing, spirv.BuiltInPrimitiveId, spirv.BuiltInLayer, spirv.BuiltInViewportIndex,
		spirv.BuiltInViewIndex:
		return true
	}
	return false
}

// builtIn is such a built-in.
func (p *prim) builtIn(b spirv.BuiltIn) uint32 {
	switch b {
	case spirv.BuiltInFrontFacing:
		if p.back {
			return 0
		}
		return 1
	case spirv.BuiltInPrimitiveId:
		return p.id
	case spirv.BuiltInLayer:
		return p.layer - p.view // with multiview no shader has said a layer: it is the first
	case spirv.BuiltInViewportIndex:
		return p.viewport
	}
	return p.view
}

// primitives are what fragments need of their primitives, and what their inputs are made of.
type primitives struct {
	prims []prim
	attrs []float64
	flats []uint32
}

func (l *primitives) reset() { l.prims, l.attrs, l.flats = l.prims[:0], l.attrs[:0], l.flats[:0] }

// commit keeps what the batch needs of the primitive at hand.
func (f *fragmentStage) commit(r *run) {
	f.current = int32(len(f.own.prims))
	f.mixed = f.current > 0
	f.own.add(f, r.raster.at)
	f.primitives = f.own
}

// add adds a primitive.
func (l *primitives) add(f *fragmentStage, p *prim) {
	l.prims = append(l.prims, *p)
	if !f.active {
		return
	}
	n := len(l.attrs)
	l.attrs = slices.Grow(l.attrs, f.perAttr)[:n+f.perAttr]
	attrs := l.attrs[n:]
	for i, from := range f.attributes { // no vertex may count that isn't there: its value may be infinite
		to, first, second, third := attrs[3*i:][:3], float(from, p.lanes[0]), 0.0, 0.0
		if p.corners > 1 {
			second = float(from, p.lanes[1]) - first
		}
		if p.corners > 2 {
			third = float(from, p.lanes[2]) - first
		}
		to[0], to[1], to[2] = first, second, third
	}
	if f.perFlat == 0 {
		return
	}
	for i := range f.inputs {
		switch in := &f.inputs[i]; {
		case in.kind != inputFlat:
		case in.from == nil:
			l.flats = append(l.flats, p.builtIn(in.builtIn))
		default:
			l.flats = append(l.flats, in.from[p.provoker])
		}
	}
}

// locate finds where the lanes lie.
func (f *fragmentStage) locate(r *run) {
	z := &r.raster
	all := uint16(1<<z.samples - 1)
	covered := [4]uint16{all, all, all, all}
	for place := range f.positions {
		l := &f.positions[place]
		if !l.used || compute.Place(place) == compute.AtCenter && f.vector {
			continue
		}
		for i := range f.quads {
			q := &f.quads[i]
			if place == int(compute.AtCentroid) && q.raw == covered { // all at their centers
				x, y, at := float64(q.x)+0.5, float64(q.y)+0.5, 4*i
				l.x[at], l.x[at+1], l.x[at+2], l.x[at+3] = x, x+1, x, x+1
				l.y[at], l.y[at+1], l.y[at+2], l.y[at+3] = y, y, y+1, y+1
				continue
			}
			for k := range 4 {
				x, y := float64(q.x+int32(k&1)), float64(q.y+int32(k>>1))
				sample := -1
				switch c := q.raw[k]; {
				case compute.Place(place) == compute.AtSample:
					sample = max(int(q.sample), 0)
				case compute.Place(place) == compute.AtCentroid && c != all && c != 0:
					sample = bits.TrailingZeros16(c)
				}
				if sample < 0 {
					x, y = x+0.5, y+0.5
				} else {
					x, y = x+float64(z.positions[sample][0])/subpixels, y+float64(z.positions[sample][1])/subpixels
				}
				l.x[4*i+k], l.y[4*i+k] = x, y
			}
		}
	}
	for i := range f.places {
		w := &f.places[i]
		if !w.used {
			continue
		}
		if i%3 == int(compute.AtCenter) && f.vector {
			f.weigh(w, i)
			continue
		}
		l := &f.positions[i%3]
		if f.vector {
			weighAtAVX2(&f.quads[0], len(f.quads), &f.prims[0], i >= 3, &l.x[0], &l.y[0], &w.b1[0], &w.b2[0])
			continue
		}
		for k := range f.quads {
			p := &f.prims[f.quads[k].prim]
			for lane := 4 * k; lane < 4*k+4; lane++ {
				dx, dy := l.x[lane]-p.x0, l.y[lane]-p.y0
				if i >= 3 {
					w.b1[lane], w.b2[lane] = p.l[0].fused(dx, dy), p.l[1].fused(dx, dy)
					continue
				}
				w.b1[lane], w.b2[lane] = p.b[0].fused(dx, dy), p.b[1].fused(dx, dy)
				if !p.affine {
					scale := 1 / p.q.fused(dx, dy)
					w.b1[lane], w.b2[lane] = w.b1[lane]*scale, w.b2[lane]*scale
				}
			}
		}
	}
}

// interpolated is an input that vectors make without weights in between: its words, and an attribute.
type interpolated struct {
	dst       *uint32
	attribute *float64
}

// weigh finds the weights at the centres of pixels, or makes the inputs there at once.
func (f *fragmentStage) weigh(w *weights, place int) {
	linear := place == placeOf(true, compute.AtCenter)
	switch {
	case !f.wide && linear:
		weighLinearAVX2(&f.quads[0], len(f.quads), &f.prims[0], &w.b1[0], &w.b2[0])
		return
	case !f.wide:
		weighAVX2(&f.quads[0], len(f.quads), &f.prims[0], &w.b1[0], &w.b2[0])
		return
	}
	n := 0
	if first := int(f.quads[0].prim); !f.mixed && len(f.quads) > 1 { // of one primitive, by twos
		n = len(f.quads) &^ 1
		f.listInputs(place, first, 0)
		interpolateAVX512(&f.quads[0], n, &f.prims[first], linear, &f.list[0], len(f.list))
	}
	if n < len(f.quads) {
		f.listInputs(place, 0, 4*n)
		interpolateMixedAVX512(&f.quads[n], len(f.quads)-n, &f.prims[0], linear, 8*f.perAttr, &f.list[0], len(f.list))
	}
}

// listInputs lists the inputs at a place: what a primitive has, and the words from a lane on.
func (f *fragmentStage) listInputs(place, prim, lane int) {
	f.list = f.list[:0]
	for i := range f.inputs {
		if in := &f.inputs[i]; in.kind == inputInterpolated && in.place == place {
			f.list = append(f.list, interpolated{&in.dst[lane], &f.attrs[prim*f.perAttr+in.at]})
		}
	}
}

// at evaluates a plane. The conversions keep products from being fused with sums: on all processors, and wherever it is
// inlined, the same place has the same bits.
func (p *plane) at(dx, dy float64) float64 { return p.c + (float64(p.x*dx) + float64(p.y*dy)) }

// fused evaluates a plane that inputs are made of. Its products aren't rounded by themselves, on any processor.
func (p *plane) fused(dx, dy float64) float64 { return math.FMA(p.x, dx, math.FMA(p.y, dy, p.c)) }

// fillInputs writes the inputs of the batch.
func (f *fragmentStage) fillInputs(r *run) {
	for i := range f.inputs {
		in := &f.inputs[i]
		dst := in.dst[:4*len(f.quads)]
		switch in.kind {
		case inputMissing:
			clear(dst)
		case inputFlat:
			if f.vector && !f.mixed {
				spreadAVX2(&dst[0], len(f.quads), f.flats[int(f.quads[0].prim)*f.perFlat+in.at])
				continue
			}
			if f.vector {
				flatAVX2(&dst[0], &f.quads[0], len(f.quads), &f.flats[in.at], 4*f.perFlat)
				continue
			}
			for k := range f.quads {
				v := f.flats[int(f.quads[k].prim)*f.perFlat+in.at]
				four(dst[4*k:], v)
			}
		case inputInterpolated:
			w := &f.places[in.place]
			b1, b2 := w.b1[:len(dst)], w.b2[:len(dst)]
			if f.wide && in.place%3 == int(compute.AtCenter) { // weigh has made it
				continue
			}
			if f.vector {
				interpolateAVX2(&dst[0], &f.quads[0], len(f.quads), &f.attrs[in.at], 8*f.perAttr, &b1[0], &b2[0])
				continue
			}
			for k := range f.quads {
				a := f.attrs[int(f.quads[k].prim)*f.perAttr+in.at:][:3]
				for lane := 4 * k; lane < 4*k+4; lane++ {
					dst[lane] = math.Float32bits(float32(math.FMA(b1[lane], a[1], math.FMA(b2[lane], a[2], a[0]))))
				}
			}
		case inputBuiltIn:
			f.fillBuiltIn(r, in, dst)
		case inputTerm:
			for k := range f.quads {
				four(dst[4*k:], in.termWord(f.attrs[int(f.quads[k].prim)*f.perAttr+in.at:]))
			}
		case inputSetup:
			f.fillSetup(r, in, dst)
		}
	}
}

// four gives all lanes of a quad the same.
func four(dst []uint32, v uint32) { dst[0], dst[1], dst[2], dst[3] = v, v, v, v }

// fillBuiltIn writes a built-in input.
func (f *fragmentStage) fillBuiltIn(r *run, in *fragmentInput, dst []uint32) {
	if in.builtIn == spirv.BuiltInFragCoord && f.vector && !f.perSample {
		if f.wide {
			fragCoordAVX512(&dst[0], &f.quads[0], len(f.quads), &f.prims[0], int(in.component))
		} else {
			fragCoordAVX2(&dst[0], &f.quads[0], len(f.quads), &f.prims[0], int(in.component))
		}
		return
	}
	for k := range f.quads {
		q := &f.quads[k]
		p := &f.prims[q.prim]
		lanes := dst[4*k:][:4]
		switch in.builtIn {
		case spirv.BuiltInFragCoord:
			f.fillFragCoord(r, in, p, 4*k, lanes)
		case spirv.BuiltInPointCoord:
			for i := range lanes {
				lanes[i] = 0
				if p.size > 0 { // chapter "Basic Point Rasterization"
					at, centre := float64(q.x+int32(i&1)), p.x0
					if in.component == 1 {
						at, centre = float64(q.y+int32(i>>1)), p.y0
					}
					lanes[i] = math.Float32bits(float32(0.5 + (at+f.offset(r, q, in.component)-centre)/p.size))
				}
			}
		case spirv.BuiltInSampleId:
			four(lanes, uint32(max(q.sample, 0)))
		case spirv.BuiltInSamplePosition:
			four(lanes, math.Float32bits(float32(f.offset(r, q, in.component))))
		case spirv.BuiltInSampleMask:
			for i := range lanes {
				lanes[i] = 0
				if in.component == 0 {
					lanes[i] = uint32(q.raw[i])
				}
			}
		case spirv.BuiltInDeviceIndex:
			four(lanes, r.draw.Fragment.DeviceIndex)
		default:
			four(lanes, 0)
		}
	}
}

// offset is where in its pixel a quad is shaded.
func (f *fragmentStage) offset(r *run, q *quad, axis uint32) float64 {
	if q.sample < 0 {
		return 0.5
	}
	return float64(r.raster.positions[q.sample][axis&1]) / subpixels
}

// fillFragCoord writes a component of FragCoord: x, y, depth, 1/w.
func (f *fragmentStage) fillFragCoord(r *run, in *fragmentInput, p *prim, first int, lanes []uint32) {
	l := &f.positions[f.placeFor(r, compute.AtCenter)]
	for i := range lanes {
		x, y := l.x[first+i], l.y[first+i]
		v := x
		switch in.component {
		case 1:
			v = y
		case 2:
			v = p.z.at(x-p.x0, y-p.y0)
		case 3:
			v = p.q.fused(x-p.x0, y-p.y0)
		}
		lanes[i] = math.Float32bits(float32(v))
	}
}
