package export

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
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

const (
	opaque  = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	rdma    = vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
	dma     = vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
	host    = vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
	hostMap = vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT

	visible = vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT
)

var sample = memory.Metadata{
	DriverUUID: [16]byte{1, 2, 3}, DeviceUUID: [16]byte{4, 5, 6}, MemoryType: 1, Properties: 0x101,
	HandleTypes: opaque | rdma, Dedicated: memory.Dedicated{Kind: memory.DedicatedBuffer, Hash: 99},
}

func expectSample() Expect {
	return Expect{Size: sampleSize, MemoryType: sample.MemoryType, Properties: sample.Properties,
		DriverUUID: sample.DriverUUID, DeviceUUID: sample.DeviceUUID, Dedicated: sample.Dedicated}
}

func wantInvalid(t *testing.T, err error, vuid vk.VUID, says string) {
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
	file := opaque | rdma
	if DMABufAvailable() {
		file |= dma
	}
	const exportable, importable = vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT
	for _, c := range []struct {
		handleType vk.ExternalMemoryHandleTypeFlags
		want       HandleProperties
	}{
		{opaque, HandleProperties{exportable | importable, file, file}},
		{rdma, HandleProperties{exportable, 0, file}},
		{host, HandleProperties{importable, 0, host}},
		{hostMap, HandleProperties{}},
		{0, HandleProperties{}},
		{opaque | rdma, HandleProperties{}},
	} {
		if got := Properties(c.handleType); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.handleType, got, c.want)
		}
	}
	if got := Properties(dma); DMABufAvailable() && got != (HandleProperties{exportable | importable, dma, file}) {
		t.Errorf("%v: %+v", dma, got)
	}
	checkSymmetry(t, file|host)
}

// checkSymmetry checks what must be true of any table, whose supported types are given.
func checkSymmetry(t *testing.T, supported vk.ExternalMemoryHandleTypeFlags) {
	t.Helper()
	for bit := range 32 {
		h := vk.ExternalMemoryHandleTypeFlags(1) << bit
		p := Properties(h)
		if (p.Features != 0) != (p.Compatible&h != 0) || (p.Features != 0) != (supported&h != 0) {
			t.Errorf("%v: %+v", h, p)
		}
		for other := range 32 {
			o := vk.ExternalMemoryHandleTypeFlags(1) << other
			together := p.Compatible&o != 0
			if together != (Properties(o).Compatible&h != 0) {
				t.Errorf("compatibility of %v and %v is one-sided", h, o)
			}
			if p.Features != 0 && Properties(o).Features != 0 && Together(h|o) != together {
				t.Errorf("%v and %v together: %v", h, o, !together)
			}
			exports := Properties(o).Features&vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT != 0
			if p.ExportFromImported&o != 0 && (!together || !exports) {
				t.Errorf("%v can be exported from imported %v", o, h)
			}
		}
	}
	if !Together(0) || Together(2) || Together(opaque|host) || Together(opaque|2) {
		t.Error("Together accepts what is not supported, or refuses what is")
	}
}

func TestMemoryTypes(t *testing.T) {
	types := []memory.Type{
		{}, {Flags: vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT}, {Flags: vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV},
	}
	for handles, want := range map[vk.ExternalMemoryHandleTypeFlags]uint32{
		0: 0b111, opaque: 0b111, dma: 0b111, rdma: 0b100, host: 0b010, opaque | rdma: 0b100, rdma | host: 0,
	} {
		if got := MemoryTypes(handles, types); got != want {
			t.Errorf("%v: %#b, want %#b", handles, got, want)
		}
	}
}

