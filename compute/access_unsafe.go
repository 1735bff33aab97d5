package compute

import (
	"math"
	"math/bits"
	"unsafe"

	"farside/compute/internal/kernel"
)

// dynamic is what a worker needs for memory that is found while the shader runs. Nothing of it outlives the dispatch.
type dynamic struct {
	elements [32]element
	ranges   [4]physicalRange
	replace  int                   // the range that goes next
	memory   kernel.Memory         // of the access under way
	mask     *[kernel.Width]uint32 // the lanes that it is for
	maskAt   kernel.Register
	zero     kernel.Register // the offset of an access that has none
}

// element is an element of a resource that has been looked up.
type element struct {
	known    bool
	resource int32
	element  uint32
	memory   kernel.Memory
}

// physicalRange is a range of device addresses that has been looked up. A size of 0 is none.
type physicalRange struct {
	start  uint64
	memory kernel.Memory
}

func (d *dynamic) init() {
	d.maskAt, d.mask = newRegister(make([]uint32, kernel.Width))
	d.zero, _ = newRegister(make([]uint32, 2*kernel.Width))
	d.maskAt.Step, d.zero.Step = 0, 0
}

func (d *dynamic) forget() {
	clear(d.elements[:])
	clear(d.ranges[:])
	d.memory = kernel.Memory{}
}

// element is the memory of an element of a resource.
func (w *worker) element(resource int32, index uint32) kernel.Memory {
	e := &w.dynamic.elements[(index+uint32(resource)*7)%uint32(len(w.dynamic.elements))]
	if !e.known || e.resource != resource || e.element != index {
		r := &w.program.Resources[resource]
		*e = element{known: true, resource: resource, element: index}
		if r.Count == 0 || index < r.Count {
			e.memory = w.run.Bindings.Memory(r.Set, r.Binding, index)
		}
	}
	return e.memory
}

// accessDynamic accesses the element of a resource that the shader chooses.
func (w *worker) accessDynamic(s *step) {
	d := &w.dynamic
	s.args.Memory = &d.memory
	s.args.Immediate = s.immediate()
	chosen := s.inst.C
	if chosen.Uniform() {
		d.memory = w.element(s.index, w.chunk32(chosen, 0)[0])
		w.access(s)
		return
	}
	s.args.Mask = d.maskAt
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		elements, left := w.chunk32(chosen, chunk), *w.activeMask(chunk)
		for lane := range left {
			if left[lane] == 0 {
				continue
			}
			for other := range left {
				d.mask[other] = 0
				if elements[other] == elements[lane] {
					d.mask[other] = left[other]
					left[other] = 0
				}
			}
			d.memory = w.element(s.index, elements[lane])
			s.run(&s.args, chunk, 1)
		}
	}
}

// access runs the kernel of an access on what is active.
func (w *worker) access(s *step) {
	if s.once {
		s.args.Mask = kernel.Register{}
		s.run(&s.args, 0, 1)
		return
	}
	s.args.Mask = w.mask
	s.run(&s.args, w.active.first, w.active.end-w.active.first)
}

// physical is a range that begins at an address or before it, and contains it; without a size if there is no memory.
func (w *worker) physical(address uint64) physicalRange {
	d := &w.dynamic
	for _, r := range d.ranges {
		if address-r.start < r.memory.Size {
			return r
		}
	}
	m, ok := w.run.Bindings.Physical(address)
	if !ok || m.Size == 0 {
		return physicalRange{start: address}
	}
	r := physicalRange{address, m}
	d.ranges[d.replace] = r
	d.replace = (d.replace + 1) % len(d.ranges)
	return r
}

// accessPhysical accesses memory by device address.
func (w *worker) accessPhysical(s *step) {
	addresses := s.inst.A
	if updates(s.inst.Op) {
		w.atomicPhysical(s)
		return
	}
	d := &w.dynamic
	s.args.Memory = &d.memory
	immediate := s.immediate()
	// Most often all addresses are in one buffer. The range that the lowest is in goes on to the buffer's end.
	lowest, highest := ^uint64(0), uint64(0)
	first, end := w.active.first, w.active.end
	if s.once {
		lowest = w.chunk64(addresses, 0)[0] + immediate
		highest = lowest
		first, end = 0, 0
	}
	for chunk := first; chunk < end; chunk++ {
		active := w.activeMask(chunk)
		for lane, address := range w.chunk64(addresses, chunk) {
			if active[lane] != 0 {
				lowest = min(lowest, address+immediate)
				highest = max(highest, address+immediate)
			}
		}
	}
	r := w.physical(lowest)
	if s.once || highest-r.start < r.memory.Size {
		d.memory = r.memory
		s.args.Immediate = immediate - r.start
		w.access(s)
		return
	}
	s.args.Mask = d.maskAt
	for chunk := first; chunk < end; chunk++ {
		active, left := w.chunk64(addresses, chunk), *w.activeMask(chunk)
		for lane := range left {
			if left[lane] == 0 {
				continue
			}
			r := w.physical(active[lane] + immediate)
			for other := range left {
				d.mask[other] = 0
				if other == lane || active[other]+immediate-r.start < r.memory.Size {
					d.mask[other] = left[other]
					left[other] = 0
				}
			}
			d.memory = r.memory
			s.args.Immediate = immediate - r.start
			s.run(&s.args, chunk, 1)
		}
	}
}

// atomicPhysical does an atomic by device address, as one on the memory from the address of a lane on.
func (w *worker) atomicPhysical(s *step) {
	d := &w.dynamic
	immediate := s.immediate()
	s.args.Memory, s.args.Mask, s.args.A, s.args.Immediate = &d.memory, d.maskAt, d.zero, 0
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		addresses, active := w.chunk64(s.inst.A, chunk), w.activeMask(chunk)
		for lane := range active {
			if active[lane] == 0 {
				continue
			}
			address := addresses[lane] + immediate
			r := w.physical(address)
			d.memory = kernel.Memory{}
			if skip := address - r.start; skip < r.memory.Size {
				d.memory = kernel.Memory{Base: unsafe.Add(r.memory.Base, skip), Size: r.memory.Size - skip}
			}
			*d.mask = [kernel.Width]uint32{}
			d.mask[lane] = ^uint32(0)
			s.run(&s.args, chunk, 1)
		}
	}
}

// immediate is what the access adds to each offset or address.
func (s *step) immediate() uint64 {
	if s.base == nil {
		return s.inst.Immediate
	}
	return s.inst.Immediate + uint64(s.base[0])
}

// scale does MulAddSat on uniform registers.
func (s *step) scale() {
	a, b := *(*uint32)(s.args.A.Base), *(*uint32)(s.args.B.Base)
	over, product := bits.Mul64(uint64(a), s.args.Immediate)
	sum := product + uint64(b)
	if over != 0 || sum < product || sum > math.MaxUint32 {
		sum = math.MaxUint32
	}
	twice := sum | sum<<32
	*(*[4]uint64)(s.args.Dst.Base) = [4]uint64{twice, twice, twice, twice}
}
