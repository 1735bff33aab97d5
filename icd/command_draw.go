package icd

import (
	"farside/internal/command"
	"farside/internal/vk"
)

// The commands that draw, and those that bind vertices and indices. Whether what is bound goes together is checked when
// a draw is executed.

// recordGraphics records a command of queues that have graphics.
func (b *commandBuffer) recordGraphics(command string, append func() error) {
	b.record(command, func() error {
		if !b.pool.graphics() {
			return vk.Errorf(vk.ERROR_UNKNOWN, graphicsRule(command),
				"queue family %d, for which the command buffer is recorded, has no graphics", b.pool.family)
		}
		return append()
	})
}

// graphics says whether the queue family of the pool has graphics.
func (p *commandPool) graphics() bool {
	return p.device.physical.families[p.family].Flags&vk.QUEUE_GRAPHICS_BIT != 0
}

func cmdBindVertexBuffers(b *commandBuffer, first, count uint32, buffers *vk.Buffer, offsets *vk.DeviceSize) {
	b.recordGraphics("vkCmdBindVertexBuffers", func() error {
		return b.bindVertexBuffers(&vertexRules, first, count, buffers, offsets, nil, nil)
	})
}

func cmdBindVertexBuffers2(
	b *commandBuffer, first, count uint32, buffers *vk.Buffer, offsets, sizes, strides *vk.DeviceSize,
) {
	b.recordGraphics("vkCmdBindVertexBuffers2", func() error {
		if count == 0 && sizes == nil && strides == nil {
			return nil
		}
		return b.bindVertexBuffers(&vertexRules2, first, count, buffers, offsets, sizes, strides)
	})
}

// bufferRules are the rules for the arrays with which vertex buffers are bound.
type bufferRules struct{ empty, buffers, offsets vk.VUID }

var (
	vertexRules = bufferRules{
		empty:   vk.VUID_vkCmdBindVertexBuffers_bindingCount_arraylength,
		buffers: vk.VUID_vkCmdBindVertexBuffers_pBuffers_parameter,
		offsets: vk.VUID_vkCmdBindVertexBuffers_pOffsets_parameter,
	}
	vertexRules2 = bufferRules{
		empty:   vk.VUID_vkCmdBindVertexBuffers2_bindingCount_arraylength,
		buffers: vk.VUID_vkCmdBindVertexBuffers2_pBuffers_parameter,
		offsets: vk.VUID_vkCmdBindVertexBuffers2_pOffsets_parameter,
	}
)

// bindVertexBuffers records vkCmdBindVertexBuffers2. Sizes and strides may be missing.
func (b *commandBuffer) bindVertexBuffers(rules *bufferRules, first, count uint32, buffers *vk.Buffer,
	offsets, sizes, strides *vk.DeviceSize) error {
	handles, err := elements(buffers, count, rules.empty, rules.buffers)
	if err != nil {
		return err
	}
	at, err := elements(offsets, count, rules.empty, rules.offsets)
	if err != nil {
		return err
	}
	var room [8]command.VertexBuffer
	list := room[:0]
	for i := range handles {
		v := command.VertexBuffer{Buffer: handles[i], Offset: at[i], Size: vk.WHOLE_SIZE}
		if sizes != nil {
			v.Size = vk.Slice(sizes, count)[i]
		}
		if strides != nil {
			v.Stride = vk.Slice(strides, count)[i]
		}
		list = append(list, v)
	}
	return b.stream.BindVertexBuffers2(first, strides != nil, list)
}

func cmdBindIndexBuffer(b *commandBuffer, buffer vk.Buffer, offset vk.DeviceSize, indices vk.IndexType) {
	b.recordGraphics("vkCmdBindIndexBuffer", func() error { return b.stream.BindIndexBuffer(buffer, offset, indices) })
}

func cmdBindIndexBuffer2(b *commandBuffer, buffer vk.Buffer, offset, size vk.DeviceSize, indices vk.IndexType) {
	b.recordGraphics("vkCmdBindIndexBuffer2", func() error {
		return b.stream.BindIndexBuffer2(buffer, offset, size, indices)
	})
}

func cmdDraw(b *commandBuffer, vertices, instances, first, firstInstance uint32) {
	b.recordGraphics("vkCmdDraw", func() error { return b.stream.Draw(vertices, instances, first, firstInstance) })
}

func cmdDrawIndexed(b *commandBuffer, indices, instances, first uint32, offset int32, firstInstance uint32) {
	b.recordGraphics("vkCmdDrawIndexed", func() error {
		return b.stream.DrawIndexed(indices, instances, first, offset, firstInstance)
	})
}

func cmdDrawIndirect(b *commandBuffer, buffer vk.Buffer, offset vk.DeviceSize, count, stride uint32) {
	b.recordGraphics("vkCmdDrawIndirect", func() error { return b.stream.DrawIndirect(buffer, offset, count, stride) })
}

func cmdDrawIndexedIndirect(b *commandBuffer, buffer vk.Buffer, offset vk.DeviceSize, count, stride uint32) {
	b.recordGraphics("vkCmdDrawIndexedIndirect", func() error {
		return b.stream.DrawIndexedIndirect(buffer, offset, count, stride)
	})
}

func cmdDrawIndirectCount(
	b *commandBuffer, buffer vk.Buffer, offset vk.DeviceSize, counter vk.Buffer, at vk.DeviceSize, most, stride uint32,
) {
	b.recordGraphics("vkCmdDrawIndirectCount", func() error {
		return b.stream.DrawIndirectCount(buffer, offset, counter, at, most, stride)
	})
}

func cmdDrawIndexedIndirectCount(
	b *commandBuffer, buffer vk.Buffer, offset vk.DeviceSize, counter vk.Buffer, at vk.DeviceSize, most, stride uint32,
) {
	b.recordGraphics("vkCmdDrawIndexedIndirectCount", func() error {
		return b.stream.DrawIndexedIndirectCount(buffer, offset, counter, at, most, stride)
	})
}
