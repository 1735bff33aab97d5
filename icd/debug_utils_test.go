package icd

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/vk"
)

// received is one message as a C callback saw it.
type received struct {
	severity vk.DebugUtilsMessageSeverityFlagsEXT
	types    vk.DebugUtilsMessageTypeFlagsEXT
	id       string
	number   int32
	text     string
	objects  []namedObject
	labels   []string
	user     uintptr
}

var (
	receivedMu sync.Mutex
	inbox      []received
	onMessage  func()
)

var messengerCallback = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(severity, types uintptr, data *vk.DebugUtilsMessengerCallbackDataEXT,
		user uintptr) uintptr {
		r := received{
			severity: vk.DebugUtilsMessageSeverityFlagsEXT(severity),
			types:    vk.DebugUtilsMessageTypeFlagsEXT(types),
			id:       vk.GoString(data.PMessageIdName),
			number:   data.MessageIdNumber,
			text:     vk.GoString(data.PMessage),
			user:     user,
		}
		for _, o := range vk.Slice(data.PObjects, data.ObjectCount) {
			r.objects = append(r.objects, namedObject{object{o.ObjectType, o.ObjectHandle}, vk.GoString(o.PObjectName)})
		}
		for _, l := range vk.Slice(data.PQueueLabels, data.QueueLabelCount) {
			r.labels = append(r.labels, vk.GoString(l.PLabelName))
		}
		receivedMu.Lock()
		inbox = append(inbox, r)
		f := onMessage
		receivedMu.Unlock()
		if f != nil {
			f()
		}
		return vk.FALSE
	})
})

// take empties the inbox.
func takeInbox() []received {
	receivedMu.Lock()
	defer receivedMu.Unlock()
	r := inbox
	inbox = nil
	return r
}

func cString(s string) *byte { return &append([]byte(s), 0)[0] }

const everySeverity = vk.DEBUG_UTILS_MESSAGE_SEVERITY_VERBOSE_BIT_EXT | vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT |
	vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT
const everyType = vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
	vk.DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT

func messengerInfo(severities vk.DebugUtilsMessageSeverityFlagsEXT, types vk.DebugUtilsMessageTypeFlagsEXT,
	user uintptr) *vk.DebugUtilsMessengerCreateInfoEXT {
	info := &vk.DebugUtilsMessengerCreateInfoEXT{
		SType:           vk.STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
		MessageSeverity: severities,
		MessageType:     types,
		PfnUserCallback: messengerCallback(),
	}
	*(*uintptr)(unsafe.Pointer(&info.PUserData)) = user
	return info
}

func testInstance(t testing.TB, chain unsafe.Pointer) *instance {
	t.Helper()
	t.Setenv("FARSIDE_HEAP_DEVICE", "2GiB")
	t.Setenv("FARSIDE_HEAP_HOST", "2GiB")
	var h vk.Instance
	if r := commands.CreateInstance(&vk.InstanceCreateInfo{SType: vk.STRUCTURE_TYPE_INSTANCE_CREATE_INFO, PNext: chain},
		nil, &h); r != vk.SUCCESS {
		t.Fatalf("vkCreateInstance: %v", r)
	}
	i := instances.Get(uintptr(h))
	t.Cleanup(func() {
		if instances.Get(uintptr(h)) == i {
			commands.DestroyInstance(h, nil)
		}
		takeInbox()
	})
	return i
}

func propertiesDevice(t *testing.T, i *instance, chain unsafe.Pointer) *device {
	t.Helper()
	priority := float32(1)
	queue := vk.DeviceQueueCreateInfo{SType: vk.STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, QueueCount: 1,
		PQueuePriorities: &priority}
	info := vk.DeviceCreateInfo{SType: vk.STRUCTURE_TYPE_DEVICE_CREATE_INFO, PNext: chain, QueueCreateInfoCount: 1,
		PQueueCreateInfos: &queue}
	var h vk.Device
	if r := commands.CreateDevice(i.devices[0].handle, &info, nil, &h); r != vk.SUCCESS {
		t.Fatalf("vkCreateDevice: %v", r)
	}
	t.Cleanup(func() {
		if devices.Get(uintptr(h)) != nil {
			commands.DestroyDevice(h, nil)
		}
	})
	return devices.Get(uintptr(h))
}

