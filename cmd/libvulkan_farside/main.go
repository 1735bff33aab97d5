// Libvulkan_farside is the driver's shared library: the three symbols that the Vulkan loader looks up.
// Every other command is reached by the addresses that they return.
package main

import "C"

import (
	"farside/icd"
	"farside/internal/cabi"
	"farside/internal/vk"
)

//export vk_icdNegotiateLoaderICDInterfaceVersion
func vk_icdNegotiateLoaderICDInterfaceVersion(version *uint32) int32 {
	result := vk.ERROR_UNKNOWN
	cabi.Guard("vk_icdNegotiateLoaderICDInterfaceVersion", func() {
		result = icd.NegotiateLoaderICDInterfaceVersion(version)
	})
	return int32(result)
}

//export vk_icdGetInstanceProcAddr
func vk_icdGetInstanceProcAddr(instance uintptr, name *byte) (address uintptr) {
	cabi.Guard("vk_icdGetInstanceProcAddr", func() {
		address = icd.GetInstanceProcAddr(vk.Instance(instance), name)
	})
	return address
}

//export vk_icdGetPhysicalDeviceProcAddr
func vk_icdGetPhysicalDeviceProcAddr(instance uintptr, name *byte) (address uintptr) {
	cabi.Guard("vk_icdGetPhysicalDeviceProcAddr", func() {
		address = icd.GetPhysicalDeviceProcAddr(vk.Instance(instance), name)
	})
	return address
}

func main() {}
