package draw

import (
	"encoding/binary"

	"farside/internal/vk"
)

// assembler makes primitives of a sequence of vertices (chapter "Primitive Topologies"). Vertices are numbers:
// VertexIndex.
type assembler struct {
	topology vk.PrimitiveTopology
	last     bool      // the provoking vertex is the last one
	seen     uint64    // vertices since the beginning of the strip, or of the list's primitive
	held     [6]uint32 // those of them that are needed again
	id       uint32    // PrimitiveId of the next primitive
	fresh    bool      // the next line begins a strip
}

// begin begins an instance.
func (a *assembler) begin(s *State) {
	a.topology, a.last, a.id = s.Topology, s.ProvokingLast, 0
	a.restart()
}

// restart ends strips and fans; an incomplete primitive is dropped.
func (a *assembler) restart() { a.seen, a.fresh = 0, true }

// primitive is some vertices by their numbers, and which of them provokes.
type primitive struct {
	vertex   [3]uint32
	corners  int
	provoker int
	id       uint32
	fresh    bool // a line begins a strip, or stands for itself
}

// push adds a vertex. It gives the primitive that is complete now.
func (a *assembler) push(v uint32, p *primitive) bool {
	n := a.seen
	a.seen++
	h := &a.held
	switch a.topology {
	case vk.PRIMITIVE_TOPOLOGY_POINT_LIST:
		a.seen = 0
		return a.give(p, 1, 0, v, 0, 0)
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST:
		if n == 0 {
			h[0] = v
			return false
		}
		a.seen, a.fresh = 0, true
		return a.give(p, 2, a.provoking(0, 1), h[0], v, 0)
	case vk.PRIMITIVE_TOPOLOGY_LINE_STRIP:
		before := h[0]
		h[0] = v
		return n > 0 && a.give(p, 2, a.provoking(0, 1), before, v, 0)
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
		h[n] = v
		if n < 3 {
			return false
		}
		a.seen, a.fresh = 0, true
		return a.give(p, 2, a.provoking(0, 1), h[1], h[2], 0)
	case vk.PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
		first, second := h[1], h[2]
		h[1], h[2] = h[2], v
		return n >= 3 && a.give(p, 2, a.provoking(0, 1), first, second, 0)
	default:
		return a.pushTriangle(n, v, p)
	}
}

// pushTriangle is push for triangles.
func (a *assembler) pushTriangle(n uint64, v uint32, p *primitive) bool {
	h := &a.held
	switch a.topology {
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
		h[n] = v
		if n < 2 {
			return false
		}
		a.seen = 0
		return a.give(p, 3, a.provoking(0, 2), h[0], h[1], v)
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY:
		h[n] = v
		if n < 5 {
			return false
		}
		a.seen = 0
		return a.give(p, 3, a.provoking(0, 2), h[0], h[2], h[4])
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP:
		first, second := h[0], h[1]
		h[0], h[1] = second, v
		return n >= 2 && a.giveStrip(p, n&1 != 0, first, second, v)
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:
		first, second := h[0], h[1]
		if n == 0 {
			h[0] = v
		}
		h[1] = v
		return n >= 2 && a.give(p, 3, a.provoking(0, 1), second, v, first)
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
		if n&1 != 0 { // the other neighbour: a primitive is complete with the second vertex of its last pair
			return n >= 5 && a.giveStrip(p, (n-5)/2&1 != 0, h[0], h[1], h[2])
		}
		h[0], h[1], h[2] = h[1], h[2], v
	}
	return false
}

// giveStrip gives a triangle of a strip, of which every second one is turned around.
func (a *assembler) giveStrip(p *primitive, odd bool, first, second, third uint32) bool {
	if odd {
		return a.give(p, 3, a.provoking(0, 1), first, third, second)
	}
	return a.give(p, 3, a.provoking(0, 2), first, second, third)
}

func (a *assembler) provoking(first, last int) int {
	if a.last {
		return last
	}
	return first
}

func (a *assembler) give(p *primitive, corners, provoker int, v0, v1, v2 uint32) bool {
	*p = primitive{[3]uint32{v0, v1, v2}, corners, provoker, a.id, a.fresh}
	a.id++
	a.fresh = false
	return true
}

