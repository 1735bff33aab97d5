// Package vulkan calls the system's Vulkan loader from Go, without cgo.
//
// It serves the conformance suite, the demo and the benchmarks: programs that must reach the driver the way
// applications do. Structures are those of internal/vk; they are built in an [Arena], outside Go's heap, so
// that one may point at another while C reads them.
//
// The driver is chosen by the environment of the process (see [DriverEnv]), as the loader reads it when the
// first instance is created.
package vulkan
