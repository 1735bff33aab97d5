// Package export takes memory out of the process and back in: which external handle types there are and what
// goes with what, and what a descriptor or a host pointer must prove before it becomes memory again.
//
// Each handle type is a file of its own and a row of [handleTypes]. What a type can do follows from the methods that
// it has: an exporter can be exported, an importer imported, an inspector asked about. What types can do together
// follows from what their handles name ([traits]). Nothing else in the driver knows one type from another, save for
// the commands and structures that carry them ([Carrier]).
//
// Nothing here keeps state: functions may be called from any goroutine.
package export

import (
	"farside/internal/fd"
	"farside/internal/vk"
	"farside/memory"
)

// handleType is one external memory handle type.
type handleType interface {
	traits() traits
	// memoryTypes returns, as bits, the memory types whose memory can have handles of this type.
	memoryTypes(types []memory.Type) uint32
}

// exporter makes handles of an allocation's payload. Errors: ERROR_TOO_MANY_OBJECTS without descriptors,
// ERROR_OUT_OF_HOST_MEMORY and ERROR_UNKNOWN.
type exporter interface {
	export(m Memory) (Handle, error)
}

// limiter is an exporter that can't make handles of an allocation of more bytes than limit.
type limiter interface {
	limit() uint64
}

// importer makes payloads of handles, which the payload owns if it succeeds and which are untouched if it fails.
// Errors: ERROR_INVALID_EXTERNAL_HANDLE with the rule that the handle breaks, and ERROR_TOO_MANY_OBJECTS without
// descriptors.
type importer interface {
	payload(h Handle, want *Expect) (*memory.Payload, error)
}

// inspector answers the commands that say with which memory types, as bits, a handle can be imported. Errors:
// ERROR_INVALID_EXTERNAL_HANDLE.
type inspector interface {
	inspect(h Handle, types []memory.Type) (uint32, error)
}

// traits are what a type has in common with others. They don't change during the life of the process.
type traits struct {
	// unavailable says what this machine lacks; empty where the type works.
	unavailable string
	// names says what handles stand for: types that name the same can be of one allocation.
	names named
	// whole says that an imported handle gives all that an exporting allocation has, so that it can be exported again in
	// each way that names the same. Without it, memory that was imported can be exported as the same type at most.
	whole bool
	// feature is the device feature that an export needs; empty for none.
	feature string
}

// named says what a handle stands for.
type named uint8

const (
	namesFile  named = iota // the file of a payload
	namesPages              // pages of the application
)

// handleTypes is the table of the types that exist.
var handleTypes = []row{
	{vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, FileDescriptor, opaqueFD{}},
	{vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, FileDescriptor, dmaBuf{}},
	{vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, HostPointer, hostAllocation{}},
	{vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV, RemoteAddress, remoteAddress{}},
}

type row struct {
	bit vk.ExternalMemoryHandleTypeFlags
	by  Carrier
	handleType
}

// find returns the row of exactly one handle type, nil for other sets of bits.
func find(t vk.ExternalMemoryHandleTypeFlags) *row {
	for i := range handleTypes {
		if handleTypes[i].bit == t {
			return &handleTypes[i]
		}
	}
	return nil
}

// HandleProperties is VkExternalMemoryProperties. All three sets are empty for a type that is not supported.
type HandleProperties struct {
	Features           vk.ExternalMemoryFeatureFlags
	ExportFromImported vk.ExternalMemoryHandleTypeFlags
	Compatible         vk.ExternalMemoryHandleTypeFlags
}

// Properties returns what one handle type can do. No type is dedicated-only.
func Properties(t vk.ExternalMemoryHandleTypeFlags) HandleProperties {
	var p HandleProperties
	r := find(t)
	if r == nil || r.traits().unavailable != "" {
		return p
	}
	own := r.traits()
	_, imports := r.handleType.(importer)
	_, exports := r.handleType.(exporter)
	if imports {
		p.Features |= vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT
	}
	if exports {
		p.Features |= vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT
	}
	for i := range handleTypes {
		o := &handleTypes[i]
		if other := o.traits(); other.unavailable != "" || other.names != own.names {
			continue
		}
		p.Compatible |= o.bit
		_, exports := o.handleType.(exporter)
		if imports && exports && (own.whole || o.bit == t) {
			p.ExportFromImported |= o.bit
		}
	}
	return p
}

// Together says whether every one of the types is supported, and whether one memory can have handles of all of them.
func Together(types vk.ExternalMemoryHandleTypeFlags) bool {
	for rest := types; rest != 0; rest &= rest - 1 {
		if p := Properties(rest & -rest); p.Features == 0 || types&^p.Compatible != 0 {
			return false
		}
	}
	return true
}