// stopEvery is how many vertices go by without a batch, such as restarts, until Stop is asked.
const stopEvery = 1 << 16

// drawView draws all instances into a view.
func (r *run) drawView() {
	d, v := r.draw, &r.vertices
	v.start(r)
	least := uint32(1)
	if !d.Indexed {
		least = leastVertices(r.state.Topology)
	}
	if d.Count < least {
		r.counts.Counts[countVertices] += uint64(d.Count) * uint64(d.Instances)
		return
	}
	if corners := listCorners(r.state.Topology); corners > 0 && !d.Indexed {
		r.drawLists(corners)
		return
	}
	var p primitive
	steps := 0
	for instance := uint64(0); instance < uint64(d.Instances) && r.err == nil; instance++ {
		r.assembler.begin(r.state)
		v.beginInstance(uint32(instance))
		before := instance * uint64(d.Count)
		for i := uint64(0); i < uint64(d.Count); i++ {
			if steps++; steps == stopEvery {
				steps = 0
				r.reached(before + i)
				if r.tick(); r.err != nil {
					return
				}
			}
			index := d.First + uint32(i)
			if d.Indexed {
				var ok bool
				if index, ok = d.index(uint64(d.First) + i); !ok && r.state.Restart {
					r.assembler.restart()
					continue
				}
				index += uint32(d.VertexOffset)
			}
			r.counts.Counts[countVertices]++
			if r.assembler.push(index, &p) {
				r.counts.Counts[countPrimitives]++
				v.drawn = before + i
				if v.add(r, &p); r.err != nil {
					return
				}
			}
		}
	}
	v.flush(r)
}

// listCorners is how many vertices the primitives of a list have, each for itself; 0: they aren't of a list.
func listCorners(t vk.PrimitiveTopology) int {
	switch t {
	case vk.PRIMITIVE_TOPOLOGY_POINT_LIST:
		return 1
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST:
		return 2
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
		return 3
	}
	return 0
}

// drawLists draws all instances of a list without indices into a view: no vertex belongs to two primitives.
func (r *run) drawLists(corners int) {
	d, v := r.draw, &r.vertices
	provoker := 0
	if r.state.ProvokingLast {
		provoker = corners - 1
	}
	whole := uint32(d.Count / uint32(corners)) // primitives
	for instance := range d.Instances {
		v.beginInstance(instance)
		before := uint64(instance) * uint64(d.Count)
		for id := uint32(0); id < whole; {
			n := min((v.lanes-len(v.vertices))/corners, int(whole-id))
			if n == 0 {
				if v.flush(r); r.err != nil {
					return
				}
				continue
			}
			v.addList(d.First+id*uint32(corners), id, n, corners, provoker)
			id += uint32(n)
			v.drawn = before + uint64(id)*uint64(corners) - 1
			r.counts.Counts[countPrimitives] += uint64(n)
		}
		r.counts.Counts[countVertices] += uint64(d.Count)
	}
	v.flush(r)
}

// leastVertices is how many vertices make the first primitive.
func leastVertices(t vk.PrimitiveTopology) uint32 {
	switch t {
	case vk.PRIMITIVE_TOPOLOGY_POINT_LIST:
		return 1
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP:
		return 2
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
		return 4
	case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY, vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
		return 6
	}
	return 3
}

// index reads an index; false: it has all bits, which restarts a primitive where that is enabled. Beyond the end of the
// buffer it is zero (robustBufferAccess2).
func (d *Draw) index(i uint64) (uint32, bool) {
	n := uint64(len(d.Indices))
	switch d.IndexType {
	case vk.INDEX_TYPE_UINT8:
		if i < n {
			v := d.Indices[i]
			return uint32(v), v != 0xff
		}
	case vk.INDEX_TYPE_UINT16:
		if i < n/2 {
			v := binary.LittleEndian.Uint16(d.Indices[2*i:])
			return uint32(v), v != 0xffff
		}
	default:
		if i < n/4 {
			v := binary.LittleEndian.Uint32(d.Indices[4*i:])
			return v, v != 0xffffffff
		}
	}
	return 0, true
}
