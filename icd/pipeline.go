package icd

import (
	"farside/internal/exec"
	"farside/internal/vk"
)

// pipeline is a VkPipeline; all are compute pipelines.
type pipeline struct {
	device *device
	exec   exec.Pipeline
}

func destroyPipeline(h vk.Device, handle vk.Pipeline, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	p := pipelines.Remove(uint64(handle))
	if p == nil {
		staleHandle("vkDestroyPipeline", vk.OBJECT_TYPE_PIPELINE, uint64(handle))
		return
	}
	p.device.destroyed(vk.OBJECT_TYPE_PIPELINE, uint64(handle))
}
