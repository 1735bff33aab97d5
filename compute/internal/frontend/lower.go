// Package frontend turns SPIR-V into a graph. In comes an entry point of a module that has passed its check, with the
// values of its specialization constants; out goes an ir.Shader, whose graph is tidy, and warnings. Who has the shader
// releases the graph.
//
//  1. Errors are the shader's: what is not supported, or needs more than the budget.
//  2. Calls are inlined. Blocks are taken in structured order, once for each call of their function.
//  3. Everything is scalars: composites are lists of them, and variables that only one lane sees are values, or arrays
//     of registers where they are indexed at run time. A pointer into memory is a memory, an offset and an immediate.
//  4. What an ID stands for, variables and pointers are the compiler's. Of these the graph has nothing.
package frontend

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/internal/ieee"
	"farside/internal/vk"
	"farside/spirv"
)

// Options are what a pipeline says about its shader.
type Options struct {
	Model          spirv.ExecutionModel // of the entry point
	Specialization map[uint32][]byte    // by SpecId, little endian
	Constants      *spirv.Constants     // the module's under Specialization, where the caller has them; nil: not
	SubgroupSize   uint32               // a power of two between 4 and 128
	ZeroShared     bool                 // workgroup memory is zeroed although the shader does not ask
	ViewOfDevice   bool                 // a graphics shader's ViewIndex is DeviceIndex
	Watch          *ir.Watcher          // looks at the graph after each pass; nil: nobody does

	// Capabilities are those of the device, for what only the compiler sees: which indices of descriptors are no constants
	// (VUID-StandaloneSpirv-UniformBufferArrayDynamicIndexing-10127 to 10133). Where they lack one there is a warning.
	// nil: all.
	Capabilities map[spirv.Capability]bool
}

// compiler lowers the instructions of one entry point to a graph.
type compiler struct {
	g         *ir.Graph
	budget    *budget.Budget
	space     *workspace
	module    *spirv.Module
	constants *spirv.Constants
	entry     *spirv.EntryPoint
	options   *Options
	localSize [3]uint32
	stage     *stage // nil of compute

	values    []operand   // by ID: what has been lowered
	functions []*function // by index in the module
	counts    map[*spirv.Type]int
	layouts   map[*spirv.Type]ownLayout
	kinds     []*spirv.Type // scratch of scalars
	frames    []*frame

	slots     []slot
	readings  []reading
	variables int
	earlier   map[uint64]ir.Value // values of slots at the ends of blocks that are not the last to have had the slot
	open      map[int32][]incomplete

	phiPointers map[phiPointer][]ir.Value
	nest        []int32    // loops around the current block
	nestEnds    []int      // their last blocks, as blocks of the function
	loopStores  [][]uint64 // by loop: a bit for each variable that changes in it
	origins     []origin   // by block

	counter, floor uint32    // versions of memory
	contents       []content // by memory
	byVariable     map[memoryKey]int32
	privateGlobals map[spirv.ID]*pointer
	targets        map[spirv.StorageClass][]int32 // see candidates
	nulls          map[*spirv.Type]bool           // see mayBeNull
	usage          *usage
	workgroup      workgroupLayout
	data           []byte
	tables         map[*spirv.Constant]uint64 // where constants are in data
	resources      []ir.Resource
	zeroShared     bool
	physical       bool
	atomics        bool
	warnings       []Warning
}

// origin is what is known of a block of the graph while it is built.
type origin struct {
	label    uint32 // the OpLabel of which it is a part
	unsealed bool   // not all predecessors are known
}

// content is what is known of a memory.
type content struct {
	version uint32 // of what it holds
	whole   int32  // of a descriptor in an array, the memory of that
}

// operand is a lowered object: scalars in order, a pointer, or an image or sampler.
type operand struct {
	scalars []ir.Value
	pointer *pointer
	image   *imageOperand
}

const (
	maxLanes  = 1 << 16 // far more than any device has in a workgroup
	maxFrames = 200     // calls within each other
)

// Warning is what a shader does though the device's features, or SPIR-V, do not allow it. It works nevertheless.
type Warning struct {
	VUID vk.VUID // NoVUID if there is none
	Text string  // with the word and the instruction
}

// fail ends the lowering with an error.
func (c *compiler) fail(i *spirv.Instruction, format string, args ...any) {
	budget.Fail(errors.New(at(i) + fmt.Sprintf(format, args...)))
}

