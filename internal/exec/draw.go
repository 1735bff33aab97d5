package exec

import (
	"encoding/binary"

	"farside/internal/command"
	"farside/internal/vk"
)

// drawRules are the rules of a draw command about what is bound.
type drawRules struct {
	pass, pipeline, sets, buffers, index, samples vk.VUID

	outputs *outputRules

	viewport, scissor, viewportCount, scissorCount, counts, vertexInput, locations vk.VUID

	states  *stateRules // that dynamic states were set
	objects *objectRules
	values  *valueRules
}

// The rules of each draw command. Some are the same for the two commands that are one kind of record.
var (
	plainRules = drawRules{
		pass:          vk.VUID_vkCmdDraw_renderpass,
		outputs:       &plainOutputs,
		states:        &plainStates,
		objects:       &plainObjects,
		values:        &plainValues,
		pipeline:      vk.VUID_vkCmdDraw_None_08606,
		sets:          vk.VUID_vkCmdDraw_None_08600,
		buffers:       vk.VUID_vkCmdDraw_None_04007,
		samples:       vk.VUID_vkCmdDraw_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDraw_None_07831,
		scissor:       vk.VUID_vkCmdDraw_None_07832,
		viewportCount: vk.VUID_vkCmdDraw_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDraw_scissorCount_03418,
		counts:        vk.VUID_vkCmdDraw_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDraw_None_04914,
		locations:     vk.VUID_vkCmdDraw_None_09548,
	}
	indexedRules = drawRules{
		pass:          vk.VUID_vkCmdDrawIndexed_renderpass,
		outputs:       &indexedOutputs,
		states:        &indexedStates,
		objects:       &indexedObjects,
		values:        &indexedValues,
		pipeline:      vk.VUID_vkCmdDrawIndexed_None_08606,
		sets:          vk.VUID_vkCmdDrawIndexed_None_08600,
		buffers:       vk.VUID_vkCmdDrawIndexed_None_04007,
		index:         vk.VUID_vkCmdDrawIndexed_None_07312,
		samples:       vk.VUID_vkCmdDrawIndexed_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawIndexed_None_07831,
		scissor:       vk.VUID_vkCmdDrawIndexed_None_07832,
		viewportCount: vk.VUID_vkCmdDrawIndexed_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawIndexed_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawIndexed_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawIndexed_None_04914,
		locations:     vk.VUID_vkCmdDrawIndexed_None_09548,
	}
	indirectRulesOfDraws = drawRules{
		pass:          vk.VUID_vkCmdDrawIndirect_renderpass,
		outputs:       &indirectDrawsOutputs,
		states:        &indirectDrawsStates,
		objects:       &indirectDrawsObjects,
		values:        &indirectDrawsValues,
		pipeline:      vk.VUID_vkCmdDrawIndirect_None_08606,
		sets:          vk.VUID_vkCmdDrawIndirect_None_08600,
		buffers:       vk.VUID_vkCmdDrawIndirect_None_04007,
		samples:       vk.VUID_vkCmdDrawIndirect_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawIndirect_None_07831,
		scissor:       vk.VUID_vkCmdDrawIndirect_None_07832,
		viewportCount: vk.VUID_vkCmdDrawIndirect_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawIndirect_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawIndirect_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawIndirect_None_04914,
		locations:     vk.VUID_vkCmdDrawIndirect_None_09548,
	}
	indexedIndirectRules = drawRules{
		pass:          vk.VUID_vkCmdDrawIndexedIndirect_renderpass,
		outputs:       &indexedIndirectDrawsOutputs,
		states:        &indexedIndirectDrawsStates,
		objects:       &indexedIndirectDrawsObjects,
		values:        &indexedIndirectDrawsValues,
		pipeline:      vk.VUID_vkCmdDrawIndexedIndirect_None_08606,
		sets:          vk.VUID_vkCmdDrawIndexedIndirect_None_08600,
		buffers:       vk.VUID_vkCmdDrawIndexedIndirect_None_04007,
		index:         vk.VUID_vkCmdDrawIndexedIndirect_None_07312,
		samples:       vk.VUID_vkCmdDrawIndexedIndirect_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawIndexedIndirect_None_07831,
		scissor:       vk.VUID_vkCmdDrawIndexedIndirect_None_07832,
		viewportCount: vk.VUID_vkCmdDrawIndexedIndirect_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawIndexedIndirect_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawIndexedIndirect_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawIndexedIndirect_None_04914,
		locations:     vk.VUID_vkCmdDrawIndexedIndirect_None_09548,
	}
	countedRules = drawRules{
		pass:          vk.VUID_vkCmdDrawIndirectCount_renderpass,
		outputs:       &countedOutputs,
		states:        &countedStates,
		objects:       &countedObjects,
		values:        &countedValues,
		pipeline:      vk.VUID_vkCmdDrawIndirectCount_None_08606,
		sets:          vk.VUID_vkCmdDrawIndirectCount_None_08600,
		buffers:       vk.VUID_vkCmdDrawIndirectCount_None_04007,
		samples:       vk.VUID_vkCmdDrawIndirectCount_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawIndirectCount_None_07831,
		scissor:       vk.VUID_vkCmdDrawIndirectCount_None_07832,
		viewportCount: vk.VUID_vkCmdDrawIndirectCount_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawIndirectCount_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawIndirectCount_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawIndirectCount_None_04914,
		locations:     vk.VUID_vkCmdDrawIndirectCount_None_09548,
	}
	indexedCountedRules = drawRules{
		pass:          vk.VUID_vkCmdDrawIndexedIndirectCount_renderpass,
		outputs:       &indexedCountedOutputs,
		states:        &indexedCountedStates,
		objects:       &indexedCountedObjects,
		values:        &indexedCountedValues,
		pipeline:      vk.VUID_vkCmdDrawIndexedIndirectCount_None_08606,
		sets:          vk.VUID_vkCmdDrawIndexedIndirectCount_None_08600,
		buffers:       vk.VUID_vkCmdDrawIndexedIndirectCount_None_04007,
		index:         vk.VUID_vkCmdDrawIndexedIndirectCount_None_07312,
		samples:       vk.VUID_vkCmdDrawIndexedIndirectCount_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawIndexedIndirectCount_None_07831,
		scissor:       vk.VUID_vkCmdDrawIndexedIndirectCount_None_07832,
		viewportCount: vk.VUID_vkCmdDrawIndexedIndirectCount_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawIndexedIndirectCount_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawIndexedIndirectCount_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawIndexedIndirectCount_None_04914,
		locations:     vk.VUID_vkCmdDrawIndexedIndirectCount_None_09548,
	}
	multiRules = drawRules{
		pass:          vk.VUID_vkCmdDrawMultiEXT_renderpass,
		outputs:       &multiOutputs,
		states:        &multiStates,
		objects:       &multiObjects,
		values:        &multiValues,
		pipeline:      vk.VUID_vkCmdDrawMultiEXT_None_08606,
		sets:          vk.VUID_vkCmdDrawMultiEXT_None_08600,
		buffers:       vk.VUID_vkCmdDrawMultiEXT_None_04007,
		samples:       vk.VUID_vkCmdDrawMultiEXT_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawMultiEXT_None_07831,
		scissor:       vk.VUID_vkCmdDrawMultiEXT_None_07832,
		viewportCount: vk.VUID_vkCmdDrawMultiEXT_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawMultiEXT_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawMultiEXT_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawMultiEXT_None_04914,
		locations:     vk.VUID_vkCmdDrawMultiEXT_None_09548,
	}
	indexedMultiRules = drawRules{
		pass:          vk.VUID_vkCmdDrawMultiIndexedEXT_renderpass,
		outputs:       &indexedMultiOutputs,
		states:        &indexedMultiStates,
		objects:       &indexedMultiObjects,
		values:        &indexedMultiValues,
		pipeline:      vk.VUID_vkCmdDrawMultiIndexedEXT_None_08606,
		sets:          vk.VUID_vkCmdDrawMultiIndexedEXT_None_08600,
		buffers:       vk.VUID_vkCmdDrawMultiIndexedEXT_None_04007,
		index:         vk.VUID_vkCmdDrawMultiIndexedEXT_None_07312,
		samples:       vk.VUID_vkCmdDrawMultiIndexedEXT_multisampledRenderToSingleSampled_07285,
		viewport:      vk.VUID_vkCmdDrawMultiIndexedEXT_None_07831,
		scissor:       vk.VUID_vkCmdDrawMultiIndexedEXT_None_07832,
		viewportCount: vk.VUID_vkCmdDrawMultiIndexedEXT_viewportCount_03417,
		scissorCount:  vk.VUID_vkCmdDrawMultiIndexedEXT_scissorCount_03418,
		counts:        vk.VUID_vkCmdDrawMultiIndexedEXT_viewportCount_03419,
		vertexInput:   vk.VUID_vkCmdDrawMultiIndexedEXT_None_04914,
		locations:     vk.VUID_vkCmdDrawMultiIndexedEXT_None_09548,
	}
)

