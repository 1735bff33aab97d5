package icd

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

func TestExternalSyncProperties(t *testing.T) {
	d := syncDevice(t)
	const fenceFull = vk.EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT | vk.EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT
	for ht, want := range map[vk.ExternalFenceHandleTypeFlagBits]vk.ExternalFenceFeatureFlags{
		opaqueFence: fenceFull, syncFence: fenceFull, opaqueFence | syncFence: 0, 0: 0,
		vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT: 0,
	} {
		out := vk.ExternalFenceProperties{ExternalFenceFeatures: 99, CompatibleHandleTypes: 99,
			ExportFromImportedHandleTypes: 99}
		commands.GetPhysicalDeviceExternalFenceProperties(d.physical.handle,
			&vk.PhysicalDeviceExternalFenceInfo{HandleType: ht}, &out)
		types := ht
		if want == 0 {
			types = 0
		}
		if out.ExternalFenceFeatures != want || out.CompatibleHandleTypes != types ||
			out.ExportFromImportedHandleTypes != types {
			t.Errorf("%v: %+v", ht, out)
		}
	}
	const full = vk.EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | vk.EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT
	for _, c := range []struct {
		ht   vk.ExternalSemaphoreHandleTypeFlagBits
		kind vk.SemaphoreType
		want vk.ExternalSemaphoreFeatureFlags
	}{
		{opaqueSemaphore, binaryType, full}, {opaqueSemaphore, timelineType, full}, {syncSemaphore, binaryType, full},
		{syncSemaphore, timelineType, 0},
		{opaqueSemaphore | syncSemaphore, binaryType, 0}, {0, binaryType, 0},
		{vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT, timelineType, 0},
	} {
		k := vk.SemaphoreTypeCreateInfo{SType: vk.STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, SemaphoreType: c.kind}
		info := vk.PhysicalDeviceExternalSemaphoreInfo{PNext: unsafe.Pointer(&k), HandleType: c.ht}
		out := vk.ExternalSemaphoreProperties{ExternalSemaphoreFeatures: 99, CompatibleHandleTypes: 99,
			ExportFromImportedHandleTypes: 99}
		commands.GetPhysicalDeviceExternalSemaphoreProperties(d.physical.handle, &info, &out)
		types := c.ht
		if c.want == 0 {
			types = 0
		}
		if out.ExternalSemaphoreFeatures != c.want || out.CompatibleHandleTypes != types ||
			out.ExportFromImportedHandleTypes != types {
			t.Errorf("%v, %v: %+v", c.ht, c.kind, out)
		}
	}
}

func fenceFD(t *testing.T, d *device, h vk.Fence, ht vk.ExternalFenceHandleTypeFlagBits) int32 {
	t.Helper()
	fd := int32(-2)
	if r := commands.GetFenceFdKHR(d.handle, &vk.FenceGetFdInfoKHR{Fence: h, HandleType: ht}, &fd); r != vk.SUCCESS ||
		fd < 0 {
		t.Fatalf("vkGetFenceFdKHR: %v, fd %d", r, fd)
	}
	return fd
}

func semaphoreFD(t *testing.T, d *device, h vk.Semaphore, ht vk.ExternalSemaphoreHandleTypeFlagBits) int32 {
	t.Helper()
	fd := int32(-2)
	if r := commands.GetSemaphoreFdKHR(d.handle, &vk.SemaphoreGetFdInfoKHR{Semaphore: h, HandleType: ht}, &fd); r !=
		vk.SUCCESS || fd < 0 {
		t.Fatalf("vkGetSemaphoreFdKHR: %v, fd %d", r, fd)
	}
	return fd
}

func importFence(d *device, h vk.Fence, ht vk.ExternalFenceHandleTypeFlagBits, flags vk.FenceImportFlags,
	fd int32) vk.Result {
	return commands.ImportFenceFdKHR(d.handle, &vk.ImportFenceFdInfoKHR{Fence: h, HandleType: ht, Flags: flags, Fd: fd})
}

func importSemaphore(d *device, h vk.Semaphore, ht vk.ExternalSemaphoreHandleTypeFlagBits,
	flags vk.SemaphoreImportFlags, fd int32) vk.Result {
	return commands.ImportSemaphoreFdKHR(d.handle,
		&vk.ImportSemaphoreFdInfoKHR{Semaphore: h, HandleType: ht, Flags: flags, Fd: fd})
}

