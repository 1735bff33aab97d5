package export

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
	"farside/memory"
)

const childVariable = "FARSIDE_EXPORT_TEST_CHILD"

// TestMain becomes the other process of the cross-process tests when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := exporterProcess(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const sampleSize = 5000

var sample = memory.Metadata{
	DriverUUID: [16]byte{1, 2, 3}, DeviceUUID: [16]byte{4, 5, 6}, MemoryType: 1, Properties: 0x101,
	HandleTypes: opaqueFD | rdma, Dedicated: memory.Dedicated{Kind: memory.DedicatedBuffer, Hash: 99},
}

func expectSample() Expect {
	return Expect{Size: sampleSize, MemoryType: sample.MemoryType, Properties: sample.Properties,
		DriverUUID: sample.DriverUUID, DeviceUUID: sample.DeviceUUID, Dedicated: sample.Dedicated}
}

func noFDLeaks(t *testing.T) {
	count := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	before := count()
	t.Cleanup(func() {
		if after := count(); after != before {
			t.Errorf("%d descriptors are open, %d were before", after, before)
		}
	})
}

func wantInvalid(t *testing.T, err error, vuid, says string) {
	t.Helper()
	var e *vk.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v carries no VkResult", err)
	}
	if e.Result != vk.ERROR_INVALID_EXTERNAL_HANDLE {
		t.Errorf("result %v (%v)", e.Result, err)
	}
	if e.VUID != vuid {
		t.Errorf("VUID %s, want %s (%v)", e.VUID, vuid, err)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("the message does not say %q: %v", says, err)
	}
}

func newSample(t *testing.T) *memory.Payload {
	t.Helper()
	p, err := memory.NewShared(sampleSize, sample)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

func TestRules(t *testing.T) {
	file := opaqueFD | rdma
	if DMABufAvailable() {
		file |= dmaBuf
	}
	for _, c := range []struct {
		handleType vk.ExternalMemoryHandleTypeFlags
		want       HandleProperties
	}{
		{opaqueFD, HandleProperties{exportable | importable, file, file}},
		{rdma, HandleProperties{exportable, 0, file}},
		{hostAlloc, HandleProperties{importable, 0, hostAlloc}},
		{hostMap, HandleProperties{}},
		{0, HandleProperties{}},
		{opaqueFD | rdma, HandleProperties{}},
	} {
		if got := Properties(c.handleType); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.handleType, got, c.want)
		}
	}
	for bit := range 32 {
		h := vk.ExternalMemoryHandleTypeFlags(1) << bit
		p := Properties(h)
		if (p.Features != 0) != (p.Compatible&h != 0) {
			t.Errorf("%v: %+v does not hold itself", h, p)
		}
		if p.Features != 0 && (file|hostAlloc)&h == 0 {
			t.Errorf("%v: %+v", h, p)
		}
		for other := range 32 {
			o := vk.ExternalMemoryHandleTypeFlags(1) << other
			if (p.Compatible&o != 0) != (Properties(o).Compatible&h != 0) {
				t.Errorf("compatibility of %v and %v is one-sided", h, o)
			}
		}
	}
}

