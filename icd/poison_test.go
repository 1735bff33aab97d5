package icd

import (
	"bytes"
	"testing"
	"unsafe"

	"farside/internal/config"
	"farside/internal/vk"
)

// TestPoison: with FARSIDE_STRICT=poison fresh memory has the pattern, and freed memory again, as work sees it that
// still uses it. Memory that can be exported keeps its bytes when it is freed, as others may have it. Without poison
// fresh memory has zeros, and freed memory keeps its bytes.
func TestPoison(t *testing.T) {
	q := newQueueTest(t)
	exported := unsafe.Pointer(&vk.ExportMemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		HandleTypes: vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT})
	const written = 0x11
	for _, c := range []struct {
		name         string
		strict       config.Strict
		size         uint64
		chain        unsafe.Pointer
		fresh, freed byte
	}{
		{"poison", config.StrictPoison, 5000, nil, pattern, pattern},
		{"poison, the largest", config.StrictPoison, mostPoison, nil, pattern, pattern},
		{"poison, larger", config.StrictPoison, mostPoison + 1, nil, 0, written},
		{"poison, can be exported", config.StrictPoison, 5000, exported, pattern, written},
		{"no poison", 0, 5000, nil, 0, written},
		{"no poison, can be exported", 0, 5000, exported, 0, written},
	} {
		q.d.strictness = c.strict
		handle, r := q.allocate(c.size, 2, 0, c.chain)
		if r != vk.SUCCESS {
			t.Fatalf("%s: %v", c.name, r)
		}
		payload := deviceMemories.Get(uint64(handle)).payload.Retain() // as work of a queue does
		b, err := payload.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		all := func(when string, want byte) {
			if n := bytes.Count(b, []byte{want}); n != len(b) {
				t.Errorf("%s: %d of %d bytes are %#x when %s", c.name, n, len(b), want, when)
			}
		}
		all("fresh", c.fresh)
		for i := range b {
			b[i] = written
		}
		commands.FreeMemory(q.d.handle, handle, nil)
		all("freed", c.freed)
		payload.Release()
	}
	q.d.strictness = 0
}
