package profile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/internal/vk"
)

// one is the only device of a profile.
func one(t *testing.T, name string) *Device {
	t.Helper()
	p, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Devices) != 1 {
		t.Fatalf("%d devices", len(p.Devices))
	}
	return p.Devices[0]
}

func wantValues(t *testing.T, d *Device, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := d.Value(key); got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
}

const (
	local    = vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT
	visible  = vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT
	coherent = vk.MEMORY_PROPERTY_HOST_COHERENT_BIT
	cached   = vk.MEMORY_PROPERTY_HOST_CACHED_BIT
)

// The figures are those of vulkaninfo's text of the device.
func TestText(t *testing.T) {
	d := one(t, "h200")
	wantValues(t, d, map[string]string{
		"VkPhysicalDeviceProperties.apiVersion":                       "1.4.312",
		"VkPhysicalDeviceProperties.deviceName":                       "NVIDIA H200",
		"VkPhysicalDeviceProperties.deviceType":                       "DISCRETE_GPU",
		"VkPhysicalDeviceProperties.vendorID":                         "4318",
		"VkPhysicalDeviceLimits.maxImageDimension2D":                  "32768",
		"VkPhysicalDeviceLimits.maxComputeWorkGroupCount":             "2147483647 65535 65535",
		"VkPhysicalDeviceLimits.pointSizeRange":                       "1 2047.94",
		"VkPhysicalDeviceLimits.minTexelGatherOffset":                 "-32",
		"VkPhysicalDeviceLimits.framebufferStencilSampleCounts":       "1|2|4|8|16",
		"VkPhysicalDeviceSparseProperties.residencyAlignedMipSize":    "false",
		"VkPhysicalDeviceIDProperties.deviceUUID":                     "b8837100-c1cc-2738-62db-74344dd3ae54",
		"VkPhysicalDeviceDriverProperties.conformanceVersion.minor":   "4",
		"VkPhysicalDeviceMaintenance3Properties.maxPerSetDescriptors": "4294967295",
		"VkPhysicalDevicePushDescriptorProperties.maxPushDescriptors": "32",
	})
	if diff := cmp.Diff([]Heap{{150754820096, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT}, {101361423360, 0}}, d.Heaps); diff != "" {
		t.Error(diff)
	}
	want := []Type{{0, 1, true, true}, {local, 0, true, true}, {visible | coherent, 1, false, true},
		{visible | coherent | cached, 1, false, true}, {local | visible | coherent, 0, false, true}}
	if diff := cmp.Diff(want, d.Types); diff != "" {
		t.Error(diff)
	}
	unit := [3]uint32{1, 1, 1}
	const transfer, compute, sparse = vk.QUEUE_TRANSFER_BIT, vk.QUEUE_COMPUTE_BIT, vk.QUEUE_SPARSE_BINDING_BIT
	families := []Family{{vk.QUEUE_GRAPHICS_BIT | compute | transfer | sparse, 16, 64, unit},
		{transfer | sparse, 2, 64, unit}, {compute | transfer | sparse, 8, 64, unit},
		{transfer | sparse | vk.QUEUE_VIDEO_DECODE_BIT_KHR, 7, 32, unit}, {transfer | sparse, 1, 64, unit}}
	if diff := cmp.Diff(families, d.Families); diff != "" {
		t.Error(diff)
	}
	if !d.Whole || len(d.Extensions) != 236 || d.Extensions["VK_KHR_maintenance4"] != 2 || len(d.Notes) != 2 {
		t.Errorf("%d extensions, notes %q", len(d.Extensions), d.Notes)
	}
	if !d.Features["shaderInt64"] || d.Features["protectedMemory"] || !d.Features["vulkanMemoryModelDeviceScope"] {
		t.Errorf("features %v", d.Features)
	}
}

