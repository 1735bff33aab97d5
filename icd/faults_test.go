package icd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"farside/internal/config"
	"farside/internal/fault"
	"farside/internal/journal"
	"farside/internal/vk"
)

// withFaults installs a plan until the test ends.
func withFaults(t *testing.T, plan string) {
	t.Helper()
	t.Setenv(config.Faults, plan)
	if err := installFaults(&config.Settings{Faults: plan, Log: config.LevelOff}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := installFaults(&config.Settings{}); err != nil {
			t.Error(err)
		}
	})
}

// faultRow is the row of the generated table of calls for a command.
func faultRow(command string) *handleTest {
	at := slices.IndexFunc(handleTests, func(h handleTest) bool { return h.command == command })
	if at < 0 {
		return nil
	}
	return &handleTests[at]
}

// TestEveryResult asks every command for every result that the registry allows for it. The call gives that result and
// changes nothing else, save that VK_ERROR_DEVICE_LOST loses the device.
func TestEveryResult(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	own := handleFamily(t, i)
	answered := 0
	for _, c := range fault.Commands {
		row := faultRow(c.Name())
		if row == nil {
			if c.Name() != "vkCreateInstance" {
				t.Errorf("%s has no generated entry", c.Name())
			}
			continue
		}
		for _, want := range c.Results() {
			if want == vk.INCOMPLETE || want == vk.SUBOPTIMAL_KHR { // TestIncomplete, TestFaultsOfSwapchains
				continue
			}
			if err := installFaults(&config.Settings{}); err != nil {
				t.Fatal(err)
			}
			family := own
			if want == vk.ERROR_DEVICE_LOST || c.Name() == "vkEndCommandBuffer" {
				family = handleFamily(t, i)
			}
			d := devices.Get(uintptr(family[vk.OBJECT_TYPE_DEVICE]))
			withFaults(t, fmt.Sprintf("%s=%v", c.Name(), want))
			before := liveObjects()
			if got := row.call(&handleArgs{own: family, at: -1}); got != want {
				t.Errorf("%s: %v, want %v", c.Name(), got, want)
			}
			if now := liveObjects(); now != before {
				t.Errorf("%s, %v: objects came or went: %s, before %s", c.Name(), want, now, before)
			}
			if lost := want == vk.ERROR_DEVICE_LOST && c.Name() != "vkCreateDevice"; d.lost.Load() != lost {
				t.Errorf("%s, %v: lost is %v", c.Name(), want, !lost)
			}
			answered++
		}
	}
	if answered < 300 {
		t.Errorf("only %d results were asked for", answered)
	}
}

