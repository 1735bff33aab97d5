package compute

import "farside/spirv"

func (h *hostile) repeat(n uint32, f func(k uint32)) {
	for k := range n {
		f(k)
	}
}

// length is about how many bytes the module has.
func (h *hostile) length() int {
	return 4 * (len(h.names) + len(h.annotations) + len(h.globals) + len(h.functions) + len(h.variables) + len(h.body))
}

// doubled adds something to the entry point, or to a function that is called 2^doublings times.
func (h *hostile) doubled(doublings int, add func(h *hostile)) {
	if doublings == 0 {
		add(h)
		return
	}
	function := h.function(h.void, nil, func([]uint32) uint32 { add(h); return 0 })
	for range doublings {
		function = h.function(h.void, nil, func([]uint32) uint32 {
			h.call(h.void, function)
			h.call(h.void, function)
			return 0
		})
	}
	h.call(h.void, function)
}

func (h *hostile) null(t uint32) uint32 {
	key := "null " + string(rune(t))
	if h.known[key] == 0 {
		h.known[key] = h.global(spirv.OpConstantNull, t)
	}
	return h.known[key]
}

// elementAt is a pointer to an element of a variable, element what is there.
func (h *hostile) elementAt(v, index uint32) uint32 {
	return h.value(spirv.OpAccessChain, h.pointer(spirv.StorageClassFunction, h.u32), v, index)
}

func (h *hostile) element(v, index uint32) uint32 {
	return h.value(spirv.OpLoad, h.u32, h.elementAt(v, index))
}

// calls makes a tree of calls with a leaf, as deep as calls may be and n calls in all functions together.
func (h *hostile) calls(n uint32, leaf func()) {
	depth := min(n/2+1, 190)
	f := h.function(h.void, nil, func([]uint32) uint32 { leaf(); return 0 })
	for range depth {
		f = h.function(h.void, nil, func([]uint32) uint32 {
			for range max(n/depth, 2) {
				h.call(h.void, f)
			}
			return 0
		})
	}
	h.call(h.void, f)
}

// results makes a tree of calls that hand a value on.
func (h *hostile) results(n, t uint32) {
	depth := min(n/2+1, 190)
	f := h.function(t, []uint32{t}, func(p []uint32) uint32 {
		if t == h.u32 {
			return h.add(p[0], h.load(1))
		}
		return h.value(spirv.OpCompositeInsert, t, h.number(), p[0], 3)
	})
	for range depth {
		f = h.function(t, []uint32{t}, func(p []uint32) uint32 {
			x := p[0]
			for range max(n/depth, 2) {
				x = h.call(t, f, x)
			}
			return x
		})
	}
	if t == h.u32 {
		h.store(1, h.call(t, f, h.number()))
	} else {
		h.store(1, h.value(spirv.OpCompositeExtract, h.u32, h.call(t, f, h.null(t)), 3))
	}
}

func (h *hostile) callChain(n uint32) {
	f := h.function(h.void, nil, func([]uint32) uint32 { h.store(1, h.number()); return 0 })
	for range n {
		f = h.function(h.void, nil, func([]uint32) uint32 { h.call(h.void, f); return 0 })
	}
	h.call(h.void, f)
}

// nest is branches in each other.
func (h *hostile) nest(depth, x uint32) {
	if depth == 0 {
		h.store(1, x)
		return
	}
	h.choice(h.less(x, h.constant(depth)), func() { h.nest(depth-1, x) })
}

// loops is loops in each other. Each has a phi for each of some values.
func (h *hostile) loops(depth, limit, t uint32, first []uint32) []uint32 {
	if depth == 0 {
		h.store(1, h.load(2))
		if t != h.u32 {
			return first
		}
		var list []uint32
		for _, v := range first {
			list = append(list, h.add(v, h.load(3)))
		}
		return list
	}
	return h.loop(limit, 0, t, first, func(_ uint32, phis []uint32) []uint32 { return h.loops(depth-1, limit, t, phis) })
}

