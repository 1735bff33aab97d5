package icd

import (
	"slices"

	"farside/internal/profile"
	"farside/internal/vk"
)

// Graphics: the first queue family has it, unless FARSIDE_GRAPHICS is off. vkGetDeviceProcAddr gives its commands, as
// all commands of the core. Without a family that has it they are refused whatever their arguments are.

// graphics says whether a queue family of the device has graphics.
func (p *physicalDevice) graphics() bool {
	return slices.ContainsFunc(p.families, func(f profile.Family) bool { return f.Flags&vk.QUEUE_GRAPHICS_BIT != 0 })
}

// noGraphics answers a command that would make count objects for graphics.
func noGraphics[T ~uint64](d *device, command string, rule vk.VUID, out *T, count uint32) vk.Result {
	result := d.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, rule, "no queue family of the device has graphics"))
	clear(vk.Slice(out, count)) // last, so that a wild pointer does not keep the error from being told
	return result
}

// getRenderingAreaGranularity is VK_KHR_maintenance5's. No rule forbids the question to a device without graphics.
func getRenderingAreaGranularity(_ *device, _ *vk.RenderingAreaInfo, out *vk.Extent2D) {
	*out = vk.Extent2D{Width: 1, Height: 1}
}
