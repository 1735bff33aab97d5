package command

import (
	"math"

	"farside/internal/vk"
)

// Records of commands for graphics that are written by hand. They are numbered apart from the other such records.
const (
	// OpSetState stands for all commands that set a dynamic state, but for those of viewports and scissors.
	OpSetState Op = 1<<16 + 32 + iota
	// OpBindVertexBuffers2 is vkCmdBindVertexBuffers2, of whose arrays some may be missing.
	OpBindVertexBuffers2
	// OpDrawMulti is vkCmdDrawMultiEXT and vkCmdDrawMultiIndexedEXT, whose arrays have a stride.
	OpDrawMulti
	// OpSetLocations is vkCmdSetRenderingAttachmentLocations.
	OpSetLocations
	// OpBindShaders is vkCmdBindShadersEXT, one of whose arrays may be missing. It is for compute, too.
	OpBindShaders
	// OpSetInputs is vkCmdSetRenderingInputAttachmentIndices.
	OpSetInputs
)

// SetState sets a dynamic state. What its values are says who executes it: mostly the arguments of the command in
// their order, floats by their bits.
type SetState struct {
	State  vk.DynamicState
	Values []uint32
}

// SetState records a dynamic state. It fails with ErrMemory.
func (s *Stream) SetState(state vk.DynamicState, values ...uint32) error {
	return s.add(OpSetState, []uint64{uint64(uint32(state)), uint64(len(values))}, bytesOf(values))
}

// SetState reads a record of a dynamic state into c. It returns false when the record's length does not fit.
func (r *Record) SetState(c *SetState) (ok bool) {
	if r.Op != OpSetState || len(r.words) < 2 {
		return false
	}
	c.State = vk.DynamicState(r.words[0])
	rest := r.words[2:]
	if c.Values, rest, ok = array[uint32](rest, r.words[1]); !ok {
		return false
	}
	return len(rest) == 0
}

// SetLocations is a recorded vkCmdSetRenderingAttachmentLocations: the location of each colour attachment.
type SetLocations struct{ Locations []uint32 }

// SetLocations records vkCmdSetRenderingAttachmentLocations. It fails with ErrMemory.
func (s *Stream) SetLocations(list []uint32) error {
	return s.add(OpSetLocations, []uint64{uint64(len(list))}, bytesOf(list))
}

// SetLocations reads a record of locations into c. It returns false when the record's length does not fit.
func (r *Record) SetLocations(c *SetLocations) (ok bool) {
	if r.Op != OpSetLocations || len(r.words) < 1 {
		return false
	}
	rest := r.words[1:]
	if c.Locations, rest, ok = array[uint32](rest, r.words[0]); !ok {
		return false
	}
	return len(rest) == 0
}

// InputWithout is the number of depths or stencils that are read by input attachments without an InputAttachmentIndex:
// what vkCmdSetRenderingInputAttachmentIndices has NULL for.
const InputWithout = vk.ATTACHMENT_UNUSED - 1

// SetInputs is a recorded vkCmdSetRenderingInputAttachmentIndices: the number of the input attachment that each colour
// attachment is, that of depths and that of stencils.
type SetInputs struct{ Inputs []uint32 }

// SetInputs records vkCmdSetRenderingInputAttachmentIndices. It fails with ErrMemory.
func (s *Stream) SetInputs(list []uint32) error {
	return s.add(OpSetInputs, []uint64{uint64(len(list))}, bytesOf(list))
}

// SetInputs reads a record of numbers of input attachments into c. It returns false when the record's length does not
// fit.
func (r *Record) SetInputs(c *SetInputs) (ok bool) {
	if r.Op != OpSetInputs || len(r.words) < 1 {
		return false
	}
	rest := r.words[1:]
	if c.Inputs, rest, ok = array[uint32](rest, r.words[0]); !ok {
		return false
	}
	return len(rest) == 0 && len(c.Inputs) >= 2
}

// StageShader is a shader object that is bound to a stage, or VK_NULL_HANDLE.
type StageShader struct {
	Shader vk.ShaderEXT
	Stage  uint64 // a vk.ShaderStageFlagBits
}

