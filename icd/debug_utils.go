package icd

import (
	"slices"
	"sync"

	"farside/internal/vk"
)

// messenger is a VkDebugUtilsMessengerEXT, or one of VkInstanceCreateInfo's pNext chain, which has no handle.
type messenger struct {
	instance   *instance
	severities vk.DebugUtilsMessageSeverityFlagsEXT
	types      vk.DebugUtilsMessageTypeFlagsEXT
	callback   vk.PFN_vkDebugUtilsMessengerCallbackEXT
	userData   uintptr // the application's, never looked at
}

func (m *messenger) wants(severity vk.DebugUtilsMessageSeverityFlagsEXT, types vk.DebugUtilsMessageTypeFlagsEXT) bool {
	return m.callback != 0 && m.severities&severity != 0 && m.types&types != 0
}

func createDebugUtilsMessengerEXT(h vk.Instance, info *vk.DebugUtilsMessengerCreateInfoEXT, _ *vk.AllocationCallbacks, out *vk.DebugUtilsMessengerEXT) vk.Result {
	*out = 0
	i := instances.Get(uintptr(h))
	if i == nil {
		return staleHandle("vkCreateDebugUtilsMessengerEXT", vk.OBJECT_TYPE_INSTANCE, uint64(h))
	}
	if info.PfnUserCallback == 0 {
		return i.fail("vkCreateDebugUtilsMessengerEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			"VUID-VkDebugUtilsMessengerCreateInfoEXT-pfnUserCallback-01914", "pfnUserCallback is NULL"))
	}
	m := newMessenger(i, info)
	*out = vk.DebugUtilsMessengerEXT(messengers.Insert(m))
	i.add(m)
	return vk.SUCCESS
}

func destroyDebugUtilsMessengerEXT(h vk.Instance, messengerHandle vk.DebugUtilsMessengerEXT, _ *vk.AllocationCallbacks) {
	i := instances.Get(uintptr(h))
	if i == nil {
		staleHandle("vkDestroyDebugUtilsMessengerEXT", vk.OBJECT_TYPE_INSTANCE, uint64(h))
		return
	}
	if messengerHandle == 0 {
		return
	}
	m := messengers.Get(uint64(messengerHandle))
	if m == nil || m.instance != i || messengers.Remove(uint64(messengerHandle)) == nil {
		staleHandle("vkDestroyDebugUtilsMessengerEXT", vk.OBJECT_TYPE_DEBUG_UTILS_MESSENGER_EXT, uint64(messengerHandle))
		return
	}
	i.remove(m)
}

// submitDebugUtilsMessageEXT hands the application's own message on as it is.
func submitDebugUtilsMessageEXT(h vk.Instance, severity vk.DebugUtilsMessageSeverityFlagBitsEXT, types vk.DebugUtilsMessageTypeFlagsEXT, data *vk.DebugUtilsMessengerCallbackDataEXT) {
	i := instances.Get(uintptr(h))
	if i == nil {
		staleHandle("vkSubmitDebugUtilsMessageEXT", vk.OBJECT_TYPE_INSTANCE, uint64(h))
		return
	}
	if tracing() {
		trace(vk.GoString(data.PMessage), "command", "vkSubmitDebugUtilsMessageEXT", "severity", severity, "types", types)
	}
	for _, m := range i.listeners() {
		if m.wants(severity, types) {
			m.call(severity, types, data)
		}
	}
}

// setDebugUtilsObjectNameEXT keeps a name for messages; NULL or an empty string takes it back.
func setDebugUtilsObjectNameEXT(h vk.Device, info *vk.DebugUtilsObjectNameInfoEXT) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkSetDebugUtilsObjectNameEXT", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	if info.ObjectType == vk.OBJECT_TYPE_UNKNOWN {
		return d.fail("vkSetDebugUtilsObjectNameEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			"VUID-vkSetDebugUtilsObjectNameEXT-pNameInfo-02587", "objectType is VK_OBJECT_TYPE_UNKNOWN"))
	}
	if info.ObjectHandle == 0 {
		return d.fail("vkSetDebugUtilsObjectNameEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			"VUID-vkSetDebugUtilsObjectNameEXT-pNameInfo-02588", "objectHandle is VK_NULL_HANDLE"))
	}
	o := object{info.ObjectType, info.ObjectHandle}
	if name := vk.GoString(info.PObjectName); name != "" {
		d.physical.instance.names.Store(o, name)
	} else {
		d.physical.instance.names.Delete(o)
	}
	return vk.SUCCESS
}

// setDebugUtilsObjectTagEXT checks its arguments; a tag is meant for layers and tools, and the driver shows
// none in its messages.
func setDebugUtilsObjectTagEXT(h vk.Device, info *vk.DebugUtilsObjectTagInfoEXT) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkSetDebugUtilsObjectTagEXT", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	if info.ObjectType == vk.OBJECT_TYPE_UNKNOWN {
		return d.fail("vkSetDebugUtilsObjectTagEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			"VUID-VkDebugUtilsObjectTagInfoEXT-objectType-01908", "objectType is VK_OBJECT_TYPE_UNKNOWN"))
	}
	return vk.SUCCESS
}

