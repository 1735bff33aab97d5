package vk

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// TestSorted: the look-ups are binary searches.
func TestSorted(t *testing.T) {
	if !slices.IsSortedFunc(Structures, func(a, b StructureInfo) int { return cmp.Compare(a.SType, b.SType) }) {
		t.Error("Structures")
	}
	if !slices.IsSortedFunc(FeatureStructs, func(a, b FeatureStruct) int { return cmp.Compare(a.SType, b.SType) }) {
		t.Error("FeatureStructs")
	}
	if !slices.IsSortedFunc(Extensions, func(a, b Extension) int {
		return strings.Compare(a.Name.String(), b.Name.String())
	}) {
		t.Error("Extensions")
	}
	if !slices.IsSortedFunc(Commands, func(a, b Command) int {
		return strings.Compare(a.Name.String(), b.Name.String())
	}) {
		t.Error("Commands")
	}
	if !slices.IsSortedFunc(formatTable[:], func(a, b FormatDescription) int { return cmp.Compare(a.Format, b.Format) }) {
		t.Error("formatTable")
	}
}

func TestStructureByType(t *testing.T) {
	s, ok := StructureByType(STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO)
	if !ok || s.Name.String() != "VkExportMemoryAllocateInfo" || s.Size != 24 ||
		!slices.Equal(s.Extends(), []StructureType{STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO}) {
		t.Errorf("%+v, %v", s, ok)
	}
	for _, st := range []StructureType{-1, 0x7fffffff, STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO} {
		if s, ok := StructureByType(st); ok {
			t.Errorf("%v is %+v", st, s)
		}
	}
	if len(Structures) < 1000 {
		t.Errorf("only %d structures", len(Structures))
	}
}

func TestFeatures(t *testing.T) {
	if n := len(CoreFeatures); uintptr(n) != unsafe.Sizeof(PhysicalDeviceFeatures{})/4 {
		t.Errorf("%d core features in a structure of %d bytes", n, unsafe.Sizeof(PhysicalDeviceFeatures{}))
	}
	f := FeatureStructByType(STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV)
	if f == nil || len(f.Fields()) != 1 || f.Fields()[0].Name.String() != "externalMemoryRDMA" ||
		f.Fields()[0].Offset != 16 {
		t.Fatalf("%+v", f)
	}
	var rdma PhysicalDeviceExternalMemoryRDMAFeaturesNV
	*Bool32At(unsafe.Pointer(&rdma), f.Fields()[0].Offset) = TRUE
	if rdma.ExternalMemoryRDMA != TRUE {
		t.Error("Bool32At wrote elsewhere")
	}
	if FeatureStructByType(STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO) != nil {
		t.Error("VkMemoryAllocateInfo is no feature structure")
	}
	for _, f := range FeatureStructs {
		s, ok := StructureByType(f.SType)
		if !ok || s.Name != f.Name {
			t.Errorf("%s is %+v in Structures", f.Name, s)
		}
		for _, field := range f.Fields() {
			if field.Offset < 16 || field.Offset+4 > s.Size {
				t.Errorf("%s.%s lies at %d of %d", f.Name, field.Name, field.Offset, s.Size)
			}
		}
	}
}

// texts are the strings of a list, nil of none.
func texts(list []Text) (strings []string) {
	for _, t := range list {
		strings = append(strings, t.String())
	}
	return strings
}

