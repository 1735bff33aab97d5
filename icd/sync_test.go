package icd

import (
	"log/slog"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

// syncDevice has timeline semaphores, and a messenger at the inbox.
func syncDevice(t *testing.T) *device {
	t.Helper()
	captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	return timelineDevice(t, i)
}

func timelineDevice(t *testing.T, i *instance) *device {
	f := vk.PhysicalDeviceTimelineSemaphoreFeatures{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
		TimelineSemaphore: vk.TRUE}
	return propertiesDevice(t, i, unsafe.Pointer(&f))
}

// wantReports wants exactly these rules to have been reported since the last call.
func wantReports(t *testing.T, what string, rules ...string) {
	t.Helper()
	var got []string
	for _, m := range takeInbox() {
		got = append(got, m.id)
	}
	if !slices.Equal(got, rules) {
		t.Errorf("%s: reported %v, want %v", what, got, rules)
	}
}

func wantResult(t *testing.T, what string, got, want vk.Result) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func newTestFence(t *testing.T, d *device, flags vk.FenceCreateFlags, types vk.ExternalFenceHandleTypeFlags) vk.Fence {
	t.Helper()
	var h vk.Fence
	e := vk.ExportFenceCreateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO, HandleTypes: types}
	info := vk.FenceCreateInfo{SType: vk.STRUCTURE_TYPE_FENCE_CREATE_INFO, PNext: unsafe.Pointer(&e), Flags: flags}
	if r := commands.CreateFence(d.handle, &info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateFence: %v, handle %#x", r, uint64(h))
	}
	return h
}

const (
	binaryType   = vk.SEMAPHORE_TYPE_BINARY
	timelineType = vk.SEMAPHORE_TYPE_TIMELINE
)

func createTestSemaphore(d *device, kind vk.SemaphoreType, initial uint64,
	types vk.ExternalSemaphoreHandleTypeFlags) (vk.Semaphore, vk.Result) {
	h := vk.Semaphore(1)
	e := vk.ExportSemaphoreCreateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, HandleTypes: types}
	k := vk.SemaphoreTypeCreateInfo{SType: vk.STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, PNext: unsafe.Pointer(&e),
		SemaphoreType: kind, InitialValue: initial}
	info := vk.SemaphoreCreateInfo{SType: vk.STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, PNext: unsafe.Pointer(&k)}
	r := commands.CreateSemaphore(d.handle, &info, nil, &h)
	return h, r
}

func newTestSemaphore(t *testing.T, d *device, kind vk.SemaphoreType, initial uint64,
	types vk.ExternalSemaphoreHandleTypeFlags) vk.Semaphore {
	t.Helper()
	h, r := createTestSemaphore(d, kind, initial, types)
	if r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateSemaphore: %v, handle %#x", r, uint64(h))
	}
	return h
}

// signalled stands for a queue that has signalled the current payload.
func (c *carrier) signalled(t *testing.T) {
	t.Helper()
	p := c.payload()
	defer p.Release()
	if err := p.Signal(1); err != nil {
		t.Fatal(err)
	}
}

func waitFences(d *device, all bool, timeout time.Duration, list ...vk.Fence) vk.Result {
	return commands.WaitForFences(d.handle, uint32(len(list)), unsafe.SliceData(list), bool32(all), uint64(timeout))
}

func descriptorCount(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestFences(t *testing.T) {
	d := syncDevice(t)
	open, done := newTestFence(t, d, 0, 0), newTestFence(t, d, vk.FENCE_CREATE_SIGNALED_BIT, 0)
	wantResult(t, "a new fence", commands.GetFenceStatus(d.handle, open), vk.NOT_READY)
	wantResult(t, "a fence created signalled", commands.GetFenceStatus(d.handle, done), vk.SUCCESS)
	wantResult(t, "any", waitFences(d, false, time.Minute, open, done), vk.SUCCESS)
	wantResult(t, "all, now", waitFences(d, true, 0, open, done), vk.TIMEOUT)
	start := time.Now()
	wantResult(t, "all", waitFences(d, true, 20*time.Millisecond, done, open), vk.TIMEOUT)
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("a timeout of 20 ms came after %v", took)
	}
	got := make(chan vk.Result)
	many := []vk.Fence{done, done, done, done, done, open}
	go func() { got <- waitFences(d, true, math.MaxInt64, many...) }()
	fences.Get(uint64(open)).signalled(t)
	wantResult(t, "all, once both are signalled", <-got, vk.SUCCESS)
	both := []vk.Fence{open, done}
	wantResult(t, "vkResetFences", commands.ResetFences(d.handle, 2, &both[0]), vk.SUCCESS)
	for _, h := range both {
		wantResult(t, "a reset fence", commands.GetFenceStatus(d.handle, h), vk.NOT_READY)
		commands.DestroyFence(d.handle, h, nil)
	}
	commands.DestroyFence(d.handle, 0, nil)
	wantReports(t, "valid usage")
	wantResult(t, "a destroyed fence", commands.GetFenceStatus(d.handle, open), vk.ERROR_UNKNOWN)
	wantResult(t, "a destroyed fence", waitFences(d, true, 0, open), vk.ERROR_UNKNOWN)
	commands.DestroyFence(d.handle, open, nil)
	wantReports(t, "a destroyed fence", "VUID-vkGetFenceStatus-fence-parameter", "VUID-vkWaitForFences-pFences-parameter",
		"VUID-vkDestroyFence-fence-parameter")
}

