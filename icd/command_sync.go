package icd

import "farside/internal/vk"

// Barriers record nothing: a queue executes one command after the other, each with all of memory visible to it
// and all of its writes visible to the next. That includes the transfer of ownership between queue families,
// VK_QUEUE_FAMILY_EXTERNAL and VK_QUEUE_FAMILY_FOREIGN_EXT among them, and image layouts, which are all alike.

func cmdPipelineBarrier(h vk.CommandBuffer, _, _ vk.PipelineStageFlags, _ vk.DependencyFlags,
	_ uint32, _ *vk.MemoryBarrier, _ uint32, _ *vk.BufferMemoryBarrier, _ uint32, _ *vk.ImageMemoryBarrier) {
	recording("vkCmdPipelineBarrier", h)
}

func cmdPipelineBarrier2(h vk.CommandBuffer, _ *vk.DependencyInfo) {
	recording("vkCmdPipelineBarrier2", h)
}

func cmdSetEvent(h vk.CommandBuffer, event vk.Event, stages vk.PipelineStageFlags) {
	record("vkCmdSetEvent", h, func(b *commandBuffer) error { return b.stream.SetEvent(event, stages) })
}

func cmdSetEvent2(h vk.CommandBuffer, event vk.Event, _ *vk.DependencyInfo) {
	record("vkCmdSetEvent2", h, func(b *commandBuffer) error {
		return b.stream.SetEvent(event, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

func cmdResetEvent(h vk.CommandBuffer, event vk.Event, stages vk.PipelineStageFlags) {
	record("vkCmdResetEvent", h, func(b *commandBuffer) error { return b.stream.ResetEvent(event, stages) })
}

func cmdResetEvent2(h vk.CommandBuffer, event vk.Event, _ vk.PipelineStageFlags2) {
	record("vkCmdResetEvent2", h, func(b *commandBuffer) error {
		return b.stream.ResetEvent(event, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

func cmdWaitEvents(h vk.CommandBuffer, count uint32, events *vk.Event, src, dst vk.PipelineStageFlags,
	_ uint32, _ *vk.MemoryBarrier, _ uint32, _ *vk.BufferMemoryBarrier, _ uint32, _ *vk.ImageMemoryBarrier) {
	record("vkCmdWaitEvents", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdWaitEvents", "event", events, count)
		if err != nil {
			return err
		}
		return b.stream.WaitEvents(list, src, dst)
	})
}

func cmdWaitEvents2(h vk.CommandBuffer, count uint32, events *vk.Event, _ *vk.DependencyInfo) {
	record("vkCmdWaitEvents2", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdWaitEvents2", "event", events, count)
		if err != nil {
			return err
		}
		return b.stream.WaitEvents(list, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

// cmdSetDeviceMask records nothing: a device group has one device.
func cmdSetDeviceMask(h vk.CommandBuffer, mask uint32) {
	record("vkCmdSetDeviceMask", h, func(*commandBuffer) error {
		if mask != 1 {
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdSetDeviceMask-deviceMask-00108", "device mask %#x of a group of one device", mask)
		}
		return nil
	})
}

func cmdResetQueryPool(h vk.CommandBuffer, pool vk.QueryPool, first, count uint32) {
	record("vkCmdResetQueryPool", h, func(b *commandBuffer) error { return b.stream.ResetQueryPool(pool, first, count) })
}

// cmdBeginQuery and cmdEndQuery refuse what they are given: the only queries of this device are timestamps.
func cmdBeginQuery(h vk.CommandBuffer, _ vk.QueryPool, query uint32, _ vk.QueryControlFlags) {
	record("vkCmdBeginQuery", h, func(*commandBuffer) error {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdBeginQuery-queryType-02804", "query %d is a timestamp, which has no begin", query)
	})
}

func cmdEndQuery(h vk.CommandBuffer, _ vk.QueryPool, query uint32) {
	record("vkCmdEndQuery", h, func(*commandBuffer) error {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdEndQuery-None-01923", "query %d is not active", query)
	})
}

func cmdWriteTimestamp(h vk.CommandBuffer, stage vk.PipelineStageFlagBits, pool vk.QueryPool, query uint32) {
	record("vkCmdWriteTimestamp", h, func(b *commandBuffer) error { return b.stream.WriteTimestamp(stage, pool, query) })
}

func cmdWriteTimestamp2(h vk.CommandBuffer, stage vk.PipelineStageFlags2, pool vk.QueryPool, query uint32) {
	record("vkCmdWriteTimestamp2", h, func(b *commandBuffer) error { return b.stream.WriteTimestamp2(stage, pool, query) })
}

func cmdCopyQueryPoolResults(h vk.CommandBuffer, pool vk.QueryPool, first, count uint32, dst vk.Buffer, offset, stride vk.DeviceSize, flags vk.QueryResultFlags) {
	record("vkCmdCopyQueryPoolResults", h, func(b *commandBuffer) error {
		return b.stream.CopyQueryPoolResults(pool, first, count, dst, offset, stride, flags)
	})
}
