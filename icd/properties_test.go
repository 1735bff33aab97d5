package icd

import (
	"bytes"
	"encoding/hex"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"farside/internal/config"
	"farside/internal/vk"
)

func TestProperties(t *testing.T) {
	i := testInstance(t, nil)
	var one vk.PhysicalDeviceProperties
	commands.GetPhysicalDeviceProperties(i.devices[0].handle, &one)
	two := vk.PhysicalDeviceProperties2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2}
	commands.GetPhysicalDeviceProperties2(i.devices[0].handle, &two)
	if one != two.Properties {
		t.Error("vkGetPhysicalDeviceProperties and vkGetPhysicalDeviceProperties2 differ")
	}
	if one.ApiVersion != instanceVersion || one.DeviceType != vk.PHYSICAL_DEVICE_TYPE_CPU {
		t.Errorf("version %#x, type %v", one.ApiVersion, one.DeviceType)
	}
	if name := vk.FixedString(one.DeviceName[:]); name != "Farside (software, external memory)" {
		t.Errorf("deviceName %q", name)
	}
	if one.DriverVersion != driverVersion(Version) {
		t.Errorf("driverVersion %#x", one.DriverVersion)
	}
	// Above 16 bits: not a PCI ID. And nobody's registered ID.
	if one.VendorID <= 0xffff || strings.HasPrefix(vk.VendorId(one.VendorID).String(), "VK_VENDOR_ID") {
		t.Errorf("vendorID %#x is %v", one.VendorID, vk.VendorId(one.VendorID))
	}
	if one.PipelineCacheUUID == ([vk.UUID_SIZE]byte{}) || one.PipelineCacheUUID == i.devices[0].driverUUID {
		t.Errorf("pipelineCacheUUID %x", one.PipelineCacheUUID)
	}
	if one.Limits.MaxMemoryAllocationCount == 0 {
		t.Error("the limits are not filled")
	}
}

func TestDriverVersion(t *testing.T) {
	for version, want := range map[string]uint32{
		"0.1.0":       vk.MakeVersion(0, 1, 0),
		"v12.34.56":   vk.MakeVersion(12, 34, 56),
		"1.2.3-dirty": vk.MakeVersion(1, 2, 3),
		"devel":       0,
		"":            0,
	} {
		if got := driverVersion(version); got != want {
			t.Errorf("driverVersion(%q) = %#x, want %#x", version, got, want)
		}
	}
}

// propertyTypes are the sTypes of all structures that may extend VkPhysicalDeviceProperties2.
func propertyTypes() []vk.StructureType {
	var types []vk.StructureType
	for _, s := range vk.Structures {
		if slices.Contains(s.Extends(), vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2) {
			types = append(types, s.SType)
		}
	}
	return types
}

func propertiesOf[T any](structs map[vk.StructureType][]uint64, st vk.StructureType) *T {
	return (*T)(unsafe.Pointer(&structs[st][0]))
}

