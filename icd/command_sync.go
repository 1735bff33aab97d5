package icd

import (
	"farside/internal/command"
	"farside/internal/config"
	"farside/internal/vk"
)

// Barriers record nothing, but for strictness: a queue executes one command after the other, each with all of memory
// visible to it and all of its writes visible to the next. That includes the transfer of ownership between queue
// families, VK_QUEUE_FAMILY_EXTERNAL and VK_QUEUE_FAMILY_FOREIGN_EXT among them, and image layouts, which are all
// alike.

func cmdPipelineBarrier(
	b *commandBuffer, _, _ vk.PipelineStageFlags, _ vk.DependencyFlags, _ uint32, _ *vk.MemoryBarrier, bufferCount uint32,
	buffers *vk.BufferMemoryBarrier, imageCount uint32, images *vk.ImageMemoryBarrier,
) {
	layouts := b.owner().checkBarriers(imageCount, images)
	b.barrier("vkCmdPipelineBarrier", layouts, func(list transfers) transfers {
		for i := range vk.Slice(buffers, bufferCount) {
			m := &vk.Slice(buffers, bufferCount)[i]
			list.add(command.Transfer{Type: vk.OBJECT_TYPE_BUFFER, Src: m.SrcQueueFamilyIndex, Dst: m.DstQueueFamilyIndex,
				Handle: uint64(m.Buffer), Offset: uint64(m.Offset), Size: uint64(m.Size)})
		}
		for i := range vk.Slice(images, imageCount) {
			m := &vk.Slice(images, imageCount)[i]
			list.add(command.Transfer{Type: vk.OBJECT_TYPE_IMAGE, Src: m.SrcQueueFamilyIndex, Dst: m.DstQueueFamilyIndex,
				Old: m.OldLayout, New: m.NewLayout, Range: m.SubresourceRange, Handle: uint64(m.Image), Size: vk.WHOLE_SIZE})
		}
		return list
	})
}

func cmdPipelineBarrier2(b *commandBuffer, info *vk.DependencyInfo) {
	b.barrier("vkCmdPipelineBarrier2", b.owner().checkDependency(info), func(list transfers) transfers {
		if info == nil {
			return nil
		}
		for i := range vk.Slice(info.PBufferMemoryBarriers, info.BufferMemoryBarrierCount) {
			m := &vk.Slice(info.PBufferMemoryBarriers, info.BufferMemoryBarrierCount)[i]
			list.add(command.Transfer{Type: vk.OBJECT_TYPE_BUFFER, Src: m.SrcQueueFamilyIndex, Dst: m.DstQueueFamilyIndex,
				Handle: uint64(m.Buffer), Offset: uint64(m.Offset), Size: uint64(m.Size)})
		}
		for i := range vk.Slice(info.PImageMemoryBarriers, info.ImageMemoryBarrierCount) {
			m := &vk.Slice(info.PImageMemoryBarriers, info.ImageMemoryBarrierCount)[i]
			list.add(command.Transfer{Type: vk.OBJECT_TYPE_IMAGE, Src: m.SrcQueueFamilyIndex, Dst: m.DstQueueFamilyIndex,
				Old: m.OldLayout, New: m.NewLayout, Range: m.SubresourceRange, Handle: uint64(m.Image), Size: vk.WHOLE_SIZE})
		}
		return list
	})
}

// transfers are those of a barrier that is being recorded.
type transfers []command.Transfer

// add appends t if it goes to, or comes from, what is outside of the instance.
func (list *transfers) add(t command.Transfer) {
	if command.Outside(t.Src) != command.Outside(t.Dst) {
		*list = append(*list, t)
	}
}

// barrier records a barrier, with what it transfers, where strictness looks for what nothing orders. It fails if its
// layouts do.
func (b *commandBuffer) barrier(name string, layouts error, transferred func(list transfers) transfers) {
	if layouts == nil && !b.pool.device.strict(config.StrictAsync) {
		b.recording(name)
		return
	}
	b.record(name, func() error {
		if layouts != nil {
			return layouts
		}
		return b.stream.Barrier(transferred(nil)...)
	})
}

func cmdSetEvent(b *commandBuffer, event vk.Event, stages vk.PipelineStageFlags) {
	b.record("vkCmdSetEvent", func() error { return b.stream.SetEvent(event, stages) })
}