func TestFenceMisuse(t *testing.T) {
	d := syncDevice(t)
	other := timelineDevice(t, d.physical.instance)
	h, foreign := newTestFence(t, d, 0, 0), newTestFence(t, other, 0, 0)
	wantResult(t, "another device's fence", waitFences(d, false, 0, h, foreign), vk.ERROR_UNKNOWN)
	wantReports(t, "another device's fence", "VUID-vkWaitForFences-pFences-parent")
	p := fences.Get(uint64(h)).payload()
	defer p.Release()
	p.Pending(1)
	wantResult(t, "a reset before the signal", commands.ResetFences(d.handle, 1, &h), vk.ERROR_UNKNOWN)
	commands.DestroyFence(d.handle, h, nil)
	wantReports(t, "a fence that a queue will signal", "VUID-vkResetFences-pFences-01123",
		"VUID-vkDestroyFence-fence-01120")
	// The queue still has the payload.
	if err := p.SignalPending(1); err != nil || p.Value() != 1 {
		t.Errorf("the queue's signal: %v", err)
	}
	e := vk.ExportFenceCreateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO, HandleTypes: opaqueFence | syncFence}
	info := vk.FenceCreateInfo{SType: vk.STRUCTURE_TYPE_FENCE_CREATE_INFO, PNext: unsafe.Pointer(&e)}
	wantResult(t, "two handle types", commands.CreateFence(d.handle, &info, nil, &h), vk.ERROR_INVALID_EXTERNAL_HANDLE)
	wantReports(t, "two handle types", "VUID-VkExportFenceCreateInfo-handleTypes-01446")
}

func TestLostDevice(t *testing.T) {
	d := syncDevice(t)
	open, done := newTestFence(t, d, 0, 0), newTestFence(t, d, vk.FENCE_CREATE_SIGNALED_BIT, 0)
	s, value := newTestSemaphore(t, d, timelineType, 3, 0), uint64(0)
	e := newTestEvent(t, d, 0)
	got := make(chan vk.Result)
	go func() { got <- waitFences(d, true, math.MaxInt64, open) }()
	go func() { got <- waitTimelines(d, 0, math.MaxInt64, []vk.Semaphore{s}, []uint64{4}) }()
	d.lost.Store(true)
	if err := d.stop.Signal(1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantResult(t, "a wait that is under way", <-got, vk.ERROR_DEVICE_LOST)
	}
	wantResult(t, "vkWaitForFences", waitFences(d, false, time.Minute, open, open), vk.ERROR_DEVICE_LOST)
	wantResult(t, "a signalled fence", waitFences(d, true, time.Minute, done), vk.SUCCESS)
	wantResult(t, "vkGetFenceStatus", commands.GetFenceStatus(d.handle, open), vk.ERROR_DEVICE_LOST)
	wantResult(t, "vkWaitSemaphores", waitTimelines(d, 0, time.Minute, []vk.Semaphore{s}, []uint64{4}),
		vk.ERROR_DEVICE_LOST)
	wantResult(t, "vkGetSemaphoreCounterValue", commands.GetSemaphoreCounterValue(d.handle, s, &value),
		vk.ERROR_DEVICE_LOST)
	wantResult(t, "vkGetEventStatus", commands.GetEventStatus(d.handle, e), vk.ERROR_DEVICE_LOST)
	// What was lost is not each wait's error to report.
	wantReports(t, "a lost device")
}