// TestEveryPropertyStruct chains all of the registry's property structures at once: those that the driver
// knows are written in full, the others stay as they were, and nothing is written behind any.
func TestEveryPropertyStruct(t *testing.T) {
	i := testInstance(t, nil)
	types := propertyTypes()
	var written [2]map[vk.StructureType][]uint64
	for n, fill := range []byte{0xaa, 0x55} {
		chain, structs := chainOf(t, types, fill)
		layouts := propertiesOf[vk.PhysicalDeviceHostImageCopyProperties](structs,
			vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES)
		layouts.PCopySrcLayouts, layouts.PCopyDstLayouts = nil, nil // the application's
		aggregate := propertiesOf[vk.PhysicalDeviceVulkan14Properties](structs,
			vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES)
		aggregate.PCopySrcLayouts, aggregate.PCopyDstLayouts = nil, nil
		out := vk.PhysicalDeviceProperties2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, PNext: chain}
		commands.GetPhysicalDeviceProperties2(i.devices[0].handle, &out)
		written[n] = structs
		for st, words := range structs {
			want := bytes.Repeat([]byte{fill}, 8)
			last := words[len(words)-1]
			if !bytes.Equal((*[8]byte)(unsafe.Pointer(&last))[:], want) {
				t.Errorf("%v: written past its end", st)
			}
			if (*vk.BaseInStructure)(unsafe.Pointer(&words[0])).SType != st {
				t.Errorf("%v: sType overwritten", st)
			}
		}
	}
	// A structure is either not touched at all, or no field of it depends on what was there.
	known := []any{
		new(vk.PhysicalDeviceVulkan11Properties), new(vk.PhysicalDeviceVulkan12Properties),
		new(vk.PhysicalDeviceVulkan13Properties), new(vk.PhysicalDeviceVulkan14Properties),
		new(vk.PhysicalDeviceIDProperties), new(vk.PhysicalDeviceDriverProperties),
		new(vk.PhysicalDevicePointClippingProperties),
		new(vk.PhysicalDeviceMultiviewProperties), new(vk.PhysicalDeviceProtectedMemoryProperties),
		new(vk.PhysicalDeviceSubgroupProperties),
		new(vk.PhysicalDeviceTimelineSemaphoreProperties), new(vk.PhysicalDeviceMaintenance3Properties),
		new(vk.PhysicalDeviceMaintenance4Properties),
		new(vk.PhysicalDeviceExternalMemoryHostPropertiesEXT), new(vk.PhysicalDeviceMapMemoryPlacedPropertiesEXT),
		new(vk.PhysicalDeviceTexelBufferAlignmentProperties), new(vk.PhysicalDeviceDepthStencilResolveProperties),
		new(vk.PhysicalDeviceFloatControlsProperties), new(vk.PhysicalDeviceSamplerFilterMinmaxProperties),
		new(vk.PhysicalDeviceCustomBorderColorPropertiesEXT),
		new(vk.PhysicalDeviceLineRasterizationProperties), new(vk.PhysicalDeviceProvokingVertexPropertiesEXT),
		new(vk.PhysicalDeviceVertexAttributeDivisorProperties), new(vk.PhysicalDeviceVertexAttributeDivisorPropertiesEXT),
		new(vk.PhysicalDeviceGraphicsPipelineLibraryPropertiesEXT), new(vk.PhysicalDeviceMultiDrawPropertiesEXT),
		new(vk.PhysicalDeviceExtendedDynamicState3PropertiesEXT), new(vk.PhysicalDeviceShaderObjectPropertiesEXT),
		new(vk.PhysicalDeviceDescriptorIndexingProperties), new(vk.PhysicalDeviceInlineUniformBlockProperties),
		new(vk.PhysicalDeviceSubgroupSizeControlProperties), new(vk.PhysicalDeviceShaderIntegerDotProductProperties),
		new(vk.PhysicalDeviceHostImageCopyProperties),
		new(vk.PhysicalDeviceMaintenance5Properties), new(vk.PhysicalDeviceMaintenance6Properties),
		new(vk.PhysicalDevicePushDescriptorProperties), new(vk.PhysicalDeviceRobustness2PropertiesKHR),
		new(vk.PhysicalDevicePipelineRobustnessProperties),
	}
	isKnown := map[vk.StructureType]bool{}
	for _, k := range known {
		st := k.(interface{ StructureType() vk.StructureType }).StructureType()
		isKnown[st] = true
		a := reflect.NewAt(reflect.TypeOf(k).Elem(), unsafe.Pointer(&written[0][st][0])).Elem()
		b := reflect.NewAt(reflect.TypeOf(k).Elem(), unsafe.Pointer(&written[1][st][0])).Elem()
		for n := range a.NumField() {
			f := a.Type().Field(n)
			if f.Name != "_" && f.Name != "SType" && f.Name != "PNext" &&
				!cmp.Equal(a.Field(n).Interface(), b.Field(n).Interface()) {
				// Strings are written up to the array's end, too.
				t.Errorf("%v: %s is not written", st, f.Name)
			}
		}
	}
	for st, words := range written[0] {
		for n, w := range words[2:] {
			if !isKnown[st] && w != 0xaaaaaaaaaaaaaaaa {
				t.Errorf("%v: word %d was written, although the driver doesn't know the structure", st, n+2)
			}
		}
	}

	testAggregates(t, i.devices[0], written[0])
}

