package icd

import (
	"hash/fnv"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/gate"
	"farside/internal/vk"
)

// newMessenger reads info. The user data is taken as a number: it may be no pointer at all, which Go's stack
// and heap must not see typed as one.
func newMessenger(i *instance, info *vk.DebugUtilsMessengerCreateInfoEXT) *messenger {
	return &messenger{
		instance:   i,
		severities: info.MessageSeverity,
		types:      info.MessageType,
		callback:   info.PfnUserCallback,
		userData:   *(*uintptr)(unsafe.Pointer(&info.PUserData)),
	}
}

// chainedMessengers returns the messengers in VkInstanceCreateInfo's pNext chain: they receive the messages of
// vkCreateInstance and vkDestroyInstance.
func chainedMessengers(chain unsafe.Pointer) []*messenger {
	var list []*messenger
	for s := range vk.Chain(chain) {
		if s.SType == vk.STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT {
			list = append(list, newMessenger(nil, (*vk.DebugUtilsMessengerCreateInfoEXT)(unsafe.Pointer(s))))
		}
	}
	return list
}

// call makes one callback. The callback's result is ignored: it asks layers to abort the call, and a driver
// has no call to abort.
func (m *messenger) call(
	severity vk.DebugUtilsMessageSeverityFlagsEXT, types vk.DebugUtilsMessageTypeFlagsEXT,
	data *vk.DebugUtilsMessengerCallbackDataEXT,
) {
	purego.SyscallN(m.callback, uintptr(severity), uintptr(types), uintptr(unsafe.Pointer(data)), m.userData)
}

// deliver lays the message out for C and calls each messenger of list with it. The message is pinned until the last
// callback has returned; the specification lets no callback keep it longer.
func (m *message) deliver(list []*messenger) {
	var pin runtime.Pinner
	defer pin.Unpin()
	cString := func(s string) *byte {
		b := append([]byte(s), 0)
		pin.Pin(&b[0])
		return &b[0]
	}
	data := &vk.DebugUtilsMessengerCallbackDataEXT{
		SType:    vk.STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
		PMessage: cString(m.text),
	}
	pin.Pin(data)
	if m.id != "" {
		data.PMessageIdName = cString(m.id)
		data.MessageIdNumber = idNumber(m.id)
	}
	if len(m.objects) > 0 {
		objects := make([]vk.DebugUtilsObjectNameInfoEXT, len(m.objects))
		pin.Pin(&objects[0])
		for n, o := range m.objects {
			objects[n].SType = vk.STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT
			objects[n].ObjectType, objects[n].ObjectHandle = o.Type, o.Handle
			if o.name != "" {
				objects[n].PObjectName = cString(o.name)
			}
		}
		data.ObjectCount, data.PObjects = uint32(len(objects)), &objects[0]
	}
	if len(m.labels) > 0 {
		labels := make([]vk.DebugUtilsLabelEXT, len(m.labels))
		pin.Pin(&labels[0])
		for n, l := range m.labels {
			labels[n].SType = vk.STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT
			labels[n].PLabelName, labels[n].Color = cString(l.name), l.color
		}
		data.QueueLabelCount, data.PQueueLabels = uint32(len(labels)), &labels[0]
	}
	gate.Callback(func() {
		for _, l := range list {
			l.call(m.severity, m.types, data)
		}
	})
}

// idNumber makes messageIdNumber of pMessageIdName, so that applications may filter by it: FNV-1a.
func idNumber(id string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	return int32(h.Sum32())
}