func TestVulkaninfoJSON(t *testing.T) {
	d := one(t, "testdata/profile.json")
	wantValues(t, d, map[string]string{
		"VkPhysicalDeviceProperties.deviceName":                        "A device",
		"VkPhysicalDeviceProperties.deviceType":                        "INTEGRATED_GPU",
		"VkPhysicalDeviceProperties.pipelineCacheUUID":                 "00010203-0405-0607-0809-0a0b0c0d0e0f",
		"VkPhysicalDeviceLimits.maxComputeWorkGroupSize":               "256 256 64",
		"VkPhysicalDeviceLimits.framebufferColorSampleCounts":          "1|4",
		"VkPhysicalDeviceLimits.lineWidthRange":                        "1 7.5",
		"VkPhysicalDeviceSparseProperties.residencyAlignedMipSize":     "true",
		"VkPhysicalDeviceDriverProperties.driverID":                    "MESA_RADV",
		"VkPhysicalDeviceVulkan12Properties.driverName":                "radv",
		"VkPhysicalDeviceVulkan12Properties.conformanceVersion.minor":  "3",
		"VkPhysicalDeviceDriverProperties.conformanceVersion.subminor": "0",
	})
	wantFamilies := []Family{{vk.QUEUE_COMPUTE_BIT | vk.QUEUE_TRANSFER_BIT, 3, 36, [3]uint32{2, 2, 1}}}
	if diff := cmp.Diff(wantFamilies, d.Families); diff != "" {
		t.Error(diff)
	}
	// "other" is an alternative to "base", which comes first.
	if diff := cmp.Diff(map[string]uint32{"VK_KHR_timeline_semaphore": 2}, d.Extensions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"robustBufferAccess": true, "shaderInt64": false, "timelineSemaphore": true},
		d.Features); diff != "" {
		t.Error(diff)
	}
	if len(d.Notes) != 3 || !strings.HasPrefix(d.Notes[0], "line ") || d.Heaps != nil {
		t.Errorf("notes %q, heaps %v", d.Notes, d.Heaps)
	}
}

func TestGPUInfo(t *testing.T) {
	d := one(t, "testdata/report.json")
	wantValues(t, d, map[string]string{
		"VkPhysicalDeviceProperties.apiVersion":               "1.3.279",
		"VkPhysicalDeviceProperties.deviceName":               "Someone's card",
		"VkPhysicalDeviceLimits.bufferImageGranularity":       "1024",
		"VkPhysicalDeviceLimits.framebufferColorSampleCounts": "1|2|4|8",
		"VkPhysicalDeviceLimits.lineWidthRange":               "1 64",
		"VkPhysicalDeviceIDProperties.deviceUUID":             "00010203-0405-0607-0809-0a0b0c0d0e0f",

		"VkPhysicalDeviceTimelineSemaphoreProperties.maxTimelineSemaphoreValueDifference": "2147483647",
		"VkPhysicalDevicePushDescriptorProperties.maxPushDescriptors":                     "32",
		"VkPhysicalDeviceRobustness2PropertiesKHR.robustUniformBufferAccessSizeAlignment": "16",
		"VkPhysicalDeviceSubgroupProperties.subgroupSize":                                 "32",
	})
	if diff := cmp.Diff([]Heap{{0x2eec00000, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT}, {0x3fdac6000, 0}}, d.Heaps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Type{{0, 1, true, true}, {local, 0, true, true}, {visible | coherent, 1, true, true}},
		d.Types); diff != "" {
		t.Error(diff)
	}
	if len(d.Families) != 2 || d.Families[1].Granularity != [3]uint32{16, 16, 8} || d.Families[1].TimestampBits != 32 {
		t.Errorf("families %+v", d.Families)
	}
	if !d.Features["maintenance5"] || d.Features["nullDescriptor"] || !d.Features["shaderInt64"] ||
		!d.Features["timelineSemaphore"] || len(d.Extensions) != 3 {
		t.Errorf("features %v, extensions %v", d.Features, d.Extensions)
	}
}

const exampleTOML = `base = "testdata.json"

[properties]
deviceName = "Mine"
"VkPhysicalDeviceLimits.maxImageDimension2D" = 4096
maxPerSetDescriptors = 2048
lineWidthRange = [1, 2.5]
framebufferColorSampleCounts = ["1", "SAMPLE_COUNT_4_BIT"]
driverUUID = "00112233-4455-6677-8899-aabbccddeeff"
apiVersion = "1.2.131"

[features]
shaderInt64 = true
timelineSemaphore = false

[extensions]
VK_KHR_spirv_1_4 = true
VK_KHR_timeline_semaphore = false
VK_KHR_maintenance4 = 1

[[heaps]]
size = "512MiB"
flags = ["DEVICE_LOCAL"]

[[types]]
heap = 0
flags = ["DEVICE_LOCAL", "VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT", "host_coherent"]
linear = false

[[queueFamilies]]
count = 2
flags = ["COMPUTE"]
`