// A wait that can never end loses the device, and says why.
func TestOrphanedFence(t *testing.T) {
	d := syncDevice(t)
	origin := syncobj.New(syncobj.Fence, 0)
	fd, err := origin.ExportSyncFile()
	if err != nil {
		t.Fatal(err)
	}
	h := newTestFence(t, d, 0, 0)
	wantResult(t, "vkImportFenceFdKHR", commands.ImportFenceFdKHR(d.handle, &vk.ImportFenceFdInfoKHR{
		Fence: h, Flags: vk.FENCE_IMPORT_TEMPORARY_BIT, HandleType: syncFence, Fd: int32(fd)}), vk.SUCCESS)
	wantResult(t, "vkGetFenceStatus", commands.GetFenceStatus(d.handle, h), vk.NOT_READY)
	origin.Release()
	wantResult(t, "vkWaitForFences", waitFences(d, true, time.Minute, h), vk.ERROR_DEVICE_LOST)
	if m := takeInbox(); len(m) != 1 || m[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT {
		t.Errorf("reported %+v", m)
	}
	if !d.lost.Load() || d.stop.Value() == 0 {
		t.Error("the device is not lost")
	}
}

func waitTimelines(d *device, flags vk.SemaphoreWaitFlags, timeout time.Duration, list []vk.Semaphore,
	values []uint64) vk.Result {
	info := vk.SemaphoreWaitInfo{SType: vk.STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, Flags: flags,
		SemaphoreCount: uint32(len(list)),
		PSemaphores:    unsafe.SliceData(list), PValues: unsafe.SliceData(values)}
	return commands.WaitSemaphores(d.handle, &info, uint64(timeout))
}

func TestTimelineSemaphores(t *testing.T) {
	d := syncDevice(t)
	a, b := newTestSemaphore(t, d, timelineType, 5, 0), newTestSemaphore(t, d, timelineType, math.MaxUint64-1, 0)
	var value uint64
	wantResult(t, "vkGetSemaphoreCounterValue", commands.GetSemaphoreCounterValue(d.handle, a, &value), vk.SUCCESS)
	if value != 5 {
		t.Errorf("the counter is %d", value)
	}
	both, end := []vk.Semaphore{a, b}, uint64(math.MaxUint64)
	wantResult(t, "all", waitTimelines(d, 0, 0, both, []uint64{5, end - 1}), vk.SUCCESS)
	wantResult(t, "all, one not there", waitTimelines(d, 0, time.Millisecond, both, []uint64{5, end}), vk.TIMEOUT)
	wantResult(t, "any", waitTimelines(d, vk.SEMAPHORE_WAIT_ANY_BIT, time.Minute, both, []uint64{6, end - 1}), vk.SUCCESS)
	got := make(chan vk.Result)
	go func() { got <- waitTimelines(d, 0, math.MaxInt64, both, []uint64{9, end}) }()
	for _, s := range []vk.SemaphoreSignalInfo{{Semaphore: b, Value: end}, {Semaphore: a, Value: 8},
		{Semaphore: a, Value: 1 << 40}} {
		wantResult(t, "vkSignalSemaphore", commands.SignalSemaphore(d.handle, &s), vk.SUCCESS)
	}
	wantResult(t, "a wait before the signal", <-got, vk.SUCCESS)
	wantReports(t, "valid usage")
	wantResult(t, "backwards", commands.SignalSemaphore(d.handle, &vk.SemaphoreSignalInfo{Semaphore: a, Value: 1 << 40}),
		vk.ERROR_UNKNOWN)
	wantReports(t, "backwards", "VUID-VkSemaphoreSignalInfo-value-03258")
	for _, h := range both {
		commands.DestroySemaphore(d.handle, h, nil)
	}
	wantResult(t, "a destroyed semaphore", waitTimelines(d, 0, 0, both, []uint64{0, 0}), vk.ERROR_UNKNOWN)
	commands.DestroySemaphore(d.handle, a, nil)
	commands.DestroySemaphore(d.handle, 0, nil)
	wantReports(t, "a destroyed semaphore", "VUID-VkSemaphoreWaitInfo-pSemaphores-parameter",
		"VUID-vkDestroySemaphore-semaphore-parameter")
}

func TestSemaphoreMisuse(t *testing.T) {
	d := syncDevice(t)
	b := newTestSemaphore(t, d, binaryType, 0, 0)
	var value uint64
	wantResult(t, "a binary counter", commands.GetSemaphoreCounterValue(d.handle, b, &value), vk.ERROR_UNKNOWN)
	wantResult(t, "a host wait for a binary one", waitTimelines(d, 0, 0, []vk.Semaphore{b}, []uint64{1}), vk.ERROR_UNKNOWN)
	wantResult(t, "a host signal of a binary one",
		commands.SignalSemaphore(d.handle, &vk.SemaphoreSignalInfo{Semaphore: b, Value: 1}), vk.ERROR_UNKNOWN)
	wantReports(t, "a binary semaphore at the host", "VUID-vkGetSemaphoreCounterValue-semaphore-03255",
		"VUID-VkSemaphoreWaitInfo-pSemaphores-03256", "VUID-VkSemaphoreSignalInfo-semaphore-03257")
	for _, h := range []vk.Semaphore{b, newTestSemaphore(t, d, timelineType, 5, 0)} {
		p := semaphores.Get(uint64(h)).payload()
		p.Pending(1)
		commands.DestroySemaphore(d.handle, h, nil)
		p.Pending(-1)
		p.Release()
		wantReports(t, "a semaphore that a queue will signal", "VUID-vkDestroySemaphore-semaphore-05149")
	}
	plain := propertiesDevice(t, d.physical.instance, nil)
	lacking(t, plain, "timelineSemaphore")
	for _, c := range []struct {
		d       *device
		kind    vk.SemaphoreType
		initial uint64
		types   vk.ExternalSemaphoreHandleTypeFlags
		want    vk.Result
		rule    string
	}{
		{plain, timelineType, 0, 0, vk.ERROR_UNKNOWN, "VUID-VkSemaphoreTypeCreateInfo-timelineSemaphore-03252"},
		{d, binaryType, 1, 0, vk.ERROR_UNKNOWN, "VUID-VkSemaphoreTypeCreateInfo-semaphoreType-03279"},
		{d, 7, 0, 0, vk.ERROR_UNKNOWN, "VUID-VkSemaphoreTypeCreateInfo-semaphoreType-parameter"},
		{d, timelineType, 0, syncSemaphore, vk.ERROR_INVALID_EXTERNAL_HANDLE,
			"VUID-VkExportSemaphoreCreateInfo-handleTypes-01124"},
		{d, binaryType, 0, syncSemaphore | opaqueSemaphore, vk.ERROR_INVALID_EXTERNAL_HANDLE,
			"VUID-VkExportSemaphoreCreateInfo-handleTypes-01124"},
		{d, binaryType, 0, vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE_BIT, vk.ERROR_INVALID_EXTERNAL_HANDLE,
			"VUID-VkExportSemaphoreCreateInfo-handleTypes-01124"},
	} {
		h, r := createTestSemaphore(c.d, c.kind, c.initial, c.types)
		wantResult(t, c.rule, r, c.want)
		wantReports(t, "vkCreateSemaphore", c.rule)
		if h != 0 {
			t.Errorf("%s: handle %#x", c.rule, uint64(h))
		}
	}
}

func newTestEvent(t *testing.T, d *device, flags vk.EventCreateFlags) vk.Event {
	t.Helper()
	var h vk.Event
	info := vk.EventCreateInfo{SType: vk.STRUCTURE_TYPE_EVENT_CREATE_INFO, Flags: flags}
	if r := commands.CreateEvent(d.handle, &info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateEvent: %v, handle %#x", r, uint64(h))
	}
	return h
}

func TestEvents(t *testing.T) {
	d := syncDevice(t)
	h := newTestEvent(t, d, 0)
	for range 2 {
		wantResult(t, "an event", commands.GetEventStatus(d.handle, h), vk.EVENT_RESET)
		wantResult(t, "vkSetEvent", commands.SetEvent(d.handle, h), vk.SUCCESS)
		wantResult(t, "vkSetEvent again", commands.SetEvent(d.handle, h), vk.SUCCESS)
		wantResult(t, "a set event", commands.GetEventStatus(d.handle, h), vk.EVENT_SET)
		wantResult(t, "vkResetEvent", commands.ResetEvent(d.handle, h), vk.SUCCESS)
	}
	commands.DestroyEvent(d.handle, h, nil)
	commands.DestroyEvent(d.handle, 0, nil)
	wantReports(t, "valid usage")
	only := newTestEvent(t, d, vk.EVENT_CREATE_DEVICE_ONLY_BIT)
	for _, e := range []vk.Event{only, h} {
		wantResult(t, "vkSetEvent", commands.SetEvent(d.handle, e), vk.ERROR_UNKNOWN)
		wantResult(t, "vkResetEvent", commands.ResetEvent(d.handle, e), vk.ERROR_UNKNOWN)
		wantResult(t, "vkGetEventStatus", commands.GetEventStatus(d.handle, e), vk.ERROR_UNKNOWN)
	}
	commands.DestroyEvent(d.handle, h, nil)
	wantReports(t, "misuse", "VUID-vkSetEvent-event-03941", "VUID-vkResetEvent-event-03823",
		"VUID-vkGetEventStatus-event-03940",
		"VUID-vkSetEvent-event-parameter", "VUID-vkResetEvent-event-parameter", "VUID-vkGetEventStatus-event-parameter",
		"VUID-vkDestroyEvent-event-parameter")
}

// What the application leaves on a device goes with it, and so do the descriptors.
func TestDeviceTakesSyncObjectsDown(t *testing.T) {
	before := descriptorCount(t)
	d := syncDevice(t)
	counts := func() [3]int { return [3]int{fences.Len(), semaphores.Len(), events.Len()} }
	live := counts()
	newTestFence(t, d, 0, opaqueFence)
	newTestSemaphore(t, d, timelineType, 0, opaqueSemaphore)
	s := newTestSemaphore(t, d, binaryType, 0, syncSemaphore)
	newTestEvent(t, d, 0)
	p := semaphores.Get(uint64(s)).payload()
	p.Pending(1)
	fd, err := semaphores.Get(uint64(s)).exportFD(syncSemaphore)
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, "vkImportSemaphoreFdKHR", commands.ImportSemaphoreFdKHR(d.handle, &vk.ImportSemaphoreFdInfoKHR{
		Semaphore: s, Flags: vk.SEMAPHORE_IMPORT_TEMPORARY_BIT, HandleType: syncSemaphore, Fd: int32(fd)}), vk.SUCCESS)
	commands.DestroyDevice(d.handle, nil)
	p.Release()
	if counts() != live {
		t.Errorf("%v objects before, %v after", live, counts())
	}
	wantReports(t, "leaks", slices.Repeat([]string{"VUID-vkDestroyDevice-device-05137"}, 4)...)
	for start := time.Now(); descriptorCount(t) != before; runtime.Gosched() {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d descriptors before, %d after", before, descriptorCount(t))
		}
	}
}

