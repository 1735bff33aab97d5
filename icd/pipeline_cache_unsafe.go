package icd

import (
	"unsafe"

	"farside/internal/vk"
)

func createPipelineCache(
	d *device, info *vk.PipelineCacheCreateInfo, _ *vk.AllocationCallbacks, out *vk.PipelineCache,
) vk.Result {
	if info.Flags&^vk.PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT != 0 {
		return d.fail("vkCreatePipelineCache", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineCacheCreateInfo_flags_parameter,
			"cache flags %v belong to features that the device does not have", info.Flags))
	}
	// The initial data has nothing to tell, whoever wrote it.
	c := &pipelineCache{child: child{device: d}, shaders: map[cacheKey]*shader{}}
	*out = vk.PipelineCache(d.add(c))
	return vk.SUCCESS
}

func getPipelineCacheData(_ *device, c *pipelineCache, size *uintptr, data unsafe.Pointer) vk.Result {
	header := c.data()
	if data == nil {
		*size = uintptr(len(header))
		return vk.SUCCESS
	}
	if *size < uintptr(len(header)) {
		*size = 0 // a part of a header is none
		return vk.INCOMPLETE
	}
	*size = uintptr(copy(vk.Slice((*byte)(data), uintptr(len(header))), header))
	return vk.SUCCESS
}
