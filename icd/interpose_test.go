package icd

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"farside/internal/config"
	"farside/internal/vk"
)

// seen is an observer that keeps what it is told.
type seen struct {
	name  string
	log   *[]string
	fail  map[string]vk.Result // what it answers instead of these commands
	panic string               // it panics in front of and behind this command
	last  *call
}

func (s *seen) before(c *call) (vk.Result, bool) {
	*s.log, s.last = append(*s.log, s.name+" before "+c.command), c
	if c.command == s.panic {
		panic("before")
	}
	r, ok := s.fail[c.command]
	return r, ok
}

func (s *seen) after(c *call, r vk.Result) {
	*s.log = append(*s.log, s.name+" after "+c.command+" "+r.String())
	if c.command == s.panic {
		panic("after")
	}
}

// TestObservers: observers surround a command, see what it is called on, answer in its place, and are gone when they
// are removed. None sees a call that is refused for its handles.
func TestObservers(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	d := propertiesDevice(t, i, nil)
	var log []string
	take := func() (l []string) { l, log = log, nil; return l }
	one, two := &seen{name: "one", log: &log}, &seen{name: "two", log: &log}
	removeOne, removeTwo := interpose(one), interpose(two)
	defer func() { removeOne(); removeTwo() }()

	var f vk.Fence
	if r := commands.CreateFence(d.handle, &vk.FenceCreateInfo{}, nil, &f); r != vk.SUCCESS || f == 0 {
		t.Fatalf("vkCreateFence: %v, fence %#x", r, f)
	}
	want := []string{"one before vkCreateFence", "two before vkCreateFence", "two after vkCreateFence VK_SUCCESS",
		"one after vkCreateFence VK_SUCCESS"}
	if diff := cmp.Diff(want, take()); diff != "" {
		t.Errorf("a call (-want +got):\n%s", diff)
	}
	if c := one.last; c.device() != d || c.instance() != i || arg[*vk.Fence](c) != &f || !c.fallible {
		t.Errorf("the call is %+v", c)
	}

	one.fail = map[string]vk.Result{"vkCreateFence": vk.ERROR_OUT_OF_HOST_MEMORY, "vkDestroyFence": vk.ERROR_UNKNOWN}
	two.fail = map[string]vk.Result{"vkCreateFence": vk.ERROR_OUT_OF_DEVICE_MEMORY}
	before, none := fences.Len(), vk.Fence(99)
	if r := commands.CreateFence(d.handle, &vk.FenceCreateInfo{}, nil, &none); r != vk.ERROR_OUT_OF_HOST_MEMORY ||
		none != 0 || fences.Len() != before {
		t.Errorf("answered for by both: %v, fence %#x, %d fences, before %d", r, none, fences.Len(), before)
	}
	if got := take(); !slices.Contains(got, "two after vkCreateFence VK_ERROR_OUT_OF_HOST_MEMORY") {
		t.Errorf("the second observer was not told of the answer: %q", got)
	}
	commands.DestroyFence(d.handle, f, nil)
	if fences.Len() != before-1 {
		t.Error("vkDestroyFence, which cannot fail, was answered for")
	}
	if f := arg[*fence](one.last); f == nil || one.last.fallible {
		t.Errorf("the call of vkDestroyFence is %+v", one.last)
	}
	take()

	if r := commands.GetFenceStatus(d.handle, f); r != vk.ERROR_UNKNOWN || len(take()) != 0 {
		t.Errorf("a stale fence: %v", r)
	}
	removeOne()
	removeTwo()
	if observers.Load() != nil {
		t.Error("observers are left")
	}
}

// TestObserverPanics: an observer's panic harms neither the command nor the other observers, and a command's panic is
// told to all of them.
func TestObserverPanics(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	d := propertiesDevice(t, i, nil)
	var log []string
	defer interpose(&seen{name: "one", log: &log, panic: "vkDeviceWaitIdle"})()
	defer interpose(&seen{name: "two", log: &log})()
	takeInbox()
	if r := commands.DeviceWaitIdle(d.handle); r != vk.SUCCESS {
		t.Errorf("vkDeviceWaitIdle: %v", r)
	}
	if n := len(takeInbox()); n != 2 {
		t.Errorf("%d messages about two panics", n)
	}
	if want := "two after vkDeviceWaitIdle VK_SUCCESS"; !slices.Contains(log, want) {
		t.Errorf("%q lacks %q", log, want)
	}
	log = nil
	func() {
		defer func() { _ = recover() }()
		commands.CreateFence(d.handle, nil, nil, new(vk.Fence)) // reads its create info
		t.Error("vkCreateFence read no create info")
	}()
	if want := "one after vkCreateFence VK_ERROR_UNKNOWN"; !slices.Contains(log, want) {
		t.Errorf("%q lacks %q", log, want)
	}
}

// TestObservedResults: observers change no result of a command that they leave alone, of whichever kind it is.
func TestObservedResults(t *testing.T) {
	i := testInstance(t, nil)
	d := propertiesDevice(t, i, nil)
	var b vk.Buffer
	if r := commands.CreateBuffer(d.handle, &vk.BufferCreateInfo{Size: 64, Usage: vk.BUFFER_USAGE_TRANSFER_DST_BIT}, nil,
		&b); r != vk.SUCCESS {
		t.Fatal(r)
	}
	defer commands.DestroyBuffer(d.handle, b, nil)
	answers := func() (v [3]uint64) {
		var m vk.MemoryRequirements
		commands.GetBufferMemoryRequirements(d.handle, b, &m)
		var slot vk.PrivateDataSlot
		commands.CreatePrivateDataSlot(d.handle, &vk.PrivateDataSlotCreateInfo{}, nil, &slot)
		defer commands.DestroyPrivateDataSlot(d.handle, slot, nil)
		commands.SetPrivateData(d.handle, vk.OBJECT_TYPE_BUFFER, uint64(b), slot, 42)
		commands.GetPrivateData(d.handle, vk.OBJECT_TYPE_BUFFER, uint64(b), slot, &v[1])
		v[0] = uint64(m.Size)
		v[2] = uint64(commands.GetDeviceMemoryOpaqueCaptureAddress(d.handle,
			&vk.DeviceMemoryOpaqueCaptureAddressInfo{Memory: 0}))
		return v
	}
	plain := answers()
	var log []string
	remove := interpose(&seen{log: &log})
	defer remove()
	if got := answers(); got != plain || plain[0] == 0 || plain[1] != 42 {
		t.Errorf("observed: %v, else %v", got, plain)
	}
	if len(log) == 0 {
		t.Error("the observer saw nothing")
	}

	var h vk.Instance
	if r := commands.CreateInstance(&vk.InstanceCreateInfo{PNext: unsafe.Pointer(nil)}, nil, &h); r != vk.SUCCESS ||
		h == 0 {
		t.Errorf("vkCreateInstance: %v", r)
	}
	commands.DestroyInstance(h, nil)
	if want := " after vkDestroyInstance VK_SUCCESS"; log[len(log)-1] != want {
		t.Errorf("%q lacks %q", log, want)
	}
}
