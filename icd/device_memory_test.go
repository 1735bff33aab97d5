package icd

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/fd/fdtest"
	"farside/internal/vk"
	"farside/memory"
)

// holdings is what allocations of a device hold.
type holdings struct {
	allocations uint32
	heaps       [2]uint64
	objects     int
	files       string // the open descriptors
	mappings    int    // of payloads' files
}

func (q *queueTest) holdings() holdings {
	q.Helper()
	b := q.d.physical.budget
	maps, mapErr := os.ReadFile("/proc/self/maps")
	if mapErr != nil {
		q.Fatal(mapErr)
	}
	return holdings{
		b.Allocations(), [2]uint64{b.Usage(0), b.Usage(1)}, deviceMemories.Len(), openFiles(q),
		strings.Count(string(maps), "/memfd:farside"),
	}
}

func openFiles(t testing.TB) string {
	open := fdtest.Open(t)
	var list []string
	for _, raw := range slices.Sorted(maps.Keys(open)) {
		list = append(list, raw+" "+open[raw])
	}
	return strings.Join(list, "\n")
}

// limited calls f under another limit of a resource of the process.
func limited(t testing.TB, resource int, limit uint64, f func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(resource, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	f()
	if err := unix.Setrlimit(resource, &old); err != nil {
		t.Fatal(err)
	}
}

// TestFailedAllocationsHoldNothing (mutant 2): whichever step of an allocation, an export or an import fails, the
// budget, the descriptors, the mappings and the handles are those from before, and the application's descriptor is its
// own.
func TestFailedAllocationsHoldNothing(t *testing.T) {
	q := newQueueTest(t)
	const opaque, rdma = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
	const host = vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
	page := memory.PageSize()
	exported := func(types vk.ExternalMemoryHandleTypeFlags) unsafe.Pointer {
		return unsafe.Pointer(&vk.ExportMemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
			HandleTypes: types})
	}
	var m vk.DeviceMemory
	plain := func(size uint64, next unsafe.Pointer) *vk.MemoryAllocateInfo {
		return &vk.MemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, PNext: next,
			AllocationSize: size, MemoryTypeIndex: 2}
	}
	if r := commands.AllocateMemory(q.d.handle, plain(page, exported(opaque)), nil, &m); r != vk.SUCCESS {
		t.Fatal(r)
	}
	defer commands.FreeMemory(q.d.handle, m, nil)
	var good int32
	get := vk.MemoryGetFdInfoKHR{SType: vk.STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, Memory: m, HandleType: opaque}
	if r := commands.GetMemoryFdKHR(q.d.handle, &get, &good); r != vk.SUCCESS {
		t.Fatal(r)
	}
	defer func() { unix.Close(int(good)) }() // -1 in the end
	imported := func(fd int32, t vk.ExternalMemoryHandleTypeFlags, next unsafe.Pointer) unsafe.Pointer {
		return unsafe.Pointer(&vk.ImportMemoryFdInfoKHR{SType: vk.STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
			PNext: next, HandleType: t, Fd: fd})
	}
	pages := func(at *byte, next unsafe.Pointer) unsafe.Pointer {
		return unsafe.Pointer(&vk.ImportMemoryHostPointerInfoEXT{SType: vk.STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
			PNext: next, HandleType: host, PHostPointer: unsafe.Pointer(at)})
	}
	own, err := unix.Mmap(-1, 0, 2*int(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(own)
	if err := unix.Mprotect(own[page:], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	allocate := func(i *vk.MemoryAllocateInfo) vk.Result {
		var out vk.DeviceMemory
		r := commands.AllocateMemory(q.d.handle, i, nil, &out)
		if out != 0 {
			commands.FreeMemory(q.d.handle, out, nil)
		}
		return r
	}
	typed := func(i *vk.MemoryAllocateInfo, memoryType uint32) *vk.MemoryAllocateInfo {
		i.MemoryTypeIndex = memoryType
		return i
	}
	flags := unsafe.Pointer(&vk.MemoryAllocateFlagsInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		Flags: vk.MEMORY_ALLOCATE_DEVICE_MASK_BIT, DeviceMask: 2})
	older := &vk.ExportMemoryAllocateInfoNV{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO_NV, HandleTypes: 1}
	bothSets := unsafe.Pointer(&vk.ExportMemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		PNext: unsafe.Pointer(older), HandleTypes: opaque})
	const invalid, unknown = vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.ERROR_UNKNOWN
	for _, c := range []struct {
		name string
		info *vk.MemoryAllocateInfo
		want vk.Result
	}{
		{"unknown type", typed(plain(page, nil), 77), unknown},
		{"0 bytes", plain(0, nil), unknown},
		{"larger than any heap", plain(1<<50, nil), vk.ERROR_OUT_OF_DEVICE_MEMORY},
		{"heap full", plain(2<<30-page+1, nil), vk.ERROR_OUT_OF_DEVICE_MEMORY},
		{"both export sets", plain(page, bothSets), invalid},
		{"exported as what can't be", plain(page, exported(host)), invalid},
		{"exported without the feature", typed(plain(page, exported(rdma)), 1), invalid},
		{"device mask", plain(page, flags), unknown},
		{"no descriptor", plain(page, imported(-1, opaque, nil)), invalid},
		{"another size", plain(2*page, imported(good, opaque, nil)), invalid},
		{"another memory type", typed(plain(page, imported(good, opaque, nil)), 3), invalid},
		{"another handle type", plain(page, imported(good, rdma, nil)), invalid},
		{"two imports", plain(page, imported(good, opaque, pages(&own[0], nil))), invalid},
		{"unaligned pointer", plain(page, pages(&own[8], nil)), invalid},
		{"read-only pages", plain(2*page, pages(&own[0], nil)), invalid},
		{"pages exported", plain(page, pages(&own[0], exported(opaque))), invalid},
	} {
		before := q.holdings()
		if r := allocate(c.info); r != c.want {
			t.Errorf("%s: %v, want %v", c.name, r, c.want)
		}
		if after := q.holdings(); after != before {
			t.Errorf("%s:\n%+v before\n%+v after", c.name, before, after)
		}
	}
	before := q.holdings()
	limited(t, unix.RLIMIT_NOFILE, 3, func() {
		if r := allocate(plain(page, exported(opaque))); r != vk.ERROR_TOO_MANY_OBJECTS {
			t.Errorf("without descriptors: %v", r)
		}
		var out int32
		if r := commands.GetMemoryFdKHR(q.d.handle, &get, &out); r != vk.ERROR_TOO_MANY_OBJECTS {
			t.Errorf("vkGetMemoryFdKHR without descriptors: %v", r)
		}
	})
	limited(t, unix.RLIMIT_FSIZE, page, func() {
		if r := allocate(plain(page, exported(opaque))); r != vk.ERROR_OUT_OF_DEVICE_MEMORY {
			t.Errorf("above RLIMIT_FSIZE: %v", r)
		}
	})
	// The last step: with FARSIDE_STRICT=poison fresh memory is filled, and to that end mapped.
	q.d.strictness |= config.StrictPoison
	limited(t, unix.RLIMIT_AS, uint64(addressSpace(t))<<10+mostPoison*3/4, func() {
		if r := allocate(plain(mostPoison, exported(opaque))); r != vk.ERROR_OUT_OF_DEVICE_MEMORY {
			t.Errorf("without address space to fill it in: %v", r)
		}
	})
	q.d.strictness &^= config.StrictPoison
	if after := q.holdings(); after != before {
		t.Errorf("limits:\n%+v before\n%+v after", before, after)
	}
	// What failed with a borrowed descriptor left it good.
	if r := allocate(plain(page, imported(good, opaque, nil))); r != vk.SUCCESS {
		t.Errorf("the import: %v", r)
	}
	good = -1 // it was the payload's
}

