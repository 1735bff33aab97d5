// Package compute compiles vertex, fragment and compute shaders and runs them. In comes a SPIR-V module that has passed
// its check, out goes a Program, which Run executes for the workgroups of a dispatch, and a Batch for the lanes of a
// graphics stage. It is the face of the packages below it:
//
//	frontend → ir ← backend → program ← vm
//
// Compile has frontend make a graph, and backend a program without instructions. LayOut has backend make these. Run
// has vm execute them.
package compute

import (
	"sync"

	"farside/compute/internal/backend"
	"farside/compute/internal/budget"
	"farside/compute/internal/frontend"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vm"
	"farside/spirv"
)

// What callers name: memories and descriptors of a dispatch, and what a program has.
type (
	Memory   = kernel.Memory
	Bindings = vm.Bindings
	Dispatch = vm.Dispatch
	Warning  = frontend.Warning
	Inst     = program.Inst
	Register = program.Register
	Loop     = program.Loop
	Slot     = program.Slot
)

// Kinds of slots and codes of instructions that callers tell apart.
const (
	SlotBuffer = program.SlotBuffer
	SlotPush   = program.SlotPush
	Again      = program.Again
	Jump       = program.Jump
	End        = program.End
)

// ErrStopped is what a dispatch ends with after its Stop has said so. The error that wraps it names the entry point
// and, where one was running, the loop.
var ErrStopped = vm.ErrStopped

// Stage is a kind of shaders.
type Stage uint8

// The stages.
const (
	StageCompute Stage = iota
	StageVertex
	StageFragment
)

// model is the execution model of a stage's entry points.
func (s Stage) model() spirv.ExecutionModel {
	switch s {
	case StageVertex:
		return spirv.ExecutionModelVertex
	case StageFragment:
		return spirv.ExecutionModelFragment
	}
	return spirv.ExecutionModelGLCompute
}

// Options are what a pipeline says about its shader.
type Options struct {
	Stage          Stage             // of the entry point
	Specialization map[uint32][]byte // by SpecId, little endian
	Constants      *spirv.Constants  // the module's under Specialization, where the caller has them; nil: not
	SubgroupSize   uint32            // a power of two between 4 and 128
	ZeroShared     bool              // workgroup memory is zeroed although the shader does not ask
	ViewOfDevice   bool              // ViewIndex is DeviceIndex: VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT
	PlainGo        bool              // run on kernels in plain Go
	NoNative       bool              // run on kernels alone, without machine code made for the program
	Narrow         bool              // machine code has vectors of 256 bits at most

	// Dump takes the graph as text after each pass of the compiler, and at last the program. Stages are numbered names. It
	// may be called again when the program first runs, by another goroutine. The graph is validated after each pass, too.
	// nil: nobody looks.
	Dump func(stage, text string)

	// Capabilities are those of the device, for what only the compiler sees: which indices of descriptors are no constants
	// (VUID-StandaloneSpirv-UniformBufferArrayDynamicIndexing-10127 to 10133). Where they lack one there is a warning.
	// nil: all.
	Capabilities map[spirv.Capability]bool
}

// Program is a program with what it takes to run it.
type Program struct {
	program.Program // the instructions, and what belongs to them, are there behind LayOut
	Warnings        []Warning

	once     sync.Once
	err      error
	drafting sync.Mutex     // of what follows: programs are made of the draft one by one
	draft    *backend.Draft // of the instructions; nil of compute once made, or where they have been from the start
	used     budget.Budget  // by Compile and by LayOut, of each resource the larger part
	engine   vm.Engine
	stage    *ir.Stage // nil of compute
	variants map[uint64]*variant
}

// Compile lowers an entry point of a module that has passed its check. The program's instructions are made when it
// first runs, or when LayOut is asked for them, but at once where they might turn out to need too many registers.
func Compile(m *spirv.Module, entryPoint string, o Options) (*Program, error) {
	var used budget.Budget
	watch := ir.NewWatcher(o.Dump)
	s, warnings, err := frontend.Lower(m, entryPoint, &frontend.Options{
		Model: o.Stage.model(), Specialization: o.Specialization, Constants: o.Constants, SubgroupSize: o.SubgroupSize,
		ZeroShared: o.ZeroShared, ViewOfDevice: o.ViewOfDevice, Watch: watch, Capabilities: o.Capabilities}, &used)
	if err != nil {
		return nil, err
	}
	p, d := backend.NewDraft(s, watch)
	s.Graph.Release()
	c := &Program{Program: *p, Warnings: warnings, draft: d, used: used,
		stage:  s.Stage,
		engine: vm.Engine{PlainGo: o.PlainGo, NoNative: o.NoNative, Narrow: o.Narrow, Partial: s.Stage != nil}}
	if d.MayFail() {
		if err := c.LayOut(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// LayOut makes the instructions of a program that Compile has given, and the members that belong to them: Insts,
// FileSize, Mask, Constants, Builtins, Images, Subgroups and Prints. Run does so, too; who looks at them earlier comes
// here first. It can fail only for a fault of the compiler's own.
func (c *Program) LayOut() error {
	c.once.Do(func() {
		c.drafting.Lock()
		defer c.drafting.Unlock()
		if c.draft == nil {
			return
		}
		if c.err = c.draft.LayOut(&c.Program, &c.used, 0); c.stage == nil {
			c.draft = nil
		}
	})
	return c.err
}

// Run executes the program for all workgroups of the dispatch, and returns when they are done. It uses the cores of
// the machine; several dispatches may run at once. It fails with ErrStopped when the dispatch's Stop says so, and with
// another error when memory that the bindings gave is not mapped. What was written until then stays.
func (c *Program) Run(d *Dispatch) error {
	if err := c.LayOut(); err != nil {
		return err
	}
	return c.engine.Run(&c.Program, d)
}

// String is the program as text, after LayOut.
func (c *Program) String() string {
	if err := c.LayOut(); err != nil {
		return c.Name + ": " + err.Error()
	}
	return c.Program.String()
}