func TestExportSets(t *testing.T) {
	a := Allocation{
		Type:     memory.Type{Flags: vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV},
		Features: map[string]bool{"externalMemoryRDMA": true},
	}
	imported, fromHost := a, a
	imported.Imported, fromHost.Imported = opaque, host
	for _, good := range []vk.ExternalMemoryHandleTypeFlags{0, opaque, rdma, opaque | rdma} {
		if err := (Set{Types: good}).Check(&a); err != nil {
			t.Errorf("%v: %v", good, err)
		}
		if err := (Set{Types: good}).Check(&imported); err != nil {
			t.Errorf("%v again: %v", good, err)
		}
	}
	const rule = vk.VUID_VkExportMemoryAllocateInfo_handleTypes_09860
	for _, bad := range []vk.ExternalMemoryHandleTypeFlags{host, hostMap, opaque | host, 2, 1 << 31} {
		wantInvalid(t, Set{Types: bad}.Check(&a), rule, "export")
		wantInvalid(t, Set{Types: bad}.Check(&imported), rule, "export")
	}
	wantInvalid(t, Set{Types: opaque}.Check(&fromHost), rule, "imported from")
	wantInvalid(t, Set{NV: win32}.Check(&fromHost), rule, "imported from")
	if err := (Set{}).Check(&fromHost); err != nil {
		t.Error(err)
	}
	without := a
	without.Features = nil
	wantInvalid(t, Set{Types: rdma}.Check(&without), rule, "externalMemoryRDMA")
	incapable := a
	incapable.Type.Flags = vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT
	wantInvalid(t, Set{Types: rdma | opaque}.Check(&incapable), rule, "can't be exported")
	for set, want := range map[Set]bool{
		{}: false, {Types: rdma}: true, {Types: opaque}: false, {Types: rdma | opaque}: false, {NV: win32}: false,
	} {
		if set.AddressOnly() != want {
			t.Errorf("%v: address only: %v", set, !want)
		}
	}
}

const win32 = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV

func TestNVRules(t *testing.T) {
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
	}
	const kmt = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT_NV
	for set, bad := range map[vk.ExternalMemoryHandleTypeFlagsNV]vk.ExternalMemoryHandleTypeFlagsNV{
		kmt: kmt, kmt | win32: kmt, 4 | win32: 4,
	} {
		wantInvalid(t, Set{NV: set}.Check(&Allocation{}), vk.NoVUID, "as NV handle type "+bad.String())
		if got := (Set{NV: set}).String(); got != set.String() {
			t.Errorf("the set is shown as %s, not as %v", got, set)
		}
	}
	if err := (Set{NV: win32}).Check(&Allocation{}); err != nil {
		t.Error(err)
	}
}

// TestReadChain: what structures of the chain say, with the rules about two of them.
func TestReadChain(t *testing.T) {
	fd := &vk.ImportMemoryFdInfoKHR{SType: vk.STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, HandleType: opaque, Fd: 7}
	pages := &vk.ImportMemoryHostPointerInfoEXT{SType: vk.STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
		PNext: unsafe.Pointer(fd), HandleType: host, PHostPointer: unsafe.Pointer(fd)}
	_, err := ReadImport(unsafe.Pointer(pages))
	wantInvalid(t, err, vk.VUID_VkMemoryAllocateInfo_None_06657, "one handle")
	if h, err := ReadImport(unsafe.Pointer(fd)); err != nil || h != (Handle{Type: opaque, By: FileDescriptor, FD: 7}) {
		t.Errorf("%+v, %v", h, err)
	}
	fd.HandleType = 0 // ignored
	h, err := ReadImport(unsafe.Pointer(pages))
	if err != nil || h != (Handle{Type: host, By: HostPointer, Pointer: unsafe.Pointer(fd)}) {
		t.Errorf("%+v, %v", h, err)
	}
	pages.HandleType = 0
	if h, err := ReadImport(unsafe.Pointer(pages)); err != nil || h != (Handle{}) {
		t.Errorf("%+v, %v", h, err)
	}
	older := &vk.ExportMemoryAllocateInfoNV{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO_NV, HandleTypes: win32}
	newer := &vk.ExportMemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		PNext: unsafe.Pointer(older), HandleTypes: opaque | rdma}
	_, err = ReadSet(unsafe.Pointer(newer))
	wantInvalid(t, err, vk.VUID_VkMemoryAllocateInfo_pNext_00640, "exclude")
	older.HandleTypes = 0
	if s, err := ReadSet(unsafe.Pointer(newer)); err != nil || s != (Set{Types: opaque | rdma}) {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := ReadSet(nil); err != nil || !s.Empty() {
		t.Errorf("%v, %v", s, err)
	}
}

// allocation is a Memory without a device.
type allocation struct {
	p   *memory.Payload
	set Set
}

func (a allocation) Payload() *memory.Payload       { return a.p }
func (a allocation) ExportSet() Set                 { return a.set }
func (a allocation) RemoteAddress() (uint64, error) { return 1 << 40, nil }

