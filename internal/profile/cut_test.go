package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/internal/vk"
)

// testOwn is a driver that answers 64 for every number.
func testOwn() *Own {
	return &Own{
		Version: vk.MakeVersion(1, 3, 100), Instance: func(string) bool { return false },
		Extensions: map[string]uint32{"VK_KHR_external_memory": 1, "VK_KHR_external_memory_fd": 1, "VK_KHR_maintenance4": 2,
			"VK_KHR_spirv_1_4": 1, "VK_KHR_shader_float_controls": 4, "VK_EXT_subgroup_size_control": 2,
			"VK_KHR_push_descriptor": 2},
		Features: map[string]bool{"shaderInt64": true, "maintenance4": true, "pushDescriptor": true,
			"robustBufferAccess": true},
		Heaps:    []Heap{{1 << 30, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT}},
		Types:    []Type{{local | visible | coherent, 0, true, true}},
		Families: []Family{{vk.QUEUE_COMPUTE_BIT | vk.QUEUE_TRANSFER_BIT, 4, 64, [3]uint32{1, 1, 1}}},

		MemoryFlags: local | visible | coherent | cached | vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV,
		HeapFlags:   vk.MEMORY_HEAP_DEVICE_LOCAL_BIT, QueueFlags: vk.QUEUE_COMPUTE_BIT | vk.QUEUE_TRANSFER_BIT, MaxQueues: 8,
		Properties: func(_ []Heap, structures map[vk.StructureType][]byte) {
			for _, s := range registry().properties {
				for _, m := range s.members {
					v := Value{Text: "own"}
					for i := range m.count {
						switch n := uint64(64); {
						case m.kind == kindText:
						case m.kind == kindFloat:
							v.Floats = append(v.Floats, float64(n)*float64(i))
						case m.kind == kindBool:
							v.Words = append(v.Words, 1)
						case m.kind == kindBits:
							v.Words = append(v.Words, 5)
						case m.name == "minSubgroupSize":
							v.Words = append(v.Words, 4)
						default:
							v.Words = append(v.Words, n)
						}
					}
					copy(structures[s.sType][m.offset:], m.put(v))
				}
			}
		},
	}
}

// changed returns what a profile of our own format becomes, and the lines of its changes.
func changed(t *testing.T, text string) (*Result, string) {
	t.Helper()
	list, err := parseTOML([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Cut(list[0], testOwn())
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, c.String())
	}
	return r, strings.Join(lines, "\n")
}

// value is a property after the cut.
func (r *Result) value(key string) string {
	m := registry().members[key]
	block := answersOf(testOwn(), nil)[m.structure.sType]
	r.Apply(m.structure.sType, block)
	return m.text(m.get(block))
}

