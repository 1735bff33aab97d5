// Package export takes memory out of the process and back in: which external handle types there are and what
// goes with what, descriptors of payloads, and what a descriptor or a host pointer must prove before it becomes
// memory again.
//
// Nothing here keeps state: functions may be called from any goroutine.
package export

import (
	"math/bits"

	"farside/internal/vk"
)

const (
	opaqueFD  = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	rdma      = vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
	dmaBuf    = vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
	hostAlloc = vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
	hostMap   = vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT

	exportable = vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT
	importable = vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT

	vuidExportSet = "VUID-VkExportMemoryAllocateInfo-handleTypes-09860"
)

// HandleProperties is VkExternalMemoryProperties. All three sets are empty for a type that is not supported.
type HandleProperties struct {
	Features           vk.ExternalMemoryFeatureFlags
	ExportFromImported vk.ExternalMemoryHandleTypeFlags
	Compatible         vk.ExternalMemoryHandleTypeFlags
}

// Properties returns what one handle type can do. One payload can be exported as an opaque descriptor, as a
// remote address and as a dma-buf at once, since all three name the same file. No type is dedicated-only.
func Properties(handleType vk.ExternalMemoryHandleTypeFlags) HandleProperties {
	file := opaqueFD | rdma
	if DMABufAvailable() {
		file |= dmaBuf
	}
	switch {
	case handleType == opaqueFD:
		return HandleProperties{exportable | importable, file, file}
	case handleType == rdma:
		// VK_NV_external_memory_rdma has no import structure.
		return HandleProperties{exportable, 0, file}
	case handleType == dmaBuf && file&dmaBuf != 0:
		// An imported dma-buf may come from any driver: there is no memfd to export in another way.
		return HandleProperties{exportable | importable, dmaBuf, file}
	case handleType == hostAlloc:
		return HandleProperties{importable, 0, hostAlloc}
	}
	return HandleProperties{}
}

// CheckExportSet checks VkExportMemoryAllocateInfo::handleTypes: each type is exportable, and all go together.
// The empty set passes. It fails with ERROR_INVALID_EXTERNAL_HANDLE.
func CheckExportSet(types vk.ExternalMemoryHandleTypeFlags) error {
	for rest := types; rest != 0; rest &= rest - 1 {
		t := vk.ExternalMemoryHandleTypeFlags(1) << bits.TrailingZeros64(uint64(rest))
		p := Properties(t)
		if p.Features&exportable == 0 {
			return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuidExportSet,
				"memory can't be exported as handle type %v", t)
		}
		if other := types &^ p.Compatible; other != 0 {
			return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuidExportSet,
				"handle types %v and %v can't be exported from one allocation", t, other)
		}
	}
	return nil
}

// CheckReexport checks the export set of an allocation that imports memory: what was imported must be
// exportable in those ways. It fails with ERROR_INVALID_EXTERNAL_HANDLE.
func CheckReexport(imported, types vk.ExternalMemoryHandleTypeFlags) error {
	if err := CheckExportSet(types); err != nil {
		return err
	}
	if other := types &^ Properties(imported).ExportFromImported; other != 0 {
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuidExportSet,
			"memory imported from handle type %v can't be exported as %v", imported, other)
	}
	return nil
}

// HandlePropertiesNV is the part of VkExternalImageFormatPropertiesNV that goes beyond the format.
type HandlePropertiesNV struct {
	Features           vk.ExternalMemoryFeatureFlagsNV
	ExportFromImported vk.ExternalMemoryHandleTypeFlagsNV
	Compatible         vk.ExternalMemoryHandleTypeFlagsNV
}

// PropertiesNV answers vkGetPhysicalDeviceExternalImageFormatPropertiesNV. Handle type 0 gives empty sets, and
// OPAQUE_WIN32 is carried by a memfd. The other types fail with ERROR_FORMAT_NOT_SUPPORTED.
func PropertiesNV(handleType vk.ExternalMemoryHandleTypeFlagsNV) (HandlePropertiesNV, error) {
	const win32 = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV
	switch handleType {
	case 0:
		return HandlePropertiesNV{}, nil
	case win32:
		return HandlePropertiesNV{
			Features:           vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT_NV | vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT_NV,
			ExportFromImported: win32,
			Compatible:         win32,
		}, nil
	}
	return HandlePropertiesNV{}, vk.Errorf(vk.ERROR_FORMAT_NOT_SUPPORTED, "",
		"NV external memory handle type %v is not supported", handleType)
}

// CheckExportSetNV checks VkExportMemoryAllocateInfoNV::handleTypes. It fails with
// ERROR_INVALID_EXTERNAL_HANDLE.
func CheckExportSetNV(types vk.ExternalMemoryHandleTypeFlagsNV) error {
	if other := types &^ vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV; other != 0 {
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "",
			"memory can't be exported as NV handle type %v", other)
	}
	return nil
}
