package draw

import (
	"fmt"
	"math"
	"slices"

	"farside/compute"
	"farside/spirv"
)

const (
	cacheSize    = 256 // of vertices of a batch, by number: a power of two
	maxDistances = 8   // maxCombinedClipAndCullDistances
)

// cached says which lane of the batch has a vertex.
type cached struct {
	vertex, lane uint32
	generation   uint64
}

// builtIn is an input that the stage fills.
type builtIn struct {
	kind spirv.BuiltIn
	dst  []uint32
}

// vertexStage collects vertices until a batch is full, runs the shader for them, and hands on the primitives that they
// make.
type vertexStage struct {
	batch    compute.Batch
	fetcher  fetcher
	builtIns []builtIn
	lanes    int

	drawn      uint64 // vertices of the view, all instances, before those of the primitive that is added
	instance   uint32 // counted from 0
	vertices   []uint32
	instances  []uint32
	mask       []uint8
	cache      [cacheSize]cached
	generation uint64
	primitives []assembled

	position        [4][]uint32
	pointSize       []uint32
	layer, viewport []uint32
	clip, cull      [maxDistances][]uint32
	clips, culls    int
	corners         vertexCorners
}

// assembled is a primitive whose vertices are lanes.
type assembled struct {
	lane     [3]uint32
	corners  int
	provoker uint32 // a lane
	id       uint32
	fresh    bool
}

func (v *vertexStage) prepare(r *run) error {
	shader := r.state.Vertex
	v.batch = shader.NewBatch(0)
	if err := v.batch.Begin(r.draw.Vertex); err != nil {
		v.batch = nil
		return err
	}
	v.lanes = v.batch.Lanes()
	if v.lanes < 8 {
		return fmt.Errorf("a batch of %d vertices", v.lanes)
	}
	inputs := shader.Inputs()
	if err := v.fetcher.prepare(r, v.lanes, inputs, v.batch); err != nil {
		return err
	}
	v.builtIns = v.builtIns[:0]
	for i := range inputs {
		if dst := v.batch.Input(i); inputs[i].IsBuiltIn && dst != nil {
			v.builtIns = append(v.builtIns, builtIn{inputs[i].BuiltIn, dst})
		}
	}
	if cap(v.mask) < v.lanes/8 {
		v.mask = make([]uint8, v.lanes/8)
	}
	v.findOutputs(shader.Outputs())
	return nil
}

// turn has the shader find what the bindings of an environment give now.
func (v *vertexStage) turn(to *compute.Environment) error {
	err := v.batch.End()
	if err == nil {
		err = v.batch.Begin(to)
	}
	if err != nil {
		v.batch = nil
	}
	return err
}

// findOutputs finds the built-in outputs among the shader's.
func (v *vertexStage) findOutputs(outputs []compute.Variable) {
	v.position, v.pointSize, v.layer, v.viewport = [4][]uint32{}, nil, nil, nil
	v.clip, v.cull = [maxDistances][]uint32{}, [maxDistances][]uint32{}
	v.clips, v.culls = 0, 0
	for i := range outputs {
		out := v.batch.Output(i)
		o := &outputs[i]
		if out == nil || !o.IsBuiltIn {
			continue
		}
		switch at := int(o.Component); o.BuiltIn {
		case spirv.BuiltInPosition:
			v.position[at&3] = out
		case spirv.BuiltInPointSize:
			v.pointSize = out
		case spirv.BuiltInLayer:
			v.layer = out
		case spirv.BuiltInViewportIndex:
			v.viewport = out
		case spirv.BuiltInClipDistance:
			if at < maxDistances {
				v.clip[at], v.clips = out, max(v.clips, at+1)
			}
		case spirv.BuiltInCullDistance:
			if at < maxDistances {
				v.cull[at], v.culls = out, max(v.culls, at+1)
			}
		}
	}
}

func (v *vertexStage) release() {
	v.fetcher.release()
	clear(v.builtIns)
	v.batch = nil
	v.position, v.pointSize, v.layer, v.viewport = [4][]uint32{}, nil, nil, nil
	v.clip, v.cull = [maxDistances][]uint32{}, [maxDistances][]uint32{}
}

// start begins a view.
func (v *vertexStage) start(r *run) {
	v.vertices, v.instances, v.primitives = v.vertices[:0], v.instances[:0], v.primitives[:0]
	v.generation++
}

// beginInstance has the vertices to come be others than those of the instance before, in the same batch.
func (v *vertexStage) beginInstance(instance uint32) {
	v.instance = instance
	v.generation++
}

