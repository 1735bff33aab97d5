package icd

import (
	"os"

	"farside/internal/vk"
	"farside/memory"
)

// Version and Commit are set at link time; driverInfo and driverVersion are made of them.
var (
	Version = "0.1.0"
	Commit  = "unknown"
)

func createInstance(info *vk.InstanceCreateInfo, _ *vk.AllocationCallbacks, out *vk.Instance) vk.Result {
	*out = 0
	i := &instance{apiVersion: vk.API_VERSION_1_0, extensions: map[string]bool{}}
	chain := chainedMessengers(info.PNext)
	i.chain.Store(&chain)
	i.destroying() // the chain's messengers listen until the instance is made
	if err := i.init(info); err != nil {
		return i.fail("vkCreateInstance", err)
	}
	i.created()
	*out = i.handle
	return vk.SUCCESS
}

func (i *instance) init(info *vk.InstanceCreateInfo) error {
	// An absent application info or apiVersion 0 means 1.0; a version above ours is legal and only says what
	// the application could use (chapter "Instances", VkApplicationInfo).
	if app := info.PApplicationInfo; app != nil && app.ApiVersion != 0 {
		i.apiVersion = app.ApiVersion
	}
	for _, n := range vk.Slice(info.PpEnabledExtensionNames, info.EnabledExtensionCount) {
		name := vk.GoString(n)
		if !supports(instanceExtensions, name) {
			return vk.Errorf(vk.ERROR_EXTENSION_NOT_PRESENT, "", "instance extension %q is not supported", name)
		}
		i.extensions[name] = true
	}
	profile, err := memory.DefaultProfile(os.Getenv)
	if err != nil {
		return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, "", "memory heaps: %w", err)
	}
	p := &physicalDevice{
		instance: i,
		profile:  profile,
		budget:   memory.NewBudget(profile, maxMemoryAllocationCount),
	}
	p.driverUUID = driverUUID(os.Getenv)
	p.deviceUUID = deviceUUID(os.Getenv, p.driverUUID)
	h, err := instances.Insert(i)
	if err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "instance handle: %w", err)
	}
	ph, err := physicalDevices.Insert(p)
	if err != nil {
		instances.Remove(h)
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "physical device handle: %w", err)
	}
	i.handle, p.handle, i.physical = vk.Instance(h), vk.PhysicalDevice(ph), p
	return nil
}

func destroyInstance(h vk.Instance, _ *vk.AllocationCallbacks) {
	if h == 0 {
		return
	}
	i := instances.Get(uintptr(h))
	if i == nil {
		staleHandle("vkDestroyInstance", vk.OBJECT_TYPE_INSTANCE, uint64(h))
		return
	}
	i.destroying()
	for _, d := range devices.All() {
		if d.physical.instance == i {
			i.fail("vkDestroyInstance", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkDestroyInstance-instance-00629",
				"a device of this instance was not destroyed"), object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)})
			d.destroy()
		}
	}
	if instances.Remove(uintptr(h)) == nil {
		return
	}
	physicalDevices.Remove(uintptr(i.physical.handle))
	for h, m := range messengers.All() {
		if m.instance == i {
			messengers.Remove(h)
		}
	}
}

func enumeratePhysicalDevices(h vk.Instance, count *uint32, out *vk.PhysicalDevice) vk.Result {
	i := instances.Get(uintptr(h))
	if i == nil {
		return staleHandle("vkEnumeratePhysicalDevices", vk.OBJECT_TYPE_INSTANCE, uint64(h))
	}
	return vk.WriteArray(count, out, []vk.PhysicalDevice{i.physical.handle})
}

func enumeratePhysicalDeviceGroups(h vk.Instance, count *uint32, out *vk.PhysicalDeviceGroupProperties) vk.Result {
	i := instances.Get(uintptr(h))
	if i == nil {
		return staleHandle("vkEnumeratePhysicalDeviceGroups", vk.OBJECT_TYPE_INSTANCE, uint64(h))
	}
	if out == nil {
		*count = 1
		return vk.SUCCESS
	}
	if *count == 0 {
		return vk.INCOMPLETE
	}
	// Written field by field: sType and pNext are the application's.
	*count = 1
	out.PhysicalDeviceCount = 1
	clear(out.PhysicalDevices[:])
	out.PhysicalDevices[0] = i.physical.handle
	out.SubsetAllocation = vk.FALSE
	return vk.SUCCESS
}