func testMessenger(t testing.TB, i *instance, severities vk.DebugUtilsMessageSeverityFlagsEXT,
	types vk.DebugUtilsMessageTypeFlagsEXT, user uintptr) vk.DebugUtilsMessengerEXT {
	t.Helper()
	var h vk.DebugUtilsMessengerEXT
	if r := commands.CreateDebugUtilsMessengerEXT(i.handle, messengerInfo(severities, types, user), nil, &h); r !=
		vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateDebugUtilsMessengerEXT: %v, handle %#x", r, h)
	}
	return h
}

func TestFailReachesMessengersAndLog(t *testing.T) {
	log := captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	d := propertiesDevice(t, i, nil)
	// 1 is no pointer: user data must never be typed as one.
	testMessenger(t, i, everySeverity, everyType, 1)
	o := object{vk.OBJECT_TYPE_BUFFER, 0x1234}
	name := vk.DebugUtilsObjectNameInfoEXT{ObjectType: o.Type, ObjectHandle: o.Handle, PObjectName: cString("staging")}
	if r := commands.SetDebugUtilsObjectNameEXT(d.handle, &name); r != vk.SUCCESS {
		t.Fatalf("vkSetDebugUtilsObjectNameEXT: %v", r)
	}
	err := vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.VUID_vkAllocateMemory_pAllocateInfo_01713, "heap %d is full", 1)
	if r := i.fail("vkFoo", err, o); r != vk.ERROR_OUT_OF_DEVICE_MEMORY {
		t.Errorf("fail returned %v", r)
	}
	got := takeInbox()
	if len(got) != 1 {
		t.Fatalf("%d messages, want 1: %+v", len(got), got)
	}
	m := got[0]
	if m.severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ||
		m.types != vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT {
		t.Errorf("severity %v, type %v", m.severity, m.types)
	}
	if m.id != "VUID-vkAllocateMemory-pAllocateInfo-01713" || m.number == 0 || m.user != 1 {
		t.Errorf("id %q, number %d, user data %#x", m.id, m.number, m.user)
	}
	if !strings.Contains(m.text, "vkFoo") || !strings.Contains(m.text, "heap 1 is full") ||
		!strings.Contains(m.text, "VK_ERROR_OUT_OF_DEVICE_MEMORY") {
		t.Errorf("message %q", m.text)
	}
	if want := []namedObject{{o, "staging"}}; !slices.Equal(m.objects, want) {
		t.Errorf("objects %v, want %v", m.objects, want)
	}
	for _, part := range []string{"level=ERROR", "command=vkFoo", "VUID-vkAllocateMemory-pAllocateInfo-01713",
		"VK_ERROR_OUT_OF_DEVICE_MEMORY", "staging", "0x1234"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q: %s", part, log)
		}
	}

	i.fail("vkFoo", errors.New("something else"))
	if m := takeInbox(); len(m) != 1 || m[0].types != vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT || m[0].id != "" {
		t.Errorf("an error without VUID arrives as %+v", m)
	}
	for _, r := range []vk.Result{vk.NOT_READY, vk.TIMEOUT, vk.INCOMPLETE} {
		if got := i.fail("vkFoo", vk.Errorf(r, vk.NoVUID, "not an error")); got != r {
			t.Errorf("fail returned %v for %v", got, r)
		}
	}
	if m := takeInbox(); len(m) != 0 {
		t.Errorf("results that are no errors were reported: %+v", m)
	}

	name.PObjectName = nil
	commands.SetDebugUtilsObjectNameEXT(d.handle, &name)
	if n := i.nameOf(o); n != "" {
		t.Errorf("the name %q is still there after it was taken back", n)
	}
}

