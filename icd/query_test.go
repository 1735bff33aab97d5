package icd

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/exec"
	"farside/internal/vk"
)

func newTestQueryPool(t *testing.T, d *device, kind vk.QueryType, count uint32) vk.QueryPool {
	t.Helper()
	var h vk.QueryPool
	info := vk.QueryPoolCreateInfo{SType: vk.STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, QueryType: kind, QueryCount: count}
	if r := commands.CreateQueryPool(d.handle, &info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateQueryPool: %v, handle %#x", r, uint64(h))
	}
	return h
}

func hostQueryReset(t *testing.T) *device {
	f := vk.PhysicalDeviceHostQueryResetFeatures{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
		HostQueryReset: vk.TRUE}
	return propertiesDevice(t, testInstance(t, nil), unsafe.Pointer(&f))
}

func TestQueryPool(t *testing.T) {
	d := hostQueryReset(t)
	h := newTestQueryPool(t, d, vk.QUERY_TYPE_TIMESTAMP, 3)
	if err := queryPools.Get(uint64(h)).pool.Write(1, 42, &exec.CmdWriteTimestampRules); err != nil {
		t.Fatal(err)
	}
	var got [3][2]uint64
	read := func() vk.Result {
		return commands.GetQueryPoolResults(d.handle, h, 0, 3, unsafe.Sizeof(got), unsafe.Pointer(&got), 16,
			vk.QUERY_RESULT_64_BIT|vk.QUERY_RESULT_WITH_AVAILABILITY_BIT)
	}
	if r := read(); r != vk.NOT_READY || got != [3][2]uint64{1: {42, 1}} {
		t.Errorf("%v, %v", r, got)
	}
	commands.ResetQueryPool(d.handle, h, 1, 1)
	if r := read(); r != vk.NOT_READY || got[1][1] != 0 {
		t.Errorf("after the reset: %v, %v", r, got)
	}
	if n := testing.AllocsPerRun(100, func() { read() }); n != 0 {
		t.Errorf("%v allocations a poll", n)
	}
	commands.DestroyQueryPool(d.handle, h, nil)
	if r := read(); r != vk.ERROR_UNKNOWN {
		t.Errorf("after the pool: %v", r)
	}
}

// A wait for a query ends with the device.
func TestQueryWaitDeviceLost(t *testing.T) {
	d := hostQueryReset(t)
	h := newTestQueryPool(t, d, vk.QUERY_TYPE_TIMESTAMP, 1)
	done := make(chan vk.Result)
	go func() {
		var value uint64
		done <- commands.GetQueryPoolResults(d.handle, h, 0, 1, 8, unsafe.Pointer(&value), 8,
			vk.QUERY_RESULT_64_BIT|vk.QUERY_RESULT_WAIT_BIT)
	}()
	d.lose()
	if r := <-done; r != vk.ERROR_DEVICE_LOST {
		t.Error(r)
	}
	commands.DestroyQueryPool(d.handle, h, nil)
}

