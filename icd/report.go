package icd

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"farside/internal/finding"
	"farside/internal/vk"
)

// object names a Vulkan object in a message.
type object struct {
	Type   vk.ObjectType
	Handle uint64
}

// reporter is where an instance sends what the driver has to say: its debug messengers and the log.
//
// Messengers are called from a list that never changes, so a callback may create or destroy one.
type reporter struct {
	mu      sync.Mutex // serialises writers of list
	list    atomic.Pointer[[]*messenger]
	chain   atomic.Pointer[[]*messenger] // of VkInstanceCreateInfo's pNext: only for creating and destroying the instance
	names   attached                     // string for each object that has a name
	labels  sync.Map                     // vk.Queue to *queueLabels
	closing atomic.Bool
}

// message is one message on its way to the messengers.
type message struct {
	severity vk.DebugUtilsMessageSeverityFlagsEXT
	types    vk.DebugUtilsMessageTypeFlagsEXT
	id       string // pMessageIdName, empty for none
	text     string
	objects  []namedObject
	labels   []label // open labels of the first queue among the objects, innermost first
}

type namedObject struct {
	object
	name string
}

// add makes m receive messages.
func (r *reporter) add(m *messenger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.messengers()
	list := append(old[:len(old):len(old)], m)
	r.list.Store(&list)
}

// remove ends m's messages; a call that is already under way in another thread may still be running.
func (r *reporter) remove(m *messenger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*messenger
	for _, other := range r.messengers() {
		if other != m {
			list = append(list, other)
		}
	}
	r.list.Store(&list)
}

func (r *reporter) messengers() []*messenger {
	if p := r.list.Load(); p != nil {
		return *p
	}
	return nil
}

// listeners returns who receives a message now: the live messengers, and while the instance is made or
// destroyed those of its creation chain (VkDebugUtilsMessengerCreateInfoEXT in VkInstanceCreateInfo's pNext).
func (r *reporter) listeners() []*messenger {
	list := r.messengers()
	if chain := r.chain.Load(); chain != nil && r.closing.Load() {
		list = append(list[:len(list):len(list)], *chain...)
	}
	return list
}

// created ends the time in which the messengers of the creation chain listen.
func (r *reporter) created() { r.closing.Store(false) }

// destroying lets the messengers of the creation chain listen again.
func (r *reporter) destroying() { r.closing.Store(true) }

// fail logs and reports err as the outcome of command and returns the VkResult that it maps to. err is an
// error of package vk, or any error, which becomes VK_ERROR_UNKNOWN. Results that are no errors
// (VK_NOT_READY, VK_TIMEOUT, VK_INCOMPLETE) are returned only.
func (i *instance) fail(command string, err error, objects ...object) vk.Result {
	result := vk.ResultOf(err)
	if result >= 0 {
		return result
	}
	i.journalError(command, err, objects)
	vuid := vk.VUIDOf(err)
	logger.Error(err.Error(), "command", command, "result", result, "vuid", vuid, "objects", objectList(i, objects))
	types := vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT
	if vuid != vk.NoVUID {
		types = vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT
		finding.Broken()
	}
	i.send(vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, types, vuid.String(),
		fmt.Sprintf("%s: %v (%v)", command, err, result), objects)
	return result
}

// report sends a message that is no command's outcome to the messengers and the log. id becomes
// pMessageIdName, and may be empty.
func (i *instance) report(
	severity vk.DebugUtilsMessageSeverityFlagsEXT, types vk.DebugUtilsMessageTypeFlagsEXT, id, text string,
	objects ...object,
) {
	level := levelTrace
	switch {
	case severity&vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT != 0:
		level = slog.LevelError
	case severity&vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT != 0:
		level = slog.LevelWarn
	case severity&vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT != 0:
		level = slog.LevelInfo
	}
	if logLevel.Level() <= level {
		logger.Log(context.Background(), level, text, "id", id, "objects", objectList(i, objects))
	}
	i.send(severity, types, id, text, objects)
}

// send gives one message to every messenger that asked for its severity and type.
func (i *instance) send(
	severity vk.DebugUtilsMessageSeverityFlagsEXT, types vk.DebugUtilsMessageTypeFlagsEXT, id, text string,
	objects []object,
) {
	var listeners []*messenger
	for _, l := range i.listeners() {
		if l.wants(severity, types) {
			listeners = append(listeners, l)
		}
	}
	if len(listeners) == 0 {
		return
	}
	m := &message{severity: severity, types: types, id: id, text: text}
	for _, o := range objects {
		m.objects = append(m.objects, namedObject{o, i.nameOf(o)})
		if o.Type == vk.OBJECT_TYPE_QUEUE && m.labels == nil {
			m.labels = i.openLabels(vk.Queue(o.Handle))
		}
	}
	m.deliver(listeners)
}

// nameOf returns the name that the application gave to o with vkSetDebugUtilsObjectNameEXT, or "".
func (i *instance) nameOf(o object) string {
	name, _ := i.names.Load(o)
	s, _ := name.(string)
	return s
}

// objectList prints objects for the log: type, handle and, where there is one, name. It is evaluated only
// when the line is printed.
func objectList(i *instance, objects []object) slog.LogValuer { return lazyObjects{i, objects} }

type lazyObjects struct {
	instance *instance
	objects  []object
}

func (l lazyObjects) LogValue() slog.Value {
	var b strings.Builder
	for n, o := range l.objects {
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v %#x", o.Type, o.Handle)
		if name := l.instance.nameOf(o); name != "" {
			fmt.Fprintf(&b, " %q", name)
		}
	}
	return slog.StringValue(b.String())
}