func cmdSetEvent2(b *commandBuffer, event vk.Event, info *vk.DependencyInfo) {
	b.record("vkCmdSetEvent2", func() error {
		if err := b.owner().checkDependency(info); err != nil {
			return err
		}
		return b.stream.SetEvent(event, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

func cmdResetEvent(b *commandBuffer, event vk.Event, stages vk.PipelineStageFlags) {
	b.record("vkCmdResetEvent", func() error { return b.stream.ResetEvent(event, stages) })
}

func cmdResetEvent2(b *commandBuffer, event vk.Event, _ vk.PipelineStageFlags2) {
	b.record("vkCmdResetEvent2", func() error {
		return b.stream.ResetEvent(event, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

func cmdWaitEvents(
	b *commandBuffer, count uint32, events *vk.Event, src, dst vk.PipelineStageFlags, _ uint32,
	_ *vk.MemoryBarrier, _ uint32, _ *vk.BufferMemoryBarrier, imageCount uint32, images *vk.ImageMemoryBarrier,
) {
	b.record("vkCmdWaitEvents", func() error {
		if err := b.owner().checkBarriers(imageCount, images); err != nil {
			return err
		}
		list, err := elements(events, count, vk.VUID_vkCmdWaitEvents_eventCount_arraylength,
			vk.VUID_vkCmdWaitEvents_pEvents_parameter)
		if err != nil {
			return err
		}
		return b.stream.WaitEvents(list, src, dst)
	})
}

func cmdWaitEvents2(b *commandBuffer, count uint32, events *vk.Event, infos *vk.DependencyInfo) {
	b.record("vkCmdWaitEvents2", func() error {
		list, err := elements(events, count, vk.VUID_vkCmdWaitEvents2_eventCount_arraylength,
			vk.VUID_vkCmdWaitEvents2_pEvents_parameter)
		if err != nil {
			return err
		}
		for i := range vk.Slice(infos, count) {
			if err := b.owner().checkDependency(&vk.Slice(infos, count)[i]); err != nil {
				return err
			}
		}
		return b.stream.WaitEvents(list, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

func cmdSetDeviceMask(b *commandBuffer, mask uint32) {
	b.record("vkCmdSetDeviceMask", func() error { return b.setMask(mask) })
}

func cmdResetQueryPool(b *commandBuffer, pool vk.QueryPool, first, count uint32) {
	b.record("vkCmdResetQueryPool", func() error { return b.stream.ResetQueryPool(pool, first, count) })
}

// cmdBeginQuery and cmdEndQuery refuse what they are given: the only queries of this device are timestamps.
func cmdBeginQuery(b *commandBuffer, pool vk.QueryPool, query uint32, flags vk.QueryControlFlags) {
	b.record("vkCmdBeginQuery", func() error {
		if !b.pool.graphics() {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBeginQuery_queryType_02804,
				"query %d is a timestamp, which has no begin", query)
		}
		return b.stream.BeginQuery(pool, query, flags)
	})
}

func cmdEndQuery(b *commandBuffer, pool vk.QueryPool, query uint32) {
	b.record("vkCmdEndQuery", func() error {
		if !b.pool.graphics() {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdEndQuery_None_01923, "query %d is not active", query)
		}
		return b.stream.EndQuery(pool, query)
	})
}

func cmdWriteTimestamp(b *commandBuffer, stage vk.PipelineStageFlagBits, pool vk.QueryPool, query uint32) {
	b.record("vkCmdWriteTimestamp", func() error { return b.stream.WriteTimestamp(stage, pool, query) })
}

func cmdWriteTimestamp2(b *commandBuffer, stage vk.PipelineStageFlags2, pool vk.QueryPool, query uint32) {
	b.record("vkCmdWriteTimestamp2", func() error { return b.stream.WriteTimestamp2(stage, pool, query) })
}

func cmdCopyQueryPoolResults(
	b *commandBuffer, pool vk.QueryPool, first, count uint32, dst vk.Buffer, offset, stride vk.DeviceSize,
	flags vk.QueryResultFlags,
) {
	b.record("vkCmdCopyQueryPoolResults", func() error {
		return b.stream.CopyQueryPoolResults(pool, first, count, dst, offset, stride, flags)
	})
}
