package icd

import (
	"unsafe"

	"farside/internal/vk"
)

func createPipelineCache(h vk.Device, info *vk.PipelineCacheCreateInfo, _ *vk.AllocationCallbacks, out *vk.PipelineCache) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreatePipelineCache", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	if info.Flags&^vk.PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT != 0 {
		return d.fail("vkCreatePipelineCache", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPipelineCacheCreateInfo-flags-parameter",
			"cache flags %v belong to features that the device does not have", info.Flags))
	}
	// The initial data has nothing to tell, whoever wrote it.
	c := &pipelineCache{device: d, shaders: map[cacheKey]*shader{}}
	*out = vk.PipelineCache(pipelineCaches.Insert(c))
	d.created(vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(*out))
	return vk.SUCCESS
}

func getPipelineCacheData(h vk.Device, handle vk.PipelineCache, size *uintptr, data unsafe.Pointer) vk.Result {
	c := pipelineCaches.Get(uint64(handle))
	if c == nil {
		*size = 0
		return staleHandle("vkGetPipelineCacheData", vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(handle))
	}
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
