package icd

import (
	"fmt"
	"os"
	"sync"
	"time"

	"farside/internal/exec"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

func createDevice(h vk.PhysicalDevice, info *vk.DeviceCreateInfo, _ *vk.AllocationCallbacks, out *vk.Device) vk.Result {
	*out = 0
	p := physicalDevices.Get(uintptr(h))
	if p == nil {
		return staleHandle("vkCreateDevice", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
	}
	d, err := p.newDevice(info)
	if err != nil {
		return p.instance.fail("vkCreateDevice", err, object{vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h)})
	}
	*out = d.handle
	return vk.SUCCESS
}

func (p *physicalDevice) newDevice(info *vk.DeviceCreateInfo) (_ *device, err error) {
	d := &device{physical: p, extensions: map[string]bool{}, stop: syncobj.New(syncobj.Fence, 0)}
	d.environment = sync.OnceValue(d.newEnvironment)
	d.exec = exec.Device{Resources: resources{d}, Stop: d.stop, Lost: d.executionFailed, Print: d.printed, Watchdog: watchdog(os.Getenv)}
	for _, n := range vk.Slice(info.PpEnabledExtensionNames, info.EnabledExtensionCount) {
		name := vk.GoString(n)
		if !supports(deviceExtensions, name) {
			return nil, vk.Errorf(vk.ERROR_EXTENSION_NOT_PRESENT, "", "device extension %q is not supported", name)
		}
		d.extensions[name] = true
	}
	if d.features, err = enabledFeatures(info); err != nil {
		return nil, err
	}
	d.reports = parseMemoryReports(info.PNext)
	if g := vk.Find[vk.DeviceGroupDeviceCreateInfo](info.PNext); g != nil && g.PhysicalDeviceCount > 0 {
		list := vk.Slice(g.PPhysicalDevices, g.PhysicalDeviceCount)
		if len(list) != 1 || list[0] != p.handle {
			return nil, vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, "VUID-VkDeviceGroupDeviceCreateInfo-physicalDeviceCount-00377",
				"a device group has exactly the one physical device that the device is created from")
		}
	}
	defer func() {
		if err != nil {
			d.closeQueues()
		}
	}()
	if err := d.createQueues(info); err != nil {
		return nil, err
	}
	h, err := devices.Insert(d)
	if err != nil {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "device handle: %w", err)
	}
	d.handle = vk.Device(h)
	return d, nil
}

// standardWatchdog is how long a dispatch may take where FARSIDE_WATCHDOG does not say.
const standardWatchdog = 30 * time.Second

// watchdog reads FARSIDE_WATCHDOG: a duration such as 90s or 5m; 0 is none.
func watchdog(getenv func(string) string) time.Duration {
	setting := getenv("FARSIDE_WATCHDOG")
	if setting == "" {
		return standardWatchdog
	}
	limit, err := time.ParseDuration(setting)
	if err != nil || limit < 0 {
		logger.Error(fmt.Sprintf("FARSIDE_WATCHDOG=%q is no duration: set it to one such as 90s or 5m, or to 0 for none; the default is used, %v", setting, standardWatchdog))
		return standardWatchdog
	}
	return limit
}

// printed gives what a shader prints with debugPrintf to the messengers and the log.
func (d *device) printed(text string) {
	d.physical.instance.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
		"DEBUG-PRINTF", text, object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)})
}

// createQueues makes the queues that VkDeviceCreateInfo asks for. A family that stands there twice has as many as the
// greater number says: some programs name it once for each use that they have for it.
// (VUID-VkDeviceCreateInfo-queueFamilyIndex-02802)
func (d *device) createQueues(info *vk.DeviceCreateInfo) error {
	list := vk.Slice(info.PQueueCreateInfos, info.QueueCreateInfoCount)
	var made [len(queueFamilies)]uint32
	for i := range list {
		q := &list[i]
		switch {
		case q.QueueFamilyIndex >= uint32(len(queueFamilies)):
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, "VUID-VkDeviceQueueCreateInfo-queueFamilyIndex-00381",
				"queue family %d does not exist, there are %d", q.QueueFamilyIndex, len(queueFamilies))
		case q.QueueCount > queueFamilies[q.QueueFamilyIndex]:
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, "VUID-VkDeviceQueueCreateInfo-queueCount-00382",
				"%d queues of family %d asked for, it has %d", q.QueueCount, q.QueueFamilyIndex, queueFamilies[q.QueueFamilyIndex])
		case q.Flags != 0:
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, "VUID-VkDeviceQueueCreateInfo-flags-02861",
				"queue flags %v need the protectedMemory feature", q.Flags)
		}
		for n := &made[q.QueueFamilyIndex]; *n < q.QueueCount; *n++ {
			if err := d.addQueue(q.QueueFamilyIndex, *n); err != nil {
				return err
			}
		}
	}
	return nil
}