// BindShaders is a recorded vkCmdBindShadersEXT.
type BindShaders struct{ Shaders []StageShader }

// BindShaders records vkCmdBindShadersEXT. It fails with ErrMemory.
func (s *Stream) BindShaders(list []StageShader) error {
	return s.add(OpBindShaders, []uint64{uint64(len(list))}, bytesOf(list))
}

// BindShaders reads a record of vkCmdBindShadersEXT into c. It returns false when the record's length does not fit.
func (r *Record) BindShaders(c *BindShaders) (ok bool) {
	if r.Op != OpBindShaders || len(r.words) < 1 {
		return false
	}
	rest := r.words[1:]
	if c.Shaders, rest, ok = array[StageShader](rest, r.words[0]); !ok {
		return false
	}
	return len(rest) == 0
}

// VertexBuffer is what is bound to a vertex binding.
type VertexBuffer struct {
	Buffer vk.Buffer
	Offset vk.DeviceSize
	Size   vk.DeviceSize
	Stride vk.DeviceSize
}

// BindVertexBuffers2 is a recorded vkCmdBindVertexBuffers2. Without sizes they are VK_WHOLE_SIZE.
type BindVertexBuffers2 struct {
	First   uint32
	Strides bool // there are strides
	Buffers []VertexBuffer
}

// BindVertexBuffers2 records vkCmdBindVertexBuffers2. It fails with ErrMemory.
func (s *Stream) BindVertexBuffers2(first uint32, strides bool, buffers []VertexBuffer) error {
	return s.add(OpBindVertexBuffers2, []uint64{uint64(first), flag(strides), uint64(len(buffers))}, bytesOf(buffers))
}

// BindVertexBuffers2 reads a record of vkCmdBindVertexBuffers2 into c. It returns false when the record's length does
// not fit.
func (r *Record) BindVertexBuffers2(c *BindVertexBuffers2) (ok bool) {
	if r.Op != OpBindVertexBuffers2 || len(r.words) < 3 {
		return false
	}
	c.First, c.Strides = uint32(r.words[0]), r.words[1] != 0
	rest := r.words[3:]
	if c.Buffers, rest, ok = array[VertexBuffer](rest, r.words[2]); !ok {
		return false
	}
	return len(rest) == 0
}

// Multi is one draw of OpDrawMulti: VkMultiDrawInfoEXT, or VkMultiDrawIndexedInfoEXT with the offset that counts.
type Multi struct {
	First, Count uint32
	VertexOffset int32
}

// DrawMulti is a recorded vkCmdDrawMultiEXT or vkCmdDrawMultiIndexedEXT.
type DrawMulti struct {
	Indexed       bool
	InstanceCount uint32
	FirstInstance uint32
	Draws         []Multi
}

// DrawMulti records vkCmdDrawMultiEXT or vkCmdDrawMultiIndexedEXT. It fails with ErrMemory.
func (s *Stream) DrawMulti(indexed bool, instanceCount, firstInstance uint32, draws []Multi) error {
	return s.add(OpDrawMulti, []uint64{flag(indexed), uint64(instanceCount), uint64(firstInstance), uint64(len(draws))},
		bytesOf(draws))
}

// DrawMulti reads a record of draws into c. It returns false when the record's length does not fit.
func (r *Record) DrawMulti(c *DrawMulti) (ok bool) {
	if r.Op != OpDrawMulti || len(r.words) < 4 {
		return false
	}
	c.Indexed, c.InstanceCount, c.FirstInstance = r.words[0] != 0, uint32(r.words[1]), uint32(r.words[2])
	rest := r.words[4:]
	if c.Draws, rest, ok = array[Multi](rest, r.words[3]); !ok {
		return false
	}
	return len(rest) == 0
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Float is a value of a dynamic state that is a float.
func Float(v uint32) float32 { return math.Float32frombits(v) }

// Bits are the value of a dynamic state that is a float.
func Bits(f float32) uint32 { return math.Float32bits(f) }