func TestTOML(t *testing.T) {
	base, err := os.ReadFile("testdata/profile.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "testdata.json", string(base))
	d := one(t, write(t, dir, "mine.toml", exampleTOML))
	wantValues(t, d, map[string]string{
		"VkPhysicalDeviceProperties.deviceName":                       "Mine",
		"VkPhysicalDeviceProperties.deviceType":                       "INTEGRATED_GPU", // of the base
		"VkPhysicalDeviceProperties.apiVersion":                       "1.2.131",
		"VkPhysicalDeviceLimits.maxImageDimension2D":                  "4096",
		"VkPhysicalDeviceLimits.lineWidthRange":                       "1 2.5",
		"VkPhysicalDeviceLimits.framebufferColorSampleCounts":         "1|4",
		"VkPhysicalDeviceMaintenance3Properties.maxPerSetDescriptors": "2048",
		"VkPhysicalDeviceVulkan11Properties.maxPerSetDescriptors":     "2048", // holds the same
		"VkPhysicalDeviceVulkan11Properties.driverUUID":               "00112233-4455-6677-8899-aabbccddeeff",
	})
	if diff := cmp.Diff([]Heap{{512 << 20, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT}}, d.Heaps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Type{{local | visible | coherent, 0, true, false}}, d.Types); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Family{{vk.QUEUE_COMPUTE_BIT, 2, 64, [3]uint32{1, 1, 1}}}, d.Families); diff != "" {
		t.Error(diff)
	}
	if !d.Features["shaderInt64"] || d.Features["timelineSemaphore"] || !d.Features["robustBufferAccess"] {
		t.Errorf("features %v", d.Features)
	}
	if diff := cmp.Diff(map[string]uint32{"VK_KHR_spirv_1_4": 1, "VK_KHR_timeline_semaphore": 0, "VK_KHR_maintenance4": 1},
		d.Extensions); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Errors name the line, the key and the nearest word.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for text, parts := range map[string][]string{
		"[properties]\nmaxImageDimenson2D = 1\n": {
			"line 2", "maxImageDimenson2D", "nearest is maxImageDimension2D"},
		"\n[properties]\n\"VkPhysicalDeviceLimit.maxViewports\" = 1": {
			"line 3", "nearest is VkPhysicalDeviceLimits.maxViewports"},
		"[properties]\nmaxViewports = \"many\"":            {"line 2", "maxViewports", "many"},
		"[properties]\nmaxViewports = -1":                  {"line 2", "-1"},
		"[properties]\nmaxViewports = 4294967296":          {"32 bits"},
		"[properties]\nmaxViewportDimensions = 1":          {"1 values instead of 2"},
		"[properties]\ndeviceType = \"DISCRET_GPU\"":       {"nearest is DISCRETE_GPU"},
		"[properties]\ndeviceUUID = \"1234\"":              {"32 hexadecimal digits"},
		"[properties]\nlineWidthRange = [[1, 2]]":          {"a list in a list"},
		"[features]\nshaderInt65 = true":                   {"line 2", "nearest is shaderInt64"},
		"[features]\nshaderInt64 = 1":                      {"neither true nor false"},
		"[extensions]\nVK_KHR_maintenance44 = true":        {"nearest is VK_KHR_maintenance4"},
		"[extensions]\nVK_EXT_debug_utils = true":          {"there is no device extension"},
		"bas = \"h200\"":                                   {"line 1", "nearest is base"},
		"[limits]\nmaxViewports = 1":                       {"line 1", "there are base", "properties"},
		"base = \"h20\"":                                   {"base", "h20"},
		"x = [":                                            {"line 1"},
		"[[heaps]]\nsize = \"lots\"":                       {"heaps[0]", "lots"},
		"[[heaps]]\nsize = 1\nflags = [\"DEVICE_LOKAL\"]":  {"nearest is DEVICE_LOCAL"},
		"[[types]]\nheap = 0\nflags = [\"RDMA\"]":          {"types[0]"},
		"[[types]]\nhaep = 0":                              {"line 2", "nearest is heap"},
		"groups = [[0, 1]]":                                {"groups[0]", "no device 1"},
		"groups = [[]]":                                    {"groups[0]", "0 devices"},
		"groups = [[0, 1], [1]]\n[[devices]]\n[[devices]]": {"groups[1]", "device 1 stands there twice"},
		"base = \"h200\"\n[[devices]]\nbase = \"h200\"":    {"no other keys"},
		"{":                         {"line 1"},
		"{\"a\": 1}":                {"neither a Vulkan profile"},
		"{\"capabilities\": {}} {}": {"end of the document"},
		"{\"capabilities\": {\"d\": {\"properties\": {\"VkPhysicalDeviceProperties\":\n{\"limits\": " +
			"{\"maxViewports\": \"x\"}}}}}}": {"line 2", "maxViewports"},
		"VULKANINFO\nGPU0:\nVkPhysicalDeviceLimits:\n\tmaxViewports = " +
			"x": {"line 4", "maxViewports"},
		"VULKANINFO\n":                          {"no GPU0"},
		"VULKANINFO\nGPU0:\n\tdeviceName = x\n": {"GPU0 has no VkPhysicalDeviceProperties", "without options"},
		"VULKANINFO\nGPU0:\nVkPhysicalDeviceProperties:\n\tapiVersion = 1.3.0 (1)\n": {"GPU0 has no memoryHeaps"},
		"base = 3":       {"line 1", "base", "integer"},
		"properties = 3": {"line 1", "properties", "integer"},
		"<html>":         {"line 1", "text or the JSON of vulkaninfo"},
		"\xff\xfea\x00":  {"text or the JSON of vulkaninfo"},
	} {
		_, err := Load(write(t, dir, "wrong", text))
		if !errors.Is(err, ErrProfile) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error does not say %q: %v", text, part, err)
			}
		}
	}
	for name, part := range map[string]string{
		"h2000": "nearest is h200", "/none/of/it": "/none/of/it", ".": "regular file",
	} {
		if _, err := Load(name); !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", name, err)
		}
	}
	loop := write(t, dir, "loop.toml", "base = \"loop.toml\"")
	if _, err := Load(loop); err == nil || !strings.Contains(err.Error(), "stand behind one another") {
		t.Errorf("a loop: %v", err)
	}
	large := write(t, dir, "large", "")
	if err := os.Truncate(large, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), "at most 16 MiB") {
		t.Errorf("a large file: %v", err)
	}
	deep := write(t, dir, "deep", "{\"capabilities\":"+strings.Repeat("[", 100)+strings.Repeat("]", 100)+"}")
	if _, err := Load(deep); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("a deep file: %v", err)
	}
}

