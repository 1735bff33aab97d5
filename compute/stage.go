package compute

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/program"
	"farside/compute/internal/vm"
)

// Environment is what a batch of a graphics stage finds: bindings, push constants, who is told.
type Environment = vm.Environment

// What a stage's interface is made of.
type (
	Variable      = ir.Variable
	StageModes    = ir.StageModes
	Numeric       = ir.Numeric
	Interpolation = ir.Interpolation
	Place         = ir.Place
	Term          = ir.Term
)

// The kinds of numbers at an interface, the ways of interpolation, and where inputs are evaluated.
const (
	Float = ir.Float
	Sint  = ir.Sint
	Uint  = ir.Uint

	Perspective = ir.Perspective
	Linear      = ir.Linear
	Flat        = ir.Flat

	AtCenter   = ir.AtCenter
	AtCentroid = ir.AtCentroid
	AtSample   = ir.AtSample
)

// What shaders that evaluate inputs by themselves read: terms of inputs, and of the primitive's set-up.
const (
	TermFirst  = ir.TermFirst
	TermSecond = ir.TermSecond
	TermThird  = ir.TermThird

	BuiltInSetup     = ir.BuiltInSetup
	SetupPixel       = ir.SetupPixel
	SetupSamples     = ir.SetupSamples
	SetupOrigin      = ir.SetupOrigin
	SetupReciprocal  = ir.SetupReciprocal
	SetupPerspective = ir.SetupPerspective
	SetupLinear      = ir.SetupLinear
	SetupEnd         = ir.SetupEnd
)

// Batch runs a vertex or fragment shader for a number of lanes. It is one goroutine's at a time. Lanes of a fragment
// shader are quads: four in a row are (x, y), (x+1, y), (x, y+1) and (x+1, y+1) of one primitive.
type Batch interface {
	// Lanes is how many lanes a batch has: a multiple of 8.
	Lanes() int
	// Begin resolves the bindings of an environment; every Begin needs an End, which says what went wrong. No memory of
	// the environment may be touched behind End.
	Begin(*Environment) error
	// Input is where the values of Inputs()[i] go, a word for each lane. It stays the same for the life of the batch. It
	// is nil where the shader never reads the variable. Run may change what is there.
	Input(i int) []uint32
	// Output is where Run leaves the values of Outputs()[i]; nil where the shader never writes it, or where nobody was to
	// read it. Lanes that have not written it have any value.
	Output(i int) []uint32
	// Run runs the shader: a bit for each lane of a chunk of eight says which lanes run, and which of these have effects;
	// the others are helpers. It takes the bits of lanes that discard, or demote themselves, out of both. It answers false
	// when the execution has failed or was stopped: End says why.
	Run(lanes, effects []uint8) bool
	End() error
	// Release gives up a batch that has ended: NewBatch may give it to somebody else.
	Release()
}

// Inputs are what a graphics stage reads. Of what stands there Batch.Input may be nil.
func (c *Program) Inputs() []Variable { return c.stage.Inputs }

// Outputs are what it writes.
func (c *Program) Outputs() []Variable { return c.stage.Outputs }

// Stage is what else a graphics stage says of itself; nil of compute.
func (c *Program) Stage() *StageModes {
	if c.stage == nil {
		return nil
	}
	return &c.stage.Modes
}

// NewBatch makes a batch of a graphics stage. unread has a bit for each of the first Outputs that nobody reads: these
// are not computed, nor are inputs that only they need, which Batch.Input has no words for. All else is as without. If
// it can't make one, its Begin says why.
func (c *Program) NewBatch(unread uint64) Batch {
	if unread &= 1<<min(uint(len(c.stage.Outputs)), 64) - 1; unread != 0 {
		if v := c.without(unread); v != nil {
			return v.engine.Batch(&v.program, len(c.stage.Inputs), len(c.stage.Outputs), unread)
		}
	}
	if err := c.LayOut(); err != nil {
		return vm.FailedBatch(err)
	}
	return c.engine.Batch(&c.Program, len(c.stage.Inputs), len(c.stage.Outputs), 0)
}

// variant is a program that leaves some outputs out.
type variant struct {
	program program.Program
	engine  vm.Engine
}

// mostVariants is how many a program has at most. Whoever wants more of them gets the program itself.
const mostVariants = 16

// without is the variant that leaves outputs out; nil: there is none.
func (c *Program) without(unread uint64) *variant {
	c.drafting.Lock()
	defer c.drafting.Unlock()
	v, ok := c.variants[unread]
	if ok || len(c.variants) == mostVariants {
		return v
	}
	v = &variant{program: c.Program,
		engine: vm.Engine{PlainGo: c.engine.PlainGo, NoNative: c.engine.NoNative, Narrow: c.engine.Narrow, Partial: true}}
	if c.draft.LayOut(&v.program, new(budget.Budget), unread) != nil {
		v = nil
	}
	if c.variants == nil {
		c.variants = map[uint64]*variant{}
	}
	c.variants[unread] = v
	return v
}