// cases is a switch.
func (h *hostile) cases(literals, blocks, selector uint32) {
	blocks = max(blocks, 1)
	merge, labels := h.id(), make([]uint32, blocks)
	for i := range labels {
		labels[i] = h.id()
	}
	h.emit(spirv.OpSelectionMerge, merge, 0)
	operands := []uint32{selector, merge}
	for k := range literals {
		operands = append(operands, k*3, labels[k*blocks/literals])
	}
	h.emit(spirv.OpSwitch, operands...)
	for k, l := range labels {
		h.begin(l)
		h.store(uint32(k), h.constant(uint32(k)))
		h.branch(merge)
	}
	h.begin(merge)
}

// merge is a switch whose cases bring a value of a type each to a phi.
func (h *hostile) merge(n, t uint32) {
	n = max(n/2, 1)
	merge, header := h.id(), h.label
	x := h.load(1)
	var values, labels []uint32
	operands := []uint32{x, merge}
	for k := range n {
		labels = append(labels, h.id())
		operands = append(operands, k, labels[k])
	}
	phi := []uint32{t, 0, h.null(t), header}
	h.emit(spirv.OpSelectionMerge, merge, 0)
	h.emit(spirv.OpSwitch, operands...)
	for k, l := range labels {
		h.begin(l)
		values = append(values, h.value(spirv.OpCompositeInsert, t, x, h.null(t), uint32(k)))
		phi = append(phi, values[k], l)
		h.branch(merge)
	}
	h.begin(merge)
	phi[1] = h.id()
	h.emit(spirv.OpPhi, phi...)
	h.store(1, h.value(spirv.OpCompositeExtract, h.u32, phi[1], 5))
}

// web is selections whose phis take those of the one before.
func (h *hostile) web(n, t uint32, needed bool) {
	width := uint32(1)
	for width*width < n/2 {
		width++
	}
	fresh := func() uint32 {
		if t == h.u32 {
			return h.load(h.ids % 5)
		}
		return h.value(spirv.OpCompositeInsert, t, h.number(), h.null(t), h.ids%9)
	}
	list := make([]uint32, width)
	for i := range list {
		list[i] = fresh()
	}
	for range max(n/2/width, 1) {
		header, side, merge := h.label, h.id(), h.id()
		cond := h.less(h.load(1), h.number())
		h.emit(spirv.OpSelectionMerge, merge, 0)
		h.emit(spirv.OpBranchConditional, cond, side, merge)
		h.begin(side)
		h.branch(merge)
		h.begin(merge)
		next := make([]uint32, width)
		for i := range next {
			next[i] = h.value(spirv.OpPhi, t, list[i], header, list[(i+1)%len(list)], side)
		}
		list = next
	}
	if !needed {
		return
	}
	for k, v := range list {
		if t != h.u32 {
			v = h.value(spirv.OpCompositeExtract, h.u32, v, uint32(k))
		}
		h.store(uint32(k), v)
	}
}

// swaps is a loop in which values change places.
func (h *hostile) swaps(n, t uint32) {
	first := make([]uint32, n)
	for k := range first {
		if t == h.u32 {
			first[k] = h.load(uint32(k))
			continue
		}
		first[k] = h.value(spirv.OpCompositeInsert, t, h.load(uint32(k)), h.null(t), uint32(k))
	}
	last := h.loop(h.load(1), 0, t, first, func(_ uint32, phis []uint32) []uint32 {
		next := make([]uint32, n)
		for k := range next {
			next[k] = phis[k^1%int(n)]
		}
		return next
	})
	for k, v := range last {
		if t != h.u32 {
			v = h.value(spirv.OpCompositeExtract, h.u32, v, 7)
		}
		h.store(uint32(k), v)
	}
}

// across is variables that are written in front of branches and read behind them.
func (h *hostile) across(variables, branches, t uint32) {
	var list []uint32
	for range max(variables, 1) {
		v := h.variable(t)
		list = append(list, v)
		if t == h.u32 {
			h.emit(spirv.OpStore, v, h.number())
		} else {
			h.emit(spirv.OpStore, v, h.value(spirv.OpCompositeInsert, t, h.number(), h.null(t), 5))
		}
	}
	for k := range branches {
		h.choice(h.less(h.load(1), h.constant(k)), func() {
			if t == h.u32 {
				h.emit(spirv.OpStore, list[int(k)%len(list)], h.load(2))
			} else {
				h.emit(spirv.OpStore, h.elementAt(list[int(k)%len(list)], h.constant(k)), h.load(2))
			}
		})
	}
	for k, v := range list {
		x := h.value(spirv.OpLoad, t, v)
		if t != h.u32 {
			x = h.value(spirv.OpCompositeExtract, h.u32, x, 6)
		}
		h.store(uint32(k), x)
	}
}

