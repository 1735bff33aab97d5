package compute

import (
	"fmt"

	"farside/spirv"
)

// hostileFamily adds something to a module that is about n instructions long. What it asks of a compiler may be far
// more.
type hostileFamily struct {
	name string
	add  func(h *hostile, n uint32)
}

// most is the largest number of scalars that a value may have.
const most = 1<<16 - 1

var hostileFamilies = []hostileFamily{
	{"calls of nothing", func(h *hostile, n uint32) { h.calls(n, func() {}) }},
	{"calls of stores", func(h *hostile, n uint32) { h.calls(n, func() { h.store(3, h.number()) }) }},
	{"calls of loads", func(h *hostile, n uint32) {
		h.calls(n, func() { h.store(h.ids%8, h.add(h.load(1), h.load(2))) })
	}},
	{"calls of branches", func(h *hostile, n uint32) {
		h.calls(n, func() { h.choice(h.less(h.load(1), h.constant(5)), func() {}) })
	}},
	{"calls of divergent branches", func(h *hostile, n uint32) {
		h.calls(n, func() { h.choice(h.less(h.number(), h.load(1)), func() { h.store(1, h.number()) }) })
	}},
	{"calls of loops", func(h *hostile, n uint32) {
		h.calls(n, func() {
			h.loop(h.load(1), 0, h.u32, nil, func(i uint32, _ []uint32) []uint32 { h.store(1, i); return nil })
		})
	}},
	{"calls of short loops", func(h *hostile, n uint32) {
		h.calls(n, func() {
			h.loop(h.constant(30), 1, h.u32, nil, func(i uint32, _ []uint32) []uint32 { h.store(1, i); return nil })
		})
	}},
	{"calls of divergent loops", func(h *hostile, n uint32) {
		h.calls(n, func() {
			phis := h.loop(h.number(), 0, h.u32, []uint32{h.number()}, func(i uint32, phis []uint32) []uint32 {
				return []uint32{h.add(phis[0], h.load(2))}
			})
			h.store(1, phis[0])
		})
	}},
	{"calls of inserts", func(h *hostile, n uint32) {
		t := h.array(h.u32, most)
		h.calls(n, func() { h.value(spirv.OpCompositeInsert, t, h.number(), h.null(t), 7) })
	}},
	{"calls of variables", func(h *hostile, n uint32) {
		t := h.array(h.u32, most)
		h.calls(n, func() {
			v := h.variable(t)
			h.emit(spirv.OpStore, v, h.value(spirv.OpCompositeInsert, t, h.number(), h.null(t), 7))
			h.store(3, h.element(v, h.constant(9)))
		})
	}},
	{"calls of indexed variables", func(h *hostile, n uint32) {
		t := h.array(h.u32, most)
		h.calls(n, func() {
			v := h.variable(t)
			h.emit(spirv.OpStore, v, h.null(t))
			h.store(3, h.element(v, h.load(1)))
		})
	}},
	{"calls with results", func(h *hostile, n uint32) { h.results(n, h.u32) }},
	{"calls with large results", func(h *hostile, n uint32) { h.results(n, h.array(h.u32, most)) }},
	{"a long chain of calls", (*hostile).callChain},
	{"blocks", func(h *hostile, n uint32) { h.repeat(n, func(uint32) { l := h.id(); h.branch(l); h.begin(l) }) }},
	{"branches", func(h *hostile, n uint32) {
		h.repeat(n, func(k uint32) { h.choice(h.less(h.load(k%9), h.constant(k)), func() { h.store(k%7, h.number()) }) })
	}},
	{"divergent branches", func(h *hostile, n uint32) {
		x := h.number()
		h.repeat(n, func(k uint32) { h.choice(h.less(x, h.constant(k%60)), func() { h.store(k%7, x) }) })
	}},
	{"small divergent branches", func(h *hostile, n uint32) {
		x := h.number()
		h.repeat(n, func(k uint32) { h.choice(h.less(x, h.constant(k)), func() { x = h.add(x, x); _ = x }); x = h.number() })
	}},
	{"nested branches", func(h *hostile, n uint32) { h.nest(min(n/3, 1000), h.load(1)) }},
	{"nested divergent branches", func(h *hostile, n uint32) { h.nest(min(n/3, 1000), h.number()) }},
	{"nests of branches", func(h *hostile, n uint32) { h.repeat(n/300, func(uint32) { h.nest(100, h.number()) }) }},
	{"nested loops", func(h *hostile, n uint32) { h.loops(min(n, 1000), h.load(1), h.u32, nil) }},
	{"nested divergent loops", func(h *hostile, n uint32) { h.loops(min(n, 1000), h.number(), h.u32, nil) }},
	{"nested loops with phis", func(h *hostile, n uint32) {
		first := []uint32{h.load(1), h.load(2), h.number(), h.load(4)}
		h.loops(min(n, 1000), h.load(1), h.u32, first)
	}},
	{"nested divergent loops with phis", func(h *hostile, n uint32) {
		first := []uint32{h.load(1), h.load(2), h.number(), h.load(4)}
		h.loops(min(n, 1000), h.number(), h.u32, first)
	}},
	{"nested loops with large phis", func(h *hostile, n uint32) {
		t := h.array(h.u32, 4096)
		v := h.value(spirv.OpCompositeInsert, t, h.load(1), h.null(t), 1)
		h.loops(min(n, 1000), h.load(1), t, []uint32{v})
	}},
	{"loops", func(h *hostile, n uint32) {
		h.repeat(n, func(uint32) {
			h.loop(h.load(1), 0, h.u32, nil, func(i uint32, _ []uint32) []uint32 { h.store(1, i); return nil })
		})
	}},
	{"short loops", func(h *hostile, n uint32) {
		h.repeat(n, func(uint32) {
			h.loop(h.constant(30), 1, h.u32, nil, func(i uint32, _ []uint32) []uint32 { h.store(1, i); return nil })
		})
	}},
	{"nests of short loops", func(h *hostile, n uint32) {
		h.repeat(n/6, func(uint32) { h.loops(6, h.constant(4), h.u32, nil) })
	}},
	{"loops that are hard to foresee", func(h *hostile, n uint32) {
		h.repeat(n/3, func(uint32) {
			first := []uint32{h.constant(1), h.constant(2), h.constant(3), h.constant(4)}
			h.loop(h.constant(120), 1, h.u32, first, func(_ uint32, phis []uint32) []uint32 {
				v := phis[0]
				for range 7 {
					v = h.value(spirv.OpIMul, h.u32, v, v)
				}
				return []uint32{v, v, v, v}
			})
		})
	}},
	{"a switch", func(h *hostile, n uint32) { h.cases(n, n, h.load(1)) }},
	{"a divergent switch", func(h *hostile, n uint32) { h.cases(n, n, h.number()) }},
	{"a switch to one block", func(h *hostile, n uint32) { h.cases(n, 1, h.load(1)) }},
	{"switches", func(h *hostile, n uint32) { h.repeat(n/40, func(uint32) { h.cases(40, 20, h.number()) }) }},
	{"calls of switches", func(h *hostile, n uint32) { h.calls(n, func() { h.cases(20, 20, h.number()) }) }},
	{"calls of a wide switch", func(h *hostile, n uint32) {
		f := h.function(h.void, nil, func([]uint32) uint32 { h.cases(n/3, n/3, h.number()); return 0 })
		h.repeat(n/3, func(uint32) { h.call(h.void, f) })
	}},
	{"a switch that merges arrays", func(h *hostile, n uint32) { h.merge(n, h.array(h.u32, most)) }},
	{"phis", func(h *hostile, n uint32) { h.web(n, h.u32, true) }},
	{"phis that nobody needs", func(h *hostile, n uint32) { h.web(n, h.u32, false) }},
	{"large phis", func(h *hostile, n uint32) { h.web(n, h.array(h.u32, most), true) }},
	{"phis that change places", func(h *hostile, n uint32) { h.swaps(n&^1, h.u32) }},
	{"large phis that change places", func(h *hostile, n uint32) { h.swaps(2, h.array(h.u32, most)) }},
	{"variables", func(h *hostile, n uint32) { h.across(n/2, n/4, h.u32) }},
	{"variables in loops", func(h *hostile, n uint32) { h.inLoops(n/4, min(n/16, 900)) }},
	{"a large variable and branches", func(h *hostile, n uint32) { h.across(1, n/3, h.array(h.u32, most)) }},
	{"large variables and branches", func(h *hostile, n uint32) { h.across(n/8, n/8, h.array(h.u32, most)) }},
	{"an indexed variable and branches", func(h *hostile, n uint32) {
		v := h.variable(h.array(h.u32, most))
		h.repeat(n, func(k uint32) {
			h.choice(h.less(h.number(), h.constant(k)), func() { h.emit(spirv.OpStore, h.elementAt(v, h.number()), h.number()) })
		})
		h.store(1, h.element(v, h.load(1)))
	}},
	{"indexed variables that become values", (*hostile).promoted},
	{"quotients and remainders by constants", func(h *hostile, n uint32) {
		x := h.load(1)
		h.repeat(n/3, func(k uint32) {
			d := h.constant(k%(n/6+1) + 3)
			h.store(k, h.add(h.value(spirv.OpUMod, h.u32, x, d), h.value(spirv.OpUDiv, h.u32, x, d)))
		})
	}},
	{"inserts", func(h *hostile, n uint32) {
		v := h.null(h.array(h.u32, most))
		h.repeat(n, func(k uint32) { v = h.value(spirv.OpCompositeInsert, h.array(h.u32, most), h.number(), v, k) })
		h.store(1, h.value(spirv.OpCompositeExtract, h.u32, v, 5))
	}},
	{"constructs", func(h *hostile, n uint32) {
		t := h.array(h.u32, 1<<14)
		v := h.value(spirv.OpCompositeInsert, t, h.load(1), h.null(t), 2)
		h.repeat(n, func(k uint32) { h.value(spirv.OpCompositeConstruct, h.array(t, 3), v, v, v) })
	}},
	{"selected arrays", func(h *hostile, n uint32) {
		t := h.array(h.u32, most)
		v := h.value(spirv.OpCompositeInsert, t, h.load(1), h.null(t), 2)
		h.repeat(n, func(k uint32) { v = h.value(spirv.OpSelect, t, h.less(h.load(k%9), h.number()), v, h.null(t)) })
		h.store(1, h.value(spirv.OpCompositeExtract, h.u32, v, 5))
	}},
	{"shuffles", func(h *hostile, n uint32) {
		v := h.value(spirv.OpCompositeConstruct, h.vec4, h.load(1), h.load(2), h.load(3), h.number())
		h.repeat(n, func(uint32) { v = h.value(spirv.OpVectorShuffle, h.vec4, v, v, 3, 0, 7, 2) })
		h.store(1, h.value(spirv.OpCompositeExtract, h.u32, v, 1))
	}},
	{"arrays in memory", (*hostile).memoryArrays},
	{"copies of memory", (*hostile).memoryCopies},
	{"copies of objects", func(h *hostile, n uint32) {
		v := h.null(h.array(h.u32, most))
		h.repeat(n, func(uint32) { v = h.value(spirv.OpCopyObject, h.array(h.u32, most), v) })
	}},
	{"constant operations", func(h *hostile, n uint32) {
		v := h.global(spirv.OpSpecConstant, h.u32, 5)
		h.repeat(n, func(uint32) { v = h.global(spirv.OpSpecConstantOp, h.u32, uint32(spirv.OpIAdd), v, v) })
		h.store(1, v)
	}},
	{"inserts into constants", func(h *hostile, n uint32) {
		t, x := h.array(h.u32, most), h.global(spirv.OpSpecConstant, h.u32, 5)
		v := h.null(t)
		h.repeat(n, func(k uint32) {
			v = h.global(spirv.OpSpecConstantOp, t, uint32(spirv.OpCompositeInsert), x, v, k)
			h.emit(spirv.OpStore, h.variable(t), v)
		})
	}},
	{"nested constants", func(h *hostile, n uint32) {
		t, v := h.u32, h.constant(5)
		for range 14 {
			t = h.array(t, 2)
			v = h.global(spirv.OpConstantComposite, t, v, v)
		}
		t = h.array(t, 3)
		h.repeat(n, func(uint32) {
			h.emit(spirv.OpStore, h.variable(t), h.global(spirv.OpConstantComposite, t, v, v, v))
		})
	}},
	{"tables", (*hostile).lookups},
	{"huge objects", (*hostile).huge},
	{"deep types", (*hostile).deepTypes},
	{"wide types", (*hostile).wideTypes},
	{"access chains", func(h *hostile, n uint32) {
		h.repeat(n, func(k uint32) { h.emit(spirv.OpStore, h.at(h.add(h.number(), h.constant(k))), h.constant(k)) })
	}},
	{"chains of access chains", func(h *hostile, n uint32) {
		p := h.at(h.number())
		h.annotate(spirv.OpDecorate, h.pointer(spirv.StorageClassStorageBuffer, h.u32), uint32(spirv.DecorationArrayStride),
			4)
		h.repeat(n, func(k uint32) {
			p = h.value(spirv.OpPtrAccessChain, h.pointer(spirv.StorageClassStorageBuffer, h.u32), p, h.load(1))
		})
		h.emit(spirv.OpStore, p, h.constant(1))
	}},
	{"variable pointers", (*hostile).variablePointers},
	{"variable pointers and bindings", func(h *hostile, n uint32) {
		h.repeat(n/8, func(uint32) { h.storage() })
		h.variablePointers(n / 4)
	}},
	{"bindings", func(h *hostile, n uint32) {
		h.repeat(n/3, func(uint32) {
			b := h.storage()
			p := h.pointer(spirv.StorageClassStorageBuffer, h.u32)
			h.emit(spirv.OpStore, h.value(spirv.OpAccessChain, p, b, h.constant(0), h.number()), h.number())
		})
	}},
	{"chosen descriptors", func(h *hostile, n uint32) {
		b := h.binding(h.array(h.known["block"], 1000), spirv.StorageClassStorageBuffer)
		p := h.pointer(spirv.StorageClassStorageBuffer, h.u32)
		h.repeat(n, func(k uint32) {
			h.emit(spirv.OpStore, h.value(spirv.OpAccessChain, p, b, h.constant(k%1000), h.constant(0), h.number()), h.number())
			h.emit(spirv.OpStore, h.value(spirv.OpAccessChain, p, b, h.load(1), h.constant(0), h.number()), h.number())
		})
	}},
	{"entry points", func(h *hostile, n uint32) {
		h.repeat(n, func(k uint32) {
			f := h.function(h.void, nil, func([]uint32) uint32 { return 0 })
			list := append([]uint32{uint32(spirv.ExecutionModelGLCompute), f}, text(fmt.Sprint(f))...)
			h.entries = append(h.entries, instruction(spirv.OpEntryPoint, list...)...)
			h.modes = append(h.modes, instruction(spirv.OpExecutionMode, f, uint32(spirv.ExecutionModeLocalSize), 1, 1, 1)...)
		})
	}},
	{"a large bound", func(h *hostile, n uint32) { h.bound = 0x3fffff }},
	{"names", func(h *hostile, n uint32) {
		h.repeat(n, func(k uint32) {
			h.names = append(h.names, instruction(spirv.OpName, append([]uint32{h.constant(k)}, text("x")...)...)...)
		})
	}},
	{"decorations", func(h *hostile, n uint32) {
		h.repeat(n, func(uint32) {
			h.annotate(spirv.OpDecorate, h.load(1), uint32(spirv.DecorationRelaxedPrecision))
		})
	}},
	{"groups of decorations", (*hostile).groups},
	{"messages", (*hostile).messages},
	{"subgroup operations", func(h *hostile, n uint32) {
		x, scope := h.number(), h.constant(uint32(spirv.ScopeSubgroup))
		h.repeat(n, func(uint32) {
			x = h.value(spirv.OpGroupNonUniformIAdd, h.u32, scope, uint32(spirv.GroupOperationReduce), x)
		})
		h.store(1, x)
	}},
	{"images", (*hostile).images},
	{"additions", func(h *hostile, n uint32) {
		x := h.load(1)
		h.repeat(n, func(k uint32) { x = h.add(x, h.load(k)) })
		h.store(1, x)
	}},
	{"doublings", func(h *hostile, n uint32) {
		x := h.value(spirv.OpBitwiseAnd, h.u32, h.number(), h.constant(1))
		h.repeat(n, func(k uint32) {
			x = h.add(x, x)
			h.emit(spirv.OpStore, h.at(x), x)
		})
	}},
	{"selections", func(h *hostile, n uint32) {
		x := h.number()
		h.repeat(n, func(k uint32) {
			x = h.value(spirv.OpSelect, h.u32, h.less(x, h.constant(k)), x, h.value(spirv.OpBitwiseXor, h.u32, x, h.constant(k)))
		})
		h.store(1, x)
	}},
	{"values that live long", func(h *hostile, n uint32) {
		var list []uint32
		h.repeat(n, func(k uint32) { list = append(list, h.add(h.load(k), h.number())) })
		for k, x := range list {
			h.store(uint32(k), x)
		}
	}},
	{"uniform and varying", func(h *hostile, n uint32) {
		h.repeat(n, func(k uint32) {
			h.emit(spirv.OpStore, h.at(h.add(h.number(), h.constant(k))), h.value(spirv.OpIMul, h.u32, h.load(k), h.load(k+1)))
		})
	}},
	{"barriers", func(h *hostile, n uint32) {
		s := h.constant(uint32(spirv.ScopeWorkgroup))
		h.repeat(n, func(k uint32) { h.emit(spirv.OpControlBarrier, s, s, h.constant(0x108)); h.store(k, h.load(k)) })
	}},
	{"atomics", func(h *hostile, n uint32) {
		s := h.constant(1)
		h.repeat(n, func(k uint32) { h.value(spirv.OpAtomicIAdd, h.u32, h.at(h.constant(k)), s, h.constant(0), h.number()) })
	}},
	{"private variables", func(h *hostile, n uint32) {
		p := h.pointer(spirv.StorageClassPrivate, h.u32)
		h.repeat(n/4, func(uint32) {
			v := h.global(spirv.OpVariable, p, uint32(spirv.StorageClassPrivate))
			f := h.function(h.void, nil, func([]uint32) uint32 { h.emit(spirv.OpStore, v, h.number()); return 0 })
			h.call(h.void, f)
		})
	}},
}