func TestBuiltin(t *testing.T) {
	names, about := Builtin()
	want := []string{"default", "group", "h200", "h200-rdma", "lavapipe", "pair", "tiny", "unified"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatal(diff)
	}
	for i, name := range names {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(p, func(string) bool { return true }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.Default() != (name == DefaultName) || about[i] == "" || strings.HasPrefix(about[i], "#") {
			t.Errorf("%s: %q, default: %v", name, about[i], p.Default())
		}
	}
}

func TestDepends(t *testing.T) {
	has := func(name string) bool { return strings.HasPrefix(name, "t") }
	for text, want := range map[string]bool{
		"": true, "t": true, "f": false, "t+f": false, "t,f": true, "f,t": true, "f+t,t": true, "t,f+f": false,
		"(t,f)+t": true, "t+(f,f)": false, "((t))": true, "f,(f,(t+t))": true, "(": false, "+": false, "t)": true,
	} {
		if got := satisfied(text, has); got != want {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// A file based on one with device groups keeps them, wherever its devices come to stand.
func TestGroupsOfBase(t *testing.T) {
	for text, want := range map[string][][]int{
		"base = \"group\"":                                                               {{0, 1}, {0, 1}},
		"base = \"group\"\ngroups = [[0], [1]]":                                          {nil, nil},
		"[[devices]]\nbase = \"pair\"\n[[devices]]\nbase = \"group\"":                    {nil, nil, {2, 3}, {2, 3}},
		"groups = [[3, 0]]\n[[devices]]\nbase = \"pair\"\n[[devices]]\nbase = \"group\"": {{0, 3}, nil, nil, {0, 3}},
	} {
		p, err := Load(write(t, t.TempDir(), "profile", text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got [][]int
		for _, d := range p.Devices {
			if d.Group == nil {
				got = append(got, nil)
			} else {
				got = append(got, d.Group.Devices)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