// TestCommandsOfLostDevice calls every command with good handles on a device that was lost: those that wait or submit
// answer VK_ERROR_DEVICE_LOST at once, and no other command does for which the registry doesn't allow it (chapter "Lost
// Device").
func TestCommandsOfLostDevice(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	lost := map[string]bool{"vkDeviceWaitIdle": true, "vkQueueWaitIdle": true, "vkGetEventStatus": true,
		"vkGetFenceStatus": true, "vkWaitForFences": true, "vkGetSemaphoreCounterValue": true, "vkWaitSemaphores": true,
		"vkQueueSubmit": true, "vkQueueSubmit2": true}
	call := func(row *handleTest, family map[vk.ObjectType]uint64) vk.Result {
		d, q := vk.Device(family[vk.OBJECT_TYPE_DEVICE]), vk.Queue(family[vk.OBJECT_TYPE_QUEUE])
		s, value := vk.Semaphore(family[vk.OBJECT_TYPE_SEMAPHORE]), uint64(1)
		switch row.command { // those whose row is wrong in something else than handles
		case "vkQueueSubmit":
			return commands.QueueSubmit(q, 0, nil, vk.Fence(family[vk.OBJECT_TYPE_FENCE]))
		case "vkQueueSubmit2":
			return commands.QueueSubmit2(q, 0, nil, vk.Fence(family[vk.OBJECT_TYPE_FENCE]))
		case "vkWaitSemaphores":
			return commands.WaitSemaphores(d, &vk.SemaphoreWaitInfo{SemaphoreCount: 1, PSemaphores: &s, PValues: &value},
				^uint64(0))
		}
		return row.call(&handleArgs{own: family, at: -1})
	}
	for _, c := range fault.Commands {
		row := faultRow(c.Name())
		if row == nil || row.command == "vkDestroyInstance" {
			continue
		}
		family := handleFamily(t, i)
		d := devices.Get(uintptr(family[vk.OBJECT_TYPE_DEVICE]))
		e := events.Get(family[vk.OBJECT_TYPE_EVENT])
		s := semaphores.Get(family[vk.OBJECT_TYPE_SEMAPHORE])
		s.timeline = strings.Contains(c.Name(), "Semaphore") && !strings.Contains(c.Name(), "Fd")
		if e.payload.Value() != 0 {
			t.Fatal("the event is set")
		}
		d.lose()
		ended := make(chan vk.Result, 1)
		go func() {
			r := vk.ERROR_UNKNOWN // of a panic, since the arguments are mostly nil
			defer func() { _ = recover(); ended <- r }()
			r = call(row, family)
		}()
		select {
		case r := <-ended:
			switch {
			case lost[c.Name()] && r != vk.ERROR_DEVICE_LOST:
				t.Errorf("%s: %v, want VK_ERROR_DEVICE_LOST", c.Name(), r)
			case !slices.Contains(c.Results(), vk.ERROR_DEVICE_LOST) && r == vk.ERROR_DEVICE_LOST:
				t.Errorf("%s answers VK_ERROR_DEVICE_LOST, which the registry does not allow", c.Name())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s does not return", c.Name())
		}
	}
}

// TestUseOfLostDevice: on a lost device memory stays mapped and can be mapped and freed, objects are made and
// destroyed, and a new device works.
func TestUseOfLostDevice(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	d := propertiesDevice(t, i, nil)
	allocate := func(d *device) (m vk.DeviceMemory) {
		t.Helper()
		if r := commands.AllocateMemory(d.handle, &vk.MemoryAllocateInfo{AllocationSize: 4096, MemoryTypeIndex: 2}, nil,
			&m); r != vk.SUCCESS {
			t.Fatalf("vkAllocateMemory: %v", r)
		}
		return m
	}
	mapped := func(d *device, m vk.DeviceMemory) []byte {
		t.Helper()
		var at unsafe.Pointer
		if r := commands.MapMemory(d.handle, m, 0, vk.WHOLE_SIZE, 0, &at); r != vk.SUCCESS {
			t.Fatalf("vkMapMemory: %v", r)
		}
		return unsafe.Slice((*byte)(at), 4096)
	}
	one, two := allocate(d), allocate(d)
	bytes := mapped(d, one)
	bytes[0] = 7
	d.lose()
	if bytes[1] = 8; bytes[0] != 7 {
		t.Error("mapped memory lost what was in it")
	}
	mapped(d, two)[0] = 9
	commands.UnmapMemory(d.handle, one)
	if bytes = mapped(d, one); bytes[0] != 7 || bytes[1] != 8 {
		t.Errorf("mapped again: %v", bytes[:2])
	}
	var f vk.Fence
	if r := commands.CreateFence(d.handle, &vk.FenceCreateInfo{}, nil, &f); r != vk.SUCCESS {
		t.Errorf("vkCreateFence: %v", r)
	}
	if r := commands.WaitForFences(d.handle, 1, &f, vk.TRUE, ^uint64(0)); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("vkWaitForFences: %v", r)
	}
	commands.DestroyFence(d.handle, f, nil)
	commands.FreeMemory(d.handle, one, nil)
	commands.FreeMemory(d.handle, two, nil)
	commands.DestroyDevice(d.handle, nil)
	again := propertiesDevice(t, i, nil)
	if r := commands.DeviceWaitIdle(again.handle); r != vk.SUCCESS {
		t.Errorf("a new device: %v", r)
	}
}

