package vm

import (
	"math"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/ops"
)

// physicalRange is a range of device addresses that has been looked up. A size of 0 is none.
type physicalRange struct {
	start  uint64
	memory kernel.Memory
}

// near does accesses by device address whose lanes are all in one buffer, as most are: then they are accesses at 32-bit
// offsets, for which there are fast kernels. Its registers are not in the file.
type near struct {
	delta                *[kernel.Width]uint64
	limit                *[kernel.Width]uint32
	distance             kernel.Args // the steps to the offsets and to whether all are within the buffer
	low, high            kernel.Args
	isLow, isNear, isAll kernel.Args
	isActive             kernel.Args
}

func newNear(chunks int) *near {
	wide, _ := newRegister(make([]uint32, 2*chunks*kernel.Width))
	wide.Step *= 2
	delta, first := newRegister(make([]uint32, 2*kernel.Width))
	low, _ := newRegister(make([]uint32, chunks*kernel.Width))
	high, _ := newRegister(make([]uint32, chunks*kernel.Width))
	within, _ := newRegister(make([]uint32, chunks*kernel.Width))
	zero, _ := newRegister(make([]uint32, kernel.Width))
	limit, most := newRegister(make([]uint32, kernel.Width))
	delta.Step, zero.Step, limit.Step = 0, 0, 0
	return &near{
		delta:    (*[kernel.Width]uint64)(unsafe.Pointer(first)),
		limit:    most,
		distance: kernel.Args{Dst: wide, B: delta},
		low:      kernel.Args{Dst: low, A: wide},
		high:     kernel.Args{Dst: high, A: wide},
		isLow:    kernel.Args{Dst: high, A: high, B: zero},
		isNear:   kernel.Args{Dst: within, A: low, B: limit},
		isAll:    kernel.Args{Dst: within, A: within, B: high},
		isActive: kernel.Args{Dst: within, A: within},
	}
}

// accessNear does an access whose active lanes are all in the range that they were all in the last time. It says
// whether they are.
func (w *worker) accessNear(s *step) bool {
	d := &w.dynamic
	n, ops, r := d.near, &w.kernels.Ops, &d.ranges[s.rangeOf]
	size := min(r.memory.Size, math.MaxUint32)
	if size < s.width {
		return false
	}
	delta, limit := s.immediate()-r.start, uint32(size-s.width)
	*n.delta = [kernel.Width]uint64{delta, delta, delta, delta, delta, delta, delta, delta}
	*n.limit = [kernel.Width]uint32{limit, limit, limit, limit, limit, limit, limit, limit}
	first, count := w.active.first, w.active.end-w.active.first
	n.distance.A = w.bind(s.inst.A)
	ops[kernel.AddI64](&n.distance, first, count)
	ops[kernel.Low32](&n.low, first, count)
	ops[kernel.High32](&n.high, first, count)
	ops[kernel.EqI32](&n.isLow, first, count)
	ops[kernel.LeU32](&n.isNear, first, count)
	ops[kernel.AndI32](&n.isAll, first, count)
	if w.mask.Base != nil {
		n.isActive.B = w.mask
		ops[kernel.AndI32](&n.isActive, first, count)
	}
	if _, _, lanes := w.kernels.Active(n.isAll.Dst.Skip(first), count); lanes != w.active.lanes {
		return false
	}
	d.memory = r.memory
	args := &s.args
	a := args.A
	args.A, args.Memory, args.Immediate, args.Mask = n.low.Dst, &d.memory, 0, w.mask
	s.near(args, first, count)
	args.A = a
	return true
}

// physical is the range that contains an address; without a size if there is no memory. The step remembers it.
func (w *worker) physical(s *step, address uint64) physicalRange {
	d := &w.dynamic
	for i, r := range d.ranges {
		if address-r.start < r.memory.Size {
			s.rangeOf = i
			return r
		}
	}
	m, start, ok := w.run.Bindings.Physical(address)
	if !ok || m.Size == 0 {
		return physicalRange{start: address}
	}
	r := physicalRange{start, m}
	d.ranges[d.replace] = r
	s.rangeOf = d.replace
	d.replace = (d.replace + 1) % len(d.ranges)
	return r
}

