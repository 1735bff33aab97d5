package icd

import (
	"farside/internal/config"
	"farside/internal/vk"
)

// Barriers record nothing: a queue executes one command after the other, each with all of memory visible to it
// and all of its writes visible to the next. That includes the transfer of ownership between queue families,
// VK_QUEUE_FAMILY_EXTERNAL and VK_QUEUE_FAMILY_FOREIGN_EXT among them, and image layouts, which are all alike.

func cmdPipelineBarrier(
	b *commandBuffer, _, _ vk.PipelineStageFlags, _ vk.DependencyFlags, _ uint32, _ *vk.MemoryBarrier, _ uint32,
	_ *vk.BufferMemoryBarrier, _ uint32, _ *vk.ImageMemoryBarrier,
) {
	b.barrier("vkCmdPipelineBarrier")
}

func cmdPipelineBarrier2(b *commandBuffer, _ *vk.DependencyInfo) {
	b.barrier("vkCmdPipelineBarrier2")
}

// barrier records a barrier where strictness looks for what nothing orders.
func (b *commandBuffer) barrier(name string) {
	if !b.pool.device.strict(config.StrictAsync) {
		b.recording(name)
		return
	}
	b.record(name, b.stream.Barrier)
}

func cmdSetEvent(b *commandBuffer, event vk.Event, stages vk.PipelineStageFlags) {
	b.record("vkCmdSetEvent", func() error { return b.stream.SetEvent(event, stages) })
}

func cmdSetEvent2(b *commandBuffer, event vk.Event, _ *vk.DependencyInfo) {
	b.record("vkCmdSetEvent2", func() error {
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
	_ *vk.MemoryBarrier, _ uint32, _ *vk.BufferMemoryBarrier, _ uint32, _ *vk.ImageMemoryBarrier,
) {
	b.record("vkCmdWaitEvents", func() error {
		list, err := elements(events, count, vk.VUID_vkCmdWaitEvents_eventCount_arraylength,
			vk.VUID_vkCmdWaitEvents_pEvents_parameter)
		if err != nil {
			return err
		}
		return b.stream.WaitEvents(list, src, dst)
	})
}

func cmdWaitEvents2(b *commandBuffer, count uint32, events *vk.Event, _ *vk.DependencyInfo) {
	b.record("vkCmdWaitEvents2", func() error {
		list, err := elements(events, count, vk.VUID_vkCmdWaitEvents2_eventCount_arraylength,
			vk.VUID_vkCmdWaitEvents2_pEvents_parameter)
		if err != nil {
			return err
		}
		return b.stream.WaitEvents(list, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	})
}

// cmdSetDeviceMask records nothing: a device group has one device.
func cmdSetDeviceMask(b *commandBuffer, mask uint32) {
	b.record("vkCmdSetDeviceMask", func() error {
		if mask != 1 {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetDeviceMask_deviceMask_00108,
				"device mask %#x of a group of one device", mask)
		}
		return nil
	})
}

func cmdResetQueryPool(b *commandBuffer, pool vk.QueryPool, first, count uint32) {
	b.record("vkCmdResetQueryPool", func() error { return b.stream.ResetQueryPool(pool, first, count) })
}

// cmdBeginQuery and cmdEndQuery refuse what they are given: the only queries of this device are timestamps.
func cmdBeginQuery(b *commandBuffer, _ vk.QueryPool, query uint32, _ vk.QueryControlFlags) {
	b.record("vkCmdBeginQuery", func() error {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBeginQuery_queryType_02804,
			"query %d is a timestamp, which has no begin", query)
	})
}

func cmdEndQuery(b *commandBuffer, _ vk.QueryPool, query uint32) {
	b.record("vkCmdEndQuery", func() error {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdEndQuery_None_01923, "query %d is not active", query)
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
