package icd

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/internal/vk"
)

// cache makes a pipeline cache of data.
func (c computeTest) cache(data []byte) vk.PipelineCache {
	c.Helper()
	data = append(bytes.Clone(data), 0)
	info := vk.PipelineCacheCreateInfo{InitialDataSize: uintptr(len(data) - 1), PInitialData: unsafe.Pointer(&data[0])}
	var h vk.PipelineCache
	if r := commands.CreatePipelineCache(c.d.handle, &info, nil, &h); r != vk.SUCCESS {
		c.Fatal(r)
	}
	c.Cleanup(func() { commands.DestroyPipelineCache(c.d.handle, h, nil) })
	return h
}

func (c computeTest) cacheData(h vk.PipelineCache, room uintptr) ([]byte, vk.Result) {
	c.Helper()
	data := make([]byte, room+1)
	r := commands.GetPipelineCacheData(c.d.handle, h, &room, unsafe.Pointer(&data[0]))
	return data[:room], r
}

func TestPipelineCache(t *testing.T) {
	c := newComputeTest(t)
	uuid := c.d.physical.pipelineCacheUUID()
	want := slices.Concat([]byte{32, 0, 0, 0, 1, 0, 0, 0, 0x44, 0x52, 0x41, 0x46, 1, 0, 0, 0}, uuid[:])
	// Whatever an application has loaded as the data of a cache, the cache is a new one.
	random := rand.New(rand.NewPCG(1, 2))
	for _, data := range [][]byte{nil, want, want[:31], append(bytes.Clone(want), 1, 2, 3), make([]byte, 32), nil, nil,
		nil} {
		if data == nil {
			data = make([]byte, random.IntN(100))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
		}
		h := c.cache(data)
		size := uintptr(99)
		if r := commands.GetPipelineCacheData(c.d.handle, h, &size, nil); r != vk.SUCCESS || size != 32 {
			t.Errorf("the size is %d, %v", size, r)
		}
		if got, r := c.cacheData(h, 32); r != vk.SUCCESS || !bytes.Equal(got, want) {
			t.Errorf("%v, data\n%x, want\n%x", r, got, want)
		}
	}
	h := c.cache(nil)
	huge, room := make([]byte, 32), ^uintptr(0)
	if r := commands.GetPipelineCacheData(c.d.handle, h, &room, unsafe.Pointer(&huge[0])); r != vk.SUCCESS ||
		!bytes.Equal(huge, want) {
		t.Errorf("with all the room there is: %v, %d bytes", r, room)
	}
	if got, r := c.cacheData(h, 31); r != vk.INCOMPLETE || len(got) != 0 {
		t.Errorf("with no room for the header: %v, %d bytes", r, len(got))
	}
	if got := rules(); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
	c.broken("a merge into itself", commands.MergePipelineCaches(c.d.handle, h, 1, &h),
		"VUID-vkMergePipelineCaches-dstCache-00770")
	info := vk.PipelineCacheCreateInfo{Flags: 1 << 30}
	c.broken("unknown flags", commands.CreatePipelineCache(c.d.handle, &info, nil, &h),
		"VUID-VkPipelineCacheCreateInfo-flags-parameter")
}