func TestMessengersFilter(t *testing.T) {
	captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	h := testMessenger(t, i, vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
		vk.DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, 7)
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, "", "info")
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "", "general")
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, "id",
		"slow")
	if m := takeInbox(); len(m) != 1 || m[0].text != "slow" || m[0].id != "id" || m[0].user != 7 {
		t.Errorf("got %+v, want the performance warning only", m)
	}

	data := vk.DebugUtilsMessengerCallbackDataEXT{SType: vk.STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
		PMessage: cString("mine"), MessageIdNumber: -3}
	commands.SubmitDebugUtilsMessageEXT(i.handle, vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, everyType, &data)
	commands.SubmitDebugUtilsMessageEXT(i.handle, vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, everyType, &data)
	if m := takeInbox(); len(m) != 1 || m[0].text != "mine" || m[0].number != -3 {
		t.Errorf("the application's own message arrives as %+v", m)
	}

	commands.DestroyDebugUtilsMessengerEXT(i.handle, h, nil)
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, "", "slow")
	if m := takeInbox(); len(m) != 0 {
		t.Errorf("a destroyed messenger got %+v", m)
	}
}

func TestMessengerErrors(t *testing.T) {
	captureLog(t, slog.LevelError)
	i, other := testInstance(t, nil), testInstance(t, nil)
	h := testMessenger(t, i, everySeverity, everyType, 0)
	info := messengerInfo(everySeverity, everyType, 0)
	info.PfnUserCallback = 0
	broken := vk.DebugUtilsMessengerEXT(99)
	if r := commands.CreateDebugUtilsMessengerEXT(i.handle, info, nil, &broken); r != vk.ERROR_UNKNOWN || broken != 0 {
		t.Errorf("a messenger without callback: %v, handle %#x", r, broken)
	}
	if m := takeInbox(); len(m) != 1 || m[0].id != "VUID-VkDebugUtilsMessengerCreateInfoEXT-pfnUserCallback-parameter" {
		t.Errorf("got %+v", m)
	}
	testMessenger(t, other, everySeverity, everyType, 0)
	commands.DestroyDebugUtilsMessengerEXT(other.handle, h, nil)
	if m := takeInbox(); len(m) != 1 || m[0].id != "VUID-vkDestroyDebugUtilsMessengerEXT-messenger-parent" {
		t.Errorf("a messenger of another instance: %+v", m)
	}
	if messengers.Get(uint64(h)) == nil {
		t.Error("the wrong instance destroyed the messenger")
	}
	commands.DestroyDebugUtilsMessengerEXT(i.handle, 0, nil)
	if m := takeInbox(); len(m) != 0 {
		t.Errorf("VK_NULL_HANDLE is not ignored: %+v", m)
	}
}

// TestStaleDeviceReachesAllInstances calls a command on what is no device: nothing says which instance is meant.
func TestStaleDeviceReachesAllInstances(t *testing.T) {
	log := captureLog(t, slog.LevelError)
	a, b := testInstance(t, nil), testInstance(t, nil)
	testMessenger(t, a, everySeverity, everyType, 1)
	testMessenger(t, b, everySeverity, everyType, 2)
	if r := commands.DeviceWaitIdle(0xdead); r != vk.ERROR_UNKNOWN {
		t.Errorf("vkDeviceWaitIdle returned %v", r)
	}
	got := takeInbox()
	if len(got) != 2 || got[0].user+got[1].user != 3 {
		t.Fatalf("%d messages, want one for each instance", len(got))
	}
	for _, m := range got {
		if m.id != "VUID-vkDeviceWaitIdle-device-parameter" || len(m.objects) != 1 || m.objects[0].Handle != 0xdead {
			t.Errorf("%+v", m)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("the log has %d lines, want one:\n%s", n, log)
	}
}

func TestCallbackMayCallVulkan(t *testing.T) {
	captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	h := testMessenger(t, i, everySeverity, everyType, 1)
	var inner vk.DebugUtilsMessengerEXT
	receivedMu.Lock()
	onMessage = func() {
		if inner == 0 {
			commands.CreateDebugUtilsMessengerEXT(i.handle, messengerInfo(everySeverity, everyType, 2), nil, &inner)
			commands.DestroyDebugUtilsMessengerEXT(i.handle, h, nil)
		}
	}
	receivedMu.Unlock()
	defer func() {
		receivedMu.Lock()
		onMessage = nil
		receivedMu.Unlock()
	}()
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "", "first")
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "", "second")
	m := takeInbox()
	if len(m) != 2 || m[0].text != "first" || m[0].user != 1 || m[1].text != "second" || m[1].user != 2 {
		t.Errorf("got %+v", m)
	}
}

