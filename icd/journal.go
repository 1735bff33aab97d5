package icd

import (
	"strings"

	"farside/internal/journal"
	"farside/internal/vk"
)

// What this package tells the journal. Each function asks first whether anybody reads it.

// journaled is how the journal names an object.
func (i *instance) journaled(o object) journal.Object {
	return journal.Object{Type: typeName(o.Type), Handle: o.Handle, Name: i.nameOf(o)}
}

// typeName is the C type of handles of a type, such as VkDeviceMemory of VK_OBJECT_TYPE_DEVICE_MEMORY.
func typeName(t vk.ObjectType) string {
	var name strings.Builder
	name.WriteString("Vk")
	for word := range strings.SplitSeq(strings.TrimPrefix(t.String(), "VK_OBJECT_TYPE_"), "_") {
		switch word {
		case "EXT", "KHR", "NV", "AMD":
			name.WriteString(word)
		default:
			name.WriteString(word[:1] + strings.ToLower(word[1:]))
		}
	}
	return name.String()
}

// handleType is the short name of an external handle type, such as OPAQUE_FD.
func handleType(t interface{ String() string }) string {
	name := t.String()
	if i := strings.Index(name, "HANDLE_TYPE_"); i >= 0 {
		name = name[i+len("HANDLE_TYPE_"):]
	}
	for _, suffix := range []string{"_EXT", "_KHR", "_NV", "_BIT"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

func (d *device) journalHeaps() {
	if !journal.On() {
		return
	}
	for i, h := range d.physical.profile.Heaps {
		text := "host"
		if h.Flags&vk.MEMORY_HEAP_DEVICE_LOCAL_BIT != 0 {
			text = "device local"
		}
		journal.Emit(journal.Event{Kind: journal.Heap, Heap: uint32(i), Size: h.Size, Text: text})
	}
}

// journalLife tells that an object was made or destroyed.
func (d *device) journalLife(kind journal.Kind, o object) {
	journal.Emit(journal.Event{Kind: kind, Object: d.physical.instance.journaled(o),
		Parent: journal.Object{Type: "VkDevice", Handle: uint64(d.handle)}})
}

// journalMemory tells that memory was allocated or imported, or freed.
func (m *deviceMemory) journalMemory(kind journal.Kind) {
	if journal.On() {
		m.emitMemory(kind)
	}
}

func (m *deviceMemory) emitMemory(kind journal.Kind) {
	e := journal.Event{Kind: kind, Object: m.journaled(), Size: m.size, Heap: m.kind().Heap, Type: m.typeIndex,
		Payload: m.payload.ID()}
	if m.imported != 0 {
		e.Handle = handleType(m.imported)
	}
	journal.Emit(e)
	if kind == journal.Allocate && m.imported != 0 {
		e.Kind = journal.Import
		journal.Emit(e)
	}
}

func (m *deviceMemory) journaled() journal.Object {
	return m.device.physical.instance.journaled(object{vk.OBJECT_TYPE_DEVICE_MEMORY, m.handle})
}

func (m *deviceMemory) journalExport(t interface{ String() string }, address uint64) {
	if journal.On() {
		journal.Emit(journal.Event{Kind: journal.Export, Object: m.journaled(), Size: m.size, Payload: m.payload.ID(),
			Handle: handleType(t), Address: address})
	}
}

// journalShared tells that the payload of a fence or semaphore was exported or imported.
func (c *carrier) journalShared(kind journal.Kind, t vk.ObjectType, handle interface{ String() string }) {
	if !journal.On() {
		return
	}
	c.mu.Lock()
	id := c.current().ID()
	c.mu.Unlock()
	journal.Emit(journal.Event{Kind: kind, Payload: id, Handle: handleType(handle),
		Object: c.device.physical.instance.journaled(object{t, c.child.handle})})
}

func (i *instance) journalError(command string, err error, objects []object) {
	if !journal.On() {
		return
	}
	e := journal.Event{Kind: journal.Error, Command: command, Text: err.Error()}
	if vuid := vk.VUIDOf(err); vuid != vk.NoVUID {
		e.ID = vuid.String()
	}
	if len(objects) > 0 {
		e.Object = i.journaled(objects[0])
	}
	journal.Emit(e)
}