// openDescriptors counts the process's file descriptors.
func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestRefusedWaitsKeepNothing waits for lists that are refused because of their last element, stale, of another device
// or of the wrong kind: payloads of those before it go with their fences and semaphores.
func TestRefusedWaitsKeepNothing(t *testing.T) {
	d := syncDevice(t)
	e := timelineDevice(t, d.physical.instance)
	foreignFence := newTestFence(t, e, 0, 0)
	foreignSemaphore := newTestSemaphore(t, e, timelineType, 0, 0)
	binary := newTestSemaphore(t, d, binaryType, 0, 0)
	before := openDescriptors(t)
	for _, last := range []vk.Fence{foreignFence, 0xdead, 0} {
		list := []vk.Fence{newTestFence(t, d, 0, opaqueFence), newTestFence(t, d, 0, opaqueFence), last}
		wantResult(t, "vkWaitForFences", commands.WaitForFences(d.handle, 3, &list[0], vk.TRUE, 0), vk.ERROR_UNKNOWN)
		wantResult(t, "vkResetFences", commands.ResetFences(d.handle, 3, &list[0]), vk.ERROR_UNKNOWN)
		for _, h := range list[:2] {
			commands.DestroyFence(d.handle, h, nil)
		}
	}
	wantReports(t, "fences", "VUID-vkWaitForFences-pFences-parent", "VUID-vkResetFences-pFences-parent",
		"VUID-vkWaitForFences-pFences-parameter", "VUID-vkResetFences-pFences-parameter",
		"VUID-vkWaitForFences-pFences-parameter", "VUID-vkResetFences-pFences-parameter")
	for _, last := range []vk.Semaphore{foreignSemaphore, 0xdead, binary} {
		list := []vk.Semaphore{
			newTestSemaphore(t, d, timelineType, 0, opaqueSemaphore), newTestSemaphore(t, d, timelineType, 0, opaqueSemaphore),
			last,
		}
		wantResult(t, "vkWaitSemaphores", waitTimelines(d, 0, 0, list, []uint64{0, 0, 0}), vk.ERROR_UNKNOWN)
		for _, h := range list[:2] {
			commands.DestroySemaphore(d.handle, h, nil)
		}
	}
	wantReports(t, "semaphores", "VUID-VkSemaphoreWaitInfo-pSemaphores-parameter",
		"VUID-VkSemaphoreWaitInfo-pSemaphores-parameter",
		"VUID-VkSemaphoreWaitInfo-pSemaphores-03256")
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors, %d before: payloads are left", after, before)
	}
}