// warn notes a warning, once for all calls of the instruction's function.
func (c *compiler) warn(i *spirv.Instruction, vuid vk.VUID, format string, args ...any) {
	c.steps(16 * (1 + len(c.warnings)))
	w := Warning{vuid, at(i) + fmt.Sprintf(format, args...)}
	if !slices.Contains(c.warnings, w) {
		c.warnings = append(c.warnings, w)
	}
}

// at says which instruction a message is about.
func at(i *spirv.Instruction) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("word %d: %v: ", i.Offset, i.Op)
}

// Lower lowers an entry point of a module that has passed its check. The graph is tidy; who has it releases it.
func Lower(m *spirv.Module, entryPoint string, o *Options, used *budget.Budget) (_ *ir.Shader, _ []Warning, err error) {
	defer budget.Recover(entryPoint, &err)
	defer ieee.Leave(ieee.Enter())
	c := new(compiler)
	c.module, c.options, c.budget, c.counter = m, o, used, 1 // version 1 is what memory has before the first store
	for _, e := range m.EntryPoints {
		if e.Name == entryPoint && e.Model == o.Model {
			c.entry = e
		}
	}
	if c.entry == nil {
		return nil, nil, fmt.Errorf("the module has no entry point %q of the execution model %v", entryPoint, o.Model)
	}
	if c.constants = o.Constants; c.constants == nil {
		if c.constants, err = m.Constants(o.Specialization); err != nil {
			return nil, nil, err
		}
	}
	switch o.Model {
	case spirv.ExecutionModelGLCompute:
		if c.localSize, err = m.LocalSize(c.entry, c.constants); err != nil {
			return nil, nil, err
		}
	case spirv.ExecutionModelVertex, spirv.ExecutionModelFragment:
		c.beginStage()
	default:
		return nil, nil, fmt.Errorf("the execution model %v is not supported", o.Model)
	}
	if lanes := uint64(c.localSize[0]) * uint64(c.localSize[1]) * uint64(c.localSize[2]); lanes == 0 || lanes > maxLanes {
		return nil, nil, fmt.Errorf("a workgroup of %d×%d×%d invocations", c.localSize[0], c.localSize[1], c.localSize[2])
	}
	c.prepare()
	c.lowerEntry()
	for i := range c.g.Memories {
		if m := &c.g.Memories[i]; m.Kind == ir.MemoryData {
			m.Data = c.data
		}
	}
	c.g.Tidy()
	effects := c.g.Effects()
	c.g.Watch.Renumbered()
	c.space.slots, c.space.kinds, c.space.loopStores = c.slots, c.kinds, c.loopStores
	c.space.origins, c.space.contents = c.origins, c.contents
	c.space.release()
	s := &ir.Shader{
		Name: c.entry.Name, LocalSize: c.localSize, SubgroupSize: o.SubgroupSize, Graph: c.g, Resources: c.resources,
		Shared: c.workgroup.size, ZeroShared: c.zeroShared || o.ZeroShared, Data: c.data, Physical: c.physical,
		Atomics: c.atomics,
	}
	if c.stage != nil {
		s.Stage = c.stage.Stage
		s.Stage.Modes.Effects = effects
	}
	return s, c.warnings, nil
}

// prepare takes the memory of the lowering, and finds what the functions do to variables.
func (c *compiler) prepare() {
	c.g = ir.New(c.budget)
	c.g.LocalSize = c.localSize
	c.g.Watch = c.options.Watch
	c.space = takeWorkspace(c.budget)
	w := c.space
	c.values = w.operands.Take(len(c.module.Definitions))
	c.slots, c.kinds, c.loopStores = w.slots[:0], w.kinds[:0], w.loopStores[:0]
	c.origins, c.contents = w.origins[:0], w.contents[:0]
	c.earlier, c.byVariable = w.earlier, w.byVariable
	// Of physical memory only the version counts.
	c.g.Memories, c.contents = append(c.g.Memories, ir.Memory{}), append(c.contents, content{})
	c.functions = w.reached.Take(len(c.module.Functions))
	c.usage = c.analyse()
	c.g.Finite = c.finite()
}

// steps counts steps.
func (c *compiler) steps(n int) { c.budget.Spend(budget.Steps, n) }

