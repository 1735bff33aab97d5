// Libvulkan_farside is the driver's shared library: the three symbols that the Vulkan loader looks up, and the one that
// the stand-in for libibverbs looks up, in entry.S, which go on to the functions here. Every other command and verb is
// reached by the addresses that they return.
package main

// #include <stdint.h>
// extern uint64_t *gate_guard;
// extern const uintptr_t gate_enrol_address, gate_tell_address;
// extern uintptr_t gate_offset(void), gate_mark(void);
// extern const uintptr_t errno_address;
import "C"

import (
	"unsafe"

	"farside/icd"
	"farside/internal/cabi"
	"farside/internal/gate"
	"farside/internal/vk"
	"farside/verbs"
)

func init() {
	C.gate_guard = (*C.uint64_t)(unsafe.Pointer(gate.Guard))
	cabi.PassBy(cabi.Gate{
		Offset: uintptr(C.gate_offset()),
		Mark:   uintptr(C.gate_mark()),
		Enrol:  uintptr(C.gate_enrol_address),
		Tell:   uintptr(C.gate_tell_address),
		Errno:  uintptr(C.errno_address),
	})
}

//export gate_enter
func gate_enter(bare int32) { gate.Enter(bare != 0) }

//export gate_exit
func gate_exit() { cabi.Protect("exit", gate.Exit) }

//export icd_negotiate
func icd_negotiate(version *uint32) int32 {
	result := vk.ERROR_UNKNOWN
	cabi.Protect("vk_icdNegotiateLoaderICDInterfaceVersion", func() {
		result = icd.NegotiateLoaderICDInterfaceVersion(version)
	})
	return int32(result)
}

//export icd_instance_address
func icd_instance_address(instance uintptr, name *byte) (address uintptr) {
	cabi.Protect("vk_icdGetInstanceProcAddr", func() {
		address = icd.GetInstanceProcAddr(vk.Instance(instance), name)
	})
	return address
}

//export icd_physical_device_address
func icd_physical_device_address(instance uintptr, name *byte) (address uintptr) {
	cabi.Protect("vk_icdGetPhysicalDeviceProcAddr", func() {
		address = icd.GetPhysicalDeviceProcAddr(vk.Instance(instance), name)
	})
	return address
}

//export verbs_fill
func verbs_fill(names, slots, n uintptr) (filled int32) {
	filled = -1
	cabi.Protect("farside_verbs", func() { filled = verbs.Fill(names, slots, n) })
	return filled
}

func main() {}