// TestIncomplete: VK_INCOMPLETE comes only where a call asks for elements, and none is written then.
func TestIncomplete(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	withFaults(t, "vkEnumeratePhysicalDevices=VK_INCOMPLETE@1")
	n := uint32(0)
	if r := commands.EnumeratePhysicalDevices(i.handle, &n, nil); r != vk.SUCCESS || n == 0 {
		t.Errorf("the number: %d, %v", n, r)
	}
	list := make([]vk.PhysicalDevice, 8)
	n = 8
	if r := commands.EnumeratePhysicalDevices(i.handle, &n, &list[0]); r != vk.INCOMPLETE || n != 0 || list[0] != 0 {
		t.Errorf("the first list: %d, %v, %v", n, r, list)
	}
	n = 8
	if r := commands.EnumeratePhysicalDevices(i.handle, &n, &list[0]); r != vk.SUCCESS || n == 0 || list[0] == 0 {
		t.Errorf("the second list: %d, %v", n, r)
	}
}

// TestFaultConditions: heap, type, handle type and name pick calls; messengers and the journal are told of each fault.
func TestFaultConditions(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	d := propertiesDevice(t, i, nil)
	allocate := func(typeIndex uint32, exported vk.ExternalMemoryHandleTypeFlags, dedicated vk.Buffer) vk.Result {
		var m vk.DeviceMemory
		export := &vk.ExportMemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, HandleTypes: exported}
		to := &vk.MemoryDedicatedAllocateInfo{SType: vk.STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, Buffer: dedicated,
			PNext: unsafe.Pointer(export)}
		r := commands.AllocateMemory(d.handle, &vk.MemoryAllocateInfo{AllocationSize: 4096, MemoryTypeIndex: typeIndex,
			PNext: unsafe.Pointer(to)}, nil, &m)
		if (m == 0) != (r != vk.SUCCESS) {
			t.Errorf("%v and memory %#x", r, m)
		}
		commands.FreeMemory(d.handle, m, nil)
		return r
	}
	var b vk.Buffer
	commands.CreateBuffer(d.handle, &vk.BufferCreateInfo{Size: 64, Usage: vk.BUFFER_USAGE_TRANSFER_DST_BIT}, nil, &b)
	defer commands.DestroyBuffer(d.handle, b, nil)
	commands.SetDebugUtilsObjectNameEXT(d.handle, &vk.DebugUtilsObjectNameInfoEXT{ObjectType: vk.OBJECT_TYPE_BUFFER,
		ObjectHandle: uint64(b), PObjectName: cString("weights 1")})
	const none, opaque = 0, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	oom := "=VK_ERROR_OUT_OF_DEVICE_MEMORY"
	for _, row := range []struct {
		plan string
		want []bool // fails: type 2, type 0, type 0 exported, dedicated
	}{
		{"vkAllocateMemory[heap=1]" + oom, []bool{true, false, false, true}},
		{"vkAllocateMemory[type=0]" + oom, []bool{false, true, true, false}},
		{"vkAllocateMemory[handle=OPAQUE_FD]" + oom, []bool{false, false, true, false}},
		{"vkAllocateMemory[name=weights*]" + oom, []bool{false, false, false, true}},
		{"vkAllocateMemory[heap=1,name=weights*]" + oom + "@1", []bool{false, false, false, true}},
		{"vkAllocateMemory[type=0]" + oom + "@2", []bool{false, false, true, false}},
	} {
		withFaults(t, row.plan)
		got := []bool{}
		for _, r := range []vk.Result{allocate(2, none, 0), allocate(0, none, 0), allocate(0, opaque, 0),
			allocate(2, none, b)} {
			if r != vk.SUCCESS && r != vk.ERROR_OUT_OF_DEVICE_MEMORY {
				t.Errorf("%s: %v", row.plan, r)
			}
			got = append(got, r != vk.SUCCESS)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.plan, diff)
		}
	}

	withFaults(t, "vkAllocateMemory[heap=0]"+oom)
	events := &faultSink{}
	journal.Attach(events)
	defer journal.Detach(events)
	takeInbox()
	allocate(0, none, 0)
	const text = "fault on command: vkAllocateMemory[heap=0]=VK_ERROR_OUT_OF_DEVICE_MEMORY (call 1 of vkAllocateMemory)"
	if m := takeInbox(); len(m) != 1 || m[0].id != fault.ID || m[0].text != text ||
		m[0].types != vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT {
		t.Errorf("messages %+v", m)
	}
	if len(events.list) != 1 || events.list[0].Text != text || events.list[0].Command != "vkAllocateMemory" ||
		events.list[0].Object.Type != "VkDevice" {
		t.Errorf("events %+v", events.list)
	}
}

