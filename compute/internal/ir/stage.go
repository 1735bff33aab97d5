package ir

import (
	"slices"

	"farside/compute/internal/ops"
	"farside/spirv"
)

// Numeric is what the 32 bits of a Variable mean.
type Numeric uint8

// The kinds of numbers at an interface. 8-bit and 16-bit integers are extended to 32 bits; a 16-bit float is converted.
const (
	Float Numeric = iota + 1
	Sint
	Uint
)

// Interpolation is how an input of a fragment shader gets its value (chapter "Interpolation Decorations").
type Interpolation uint8

// The ways of interpolation.
const (
	Perspective Interpolation = iota // of decorations none
	Linear                           // NoPerspective
	Flat
)

// Place is where in a pixel an input of a fragment shader is evaluated.
type Place uint8

// The places. AtSample makes the shader run once for each sample.
const (
	AtCenter Place = iota
	AtCentroid
	AtSample
)

// Variable is 32 bits of a stage's interface: a component of a location, or of a built-in. A 64-bit component is two
// of them, the low half first.
type Variable struct {
	IsBuiltIn     bool
	BuiltIn       spirv.BuiltIn // where IsBuiltIn
	Location      uint32        // where not
	Component     uint32        // of the location, 0 to 3; of a built-in its scalar or array element, from 0
	Index         uint32        // of a fragment shader's output: 1 for the second source of blending
	Numeric       Numeric
	Width         uint8 // of the component in the shader: 8, 16, 32 or 64 bits
	Half          uint8 // of a 64-bit component: 0 low, 1 high
	Interpolation Interpolation
	Place         Place
	Term          Term
}

// Term is what a Variable is of an input that the shader evaluates by itself, where it likes. The input's value is
// TermFirst, a float of 32 bits, and two floats of 64 bits: TermSecond times the weight of the second vertex, and
// TermThird times that of the third.
type Term uint8

// The terms.
const (
	Whole      Term = iota // the value itself, at Place
	TermFirst              // what the first vertex has
	TermSecond             // what the second vertex has more than the first one
	TermThird
)

// BuiltInSetup is an input of fragment shaders that no module has: what else an evaluation needs to know of the quad
// and its primitive. Its components are the Setup constants.
const BuiltInSetup spirv.BuiltIn = 1 << 30

// A plane is three components: how much it grows with x, and with y, and what it is at SetupOrigin.
const (
	SetupPixel       = 0  // x and y, integers
	SetupSamples     = 2  // four words: of each sample a byte with its place in the pixel in sixteenths, x in the low half
	SetupOrigin      = 6  // x and y of where planes begin; floats of 64 bits, as all that follow
	SetupReciprocal  = 8  // the plane of 1/w, or of 1 where that is the same everywhere
	SetupPerspective = 11 // two planes: the weights of the second and third vertex, times that
	SetupLinear      = 17 // two planes: these weights on the screen
	SetupEnd         = 23
)

// StageModes is what a shader says of its stage beside its interface.
type StageModes struct {
	Model            spirv.ExecutionModel
	OriginLowerLeft  bool // never true of a module that has been checked
	PixelCenter      bool // PixelCenterInteger: likewise
	EarlyTests       bool // EarlyFragmentTests
	DepthReplacing   bool
	DepthGreater     bool
	DepthLess        bool
	DepthUnchanged   bool
	StencilReplacing bool
	PostDepth        bool   // PostDepthCoverage
	PerSample        bool   // it reads SampleId or SamplePosition, or an input AtSample: it runs for each sample
	Discards         bool   // it may end or demote invocations: tests that write can't come first
	Effects          bool   // it writes memory that others see: it runs wherever the specification has it run
	Derivatives      bool   // it needs whole quads
	Constants        bool   // it reads push constants
	Sets             uint32 // the descriptor sets that it uses: a bit each
	Subgroups        bool   // it sees lanes of its subgroup beyond those of its quad
	ReadsInputs      bool   // it reads input attachments: its own tests may write to them only afterwards
}

// Stage is a graphics stage's interface: what a driver fills and reads.
type Stage struct {
	Inputs  []Variable
	Outputs []Variable // those that are written
	Modes   StageModes
}

// InputKind is the first kind of Builtin nodes that are Stage.Inputs, by their numbers.
const InputKind = 1 << 31

// DropOutputs takes the stores of outputs out of a stage's graph, those with a bit in unread, and what only they need.
func (g *Graph) DropOutputs(unread uint64) {
	output := 4 * uint64(g.LocalSize[0]) // bytes: a batch is one row of lanes
	dropped := func(v Value) bool {
		n := &g.Nodes[v]
		return ops.Stores(n.Op) && ops.IsMemory(n.Op) && n.Extra > 0 && g.Memories[n.Extra].Kind == MemoryOutputs &&
			unread>>(n.Imm/output)&1 != 0
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		blk.Insts = slices.DeleteFunc(blk.Insts, dropped)
	}
	g.dropDead()
	g.did("dropOutputs")
}
