package icd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"farside/internal/config"
	"farside/internal/vk"
)

// profileInstance makes an instance with a profile of the text.
func profileInstance(t *testing.T, text string) *instance {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(config.Profile, path)
	return testInstance(t, nil)
}

func TestProfileIsRefused(t *testing.T) {
	log := captureLog(t, config.LevelOff)
	t.Setenv("FARSIDE_LOG", "error")
	dir := t.TempDir()
	for text, part := range map[string]string{
		"[properties]\nmaxPushConstantsSize = 127":                     "maxPushConstantsSize: 127 is less than 128",
		"[properties]\nmaxPushConstantSize = 128":                      "nearest is maxPushConstantsSize",
		"[[queueFamilies]]\ncount = 1\nflags = [\"COMPUTE\"]\nx = 1":   "line 4",
		"[[queueFamilies]]\ncount = 1\nflags = [\"GRAPHICS\"]":         "VK_QUEUE_COMPUTE_BIT",
		"[[devices]]\n[devices.properties]\nmaxViewportDimensions = 1": "1 values instead of 2",
		"groups = [[0, 1]]": "no device 1",
	} {
		path := filepath.Join(dir, "wrong.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(config.Profile, path)
		log.Reset()
		var h vk.Instance
		r := commands.CreateInstance(&vk.InstanceCreateInfo{SType: vk.STRUCTURE_TYPE_INSTANCE_CREATE_INFO}, nil, &h)
		if r != vk.ERROR_INITIALIZATION_FAILED || h != 0 {
			t.Errorf("%q: %v, %#x", text, r, h)
		}
		if !strings.Contains(log.String(), part) || !strings.Contains(log.String(), config.Profile) {
			t.Errorf("%q: the log does not say %q: %s", text, part, log)
		}
	}
}

func TestSeveralDevices(t *testing.T) {
	i := profileInstance(t, "[[devices]]\n[devices.properties]\ndeviceName = \"a\"\n[[devices]]\nbase = \"lavapipe\"\n"+
		"[[devices]]\n")
	if len(i.devices) != 3 {
		t.Fatalf("%d devices", len(i.devices))
	}
	uuids := map[[16]byte]bool{}
	for n, p := range i.devices {
		if p.index != n || physicalDevices.Get(uintptr(p.handle)) != p || p.instance != i {
			t.Errorf("device %d: %+v", n, p)
		}
		uuids[p.deviceUUID] = true
	}
	if len(uuids) != 3 {
		t.Error("devices share a UUID")
	}
	if size := i.devices[1].limits.subgroup.SubgroupSize; size != 8 {
		t.Errorf("lavapipe's subgroups have %d invocations", size)
	}
	if i.devices[0].limits.subgroup.SubgroupSize != subgroupSize || i.devices[1].vendorID != 0x10005 {
		t.Error("the devices are mixed up")
	}
	handles := make([]vk.PhysicalDevice, 2)
	count := uint32(2)
	if r := commands.EnumeratePhysicalDevices(i.handle, &count, &handles[0]); r != vk.INCOMPLETE || count != 2 ||
		handles[1] != i.devices[1].handle {
		t.Errorf("%v, %d", r, count)
	}
	groups := make([]vk.PhysicalDeviceGroupProperties, 2)
	if r := commands.EnumeratePhysicalDeviceGroups(i.handle, &count, &groups[0]); r != vk.INCOMPLETE || count != 2 ||
		groups[1].PhysicalDevices[0] != i.devices[1].handle || groups[1].PhysicalDeviceCount != 1 {
		t.Errorf("%v, %d, %+v", r, count, groups)
	}
}

// A profile's pipelines are not another's, and neither are those of a device with other limits.
func TestPipelineCacheUUIDOfProfiles(t *testing.T) {
	seen := map[[16]byte]bool{}
	for _, text := range []string{"", "[properties]\nsubgroupSize = 16", "[properties]\nmaxPushConstantsSize = 128"} {
		seen[profileInstance(t, text).devices[0].pipelineCacheUUID()] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d UUIDs for three devices", len(seen))
	}
}

// FARSIDE_HEAP_DEVICE, FARSIDE_DEVICE_UUID and FARSIDE_DRIVER_UUID count more than a profile.
func TestSettingsBeforeProfile(t *testing.T) {
	const driver, device = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"
	t.Setenv("FARSIDE_DRIVER_UUID", driver)
	t.Setenv("FARSIDE_DEVICE_UUID", device)
	i := profileInstance(t, "[[devices]]\nbase = \"h200\"\n[[devices]]\nbase = \"lavapipe\"")
	a, b := i.devices[0], i.devices[1]
	if a.profile.Heaps[0].Size != 2<<30 || a.profile.Heaps[1].Size != 2<<30 || b.profile.Heaps[0].Size != 2<<30 {
		t.Errorf("heaps %+v, %+v", a.profile.Heaps, b.profile.Heaps)
	}
	if a.deviceUUID[0] != 0xff || a.driverUUID[1] != 0x11 || b.driverUUID != a.driverUUID || b.deviceUUID == a.deviceUUID {
		t.Errorf("UUIDs %x, %x, %x, %x", a.deviceUUID, a.driverUUID, b.deviceUUID, b.driverUUID)
	}
}

func TestCutsAreLogged(t *testing.T) {
	log := captureLog(t, config.LevelOff)
	t.Setenv("FARSIDE_LOG", "info")
	profileInstance(t, "base = \"h200\"")
	for _, part := range []string{"VK_EXT_mesh_shader", "maxImageDimension2D", "claims 32768, the device has 16384"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not say %q", part)
		}
	}
	log.Reset()
	t.Setenv("FARSIDE_LOG", "warn")
	profileInstance(t, "base = \"h200\"")
	if log.Len() != 0 {
		t.Errorf("with FARSIDE_LOG=warn: %s", log)
	}
}