// MemoryTypes returns, as bits, those of the memory types whose memory can have handles of every one of the handle
// types. It is for resources: their memoryTypeBits.
func MemoryTypes(handles vk.ExternalMemoryHandleTypeFlags, types []memory.Type) uint32 {
	set := allTypes(types)
	for i := range handleTypes {
		if handles&handleTypes[i].bit != 0 {
			set &= handleTypes[i].memoryTypes(types)
		}
	}
	return set
}

// Memory is an allocation that handles are made of.
type Memory interface {
	Payload() *memory.Payload
	// ExportSet is what the allocation said that it will be exported as.
	ExportSet() Set
	// RemoteAddress registers the memory with the fabric at the first call.
	RemoteAddress() (uint64, error)
}

// Export makes a handle of one type, for a command that hands it out in the way of carrier. It fails with
// ERROR_INVALID_EXTERNAL_HANDLE and the command's rule when the type is not carried so, or is not in the export
// set, and as the type's exporter.
func Export(m Memory, by Carrier, t vk.ExternalMemoryHandleTypeFlags) (Handle, error) {
	r := find(t)
	if r == nil || r.by != by {
		return Handle{}, invalid(by.rules().exported, "handle type %v is not %s", t, by)
	}
	e, ok := r.handleType.(exporter)
	if set := m.ExportSet(); !ok || set.all()&t == 0 {
		return Handle{}, invalid(by.rules().inSet, "the memory was allocated to be exported as %v, not as %v", set, t)
	}
	return e.export(m)
}

// Expect is what the importing allocation says about the memory: for OPAQUE_FD it must be what the exporting
// one said.
type Expect struct {
	Size       uint64 // of all instances of VkMemoryAllocateInfo::allocationSize, bytes; not 0
	MemoryType uint32
	Properties vk.MemoryPropertyFlags // the memory type's
	DriverUUID [16]byte
	DeviceUUID [16]byte // stands for all physical devices of a group
	DeviceMask uint32   // with instances of the memory; 0 for a device that is no group
	// Dedicated is the resource of VkMemoryDedicatedAllocateInfo, the zero value without one.
	Dedicated memory.Dedicated
}

// Import makes a payload of a handle. A descriptor belongs to the payload if that succeeds, and is as it was and
// still the caller's if it fails. Errors: ERROR_INVALID_EXTERNAL_HANDLE with the rule that the handle breaks;
// ERROR_TOO_MANY_OBJECTS when a descriptor has to be duplicated and none is left.
func Import(h Handle, want *Expect) (*memory.Payload, error) {
	r := find(h.Type)
	if r == nil || r.by != h.By {
		return nil, invalid(h.By.rules().imported, "handle type %v can't be imported from %s", h.Type, h.By)
	}
	i, ok := r.handleType.(importer)
	if why := r.traits().unavailable; !ok || why != "" {
		return nil, invalid(h.By.rules().supported, "handle type %v is not supported for import: %s", h.Type, why)
	}
	return i.payload(h, want)
}

// Inspect answers vkGetMemoryFdPropertiesKHR and vkGetMemoryHostPointerPropertiesEXT: the memory types, as bits,
// that the handle can be imported with. It fails with ERROR_INVALID_EXTERNAL_HANDLE.
func Inspect(h Handle, types []memory.Type) (uint32, error) {
	if r := find(h.Type); r != nil && r.by == h.By && r.traits().unavailable == "" {
		if i, ok := r.handleType.(inspector); ok {
			return i.inspect(h, types)
		}
	}
	return 0, invalid(h.By.rules().inspected,
		"nothing is known of handle type %v in %s before it is imported", h.Type, h.By)
}

func allTypes(types []memory.Type) uint32 { return 1<<len(types) - 1 }

// typesWith returns the memory types that have all of the flags.
func typesWith(types []memory.Type, flags vk.MemoryPropertyFlags) uint32 {
	var set uint32
	for i, t := range types {
		if t.Flags&flags == flags {
			set |= 1 << i
		}
	}
	return set
}

func invalid(vuid vk.VUID, format string, args ...any) error {
	return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuid, format, args...)
}

// systemError gives a failed system call its VkResult.
func systemError(call string, err error) error {
	r := vk.ERROR_OUT_OF_HOST_MEMORY
	if fd.Exhausted(err) {
		r = vk.ERROR_TOO_MANY_OBJECTS
	}
	return vk.Errorf(r, vk.NoVUID, "%s: %w", call, err)
}
