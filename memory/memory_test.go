package memory

import (
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/fd/fdtest"
	"farside/internal/memfd"
	"farside/internal/memfd/memfdtest"
	"farside/internal/vk"
)

// resultOf returns the VkResult and the VUID that an error carries.
func resultOf(t *testing.T, err error) (vk.Result, string) {
	t.Helper()
	var e *vk.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v carries no VkResult", err)
	}
	return e.Result, e.VUID.String()
}

func wantResult(t *testing.T, err error, want vk.Result) {
	t.Helper()
	if got, _ := resultOf(t, err); got != want {
		t.Fatalf("got %v (%v), want %v", got, err, want)
	}
}

func TestDefaultProfileOrder(t *testing.T) {
	p := DefaultProfile(0, 0)
	if len(p.Heaps) != 2 || p.Heaps[0].Flags != vk.MEMORY_HEAP_DEVICE_LOCAL_BIT || p.Heaps[1].Flags != 0 {
		t.Fatalf("heaps %+v", p.Heaps)
	}
	for i, h := range p.Heaps {
		if h.Size == 0 || h.Size%mib != 0 {
			t.Errorf("heap %d has %d bytes", i, h.Size)
		}
	}
	for i, x := range p.Types {
		for j, y := range p.Types[:i] {
			if x.Flags == y.Flags || x.Flags&^y.Flags == 0 {
				t.Errorf("type %d (%v) must come before type %d (%v)", i, x.Flags, j, y.Flags)
			}
		}
		local := x.Flags&vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT != 0
		if heap := p.Heaps[x.Heap].Flags&vk.MEMORY_HEAP_DEVICE_LOCAL_BIT != 0; heap != local {
			t.Errorf("type %d (%v) is on heap %d", i, x.Flags, x.Heap)
		}
		if x.Flags&vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV != 0 &&
			x.Flags != vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV|vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT {
			t.Errorf("type %d has the combination %v", i, x.Flags)
		}
	}
}

func TestHeapSizes(t *testing.T) {
	usual := DefaultProfile(0, 0).Heaps[0].Size
	for _, c := range []struct{ device, host, wantDevice, wantHost uint64 }{
		{4 * gib, 1536 * mib, 4 * gib, 1536 * mib}, {0, 3 * mib, usual, 3 * mib}, {3 * mib, 0, 3 * mib, usual},
	} {
		if p := DefaultProfile(c.device, c.host); p.Heaps[0].Size != c.wantDevice || p.Heaps[1].Size != c.wantHost {
			t.Errorf("%+v: heaps %+v", c, p.Heaps)
		}
	}
	// Both heaps full, a quarter and no less than 32 MiB are left.
	for total, want := range map[uint64]uint64{
		0: mib, 20 * mib: mib, 64 * mib: 16 * mib, 128 * mib: 48 * mib, 200 * mib: 75 * mib, 8 * gib: 3 * gib,
		8*gib + 5: 3 * gib, math.MaxUint64: 3 << 61,
	} {
		if got := usualHeap(total); got != want {
			t.Errorf("%d bytes in all: heaps of %d, want %d", total, got, want)
		}
	}
}

func TestCgroupLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  uint64
	}{
		{"no cgroups", nil, math.MaxUint64},
		{"version 2, no limit", map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n"}, math.MaxUint64},
		{"version 2, the ancestor's is lower", map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "9000\n",
			"/sys/fs/cgroup/a/memory.max": "8000\n"}, 8000},
		{"version 2 in a container", map[string]string{
			"/proc/self/cgroup": "0::/host/path\n", "/sys/fs/cgroup/memory.max": "7000\n"}, 7000},
		{"version 2 at the root", map[string]string{
			"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "6000\n"}, 6000},
		{"version 1", map[string]string{
			"/proc/self/cgroup":                             "5:cpu,memory:/c\n1:name=systemd:/x\n0::/\n",
			"/sys/fs/cgroup/memory/c/memory.limit_in_bytes": "5000\n"}, 5000},
	} {
		got := cgroupLimit(func(name string) ([]byte, error) {
			if s, ok := c.files[name]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMeminfoField(t *testing.T) {
	text := []byte("MemTotal:       16303428 kB\nMemFree:  1 kB\nMemAvailable:   14000000 kB\n")
	if got := meminfoField(text, "MemTotal:"); got != 16303428*1024 {
		t.Errorf("MemTotal %d", got)
	}
	if got := meminfoField(text, "MemAvailable:"); got != 14000000*1024 {
		t.Errorf("MemAvailable %d", got)
	}
	if got := meminfoField(text, "Absent:"); got != 0 {
		t.Errorf("absent field %d", got)
	}
	if got := meminfoField([]byte("MemTotal: x"), "MemTotal:"); got != 0 {
		t.Errorf("malformed field %d", got)
	}
	if meminfo("MemAvailable:") == 0 {
		t.Error("this machine has no MemAvailable")
	}
}

func TestBudget(t *testing.T) {
	b := NewBudget(Profile{Heaps: []Heap{{Size: 100}, {Size: 50}}}, 3)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.Reserve(0, 60))
	must(b.Reserve(0, 40))
	wantResult(t, b.Reserve(0, 1), vk.ERROR_OUT_OF_DEVICE_MEMORY)
	wantResult(t, b.Reserve(1, math.MaxUint64), vk.ERROR_OUT_OF_DEVICE_MEMORY)
	must(b.Reserve(1, 50))
	err := b.Reserve(1, 0)
	wantResult(t, err, vk.ERROR_TOO_MANY_OBJECTS)
	if b.Usage(0) != 100 || b.Usage(1) != 50 || b.Allocations() != 3 {
		t.Fatalf("usage %d %d, %d allocations", b.Usage(0), b.Usage(1), b.Allocations())
	}
	if got := b.Budget(0); got != 100 {
		t.Errorf("budget %d of a full heap of 100 bytes", got)
	}
	b.Release(0, 60)
	must(b.Reserve(0, 30))
	if b.Usage(0) != 70 {
		t.Errorf("usage %d", b.Usage(0))
	}
}

func TestBudgetIsBoundedByTheMachine(t *testing.T) {
	b := NewBudget(Profile{Heaps: []Heap{{Size: largestHeap}}}, 1)
	if got := b.Budget(0); got == 0 || got >= largestHeap {
		t.Errorf("budget %d", got)
	}
}

func TestBudgetHammer(t *testing.T) {
	b := NewBudget(Profile{Heaps: []Heap{{Size: 1000}}}, 4)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if b.Reserve(0, 400) == nil {
					if u := b.Usage(0); u > 1000 {
						t.Errorf("%d of 1000 bytes in use", u)
					}
					b.Release(0, 400)
				}
			}
		})
	}
	wg.Wait()
	if b.Usage(0) != 0 || b.Allocations() != 0 {
		t.Errorf("%d bytes, %d allocations are left", b.Usage(0), b.Allocations())
	}
}

// kinds are the ways to make memory that the payload owns.
var kinds = map[string]func(uint64) (*Payload, error){
	"anonymous": NewAnonymous,
	"placeable": NewPlaceable,
	"shared":    func(n uint64) (*Payload, error) { return NewShared(n, Metadata{}) },
}

func TestPayloadIsZeroedAndMapsOnce(t *testing.T) {
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			fdtest.NoLeaks(t)
			p, err := make(10000)
			if err != nil {
				t.Fatal(err)
			}
			b, err := p.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if len(b) != 10000 || p.Size() != 10000 {
				t.Fatalf("%d bytes, size %d", len(b), p.Size())
			}
			for i, x := range b {
				if x != 0 {
					t.Fatalf("byte %d is %d", i, x)
				}
			}
			b[9999] = 7
			p.Retain()
			p.Release()
			again, err := p.Bytes()
			if err != nil || &again[0] != &b[0] || again[9999] != 7 {
				t.Errorf("the second Map answers otherwise: %v", err)
			}
			if _, ok := p.FD(); ok != (name == "shared") {
				t.Errorf("has a descriptor: %v", ok)
			}
			p.Release()
			if !mapped(t, &b[0]) {
				return
			}
			t.Error("still mapped after the last Release")
		})
	}
}

