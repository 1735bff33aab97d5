package export

import (
	"unsafe"

	"farside/internal/vk"
)

// Carrier is how handles travel between the application and the driver.
type Carrier uint8

// The carriers.
const (
	FileDescriptor Carrier = iota // VkImportMemoryFdInfoKHR, vkGetMemoryFdKHR, vkGetMemoryFdPropertiesKHR
	HostPointer                   // VkImportMemoryHostPointerInfoEXT, vkGetMemoryHostPointerPropertiesEXT
	RemoteAddress                 // vkGetMemoryRemoteAddressNV
)

// carrierRules are the rules of a carrier's structures and commands; empty for those that it doesn't have.
type carrierRules struct {
	imported  vk.VUID // the type is one that the import structure carries
	supported vk.VUID // and is supported
	exported  vk.VUID // the type is one that the export command carries
	inSet     vk.VUID // and is in the allocation's export set
	inspected vk.VUID // the type is one that can be asked about
}

var carriers = [...]struct {
	what string
	carrierRules
}{
	FileDescriptor: {"a file descriptor", carrierRules{
		imported:  vk.VUID_VkImportMemoryFdInfoKHR_handleType_00669,
		supported: vk.VUID_VkImportMemoryFdInfoKHR_handleType_09862,
		exported:  vk.VUID_VkMemoryGetFdInfoKHR_handleType_00672,
		inSet:     vk.VUID_VkMemoryGetFdInfoKHR_handleType_00671,
		inspected: vk.VUID_vkGetMemoryFdPropertiesKHR_handleType_00674,
	}},
	HostPointer: {"a host pointer", carrierRules{
		imported:  vk.VUID_VkImportMemoryHostPointerInfoEXT_handleType_01747,
		supported: vk.VUID_VkImportMemoryHostPointerInfoEXT_handleType_01747,
		inspected: vk.VUID_vkGetMemoryHostPointerPropertiesEXT_handleType_01752,
	}},
	RemoteAddress: {"a remote address", carrierRules{
		exported: vk.VUID_VkMemoryGetRemoteAddressInfoNV_handleType_04966,
		inSet:    vk.VUID_VkMemoryGetRemoteAddressInfoNV_handleType_04966,
	}},
}

func (c Carrier) rules() *carrierRules { return &carriers[c].carrierRules }

// String is the carrier as messages name it.
func (c Carrier) String() string { return carriers[c].what }

// Handle is a handle of memory. The zero value is none.
type Handle struct {
	Type vk.ExternalMemoryHandleTypeFlags
	By   Carrier
	// One of these, as By says.
	FD      int
	Pointer unsafe.Pointer
	Address uint64
}

// ReadImport returns the handle that a VkMemoryAllocateInfo's pNext chain imports. A structure whose handle type is
// 0 is ignored. It fails with ERROR_INVALID_EXTERNAL_HANDLE when there is more than one.
func ReadImport(chain unsafe.Pointer) (Handle, error) {
	var h Handle
	if i := vk.Find[vk.ImportMemoryFdInfoKHR](chain); i != nil && i.HandleType != 0 {
		h = Handle{Type: i.HandleType, By: FileDescriptor, FD: int(i.Fd)}
	}
	if i := vk.Find[vk.ImportMemoryHostPointerInfoEXT](chain); i != nil && i.HandleType != 0 {
		if h.Type != 0 {
			return Handle{}, invalid(vk.VUID_VkMemoryAllocateInfo_None_06657,
				"an allocation imports from one handle, not from a descriptor and a host pointer")
		}
		h = Handle{Type: i.HandleType, By: HostPointer, Pointer: i.PHostPointer}
	}
	return h, nil
}

// ReadSet returns what a VkMemoryAllocateInfo's pNext chain wants to export. It fails with
// ERROR_INVALID_EXTERNAL_HANDLE when both extensions' structures have handle types.
func ReadSet(chain unsafe.Pointer) (Set, error) {
	var s Set
	if e := vk.Find[vk.ExportMemoryAllocateInfo](chain); e != nil {
		s.Types = e.HandleTypes
	}
	if e := vk.Find[vk.ExportMemoryAllocateInfoNV](chain); e != nil {
		s.NV = e.HandleTypes
	}
	if s.Types != 0 && s.NV != 0 {
		return Set{}, invalid(vk.VUID_VkMemoryAllocateInfo_pNext_00640,
			"VkExportMemoryAllocateInfo and VkExportMemoryAllocateInfoNV exclude each other")
	}
	return s, nil
}