func TestChainedMessengers(t *testing.T) {
	captureLog(t, slog.LevelError)
	chain := messengerInfo(everySeverity, everyType, 5)
	var h vk.Instance
	missing := cString("VK_EXT_no_such_thing")
	info := vk.InstanceCreateInfo{PNext: unsafe.Pointer(chain), EnabledExtensionCount: 1,
		PpEnabledExtensionNames: &missing}
	if r := commands.CreateInstance(&info, nil, &h); r != vk.ERROR_EXTENSION_NOT_PRESENT {
		t.Fatalf("vkCreateInstance: %v", r)
	}
	if m := takeInbox(); len(m) != 1 || m[0].user != 5 || !strings.Contains(m[0].text, "VK_EXT_no_such_thing") {
		t.Errorf("the failure arrives as %+v", m)
	}

	i := testInstance(t, unsafe.Pointer(chain))
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "", "between")
	if m := takeInbox(); len(m) != 0 {
		t.Errorf("chained messengers hear %+v of a live instance", m)
	}
	propertiesDevice(t, i, nil)
	commands.DestroyInstance(i.handle, nil)
	if m := takeInbox(); len(m) != 1 || m[0].id != "VUID-vkDestroyInstance-instance-00629" {
		t.Errorf("destroying the instance over a live device: %+v", m)
	}
}

func TestQueueLabels(t *testing.T) {
	captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	d := propertiesDevice(t, i, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	q := d.queues[0].handle
	labels := func() []string {
		t.Helper()
		takeInbox()
		i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "", "where",
			object{vk.OBJECT_TYPE_QUEUE, uint64(q)})
		m := takeInbox()
		if len(m) != 1 {
			t.Fatalf("%d messages", len(m))
		}
		return m[0].labels
	}
	expect := func(want ...string) {
		t.Helper()
		if got := labels(); !slices.Equal(got, want) {
			t.Errorf("labels %q, want %q", got, want)
		}
	}
	expect()
	commands.QueueBeginDebugUtilsLabelEXT(q, &vk.DebugUtilsLabelEXT{PLabelName: cString("frame")})
	commands.QueueInsertDebugUtilsLabelEXT(q, &vk.DebugUtilsLabelEXT{PLabelName: cString("mark")})
	expect("mark", "frame")
	commands.QueueBeginDebugUtilsLabelEXT(q, &vk.DebugUtilsLabelEXT{PLabelName: cString("upload")})
	expect("upload", "frame")
	commands.QueueEndDebugUtilsLabelEXT(q)
	expect("frame")
	commands.QueueEndDebugUtilsLabelEXT(q)
	commands.QueueEndDebugUtilsLabelEXT(q)
	if m := takeInbox(); len(m) != 1 || m[0].id != "VUID-vkQueueEndDebugUtilsLabelEXT-None-01911" {
		t.Errorf("ending no region: %+v", m)
	}
}