// By limittype: each property gets the claimed value, and is what stands behind it.
func TestCutProperties(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"maxImageDimension2D = 32":              {"VkPhysicalDeviceLimits.maxImageDimension2D": "32"},
		"maxImageDimension2D = 65":              {"VkPhysicalDeviceLimits.maxImageDimension2D": "64"},
		"nonCoherentAtomSize = 128":             {"VkPhysicalDeviceLimits.nonCoherentAtomSize": "128"},
		"nonCoherentAtomSize = 1":               {"VkPhysicalDeviceLimits.nonCoherentAtomSize": "64"},
		"timestampPeriod = 2.0":                 {"VkPhysicalDeviceLimits.timestampPeriod": "0"}, // the driver's own
		"minMemoryMapAlignment = 16":            {"VkPhysicalDeviceLimits.minMemoryMapAlignment": "16"},
		"minMemoryMapAlignment = 128":           {"VkPhysicalDeviceLimits.minMemoryMapAlignment": "64"},
		"framebufferColorSampleCounts = [1, 8]": {"VkPhysicalDeviceLimits.framebufferColorSampleCounts": "1"},
		"lineWidthRange = [0.5, 100]":           {"VkPhysicalDeviceLimits.lineWidthRange": "0.5 64"},
		"lineWidthRange = [-1, 3]":              {"VkPhysicalDeviceLimits.lineWidthRange": "0 3"},
		"minTexelOffset = -8":                   {"VkPhysicalDeviceLimits.minTexelOffset": "64"},
		"storageTexelBufferOffsetSingleTexelAlignment = " +
			"false": {"VkPhysicalDeviceVulkan13Properties.storageTexelBufferOffsetSingleTexelAlignment": "true"}, // exact
		"timestampComputeAndGraphics = false": {"VkPhysicalDeviceLimits.timestampComputeAndGraphics": "false"},
		"subTexelPrecisionBits = 8":           {"VkPhysicalDeviceLimits.subTexelPrecisionBits": "8"},
		"deviceName = \"x\"\nvendorID = 7": {"VkPhysicalDeviceProperties.deviceName": "x",
			"VkPhysicalDeviceProperties.vendorID": "7"},
		"driverName = \"x\"\ndriverInfo = \"y\"": {"VkPhysicalDeviceVulkan12Properties.driverName": "x",
			"VkPhysicalDeviceDriverProperties.driverInfo": "own"},
		"apiVersion = \"1.2.9\"": {"VkPhysicalDeviceProperties.apiVersion": "1.2.9"},
		"apiVersion = \"1.4.9\"": {"VkPhysicalDeviceProperties.apiVersion": "1.3.100"},
		"subgroupSize = " +
			"16": {"VkPhysicalDeviceSubgroupProperties.subgroupSize": "16",
			"VkPhysicalDeviceVulkan11Properties.subgroupSize": "16"},
		"subgroupSize = 2":     {"VkPhysicalDeviceSubgroupProperties.subgroupSize": "64"},
		"minSubgroupSize = 16": {"VkPhysicalDeviceSubgroupSizeControlProperties.minSubgroupSize": "16"},
		"maxBufferSize = " +
			"1": {"VkPhysicalDeviceMaintenance4Properties.maxBufferSize": "1",
			"VkPhysicalDeviceVulkan13Properties.maxBufferSize": "1"},
	} {
		r, lines := changed(t, "[properties]\n"+text)
		for key, value := range want {
			if got := r.value(key); got != value {
				t.Errorf("%q makes %s %s, want %s", text, key, got, value)
			}
		}
		claimed := strings.Trim(text[strings.Index(text, "= ")+2:], "\"")
		for _, value := range want {
			if value == claimed && lines != "" {
				t.Errorf("%q is listed as cut: %s", text, lines)
			}
		}
	}
	if _, lines := changed(t, "[properties]\nmaxImageDimension2D = 65"); !strings.Contains(lines,
		"property VkPhysicalDeviceLimits.maxImageDimension2D: the profile claims 65, the device has 64") {
		t.Errorf("what is cut is listed: %s", lines)
	}
}

func TestCutExtensionsAndFeatures(t *testing.T) {
	r, lines := changed(t, "[extensions]\nVK_KHR_shader_float_controls = false\nVK_KHR_maintenance4 = 7\n"+
		"VK_EXT_mesh_shader = 1\n[features]\nmeshShader = true\nshaderInt64 = false\n[properties]\napiVersion = \"1.1.1\"")
	want := map[string]uint32{"VK_KHR_external_memory": 1, "VK_KHR_external_memory_fd": 1, "VK_KHR_maintenance4": 2,
		"VK_EXT_subgroup_size_control": 2, "VK_KHR_push_descriptor": 2}
	if diff := cmp.Diff(want, r.Extensions); diff != "" {
		t.Error("VK_KHR_spirv_1_4 depends on VK_KHR_shader_float_controls: ", diff)
	}
	// Vulkan 1.1 has no pushDescriptor, which is of 1.4's structure.
	if diff := cmp.Diff(map[string]bool{"maintenance4": true, "robustBufferAccess": true}, r.Features); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"extension VK_EXT_mesh_shader: the profile claims revision 1, the device has none",
		"VK_KHR_maintenance4: the profile claims revision 7, the device has revision 2",
		"feature meshShader: the profile claims true, the device has false"} {
		if !strings.Contains(lines, part) {
			t.Errorf("%q does not say %q", lines, part)
		}
	}
	if !r.Hidden(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES) ||
		!r.Hidden(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) ||
		r.Hidden(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES) {
		t.Error("structures are there with what brings them")
	}
}