// drawCommand executes a record of draws.
func (r *replay) drawCommand(record *command.Record) error {
	switch record.Op {
	case command.OpDraw:
		if c := new(command.Draw); record.Draw(c) {
			if err := r.prepare(&plainRules, false, 1); err != nil {
				return err
			}
			return r.drawOne(c.FirstVertex, c.VertexCount, 0, c.FirstInstance, c.InstanceCount, 0)
		}
	case command.OpDrawIndexed:
		if c := new(command.DrawIndexed); record.DrawIndexed(c) {
			if err := r.prepare(&indexedRules, true, 1); err != nil {
				return err
			}
			return r.drawOne(c.FirstIndex, c.IndexCount, c.VertexOffset, c.FirstInstance, c.InstanceCount, 0)
		}
	case command.OpDrawIndirect:
		if c := new(command.DrawIndirect); record.DrawIndirect(c) {
			return r.drawIndirect(c.Buffer, c.Offset, uint64(c.DrawCount), c.Stride, &plainIndirect)
		}
	case command.OpDrawIndexedIndirect:
		if c := new(command.DrawIndexedIndirect); record.DrawIndexedIndirect(c) {
			return r.drawIndirect(c.Buffer, c.Offset, uint64(c.DrawCount), c.Stride, &indexedIndirect)
		}
	case command.OpDrawIndirectCount:
		if c := new(command.DrawIndirectCount); record.DrawIndirectCount(c) {
			return r.drawCounted(c.Buffer, c.Offset, c.CountBuffer, c.CountBufferOffset, c.MaxDrawCount, c.Stride,
				&plainCounted)
		}
	case command.OpDrawIndexedIndirectCount:
		if c := new(command.DrawIndexedIndirectCount); record.DrawIndexedIndirectCount(c) {
			return r.drawCounted(c.Buffer, c.Offset, c.CountBuffer, c.CountBufferOffset, c.MaxDrawCount, c.Stride,
				&indexedCounted)
		}
	case command.OpDrawMulti:
		if c := new(command.DrawMulti); record.DrawMulti(c) {
			return r.drawMulti(c)
		}
	}
	return r.malformed()
}