// An opaque descriptor is a reference: permanent until it is replaced, temporary until the reset.
func TestOpaqueFence(t *testing.T) {
	d := syncDevice(t)
	e := timelineDevice(t, d.physical.instance)
	source := newTestFence(t, d, 0, opaqueFence)
	permanent, temporary := newTestFence(t, e, 0, 0), newTestFence(t, e, vk.FENCE_CREATE_SIGNALED_BIT, 0)
	wantResult(t, "permanent", importFence(e, permanent, opaqueFence, 0, fenceFD(t, d, source, opaqueFence)), vk.SUCCESS)
	wantResult(t, "temporary", importFence(e, temporary, opaqueFence, vk.FENCE_IMPORT_TEMPORARY_BIT,
		fenceFD(t, e, permanent, opaqueFence)), vk.SUCCESS)
	wantResult(t, "temporary payload", commands.GetFenceStatus(e.handle, temporary), vk.NOT_READY)
	fences.Get(uint64(source)).signalled(t)
	wantResult(t, "both imports", waitFences(e, true, time.Minute, permanent, temporary), vk.SUCCESS)
	wantResult(t, "reset of the temporary", commands.ResetFences(e.handle, 1, &temporary), vk.SUCCESS)
	wantResult(t, "the source", commands.GetFenceStatus(d.handle, source), vk.SUCCESS)
	wantResult(t, "the fence's own payload", commands.GetFenceStatus(e.handle, temporary), vk.NOT_READY)
	wantResult(t, "reset of the permanent", commands.ResetFences(e.handle, 1, &permanent), vk.SUCCESS)
	wantResult(t, "the source", commands.GetFenceStatus(d.handle, source), vk.NOT_READY)
	commands.DestroyFence(d.handle, source, nil)
	fences.Get(uint64(permanent)).signalled(t)
	wantResult(t, "the import, without its source", commands.GetFenceStatus(e.handle, permanent), vk.SUCCESS)
	wantReports(t, "valid usage")
}

func TestOpaqueSemaphores(t *testing.T) {
	d := syncDevice(t)
	e := timelineDevice(t, d.physical.instance)
	source, far := newTestSemaphore(t, d, timelineType, 7, opaqueSemaphore), newTestSemaphore(t, e, timelineType, 0, 0)
	wantResult(t, "timeline", importSemaphore(e, far, opaqueSemaphore, 0, semaphoreFD(t, d, source, opaqueSemaphore)),
		vk.SUCCESS)
	wantResult(t, "vkSignalSemaphore", commands.SignalSemaphore(e.handle,
		&vk.SemaphoreSignalInfo{Semaphore: far, Value: 8}), vk.SUCCESS)
	wantResult(t, "the other device", waitTimelines(d, 0, time.Minute, []vk.Semaphore{source}, []uint64{8}), vk.SUCCESS)

	near, own := newTestSemaphore(t, d, binaryType, 0, opaqueSemaphore), newTestSemaphore(t, e, binaryType, 0, 0)
	wantResult(t, "binary", importSemaphore(e, own, opaqueSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT,
		semaphoreFD(t, d, near, opaqueSemaphore)), vk.SUCCESS)
	s := semaphores.Get(uint64(own))
	s.signalled(t)
	p := s.takeWait()
	if !p.TryWait(0) || semaphores.Get(uint64(near)).permanent.Value() != 0 {
		t.Error("the wait does not consume what both share")
	}
	p.Release()
	// The wait has ended the temporary import.
	s.signalled(t)
	p = s.takeWait()
	if p.Shared() || p.Value() != 1 || semaphores.Get(uint64(near)).permanent.Value() != 0 {
		t.Error("the permanent payload is not there again")
	}
	p.Release()
	wantReports(t, "valid usage")
}