// lanes is the number of invocations of a workgroup.
func (c *compiler) lanes() int {
	return int(uint64(c.localSize[0]) * uint64(c.localSize[1]) * uint64(c.localSize[2]))
}

// typeOf gives the type of an object.
func (c *compiler) typeOf(id spirv.ID) *spirv.Type {
	if d := c.module.Definitions[id]; d != nil && d.Type != 0 {
		return c.constants.Types[d.Type]
	}
	c.fail(nil, "%s has no type", c.module.Name(id))
	return nil
}

func (c *compiler) resultType(i *spirv.Instruction) *spirv.Type { return c.constants.Types[i.Type] }

// wide says whether a scalar takes 64 bits.
func wide(t *spirv.Type) bool {
	return (t.Kind == spirv.TypeInt || t.Kind == spirv.TypeFloat) && t.Width == 64 ||
		t.Kind == spirv.TypePointer && t.Class == spirv.StorageClassPhysicalStorageBuffer
}

// count is how many scalars an object of a type consists of. A pointer in memory that is no address is three: the
// number of its variable, the element of that, and the offset. The recursion is as deep as the type
// (spirv.MaxTypeDepth).
func (c *compiler) count(t *spirv.Type) int {
	switch t.Kind {
	case spirv.TypeBool, spirv.TypeInt, spirv.TypeFloat:
		return 1
	case spirv.TypeVector:
		return int(t.Count)
	case spirv.TypePointer:
		if wide(t) {
			return 1
		}
		return 3
	case spirv.TypeMatrix, spirv.TypeArray:
		return c.countOf(uint64(c.count(t.Elem)) * uint64(t.Count))
	case spirv.TypeStruct:
		if n, ok := c.counts[t]; ok {
			return n
		}
		n := 0
		for _, m := range t.Members {
			n = c.countOf(uint64(n + c.count(m)))
		}
		put(&c.counts, t, n)
		return n
	}
	return 0
}

// maxScalars is how many scalars an object has at most.
const maxScalars = 1 << 20

// countOf is a number of scalars, each of which is listed.
func (c *compiler) countOf(n uint64) int {
	if n > maxScalars {
		c.fail(nil, "an object of %d scalars", n)
	}
	return int(n)
}

// scalarTypes appends the types of an object's scalars. Those of a pointer that is no address are nil. The recursion is
// as deep as the type (spirv.MaxTypeDepth).
func (c *compiler) scalarTypes(list []*spirv.Type, t *spirv.Type) []*spirv.Type {
	switch t.Kind {
	case spirv.TypeBool, spirv.TypeInt, spirv.TypeFloat:
		return append(list, t)
	case spirv.TypePointer:
		if wide(t) {
			return append(list, t)
		}
		return append(list, nil, nil, nil)
	case spirv.TypeVector, spirv.TypeMatrix, spirv.TypeArray:
		for range t.Count {
			list = c.scalarTypes(list, t.Elem)
		}
	case spirv.TypeStruct:
		for _, m := range t.Members {
			list = c.scalarTypes(list, m)
		}
	}
	return list
}

// scalarsOf gives the types of an object's scalars until the next call.
func (c *compiler) scalarsOf(t *spirv.Type) []*spirv.Type {
	c.kinds = c.scalarTypes(c.kinds[:0], t)
	c.steps(len(c.kinds))
	return c.kinds
}

// member gives the type of an element of a composite and its first scalar.
func (c *compiler) member(t *spirv.Type, index uint32) (elem *spirv.Type, first int) {
	if t.Kind == spirv.TypeStruct {
		c.steps(int(index))
		for _, m := range t.Members[:index] {
			first += c.count(m)
		}
		return t.Members[index], first
	}
	return t.Elem, int(index) * c.count(t.Elem)
}

// list takes room for n values.
func (c *compiler) list(n int) []ir.Value {
	c.steps(n)
	return c.g.Values(n)
}

// put adds to a map that may not have been made yet.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func (c *compiler) one(v ir.Value) operand {
	l := c.list(1)
	l[0] = v
	return operand{scalars: l}
}