// lane gives a vertex a lane; false: there is none left.
func (v *vertexStage) lane(vertex uint32) (uint32, bool) {
	c := &v.cache[vertex%cacheSize]
	if c.generation == v.generation && c.vertex == vertex {
		return c.lane, true
	}
	n := len(v.vertices)
	if n == v.lanes {
		return 0, false
	}
	v.vertices, v.instances = append(v.vertices, vertex), append(v.instances, v.instance)
	*c = cached{vertex, uint32(n), v.generation}
	return uint32(n), true
}

// add adds a primitive. A batch that has no room for its vertices is run first.
func (v *vertexStage) add(r *run, p *primitive) {
	for attempt := 0; ; attempt++ {
		var a assembled
		ok := true
		for i := range p.corners {
			if a.lane[i], ok = v.lane(p.vertex[i]); !ok {
				break
			}
		}
		if ok {
			a.corners, a.provoker, a.id, a.fresh = p.corners, a.lane[p.provoker], p.id, p.fresh
			v.primitives = append(v.primitives, a)
			// Primitives of vertices that the cache has may be many.
			if len(v.primitives) == 4*v.lanes {
				v.flush(r)
			}
			return
		}
		if v.flush(r); r.err != nil || attempt > 0 {
			return
		}
	}
}

// addList adds n primitives, for which there is room, of vertices of their own from first on.
func (v *vertexStage) addList(first, id uint32, n, corners, provoker int) {
	lane := uint32(len(v.vertices))
	for i := range uint32(n * corners) {
		v.vertices, v.instances = append(v.vertices, first+i), append(v.instances, v.instance)
	}
	before := len(v.primitives)
	v.primitives = slices.Grow(v.primitives, n)[:before+n]
	for i := range v.primitives[before:] { // number by number, as gradient does it
		p := &v.primitives[before+i]
		p.lane[0], p.lane[1], p.lane[2] = lane, lane+1, lane+2
		p.corners, p.provoker, p.id, p.fresh = corners, lane+uint32(provoker), id+uint32(i), true
		lane += uint32(corners)
	}
}

// flush runs the batch, and hands on its primitives.
func (v *vertexStage) flush(r *run) {
	n := len(v.vertices)
	if n == 0 || r.err != nil {
		return
	}
	r.reached(v.drawn)
	if r.tick(); r.err != nil {
		return
	}
	v.fetcher.fetch(r, v.vertices, v.instances)
	v.fill(r)
	fillLanes(v.mask[:v.lanes/8], n)
	r.counts.Counts[countVertexRuns] += uint64(n)
	if !v.batch.Run(v.mask[:v.lanes/8], v.mask[:v.lanes/8]) {
		r.err = errFailed
		return
	}
	if !r.state.NoRasterizer {
		r.raster.batch(r, v, n)
	}
	v.start(r)
}

// fillLanes sets the bits of the first n lanes.
func fillLanes(mask []uint8, n int) {
	for i := range mask {
		mask[i] = uint8(1<<min(max(n-8*i, 0), 8) - 1)
	}
}

// fill writes the built-in inputs.
func (v *vertexStage) fill(r *run) {
	d := r.draw
	for _, b := range v.builtIns {
		dst := b.dst[:len(v.vertices)]
		switch b.kind {
		case spirv.BuiltInVertexIndex:
			copy(dst, v.vertices)
		case spirv.BuiltInInstanceIndex:
			for i := range dst {
				dst[i] = d.Instance + v.instances[i]
			}
		case spirv.BuiltInBaseVertex:
			same(dst, v.baseVertex(d))
		case spirv.BuiltInBaseInstance:
			same(dst, d.Instance)
		case spirv.BuiltInDrawIndex:
			same(dst, d.DrawIndex)
		case spirv.BuiltInViewIndex:
			same(dst, r.view)
		case spirv.BuiltInDeviceIndex:
			same(dst, d.Vertex.DeviceIndex)
		default:
			same(dst, 0)
		}
	}
}

func (v *vertexStage) baseVertex(d *Draw) uint32 {
	if d.Indexed {
		return uint32(d.VertexOffset)
	}
	return d.First
}

func same(dst []uint32, value uint32) {
	for i := range dst {
		dst[i] = value
	}
}

// float reads an output of a lane, which is 0 where the shader never writes it.
func float(of []uint32, lane uint32) float64 {
	if of == nil {
		return 0
	}
	return float64(math.Float32frombits(of[lane]))
}