// An export by copy has the effects of a wait or a reset, and the copy is signalled when the queue gets
// there.
func TestSyncFiles(t *testing.T) {
	d := syncDevice(t)
	e := timelineDevice(t, d.physical.instance)
	source, far := newTestSemaphore(t, d, binaryType, 0, syncSemaphore), newTestSemaphore(t, e, binaryType, 0, 0)
	queued := semaphores.Get(uint64(source)).payload()
	queued.Pending(1)
	wantResult(t, "pending", importSemaphore(e, far, syncSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT,
		semaphoreFD(t, d, source, syncSemaphore)), vk.SUCCESS)
	// A copy of the copy, which is there although no queue of this device is going to signal it.
	wantResult(t, "again", importSemaphore(e, far, syncSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT,
		semaphoreFD(t, e, far, syncSemaphore)), vk.SUCCESS)
	if semaphores.Get(uint64(source)).pending() {
		t.Error("the exported semaphore is still waiting for the queue")
	}
	fence := newTestFence(t, d, 0, syncFence)
	f := fences.Get(uint64(fence))
	f.signalled(t)
	fd := fenceFD(t, d, fence, syncFence)
	wantResult(t, "an exported fence", commands.GetFenceStatus(d.handle, fence), vk.NOT_READY)
	wantResult(t, "done", importFence(d, fence, syncFence, vk.FENCE_IMPORT_TEMPORARY_BIT, fd), vk.SUCCESS)
	wantResult(t, "an imported fence", waitFences(d, true, time.Minute, fence), vk.SUCCESS)
	wantResult(t, "-1", importFence(d, fence, syncFence, vk.FENCE_IMPORT_TEMPORARY_BIT, -1), vk.SUCCESS)
	wantResult(t, "-1", waitFences(d, true, 0, fence), vk.SUCCESS)
	if err := queued.SignalPending(1); err != nil {
		t.Fatal(err)
	}
	queued.Release()
	p := semaphores.Get(uint64(far)).takeWait()
	defer p.Release()
	for start := time.Now(); !p.TryWait(0); time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the copy of the copy is not signalled")
		}
	}
	wantReports(t, "valid usage")
}

func TestExportRefuses(t *testing.T) {
	d := syncDevice(t)
	fd := int32(-2)
	fenceOf := func(types vk.ExternalFenceHandleTypeFlags) vk.Fence { return newTestFence(t, d, 0, types) }
	for _, c := range []struct {
		h    vk.Fence
		ht   vk.ExternalFenceHandleTypeFlagBits
		rule string
	}{
		{fenceOf(0), opaqueFence, "VUID-VkFenceGetFdInfoKHR-handleType-01453"},
		{fenceOf(opaqueFence), syncFence, "VUID-VkFenceGetFdInfoKHR-handleType-01453"},
		{fenceOf(syncFence), syncFence, "VUID-VkFenceGetFdInfoKHR-handleType-01454"},
		{fenceOf(syncFence), vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT, "VUID-VkFenceGetFdInfoKHR-handleType-01456"},
		{fenceOf(syncFence), 0, "VUID-VkFenceGetFdInfoKHR-handleType-01456"},
	} {
		wantResult(t, c.rule, commands.GetFenceFdKHR(d.handle, &vk.FenceGetFdInfoKHR{Fence: c.h, HandleType: c.ht}, &fd),
			vk.ERROR_INVALID_EXTERNAL_HANDLE)
		wantReports(t, "vkGetFenceFdKHR", c.rule)
	}
	imported := fenceOf(opaqueFence)
	wantResult(t, "-1", importFence(d, imported, syncFence, vk.FENCE_IMPORT_TEMPORARY_BIT, -1), vk.SUCCESS)
	wantResult(t, "imported", commands.GetFenceFdKHR(d.handle,
		&vk.FenceGetFdInfoKHR{Fence: imported, HandleType: opaqueFence}, &fd), vk.ERROR_INVALID_EXTERNAL_HANDLE)
	wantReports(t, "imported", "VUID-VkFenceGetFdInfoKHR-fence-01455")

	semaphoreOf := func(kind vk.SemaphoreType, types vk.ExternalSemaphoreHandleTypeFlags) vk.Semaphore {
		return newTestSemaphore(t, d, kind, 0, types)
	}
	other := semaphoreOf(binaryType, opaqueSemaphore)
	wantResult(t, "-1", importSemaphore(d, other, syncSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT, -1), vk.SUCCESS)
	for _, c := range []struct {
		h    vk.Semaphore
		ht   vk.ExternalSemaphoreHandleTypeFlagBits
		rule string
	}{
		{semaphoreOf(timelineType, 0), opaqueSemaphore, "VUID-VkSemaphoreGetFdInfoKHR-handleType-01132"},
		{semaphoreOf(binaryType, opaqueSemaphore), syncSemaphore, "VUID-VkSemaphoreGetFdInfoKHR-handleType-01132"},
		{semaphoreOf(timelineType, opaqueSemaphore), syncSemaphore, "VUID-VkSemaphoreGetFdInfoKHR-handleType-03253"},
		{semaphoreOf(binaryType, syncSemaphore), syncSemaphore, "VUID-VkSemaphoreGetFdInfoKHR-handleType-03254"},
		{semaphoreOf(binaryType, syncSemaphore), vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE_BIT,
			"VUID-VkSemaphoreGetFdInfoKHR-handleType-01136"},
		{other, opaqueSemaphore, "VUID-VkSemaphoreGetFdInfoKHR-semaphore-01133"},
		{0, opaqueSemaphore, "VUID-VkSemaphoreGetFdInfoKHR-semaphore-parameter"},
	} {
		want := vk.ERROR_INVALID_EXTERNAL_HANDLE
		if c.h == 0 {
			want = vk.ERROR_UNKNOWN
		}
		wantResult(t, c.rule, commands.GetSemaphoreFdKHR(d.handle,
			&vk.SemaphoreGetFdInfoKHR{Semaphore: c.h, HandleType: c.ht}, &fd), want)
		wantReports(t, "vkGetSemaphoreFdKHR", c.rule)
	}
	if fd != -2 {
		t.Errorf("a refused export wrote %d", fd)
	}
}

