package exec

import (
	"math/bits"
	"sync/atomic"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Graphics is a graphics pipeline as commands see it. It does not change, but for what has been told of.
type Graphics struct {
	// State is what the pipeline says. What is dynamic has values that do no harm: draws use them where nothing is set.
	State   draw.State
	Dynamic DynamicStates
	// Viewports and Scissors are how many there are where their values are dynamic and their counts are not.
	Viewports, Scissors uint32
	// Locations are the shader's outputs that colour attachments get (VkRenderingAttachmentLocationInfo); none: those of
	// the same numbers.
	Locations      []uint32
	Output         *Output // nil: it draws nothing, or nobody knows
	Atomics        bool    // a shader has atomic instructions
	ClipsUnclamped bool    // depths are clipped where they are not clamped, and State.DepthClip doesn't count
	// Needs are the dynamic states that are told of where nothing has set them and a draw takes them.
	Needs DynamicStates

	objects     *shaderPair // of shader objects; nil of others
	toldStates  atomic.Uint64
	toldShaders atomic.Uint32
}

// graphics is what a command buffer has bound for draws, and the draw under way. It is kept from draw to draw, so that
// none allocates memory.
type graphics struct {
	bindings
	shaders  boundShaders // from which the pipeline is made, if there are any
	dynamics dynamics
	changed  bool // something that state is made of
	moved    bool // but viewports and scissors, of which this tells
	pushedTo bool // push constants
	rebound  bool // buffers of vertices

	vertices [MaxVertexBindings]boundBuffer
	bound    uint32 // of vertices: a bit each
	index    boundBuffer
	indices  vk.IndexType // of index; meaningless without it
	indexed  bool         // index is bound

	draw         draw.Draw
	progress     draw.Progress // of the command under way
	draws        uint64        // of the command under way
	series       draw.Series
	drawing      bool       // series may have draws that wait
	last         int        // the index of the last draw
	lastOp       command.Op // likewise
	state        draw.State
	inputs       map[uint32]draw.VertexBinding // state's, where it can't be the pipeline's
	blends       [MaxColors]draw.Blend         // likewise
	buffers      [MaxVertexBindings]draw.VertexBuffer
	vertex       compute.Environment
	environments environments
	statistics   draw.Statistics
	queries      []activeQuery
	secondary    bool // a secondary command buffer is executed
}

// boundBuffer is a buffer that is bound for vertices or indices.
type boundBuffer struct {
	handle vk.Buffer // 0: bound all the same, as a buffer of no bytes
	offset uint64
	bytes  []byte // from the offset on
}

// ready makes what draws share, once.
func (g *graphics) ready(r *replay) {
	g.belong(r)
	g.inputs = map[uint32]draw.VertexBinding{}
	g.vertex = compute.Environment{
		DeviceIndex: r.device.Index, PushConstants: r.bound.constants[:], Bindings: &g.bindings, Print: r.device.Print,
		Clock: Now,
		Stop: func(ended uint64) bool {
			return r.device.stopped() || r.device.Watchdog > 0 && g.watchdog.barks(r.device.Watchdog, ended, g.progress.Part())
		},
	}
	g.draw.State, g.draw.Vertex, g.draw.Fragment = &g.state, &g.vertex, &g.vertex
	g.draw.Buffers = g.buffers[:]
	g.draw.InOrder = r.device.DrawInOrder
	g.draw.Progress = &g.progress
}

// begin makes the state that a command buffer begins with: nothing is bound, no dynamic state is set.
func (g *graphics) begin() {
	g.bindings.begin()
	if g.dynamics.set != 0 || g.bound != 0 || g.indexed {
		g.dynamics.set = 0
		clear(g.vertices[:])
		clear(g.buffers[:])
		g.bound, g.index, g.indexed = 0, boundBuffer{}, false
		g.dynamics.unwanted = 0
	}
	g.shaders = boundShaders{}
	g.state = draw.State{}
	g.changed = true
}

// release is begin, and forgets what else would keep objects alive.
func (g *graphics) release() {
	if len(g.queries) > 0 {
		clear(g.queries)
		g.queries = g.queries[:0]
	}
	if g.ranges.Load() != nil {
		g.ranges.Store(nil)
	}
	g.series.Drop()
	g.drawing = false
	g.forget()
	g.draw.Pass = nil
	g.begin()
}

// VertexFormat says whether attributes of vertices can have a format. It is so of all that texel buffers can have.
func VertexFormat(f vk.Format) bool {
	t, ok := texel.FormatOf(f)
	return ok && sampling.AccessOf(f).Sampled && !t.Compressed && !t.Chroma &&
		t.Planes[0].Aspect == vk.IMAGE_ASPECT_COLOR_BIT
}

// at is what is bound for a kind of pipelines; nil where the device has none of it.
func (r *replay) at(point vk.PipelineBindPoint) *bindings {
	switch {
	case point == vk.PIPELINE_BIND_POINT_COMPUTE:
		return &r.bound
	case point == vk.PIPELINE_BIND_POINT_GRAPHICS && r.device.Graphics:
		return &r.graphics.bindings
	}
	return nil
}

func (r *replay) bindVertexBuffers(c *command.BindVertexBuffers2) error {
	if uint64(c.First)+uint64(len(c.Buffers)) > MaxVertexBindings {
		return invalid(vk.VUID_vkCmdBindVertexBuffers_firstBinding_00625,
			"%d bindings from number %d on are more than maxVertexInputBindings, %d", len(c.Buffers), c.First,
			MaxVertexBindings)
	}
	g := &r.graphics
	for i := range c.Buffers {
		b, n := &c.Buffers[i], c.First+uint32(i)
		bound, err := r.boundBuffer(b.Buffer, b.Offset, b.Size, &vertexBufferRules)
		if err != nil {
			return err
		}
		if c.Strides {
			if b.Stride > MaxVertexStride {
				return invalid(vk.VUID_vkCmdBindVertexBuffers2_pStrides_03362,
					"stride %d is more than maxVertexInputBindingStride, %d", b.Stride, MaxVertexStride)
			}
			g.setStride(n, uint32(b.Stride))
		}
		g.vertices[n] = bound
		g.buffers[n].Bytes = bound.bytes
		g.bound |= 1 << n
	}
	g.rebound = true
	return nil
}

// setStride sets the stride of a binding.
func (g *graphics) setStride(n, stride uint32) {
	d := &g.dynamics
	if d.set&dynamicStride != 0 && d.bindings[n].Stride == stride {
		return
	}
	d.bindings[n].Stride = stride
	d.set |= dynamicStride
	d.last[bits.TrailingZeros64(uint64(dynamicVertexInput))] = nil // which has set strides, too
	g.changed = true
}

// rangeRules are the rules of a command that binds a part of a buffer.
type rangeRules struct {
	exists, used, offset, size vk.VUID
	usage                      vk.BufferUsageFlags
}

var (
	vertexBufferRules = rangeRules{
		exists: vk.VUID_vkCmdBindVertexBuffers_pBuffers_parameter, used: vk.VUID_vkCmdBindVertexBuffers_pBuffers_00627,
		offset: vk.VUID_vkCmdBindVertexBuffers_pOffsets_00626, size: vk.VUID_vkCmdBindVertexBuffers2_pSizes_03358,
		usage: vk.BUFFER_USAGE_VERTEX_BUFFER_BIT,
	}
	indexBufferRules = rangeRules{
		exists: vk.VUID_vkCmdBindIndexBuffer_buffer_parameter, used: vk.VUID_vkCmdBindIndexBuffer_buffer_08784,
		offset: vk.VUID_vkCmdBindIndexBuffer_offset_08782, size: vk.VUID_vkCmdBindIndexBuffer2_size_08768,
		usage: vk.BUFFER_USAGE_INDEX_BUFFER_BIT,
	}
)

// boundBuffer looks up a part of a buffer. VK_NULL_HANDLE is a buffer of no bytes.
func (r *replay) boundBuffer(h vk.Buffer, offset, size uint64, rules *rangeRules) (boundBuffer, error) {
	if h == 0 {
		return boundBuffer{}, nil
	}
	bytes, err := r.bytes(h, rules.exists, rules.usage, rules.used)
	if err != nil {
		return boundBuffer{}, err
	}
	length := uint64(len(bytes))
	switch {
	case offset >= length:
		return boundBuffer{}, invalid(rules.offset, "offset %d is not within the buffer of %d bytes", offset, length)
	case size == vk.WHOLE_SIZE:
		size = length - offset
	case size > length-offset:
		return boundBuffer{}, invalid(rules.size, "%d bytes from offset %d reach beyond the buffer of %d bytes", size, offset,
			length)
	}
	return boundBuffer{h, offset, bytes[offset : offset+size : offset+size]}, nil
}

func (r *replay) bindIndexBuffer(h vk.Buffer, offset, size uint64, indices vk.IndexType) error {
	width := uint64(0)
	switch indices {
	case vk.INDEX_TYPE_UINT8:
		width = 1
	case vk.INDEX_TYPE_UINT16:
		width = 2
	case vk.INDEX_TYPE_UINT32:
		width = 4
	default:
		return invalid(vk.VUID_vkCmdBindIndexBuffer_indexType_parameter, "the type of indices is %v", indices)
	}
	if offset%width != 0 {
		return invalid(vk.VUID_vkCmdBindIndexBuffer_offset_08783, "offset %d is no multiple of the size of %v", offset,
			indices)
	}
	bound, err := r.boundBuffer(h, offset, size, &indexBufferRules)
	if err != nil {
		return err
	}
	g := &r.graphics
	g.index, g.indices, g.indexed = bound, indices, true
	return nil
}

// prepare makes the draw of what is bound: all but what the command says, which has so many draws. Nothing is there to
// be drawn to without a render pass.
func (r *replay) prepare(rules *drawRules, indexed bool, draws uint64) error {
	g := &r.graphics
	if r.pass == nil {
		return invalid(rules.pass, "no render pass is under way")
	}
	if g.pipeline == nil {
		if err := r.joinBound(rules); err != nil {
			return err
		}
	}
	p := g.pipeline
	switch {
	case p == nil:
		return invalid(rules.pipeline, "no graphics pipeline is bound, and no vertex shader")
	case indexed && !g.indexed:
		return invalid(rules.index, "no index buffer is bound")
	}
	for _, n := range p.Uses {
		switch {
		case g.sets[n].Set == nil:
			return invalid(rules.sets, "a shader uses descriptor set %d, and none is bound", n)
		case !g.sets[n].Layout().Identical(p.Sets[n]):
			return invalid(rules.sets, "descriptor set %d has another layout than the pipeline has for it", n)
		}
	}
	if g.changed || g.draw.Pass != r.pass {
		if err := r.endDraws(); err != nil {
			return err
		}
		if err := g.build(p.Graphics, r.pass, rules); err != nil {
			return err
		}
		g.draw.Pass, g.changed, g.moved = r.pass, false, false
		r.tellUnset(p.Graphics, rules)
		r.tellValues(p.Graphics, rules)
		if o := p.Graphics.Output; o != nil {
			r.tellOutput(o, rules.outputs)
		}
	}
	if g.moved {
		if err := g.buildViewports(p.Graphics, rules); err != nil {
			return err
		}
		g.moved = false
		g.draw.Changed |= draw.ChangedViewports
	}
	if err := r.findEnvironments(); err != nil {
		return err
	}
	if g.rebound {
		if err := g.checkBuffers(rules); err != nil {
			return err
		}
		g.rebound = false
	}
	if g.draw.Indexed = indexed; indexed {
		g.draw.Indices, g.draw.IndexType = g.index.bytes, g.indices
	}
	if r.device.Watch != nil {
		r.watchVertices(indexed)
	}
	if g.draws = draws; r.device.Watchdog > 0 {
		g.watchdog.begin() // before the command's progress
	}
	return nil
}

// watchVertices tells of the buffers that a draw reads vertices and indices from.
func (r *replay) watchVertices(indexed bool) {
	g := &r.graphics
	for i := range g.state.Attributes {
		if b := &g.vertices[g.state.Attributes[i].Binding]; b.handle != 0 {
			r.accessed(b.handle, b.offset, uint64(len(b.bytes)), true, false)
		}
	}
	if indexed && g.index.handle != 0 {
		r.accessed(g.index.handle, g.index.offset, uint64(len(g.index.bytes)), true, false)
	}
}

// build makes the state of a draw: the pipeline's, and over it what is dynamic.
func (g *graphics) build(p *Graphics, pass *draw.Pass, rules *drawRules) error {
	s, d := &g.state, &g.dynamics
	*s = p.State
	for set := p.Dynamic & d.set; set != 0; set &= set - 1 {
		if take := stateRows[bits.TrailingZeros64(uint64(set))].take; take != nil {
			take(s, d)
		}
	}
	if p.ClipsUnclamped && p.Dynamic&d.set&dynamicDepthClip == 0 {
		s.DepthClip = !s.DepthClamp
	}
	if err := g.buildViewports(p, rules); err != nil {
		return err
	}
	if err := g.buildInputs(p, rules); err != nil {
		return err
	}
	g.rebound = true
	g.buildBlends(p, pass)
	if pass.Samples != 0 && s.Samples != pass.Samples {
		return invalid(rules.samples, "the pipeline has %d samples, the attachments %d", s.Samples, pass.Samples)
	}
	if p.objects != nil {
		return nil // their outputs go where the rendering says
	}
	for i := range pass.Colors {
		if own, want := location(p.Locations, i), location(pass.ColorLocations, i); own != want {
			return invalid(rules.locations, "attachment %d has location %d in the pipeline, and %d in the rendering", i,
				int32(own), int32(want))
		}
	}
	return nil
}

// location is that of a colour attachment.
func location(list []uint32, i int) uint32 {
	if i < len(list) {
		return list[i]
	}
	return uint32(i)
}

func (g *graphics) buildViewports(p *Graphics, rules *drawRules) error {
	s, d := &g.state, &g.dynamics
	if s.NoRasterizer {
		return nil
	}
	if p.Dynamic&(dynamicViewport|dynamicViewportCount) != 0 {
		n := p.Viewports
		if p.Dynamic&dynamicViewportCount != 0 {
			if n = d.viewportCount; d.set&dynamicViewportCount == 0 {
				return invalid(rules.viewportCount, "vkCmdSetViewportWithCount was not called")
			}
		}
		if p.Dynamic&d.set&(dynamicViewport|dynamicViewportCount) == 0 {
			return invalid(rules.viewport, "vkCmdSetViewport was not called")
		}
		s.Viewports = d.viewports[:n]
	}
	if p.Dynamic&(dynamicScissor|dynamicScissorCount) != 0 {
		n := p.Scissors
		if p.Dynamic&dynamicScissorCount != 0 {
			if n = d.scissorCount; d.set&dynamicScissorCount == 0 {
				return invalid(rules.scissorCount, "vkCmdSetScissorWithCount was not called")
			}
		}
		if p.Dynamic&d.set&(dynamicScissor|dynamicScissorCount) == 0 {
			return invalid(rules.scissor, "vkCmdSetScissor was not called")
		}
		s.Scissors = d.scissors[:n]
	}
	if len(s.Viewports) != len(s.Scissors) {
		return invalid(rules.counts, "%d viewports and %d scissors", len(s.Viewports), len(s.Scissors))
	}
	return nil
}

// buildInputs makes the vertex input.
func (g *graphics) buildInputs(p *Graphics, rules *drawRules) error {
	s, d := &g.state, &g.dynamics
	switch {
	case p.Dynamic&dynamicVertexInput != 0:
		if d.set&dynamicVertexInput == 0 {
			return invalid(rules.vertexInput, "vkCmdSetVertexInputEXT was not called")
		}
		clear(g.inputs)
		for set := d.described; set != 0; set &= set - 1 {
			n := uint32(bits.TrailingZeros32(set))
			g.inputs[n] = d.bindings[n]
		}
		s.Bindings, s.Attributes = g.inputs, d.attributes[:d.inputs]
	case p.Dynamic&dynamicStride != 0:
		clear(g.inputs)
		for n, b := range p.State.Bindings {
			b.Stride = d.bindings[n].Stride
			g.inputs[n] = b
		}
		s.Bindings = g.inputs
	}
	return nil
}

// checkBuffers looks whether there is a buffer for each attribute.
func (g *graphics) checkBuffers(rules *drawRules) error {
	s := &g.state
	for i := range s.Attributes {
		if n := s.Attributes[i].Binding; g.bound&(1<<n) == 0 {
			return invalid(rules.buffers, "attribute %d is read from binding %d, to which no buffer is bound",
				s.Attributes[i].Location, n)
		}
	}
	return nil
}

// buildBlends makes the blending of each attachment. If all of it is dynamic, there are as many as attachments.
func (g *graphics) buildBlends(p *Graphics, pass *draw.Pass) {
	s, d := &g.state, &g.dynamics
	if p.Dynamic&(dynamicBlends|dynamicWriteEnable) == 0 {
		return
	}
	n := min(len(s.Blends), MaxColors)
	copy(g.blends[:n], s.Blends)
	if p.Dynamic&dynamicBlends == dynamicBlends {
		n = min(len(pass.Colors), MaxColors)
	}
	for i := range g.blends[:n] {
		b, from := &g.blends[i], &d.blends[i]
		if p.Dynamic&dynamicBlendEnable != 0 {
			b.BlendEnable = from.BlendEnable
		}
		if p.Dynamic&dynamicBlendEquation != 0 {
			enable, mask := b.BlendEnable, b.ColorWriteMask
			*b = *from
			b.BlendEnable, b.ColorWriteMask = enable, mask
		}
		if p.Dynamic&dynamicWriteMask != 0 {
			b.ColorWriteMask = from.ColorWriteMask
		}
		if p.Dynamic&dynamicWriteEnable != 0 && d.unwanted&(1<<i) != 0 {
			b.ColorWriteMask = 0
		}
	}
	s.Blends = g.blends[:n]
}

// drawOne executes the draw that has been made, or has it wait with those before it.
func (r *replay) drawOne(first, count uint32, vertexOffset int32, instance, instances, index uint32) error {
	if count == 0 || instances == 0 {
		return nil
	}
	g := &r.graphics
	d := &g.draw
	d.First, d.Count, d.VertexOffset = first, count, vertexOffset
	d.Instance, d.Instances, d.DrawIndex = instance, instances, index
	g.progress.Begin(uint64(index), g.draws)
	if !g.drawing {
		g.drawing = true
		if d.Statistics = nil; len(g.queries) > 0 {
			g.statistics = draw.Statistics{}
			d.Statistics = &g.statistics
		}
	}
	g.last, g.lastOp = r.index, r.op
	if err := executeDraw(&g.series, d); err != nil {
		return r.drawError(err)
	}
	d.Changed = 0
	if !r.unseen() {
		return r.endDraws()
	}
	return nil
}
