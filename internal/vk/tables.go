// Package vk is Vulkan's C ABI as Go sees it, and nothing else: handles, enumerations, structures in C layout,
// and the registry's tables. Almost all of it is generated; the names follow ARCHITECTURE.md.
//
// Structures lie in the application's memory. Read their fields through the pointer and never copy a whole
// structure that holds pointers: an ignored field may hold any garbage, which must not be typed as a pointer
// on Go's stack or heap.
package vk

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
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

// Text is a string of the registry: where it begins in tableText, and its length. Tables have no strings, since each
// would be relocated whenever the driver is loaded. Two are equal if their strings are.
type Text uint32

func (t Text) String() string {
	at := t >> textBits
	return tableText[at : at+t&(1<<textBits-1)]
}

// part is some successive elements of a table.
type part struct{ first, count uint16 }

func of[T any](table []T, p part) []T { return table[p.first:][:p.count:p.count] }

// StructureInfo describes a structure that an sType names.
type StructureInfo struct {
	SType   StructureType
	Name    Text    // the registry's: VkMemoryAllocateInfo
	Size    uintptr // bytes
	extends part
}

// Extends are the structures whose pNext chain may hold it.
func (s StructureInfo) Extends() []StructureType { return of(extended[:], s.extends) }

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
	Name   Text    // the registry's: robustBufferAccess
	Offset uintptr // bytes from the start of the structure
}

// FeatureStruct is a structure that extends VkPhysicalDeviceFeatures2.
type FeatureStruct struct {
	SType  StructureType
	Name   Text
	fields part
}

// Fields are its members.
func (f *FeatureStruct) Fields() []FeatureField { return of(featureFields[:], f.fields) }

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
	Name        Text
	Number      uint16
	Type        ExtensionType
	SpecVersion uint32
	Depends     Text // the registry's expression: "+" is and, "," is or
	PromotedTo  Text // a core version or another extension
	commands    part
}

// Commands are those that it defines.
func (e *Extension) Commands() []Text { return of(extensionCommands[:], e.commands) }

// ExtensionByName looks Extensions up; nil if there is none of that name.
func ExtensionByName(name string) *Extension {
	i, ok := slices.BinarySearchFunc(Extensions, name,
		func(e Extension, name string) int { return strings.Compare(e.Name.String(), name) })
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
	Name       Text
	Alias      Text   // the command that this is another name of
	Version    uint32 // the core version that brought it, packed; 0 if no core version has it
	extensions part
	Level      Level
}

// Extensions are those that define it.
func (c Command) Extensions() []Text { return of(commandExtensions[:], c.extensions) }

// CommandIndex is the place of a command in Commands; false if there is none of that name. Loaders ask for every name
// that they know, several times, before a program gets its device: so it is quick.
func CommandIndex(name string) (int, bool) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails, and copies nothing
	for at := h.Sum32(); ; at++ {
		i := int(commandPlaces[at%uint32(len(commandPlaces))]) - 1
		if i < 0 {
			return 0, false
		}
		if Commands[i].Name.String() == name {
			return i, true
		}
	}
}

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
	Name           Text
	Class          Text      // formats of one class are compatible
	BlockSize      uint32    // bytes of a texel block
	TexelsPerBlock uint32    // as the registry has it, which is 1 for PVRTC; BlockExtent is right there too
	BlockExtent    [3]uint32 // texels of a block in each dimension
	Packed         uint32    // bits of each word that components are packed into; 0 if not packed
	Compressed     Text      // the compression scheme, such as "BC"; empty if not compressed
	Chroma         Text      // "420", "422" or "444" for Y'CbCr formats

	components                 [4]FormatComponent
	planes                     [3]FormatPlane
	componentCount, planeCount uint8
}

// Components are its channels.
func (d *FormatDescription) Components() []FormatComponent { return d.components[:d.componentCount] }

// Planes are those of a multi-planar format.
func (d *FormatDescription) Planes() []FormatPlane { return d.planes[:d.planeCount] }

// FormatInfo describes a format; false for VK_FORMAT_UNDEFINED and numbers that no format has.
func FormatInfo(f Format) (*FormatDescription, bool) {
	i, ok := slices.BinarySearchFunc(formatTable[:], f,
		func(d FormatDescription, f Format) int { return cmp.Compare(d.Format, f) })
	if !ok {
		return nil, false
	}
	return &formatTable[i], true
}