// A refused import leaves the descriptor to the application and the object as it was.
func TestImportRefusesSync(t *testing.T) {
	d := syncDevice(t)
	t.Setenv("FARSIDE_DEVICE_UUID", "00112233445566778899aabbccddeeff")
	e := timelineDevice(t, testInstance(t, nil)) // another device
	const temporary = vk.FENCE_IMPORT_TEMPORARY_BIT
	fence := newTestFence(t, d, 0, opaqueFence)
	b, s := newTestSemaphore(t, d, binaryType, 0, opaqueSemaphore),
		newTestSemaphore(t, d, timelineType, 0, opaqueSemaphore)
	foreign := newTestFence(t, e, 0, opaqueFence)
	busy := newTestFence(t, d, 0, 0)
	pending := fences.Get(uint64(busy)).payload()
	defer pending.Release()
	pending.Pending(1)
	defer pending.Pending(-1)
	for _, c := range []struct {
		fd    int32
		into  vk.Fence
		ht    vk.ExternalFenceHandleTypeFlagBits
		flags vk.FenceImportFlags
		rule  string
	}{
		{fenceFD(t, d, fence, opaqueFence), fence, vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT, 0,
			"VUID-VkImportFenceFdInfoKHR-handleType-01464"},
		{fenceFD(t, d, fence, opaqueFence), fence, syncFence, 0, "VUID-VkImportFenceFdInfoKHR-handleType-07306"},
		{fenceFD(t, d, fence, opaqueFence), fence, syncFence, temporary, "VUID-VkImportFenceFdInfoKHR-fd-01541"},
		{fenceFD(t, d, fence, opaqueFence), busy, opaqueFence, 0, "VUID-vkImportFenceFdKHR-fence-01463"},
		{semaphoreFD(t, d, b, opaqueSemaphore), fence, opaqueFence, temporary, "VUID-VkImportFenceFdInfoKHR-fd-01541"},
		{fenceFD(t, e, foreign, opaqueFence), fence, opaqueFence, 0, "VUID-VkImportFenceFdInfoKHR-fd-01541"},
	} {
		wantResult(t, c.rule, importFence(d, c.into, c.ht, c.flags, c.fd), vk.ERROR_INVALID_EXTERNAL_HANDLE)
		wantReports(t, "vkImportFenceFdKHR", c.rule)
		if err := unix.Close(int(c.fd)); err != nil {
			t.Errorf("%s: the descriptor is not there any more: %v", c.rule, err)
		}
	}
	wantResult(t, "-1", importFence(d, fence, opaqueFence, temporary, -1), vk.ERROR_INVALID_EXTERNAL_HANDLE)
	takeInbox()
	wantResult(t, "a fence after refused imports", commands.GetFenceStatus(d.handle, fence), vk.NOT_READY)
	if f := fences.Get(uint64(fence)); f.temporary.Payload != nil || f.permanent.imported {
		t.Error("a refused import changed the fence")
	}
	for _, c := range []struct {
		fd    int32
		into  vk.Semaphore
		ht    vk.ExternalSemaphoreHandleTypeFlagBits
		flags vk.SemaphoreImportFlags
		rule  string
	}{
		{semaphoreFD(t, d, b, opaqueSemaphore), b, 0, 0, "VUID-VkImportSemaphoreFdInfoKHR-handleType-01143"},
		{semaphoreFD(t, d, b, opaqueSemaphore), b, syncSemaphore, 0, "VUID-VkImportSemaphoreFdInfoKHR-handleType-07307"},
		{semaphoreFD(t, d, b, opaqueSemaphore), s, opaqueSemaphore, 0, "VUID-VkImportSemaphoreFdInfoKHR-handleType-03264"},
		{semaphoreFD(t, d, s, opaqueSemaphore), b, opaqueSemaphore, 0, "VUID-VkImportSemaphoreFdInfoKHR-handleType-03264"},
		{semaphoreFD(t, d, s, opaqueSemaphore), s, opaqueSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT,
			"VUID-VkImportSemaphoreFdInfoKHR-flags-03323"},
		{semaphoreFD(t, d, s, opaqueSemaphore), s, syncSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT,
			"VUID-VkImportSemaphoreFdInfoKHR-fd-01544"},
		{fenceFD(t, d, fence, opaqueFence), b, opaqueSemaphore, 0, "VUID-VkImportSemaphoreFdInfoKHR-fd-01544"},
	} {
		wantResult(t, c.rule, importSemaphore(d, c.into, c.ht, c.flags, c.fd), vk.ERROR_INVALID_EXTERNAL_HANDLE)
		wantReports(t, "vkImportSemaphoreFdKHR", c.rule)
		if err := unix.Close(int(c.fd)); err != nil {
			t.Errorf("%s: the descriptor is not there any more: %v", c.rule, err)
		}
	}
	wantResult(t, "no fence", importFence(d, 0, opaqueFence, 0, -1), vk.ERROR_UNKNOWN)
	wantResult(t, "no semaphore", importSemaphore(d, 0, opaqueSemaphore, 0, -1), vk.ERROR_UNKNOWN)
	wantReports(t, "no object", "VUID-VkImportFenceFdInfoKHR-fence-parameter",
		"VUID-VkImportSemaphoreFdInfoKHR-semaphore-parameter")
}

