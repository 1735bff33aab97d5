package icd

import (
	"testing"

	"farside/internal/vk"
)

func TestNegotiation(t *testing.T) {
	for _, c := range []struct {
		asked, agreed uint32
		result        vk.Result
	}{
		{0, 0, vk.ERROR_INCOMPATIBLE_DRIVER},
		{4, 4, vk.ERROR_INCOMPATIBLE_DRIVER},
		{5, 5, vk.SUCCESS},
		{6, 6, vk.SUCCESS},
		{7, 7, vk.SUCCESS},
		{8, 7, vk.SUCCESS},
		{^uint32(0), 7, vk.SUCCESS},
	} {
		version := c.asked
		if r := NegotiateLoaderICDInterfaceVersion(&version); r != c.result || version != c.agreed {
			t.Errorf("version %d: %v and version %d, want %v and %d", c.asked, r, version, c.result, c.agreed)
		}
	}
	if r := NegotiateLoaderICDInterfaceVersion(nil); r != vk.ERROR_INCOMPATIBLE_DRIVER {
		t.Errorf("no version: %v", r)
	}
}

// vkGetInstanceProcAddr knows the commands of core versions and extensions that the driver has.
func TestInstanceProcAddresses(t *testing.T) {
	withoutGraphics(t)
	i := testInstance(t, nil)
	for name, want := range map[string]bool{
		"vkQueueSubmit2": true, "vkCmdDraw": true, "vkCmdBeginRendering": true, "vkQueueSubmit2KHR": true,
		"vkCmdBindIndexBuffer2KHR": true,
		"vkCmdBindIndexBuffer2":    true, "vkCmdBeginRenderingKHR": false, "vkGetDeviceGroupPeerMemoryFeaturesKHR": false,
		"vkNoSuchCommand": false,
	} {
		s := append([]byte(name), 0)
		if got := GetInstanceProcAddr(i.handle, &s[0]) != 0; got != want {
			t.Errorf("%s resolves: %v, want %v", name, got, want)
		}
	}
}

// What Vulkan 1.4 took out of extensions has its own name on devices of 1.4, and is the same command.
func TestCommandsOfVersion14(t *testing.T) {
	with := propertiesDevice(t, graphicsInstance(t), nil)
	withoutGraphics(t)
	without := propertiesDevice(t, testInstance(t, nil), nil)
	count := 0
	for i := range vk.Commands {
		c := vk.Commands[i]
		if c.Version != vk.API_VERSION_1_4 || c.Level != vk.DeviceLevel {
			continue
		}
		count++
		name := append([]byte(c.Name.String()), 0)
		if commands.GetDeviceProcAddr(with.handle, &name[0]) == 0 {
			t.Errorf("%s is missing with graphics", c.Name)
		}
		if commands.GetDeviceProcAddr(without.handle, &name[0]) != 0 {
			t.Errorf("%s is there without graphics", c.Name)
		}
	}
	if count < 19 {
		t.Errorf("Vulkan 1.4 has %d commands", count)
	}
}

// The feature maintenance5 hides the core commands that the application did not ask for, by VkApplicationInfo.
func TestProcAddressesEndAtTheInstancesVersion(t *testing.T) {
	i := testInstance(t, nil)
	has := func(d *device, name string) bool {
		s := append([]byte(name), 0)
		return commands.GetDeviceProcAddr(d.handle, &s[0]) != 0
	}
	for _, c := range []struct {
		version      uint32
		maintenance5 bool
		v10, v11     bool
		v12, v13     bool
	}{
		{vk.API_VERSION_1_0, false, true, true, true, true},
		{vk.API_VERSION_1_0, true, true, false, false, false},
		{vk.API_VERSION_1_1, true, true, true, false, false},
		{vk.MakeVersion(1, 2, 7), true, true, true, true, false},
		{vk.API_VERSION_1_3, true, true, true, true, true},
		{vk.API_VERSION_1_4, true, true, true, true, true},
	} {
		i.apiVersion = c.version
		d := propertiesDevice(t, i, nil)
		d.features["maintenance5"] = c.maintenance5
		for name, want := range map[string]bool{"vkQueueSubmit": c.v10, "vkBindBufferMemory2": c.v11,
			"vkResetQueryPool": c.v12, "vkQueueSubmit2": c.v13, "vkQueueSubmit2KHR": false} {
			if got := has(d, name); got != want {
				t.Errorf("version %#x, maintenance5 %v: %s resolves: %v, want %v", c.version, c.maintenance5, name, got, want)
			}
		}
	}
}
