// Package memory owns the bytes behind VkDeviceMemory: which heaps and memory types a device shows, how full
// they are, and payloads, the reference-counted pieces of memory that allocations and imports share.
//
// Lifetime: a Payload is born with one reference and unmapped. Map maps it once, lazily, and the mapping stays
// until the last Release, so an address that Map returned is valid as long as the caller holds a reference.
// Map, MapAt, Retain and Release may be called from any goroutine; no lock of this package is held while
// another is taken.
package memory

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30

	// smallestHeap keeps a device usable where the cgroup allows next to nothing.
	smallestHeap = mib
	// largestHeap is the top of the user address space on the architectures that Farside runs on: no larger
	// payload could be mapped.
	largestHeap = uint64(1) << 47
	// leastOwn is what programs need beside the heaps, the driver's 25 MiB included.
	leastOwn = 32 * mib
)

// Heap is one VkMemoryHeap; Size is in bytes.
type Heap struct {
	Size  uint64
	Flags vk.MemoryHeapFlags
}

// Type is one VkMemoryType; Heap indexes Profile.Heaps.
type Type struct {
	Flags vk.MemoryPropertyFlags
	Heap  uint32
}

// Profile is what a physical device shows as VkPhysicalDeviceMemoryProperties.
type Profile struct {
	Heaps []Heap
	Types []Type
}

// DefaultProfile returns the default device: a DEVICE_LOCAL heap and a host heap, each three eighths of the machine's
// memory or of its cgroup's limit where that is lower, rounded down to 1 MiB. At least 32 MiB are left beside them.
// device and host, in bytes, replace one heap's size unless they are 0.
//
// The order of the types obeys VkPhysicalDeviceMemoryProperties: a type whose flags are a strict subset of
// another's comes first.
func DefaultProfile(device, host uint64) Profile {
	const (
		local    = vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT
		rdma     = vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV
		visible  = vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT
		coherent = vk.MEMORY_PROPERTY_HOST_COHERENT_BIT
		cached   = vk.MEMORY_PROPERTY_HOST_CACHED_BIT
	)
	if device == 0 || host == 0 {
		usual := usualHeap(machineMemory())
		if device == 0 {
			device = usual
		}
		if host == 0 {
			host = usual
		}
	}
	return Profile{
		Heaps: []Heap{{Size: device, Flags: vk.MEMORY_HEAP_DEVICE_LOCAL_BIT}, {Size: host}},
		Types: []Type{
			{Flags: local, Heap: 0},
			{Flags: local | rdma, Heap: 0},
			{Flags: visible | coherent, Heap: 1},
			{Flags: visible | cached, Heap: 1},
			{Flags: visible | coherent | cached, Heap: 1},
			{Flags: local | visible | coherent, Heap: 0},
		},
	}
}

// usualHeap is the size of each of two heaps where a process may use so many bytes. A quarter is left to the program
// and its page tables, since the kernel kills a process whose control group has nothing left.
func usualHeap(total uint64) uint64 {
	return max((total-min(total, max(total/4, leastOwn)))/2&^(mib-1), smallestHeap)
}

// machineMemory returns the bytes that this process may use: MemTotal, or the cgroup's limit where it is lower.
func machineMemory() uint64 {
	total := gib
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = uint64(info.Totalram) * uint64(info.Unit)
	}
	return min(total, cgroupLimit(fd.ReadFile))
}

// cgroupLimit returns the lowest memory limit of this process's cgroup and its ancestors, in either version of
// the interface; MaxUint64 where there is none.
func cgroupLimit(readFile func(string) ([]byte, error)) uint64 {
	limit := uint64(math.MaxUint64)
	own, err := readFile("/proc/self/cgroup")
	if err != nil {
		return limit
	}
	for line := range strings.Lines(string(own)) {
		// hierarchy-ID:controller-list:path; version 2 has hierarchy 0 and no controllers.
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		var root, file string
		switch {
		case id == "0" && controllers == "":
			root, file = "/sys/fs/cgroup", "memory.max"
		case hasController(controllers, "memory"):
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// In a container the path may be the host's; then only the root of the mount says something.
		for {
			path = strings.TrimRight(path, "/")
			if b, err := readFile(root + path + "/" + file); err == nil {
				if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil {
					limit = min(limit, n)
				}
			}
			if path == "" {
				break
			}
			path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		}
	}
	return limit
}

func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}
