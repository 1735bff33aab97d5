package export

import (
	"fmt"

	"farside/internal/vk"
	"farside/memory"
)

// Set is what an allocation can be exported as: the types of VkExportMemoryAllocateInfo or, of the older extension,
// VkExportMemoryAllocateInfoNV. One of the two is empty.
type Set struct {
	Types vk.ExternalMemoryHandleTypeFlags
	NV    vk.ExternalMemoryHandleTypeFlagsNV
}

// Empty says whether the allocation never leaves the process.
func (s Set) Empty() bool { return s == Set{} }

// String is the set as messages show it.
func (s Set) String() string {
	if s.NV != 0 {
		return s.NV.String()
	}
	return s.Types.String()
}

// all returns the types that handles can be asked as: the older extension has no command of its own on this system.
func (s Set) all() vk.ExternalMemoryHandleTypeFlags {
	if s.NV == 0 {
		return s.Types
	}
	return s.Types | carryNV(s.NV)
}

// AddressOnly says whether no descriptor of the memory is ever handed to the application: its file is known to this
// driver and to peers of the fabric alone.
func (s Set) AddressOnly() bool {
	for rest := s.all(); rest != 0; rest &= rest - 1 {
		if r := find(rest & -rest); r == nil || r.by != RemoteAddress {
			return false
		}
	}
	return !s.Empty()
}

// Allocation is what Check holds a Set against.
type Allocation struct {
	Size     uint64                           // bytes
	Imported vk.ExternalMemoryHandleTypeFlags // the type of the handle that it imports, 0 for none
	Type     memory.Type
	Features map[string]bool // names of the device's enabled features
}

// Check checks the export set of an allocation: each type can be exported, all go together, and the memory can be
// exported in these ways, also when it was imported itself. The empty set passes. It fails with
// ERROR_INVALID_EXTERNAL_HANDLE, and with ERROR_OUT_OF_DEVICE_MEMORY when the memory is larger than an export of it
// could be.
func (s Set) Check(a *Allocation) error {
	if s.Empty() {
		return nil
	}
	if err := checkSetNV(s.NV); err != nil {
		return err
	}
	const vuid = vk.VUID_VkExportMemoryAllocateInfo_handleTypes_09860
	types := s.all()
	for rest := types; rest != 0; rest &= rest - 1 {
		t := rest & -rest
		p := Properties(t)
		if p.Features&vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT == 0 {
			return invalid(vuid, "memory can't be exported as handle type %v", t)
		}
		if other := types &^ p.Compatible; other != 0 {
			return invalid(vuid, "handle types %v and %v can't be exported from one allocation", t, other)
		}
		r := find(t)
		if f := r.traits().feature; f != "" && !a.Features[f] {
			return invalid(vuid, "handle type %v needs the %s feature, which the device was created without", t, f)
		}
		if r.memoryTypes([]memory.Type{a.Type}) == 0 {
			return invalid(vuid, "memory of a type with the flags %v can't be exported as %v", a.Type.Flags, t)
		}
		// What is imported as the type leaves as it came.
		if l, ok := r.handleType.(limiter); ok && t != a.Imported && a.Size > l.limit() {
			return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.NoVUID, "%d bytes can't be exported as %v, the most is %d",
				a.Size, t, l.limit())
		}
	}
	if a.Imported == 0 {
		return nil
	}
	if other := types &^ Properties(a.Imported).ExportFromImported; other != 0 {
		return invalid(vuid, "memory imported from handle type %v can't be exported as %v", a.Imported, other)
	}
	return nil
}

var _ fmt.Stringer = Set{}
