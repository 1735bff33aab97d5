// Package vk is Vulkan's C ABI as Go sees it, and nothing else: handles, enumerations, structures in C layout,
// and the registry's tables. Almost all of it is generated; the names follow ARCHITECTURE.md.
//
// Structures lie in the application's memory. Read their fields through the pointer and never copy a whole
// structure that holds pointers: an ignored field may hold any garbage, which must not be typed as a pointer
// on Go's stack or heap.
package vk

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// flagName is one bit of a bitmask.
type flagName struct {
	bit  uint64
	name string
}

// flagString joins the names of the set bits by "|"; what has no name comes last in hexadecimal.
func flagString(v uint64, names []flagName) string {
	if v == 0 {
		if len(names) > 0 && names[0].bit == 0 {
			return names[0].name
		}
		return "0"
	}
	var b strings.Builder
	for _, n := range names {
		if n.bit == 0 || v&n.bit == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('|')
		}
		b.WriteString(n.name)
		v &^= n.bit
	}
	if v != 0 {
		if b.Len() > 0 {
			b.WriteByte('|')
		}
		b.WriteString("0x" + strconv.FormatUint(v, 16))
	}
	return b.String()
}

// StructureInfo describes a structure that an sType names.
type StructureInfo struct {
	SType   StructureType
	Name    string          // the registry's: VkMemoryAllocateInfo
	Size    uintptr         // bytes
	Extends []StructureType // structures whose pNext chain may hold it
}

// StructureByType looks Structures up.
func StructureByType(st StructureType) (StructureInfo, bool) {
	i, ok := slices.BinarySearchFunc(Structures, st,
		func(s StructureInfo, st StructureType) int { return cmp.Compare(s.SType, st) })
	if !ok {
		return StructureInfo{}, false
	}
	return Structures[i], true
}

// FeatureField is one VkBool32 of a feature structure.
type FeatureField struct {
	Name   string  // the registry's: robustBufferAccess
	Offset uintptr // bytes from the start of the structure
}

// FeatureStruct is a structure that extends VkPhysicalDeviceFeatures2.
type FeatureStruct struct {
	SType  StructureType
	Name   string
	Fields []FeatureField
}

// FeatureStructByType looks FeatureStructs up; nil if st is no feature structure.
func FeatureStructByType(st StructureType) *FeatureStruct {
	i, ok := slices.BinarySearchFunc(FeatureStructs, st,
		func(s FeatureStruct, st StructureType) int { return cmp.Compare(s.SType, st) })
	if !ok {
		return nil
	}
	return &FeatureStructs[i]
}

// ExtensionType says whether vkCreateInstance or vkCreateDevice enables an extension.
type ExtensionType uint8

// The two types of extensions.
const (
	InstanceExtension ExtensionType = iota
	DeviceExtension
)

func (t ExtensionType) String() string {
	if t == InstanceExtension {
		return "instance"
	}
	return "device"
}

// Extension is one of the registry's extensions.
type Extension struct {
	Name        string
	Number      int
	Type        ExtensionType
	SpecVersion uint32
	Depends     string   // the registry's expression: "+" is and, "," is or
	PromotedTo  string   // a core version or another extension
	Commands    []string // those that it defines
}

// ExtensionByName looks Extensions up; nil if there is none of that name.
func ExtensionByName(name string) *Extension {
	i, ok := slices.BinarySearchFunc(Extensions, name,
		func(e Extension, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return nil
	}
	return &Extensions[i]
}

// Level says which object a command is dispatched on.
type Level uint8

// The levels: queue and command buffer commands are the device's.
const (
	GlobalLevel Level = iota
	InstanceLevel
	PhysicalDeviceLevel
	DeviceLevel
)

func (l Level) String() string {
	switch l {
	case GlobalLevel:
		return "global"
	case InstanceLevel:
		return "instance"
	case PhysicalDeviceLevel:
		return "physical device"
	}
	return "device"
}

// Command is one of the registry's commands.
type Command struct {
	Name       string
	Alias      string // the command that this is another name of
	Level      Level
	Version    uint32   // the core version that brought it, packed; 0 if no core version has it
	Extensions []string // those that define it
}

// CommandIndex is the place of a command in Commands; false if there is none of that name. Loaders ask for every name
// that they know, several times, before a program gets its device: so it is quick.
func CommandIndex(name string) (int, bool) {
	places := commandPlaces()
	for at := maphash.String(nameSeed, name); ; at++ {
		i := int(places[at&uint64(len(places)-1)]) - 1
		if i < 0 {
			return 0, false
		}
		if Commands[i].Name == name {
			return i, true
		}
	}
}

var nameSeed = maphash.MakeSeed()

// commandPlaces has the places of Commands plus 1, each at its name's hash or, if others are there, behind it. A quarter
// to a half of it is taken.
var commandPlaces = sync.OnceValue(func() []uint16 {
	places := make([]uint16, 2<<bits.Len(uint(len(Commands))))
	for i := range Commands {
		at := maphash.String(nameSeed, Commands[i].Name)
		for places[at&uint64(len(places)-1)] != 0 {
			at++
		}
		places[at&uint64(len(places)-1)] = uint16(i + 1)
	}
	return places
})

// CommandByName looks Commands up.
func CommandByName(name string) (Command, bool) {
	i, ok := CommandIndex(name)
	if !ok {
		return Command{}, false
	}
	return Commands[i], true
}

// NumericFormat is the kind of number that a component holds.
type NumericFormat uint8

func (n NumericFormat) String() string {
	if int(n) < len(numericNames) {
		return numericNames[n]
	}
	return "NumericFormat(" + strconv.Itoa(int(n)) + ")"
}

// FormatComponent is one channel of a format.
type FormatComponent struct {
	Name    byte  // R, G, B, A, D, S, or X
	Bits    uint8 // 0 in compressed formats, except EAC's 11
	Numeric NumericFormat
	Plane   uint8
}

// FormatPlane is one plane of a multi-planar format.
type FormatPlane struct {
	WidthDivisor, HeightDivisor uint32
	Compatible                  Format // the single-plane format of the same layout
}

// FormatDescription says how a format is laid out.
type FormatDescription struct {
	Format         Format
	Name           string
	Class          string    // formats of one class are compatible
	BlockSize      uint32    // bytes of a texel block
	TexelsPerBlock uint32    // as the registry has it, which is 1 for PVRTC; BlockExtent is right there too
	BlockExtent    [3]uint32 // texels of a block in each dimension
	Packed         uint32    // bits of each word that components are packed into; 0 if not packed
	Compressed     string    // the compression scheme, such as "BC"; empty if not compressed
	Chroma         string    // "420", "422" or "444" for Y'CbCr formats
	Components     []FormatComponent
	Planes         []FormatPlane
}

// FormatInfo describes a format; false for VK_FORMAT_UNDEFINED and numbers that no format has.
func FormatInfo(f Format) (*FormatDescription, bool) {
	i, ok := slices.BinarySearchFunc(formatTable[:], f,
		func(d FormatDescription, f Format) int { return cmp.Compare(d.Format, f) })
	if !ok {
		return nil, false
	}
	return &formatTable[i], true
}
