// Package registry reads the Vulkan registry (vk.xml) into a model that the emitters print.
//
// Only what API "vulkan" requires is kept: core versions, enabled extensions, and the types that these
// reach. Names are the registry's, with their Vk, vk and VK_ prefixes.
package registry

// Registry is one parsed vk.xml. Slices are in document order.
type Registry struct {
	HeaderVersion uint32 // VK_HEADER_VERSION, the patch number of the whole document

	Versions     []*Version
	Handles      []*Handle
	BaseTypes    []*BaseType
	Enums        []*Enum // enumerations and …FlagBits
	Bitmasks     []*Bitmask
	FuncPointers []string
	Structs      []*Struct
	Constants    []*Constant
	Commands     []*Command
	Extensions   []*Extension
	Formats      []*Format

	types map[string]any
}

// Type returns the kept type of that name: *Handle, *BaseType, *Enum, *Bitmask, *FuncPointer, *Struct or
// *External; nil if there is none.
func (r *Registry) Type(name string) any { return r.types[name] }

// Resolve follows aliases: the name of the type that name stands for.
func (r *Registry) Resolve(name string) string {
	for range maxDepth {
		alias := r.aliasOf(name)
		if alias == "" {
			return name
		}
		name = alias
	}
	return name
}

func (r *Registry) aliasOf(name string) string {
	switch t := r.types[name].(type) {
	case *Handle:
		return t.Alias
	case *Enum:
		return t.Alias
	case *Bitmask:
		return t.Alias
	case *Struct:
		return t.Alias
	}
	return ""
}

// Version is a core version's name and number.
type Version struct {
	Name         string // VK_VERSION_1_1
	Major, Minor uint32
	Provides
}

// Provides is what a version or an extension brings beside its commands.
type Provides struct {
	Types    []string
	Features []Feature
}

// Feature is a feature that whoever offers the version or the extension must support, or several, separated by commas,
// of which one is enough.
type Feature struct {
	Names, Struct string
	Depends       string // the expression of the block around it; empty for always
}

// Number is the version as VK_MAKE_API_VERSION(0, Major, Minor, 0) packs it.
func (v *Version) Number() uint32 { return v.Major<<22 | v.Minor<<12 }

// Handle is an object handle.
type Handle struct {
	Name, Alias  string
	Parent       string // the handle that it is made of or belongs to; "" for a VkInstance
	ObjectType   string // its VkObjectType
	Dispatchable bool
}

// BaseType is a typedef: of Underlying, or of void* where Pointer is set; opaque when Underlying is empty.
type BaseType struct {
	Name       string
	Underlying string
	Pointer    bool
}

// FuncPointer is a PFN_ type.
type FuncPointer struct{ Name string }

// External is a type that another header declares (windows.h, X11, video.xml's StdVideo types).
type External struct {
	Name   string
	Header string
}

// Enum is an enumeration, or the …FlagBits of a bitmask.
type Enum struct {
	Name, Alias string
	Bitmask     bool
	Width       int // 32 or 64 bits
	Values      []*EnumValue
}

// EnumValue is one enumerant. An alias carries its target's value.
type EnumValue struct {
	Name, Alias string
	Value       int64 // bitmasks: the bits
}

// Bitmask is a …Flags type.
type Bitmask struct {
	Name, Alias string
	Bits        string // the …FlagBits enum, or empty
	Width       int    // 32 or 64 bits
}

// Decl is what members, parameters and results have in common.
type Decl struct {
	Name    string
	Type    string // without const, struct and stars
	Pointer int    // number of stars
	Const   bool   // the innermost pointee is const
	Array   []int  // fixed dimensions, outermost first; for a parameter this is a pointer in C
	Bits    int    // width of a bitfield, or 0
	Len     string // the len attribute, raw
	// Optional is the optional attribute, raw: whether the outermost value may be 0, then what it points to.
	Optional string
	// NoAutoValidity is set where the specification's rules for the member are written by hand.
	NoAutoValidity bool
	Values         string // the values attribute: a fixed sType
	LimitType      string // the limittype attribute, raw: which way a limit is less
	Twin           string // STRUCTURE::member that this member of an aggregate repeats
}

// Struct is a structure or union.
type Struct struct {
	Name, Alias string
	Union       bool
	Members     []*Decl
	Extends     []string // structextends
}

// SType returns the enumerant that the structure's sType must hold, or "" if it has no fixed one.
func (s *Struct) SType() string {
	if len(s.Members) > 0 && s.Members[0].Name == "sType" {
		return s.Members[0].Values
	}
	return ""
}

// Constant is an API constant, or an extension's name or revision.
type Constant struct {
	Name, Alias string
	Value       string // a Go literal; empty for an alias
}

// Level says which object a command is dispatched on.
type Level int

// The levels, from the loader's own to the device's.
const (
	Global Level = iota
	Instance
	PhysicalDevice
	Device
)

func (l Level) String() string {
	return [...]string{"Global", "Instance", "PhysicalDevice", "Device"}[l]
}

// Command is an entry point. An alias has its target's parameters and result.
type Command struct {
	Name, Alias string
	Result      Decl // Type "void" and Pointer 0 for none
	Params      []*Decl
	Level       Level
	Results     []string // the VkResults that it may return, in document order; those of success come first
	Queues      []string // the VkQueueFlagBits of queues that it may be used with, any of them; empty if it needs no queue
	Version     uint32   // first core version, packed; 0 if in none
	Extensions  []string // those that define it, in document order
}

// Extension is an enabled extension.
type Extension struct {
	Name        string
	Number      int
	Type        string // "instance" or "device"
	SpecVersion int
	Depends     string // raw expression
	PromotedTo  string
	Platform    string
	Commands    []string
	Provides
}

// Format describes how a VkFormat is laid out.
type Format struct {
	Name           string
	Class          string
	BlockSize      int // bytes
	TexelsPerBlock int
	BlockExtent    [3]int
	Packed         int
	Compressed     string
	Chroma         string
	Components     []FormatComponent
	Planes         []FormatPlane
}

// FormatComponent is one channel. Bits is 0 in compressed formats.
type FormatComponent struct {
	Name    string
	Bits    int
	Numeric string
	Plane   int
}

// FormatPlane is one plane of a multi-planar format.
type FormatPlane struct {
	WidthDivisor, HeightDivisor int
	Compatible                  string
}