// accessPhysical accesses memory by device address.
func (w *worker) accessPhysical(s *step) {
	if !s.once && w.accessNear(s) {
		return
	}
	addresses := s.inst.A
	if ops.Updates(s.inst.Op) {
		w.atomicPhysical(s)
		return
	}
	d := &w.dynamic
	s.args.Memory = &d.memory
	immediate := s.immediate()
	// Most often all addresses are in one buffer.
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
	r := w.physical(s, lowest)
	if s.once || highest-r.start < r.memory.Size {
		d.memory = r.memory
		s.args.Immediate = immediate - r.start
		w.access(s)
		return
	}
	for chunk := first; chunk < end; chunk++ {
		w.accessLanes(s, w.chunk64(addresses, chunk), *w.activeMask(chunk), chunk)
	}
}

// accessLanes accesses memory by device address for lanes of a chunk, at once for those in the same range. It gives the
// last range.
func (w *worker) accessLanes(s *step, addresses *[kernel.Width]uint64, left [kernel.Width]uint32, chunk int) (
	r physicalRange) {
	d, immediate := &w.dynamic, s.immediate()
	s.args.Memory, s.args.Mask = &d.memory, d.maskAt
	for lane := range left {
		if left[lane] == 0 {
			continue
		}
		r = w.physical(s, addresses[lane]+immediate)
		for other := range left {
			d.mask[other] = 0
			if other == lane || addresses[other]+immediate-r.start < r.memory.Size {
				d.mask[other] = left[other]
				left[other] = 0
			}
		}
		d.memory = r.memory
		s.args.Immediate = immediate - r.start
		s.run(&s.args, chunk, 1)
	}
	return r
}

// missed does the access at which machine code has stopped, and leaves the range for the next time.
func (w *worker) missed() {
	m := w.native.Miss(w.file)
	slots := (*[2]kernel.Memory)(w.slots[m.Slot:])
	s := &w.steps[w.engine.physical[(int(m.Slot)-len(w.program.Slots))/2]]
	for lane := range m.Addresses {
		m.Addresses[lane] += slots[0].Size
	}
	switch {
	case s.once:
		m.Active = [kernel.Width]uint32{^uint32(0)}
	case m.Part == 1:
		clear(m.Active[kernel.Width/2:])
	case m.Part == 2:
		clear(m.Active[:kernel.Width/2])
	}
	args := s.args
	s.args.A = kernel.Register{Base: unsafe.Pointer(&m.Addresses), Step: 64}
	values := kernel.Register{Base: unsafe.Pointer(&m.Values), Step: 64}
	if ops.Stores(s.inst.Op) {
		s.args.B = values
	} else {
		s.args.Dst, m.Values = values, [kernel.Width]uint64{}
	}
	r := w.accessLanes(s, &m.Addresses, m.Active, 0)
	s.args = args
	if s.once {
		spreadFirst(s.width, m)
	}
	native.Range(slots, r.start-s.immediate(), r.memory, s.width)
}

// spreadFirst gives all lanes the value of the first.
func spreadFirst(width uint64, m *native.Miss) {
	first := m.Values[0]
	if width < 8 {
		first = first&math.MaxUint32 | first<<32
	}
	for i := range m.Values {
		m.Values[i] = first
	}
}

// atomicPhysical does an atomic by device address, as one on the memory from the address of a lane on.
func (w *worker) atomicPhysical(s *step) {
	d := &w.dynamic
	immediate := s.immediate()
	s.args.Memory, s.args.Mask, s.args.Immediate = &d.memory, d.maskAt, 0
	defer func(a kernel.Register) { s.args.A = a }(s.args.A)
	s.args.A = d.zero
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		addresses, active := w.chunk64(s.inst.A, chunk), w.activeMask(chunk)
		for lane := range active {
			if active[lane] == 0 {
				continue
			}
			address := addresses[lane] + immediate
			r := w.physical(s, address)
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
