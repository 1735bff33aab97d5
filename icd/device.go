package icd

import (
	"slices"
	"sync"

	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/rdmasim"
)

func createDevice(
	p *physicalDevice, info *vk.DeviceCreateInfo, _ *vk.AllocationCallbacks, out *vk.Device,
) vk.Result {
	d, err := p.newDevice(info)
	if err != nil {
		return p.instance.fail("vkCreateDevice", err, object{vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(p.handle)})
	}
	*out = d.handle
	d.journalHeaps()
	return vk.SUCCESS
}

func (p *physicalDevice) newDevice(info *vk.DeviceCreateInfo) (_ *device, err error) {
	d := &device{physical: p, extensions: map[string]bool{}, stop: syncobj.New(syncobj.Fence, 0)}
	d.environment, d.offer = sync.OnceValue(d.newEnvironment), sync.OnceValue(d.newOffer)
	d.exec = exec.Device{Resources: &resources{d, 0}, Stop: d.stop, Lost: d.executionFailed, Told: d.told,
		Print: d.printed, Watchdog: p.settings.Watchdog, MaxGroups: p.limits.MaxComputeWorkGroupCount, Fault: d.queueFaults(),
		Graphics: p.graphics(), DrawInOrder: p.settings.DrawInOrder}
	d.made = here()
	d.strictness = p.settings.Strict
	if d.strict(config.StrictNoncoherent | config.StrictAsync | config.StrictRDMA) {
		d.exec.Watch = d.watch
	}
	if d.strict(config.StrictRDMA) {
		d.exec.Begins = rdmasim.Synchronize
	}
	if d.strict(config.StrictAsync) {
		d.beginAsync()
	}
	for _, n := range vk.Slice(info.PpEnabledExtensionNames, info.EnabledExtensionCount) {
		name := vk.GoString(n)
		if !p.supports(name) {
			return nil, vk.Errorf(vk.ERROR_EXTENSION_NOT_PRESENT, vk.NoVUID, "device extension %q is not supported", name)
		}
		d.extensions[name] = true
	}
	if d.features, err = p.enabledFeatures(info); err != nil {
		return nil, err
	}
	d.reserves = d.features["memoryUnmapReserve"]
	d.remaps = d.features["memoryMapPlaced"] || d.reserves || d.strict(config.StrictGuard)
	d.reports = parseMemoryReports(info.PNext)
	if err = d.join(info); err != nil {
		return nil, err
	}
	d.divide()
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
		return nil, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "device handle: %w", err)
	}
	d.handle = vk.Device(h)
	d.countAsync(1)
	return d, nil
}

// printed gives what a shader prints with debugPrintf to the messengers and the log.
func (d *device) printed(text string) {
	d.physical.instance.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
		vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
		"DEBUG-PRINTF", text, object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)})
}

// told reports a rule that a command breaks while a queue executes it, and that does no harm.
func (d *device) told(err error) { d.warn(vk.VUIDOf(err), err.Error()) }

// warn reports a rule that the application breaks and that does no harm.
func (d *device) warn(rule vk.VUID, text string) {
	d.physical.instance.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
		vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, rule.String(), text,
		object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)})
}

// allows says whether what a rule asks a feature for is done. It is where the device has the feature. Where the
// application has not enabled it, the first time is warned of.
func (d *device) allows(feature string, rule vk.VUID) bool {
	if d.features[feature] {
		return true
	}
	if !d.physical.hasFeature(feature) {
		return false
	}
	d.forgives(rule, "the device was created without the feature "+feature)
	return true
}

// forgives warns, once for each rule, of what works although a rule is broken: an object was created without what it
// asks for, or a command has nothing to do.
func (d *device) forgives(rule vk.VUID, lack string) {
	if _, told := d.forgiven.LoadOrStore(rule, true); !told {
		d.warn(rule, "works, but "+lack)
	}
}

// createQueues makes the queues that VkDeviceCreateInfo asks for. A family that stands there twice has as many as the
// greater number says: some programs name it once for each use that they have for it.
// (VUID-VkDeviceCreateInfo-queueFamilyIndex-02802)
func (d *device) createQueues(info *vk.DeviceCreateInfo) error {
	list := vk.Slice(info.PQueueCreateInfos, info.QueueCreateInfoCount)
	families := d.physical.families
	made := make([]uint32, len(families))
	for i := range list {
		q := &list[i]
		switch {
		case q.QueueFamilyIndex >= uint32(len(families)):
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.VUID_VkDeviceQueueCreateInfo_queueFamilyIndex_00381,
				"queue family %d does not exist, there are %d", q.QueueFamilyIndex, len(families))
		case q.QueueCount > families[q.QueueFamilyIndex].Count:
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.VUID_VkDeviceQueueCreateInfo_queueCount_00382,
				"%d queues of family %d asked for, it has %d", q.QueueCount, q.QueueFamilyIndex, families[q.QueueFamilyIndex].Count)
		case q.Flags != 0:
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.VUID_VkDeviceQueueCreateInfo_flags_02861,
				"queue flags %v need the protectedMemory feature", q.Flags)
		}
		if g := vk.Find[vk.DeviceQueueGlobalPriorityCreateInfo](q.PNext); g != nil &&
			!slices.Contains(globalPriorities, g.GlobalPriority) {
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED,
				vk.VUID_VkDeviceQueueGlobalPriorityCreateInfo_globalPriority_parameter, "there is no global priority %v",
				g.GlobalPriority)
		}
		for n := &made[q.QueueFamilyIndex]; *n < q.QueueCount; *n++ {
			if err := d.addQueue(q.QueueFamilyIndex, *n); err != nil {
				return err
			}
		}
	}
	return nil
}

func destroyDevice(d *device, _ *vk.AllocationCallbacks) { d.destroy() }

// destroy takes the device down with whatever the application left on it: memory is given back even then,
// so that no descriptor or mapping outlives the device. The handle goes first: a callback that is told of what was left
// makes no more of it.
func (d *device) destroy() {
	if devices.Remove(uintptr(d.handle)) == nil {
		return // another thread does it
	}
	_ = d.stop.Signal(1) // a fence payload's signal does not fail
	d.closeQueues()
	for o := range d.children() {
		if o.withdraw() {
			d.leaked(o)
			d.physical.instance.fail("vkDestroyDevice", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroyDevice_device_05137,
				"%v was not destroyed before its device", o.objectType()), object{o.objectType(), o.base().handle})
			d.forget(object{o.objectType(), o.base().handle})
			o.release()
		}
	}
	d.countAsync(-1)
}

// closeQueues ends the queues of a device that is stopped, or that has executed nothing yet.
func (d *device) closeQueues() {
	for _, q := range d.queues {
		queues.Remove(uintptr(q.handle))
		q.exec.Close()
	}
}