func mapped(t *testing.T, p *byte) bool {
	t.Helper()
	var vec [1]byte
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(p))&^uintptr(pageSize-1), uintptr(pageSize),
		uintptr(unsafe.Pointer(&vec[0])))
	return e == 0
}

func TestImpossibleSizes(t *testing.T) {
	for name, make := range kinds {
		for _, size := range []uint64{largestHeap + 1, math.MaxUint64} {
			_, err := make(size)
			if err == nil {
				t.Errorf("%s: %d bytes were accepted", name, size)
				continue
			}
			wantResult(t, err, vk.ERROR_OUT_OF_DEVICE_MEMORY)
		}
	}
}

func TestSharedFile(t *testing.T) {
	fdtest.NoLeaks(t)
	p, err := NewShared(5000, Metadata{MemoryType: 3, DriverUUID: [16]byte{1}, DeviceUUID: [16]byte{2}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	fd, _ := p.FD()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != int64(RoundUpToPage(5000)+pageSize) {
		t.Errorf("file of %d bytes, %v", st.Size, err)
	}
	if s, _ := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); s&memfd.Seals != memfd.Seals {
		t.Errorf("seals %#x", s)
	}
	if f, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); f&unix.FD_CLOEXEC == 0 {
		t.Error("not close-on-exec")
	}
	if err := unix.Ftruncate(fd, 0); err != unix.EPERM {
		t.Errorf("truncation: %v", err)
	}
	var buf [MetadataSize]byte
	if _, err := unix.Pread(fd, buf[:], int64(RoundUpToPage(5000))); err != nil {
		t.Fatal(err)
	}
	m, err := ParseMetadata(buf[:])
	if err != nil || m != p.Metadata() || m.Size != 5000 || m.ID != p.ID() || m.MemoryType != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "seen through the file")
	got := make([]byte, 21)
	if _, err := unix.Pread(fd, got, 0); err != nil || string(got) != "seen through the file" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPublish (review 4): after Publish(true) the owner writes, and nobody who gets the file does, however he opens it.