// BenchmarkAllocateFree allocates and frees memory that can't be exported, on this side of the boundary.
func BenchmarkAllocateFree(b *testing.B) {
	d := newQueueTest(b).d
	info := &vk.MemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, AllocationSize: 64 << 10}
	b.ReportAllocs()
	for b.Loop() {
		var m vk.DeviceMemory
		if r := commands.AllocateMemory(d.handle, info, nil, &m); r != vk.SUCCESS {
			b.Fatal(r)
		}
		commands.FreeMemory(d.handle, m, nil)
	}
}

// TestBufferHandleTypes (review 3): a buffer takes handle types that are supported together, as an image does.
func TestBufferHandleTypes(t *testing.T) {
	q := newQueueTest(t)
	const opaque, rdma = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
	const host = vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
	for types, good := range map[vk.ExternalMemoryHandleTypeFlags]bool{
		0: true, opaque: true, opaque | rdma: true, host: true, opaque | host: false, 2: false, opaque | 1<<31: false,
	} {
		external := vk.ExternalMemoryBufferCreateInfo{SType: vk.STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
			HandleTypes: types}
		info := vk.BufferCreateInfo{SType: vk.STRUCTURE_TYPE_BUFFER_CREATE_INFO, PNext: unsafe.Pointer(&external),
			Size: 64, Usage: vk.BUFFER_USAGE_TRANSFER_SRC_BIT}
		var b vk.Buffer
		r := commands.CreateBuffer(q.d.handle, &info, nil, &b)
		broken := rules()
		rule := []string{vk.VUID_VkBufferCreateInfo_pNext_00920.String()}
		if (r == vk.SUCCESS) != good || !good && !slices.Equal(broken, rule) {
			t.Errorf("%v: %v, %v", types, r, broken)
		}
		commands.DestroyBuffer(q.d.handle, b, nil)
	}
}