// testAggregates compares VkPhysicalDeviceVulkan1xProperties with the structures that they gather: fields of
// the same name, and the renamed ones of subgroups.
func testAggregates(t *testing.T, p *physicalDevice, structs map[vk.StructureType][]uint64) {
	t.Helper()
	v11 := propertiesOf[vk.PhysicalDeviceVulkan11Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES)
	v12 := propertiesOf[vk.PhysicalDeviceVulkan12Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
	v13 := propertiesOf[vk.PhysicalDeviceVulkan13Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES)
	same := func(aggregate, single any) {
		t.Helper()
		a, s := reflect.ValueOf(aggregate).Elem(), reflect.ValueOf(single).Elem()
		compared := 0
		for n := range s.NumField() {
			name := s.Type().Field(n).Name
			f := a.FieldByName(name)
			if name == "_" || name == "SType" || name == "PNext" || !f.IsValid() {
				continue
			}
			compared++
			if !cmp.Equal(f.Interface(), s.Field(n).Interface()) {
				t.Errorf("%v.%s is %v, %v has %v", a.Type(), name, f, s.Type(), s.Field(n))
			}
		}
		if compared == 0 {
			t.Errorf("%v has no field of %v", a.Type(), s.Type())
		}
	}
	id := propertiesOf[vk.PhysicalDeviceIDProperties](structs, vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
	subgroup := propertiesOf[vk.PhysicalDeviceSubgroupProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)
	driver := propertiesOf[vk.PhysicalDeviceDriverProperties](structs, vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
	same(v11, id)
	same(v11, subgroup)
	same(v11, propertiesOf[vk.PhysicalDevicePointClippingProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_POINT_CLIPPING_PROPERTIES))
	same(v11, propertiesOf[vk.PhysicalDeviceMultiviewProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_PROPERTIES))
	same(v11, propertiesOf[vk.PhysicalDeviceProtectedMemoryProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROTECTED_MEMORY_PROPERTIES))
	same(v11, propertiesOf[vk.PhysicalDeviceMaintenance3Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES))
	same(v12, driver)
	same(v12, propertiesOf[vk.PhysicalDeviceFloatControlsProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES))
	same(v12, propertiesOf[vk.PhysicalDeviceDescriptorIndexingProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES))
	same(v12, propertiesOf[vk.PhysicalDeviceDepthStencilResolveProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_STENCIL_RESOLVE_PROPERTIES))
	same(v12, propertiesOf[vk.PhysicalDeviceSamplerFilterMinmaxProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SAMPLER_FILTER_MINMAX_PROPERTIES))
	same(v12, propertiesOf[vk.PhysicalDeviceTimelineSemaphoreProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_PROPERTIES))
	same(v13, propertiesOf[vk.PhysicalDeviceSubgroupSizeControlProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES))
	same(v13, propertiesOf[vk.PhysicalDeviceInlineUniformBlockProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_INLINE_UNIFORM_BLOCK_PROPERTIES))
	same(v13, propertiesOf[vk.PhysicalDeviceShaderIntegerDotProductProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES))
	same(v13, propertiesOf[vk.PhysicalDeviceTexelBufferAlignmentProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_TEXEL_BUFFER_ALIGNMENT_PROPERTIES))
	same(v13, propertiesOf[vk.PhysicalDeviceMaintenance4Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES))
	v14 := propertiesOf[vk.PhysicalDeviceVulkan14Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES)
	same(v14, propertiesOf[vk.PhysicalDeviceLineRasterizationProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_LINE_RASTERIZATION_PROPERTIES))
	same(v14, propertiesOf[vk.PhysicalDeviceVertexAttributeDivisorProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_PROPERTIES))
	same(v14, propertiesOf[vk.PhysicalDevicePushDescriptorProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES))
	same(v14, propertiesOf[vk.PhysicalDeviceMaintenance5Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_PROPERTIES))
	same(v14, propertiesOf[vk.PhysicalDeviceMaintenance6Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_6_PROPERTIES))
	same(v14, propertiesOf[vk.PhysicalDevicePipelineRobustnessProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_PROPERTIES))
	same(v14, propertiesOf[vk.PhysicalDeviceHostImageCopyProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES))
	if v11.SubgroupSupportedStages != subgroup.SupportedStages ||
		v11.SubgroupSupportedOperations != subgroup.SupportedOperations ||
		v11.SubgroupQuadOperationsInAllStages != subgroup.QuadOperationsInAllStages {
		t.Error("the subgroup properties of Vulkan 1.1 differ")
	}
	if s := subgroup.SubgroupSize; s == 0 || s&(s-1) != 0 {
		t.Errorf("subgroupSize %d is no power of two", s)
	}
	if id.DriverUUID != p.driverUUID || id.DeviceUUID != p.deviceUUID || id.DeviceLUIDValid != vk.FALSE {
		t.Errorf("ID properties %+v", id)
	}
	if name, info := vk.FixedString(driver.DriverName[:]),
		vk.FixedString(driver.DriverInfo[:]); name != "Farside" || info != Version+" ("+Commit+")" {
		t.Errorf("driver %q, info %q", name, info)
	}
	// Required minima of VkPhysicalDeviceMaintenance3Properties and 4.
	if v11.MaxPerSetDescriptors < 1024 || v11.MaxMemoryAllocationSize < 1<<30 || v13.MaxBufferSize < 1<<30 {
		t.Errorf("per set %d, allocation %d, buffer %d", v11.MaxPerSetDescriptors, v11.MaxMemoryAllocationSize,
			v13.MaxBufferSize)
	}
	page := uint64(os.Getpagesize())
	if a := propertiesOf[vk.PhysicalDeviceExternalMemoryHostPropertiesEXT](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT); a.MinImportedHostPointerAlignment != page {
		t.Errorf("minImportedHostPointerAlignment %d", a.MinImportedHostPointerAlignment)
	}
	if a := propertiesOf[vk.PhysicalDeviceMapMemoryPlacedPropertiesEXT](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MAP_MEMORY_PLACED_PROPERTIES_EXT); a.MinPlacedMemoryMapAlignment != page {
		t.Errorf("minPlacedMemoryMapAlignment %d", a.MinPlacedMemoryMapAlignment)
	}
}

func TestUUIDs(t *testing.T) {
	none := new(config.Settings)
	driver := driverUUID(none)
	// Written out: it changes with the layout of what is exported, and with nothing else.
	const want = "186b2ecc8438786f2902338ad0b8997c"
	if got := hex.EncodeToString(driver[:]); !strings.HasPrefix(got, want) {
		t.Errorf("driverUUID %s, want %s…", got, want)
	}
	device := deviceUUID(none, driver, 0)
	if device == driver || device == ([vk.UUID_SIZE]byte{}) || device != deviceUUID(none, driver, 0) {
		t.Errorf("deviceUUID %x", device)
	}
	other := driver
	other[0]++
	if deviceUUID(none, other, 0) == device {
		t.Error("the device UUID does not follow from the driver's")
	}
	set := [vk.UUID_SIZE]byte{1, 2, 3}
	if got := driverUUID(&config.Settings{DriverUUID: &set}); got != set {
		t.Errorf("driverUUID %x, set to %x", got, set)
	}
	if got := deviceUUID(&config.Settings{DeviceUUID: &set}, driver, 0); got != set {
		t.Errorf("deviceUUID %x, set to %x", got, set)
	}
}