func TestQueryMisuse(t *testing.T) {
	d := hostQueryReset(t)
	info := vk.QueryPoolCreateInfo{SType: vk.STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		QueryType: vk.QUERY_TYPE_PIPELINE_STATISTICS, QueryCount: 1}
	h := vk.QueryPool(1)
	if r := commands.CreateQueryPool(d.handle, &info, nil, &h); r != vk.ERROR_UNKNOWN || h != 0 {
		t.Errorf("pipeline statistics: %v, %#x", r, uint64(h))
	}
	h = newTestQueryPool(t, d, vk.QUERY_TYPE_TIMESTAMP, 1)
	queryPools.Get(uint64(h)).pool.Write(0, 42, &exec.CmdWriteTimestampRules)
	words := [2]uint64{7, 7}
	p := unsafe.Pointer(&words)
	for _, c := range []struct {
		count  uint32
		size   uintptr
		data   unsafe.Pointer
		stride uint64
		flags  vk.QueryResultFlags
		result vk.Result
	}{
		{1, 8, p, 8, vk.QUERY_RESULT_64_BIT, vk.SUCCESS},
		{2, 16, p, 8, vk.QUERY_RESULT_64_BIT, vk.ERROR_UNKNOWN},
		{1, 4, p, 8, vk.QUERY_RESULT_64_BIT, vk.ERROR_UNKNOWN},
		{1, 8, unsafe.Add(p, 4), 8, vk.QUERY_RESULT_64_BIT, vk.ERROR_UNKNOWN},
		{1, 4, unsafe.Add(p, 2), 4, 0, vk.ERROR_UNKNOWN},
		{1, 4, p, 2, 0, vk.ERROR_UNKNOWN},
		{1, 16, nil, 8, 0, vk.ERROR_UNKNOWN},
		{1, 0, p, 8, 0, vk.ERROR_UNKNOWN},
	} {
		words = [2]uint64{7, 7}
		r := commands.GetQueryPoolResults(d.handle, h, 0, c.count, c.size, c.data, c.stride, c.flags)
		if r != c.result || (r != vk.SUCCESS) != (words == [2]uint64{7, 7}) {
			t.Errorf("%+v: %v, %v", c, r, words)
		}
	}
	plain := propertiesDevice(t, testInstance(t, nil), nil)
	other := newTestQueryPool(t, plain, vk.QUERY_TYPE_TIMESTAMP, 1)
	queryPools.Get(uint64(other)).pool.Write(0, 42, &exec.CmdWriteTimestampRules)
	whole := lacking(t, plain, "hostQueryReset")
	commands.ResetQueryPool(plain.handle, other, 0, 1) // without the feature: nothing
	if r := commands.GetQueryPoolResults(plain.handle, other, 0, 1, 8, p, 8, vk.QUERY_RESULT_64_BIT); r != vk.SUCCESS ||
		words[0] != 42 {
		t.Errorf("reset without hostQueryReset: %v, %d", r, words[0])
	}
	whole()
	commands.DestroyQueryPool(d.handle, 0, nil)
	commands.DestroyQueryPool(d.handle, 0xdead, nil)
	commands.ResetQueryPool(d.handle, 0xdead, 0, 1)
	live := queryPools.Len()
	commands.DestroyDevice(d.handle, nil) // frees its leaked pool
	if queryPools.Get(uint64(h)) != nil || queryPools.Len() != live-1 {
		t.Errorf("pool %#x outlives its device; %d pools", uint64(h), queryPools.Len())
	}
}

func TestCalibratedTimestamps(t *testing.T) {
	d := hostQueryReset(t)
	var count uint32
	if r := commands.GetPhysicalDeviceCalibrateableTimeDomainsKHR(d.physical.handle, &count, nil); r != vk.SUCCESS ||
		count != 3 {
		t.Fatalf("%v, %d domains", r, count)
	}
	domains := make([]vk.TimeDomainKHR, count)
	commands.GetPhysicalDeviceCalibrateableTimeDomainsKHR(d.physical.handle, &count, &domains[0])
	if !slices.Contains(domains, vk.TIME_DOMAIN_DEVICE_KHR) {
		t.Errorf("no device among %v", domains)
	}
	infos := make([]vk.CalibratedTimestampInfoKHR, count)
	for i, domain := range domains {
		infos[i] = vk.CalibratedTimestampInfoKHR{SType: vk.STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_KHR, TimeDomain: domain}
	}
	clock := func(id int32) uint64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(id, &ts); err != nil {
			t.Fatal(err)
		}
		return uint64(ts.Nano())
	}
	for range 100 {
		var got [3]uint64
		var deviation uint64
		before, rawBefore := exec.Now(), clock(unix.CLOCK_MONOTONIC_RAW)
		if r := commands.GetCalibratedTimestampsKHR(d.handle, count, &infos[0], &got[0], &deviation); r != vk.SUCCESS {
			t.Fatal(r)
		}
		rawAfter, after := clock(unix.CLOCK_MONOTONIC_RAW), exec.Now()
		for i, domain := range domains {
			from, to := before, after
			if domain == vk.TIME_DOMAIN_CLOCK_MONOTONIC_RAW_KHR {
				from, to = rawBefore, rawAfter
			}
			if got[i] < from || got[i] > to {
				t.Fatalf("%v: %d is not between %d and %d", domain, got[i], from, to)
			}
		}
		// All readings lie between before and after, and so does the time that the deviation counts.
		if deviation == 0 || deviation > after-before+1 {
			t.Fatalf("deviation %d ns in a call of %d ns", deviation, after-before)
		}
	}
	infos[1].TimeDomain = vk.TIME_DOMAIN_QUERY_PERFORMANCE_COUNTER_KHR
	var got [3]uint64
	var deviation uint64
	if r := commands.GetCalibratedTimestampsKHR(d.handle, count, &infos[0], &got[0], &deviation); r != vk.ERROR_UNKNOWN {
		t.Errorf("Windows' clock: %v", r)
	}
}
