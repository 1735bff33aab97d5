package icd

import "farside/internal/vk"

// Graphics: no queue family has it. What needs it can be looked up, as all commands of the core can, and is refused
// whatever its arguments are.

// refuseGraphics answers a command that is recorded for queues with graphics alone.
func refuseGraphics(command string, h vk.CommandBuffer) {
	record(command, h, func(b *commandBuffer) error {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+command+"-commandBuffer-cmdpool",
			"queue family %d, for which the command buffer is recorded, has no graphics", b.pool.family)
	})
}

// refuseObjects answers a command that would make count objects for graphics.
func refuseObjects[T ~uint64](command, vuid string, h vk.Device, out *T, count uint32) vk.Result {
	var result vk.Result
	if d := devices.Get(uintptr(h)); d != nil {
		result = d.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, vuid, "no queue family of the device has graphics"))
	} else {
		result = staleHandle(command, vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	clear(vk.Slice(out, count)) // last, so that a wild pointer does not keep the error from being told
	return result
}

func createRenderPass(h vk.Device, _ *vk.RenderPassCreateInfo, _ *vk.AllocationCallbacks, out *vk.RenderPass) vk.Result {
	return refuseObjects("vkCreateRenderPass", "VUID-vkCreateRenderPass-device-10000", h, out, 1)
}

func createRenderPass2(h vk.Device, _ *vk.RenderPassCreateInfo2, _ *vk.AllocationCallbacks, out *vk.RenderPass) vk.Result {
	return refuseObjects("vkCreateRenderPass2", "VUID-vkCreateRenderPass2-device-10001", h, out, 1)
}

func createFramebuffer(h vk.Device, _ *vk.FramebufferCreateInfo, _ *vk.AllocationCallbacks, out *vk.Framebuffer) vk.Result {
	return refuseObjects("vkCreateFramebuffer", "VUID-vkCreateFramebuffer-device-10002", h, out, 1)
}

func createGraphicsPipelines(h vk.Device, _ vk.PipelineCache, count uint32, _ *vk.GraphicsPipelineCreateInfo, _ *vk.AllocationCallbacks, out *vk.Pipeline) vk.Result {
	return refuseObjects("vkCreateGraphicsPipelines", "VUID-vkCreateGraphicsPipelines-device-09662", h, out, count)
}

func destroyRenderPass(_ vk.Device, handle vk.RenderPass, _ *vk.AllocationCallbacks) {
	if handle != 0 {
		staleHandle("vkDestroyRenderPass", vk.OBJECT_TYPE_RENDER_PASS, uint64(handle))
	}
}

func destroyFramebuffer(_ vk.Device, handle vk.Framebuffer, _ *vk.AllocationCallbacks) {
	if handle != 0 {
		staleHandle("vkDestroyFramebuffer", vk.OBJECT_TYPE_FRAMEBUFFER, uint64(handle))
	}
}

func getRenderAreaGranularity(_ vk.Device, handle vk.RenderPass, out *vk.Extent2D) {
	staleHandle("vkGetRenderAreaGranularity", vk.OBJECT_TYPE_RENDER_PASS, uint64(handle))
	*out = vk.Extent2D{Width: 1, Height: 1}
}

// getRenderingAreaGranularity is VK_KHR_maintenance5's. No rule forbids the question to a device without graphics.
func getRenderingAreaGranularity(h vk.Device, _ *vk.RenderingAreaInfo, out *vk.Extent2D) {
	if devices.Get(uintptr(h)) == nil {
		staleHandle("vkGetRenderingAreaGranularity", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	*out = vk.Extent2D{Width: 1, Height: 1}
}