func TestExportSets(t *testing.T) {
	for _, good := range []vk.ExternalMemoryHandleTypeFlags{0, opaqueFD, rdma, opaqueFD | rdma} {
		if err := CheckExportSet(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
		if err := CheckReexport(opaqueFD, good); err != nil {
			t.Errorf("%v again: %v", good, err)
		}
	}
	for _, bad := range []vk.ExternalMemoryHandleTypeFlags{hostAlloc, hostMap, opaqueFD | hostAlloc, 2, 1 << 31} {
		wantInvalid(t, CheckExportSet(bad), vuidExportSet, "export")
		wantInvalid(t, CheckReexport(opaqueFD, bad), vuidExportSet, "export")
	}
	wantInvalid(t, CheckReexport(hostAlloc, opaqueFD), vuidExportSet, "imported from")
}

func TestNVRules(t *testing.T) {
	const win32 = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV
	if p, err := PropertiesNV(0); err != nil || p != (HandlePropertiesNV{}) {
		t.Errorf("%+v, %v", p, err)
	}
	p, err := PropertiesNV(win32)
	if err != nil || p != (HandlePropertiesNV{6, win32, win32}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, h := range []vk.ExternalMemoryHandleTypeFlagsNV{2, 4, 8, 3} {
		_, err := PropertiesNV(h)
		var e *vk.Error
		if !errors.As(err, &e) || e.Result != vk.ERROR_FORMAT_NOT_SUPPORTED {
			t.Errorf("%v: %v", h, err)
		}
		wantInvalid(t, CheckExportSetNV(h), "", "NV handle type")
	}
	if err := CheckExportSetNV(win32); err != nil {
		t.Error(err)
	}
}

func TestExportFD(t *testing.T) {
	noFDLeaks(t)
	p := newSample(t)
	defer p.Release()
	own, _ := p.FD()
	var fds []int
	for range 3 {
		fd, err := ExportFD(p, opaqueFD)
		if err != nil {
			t.Fatal(err)
		}
		if fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || fl&unix.FD_CLOEXEC == 0 {
			t.Errorf("fd %d: flags %#x, %v", fd, fl, err)
		}
		for _, other := range append(fds, own) {
			if fd == other {
				t.Errorf("fd %d twice", fd)
			}
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	_, err := ExportFD(p, rdma)
	wantInvalid(t, err, vuidGetFDType, "not a file descriptor")
	anonymous, err := memory.NewAnonymous(1)
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Release()
	_, err = ExportFD(anonymous, opaqueFD)
	wantInvalid(t, err, "VUID-VkMemoryGetFdInfoKHR-handleType-00671", "not allocated to be exported")
}

func TestExportFDOutOfDescriptors(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := ExportFD(p, opaqueFD)
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); e != nil {
		t.Fatal(e)
	}
	var e *vk.Error
	if !errors.As(err, &e) || e.Result != vk.ERROR_TOO_MANY_OBJECTS {
		t.Errorf("%v", err)
	}
}

func TestImportOutlivesExporter(t *testing.T) {
	noFDLeaks(t)
	p := newSample(t)
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "hello")
	fd, err := ExportFD(p, opaqueFD)
	if err != nil {
		t.Fatal(err)
	}
	id := p.ID()
	q, err := ImportFD(fd, opaqueFD, expectSample())
	if err != nil {
		t.Fatal(err)
	}
	if q == p || q.ID() != id || q.Size() != sampleSize {
		t.Errorf("import has ID %#x and size %d", q.ID(), q.Size())
	}
	c, err := q.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	c[1] = 'a'
	if b[1] != 'a' {
		t.Error("the exporter does not see the importer's write")
	}
	p.Release()
	if string(c[:5]) != "hallo" {
		t.Errorf("%q after the exporter's end", c[:5])
	}
	q.Release()
	if isOpen(fd) {
		t.Error("the import does not own its descriptor")
	}
}

func TestImportWithoutDedicated(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	fd, err := ExportFD(p, opaqueFD)
	if err != nil {
		t.Fatal(err)
	}
	want := expectSample()
	want.Dedicated = memory.Dedicated{}
	q, err := ImportFD(fd, opaqueFD, want)
	if err != nil {
		unix.Close(fd)
		t.Fatal(err)
	}
	q.Release()
}

// forged makes a payload's file with anything in it: a size, seals, and metadata that a change was made to.
func forged(t *testing.T, size int64, seals int, change func(b []byte)) int {
	t.Helper()
	fd, err := unix.MemfdCreate("forged", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	m := sample
	m.Size, m.ID = sampleSize, 77
	b := m.Encode()
	if change != nil {
		change(b[:])
		binary.LittleEndian.PutUint32(b[100:], crc32.Checksum(b[:100], crc32.MakeTable(crc32.Castagnoli)))
	}
	if page := int64(memory.PageSize()); size > page {
		if _, err := unix.Pwrite(fd, b[:], size-page); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestImportRefuses(t *testing.T) {
	page := int64(memory.PageSize())
	whole := int64(memory.RoundUpToPage(sampleSize)) + page
	open := func(name string, flags int) func(*testing.T) int {
		return func(t *testing.T) int {
			fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	file := func(size int64, seals int, change func(b []byte)) func(*testing.T) int {
		return func(t *testing.T) int { return forged(t, size, seals, change) }
	}
	reopened := func(flags int) func(*testing.T) int {
		return func(t *testing.T) int {
			fd := forged(t, whole, sealsNeeded, nil)
			defer unix.Close(fd)
			return open(fmt.Sprintf("/proc/self/fd/%d", fd), flags)(t)
		}
	}
	set := func(at int, v byte) func([]byte) { return func(b []byte) { b[at] ^= v } }
	for _, c := range []struct {
		name string
		fd   func(*testing.T) int
		vuid string
		says string
	}{
		{"-1", func(*testing.T) int { return -1 }, vuidFDValid, "not open"},
		{"closed", func(t *testing.T) int { fd := open("/", unix.O_RDONLY)(t); unix.Close(fd); return fd },
			vuidFDValid, "not open"},
		{"directory", open("/", unix.O_RDONLY), vuidFDValid, "reading and writing"},
		{"path only", reopened(unix.O_PATH), vuidFDValid, "reading and writing"},
		{"/dev/null", open("/dev/null", unix.O_RDWR), vuidFDValid, "not a memfd"},
		{"pipe", func(t *testing.T) int {
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			unix.Close(p[1])
			return p[0]
		}, vuidFDValid, "reading and writing"},
		{"socket", func(t *testing.T) int {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}, vuidFDValid, "not a memfd"},
		{"file on disk", func(t *testing.T) int {
			return open(t.TempDir()+"/file", unix.O_RDWR|unix.O_CREAT)(t)
		}, vuidFDValid, "memfd"},
		{"read only", reopened(unix.O_RDONLY), vuidFDValid, "reading and writing"},
		{"write only", reopened(unix.O_WRONLY), vuidFDValid, "reading and writing"},
		{"unsealed", file(whole, 0, nil), vuidFDValid, "not sealed"},
		{"may shrink", file(whole, unix.F_SEAL_GROW|unix.F_SEAL_SEAL, nil), vuidFDValid, "not sealed"},
		{"may grow", file(whole, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL, nil), vuidFDValid, "not sealed"},
		{"seals not sealed", file(whole, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW, nil), vuidFDValid, "not sealed"},
		{"sealed against writing", file(whole, sealsNeeded|unix.F_SEAL_WRITE, nil), vuidFDValid, "against writing"},
		{"empty", file(0, sealsNeeded, nil), vuidFDValid, "0 bytes"},
		{"one page", file(page, sealsNeeded, nil), vuidFDValid, "not a payload"},
		{"unaligned", file(whole+1, sealsNeeded, nil), vuidFDValid, "not a payload"},
		{"foreign memfd", file(whole, sealsNeeded, func(b []byte) { clear(b) }), vuidFDValid, "magic"},
		{"truncated", file(whole-page, sealsNeeded, nil), vuidFDValid, "its metadata says"},
		{"oversized", file(whole+page, sealsNeeded, nil), vuidFDValid, "its metadata says"},
		{"magic", file(whole, sealsNeeded, set(0, 1)), vuidFDValid, "magic"},
		{"version", file(whole, sealsNeeded, set(8, 2)), vuidFDValid, "version 3"},
		{"checksum", func(t *testing.T) int {
			fd := forged(t, whole, sealsNeeded, nil)
			if _, err := unix.Pwrite(fd, []byte{1}, whole-page+100); err != nil {
				t.Fatal(err)
			}
			return fd
		}, vuidFDValid, "checksum"},
		{"driver", file(whole, sealsNeeded, set(16, 1)), vuidFDDevice, "from driver"},
		{"device", file(whole, sealsNeeded, set(32, 1)), vuidFDDevice, "from device"},
		{"size", file(whole, sealsNeeded, set(48, 1)), vuidFDSize, "bytes, the import says"},
		{"size beyond the file", file(whole, sealsNeeded, set(50, 1)), vuidFDValid, "its metadata says"},
		{"impossible size", file(whole, sealsNeeded, set(55, 0xff)), vuidFDValid, "impossible"},
		{"no ID", file(whole, sealsNeeded, set(56, 77)), vuidFDValid, "no payload ID"},
		{"memory type", file(whole, sealsNeeded, set(64, 2)), vuidFDSize, "memory type"},
		{"property flags", file(whole, sealsNeeded, set(68, 2)), vuidFDSize, "property flags"},
		{"handle types", file(whole, sealsNeeded, set(72, 1)), vuidFDValid, "not as OPAQUE_FD"},
		{"dedicated hash", file(whole, sealsNeeded, set(80, 1)), vuidFDBuffer, "buffer"},
		{"dedicated kind", file(whole, sealsNeeded, set(88, 3)), vuidFDBuffer, "buffer"},
		{"not dedicated", file(whole, sealsNeeded, set(88, 1)), vuidFDBuffer, "buffer"},
		{"unknown dedicated kind", file(whole, sealsNeeded, set(89, 1)), vuidFDValid, "dedicated kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noFDLeaks(t)
			fd := c.fd(t)
			wasOpen := isOpen(fd)
			p, err := ImportFD(fd, opaqueFD, expectSample())
			if err == nil {
				p.Release()
				t.Fatal("imported")
			}
			wantInvalid(t, err, c.vuid, c.says)
			if isOpen(fd) != wasOpen {
				t.Error("the failed import closed the descriptor")
			}
			if wasOpen {
				unix.Close(fd)
			}
		})
	}
}

func TestImportExpectsTheSameParameters(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	fd, err := ExportFD(p, opaqueFD)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, c := range []struct {
		vuid   string
		change func(*Expect)
	}{
		{vuidFDSize, func(e *Expect) { e.Size++ }},
		{vuidFDSize, func(e *Expect) { e.MemoryType++ }},
		{vuidFDSize, func(e *Expect) { e.Properties ^= 2 }},
		{vuidFDDevice, func(e *Expect) { e.DriverUUID[15]++ }},
		{vuidFDDevice, func(e *Expect) { e.DeviceUUID[15]++ }},
		{vuidFDBuffer, func(e *Expect) { e.Dedicated.Hash++ }},
		{vuidFDImage, func(e *Expect) { e.Dedicated.Kind = memory.DedicatedImage }},
	} {
		want := expectSample()
		c.change(&want)
		_, err := ImportFD(fd, opaqueFD, want)
		wantInvalid(t, err, c.vuid, "")
	}
	for _, h := range []vk.ExternalMemoryHandleTypeFlags{rdma, hostAlloc, 0, 2} {
		_, err := ImportFD(fd, h, expectSample())
		wantInvalid(t, err, vuidFDType, "can't be imported")
	}
	if !isOpen(fd) {
		t.Error("closed")
	}
}

var types = []memory.Type{{Flags: 1}, {Flags: 0x101}, {Flags: 6}, {Flags: 7}}

func TestFDProperties(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	fd, _ := p.FD()
	_, err := FDProperties(fd, opaqueFD, types)
	wantInvalid(t, err, vuidFDPropsType, "no queryable")
	if DMABufAvailable() {
		_, err = FDProperties(fd, dmaBuf, types)
		wantInvalid(t, err, vuidFDPropsValid, "not a dma-buf")
	}
}

func TestDMABufRefuses(t *testing.T) {
	for _, name := range []string{"/dev/null", "/"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = checkDMABuf(int(f.Fd()), vuidFDValid)
		wantInvalid(t, err, vuidFDValid, "not a dma-buf")
		f.Close()
	}
	_, _, err := checkDMABuf(-1, vuidFDValid)
	wantInvalid(t, err, vuidFDValid, "not open")
	if !DMABufAvailable() {
		_, err := ImportFD(0, dmaBuf, expectSample())
		wantInvalid(t, err, vuidFDSupported, udmabufDevice)
	}
}

func TestDMABuf(t *testing.T) {
	if !DMABufAvailable() {
		t.Skip("this machine has no /dev/udmabuf")
	}
	noFDLeaks(t)
	m := sample
	m.HandleTypes = dmaBuf
	p, err := memory.NewShared(sampleSize, m)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	fd, err := ExportFD(p, dmaBuf)
	if err != nil {
		t.Fatal(err)
	}
	if bits, err := FDProperties(fd, dmaBuf, types); err != nil || bits != 0b1100 {
		t.Errorf("types %#b, %v", bits, err)
	}
	want := expectSample()
	want.Size = 1 << 20
	_, err = ImportFD(fd, dmaBuf, want)
	wantInvalid(t, err, vuidFDSize, "bytes")
	q, err := ImportFD(fd, dmaBuf, expectSample())
	if err != nil {
		unix.Close(fd)
		t.Fatal(err)
	}
	defer q.Release()
	a, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := q.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if a[4999] = 9; b[4999] != 9 {
		t.Error("not the same memory")
	}
	again, err := ExportFD(q, dmaBuf)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(again)
}

// pages returns n fresh pages of the application's own.
func pages(t *testing.T, n int, prot int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n*int(memory.PageSize()), prot, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

func TestImportHostPointer(t *testing.T) {
	noFDLeaks(t)
	page := memory.PageSize()
	good := pages(t, 3, unix.PROT_READ|unix.PROT_WRITE)
	mixed := pages(t, 4, unix.PROT_READ|unix.PROT_WRITE)
	if err := unix.Mprotect(mixed[page:2*page], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mprotect(mixed[2*page:3*page], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	short, err := os.Create(t.TempDir() + "/short")
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	if err := short.Truncate(10); err != nil {
		t.Fatal(err)
	}
	beyond, err := unix.Mmap(int(short.Fd()), 0, 2*int(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(beyond)

	p, err := ImportHostPointer(unsafe.Pointer(&good[0]), 3*page, hostAlloc)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.Bytes(); err != nil || &b[0] != &good[0] || len(b) != len(good) {
		t.Errorf("%v", err)
	}
	p.Release()
	good[0] = 1 // still the application's

	for _, c := range []struct {
		name string
		at   unsafe.Pointer
		size uint64
		h    vk.ExternalMemoryHandleTypeFlags
		vuid string
		says string
	}{
		{"handle type", unsafe.Pointer(&good[0]), page, hostMap, vuidHostType, "can't be imported"},
		{"null", nil, page, hostAlloc, vuidHostAligned, "multiple"},
		{"unaligned pointer", unsafe.Pointer(&good[8]), page, hostAlloc, vuidHostAligned, "multiple"},
		{"unaligned size", unsafe.Pointer(&good[0]), page + 1, hostAlloc, vuidHostSize, "multiple"},
		{"empty", unsafe.Pointer(&good[0]), 0, hostAlloc, vuidHostSize, "multiple"},
		{"read only", unsafe.Pointer(&mixed[page]), page, hostAlloc, vuidHostRange, "not readable and writable"},
		{"runs into read only", unsafe.Pointer(&mixed[0]), 2 * page, hostAlloc, vuidHostRange, "not readable and writable"},
		{"inaccessible", unsafe.Pointer(&mixed[2*page]), page, hostAlloc, vuidHostRange, "not readable and writable"},
		{"beyond its file", unsafe.Pointer(&beyond[0]), 2 * page, hostAlloc, vuidHostRange, "end of its file"},
		{"wraps around", unsafe.Pointer(&good[0]), -page, hostAlloc, vuidHostRange, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ImportHostPointer(c.at, c.size, c.h)
			if err == nil {
				t.Fatal("imported")
			}
			wantInvalid(t, err, c.vuid, c.says)
		})
	}

	for _, c := range []struct {
		name         string
		first, pages uint64
	}{{"unmapped", 1, 1}, {"runs into unmapped", 0, 3}} {
		t.Run(c.name, func(t *testing.T) {
			// Somebody else in the process may map the page that has just become free.
			for range 100 {
				at, err := unix.MmapPtr(-1, 0, nil, 3*uintptr(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
				if err != nil {
					t.Fatal(err)
				}
				unmap := func(n uint64) {
					if err := unix.MunmapPtr(unsafe.Add(at, n*page), uintptr(page)); err != nil {
						t.Error(err)
					}
				}
				unmap(1)
				p, err := ImportHostPointer(unsafe.Add(at, c.first*page), c.pages*page, hostAlloc)
				unmap(0)
				unmap(2)
				if err != nil {
					wantInvalid(t, err, vuidHostRange, "not mapped")
					return
				}
				p.Release()
			}
			t.Error("imported a hundred times")
		})
	}

	if bits, err := HostPointerProperties(unsafe.Pointer(&good[0]), hostAlloc, types); err != nil || bits != 0b1100 {
		t.Errorf("types %#b, %v", bits, err)
	}
	_, err = HostPointerProperties(unsafe.Pointer(&good[0]), hostMap, types)
	wantInvalid(t, err, vuidPropsType, "")
	_, err = HostPointerProperties(unsafe.Pointer(&good[1]), hostAlloc, types)
	wantInvalid(t, err, vuidPropsAlign, "")
	_, err = HostPointerProperties(unsafe.Pointer(&mixed[page]), hostAlloc, types)
	wantInvalid(t, err, vuidPropsRange, "")
}

// exporterProcess sends a payload with a greeting over descriptor 3, and is gone.
func exporterProcess() error {
	p, err := memory.NewShared(sampleSize, sample)
	if err != nil {
		return err
	}
	b, err := p.Bytes()
	if err != nil {
		return err
	}
	copy(b, "from the child")
	fd, err := ExportFD(p, opaqueFD)
	if err != nil {
		return err
	}
	id := binary.LittleEndian.AppendUint64(nil, p.ID())
	return unix.Sendmsg(3, id, unix.UnixRights(fd), nil, 0)
}

func TestImportFromAnotherProcess(t *testing.T) {
	noFDLeaks(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	ours := os.NewFile(uintptr(pair[0]), "ours")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), childVariable+"=1")
	child.ExtraFiles = []*os.File{theirs}
	child.Stderr = os.Stderr
	err = child.Run()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	id, oob := make([]byte, 8), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(id, oob)
	if err != nil || n != 8 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%d descriptors, %v", len(fds), err)
	}
	p, err := ImportFD(fds[0], opaqueFD, expectSample())
	if err != nil {
		unix.Close(fds[0])
		t.Fatal(err)
	}
	defer p.Release()
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b[:14]); got != "from the child" {
		t.Errorf("%q", got)
	}
	if p.ID() != binary.LittleEndian.Uint64(id) {
		t.Errorf("ID %#x", p.ID())
	}
}

func BenchmarkImport(b *testing.B) {
	p, err := memory.NewShared(sampleSize, sample)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	for b.Loop() {
		fd, err := ExportFD(p, opaqueFD)
		if err != nil {
			b.Fatal(err)
		}
		q, err := ImportFD(fd, opaqueFD, expectSample())
		if err != nil {
			b.Fatal(err)
		}
		q.Release()
	}
}

func BenchmarkExport(b *testing.B) {
	p, err := memory.NewShared(sampleSize, sample)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	for b.Loop() {
		fd, err := ExportFD(p, opaqueFD)
		if err != nil {
			b.Fatal(err)
		}
		unix.Close(fd)
	}
}

func BenchmarkExportBareCalls(b *testing.B) {
	p, err := memory.NewShared(sampleSize, sample)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	own, _ := p.FD()
	for b.Loop() {
		fd, _, e := unix.RawSyscall(unix.SYS_FCNTL, uintptr(own), unix.F_DUPFD_CLOEXEC, 0)
		if e != 0 {
			b.Fatal(e)
		}
		unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
}
