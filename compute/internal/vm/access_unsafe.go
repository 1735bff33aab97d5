package vm

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
)

// dynamic is what a worker needs for memory that is found while the shader runs. Nothing of it outlives the execution.
type dynamic struct {
	elements [32]element
	ranges   [8]physicalRange
	replace  int                   // the range that goes next
	near     *near                 // nil if the program has no device addresses
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