// exportFD exports memory that was allocated as its metadata says.
func exportFD(p *memory.Payload, handleType vk.ExternalMemoryHandleTypeFlags) (int, error) {
	m := p.Metadata()
	set := Set{m.HandleTypes, m.HandleTypesNV}
	if _, file := p.FD(); file && m.Size == 0 { // an imported dma-buf
		set.Types = handleType
	}
	h, err := Export(allocation{p, set}, FileDescriptor, handleType)
	return h.FD, err
}

func importFD(raw int, handleType vk.ExternalMemoryHandleTypeFlags, want Expect) (*memory.Payload, error) {
	return Import(Handle{Type: handleType, By: FileDescriptor, FD: raw}, &want)
}

func importPointer(at unsafe.Pointer, size uint64, handleType vk.ExternalMemoryHandleTypeFlags) (*memory.Payload,
	error) {
	return Import(Handle{Type: handleType, By: HostPointer, Pointer: at}, &Expect{Size: size, Properties: visible})
}

func fdProperties(raw int, handleType vk.ExternalMemoryHandleTypeFlags) (uint32, error) {
	return Inspect(Handle{Type: handleType, By: FileDescriptor, FD: raw}, types)
}

func pointerProperties(at unsafe.Pointer, handleType vk.ExternalMemoryHandleTypeFlags) (uint32, error) {
	return Inspect(Handle{Type: handleType, By: HostPointer, Pointer: at}, types)
}

func TestExportFD(t *testing.T) {
	fdtest.NoLeaks(t)
	p := newSample(t)
	defer p.Release()
	own, _ := p.FD()
	var fds []int
	for range 3 {
		fd, err := exportFD(p, opaque)
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
	_, err := exportFD(p, rdma)
	wantInvalid(t, err, vk.VUID_VkMemoryGetFdInfoKHR_handleType_00672, "not a file descriptor")
	anonymous, err := memory.NewAnonymous(1)
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Release()
	_, err = exportFD(anonymous, opaque)
	wantInvalid(t, err, vk.VUID_VkMemoryGetFdInfoKHR_handleType_00671, "allocated to be exported as")
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
	_, err := exportFD(p, opaque)
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); e != nil {
		t.Fatal(e)
	}
	var e *vk.Error
	if !errors.As(err, &e) || e.Result != vk.ERROR_TOO_MANY_OBJECTS {
		t.Errorf("%v", err)
	}
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

func TestFDProperties(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	fd, _ := p.FD()
	_, err := fdProperties(fd, opaque)
	wantInvalid(t, err, vk.VUID_vkGetMemoryFdPropertiesKHR_handleType_00674, "nothing is known")
	if DMABufAvailable() {
		_, err = fdProperties(fd, dma)
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
		_, err := importFD(0, dma, expectSample())
		wantInvalid(t, err, vk.VUID_VkImportMemoryFdInfoKHR_handleType_09862, udmabufDevice)
	}
}

func TestDMABuf(t *testing.T) {
	if !DMABufAvailable() {
		t.Skip("this machine has no /dev/udmabuf")
	}
	fdtest.NoLeaks(t)
	m := sample
	m.HandleTypes = dma
	p, err := memory.NewShared(sampleSize, m)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	fd, err := exportFD(p, dma)
	if err != nil {
		t.Fatal(err)
	}
	if bits, err := fdProperties(fd, dma); err != nil || bits != 0b1101 { // all but the second, RDMA_CAPABLE
		t.Errorf("types %#b, %v", bits, err)
	}
	want := expectSample()
	_, err = importFD(fd, dma, want)
	wantInvalid(t, err, vk.VUID_VkMemoryAllocateInfo_memoryTypeIndex_00648, "memory type 1")
	want.MemoryType, want.Properties = 2, types[2].Flags
	want.Size = 1 << 20
	_, err = importFD(fd, dma, want)
	wantInvalid(t, err, vuidFDSize, "bytes")
	want.Size = sampleSize
	q, err := importFD(fd, dma, want)
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
	again, err := exportFD(q, dma)
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
	fd, err := exportFD(p, opaque)
	if err != nil {
		return err
	}
	id := binary.LittleEndian.AppendUint64(nil, p.ID())
	return unix.Sendmsg(3, id, unix.UnixRights(fd), nil, 0)
}

func BenchmarkImport(b *testing.B) {
	p, err := memory.NewShared(sampleSize, sample)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	for b.Loop() {
		fd, err := exportFD(p, opaque)
		if err != nil {
			b.Fatal(err)
		}
		q, err := importFD(fd, opaque, expectSample())
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
		fd, err := exportFD(p, opaque)
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