func destroyDevice(h vk.Device, _ *vk.AllocationCallbacks) {
	if h == 0 {
		return
	}
	d := devices.Get(uintptr(h))
	if d == nil {
		staleHandle("vkDestroyDevice", vk.OBJECT_TYPE_DEVICE, uint64(h))
		return
	}
	d.destroy()
}

// destroy takes the device down with whatever the application left on it: memory is given back even then,
// so that no descriptor or mapping outlives the device.
func (d *device) destroy() {
	_ = d.stop.Signal(1) // a fence payload's signal does not fail
	d.closeQueues()
	d.leaked(func(t vk.ObjectType, h uint64) {
		d.physical.instance.fail("vkDestroyDevice", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkDestroyDevice-device-05137",
			"%v was not destroyed before its device", t), object{t, h})
		switch t {
		case vk.OBJECT_TYPE_DEVICE_MEMORY:
			freeMemory(d.handle, vk.DeviceMemory(h), nil)
		case vk.OBJECT_TYPE_BUFFER:
			buffers.Remove(h)
		case vk.OBJECT_TYPE_BUFFER_VIEW:
			bufferViews.Remove(h)
		case vk.OBJECT_TYPE_IMAGE:
			images.Remove(h)
		case vk.OBJECT_TYPE_IMAGE_VIEW:
			imageViews.Remove(h)
		case vk.OBJECT_TYPE_SAMPLER:
			samplers.Remove(h)
		case vk.OBJECT_TYPE_SHADER_MODULE:
			shaderModules.Remove(h)
		case vk.OBJECT_TYPE_PIPELINE_LAYOUT:
			pipelineLayouts.Remove(h)
		case vk.OBJECT_TYPE_PIPELINE_CACHE:
			pipelineCaches.Remove(h)
		case vk.OBJECT_TYPE_PIPELINE:
			pipelines.Remove(h)
		case vk.OBJECT_TYPE_QUERY_POOL:
			queryPools.Remove(h)
		case vk.OBJECT_TYPE_FENCE:
			destroyFence(d.handle, vk.Fence(h), nil)
		case vk.OBJECT_TYPE_SEMAPHORE:
			destroySemaphore(d.handle, vk.Semaphore(h), nil)
		case vk.OBJECT_TYPE_EVENT:
			destroyEvent(d.handle, vk.Event(h), nil)
		case vk.OBJECT_TYPE_PRIVATE_DATA_SLOT:
			destroyPrivateDataSlot(d.handle, vk.PrivateDataSlot(h), nil)
		case vk.OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT:
			descriptorSetLayouts.Remove(h)
		case vk.OBJECT_TYPE_DESCRIPTOR_POOL:
			destroyDescriptorPool(d.handle, vk.DescriptorPool(h), nil)
		case vk.OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE:
			descriptorUpdateTemplates.Remove(h)
		case vk.OBJECT_TYPE_COMMAND_POOL:
			destroyCommandPool(d.handle, vk.CommandPool(h), nil)
		}
	})
	devices.Remove(uintptr(d.handle))
}

// closeQueues ends the queues of a device that is stopped, or that has executed nothing yet.
func (d *device) closeQueues() {
	for _, q := range d.queues {
		queues.Remove(uintptr(q.handle))
		q.exec.Close()
	}
}

// created and destroyed keep the list of the device's live children; a name goes with its object.
func (d *device) created(t vk.ObjectType, h uint64) { d.objects.Store(h, t) }
func (d *device) destroyed(t vk.ObjectType, h uint64) {
	d.objects.CompareAndDelete(h, t)
	d.forget(object{t, h})
}

func (d *device) leaked(yield func(vk.ObjectType, uint64)) {
	d.objects.Range(func(h, t any) bool {
		yield(t.(vk.ObjectType), h.(uint64))
		return true
	})
}

func getDeviceGroupPeerMemoryFeatures(h vk.Device, heap, local, remote uint32, out *vk.PeerMemoryFeatureFlags) {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		staleHandle("vkGetDeviceGroupPeerMemoryFeatures", vk.OBJECT_TYPE_DEVICE, uint64(h))
		return
	}
	// A group of one has no peers: every call breaks the rule that local and remote differ.
	d.fail("vkGetDeviceGroupPeerMemoryFeatures", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkGetDeviceGroupPeerMemoryFeatures-localDeviceIndex-00693",
		"heap %d, local device %d and remote device %d: the device group has one device, which has no peer", heap, local, remote))
}