// The owner's further mappings work as before.
func TestPublish(t *testing.T) {
	fdtest.NoLeaks(t)
	for _, readOnly := range []bool{true, false} {
		p, err := NewUnpublished(5000, Metadata{MemoryType: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		if err := p.Publish(readOnly); err != nil {
			t.Fatal(err)
		}
		if err := p.Publish(!readOnly); err != nil { // the first one counts
			t.Fatal(err)
		}
		raw, _ := p.FD()
		again, err := fd.Reopen(raw, unix.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		_, err = unix.Pwrite(again.Int(), []byte{9}, 4999)
		m, mapErr := unix.Mmap(again.Int(), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if mapErr == nil {
			unix.Munmap(m)
		}
		if (err != nil) != readOnly || (mapErr != nil) != readOnly {
			t.Errorf("read-only %v: pwrite: %v, mmap: %v", readOnly, err, mapErr)
		}
		if _, err := unix.FcntlInt(uintptr(raw), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != unix.EPERM {
			t.Errorf("a peer can add a seal: %v", err)
		}
		if readOnly {
			memfdtest.WantReadOnly(t, again.Int())
		}
		b, err := p.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		b[4998] = 1
		at, err := p.MapAnywhere(4096, 904)
		if err != nil {
			t.Fatal(err)
		}
		second := unsafe.Slice((*byte)(at), 904)
		if second[902] != 1 {
			t.Error("another mapping shows other memory")
		}
		second[902] = 2
		place := unsafe.Pointer(&reserve(t, 2*pageSize)[0])
		if err := p.MapAt(place, 0, 5000); err != nil {
			t.Fatal(err)
		}
		if third := unsafe.Slice((*byte)(place), 5000); third[4998] != 2 || b[4998] != 2 {
			t.Error("a placed mapping shows other memory")
		}
		if err := Unmap(at, 904, false); err != nil {
			t.Error(err)
		}
		if err := Unmap(place, 5000, true); err != nil {
			t.Error(err)
		}
	}
	p, err := NewShared(5000, Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if err := p.Publish(true); err != nil { // the application may have its descriptor
		t.Error(err)
	}
	raw, _ := p.FD()
	if _, err := unix.Pwrite(raw, []byte{1}, 0); err != nil {
		t.Error(err)
	}
}

// TestSharedBeyondFileSizeLimit (attacks 11): an allocation above RLIMIT_FSIZE fails, and raises no SIGXFSZ.
func TestSharedBeyondFileSizeLimit(t *testing.T) {
	fdtest.NoLeaks(t)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	// The file has a page of metadata more than the allocation.
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4 * pageSize, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	p, fits := NewShared(3*pageSize, Metadata{})
	_, tooLarge := NewShared(3*pageSize+1, Metadata{})
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if fits != nil {
		t.Fatal(fits)
	}
	p.Release()
	if vk.ResultOf(tooLarge) != vk.ERROR_OUT_OF_DEVICE_MEMORY || !strings.Contains(tooLarge.Error(), "RLIMIT_FSIZE") {
		t.Errorf("%v: %v", vk.ResultOf(tooLarge), tooLarge)
	}
}

func TestSharedOutOfDescriptors(t *testing.T) {
	fdtest.NoLeaks(t)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := NewShared(4096, Metadata{})
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Fatal("no error")
	}
	wantResult(t, err, vk.ERROR_TOO_MANY_OBJECTS)
}

func TestIDsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for range 1000 {
		p, err := NewAnonymous(1)
		if err != nil {
			t.Fatal(err)
		}
		if p.ID() == 0 || seen[p.ID()] {
			t.Fatalf("ID %#x again", p.ID())
		}
		seen[p.ID()] = true
		p.Release()
	}
}

// reserve takes addresses as an application does before a placed mapping.
func reserve(t *testing.T, size uint64) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

func TestMapAt(t *testing.T) {
	for _, name := range []string{"placeable", "shared"} {
		t.Run(name, func(t *testing.T) {
			p, err := kinds[name](3 * pageSize)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			own, err := p.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			own[pageSize] = 42
			area := reserve(t, 4*pageSize)
			at := unsafe.Pointer(&area[pageSize])
			if err := p.MapAt(at, pageSize, 2*pageSize); err != nil {
				t.Fatal(err)
			}
			if area[pageSize] != 42 {
				t.Errorf("placed byte is %d", area[pageSize])
			}
			area[2*pageSize] = 43
			if own[2*pageSize] != 43 {
				t.Errorf("own byte is %d", own[2*pageSize])
			}
			if err := Unmap(at, 2*pageSize, true); err != nil {
				t.Fatal(err)
			}
			if !mapped(t, &area[pageSize]) {
				t.Error("the range is not reserved")
			}
			if own[2*pageSize] != 43 {
				t.Error("unmapping took the contents away")
			}
			if err := p.MapAt(at, 0, 3*pageSize); err != nil {
				t.Fatal(err)
			}
			if err := Unmap(at, 3*pageSize, false); err != nil {
				t.Fatal(err)
			}
			if mapped(t, &area[pageSize]) {
				t.Error("still mapped")
			}
		})
	}
}

// A mapping at addresses of the kernel's choice has pages of its own: the payload's contents are there, and the
// payload's own mapping stays when they are reserved or given up.
func TestMapAnywhere(t *testing.T) {
	for _, name := range []string{"placeable", "shared"} {
		t.Run(name, func(t *testing.T) {
			p, err := kinds[name](4*pageSize - 7)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			own, err := p.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			const offset = 100
			at, err := p.MapAnywhere(pageSize+offset, 2*pageSize)
			if err != nil {
				t.Fatal(err)
			}
			b := unsafe.Slice((*byte)(at), 2*pageSize)
			if &b[0] == &own[pageSize+offset] || uint64(uintptr(at))%pageSize != offset {
				t.Errorf("mapped at %p, the payload is at %p", at, &own[0])
			}
			own[pageSize+offset] = 42
			b[2*pageSize-1] = 43
			if b[0] != 42 || own[3*pageSize+offset-1] != 43 {
				t.Errorf("the bytes are %d and %d", b[0], own[3*pageSize+offset-1])
			}
			if err := Unmap(unsafe.Add(at, -offset), offset+2*pageSize, true); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if !mapped(t, (*byte)(unsafe.Add(at, i*int(pageSize)-offset))) {
					t.Errorf("page %d is not reserved", i)
				}
			}
			if own[3*pageSize+offset-1] != 43 {
				t.Error("unmapping took the contents away")
			}
			if err := Unmap(unsafe.Add(at, -offset), offset+2*pageSize, false); err != nil {
				t.Fatal(err)
			}
			for _, r := range [][2]uint64{{0, 0}, {4*pageSize - 7, 1}, {pageSize, 3 * pageSize}, {1, math.MaxUint64}} {
				_, err := p.MapAnywhere(r[0], r[1])
				wantResult(t, err, vk.ERROR_MEMORY_MAP_FAILED)
			}
		})
	}
	p, err := NewAnonymous(pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	_, err = p.MapAnywhere(0, pageSize)
	wantResult(t, err, vk.ERROR_MEMORY_MAP_FAILED)
}

func TestMapAtRefusals(t *testing.T) {
	area := reserve(t, 2*pageSize)
	at := unsafe.Pointer(&area[0])
	p, err := NewPlaceable(2 * pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	private, err := NewAnonymous(pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer private.Release()
	foreign := FromHostPointer(at, pageSize)
	defer foreign.Release()
	for name, err := range map[string]error{
		"unaligned address": p.MapAt(unsafe.Pointer(&area[1]), 0, pageSize),
		"unaligned offset":  p.MapAt(at, 1, pageSize),
		"empty":             p.MapAt(at, 0, 0),
		"beyond the end":    p.MapAt(at, pageSize, 2*pageSize),
		"offset at the end": p.MapAt(at, 2*pageSize, pageSize),
		"wraps around":      p.MapAt(at, pageSize, math.MaxUint64),
		"private memory":    private.MapAt(at, 0, pageSize),
		"host pointer":      foreign.MapAt(at, 0, pageSize),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantResult(t, err, vk.ERROR_MEMORY_MAP_FAILED)
	}
}

func TestForeignMemoryIsLeftAlone(t *testing.T) {
	area := reserve(t, pageSize)
	p := FromHostPointer(unsafe.Pointer(&area[0]), pageSize)
	if a, err := p.Map(); err != nil || a != unsafe.Pointer(&area[0]) || !p.Foreign() {
		t.Errorf("%p, %v", a, err)
	}
	p.Release()
	if !mapped(t, &area[0]) {
		t.Error("unmapped")
	}
}

func TestPayloadHammer(t *testing.T) {
	fdtest.NoLeaks(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				p, err := NewShared(pageSize, Metadata{})
				if err != nil {
					t.Error(err)
					return
				}
				var users sync.WaitGroup
				for range 3 {
					p.Retain()
					users.Go(func() {
						if _, err := p.Bytes(); err != nil {
							t.Error(err)
						}
						p.Release()
					})
				}
				p.Release()
				users.Wait()
			}
		})
	}
	wg.Wait()
}

// Who finds a payload while its last reference goes either keeps it mapped or does not get it.
func TestTryRetain(t *testing.T) {
	var got int
	for range 500 {
		p, err := NewAnonymous(pageSize)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(p.Release)
		if p.TryRetain() {
			wg.Wait()
			got++
			b[0]++ // faults if the memory is gone
			p.Release()
		} else {
			wg.Wait()
		}
		if p.TryRetain() {
			t.Fatal("the last reference was gone, and another was given")
		}
	}
	t.Logf("the payload was still there %d times of 500", got)
}

func TestReferenceMisuse(t *testing.T) {
	for name, f := range map[string]func(*Payload){"Release": (*Payload).Release,
		"Retain": func(p *Payload) { p.Retain() }} {
		func() {
			p, err := NewAnonymous(1)
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a payload that is gone went through", name)
				}
			}()
			f(p)
		}()
	}
}