// inLoops is variables that loops in each other change.
func (h *hostile) inLoops(variables, depth uint32) {
	var list []uint32
	for range max(variables, 1) {
		list = append(list, h.variable(h.u32))
	}
	var nest func(depth uint32)
	nest = func(depth uint32) {
		if depth == 0 {
			for _, v := range list {
				h.emit(spirv.OpStore, v, h.add(h.value(spirv.OpLoad, h.u32, v), h.load(1)))
			}
			return
		}
		h.loop(h.load(1), 0, h.u32, nil, func(uint32, []uint32) []uint32 { nest(depth - 1); return nil })
	}
	nest(depth)
	for k, v := range list {
		h.store(uint32(k), h.value(spirv.OpLoad, h.u32, v))
	}
}

// promoted is an array of which all indices become constants when loops are copied.
func (h *hostile) promoted(n uint32) {
	v := h.variable(h.array(h.u32, 64))
	h.repeat(n/3, func(k uint32) {
		h.loop(h.constant(32), 1, h.u32, nil, func(i uint32, _ []uint32) []uint32 {
			p := h.elementAt(v, i)
			h.emit(spirv.OpStore, p, h.add(h.value(spirv.OpLoad, h.u32, p), h.load(k)))
			return nil
		})
	})
	h.repeat(64, func(k uint32) { h.store(k, h.element(v, h.constant(k))) })
}

// memoryArrays loads and stores whole arrays.
func (h *hostile) memoryArrays(n uint32) {
	list := h.newType(spirv.OpTypeArray, h.u32, h.constant(most))
	h.annotate(spirv.OpDecorate, list, uint32(spirv.DecorationArrayStride), 4)
	b := h.binding(h.block(list), spirv.StorageClassStorageBuffer)
	h.repeat(n, func(uint32) {
		p := h.value(spirv.OpAccessChain, h.pointer(spirv.StorageClassStorageBuffer, list), b, h.constant(0))
		h.emit(spirv.OpStore, p, h.value(spirv.OpLoad, list, p))
	})
}

// memoryCopies copies more than values may have.
func (h *hostile) memoryCopies(n uint32) {
	list := h.newType(spirv.OpTypeArray, h.u32, h.constant(1<<20-1))
	h.annotate(spirv.OpDecorate, list, uint32(spirv.DecorationArrayStride), 4)
	b := h.binding(h.block(list), spirv.StorageClassStorageBuffer)
	c := h.binding(h.block(list), spirv.StorageClassStorageBuffer)
	h.repeat(n, func(uint32) {
		p := h.value(spirv.OpAccessChain, h.pointer(spirv.StorageClassStorageBuffer, list), b, h.constant(0))
		q := h.value(spirv.OpAccessChain, h.pointer(spirv.StorageClassStorageBuffer, list), c, h.constant(0))
		h.emit(spirv.OpCopyMemory, p, q)
	})
}

// lookups is constant arrays that are indexed.
func (h *hostile) lookups(n uint32) {
	t := h.array(h.u32, 1<<12)
	part := h.global(spirv.OpConstantCompositeReplicateEXT, t, h.constant(5))
	h.repeat(n/2, func(k uint32) {
		table := h.newType(spirv.OpTypeArray, t, h.constant(15))
		value := h.global(spirv.OpConstantCompositeReplicateEXT, table, part)
		v := h.variable(table)
		h.emit(spirv.OpStore, v, value)
		p := h.pointer(spirv.StorageClassFunction, h.u32)
		x := h.value(spirv.OpAccessChain, p, v, h.number(), h.load(1))
		h.store(k, h.value(spirv.OpLoad, h.u32, x))
	})
}

