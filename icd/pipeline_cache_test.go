package icd

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"farside/internal/vk"
)

var cacheTestUUID = [vk.UUID_SIZE]byte{1, 2, 3}

func someKeys(n int) []cacheKey {
	keys := make([]cacheKey, n)
	for i := range keys {
		keys[i][0], keys[i][31] = byte(i), 0xee
	}
	return keys
}

func TestCacheData(t *testing.T) {
	keys := someKeys(5)
	data, all := encodeCache(cacheTestUUID, keys, 1<<20)
	if !all || !slices.Equal(decodeCache(cacheTestUUID, data), keys) {
		t.Fatalf("%d keys come back as %v", len(keys), decodeCache(cacheTestUUID, data))
	}
	// Whatever the room, what is written fits, and is valid.
	for room := range len(data) + 10 {
		part, all := encodeCache(cacheTestUUID, keys, room)
		want := max(0, (room-cacheKeysAt)/32)
		if room < cacheKeysAt {
			want = 0
		}
		if len(part) > room || all != (room >= len(data)) || len(decodeCache(cacheTestUUID, part)) != min(want, 5) {
			t.Fatalf("in %d bytes: %d are written, all: %v, keys: %d", room, len(part), all, len(decodeCache(cacheTestUUID, part)))
		}
		if room >= cacheHeaderBytes && !bytes.HasPrefix(part, data[:cacheHeaderBytes]) || room < cacheHeaderBytes && len(part) > 0 {
			t.Fatalf("in %d bytes: no header, or a part of one", room)
		}
	}
	// Any byte that changes spoils it; what is behind the keys does not count.
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x10
		if keys := decodeCache(cacheTestUUID, damaged); len(keys) != 0 {
			t.Fatalf("byte %d is damaged, and %d keys are read", i, len(keys))
		}
		if keys := decodeCache(cacheTestUUID, data[:i]); len(keys) != 0 {
			t.Fatalf("%d of %d bytes give %d keys", i, len(data), len(keys))
		}
	}
	if len(decodeCache(cacheTestUUID, append(bytes.Clone(data), 1, 2, 3))) != 5 {
		t.Error("bytes behind the keys spoil them")
	}
	if keys := decodeCache([vk.UUID_SIZE]byte{9}, data); len(keys) != 0 {
		t.Error("another driver's keys are read")
	}
}

// FuzzCacheData reads any bytes as the data of a cache: what is read is written the same.
func FuzzCacheData(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		data, _ := encodeCache(cacheTestUUID, someKeys(n), 1<<20)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		keys := decodeCache(cacheTestUUID, data)
		if len(keys) == 0 {
			return
		}
		if again, all := encodeCache(cacheTestUUID, keys, len(data)); !all || !bytes.HasPrefix(data, again) {
			t.Errorf("%d keys are written in another way", len(keys))
		}
	})
}

// cache makes a pipeline cache of data.
func (c computeTest) cache(data []byte) vk.PipelineCache {
	c.Helper()
	data = append(bytes.Clone(data), 0)
	info := vk.PipelineCacheCreateInfo{InitialDataSize: uintptr(len(data) - 1), PInitialData: unsafe.Pointer(&data[0])}
	var h vk.PipelineCache
	if r := createPipelineCache(c.d.handle, &info, nil, &h); r != vk.SUCCESS {
		c.Fatal(r)
	}
	c.Cleanup(func() { destroyPipelineCache(c.d.handle, h, nil) })
	return h
}

func (c computeTest) cacheData(h vk.PipelineCache, room uintptr) ([]byte, vk.Result) {
	c.Helper()
	data := make([]byte, room+1)
	r := getPipelineCacheData(c.d.handle, h, &room, unsafe.Pointer(&data[0]))
	return data[:room], r
}

func TestPipelineCache(t *testing.T) {
	c := newComputeTest(t)
	keys := someKeys(3)
	uuid := c.d.physical.pipelineCacheUUID()
	data, _ := encodeCache(uuid, keys, 1<<20)
	h := c.cache(data)
	size := uintptr(99)
	if r := getPipelineCacheData(c.d.handle, h, &size, nil); r != vk.SUCCESS || size != uintptr(len(data)) {
		t.Errorf("the size is %d, %v; want %d", size, r, len(data))
	}
	if got, r := c.cacheData(h, size); r != vk.SUCCESS || !bytes.Equal(got, data) {
		t.Errorf("%v, data\n%x, want\n%x", r, got, data)
	}
	huge, room := make([]byte, len(data)), ^uintptr(0)
	if r := getPipelineCacheData(c.d.handle, h, &room, unsafe.Pointer(&huge[0])); r != vk.SUCCESS || !bytes.Equal(huge, data) {
		t.Errorf("with all the room there is: %v, %d bytes", r, room)
	}
	if got, r := c.cacheData(h, size-1); r != vk.INCOMPLETE || len(decodeCache(uuid, got)) != 2 {
		t.Errorf("with too little room: %v, keys %v", r, decodeCache(uuid, got))
	}
	if got, r := c.cacheData(h, 31); r != vk.INCOMPLETE || len(got) != 0 {
		t.Errorf("with no room for the header: %v, %d bytes", r, len(got))
	}
	foreign, _ := encodeCache([vk.UUID_SIZE]byte{7}, keys, 1<<20)
	into := c.cache(foreign)
	if n := pipelineCaches.Get(uint64(into)).size(); n != cacheKeysAt {
		t.Errorf("another driver's data gives a cache of %d bytes", n)
	}
	more, _ := encodeCache(uuid, someKeys(5), 1<<20)
	sources := []vk.PipelineCache{h, c.cache(more), c.cache(nil)}
	if r := mergePipelineCaches(c.d.handle, into, 3, &sources[0]); r != vk.SUCCESS {
		t.Errorf("vkMergePipelineCaches: %v", r)
	}
	if got, r := c.cacheData(into, 1000); r != vk.SUCCESS || !slices.Equal(decodeCache(uuid, got), someKeys(5)) {
		t.Errorf("merged: %v, keys %v", r, decodeCache(uuid, got))
	}
	if got := rules(); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
	c.broken("a merge into itself", mergePipelineCaches(c.d.handle, h, 1, &h), "VUID-vkMergePipelineCaches-dstCache-00770")
	info := vk.PipelineCacheCreateInfo{Flags: 1 << 30}
	c.broken("unknown flags", createPipelineCache(c.d.handle, &info, nil, &sources[0]), "VUID-VkPipelineCacheCreateInfo-flags-parameter")
}
