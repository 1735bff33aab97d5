package icd

import (
	"testing"

	"farside/internal/vk"
)

func TestTypeNames(t *testing.T) {
	for kind, want := range map[vk.ObjectType]string{
		vk.OBJECT_TYPE_DEVICE_MEMORY: "VkDeviceMemory", vk.OBJECT_TYPE_IMAGE: "VkImage",
		vk.OBJECT_TYPE_DEBUG_UTILS_MESSENGER_EXT: "VkDebugUtilsMessengerEXT",
	} {
		if got := (object{kind, 1}).typeName(); got != want {
			t.Errorf("%v is %s, want %s", kind, got, want)
		}
	}
}
