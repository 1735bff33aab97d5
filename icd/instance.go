package icd

import (
	"log/slog"
	"sync"

	"farside/internal/cabi"
	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/gate"
	"farside/internal/report"
	"farside/internal/vk"
)

// Version and Commit are set at link time; driverInfo and driverVersion are made of them.
var (
	Version = "0.1.0"
	Commit  = "unknown"
)

func createInstance(info *vk.InstanceCreateInfo, allocator *vk.AllocationCallbacks, out *vk.Instance) vk.Result {
	*out = 0
	settings, err := readSettings()
	if err == nil {
		err = installFaults(settings)
	}
	if err == nil && settings.FaultsRecord != "" {
		err = startRecord(settings.FaultsRecord)
	}
	setTracer()
	run := func() vk.Result { return newInstance(info, settings, err, out) }
	if observers.Load() != nil {
		return observe("vkCreateInstance", []any{info, allocator, out}, run)
	}
	return run()
}

// newInstance makes an instance. wrong is the error of the settings.
func newInstance(info *vk.InstanceCreateInfo, settings *config.Settings, wrong error, out *vk.Instance) vk.Result {
	i := &instance{apiVersion: vk.API_VERSION_1_0, extensions: map[string]bool{}}
	chain := chainedMessengers(info.PNext)
	i.chain.Store(&chain)
	i.destroying() // the chain's messengers listen until the instance is made
	if err := i.init(info, settings, wrong); err != nil {
		return i.fail("vkCreateInstance", err)
	}
	i.created()
	*out = i.handle
	return vk.SUCCESS
}

func (i *instance) init(info *vk.InstanceCreateInfo, settings *config.Settings, wrong error) error {
	if err := gate.Prepare(); err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%w", err)
	}
	// An absent application info or apiVersion 0 means 1.0; a version above ours is legal and only says what
	// the application could use (chapter "Instances", VkApplicationInfo).
	if app := info.PApplicationInfo; app != nil && app.ApiVersion != 0 {
		i.apiVersion = app.ApiVersion
	}
	for _, n := range vk.Slice(info.PpEnabledExtensionNames, info.EnabledExtensionCount) {
		name := vk.GoString(n)
		if !supports(instanceExtensions, name) {
			return vk.Errorf(vk.ERROR_EXTENSION_NOT_PRESENT, vk.NoVUID, "instance extension %q is not supported", name)
		}
		i.extensions[name] = true
	}
	if wrong != nil {
		return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.NoVUID, "%w", wrong)
	}
	i.tell(settings.Notices)
	if err := report.Start(settings, "farside "+driverInfo(), gate.AtExit); err != nil {
		return err
	}
	finding.Begin(settings)
	if settings.Strict&config.StrictLeaks != 0 {
		i.made = here()
		leaksAtExit()
	}
	if settings.Strict&config.StrictGuard != 0 {
		if err := watchGuards(); err != nil {
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.NoVUID, "handler of SIGSEGV: %w", err)
		}
	}
	list, err := newPhysicalDevices(settings)
	if err != nil {
		return profileError(err)
	}
	h, err := instances.Insert(i)
	if err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "instance handle: %w", err)
	}
	for _, p := range list {
		p.instance = i
		ph, err := physicalDevices.Insert(p)
		if err != nil {
			i.removeDevices()
			instances.Remove(h)
			return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "physical device handle: %w", err)
		}
		p.handle = vk.PhysicalDevice(ph)
		i.devices = append(i.devices, p)
		p.tellCuts()
	}
	i.handle = vk.Instance(h)
	return nil
}

func (i *instance) removeDevices() {
	for _, p := range i.devices {
		physicalDevices.Remove(uintptr(p.handle))
	}
}

// readSettings reads the environment as it is now, which is more than Go knows of it: the application may have changed
// it since it loaded the driver. Errors: config.ErrSetting.
func readSettings() (*config.Settings, error) {
	s, err := config.Capture()
	if err == nil {
		logLevel.Set(s.Log)
		if s.Strict&config.StrictLeaks != 0 {
			cabi.Track()
		}
	}
	return s, err
}

// told has the texts of the notices that the process has been given.
var told sync.Map

// tell reports what the environment gives cause to, each notice once for each process.
func (i *instance) tell(notices []config.Notice) {
	for _, n := range notices {
		if _, again := told.LoadOrStore(n.Text, true); again {
			continue
		}
		severity := vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
		if n.Level >= slog.LevelError {
			severity = vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT
		}
		i.report(severity, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "", n.Text)
	}
}

// destroyInstance takes the handle first, like device.destroy.
func destroyInstance(i *instance, _ *vk.AllocationCallbacks) {
	if instances.Remove(uintptr(i.handle)) == nil {
		return // another thread does it
	}
	i.removeDevices()
	i.destroying()
	for _, d := range devices.All() {
		if d.physical.instance == i {
			i.fail("vkDestroyInstance", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroyInstance_instance_00629,
				"a device of this instance was not destroyed"), object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)})
			d.destroy()
		}
	}
	i.destroySurfaces()
	for h, m := range messengers.All() {
		if m.instance == i {
			messengers.Remove(h)
		}
	}
}

func enumeratePhysicalDevices(i *instance, count *uint32, out *vk.PhysicalDevice) vk.Result {
	handles := make([]vk.PhysicalDevice, len(i.devices))
	for n, p := range i.devices {
		handles[n] = p.handle
	}
	return vk.WriteArray(count, out, handles)
}