// get gives what an ID stands for. A variable asks for its initializer, a constant or another variable in front of it.
// A pointer asks for all variables of its class (candidates), none of which has an initializer. So the recursion ends
// with the third variable at most.
func (c *compiler) get(id uint32) operand {
	o := c.values[id]
	if o.scalars != nil || o.pointer != nil || o.image != nil {
		return o
	}
	if k := c.constants.Values[spirv.ID(id)]; k != nil {
		o = c.constantOperand(k)
	} else if d := c.module.Definitions[id]; d != nil && d.Op == spirv.OpVariable {
		o = operand{pointer: c.globalVariable(d)}
	} else if d != nil && d.Op == spirv.OpUndef {
		o = c.undefined(c.resultType(d))
	} else {
		c.fail(d, "%s is not supported here", c.module.Name(spirv.ID(id)))
	}
	c.values[id] = o
	return o
}

// scalars and scalar give the scalars of an object, and its only one.
func (c *compiler) scalars(id uint32) []ir.Value {
	o := c.get(id)
	if o.pointer != nil {
		return c.pointerScalars(o.pointer)
	}
	return o.scalars
}

func (c *compiler) scalar(id uint32) ir.Value {
	s := c.scalars(id)
	if len(s) != 1 {
		c.fail(c.module.Definitions[id], "%s is not a scalar", c.module.Name(spirv.ID(id)))
	}
	return s[0]
}

func (c *compiler) set(i *spirv.Instruction, s []ir.Value) {
	if s == nil {
		s = []ir.Value{}
	}
	t := c.resultType(i)
	if t.Kind == spirv.TypePointer {
		c.values[i.Result] = operand{pointer: c.pointerFrom(t, s)}
		return
	}
	c.values[i.Result] = operand{scalars: s}
}

func (c *compiler) constantOperand(k *spirv.Constant) operand {
	if k.Type.Kind == spirv.TypePointer {
		l := c.list(c.count(k.Type))
		for i := range l {
			l[i] = c.g.C32(nullPointer)
		}
		if len(l) == 1 {
			l[0] = c.g.Constant(k.Bits, true)
		}
		return operand{pointer: c.pointerFrom(k.Type, l)}
	}
	l := c.list(c.count(k.Type))
	c.flatten(l, k)
	return operand{scalars: l}
}

// flatten writes a constant's scalars into a list and says how many they are. The recursion is as deep as the type
// (spirv.MaxTypeDepth).
func (c *compiler) flatten(into []ir.Value, k *spirv.Constant) int {
	switch k.Type.Kind {
	case spirv.TypeVector, spirv.TypeMatrix, spirv.TypeArray, spirv.TypeStruct:
		n := 0
		for _, e := range k.Elements {
			n += c.flatten(into[n:], e)
		}
		for ; n < c.count(k.Type) && n < len(into) && len(k.Elements) == 0; n++ {
			into[n] = c.g.Zero
		}
		return n
	case spirv.TypePointer:
		n := c.count(k.Type)
		for i := range n {
			into[i] = c.g.Constant(nullPointer, false)
		}
		if wide(k.Type) {
			into[0] = c.g.Constant(k.Bits, true)
		}
		return n
	}
	into[0] = c.g.Constant(registerBits(k.Type, k.Bits), wide(k.Type))
	return 1
}

// registerBits turns the bits of a scalar into how it lies in a register.
func registerBits(t *spirv.Type, bits uint64) uint64 {
	switch {
	case t.Kind == spirv.TypeBool:
		if bits != 0 {
			return math.MaxUint32
		}
		return 0
	case t.Kind == spirv.TypeFloat && t.Width == 16:
		return ir.Evaluate(kernel.Bits16ToF32, bits, 0, 0, 0)
	case t.Kind == spirv.TypeInt && t.Width < 32:
		return bits & (1<<t.Width - 1)
	case t.Width == 64:
		return bits
	}
	return uint64(uint32(bits))
}

func (c *compiler) undefined(t *spirv.Type) operand {
	switch t.Kind {
	case spirv.TypeImage, spirv.TypeSampler, spirv.TypeSampledImage:
		return operand{image: &imageOperand{}}
	}
	l := c.list(c.count(t))
	for i, s := range c.scalarsOf(t) {
		l[i] = c.zeroOf(s)
	}
	if t.Kind == spirv.TypePointer {
		return operand{pointer: c.pointerFrom(t, l)}
	}
	if l == nil {
		l = []ir.Value{}
	}
	return operand{scalars: l}
}

// zeroOf is the zero of a scalar type.
func (c *compiler) zeroOf(t *spirv.Type) ir.Value {
	return c.g.Constant(0, t != nil && wide(t))
}
