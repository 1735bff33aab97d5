package icd

import (
	"slices"
	"sync"

	"farside/internal/journal"
	"farside/internal/vk"
)

// messenger is a VkDebugUtilsMessengerEXT, or one of VkInstanceCreateInfo's pNext chain, which has no handle.
type messenger struct {
	handle     uint64
	instance   *instance
	severities vk.DebugUtilsMessageSeverityFlagsEXT
	types      vk.DebugUtilsMessageTypeFlagsEXT
	callback   vk.PFN_vkDebugUtilsMessengerCallbackEXT
	userData   uintptr // the application's, never looked at
}

func (m *messenger) wants(
	severity vk.DebugUtilsMessageSeverityFlagsEXT, types vk.DebugUtilsMessageTypeFlagsEXT,
) bool {
	return m.callback != 0 && m.severities&severity != 0 && m.types&types != 0
}

func createDebugUtilsMessengerEXT(
	i *instance, info *vk.DebugUtilsMessengerCreateInfoEXT, _ *vk.AllocationCallbacks,
	out *vk.DebugUtilsMessengerEXT,
) vk.Result {
	if info.PfnUserCallback == 0 {
		return i.fail("vkCreateDebugUtilsMessengerEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkDebugUtilsMessengerCreateInfoEXT_pfnUserCallback_parameter, "pfnUserCallback is NULL"))
	}
	m := newMessenger(i, info)
	m.handle = messengers.Insert(m)
	*out = vk.DebugUtilsMessengerEXT(m.handle)
	i.add(m)
	return vk.SUCCESS
}

func destroyDebugUtilsMessengerEXT(i *instance, m *messenger, _ *vk.AllocationCallbacks) {
	if m != nil && messengers.Remove(m.handle) != nil {
		i.remove(m)
	}
}

// submitDebugUtilsMessageEXT hands the application's own message on as it is.
func submitDebugUtilsMessageEXT(
	i *instance, severity vk.DebugUtilsMessageSeverityFlagBitsEXT, types vk.DebugUtilsMessageTypeFlagsEXT,
	data *vk.DebugUtilsMessengerCallbackDataEXT,
) {
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
func setDebugUtilsObjectNameEXT(d *device, info *vk.DebugUtilsObjectNameInfoEXT) vk.Result {
	if info.ObjectType == vk.OBJECT_TYPE_UNKNOWN {
		return d.fail("vkSetDebugUtilsObjectNameEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_vkSetDebugUtilsObjectNameEXT_pNameInfo_02587, "objectType is VK_OBJECT_TYPE_UNKNOWN"))
	}
	if info.ObjectHandle == 0 {
		return d.fail("vkSetDebugUtilsObjectNameEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_vkSetDebugUtilsObjectNameEXT_pNameInfo_02588, "objectHandle is VK_NULL_HANDLE"))
	}
	o := object{info.ObjectType, info.ObjectHandle}
	if name := vk.GoString(info.PObjectName); name != "" {
		d.physical.instance.names.Store(o, name)
		if journal.On() {
			d.journalLife(journal.Name, o)
		}
	} else {
		d.physical.instance.names.Delete(o)
	}
	return vk.SUCCESS
}

// setDebugUtilsObjectTagEXT checks its arguments; a tag is meant for layers and tools, and the driver shows
// none in its messages.
func setDebugUtilsObjectTagEXT(d *device, info *vk.DebugUtilsObjectTagInfoEXT) vk.Result {
	if info.ObjectType == vk.OBJECT_TYPE_UNKNOWN {
		return d.fail("vkSetDebugUtilsObjectTagEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkDebugUtilsObjectTagInfoEXT_objectType_01908, "objectType is VK_OBJECT_TYPE_UNKNOWN"))
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

func queueBeginDebugUtilsLabelEXT(q *queue, info *vk.DebugUtilsLabelEXT) {
	l := q.device.physical.instance.labelsOf(q.handle)
	l.change(func() { l.open = append(l.open, newLabel(info)) })
}

func queueEndDebugUtilsLabelEXT(q *queue) {
	i := q.device.physical.instance
	l := i.labelsOf(q.handle)
	empty := false
	l.change(func() {
		if empty = len(l.open) == 0; !empty {
			l.open = l.open[:len(l.open)-1]
		}
	})
	if empty {
		i.fail("vkQueueEndDebugUtilsLabelEXT", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkQueueEndDebugUtilsLabelEXT_None_01911,
			"no label region is open on the queue"), object{vk.OBJECT_TYPE_QUEUE, uint64(q.handle)})
	}
}

func queueInsertDebugUtilsLabelEXT(q *queue, info *vk.DebugUtilsLabelEXT) {
	l := q.device.physical.instance.labelsOf(q.handle)
	l.change(func() {
		l.open = append(l.open, newLabel(info))
		l.inserted = true
	})
}
