package exec

import _ "unsafe" // for go:linkname

// Now returns the device clock: CLOCK_MONOTONIC in nanoseconds, the tick in which timestamps count
// (VkPhysicalDeviceLimits::timestampPeriod is 1).
//
// The runtime reads that clock through the vDSO, where x/sys/unix makes a system call. Package time would hide
// the clock's epoch, which VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR needs.
func Now() uint64 { return uint64(nanotime()) }

//go:linkname nanotime runtime.nanotime
func nanotime() int64