// A pipe of the application is no SYNC_FD, whether it is silent, has been written to or has hung up.
func TestImportRefusesForeignPipes(t *testing.T) {
	d := syncDevice(t)
	fence := newTestFence(t, d, 0, syncFence)
	semaphore := newTestSemaphore(t, d, binaryType, 0, syncSemaphore)
	for name, use := range map[string]func(write int){
		"silent":  func(int) {},
		"written": func(write int) { unix.Write(write, []byte{1}) },
		"hung up": func(write int) { unix.Close(write) },
	} {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		use(ends[1])
		wantResult(t, name, importFence(d, fence, syncFence, vk.FENCE_IMPORT_TEMPORARY_BIT, int32(ends[0])),
			vk.ERROR_INVALID_EXTERNAL_HANDLE)
		wantReports(t, "vkImportFenceFdKHR", "VUID-VkImportFenceFdInfoKHR-fd-01541")
		wantResult(t, name, importSemaphore(d, semaphore, syncSemaphore, vk.SEMAPHORE_IMPORT_TEMPORARY_BIT, int32(ends[0])),
			vk.ERROR_INVALID_EXTERNAL_HANDLE)
		wantReports(t, "vkImportSemaphoreFdKHR", "VUID-VkImportSemaphoreFdInfoKHR-fd-01544")
		if err := unix.Close(ends[0]); err != nil {
			t.Errorf("%s: the descriptor is not there any more: %v", name, err)
		}
		if name != "hung up" {
			unix.Close(ends[1])
		}
	}
	if fences.Get(uint64(fence)).temporary.Payload != nil || semaphores.Get(uint64(semaphore)).temporary.Payload != nil {
		t.Error("a refused import changed the object")
	}
}