func (r *replay) drawMulti(c *command.DrawMulti) error {
	rules := &multiRules
	if c.Indexed {
		rules = &indexedMultiRules
	}
	if err := r.prepare(rules, c.Indexed, uint64(len(c.Draws))); err != nil {
		return err
	}
	for i := range c.Draws {
		d := &c.Draws[i]
		if err := r.drawOne(d.First, d.Count, d.VertexOffset, c.FirstInstance, c.InstanceCount, uint32(i)); err != nil {
			return err
		}
	}
	return nil
}

// indirectRules are the rules of a command whose draws lie in a buffer.
type indirectRules struct {
	*drawRules
	indexed                             bool
	exists, used, offset, stride        vk.VUID
	one, many                           vk.VUID // the draws are within the buffer
	counter, counterUsed, counterOffset vk.VUID // of those whose count lies in a buffer, too
	counterRoom                         vk.VUID
}

var (
	plainIndirect = indirectRules{
		drawRules: &indirectRulesOfDraws, exists: vk.VUID_vkCmdDrawIndirect_buffer_parameter,
		used: vk.VUID_vkCmdDrawIndirect_buffer_02709, offset: vk.VUID_vkCmdDrawIndirect_offset_02710,
		stride: vk.VUID_vkCmdDrawIndirect_drawCount_00476, one: vk.VUID_vkCmdDrawIndirect_drawCount_00487,
		many: vk.VUID_vkCmdDrawIndirect_drawCount_00488,
	}
	indexedIndirect = indirectRules{
		drawRules: &indexedIndirectRules, indexed: true, exists: vk.VUID_vkCmdDrawIndexedIndirect_buffer_parameter,
		used: vk.VUID_vkCmdDrawIndexedIndirect_buffer_02709, offset: vk.VUID_vkCmdDrawIndexedIndirect_offset_02710,
		stride: vk.VUID_vkCmdDrawIndexedIndirect_drawCount_00528, one: vk.VUID_vkCmdDrawIndexedIndirect_drawCount_00539,
		many: vk.VUID_vkCmdDrawIndexedIndirect_drawCount_00540,
	}
	plainCounted = indirectRules{
		drawRules: &countedRules, exists: vk.VUID_vkCmdDrawIndirectCount_buffer_parameter,
		used: vk.VUID_vkCmdDrawIndirectCount_buffer_02709, offset: vk.VUID_vkCmdDrawIndirectCount_offset_02710,
		stride: vk.VUID_vkCmdDrawIndirectCount_stride_03110, one: vk.VUID_vkCmdDrawIndirectCount_maxDrawCount_03111,
		many: vk.VUID_vkCmdDrawIndirectCount_maxDrawCount_03111,

		counter:       vk.VUID_vkCmdDrawIndirectCount_countBuffer_parameter,
		counterUsed:   vk.VUID_vkCmdDrawIndirectCount_countBuffer_02715,
		counterOffset: vk.VUID_vkCmdDrawIndirectCount_countBufferOffset_02716,
		counterRoom:   vk.VUID_vkCmdDrawIndirectCount_countBufferOffset_04129,
	}
	indexedCounted = indirectRules{
		drawRules: &indexedCountedRules, indexed: true, exists: vk.VUID_vkCmdDrawIndexedIndirectCount_buffer_parameter,
		used: vk.VUID_vkCmdDrawIndexedIndirectCount_buffer_02709, offset: vk.VUID_vkCmdDrawIndexedIndirectCount_offset_02710,
		stride: vk.VUID_vkCmdDrawIndexedIndirectCount_stride_03142,
		one:    vk.VUID_vkCmdDrawIndexedIndirectCount_maxDrawCount_03143,
		many:   vk.VUID_vkCmdDrawIndexedIndirectCount_maxDrawCount_03143,

		counter:       vk.VUID_vkCmdDrawIndexedIndirectCount_countBuffer_parameter,
		counterUsed:   vk.VUID_vkCmdDrawIndexedIndirectCount_countBuffer_02715,
		counterOffset: vk.VUID_vkCmdDrawIndexedIndirectCount_countBufferOffset_02716,
		counterRoom:   vk.VUID_vkCmdDrawIndexedIndirectCount_countBufferOffset_04129,
	}
)