func TestNameAndTagErrors(t *testing.T) {
	captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	d := propertiesDevice(t, i, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	for _, c := range []struct {
		result vk.Result
		id     string
	}{
		{commands.SetDebugUtilsObjectNameEXT(d.handle, &vk.DebugUtilsObjectNameInfoEXT{ObjectHandle: 1}),
			"VUID-vkSetDebugUtilsObjectNameEXT-pNameInfo-02587"},
		{commands.SetDebugUtilsObjectNameEXT(d.handle, &vk.DebugUtilsObjectNameInfoEXT{ObjectType: vk.OBJECT_TYPE_IMAGE}),
			"VUID-vkSetDebugUtilsObjectNameEXT-pNameInfo-02588"},
		{commands.SetDebugUtilsObjectTagEXT(d.handle, &vk.DebugUtilsObjectTagInfoEXT{ObjectHandle: 1}),
			"VUID-VkDebugUtilsObjectTagInfoEXT-objectType-01908"},
	} {
		if c.result != vk.ERROR_UNKNOWN {
			t.Errorf("%s: %v", c.id, c.result)
		}
		if receivedMu.Lock(); len(inbox) == 0 || inbox[0].id != c.id {
			t.Errorf("want %s, got %+v", c.id, inbox)
		} else {
			inbox = inbox[1:]
		}
		receivedMu.Unlock()
	}
	if r := commands.SetDebugUtilsObjectTagEXT(d.handle,
		&vk.DebugUtilsObjectTagInfoEXT{ObjectType: vk.OBJECT_TYPE_IMAGE, ObjectHandle: 1}); r != vk.SUCCESS {
		t.Errorf("a good tag: %v", r)
	}
}

// TestForeignHandles gives every command of this file and of the features and properties a handle that was
// never made: each reports it, and returns an error where it has a result.
func TestForeignHandles(t *testing.T) {
	captureLog(t, slog.LevelError)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	const bad = 0x1000
	var m vk.DebugUtilsMessengerEXT
	for id, call := range map[string]func() vk.Result{
		"vkCreateDebugUtilsMessengerEXT-instance": func() vk.Result {
			return commands.CreateDebugUtilsMessengerEXT(bad, messengerInfo(everySeverity, everyType, 0), nil, &m)
		},
		"vkSetDebugUtilsObjectNameEXT-device": func() vk.Result {
			return commands.SetDebugUtilsObjectNameEXT(bad, &vk.DebugUtilsObjectNameInfoEXT{})
		},
		"vkSetDebugUtilsObjectTagEXT-device": func() vk.Result {
			return commands.SetDebugUtilsObjectTagEXT(bad, &vk.DebugUtilsObjectTagInfoEXT{})
		},
		"vkDestroyDebugUtilsMessengerEXT-instance": void(func() { commands.DestroyDebugUtilsMessengerEXT(bad, 0, nil) }),
		"vkSubmitDebugUtilsMessageEXT-instance": void(func() {
			commands.SubmitDebugUtilsMessageEXT(bad, everySeverity, everyType, &vk.DebugUtilsMessengerCallbackDataEXT{})
		}),
		"vkQueueBeginDebugUtilsLabelEXT-queue": void(
			func() { commands.QueueBeginDebugUtilsLabelEXT(bad, &vk.DebugUtilsLabelEXT{}) }),
		"vkQueueInsertDebugUtilsLabelEXT-queue": void(
			func() { commands.QueueInsertDebugUtilsLabelEXT(bad, &vk.DebugUtilsLabelEXT{}) }),
		"vkQueueEndDebugUtilsLabelEXT-queue":            void(func() { commands.QueueEndDebugUtilsLabelEXT(bad) }),
		"vkGetPhysicalDeviceFeatures-physicalDevice":    void(func() { commands.GetPhysicalDeviceFeatures(bad, nil) }),
		"vkGetPhysicalDeviceFeatures2-physicalDevice":   void(func() { commands.GetPhysicalDeviceFeatures2(bad, nil) }),
		"vkGetPhysicalDeviceProperties-physicalDevice":  void(func() { commands.GetPhysicalDeviceProperties(bad, nil) }),
		"vkGetPhysicalDeviceProperties2-physicalDevice": void(func() { commands.GetPhysicalDeviceProperties2(bad, nil) }),
	} {
		takeInbox()
		if r := call(); r != vk.ERROR_UNKNOWN {
			t.Errorf("%s: %v", id, r)
		}
		if got := takeInbox(); len(got) != 1 || got[0].id != "VUID-"+id+"-parameter" {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func void(f func()) func() vk.Result {
	return func() vk.Result {
		f()
		return vk.ERROR_UNKNOWN
	}
}
