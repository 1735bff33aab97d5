package icd

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"runtime"
	"slices"
	"sync"
	"weak"

	"farside/internal/vk"
)

// A pipeline cache keeps programs for as long as it lives, so that an equal pipeline needs no compiler. What it gives to
// the application to save are the keys of modules that passed the checks, which need not be checked again.

// cacheKey is the hash of everything that decides what a program is, or what a check finds.
type cacheKey [sha256.Size]byte

// pipelineCache is a VkPipelineCache.
type pipelineCache struct {
	device *device

	mu      sync.Mutex
	shaders map[cacheKey]*shader
	checked map[cacheKey]struct{}
}

// The header of the data, VkPipelineCacheHeaderVersionOne, is followed by the number of keys, 4 bytes of 0, the hash of
// all that comes before and behind it, and the keys in ascending order.
const (
	cacheHeaderBytes = 32
	cacheKeysAt      = cacheHeaderBytes + 8 + sha256.Size
)

// encodeCache writes the data of as many keys as room bytes hold, and says whether these are all of them.
func encodeCache(uuid [vk.UUID_SIZE]byte, keys []cacheKey, room int) (data []byte, all bool) {
	if room < cacheHeaderBytes {
		return nil, false
	}
	data = binary.LittleEndian.AppendUint32(nil, cacheHeaderBytes)
	data = binary.LittleEndian.AppendUint32(data, uint32(vk.PIPELINE_CACHE_HEADER_VERSION_ONE))
	data = binary.LittleEndian.AppendUint32(data, vendorID)
	data = binary.LittleEndian.AppendUint32(data, deviceID)
	data = append(data, uuid[:]...)
	if room < cacheKeysAt {
		return data, false
	}
	n := min(len(keys), (room-cacheKeysAt)/sha256.Size)
	data = binary.LittleEndian.AppendUint32(data, uint32(n))
	data = binary.LittleEndian.AppendUint32(data, 0)
	data = append(data, make([]byte, sha256.Size)...)
	for i := range keys[:n] {
		data = append(data, keys[i][:]...)
	}
	sum := cacheSum(data)
	copy(data[cacheKeysAt-sha256.Size:], sum[:])
	return data, n == len(keys)
}

// cacheSum is the hash in data that has keys.
func cacheSum(data []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(data[:cacheKeysAt-sha256.Size])
	h.Write(data[cacheKeysAt:])
	return [sha256.Size]byte(h.Sum(nil))
}

// decodeCache reads the keys in data from any source. What is damaged, or was written by another driver or another build
// of this one, has none (VkPipelineCacheCreateInfo: the implementation ignores it).
func decodeCache(uuid [vk.UUID_SIZE]byte, data []byte) []cacheKey {
	if len(data) < cacheKeysAt {
		return nil
	}
	n := uint64(binary.LittleEndian.Uint32(data[cacheHeaderBytes:]))
	if n > uint64(len(data)-cacheKeysAt)/sha256.Size {
		return nil
	}
	data = data[:cacheKeysAt+n*sha256.Size]
	header, _ := encodeCache(uuid, nil, cacheHeaderBytes)
	if sum := cacheSum(data); !bytes.HasPrefix(data, header) || !bytes.Equal(sum[:], data[cacheKeysAt-sha256.Size:cacheKeysAt]) {
		return nil
	}
	keys := make([]cacheKey, n)
	for i := range keys {
		copy(keys[i][:], data[cacheKeysAt+i*sha256.Size:])
	}
	return keys
}

func (d *device) newPipelineCache(data []byte) *pipelineCache {
	c := &pipelineCache{device: d, shaders: map[cacheKey]*shader{}, checked: map[cacheKey]struct{}{}}
	for _, k := range decodeCache(d.physical.pipelineCacheUUID(), data) {
		c.checked[k] = struct{}{}
	}
	return c
}

// data returns what fits in room bytes.
func (c *pipelineCache) data(room int) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(c.checked), func(a, b cacheKey) int { return bytes.Compare(a[:], b[:]) })
	return encodeCache(c.device.physical.pipelineCacheUUID(), keys, room)
}

// size is that of all of the data.
func (c *pipelineCache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cacheKeysAt + len(c.checked)*sha256.Size
}

// get returns the shader with a key, or nil.
func (c *pipelineCache) get(k cacheKey) *shader {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shaders[k]
}

// put adds a shader, and the key of its module.
func (c *pipelineCache) put(k cacheKey, s *shader) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shaders[k] = s
	c.checked[s.module] = struct{}{}
}

// knows says whether a module passed the checks.
func (c *pipelineCache) knows(module cacheKey) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.checked[module]
	return ok
}

// merge adds what src has.
func (c *pipelineCache) merge(src *pipelineCache) {
	src.mu.Lock()
	shaders, checked := maps.Clone(src.shaders), maps.Clone(src.checked)
	src.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.shaders, shaders)
	maps.Copy(c.checked, checked)
}

// fail reports err as the outcome of command on the cache.
func (c *pipelineCache) fail(command string, handle vk.PipelineCache, err error) vk.Result {
	return c.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(handle)})
}

func destroyPipelineCache(h vk.Device, handle vk.PipelineCache, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	c := pipelineCaches.Remove(uint64(handle))
	if c == nil {
		staleHandle("vkDestroyPipelineCache", vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(handle))
		return
	}
	c.device.destroyed(vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(handle))
}

func mergePipelineCaches(h vk.Device, handle vk.PipelineCache, count uint32, sources *vk.PipelineCache) vk.Result {
	c := pipelineCaches.Get(uint64(handle))
	if c == nil {
		return staleHandle("vkMergePipelineCaches", vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(handle))
	}
	list, err := elements("vkMergePipelineCaches", "srcCache", sources, count)
	if err != nil {
		return c.fail("vkMergePipelineCaches", handle, err)
	}
	for _, s := range list {
		src := pipelineCaches.Get(uint64(s))
		switch src {
		case nil:
			return staleHandle("vkMergePipelineCaches", vk.OBJECT_TYPE_PIPELINE_CACHE, uint64(s))
		case c:
			return c.fail("vkMergePipelineCaches", handle, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkMergePipelineCaches-dstCache-00770", "a cache is merged into itself"))
		}
		c.merge(src)
	}
	return vk.SUCCESS
}

// shaders are those that pipelines or caches of a device hold, so that equal pipelines share one. It keeps none alive.
type shaders struct {
	mu   sync.Mutex
	live map[cacheKey]weak.Pointer[shader]
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
	if s.live == nil {
		s.live = map[cacheKey]weak.Pointer[shader]{}
	}
	s.live[k] = weak.Make(v)
	runtime.AddCleanup(v, func(k cacheKey) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.live[k].Value() == nil {
			delete(s.live, k)
		}
	}, k)
	return v
}
