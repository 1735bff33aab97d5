package icd

import (
	"slices"

	"farside/internal/cabi"
	"farside/internal/vk"
)

// The loader interface versions that the driver speaks (Vulkan-Loader, LoaderDriverInterface).
const (
	oldestLoaderInterface = 5
	newestLoaderInterface = 7
)

// NegotiateLoaderICDInterfaceVersion agrees on the newest interface version that both sides know. An older
// loader than version 5 gets VK_ERROR_INCOMPATIBLE_DRIVER.
func NegotiateLoaderICDInterfaceVersion(version *uint32) vk.Result {
	if version == nil || *version < oldestLoaderInterface {
		return vk.ERROR_INCOMPATIBLE_DRIVER
	}
	*version = min(*version, newestLoaderInterface)
	return vk.SUCCESS
}

// GetInstanceProcAddr answers vk_icdGetInstanceProcAddr: the address of any command that the driver
// implements, 0 for one that it does not.
func GetInstanceProcAddr(h vk.Instance, name *byte) uintptr {
	return procAddr(h, vk.GoString(name))
}

// GetPhysicalDeviceProcAddr answers vk_icdGetPhysicalDeviceProcAddr: only commands whose first argument is a
// physical device.
func GetPhysicalDeviceProcAddr(h vk.Instance, name *byte) uintptr {
	n := vk.GoString(name)
	if c, ok := vk.CommandByName(n); !ok || c.Level != vk.PhysicalDeviceLevel {
		return 0
	}
	return procAddr(h, n)
}

func getInstanceProcAddr(h vk.Instance, name *byte) vk.PFN_vkVoidFunction {
	return vk.PFN_vkVoidFunction(GetInstanceProcAddr(h, name))
}

func procAddr(h vk.Instance, name string) uintptr {
	c, ok := vk.CommandByName(name)
	if !ok {
		return 0
	}
	if h == 0 && c.Level != vk.GlobalLevel {
		return 0
	}
	if h != 0 && instances.Get(uintptr(h)) == nil {
		staleHandle("vkGetInstanceProcAddr", vk.OBJECT_TYPE_INSTANCE, uint64(h))
		return 0
	}
	return cabi.Entry(name)
}

// getDeviceProcAddr answers only what the device may call: core commands up to the supported version, with the
// feature maintenance5 only up to the instance's, and those of enabled extensions (vkGetDeviceProcAddr).
func getDeviceProcAddr(h vk.Device, pName *byte) vk.PFN_vkVoidFunction {
	d := devices.Get(uintptr(h))
	if d == nil {
		staleHandle("vkGetDeviceProcAddr", vk.OBJECT_TYPE_DEVICE, uint64(h))
		return 0
	}
	name := vk.GoString(pName)
	c, ok := vk.CommandByName(name)
	if !ok || (c.Level != vk.DeviceLevel && name != "vkGetDeviceProcAddr") {
		return 0
	}
	instance := d.physical.instance
	newest := supportedVersion
	if d.features["maintenance5"] {
		newest = min(newest, instance.apiVersion|0xFFF) // whatever its patch
	}
	enabled := func(e string) bool { return d.extensions[e] || instance.extensions[e] }
	if !(c.Version != 0 && c.Version <= newest) && !slices.ContainsFunc(c.Extensions, enabled) {
		return 0
	}
	return vk.PFN_vkVoidFunction(cabi.Entry(name))
}

func enumerateInstanceVersion(out *uint32) vk.Result {
	*out = supportedVersion
	return vk.SUCCESS
}

func enumerateInstanceLayerProperties(count *uint32, out *vk.LayerProperties) vk.Result {
	return vk.WriteArray(count, out, []vk.LayerProperties(nil))
}

func enumerateInstanceExtensionProperties(layer *byte, count *uint32, out *vk.ExtensionProperties) vk.Result {
	if layer != nil {
		return vk.ERROR_LAYER_NOT_PRESENT
	}
	return vk.WriteArray(count, out, extensionProperties(instanceExtensions))
}

func enumerateDeviceExtensionProperties(h vk.PhysicalDevice, layer *byte, count *uint32, out *vk.ExtensionProperties) vk.Result {
	if physicalDevices.Get(uintptr(h)) == nil {
		return staleHandle("vkEnumerateDeviceExtensionProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
	}
	if layer != nil {
		return vk.ERROR_LAYER_NOT_PRESENT
	}
	return vk.WriteArray(count, out, extensionProperties(deviceExtensions))
}

func enumerateDeviceLayerProperties(h vk.PhysicalDevice, count *uint32, out *vk.LayerProperties) vk.Result {
	if physicalDevices.Get(uintptr(h)) == nil {
		return staleHandle("vkEnumerateDeviceLayerProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
	}
	return vk.WriteArray(count, out, []vk.LayerProperties(nil))
}

func extensionProperties(table []extension) []vk.ExtensionProperties {
	list := make([]vk.ExtensionProperties, 0, len(table))
	for _, e := range table {
		if !supports(table, e.name) {
			continue
		}
		p := vk.ExtensionProperties{SpecVersion: vk.ExtensionByName(e.name).SpecVersion}
		vk.CopyString(p.ExtensionName[:], e.name)
		list = append(list, p)
	}
	return list
}

// reportAbsent tells every instance that the application called a core command that is not implemented.
func reportAbsent(command string) {
	reportEverywhere(command, vk.Errorf(vk.ERROR_UNKNOWN, "", "this version of the driver does not implement %s: nothing was done", command))
}

// reportPanic tells every instance of an error in the driver itself, or of a wild pointer in the arguments.
func reportPanic(command string, value any, stack []byte) {
	reportEverywhere(command, vk.Errorf(vk.ERROR_UNKNOWN, "", "a bad pointer in the arguments or an error of the driver: %v\n%s", value, stack))
}

func reportEverywhere(command string, err error) {
	for _, i := range instances.All() {
		i.fail(command, err)
	}
}
