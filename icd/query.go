package icd

import (
	"golang.org/x/sys/unix"

	"farside/internal/exec"
	"farside/internal/vk"
)

// queryPool is a VkQueryPool.
type queryPool struct {
	child
	pool *exec.QueryPool
}

func createQueryPool(
	d *device, info *vk.QueryPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.QueryPool,
) vk.Result {
	var p *exec.QueryPool
	var err error
	if d.physical.graphics() {
		p, err = exec.NewDrawQueryPool(info.QueryType, info.QueryCount, info.PipelineStatistics)
	} else {
		p, err = exec.NewQueryPool(info.QueryType, info.QueryCount)
	}
	if err != nil {
		return d.fail("vkCreateQueryPool", err)
	}
	*out = vk.QueryPool(d.add(&queryPool{child: child{device: d}, pool: p}))
	return vk.SUCCESS
}

func resetQueryPool(_ *device, p *queryPool, first, count uint32) {
	err := vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkResetQueryPool_None_02665,
		"the device was created without the hostQueryReset feature")
	if p.device.allows("hostQueryReset", vk.VUID_vkResetQueryPool_None_02665) {
		err = p.pool.Reset(first, count, &exec.ResetQueryPoolRules)
	}
	if err != nil {
		p.fail("vkResetQueryPool", err)
	}
}

// The clocks that can be read together. The device's is CLOCK_MONOTONIC itself.
var timeDomains = []vk.TimeDomainKHR{
	vk.TIME_DOMAIN_DEVICE_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_RAW_KHR,
}

func getPhysicalDeviceCalibrateableTimeDomainsKHR(
	_ *physicalDevice, count *uint32, out *vk.TimeDomainKHR,
) vk.Result {
	return vk.WriteArray(count, out, timeDomains)
}

// getCalibratedTimestampsKHR reads the clocks one after the other, each once: asked for several times, a clock
// gives the same time. The deviation is the time from before the first reading to after the last, and one tick.
func getCalibratedTimestampsKHR(
	d *device, count uint32, infos *vk.CalibratedTimestampInfoKHR, out, deviation *uint64,
) vk.Result {
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
					return d.fail("vkGetCalibratedTimestampsKHR",
						vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "CLOCK_MONOTONIC_RAW: %w", err))
				}
				raw, end = uint64(t.Nano()), exec.Now()
			}
			vk.Slice(out, count)[i] = raw
		default:
			return d.fail("vkGetCalibratedTimestampsKHR",
				vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCalibratedTimestampInfoKHR_timeDomain_02354,
					"the device cannot read %v", domain))
		}
	}
	*deviation = end - begin + 1
	return vk.SUCCESS
}