// A source that is older than a structure of features claims it with its extension.
func TestFeaturesOfNewStructures(t *testing.T) {
	d := newDevice(true)
	d.Extensions["VK_KHR_maintenance4"] = 1
	if r := Cut(d, testOwn()); !r.Features["maintenance4"] || r.Features["shaderInt64"] {
		t.Errorf("%v", r.Features)
	}
	d.Reported["VkPhysicalDeviceMaintenance4Features"] = true
	if r := Cut(d, testOwn()); r.Features["maintenance4"] {
		t.Error("the source has the structure, without the feature")
	}
}

func TestCutMemoryAndQueues(t *testing.T) {
	r, lines := changed(t, `[[heaps]]
size = 5
flags = ["DEVICE_LOCAL", "MULTI_INSTANCE"]
[[types]]
heap = 0
flags = ["DEVICE_LOCAL"]
[[types]]
heap = 0
flags = ["DEVICE_LOCAL", "LAZILY_ALLOCATED"]
[[types]]
heap = 0
flags = ["DEVICE_LOCAL", "RDMA_CAPABLE_BIT_NV"]
[[queueFamilies]]
count = 9
flags = ["GRAPHICS", "COMPUTE"]
timestampValidBits = 36
[[queueFamilies]]
count = 1
flags = ["VIDEO_DECODE_BIT_KHR"]
`)
	if diff := cmp.Diff([]Heap{{5, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT}}, r.Heaps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Type{{local, 0, true, true}}, r.Types); diff != "" {
		t.Error("without VK_NV_external_memory_rdma there is no such type: ", diff)
	}
	if diff := cmp.Diff([]Family{{vk.QUEUE_COMPUTE_BIT, 8, 64, [3]uint32{1, 1, 1}}}, r.Families); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"memory heap 0", "memory type 1", "memory type 2",
		"queue family 0: the profile claims 9 queues", "timestampValidBits 36", "queue family 1", "no such family"} {
		if !strings.Contains(lines, part) {
			t.Errorf("%q does not say %q", lines, part)
		}
	}
}

// Fingerprints are the same for devices that answer the same.
func TestFingerprint(t *testing.T) {
	a, _ := changed(t, "[properties]\nmaxImageDimension2D = 32")
	b, _ := changed(t, "[properties]\nmaxImageDimension2D = 33")
	c, _ := changed(t, "[properties]\nmaxImageDimension2D = 32\nmaxImageDimension1D = 65")
	if string(a.Fingerprint()) == string(b.Fingerprint()) || string(a.Fingerprint()) != string(c.Fingerprint()) {
		t.Error("fingerprints")
	}
}

// A device has the later version where it has graphics and what that version requires, and where no profile says
// less.
func TestCutVersion(t *testing.T) {
	all := "[[queueFamilies]]\nflags = [\"GRAPHICS\", \"COMPUTE\"]\ncount = 1\n"
	for text, want := range map[string]uint32{
		"":  vk.MakeVersion(1, 3, 100),
		all: vk.MakeVersion(1, 4, 100),
		"[properties]\napiVersion = \"1.4.9\"\n" + all:        vk.MakeVersion(1, 4, 9),
		"[properties]\napiVersion = \"1.4.9\"":                vk.MakeVersion(1, 3, 100),
		"[properties]\napiVersion = \"1.3.7\"\n" + all:        vk.MakeVersion(1, 3, 7),
		"[properties]\nmaxPushConstantsSize = 128\n" + all:    vk.MakeVersion(1, 3, 100),
		"[properties]\nmaxPushConstantsSize = 256\n" + all:    vk.MakeVersion(1, 4, 100),
		"[properties]\nbufferImageGranularity = 8192\n" + all: vk.MakeVersion(1, 3, 100),
		"[features]\nshaderInt16 = false\n" + all:             vk.MakeVersion(1, 3, 100),
		"[features]\nsparseBinding = false\n" + all:           vk.MakeVersion(1, 4, 100),
	} {
		list, err := parseTOML([]byte(text), nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		own := testOwn()
		own.GraphicsVersion, own.QueueFlags = vk.MakeVersion(1, 4, 100), own.QueueFlags|vk.QUEUE_GRAPHICS_BIT
		for _, r := range registry().requirements {
			for _, f := range r.features {
				own.Features[f] = true
			}
		}
		if r := Cut(list[0], own); r.Version != want {
			t.Errorf("%q: version %s, want %s", text, versionText(r.Version), versionText(want))
		}
	}
}