// faultSink keeps events about faults.
type faultSink struct{ list []journal.Event }

func (s *faultSink) Write(e *journal.Event) {
	if e.Kind == journal.Fault {
		s.list = append(s.list, *e)
	}
}

// TestFailedEnd: a command buffer whose end fails is invalid, and can be recorded again.
func TestFailedEnd(t *testing.T) {
	captureLog(t, config.LevelOff)
	family := handleFamily(t, testInstance(t, nil))
	b := vk.CommandBuffer(family[vk.OBJECT_TYPE_COMMAND_BUFFER])
	withFaults(t, "vkEndCommandBuffer=VK_ERROR_OUT_OF_HOST_MEMORY@1")
	object := commandBuffers.Get(uintptr(b))
	commands.BeginCommandBuffer(b, &vk.CommandBufferBeginInfo{})
	if r := commands.EndCommandBuffer(b); r != vk.ERROR_OUT_OF_HOST_MEMORY || object.life.state() != stateInvalid {
		t.Errorf("vkEndCommandBuffer: %v, state %d", r, object.life.state())
	}
	if r := commands.ResetCommandBuffer(b, 0); r == vk.SUCCESS {
		if r := commands.BeginCommandBuffer(b, &vk.CommandBufferBeginInfo{}); r != vk.SUCCESS {
			t.Errorf("vkBeginCommandBuffer: %v", r)
		}
		if r := commands.EndCommandBuffer(b); r != vk.SUCCESS {
			t.Errorf("the second vkEndCommandBuffer: %v", r)
		}
	}
}

// TestWrongFaults: vkCreateInstance refuses a plan with a mistake, and says the nearest right word.
func TestWrongFaults(t *testing.T) {
	captureLog(t, config.LevelOff)
	testInstance(t, nil)
	t.Setenv(config.Faults, "vkAlocateMemory=VK_ERROR_UNKNOWN")
	err := installFaults(&config.Settings{Faults: "vkAlocateMemory=VK_ERROR_UNKNOWN"})
	if err == nil || !strings.Contains(err.Error(), "the nearest is vkAllocateMemory") {
		t.Errorf("%v", err)
	}
	var h vk.Instance
	if r := commands.CreateInstance(&vk.InstanceCreateInfo{}, nil, &h); r != vk.ERROR_INITIALIZATION_FAILED || h != 0 {
		t.Errorf("vkCreateInstance: %v, %#x", r, h)
	}
	t.Setenv(config.Faults, "vkCreateInstance=VK_ERROR_OUT_OF_HOST_MEMORY@1")
	t.Cleanup(func() { _ = installFaults(&config.Settings{}) })
	if r := commands.CreateInstance(&vk.InstanceCreateInfo{}, nil, &h); r != vk.ERROR_OUT_OF_HOST_MEMORY || h != 0 {
		t.Errorf("vkCreateInstance on command: %v, %#x", r, h)
	}
	if r := commands.CreateInstance(&vk.InstanceCreateInfo{}, nil, &h); r != vk.SUCCESS {
		t.Errorf("the second vkCreateInstance: %v", r)
	}
	commands.DestroyInstance(h, nil)
}
