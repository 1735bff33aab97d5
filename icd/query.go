package icd

import (
	"golang.org/x/sys/unix"

	"farside/internal/exec"
	"farside/internal/vk"
)

// queryPool is a VkQueryPool.
type queryPool struct {
	device *device
	pool   *exec.QueryPool
}

func createQueryPool(h vk.Device, info *vk.QueryPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.QueryPool) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateQueryPool", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	p, err := exec.NewQueryPool(info.QueryType, info.QueryCount)
	if err != nil {
		return d.fail("vkCreateQueryPool", err)
	}
	*out = vk.QueryPool(queryPools.Insert(&queryPool{d, p}))
	d.created(vk.OBJECT_TYPE_QUERY_POOL, uint64(*out))
	return vk.SUCCESS
}

func destroyQueryPool(h vk.Device, handle vk.QueryPool, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	p := queryPools.Remove(uint64(handle))
	if p == nil {
		staleHandle("vkDestroyQueryPool", vk.OBJECT_TYPE_QUERY_POOL, uint64(handle))
		return
	}
	p.device.destroyed(vk.OBJECT_TYPE_QUERY_POOL, uint64(handle))
}

func resetQueryPool(h vk.Device, handle vk.QueryPool, first, count uint32) {
	p := queryPools.Get(uint64(handle))
	if p == nil {
		staleHandle("vkResetQueryPool", vk.OBJECT_TYPE_QUERY_POOL, uint64(handle))
		return
	}
	err := vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkResetQueryPool-None-02665", "the device was created without the hostQueryReset feature")
	if p.device.features["hostQueryReset"] {
		err = p.pool.Reset(first, count)
	}
	if err != nil {
		p.fail("vkResetQueryPool", handle, err)
	}
}

// fail reports err as the outcome of command on this pool.
func (p *queryPool) fail(command string, handle vk.QueryPool, err error) vk.Result {
	return p.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_QUERY_POOL, uint64(handle)})
}

// The clocks that can be read together. The device's is CLOCK_MONOTONIC itself.
var timeDomains = []vk.TimeDomainKHR{
	vk.TIME_DOMAIN_DEVICE_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_RAW_KHR,
}

func getPhysicalDeviceCalibrateableTimeDomainsKHR(h vk.PhysicalDevice, count *uint32, out *vk.TimeDomainKHR) vk.Result {
	if physicalDevices.Get(uintptr(h)) == nil {
		return staleHandle("vkGetPhysicalDeviceCalibrateableTimeDomainsKHR", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
	}
	return vk.WriteArray(count, out, timeDomains)
}

// getCalibratedTimestampsKHR reads the clocks one after the other, each once: asked for several times, a clock
// gives the same time. The deviation is the time from before the first reading to after the last, and one tick.
func getCalibratedTimestampsKHR(h vk.Device, count uint32, infos *vk.CalibratedTimestampInfoKHR, out, deviation *uint64) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkGetCalibratedTimestampsKHR", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	begin := exec.Now()
	raw, end := uint64(0), begin
	for i := range vk.Slice(infos, count) {
		switch domain := vk.Slice(infos, count)[i].TimeDomain; domain {
		case vk.TIME_DOMAIN_DEVICE_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_KHR:
			vk.Slice(out, count)[i] = begin
		case vk.TIME_DOMAIN_CLOCK_MONOTONIC_RAW_KHR:
			if raw == 0 {
				var t unix.Timespec
				if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &t); err != nil {
					return d.fail("vkGetCalibratedTimestampsKHR", vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "CLOCK_MONOTONIC_RAW: %w", err))
				}
				raw, end = uint64(t.Nano()), exec.Now()
			}
			vk.Slice(out, count)[i] = raw
		default:
			return d.fail("vkGetCalibratedTimestampsKHR", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkCalibratedTimestampInfoKHR-timeDomain-02354",
				"the device cannot read %v", domain))
		}
	}
	*deviation = end - begin + 1
	return vk.SUCCESS
}
