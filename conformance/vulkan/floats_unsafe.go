package vulkan

import (
	"farside/internal/vk"

	"github.com/ebitengine/purego"
)

// SetFloats calls a command that takes a command buffer and up to three floats, which CallOn's registers don't have.
func (d *Device) SetFloats(name string, cb vk.CommandBuffer, v ...float32) {
	var set func(cb uintptr, a, b, c float32)
	purego.RegisterFunc(&set, d.procs.get(name))
	var three [3]float32
	copy(three[:], v)
	set(uintptr(cb), three[0], three[1], three[2])
}
