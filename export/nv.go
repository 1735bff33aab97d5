package export

import "farside/internal/vk"

// The types of the older VK_NV_external_memory have bits of their own. On this system no extension fetches or imports
// their handles, so that one that works is carried as a type of the newer extension: handleTypesNV is the table.
var handleTypesNV = []struct {
	bit       vk.ExternalMemoryHandleTypeFlagsNV
	carriedAs vk.ExternalMemoryHandleTypeFlags
}{
	{vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT},
}

// carryNV returns what memory with these types is exported as.
func carryNV(types vk.ExternalMemoryHandleTypeFlagsNV) (set vk.ExternalMemoryHandleTypeFlags) {
	for _, r := range handleTypesNV {
		if types&r.bit != 0 {
			set |= r.carriedAs
		}
	}
	return set
}

// HandlePropertiesNV is the part of VkExternalImageFormatPropertiesNV that goes beyond the format.
type HandlePropertiesNV struct {
	Features           vk.ExternalMemoryFeatureFlagsNV
	ExportFromImported vk.ExternalMemoryHandleTypeFlagsNV
	Compatible         vk.ExternalMemoryHandleTypeFlagsNV
}

// PropertiesNV answers vkGetPhysicalDeviceExternalImageFormatPropertiesNV. Handle type 0 gives empty sets. A type
// that is not in the table fails with ERROR_FORMAT_NOT_SUPPORTED.
func PropertiesNV(t vk.ExternalMemoryHandleTypeFlagsNV) (HandlePropertiesNV, error) {
	if t == 0 {
		return HandlePropertiesNV{}, nil
	}
	for _, r := range handleTypesNV {
		if r.bit == t {
			// The bits of both extensions' features are the same.
			p := Properties(r.carriedAs)
			return HandlePropertiesNV{vk.ExternalMemoryFeatureFlagsNV(p.Features), t, t}, nil
		}
	}
	return HandlePropertiesNV{}, vk.Errorf(vk.ERROR_FORMAT_NOT_SUPPORTED, vk.NoVUID,
		"NV external memory handle type %v is not supported", t)
}

// checkSetNV checks that each type of an export set exists.
func checkSetNV(types vk.ExternalMemoryHandleTypeFlagsNV) error {
	for rest := types; rest != 0; rest &= rest - 1 {
		if _, err := PropertiesNV(rest & -rest); err != nil {
			return invalid(vk.NoVUID, "memory can't be exported as NV handle type %v", rest&-rest)
		}
	}
	return nil
}