// label is one debug label of a queue.
type label struct {
	name  string
	color [4]float32
}

// queueLabels are the open label regions of a queue and the label inserted last.
type queueLabels struct {
	mu       sync.Mutex
	open     []label
	inserted bool // the top of open was inserted and lasts until the next label command
}

func newLabel(info *vk.DebugUtilsLabelEXT) label {
	return label{vk.GoString(info.PLabelName), info.Color}
}

func (r *reporter) labelsOf(q vk.Queue) *queueLabels {
	l, ok := r.labels.Load(q)
	if !ok {
		l, _ = r.labels.LoadOrStore(q, &queueLabels{})
	}
	return l.(*queueLabels)
}

// openLabels returns the labels of q in the order that VkDebugUtilsMessengerCallbackDataEXT wants: the most
// recent first.
func (r *reporter) openLabels(q vk.Queue) []label {
	l, ok := r.labels.Load(q)
	if !ok {
		return nil
	}
	labels := l.(*queueLabels)
	labels.mu.Lock()
	defer labels.mu.Unlock()
	open := slices.Clone(labels.open)
	slices.Reverse(open)
	return open
}

// change runs f with the labels locked, after taking an inserted label away.
func (l *queueLabels) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inserted {
		l.open, l.inserted = l.open[:len(l.open)-1], false
	}
	f()
}

func queueBeginDebugUtilsLabelEXT(h vk.Queue, info *vk.DebugUtilsLabelEXT) {
	q := queues.Get(uintptr(h))
	if q == nil {
		staleHandle("vkQueueBeginDebugUtilsLabelEXT", vk.OBJECT_TYPE_QUEUE, uint64(h))
		return
	}
	l := q.device.physical.instance.labelsOf(h)
	l.change(func() { l.open = append(l.open, newLabel(info)) })
}

func queueEndDebugUtilsLabelEXT(h vk.Queue) {
	q := queues.Get(uintptr(h))
	if q == nil {
		staleHandle("vkQueueEndDebugUtilsLabelEXT", vk.OBJECT_TYPE_QUEUE, uint64(h))
		return
	}
	i := q.device.physical.instance
	l := i.labelsOf(h)
	empty := false
	l.change(func() {
		if empty = len(l.open) == 0; !empty {
			l.open = l.open[:len(l.open)-1]
		}
	})
	if empty {
		i.fail("vkQueueEndDebugUtilsLabelEXT", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkQueueEndDebugUtilsLabelEXT-None-01911",
			"no label region is open on the queue"), object{vk.OBJECT_TYPE_QUEUE, uint64(h)})
	}
}

func queueInsertDebugUtilsLabelEXT(h vk.Queue, info *vk.DebugUtilsLabelEXT) {
	q := queues.Get(uintptr(h))
	if q == nil {
		staleHandle("vkQueueInsertDebugUtilsLabelEXT", vk.OBJECT_TYPE_QUEUE, uint64(h))
		return
	}
	l := q.device.physical.instance.labelsOf(h)
	l.change(func() {
		l.open = append(l.open, newLabel(info))
		l.inserted = true
	})
}
