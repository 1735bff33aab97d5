// Package draw executes draws: vertices and fragments, in order, straight into the attachments' memory. In come what
// the pipeline and the dynamic state say (State), the attachments (Pass), buffers and shaders. What goes out lies in
// memory: attachments, what shaders write, and counts for queries. It knows no handles.
//
// Primitives go one after the other to where their fragments are tested and written. Shaders run for many at once:
// vertices, and then 2x2 fragments of many primitives, wait until there are enough of them for a batch. Polygons wait
// in bins, which several cores fill. Without these (Draw.InOrder) the order of primitives needs no thought: the other
// way is compared with this one, bit for bit.
//
// A draw is one goroutine's, and the cores' that it asks for help. Several may run at once, on the same State, too.
// Memory of the application is touched within Execute alone. A fault there is a panic that passes through Execute;
// batches are ended all the same.
package draw

import (
	"math"
	"sync/atomic"

	"farside/compute"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// Shader is a compiled stage; *compute.Program is one. Several batches may run at once.
type Shader interface {
	Inputs() []compute.Variable
	Outputs() []compute.Variable
	Stage() *compute.StageModes
	NewBatch(unread uint64) compute.Batch
}

// VertexBinding is how a vertex buffer is walked through (VkVertexInputBindingDescription).
type VertexBinding struct {
	Stride    uint32
	Instanced bool
	Divisor   uint32 // of instanced ones; 0: all instances have the first element
}

// VertexAttribute is where an input of the vertex shader comes from.
type VertexAttribute struct {
	Location, Binding, Offset uint32
	Format                    vk.Format
}

// VertexBuffer is the bytes that are bound to a binding, from the bound offset to the end of the bound size; nil: none.
// What lies beyond them reads as zero.
type VertexBuffer struct{ Bytes []byte }

// DepthBias is VK_DYNAMIC_STATE_DEPTH_BIAS and how it is meant (VK_EXT_depth_bias_control).
type DepthBias struct {
	Enable                 bool
	Constant, Clamp, Slope float32
	Representation         vk.DepthBiasRepresentationEXT
	Exact                  bool
}

// Stencil is VkStencilOpState.
type Stencil = vk.StencilOpState

// Blend is VkPipelineColorBlendAttachmentState.
type Blend = vk.PipelineColorBlendAttachmentState

// State is what a draw is executed with: the pipeline and the dynamic state at the draw. Values have been checked: they
// keep to the limits and to the enumerations.
type State struct {
	Vertex   Shader
	Fragment Shader // nil: depth and stencil alone

	Bindings   map[uint32]VertexBinding
	Attributes []VertexAttribute

	Topology       vk.PrimitiveTopology
	Restart        bool
	ProvokingLast  bool // VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT
	Viewports      []vk.Viewport
	Scissors       []vk.Rect2D
	MinusOneToOne  bool // depth in clip coordinates (VK_EXT_depth_clip_control)
	NoRasterizer   bool // rasterizerDiscardEnable
	DepthClamp     bool
	ClampRange     bool // depths are clamped to these, not to those of viewports (VK_EXT_depth_clamp_control)
	ClampMin       float32
	ClampMax       float32
	DepthClip      bool
	PolygonMode    vk.PolygonMode
	CullMode       vk.CullModeFlags
	FrontFace      vk.FrontFace
	DepthBias      DepthBias
	LineWidth      float32
	LineMode       vk.LineRasterizationMode
	StippleLines   bool
	StippleFactor  uint32
	StipplePattern uint16

	Samples         uint32 // rasterizationSamples
	SampleShading   bool
	MinSamples      float32 // minSampleShading
	SampleMask      uint32
	AlphaToCoverage bool
	AlphaToOne      bool

	DepthTest    bool
	DepthWrite   bool
	DepthCompare vk.CompareOp
	DepthBounds  bool
	MinDepth     float32 // of the bounds
	MaxDepth     float32
	StencilTest  bool
	Front, Back  Stencil

	LogicOpEnable  bool
	LogicOp        vk.LogicOp
	Blends         []Blend // by colour attachment; those that lack one write nothing
	BlendConstants [4]float32
}

// Target is a range of layers of an attachment: a level of an image seen in a format. Slices of a 3D image are layers.
// A nil Image is no attachment (VK_ATTACHMENT_UNUSED, VK_NULL_HANDLE).
type Target struct {
	Image  *transfer.Image
	Format vk.Format // of the view
	Aspect vk.ImageAspectFlags
	Level  uint32
	Layer  uint32 // the first
	Layers uint32 // with Depth3D: of slices
}

// Pass is where draws go: the attachments of a subpass or of a dynamic rendering.
type Pass struct {
	Area     vk.Rect2D
	Layers   uint32
	ViewMask uint32 // 0: no multiview
	Samples  uint32 // of the attachments; 0: there are none, State.Samples decides
	Colors   []Target
	Depth    Target
	Stencil  Target
	// ColorLocations maps a colour attachment to the location of the shader's output (local read); nil: the same.
	ColorLocations []uint32
	Clears         *Clears // of attachments, that wait for draws; nil: none
}

// Waits says whether clears wait.
func (p *Pass) Waits() bool { return p != nil && p.Clears != nil && p.Clears.left }

// Statistics is what queries count, added to.
type Statistics struct {
	Samples uint64 // that passed the tests: an occlusion query
	// Those of VkQueryPipelineStatisticFlagBits, by bit number.
	Counts [11]uint64
}

// Progress is how far a command of one draw or several has come. Any goroutine may ask, one draws.
type Progress struct {
	before, share float64       // of the draw under way, in the command
	part          atomic.Uint64 // the bits of a float64
}

// Begin is called before each draw of a command: the n-th, from 0, of so many.
func (p *Progress) Begin(n, of uint64) {
	p.before, p.share = float64(n)/float64(of), 1/float64(of)
	p.reached(0)
}

// Part returns the part of the vertices of the command's draws, in all views, that have been drawn: from 0 to 1. It
// grows with each batch of vertices.
func (p *Progress) Part() float64 { return math.Float64frombits(p.part.Load()) }

// reached notes the part of the draw under way.
func (p *Progress) reached(part float64) { p.part.Store(math.Float64bits(p.before + p.share*part)) }

// Changes are what a draw of a series has otherwise than the draw before it, in the same places.
type Changes uint8

const (
	ChangedViewports Changes = 1 << iota // the viewports and scissors of State
	ChangedBindings                      // what the bindings of Vertex give
)

// Draw is a draw command.
type Draw struct {
	State *State
	Pass  *Pass
	// Environment is what shaders find, of each stage by itself. Draws of a series may have others than those before them.
	Vertex, Fragment *compute.Environment
	Changed          Changes
	Buffers          []VertexBuffer // by binding

	Indexed      bool
	Indices      []byte // of the bound index buffer, from the bound offset on
	IndexType    vk.IndexType
	First, Count uint32 // vertices or indices
	VertexOffset int32  // of indexed draws
	Instance     uint32 // the first
	Instances    uint32
	DrawIndex    uint32 // of indirect and multi draws

	Statistics *Statistics // nil: nobody counts
	Progress   *Progress   // nil: nobody asks

	InOrder bool // one core draws, primitive by primitive: what bins are compared with
}