// drawIndirect executes count draws of a buffer.
func (r *replay) drawIndirect(h vk.Buffer, offset, count uint64, stride uint32, rules *indirectRules) error {
	b, err := r.bytes(h, rules.exists, vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT, rules.used)
	if err != nil {
		return err
	}
	size := uint64(16) // VkDrawIndirectCommand: four words
	if rules.indexed {
		size = 20
	}
	length, room := uint64(len(b)), rules.one
	if count > 1 {
		room = rules.many
	}
	switch {
	case offset%4 != 0:
		return invalid(rules.offset, "offset %d is no multiple of 4", offset)
	case count > 1 && (stride%4 != 0 || uint64(stride) < size):
		return invalid(rules.stride, "stride %d is no multiple of 4, or less than %d bytes", stride, size)
	case count > 0 && (length < size || offset > length-size || (count-1)*uint64(stride) > length-size-offset):
		return invalid(room, "%d draws of %d bytes, %d bytes apart from offset %d on, reach beyond the buffer of %d bytes",
			count, size, stride, offset, length)
	}
	if err := r.prepare(rules.drawRules, rules.indexed, count); err != nil || count == 0 {
		return err
	}
	r.accessed(h, offset, (count-1)*uint64(stride)+size, true, false)
	for i := range count {
		if r.device.stopped() {
			return nil // which whoever waits is told of
		}
		at := b[offset+i*uint64(stride):][:size]
		word := func(n int) uint32 { return binary.LittleEndian.Uint32(at[4*n:]) }
		if rules.indexed {
			err = r.drawOne(word(2), word(0), int32(word(3)), word(4), word(1), uint32(i))
		} else {
			err = r.drawOne(word(2), word(0), 0, word(3), word(1), uint32(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drawCounted executes draws of a buffer, as many as a word of another one says, and most at most.
func (r *replay) drawCounted(h vk.Buffer, offset uint64, counter vk.Buffer, at uint64, most, stride uint32,
	rules *indirectRules) error {
	b, err := r.bytes(counter, rules.counter, vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT, rules.counterUsed)
	if err != nil {
		return err
	}
	switch length := uint64(len(b)); {
	case at%4 != 0:
		return invalid(rules.counterOffset, "countBufferOffset %d is no multiple of 4", at)
	case length < 4 || at > length-4:
		return invalid(rules.counterRoom, "4 bytes from countBufferOffset %d reach beyond the buffer of %d bytes", at, length)
	}
	r.accessed(counter, at, 4, true, false)
	count := min(binary.LittleEndian.Uint32(b[at:]), most)
	if stride%4 != 0 {
		return invalid(rules.stride, "stride %d is no multiple of 4", stride)
	}
	return r.drawIndirect(h, offset, uint64(count), stride, rules)
}

// forGraphics says whether a record is one of those that queues with graphics alone execute.
func forGraphics(op command.Op) bool {
	switch op {
	case command.OpSetState, command.OpSetLocations, command.OpSetInputs, command.OpBindVertexBuffers2,
		command.OpDrawMulti:
		return true
	}
	return op >= command.OpBindIndexBuffer && op <= command.OpEndQuery
}

// graphicsCommand executes a record of draws, of what they need, or of their queries.
func (r *replay) graphicsCommand(record *command.Record) error {
	switch record.Op {
	case command.OpSetState:
		if c := new(command.SetState); record.SetState(c) {
			return r.setState(c)
		}
	case command.OpSetLocations:
		if c := new(command.SetLocations); record.SetLocations(c) {
			return r.setLocations(c.Locations)
		}
	case command.OpSetInputs:
		if c := new(command.SetInputs); record.SetInputs(c) {
			r.setInputs(c.Inputs)
			return nil
		}
	case command.OpBindVertexBuffers2:
		if c := new(command.BindVertexBuffers2); record.BindVertexBuffers2(c) {
			return r.bindVertexBuffers(c)
		}
	case command.OpBindIndexBuffer:
		if c := new(command.BindIndexBuffer); record.BindIndexBuffer(c) {
			return r.bindIndexBuffer(c.Buffer, c.Offset, vk.WHOLE_SIZE, c.IndexType)
		}
	case command.OpBindIndexBuffer2:
		if c := new(command.BindIndexBuffer2); record.BindIndexBuffer2(c) {
			return r.bindIndexBuffer(c.Buffer, c.Offset, c.Size, c.IndexType)
		}
	case command.OpSetViewport:
		if c := new(command.SetViewport); record.SetViewport(c) {
			return r.setViewports(c.FirstViewport, c.Viewports, false)
		}
	case command.OpSetScissor:
		if c := new(command.SetScissor); record.SetScissor(c) {
			return r.setScissors(c.FirstScissor, c.Scissors, false)
		}
	case command.OpSetViewportWithCount:
		if c := new(command.SetViewportWithCount); record.SetViewportWithCount(c) {
			return r.setViewports(0, c.Viewports, true)
		}
	case command.OpSetScissorWithCount:
		if c := new(command.SetScissorWithCount); record.SetScissorWithCount(c) {
			return r.setScissors(0, c.Scissors, true)
		}
	case command.OpBeginQuery:
		if c := new(command.BeginQuery); record.BeginQuery(c) {
			return r.beginQuery(c)
		}
	case command.OpEndQuery:
		if c := new(command.EndQuery); record.EndQuery(c) {
			return r.endQuery(c)
		}
	default:
		return r.drawCommand(record)
	}
	return r.malformed()
}