// huge stores constants with more scalars than values may have.
func (h *hostile) huge(n uint32) {
	t, v := h.u32, h.constant(5)
	for range 3 {
		t = h.array(t, 31)
		v = h.global(spirv.OpConstantCompositeReplicateEXT, t, v)
	}
	t = h.array(t, 31)
	h.repeat(n/4, func(k uint32) {
		h.emit(spirv.OpStore, h.variable(t), h.global(spirv.OpConstantCompositeReplicateEXT, t, v))
	})
}

// deepTypes is structs in each other, and accesses through all of them.
func (h *hostile) deepTypes(n uint32) {
	t := h.u32
	indices := []uint32{}
	for range 250 {
		t = h.newType(spirv.OpTypeStruct, t, h.u32)
		indices = append(indices, h.constant(0))
	}
	v := h.variable(t)
	h.repeat(n/30, func(k uint32) {
		p := h.value(spirv.OpAccessChain, h.pointer(spirv.StorageClassFunction, h.u32), append([]uint32{v}, indices...)...)
		h.emit(spirv.OpStore, p, h.number())
		h.value(spirv.OpLoad, t, v)
	})
}

// wideTypes is structs with many parts, as functions that walk over types see them.
func (h *hostile) wideTypes(n uint32) {
	t := h.u32
	for range 15 {
		t = h.newType(spirv.OpTypeStruct, t, t)
	}
	h.repeat(n/2, func(k uint32) {
		s := h.newType(spirv.OpTypeStruct, t)
		h.emit(spirv.OpStore, h.variable(s), h.global(spirv.OpConstantNull, s))
	})
}

// variablePointers chooses among pointers, again and again.
func (h *hostile) variablePointers(n uint32) {
	t := h.pointer(spirv.StorageClassStorageBuffer, h.u32)
	p, q := h.at(h.number()), h.value(spirv.OpAccessChain, t, h.storage(), h.constant(0), h.number())
	x := h.load(1)
	h.repeat(n, func(k uint32) {
		p, q = h.value(spirv.OpSelect, t, h.less(x, h.constant(k)), p, q), p
		h.emit(spirv.OpStore, p, h.value(spirv.OpLoad, h.u32, q))
	})
}

// groups is groups of many decorations of many targets.
func (h *hostile) groups(n uint32) {
	h.repeat(n/1200, func(uint32) {
		group := h.id()
		for range 1000 {
			h.annotate(spirv.OpDecorate, group, uint32(spirv.DecorationRelaxedPrecision))
		}
		h.annotate(spirv.OpDecorationGroup, group)
		targets := []uint32{group}
		for range uint32(1000) {
			targets = append(targets, h.global(spirv.OpConstant, h.f32, h.ids))
		}
		h.annotate(spirv.OpGroupDecorate, targets...)
	})
}

// messages prints.
func (h *hostile) messages(n uint32) {
	if h.known["printf"] == 0 {
		h.known["printf"] = h.id()
	}
	format := h.id()
	h.names = append(instruction(spirv.OpString, append([]uint32{format}, text("%u %u %u %u")...)...), h.names...)
	x := h.number()
	h.repeat(n, func(uint32) { h.value(spirv.OpExtInst, h.void, h.known["printf"], 1, format, x, x, x, x) })
}

// images reads images.
func (h *hostile) images(n uint32) {
	t := h.typ(spirv.OpTypeImage, h.f32, uint32(spirv.Dim2D), 0, 0, 0, 1, 0)
	vec := h.typ(spirv.OpTypeVector, h.f32, 4)
	coordinates := h.typ(spirv.OpTypeVector, h.u32, 2)
	v := h.binding(t, spirv.StorageClassUniformConstant)
	at := h.value(spirv.OpCompositeConstruct, coordinates, h.number(), h.number())
	h.repeat(n, func(k uint32) {
		x := h.value(spirv.OpImageFetch, vec, h.value(spirv.OpLoad, t, v), at)
		h.store(k, h.value(spirv.OpBitcast, h.u32, h.value(spirv.OpCompositeExtract, h.f32, x, 1)))
	})
}
