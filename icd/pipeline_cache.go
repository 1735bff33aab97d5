package icd

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"sync"
	"weak"

	"farside/internal/vk"
)

// A pipeline cache keeps programs for as long as it lives, so that an equal pipeline needs no compiler. What it gives
// to the application to save is a header and nothing else: a program from a file that anybody may have written would
// have to be verified as strictly as SPIR-V is, which takes as long as to make it anew.

// cacheKey is the hash of everything that decides what a program is.
type cacheKey [sha256.Size]byte

// pipelineCache is a VkPipelineCache.
type pipelineCache struct {
	child

	mu      sync.Mutex
	shaders map[cacheKey]*shader
}

// cacheHeader is VkPipelineCacheHeaderVersionOne.
func (p *physicalDevice) cacheHeader() []byte {
	const size = 16 + vk.UUID_SIZE
	data := binary.LittleEndian.AppendUint32(nil, size)
	data = binary.LittleEndian.AppendUint32(data, uint32(vk.PIPELINE_CACHE_HEADER_VERSION_ONE))
	data = binary.LittleEndian.AppendUint32(data, p.vendorID)
	data = binary.LittleEndian.AppendUint32(data, p.deviceID)
	uuid := p.pipelineCacheUUID()
	return append(data, uuid[:]...)
}

// data is what an application may save.
func (c *pipelineCache) data() []byte { return c.device.physical.cacheHeader() }

// get returns the shader with a key, or nil.
func (c *pipelineCache) get(k cacheKey) *shader {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shaders[k]
}

// put adds a shader.
func (c *pipelineCache) put(k cacheKey, s *shader) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shaders[k] = s
}

// merge adds what src has.
func (c *pipelineCache) merge(src *pipelineCache) {
	src.mu.Lock()
	shaders := maps.Clone(src.shaders)
	src.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.shaders, shaders)
}

func mergePipelineCaches(_ *device, c *pipelineCache, count uint32, sources *vk.PipelineCache) vk.Result {
	list, err := elements(sources, count, vk.VUID_vkMergePipelineCaches_srcCacheCount_arraylength,
		vk.VUID_vkMergePipelineCaches_pSrcCaches_parameter)
	if err != nil {
		return c.fail("vkMergePipelineCaches", err)
	}
	for _, s := range list {
		src := live(pipelineCaches, s)
		if src == c {
			return c.fail("vkMergePipelineCaches", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkMergePipelineCaches_dstCache_00770,
				"a cache is merged into itself"))
		}
		c.merge(src)
	}
	return vk.SUCCESS
}

// shaders are those that pipelines or caches of a device hold, so that equal pipelines share one. It keeps none alive.
type shaders struct {
	mu   sync.Mutex
	live map[cacheKey]weak.Pointer[shader]
	most int // entries from which on those of shaders that are gone are looked for
}

func (s *shaders) get(k cacheKey) *shader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[k].Value()
}

// share returns the shader that others use already, if there is one by now, or v.
func (s *shaders) share(k cacheKey, v *shader) *shader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.live[k].Value(); other != nil {
		return other
	}
	if len(s.live) >= s.most {
		maps.DeleteFunc(s.live, func(_ cacheKey, p weak.Pointer[shader]) bool { return p.Value() == nil })
		s.most = 2*len(s.live) + 64
	}
	if s.live == nil {
		s.live = map[cacheKey]weak.Pointer[shader]{}
	}
	s.live[k] = weak.Make(v)
	return v
}
