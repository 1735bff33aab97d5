package emit

import "strings"

// exception says how a type that the registry leaves to another header is seen from Go.
type exception struct {
	goType string // its Go type by value; empty when only pointers to it occur
	size   uintptr
	reason string
}

// Reasons that several exceptions share.
const (
	opaque  = "its layout is the platform's own; Vulkan passes pointers to it only"
	pointer = "a pointer that the driver may only hand back: uintptr keeps the collector away from it"
	xid     = "an X11 XID: unsigned long, 8 bytes under LP64"
)

// exceptions lists every type that is not described by the registry.
var exceptions = map[string]exception{
	// Android, OpenHarmony, QNX, Fuchsia, Stadia
	"ANativeWindow":       {reason: opaque},
	"AHardwareBuffer":     {reason: opaque},
	"OHNativeWindow":      {reason: opaque},
	"OHBufferHandle":      {reason: opaque},
	"OH_NativeBuffer":     {reason: opaque},
	"_screen_context":     {reason: opaque},
	"_screen_window":      {reason: opaque},
	"_screen_buffer":      {reason: opaque},
	"zx_handle_t":         {"uint32", 4, "zircon/types.h: typedef uint32_t"},
	"GgpStreamDescriptor": {"uint32", 4, "ggp_c/vulkan_types.h: typedef uint32_t"},
	"GgpFrameToken":       {"uint64", 8, "ggp_c/vulkan_types.h: typedef uint64_t"},

	// Window systems
	"Display":          {reason: opaque},
	"VisualID":         {"uint64", 8, xid},
	"Window":           {"uint64", 8, xid},
	"RROutput":         {"uint64", 8, xid},
	"wl_display":       {reason: opaque},
	"wl_surface":       {reason: opaque},
	"ubm_device":       {reason: opaque},
	"ubm_surface":      {reason: opaque},
	"xcb_connection_t": {reason: opaque},
	"xcb_visualid_t":   {"uint32", 4, "xcb/xproto.h: typedef uint32_t"},
	"xcb_window_t":     {"uint32", 4, "xcb/xproto.h: typedef uint32_t"},
	"IDirectFB":        {reason: opaque},
	"IDirectFBSurface": {reason: opaque},

	// Windows
	"HINSTANCE":           {"uintptr", 8, pointer},
	"HWND":                {"uintptr", 8, pointer},
	"HMONITOR":            {"uintptr", 8, pointer},
	"HANDLE":              {"uintptr", 8, pointer},
	"SECURITY_ATTRIBUTES": {reason: opaque},
	"DWORD":               {"uint32", 4, "windef.h: 32 bits, although it is an unsigned long"},
	"LPCWSTR":             {"uintptr", 8, "a pointer to UTF-16 that this driver never reads"},

	// Apple: the registry has an Objective-C and a C spelling of each, which differ in type only
	"CAMetalLayer":       {reason: opaque},
	"MTLDevice_id":       {"uintptr", 8, pointer},
	"MTLCommandQueue_id": {"uintptr", 8, pointer},
	"MTLBuffer_id":       {"uintptr", 8, pointer},
	"MTLTexture_id":      {"uintptr", 8, pointer},
	"MTLSharedEvent_id":  {"uintptr", 8, pointer},
	"IOSurfaceRef":       {"uintptr", 8, pointer},

	// NVIDIA's NvSci
	"NvSciSyncAttrList": {"uintptr", 8, pointer},
	"NvSciSyncObj":      {"uintptr", 8, pointer},
	"NvSciSyncFence":    {reason: opaque},
	"NvSciBufAttrList":  {"uintptr", 8, pointer},
	"NvSciBufObj":       {"uintptr", 8, pointer},
}

// exceptionFor finds the exception for an external type. video.xml's StdVideo types are one family: by
// value only its enumerations occur, and its structures are passed by pointer to hardware decoders that
// this driver has none of.
func exceptionFor(name string) (exception, bool) {
	if strings.HasPrefix(name, "StdVideo") {
		return exception{"int32", 4, "enumeration of video.xml"}, true
	}
	e, ok := exceptions[name]
	return e, ok
}

// scalars are the C types that the registry takes from stdint.h and the language, under LP64.
var scalars = map[string]exception{
	"char":     {goType: "byte", size: 1},
	"float":    {goType: "float32", size: 4},
	"double":   {goType: "float64", size: 8},
	"int8_t":   {goType: "int8", size: 1},
	"uint8_t":  {goType: "uint8", size: 1},
	"int16_t":  {goType: "int16", size: 2},
	"uint16_t": {goType: "uint16", size: 2},
	"int32_t":  {goType: "int32", size: 4},
	"uint32_t": {goType: "uint32", size: 4},
	"int64_t":  {goType: "int64", size: 8},
	"uint64_t": {goType: "uint64", size: 8},
	"int":      {goType: "int32", size: 4},
	"size_t":   {goType: "uintptr", size: 8},
}
