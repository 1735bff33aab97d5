package icd

import (
	"slices"
	"sync"

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
	// For the log of what comes before an instance. vkCreateInstance reports an error.
	_, _ = readSettings()
	return vk.SUCCESS
}

// GetInstanceProcAddr answers vk_icdGetInstanceProcAddr: the address of any command of a core version or an extension
// that the driver has, 0 for others.
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
	i := instances.Get(uintptr(h))
	if h != 0 && i == nil {
		refuseFirst("vkGetInstanceProcAddr", vk.OBJECT_TYPE_INSTANCE, uint64(h),
			vk.VUID_vkGetInstanceProcAddr_instance_parameter)
		return 0
	}
	advertised := func(e string) bool {
		return supports(instanceExtensions, e) || supports(deviceExtensions, e) ||
			supports(graphicsExtensions, e) && i != nil && slices.ContainsFunc(i.devices, (*physicalDevice).graphics)
	}
	if !offered(c, instanceVersion, advertised) {
		return 0
	}
	return cabi.Entry(name)
}

// offered says whether a command belongs to a core version up to newest, or to an extension of has.
func offered(c vk.Command, newest uint32, has func(extension string) bool) bool {
	return c.Version != 0 && c.Version <= newest ||
		slices.ContainsFunc(c.Extensions(), func(e vk.Text) bool { return has(e.String()) })
}

// getDeviceProcAddr answers only what the device may call: core commands up to the supported version, with the
// feature maintenance5 only up to the instance's, and those of enabled extensions (vkGetDeviceProcAddr).
func getDeviceProcAddr(d *device, pName *byte) vk.PFN_vkVoidFunction {
	name := vk.GoString(pName)
	i, ok := vk.CommandIndex(name)
	if !ok || (vk.Commands[i].Level != vk.DeviceLevel && name != "vkGetDeviceProcAddr") {
		return 0
	}
	instance := d.physical.instance
	newest := d.physical.version()
	if d.features["maintenance5"] {
		newest = min(newest, instance.apiVersion|0xFFF) // whatever its patch
	}
	enabled := func(e string) bool { return d.extensions[e] || instance.extensions[e] }
	if !offered(vk.Commands[i], newest, enabled) {
		return 0
	}
	return vk.PFN_vkVoidFunction(cabi.EntryAt(i))
}

func enumerateInstanceVersion(out *uint32) vk.Result {
	*out = instanceVersion
	return vk.SUCCESS
}

func enumerateInstanceLayerProperties(count *uint32, out *vk.LayerProperties) vk.Result {
	return vk.WriteArray(count, out, []vk.LayerProperties(nil))
}

func enumerateInstanceExtensionProperties(layer *byte, count *uint32, out *vk.ExtensionProperties) vk.Result {
	if layer != nil {
		return vk.ERROR_LAYER_NOT_PRESENT
	}
	return vk.WriteArray(count, out, instanceExtensionProperties())
}

func enumerateDeviceExtensionProperties(
	p *physicalDevice, layer *byte, count *uint32, out *vk.ExtensionProperties,
) vk.Result {
	if layer != nil {
		return vk.ERROR_LAYER_NOT_PRESENT
	}
	return vk.WriteArray(count, out, p.extensionProperties())
}

func enumerateDeviceLayerProperties(_ *physicalDevice, count *uint32, out *vk.LayerProperties) vk.Result {
	return vk.WriteArray(count, out, []vk.LayerProperties(nil))
}

// The lists are made once: a loader asks for them some twenty times until the first device is there.
var (
	instanceExtensionProperties = sync.OnceValue(
		func() []vk.ExtensionProperties { return extensionProperties(instanceExtensions) })
	deviceExtensionProperties = sync.OnceValue(
		func() []vk.ExtensionProperties { return extensionProperties(deviceExtensions) })
	graphicsExtensionProperties = sync.OnceValue( // with those of any device
		func() []vk.ExtensionProperties {
			return extensionProperties(slices.Concat(deviceExtensions, graphicsExtensions))
		})
)

func extensionProperties(table []extension) []vk.ExtensionProperties {
	list := make([]vk.ExtensionProperties, 0, len(table))
	for i := range table {
		e := &table[i]
		if !e.advertised() {
			continue
		}
		list = append(list, vk.ExtensionProperties{SpecVersion: vk.ExtensionByName(e.name).SpecVersion})
		vk.CopyString(list[len(list)-1].ExtensionName[:], e.name)
	}
	return list
}

// reportPanic tells every instance of an error in the driver itself, or of a wild pointer in the arguments.
func reportPanic(command string, value any, stack []byte) {
	if fault, ok := value.(interface{ Addr() uintptr }); ok { // of a runtime.Error
		tellGuarded(fault.Addr(), "passed to "+command, here())
	}
	err := vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "a bad pointer in the arguments or an error of the driver: %v\n%s",
		value, stack)
	for _, i := range instances.All() {
		i.fail(command, err)
	}
}