func TestExtensions(t *testing.T) {
	e := ExtensionByName(NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME)
	if e == nil || e.Number != 372 || e.SpecVersion != 1 || e.Type != DeviceExtension ||
		e.Depends.String() != "VK_KHR_external_memory,VK_VERSION_1_1" ||
		!slices.Equal(texts(e.Commands()), []string{"vkGetMemoryRemoteAddressNV"}) {
		t.Errorf("%+v", e)
	}
	if e := ExtensionByName("VK_KHR_external_memory"); e == nil || e.PromotedTo.String() != "VK_VERSION_1_1" {
		t.Errorf("%+v", e)
	}
	if e := ExtensionByName("VK_EXT_debug_utils"); e == nil || e.Type != InstanceExtension {
		t.Errorf("%+v", e)
	}
	for _, name := range []string{"", "VK_KHR_nothing", "ZZ"} {
		if ExtensionByName(name) != nil {
			t.Errorf("%q was found", name)
		}
	}
	for _, e := range Extensions {
		for _, c := range e.Commands() {
			if cmd, ok := CommandByName(c.String()); !ok || !slices.Contains(cmd.Extensions(), e.Name) {
				t.Errorf("%s of %s: %+v", c, e.Name, cmd)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	global := 0
	for _, c := range Commands {
		if c.Level == GlobalLevel {
			global++
		}
		if c.Version == 0 && len(c.Extensions()) == 0 {
			t.Errorf("%s belongs to nothing", c.Name)
		}
		if c.Alias != 0 {
			if target, ok := CommandByName(c.Alias.String()); !ok || target.Level != c.Level {
				t.Errorf("%s is an alias of %+v", c.Name, target)
			}
		}
	}
	if global != 5 {
		t.Errorf("%d global commands, want 5: four that take no instance, and vkGetInstanceProcAddr", global)
	}
	for _, want := range []struct {
		name, alias string
		level       Level
		version     uint32
		extensions  []string
	}{
		{name: "vkCreateInstance", level: GlobalLevel, version: API_VERSION_1_0},
		{name: "vkDestroyInstance", level: InstanceLevel, version: API_VERSION_1_0},
		{name: "vkCreateDevice", level: PhysicalDeviceLevel, version: API_VERSION_1_0},
		{name: "vkQueueSubmit", level: DeviceLevel, version: API_VERSION_1_0},
		{name: "vkBindBufferMemory2", level: DeviceLevel, version: API_VERSION_1_1},
		{name: "vkGetDeviceBufferMemoryRequirements", level: DeviceLevel, version: API_VERSION_1_3},
		{name: "vkMapMemory2", level: DeviceLevel, version: API_VERSION_1_4},
		{name: "vkMapMemory2KHR", alias: "vkMapMemory2", level: DeviceLevel, extensions: []string{"VK_KHR_map_memory2"}},
		{name: "vkGetMemoryRemoteAddressNV", level: DeviceLevel, extensions: []string{"VK_NV_external_memory_rdma"}},
	} {
		got, ok := CommandByName(want.name)
		if !ok || got.Alias.String() != want.alias || got.Level != want.level || got.Version != want.version ||
			!slices.Equal(texts(got.Extensions()), want.extensions) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if _, ok := CommandByName("vkNothing"); ok {
		t.Error("vkNothing was found")
	}
}

func TestFormats(t *testing.T) {
	if len(AllFormats) != len(formatTable) || len(AllFormats) < 250 {
		t.Fatalf("%d formats, %d described", len(AllFormats), len(formatTable))
	}
	for _, f := range AllFormats {
		d, ok := FormatInfo(f)
		if !ok || d.Format != f || d.Name.String() != f.String() || d.BlockSize == 0 || d.TexelsPerBlock == 0 ||
			len(d.Components()) == 0 {
			t.Errorf("%v: %+v", f, d)
			continue
		}
		// The registry says 1 texel for PVRTC's blocks of 4x4 and 8x4.
		e := d.BlockExtent
		if e[0]*e[1]*e[2] != d.TexelsPerBlock && d.Chroma == 0 && d.Compressed.String() != "PVRTC" {
			t.Errorf("%v: %v texels in a block of %d", f, e, d.TexelsPerBlock)
		}
		for _, c := range d.Components() {
			if (c.Bits == 0) != (d.Compressed != 0 && d.Compressed.String() != "EAC") {
				t.Errorf("%v: component of %d bits, compression %q", f, c.Bits, d.Compressed)
			}
			if d.Packed != 0 && uint32(c.Bits) > d.Packed {
				t.Errorf("%v: component of %d bits in a word of %d", f, c.Bits, d.Packed)
			}
			if int(c.Plane) >= max(1, len(d.Planes())) {
				t.Errorf("%v: component in plane %d of %d", f, c.Plane, len(d.Planes()))
			}
		}
		for i, p := range d.Planes() {
			if c, ok := FormatInfo(p.Compatible); !ok || p.WidthDivisor == 0 || p.HeightDivisor == 0 {
				t.Errorf("%v: plane %d: %+v %+v", f, i, p, c)
			}
		}
	}
	d, ok := FormatInfo(FORMAT_BC1_RGB_UNORM_BLOCK)
	if !ok || d.BlockSize != 8 || d.BlockExtent != [3]uint32{4, 4, 1} || d.Compressed.String() != "BC" {
		t.Errorf("BC1: %+v", d)
	}
	d, ok = FormatInfo(FORMAT_G8_B8R8_2PLANE_420_UNORM)
	if !ok || len(d.Planes()) != 2 || d.Planes()[1] != (FormatPlane{2, 2, FORMAT_R8G8_UNORM}) ||
		d.Components()[2] != (FormatComponent{'R', 8, NumericUNORM, 1}) {
		t.Errorf("420: %+v", d)
	}
	for _, f := range []Format{FORMAT_UNDEFINED, -1, 0x7fffffff, 999} {
		if _, ok := FormatInfo(f); ok {
			t.Errorf("%v is described", f)
		}
	}
}

func TestBitfields(t *testing.T) {
	var a AccelerationStructureInstanceKHR
	a.SetInstanceCustomIndex(0xfabcdef)
	a.SetMask(0x5a)
	if a.bits0 != 0x5aabcdef || a.bits1 != 0 {
		t.Errorf("words %#x, %#x", a.bits0, a.bits1)
	}
	a.SetMask(0xff)
	a.SetMask(1)
	if a.Mask() != 1 || a.InstanceCustomIndex() != 0xabcdef {
		t.Errorf("mask %#x, index %#x", a.Mask(), a.InstanceCustomIndex())
	}
}

func TestUnion(t *testing.T) {
	var c ClearValue
	c.Color().Float32()[0] = 1
	if got := c.Color().Uint32()[0]; got != 0x3f800000 {
		t.Errorf("1.0 reads as %#x", got)
	}
	if got := c.DepthStencil().Depth; got != 1 {
		t.Errorf("depth %v", got)
	}
}

// BenchmarkCommandIndex looks every command up once.
func BenchmarkCommandIndex(b *testing.B) {
	for b.Loop() {
		for i := range Commands {
			if n, ok := CommandIndex(Commands[i].Name.String()); !ok || n != i {
				b.Fatalf("%s: %d, %t", Commands[i].Name, n, ok)
			}
		}
	}
}
