package conformance

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// queries is a pool of timestamps and the buffer that results are copied to.
type queries struct {
	*recorder
	pool vk.QueryPool
}

func (c *Case) queries(n int) *queries {
	if c.inst.QueueFamilies(c.pd)[0].TimestampValidBits != 64 {
		c.Unsupported("timestamps of 64 bits")
	}
	return &queries{recorder: c.recorder(), pool: c.timestamps(n)}
}

// timestamps makes a pool of n queries.
func (c *Case) timestamps(n int) vk.QueryPool {
	info := vulkan.Struct[vk.QueryPoolCreateInfo](&c.a)
	info.QueryType, info.QueryCount = vk.QUERY_TYPE_TIMESTAMP, uint32(n)
	out := vulkan.New[vk.QueryPool](&c.a)
	c.must("vkCreateQueryPool", vk.Result(c.dev.Call("vkCreateQueryPool", ptr(info), 0, ptr(out))))
	return *out
}

func (q *queries) free() {
	q.c.dev.Call("vkDestroyQueryPool", uintptr(q.pool), 0)
	q.recorder.free()
}

// do records, submits and waits.
func (q *queries) do(record func()) {
	q.begin(q.cb, 0)
	record()
	q.end(q.cb)
	q.submit(q.cb)
}

func (q *queries) reset(first, n int) {
	q.c.dev.CallOn("vkCmdResetQueryPool", uintptr(q.cb), uintptr(q.pool), uintptr(first), uintptr(n))
}

func (q *queries) write(stage vk.PipelineStageFlags, query int) {
	q.c.dev.CallOn("vkCmdWriteTimestamp", uintptr(q.cb), uintptr(stage), uintptr(q.pool), uintptr(query))
}

// get is vkGetQueryPoolResults into bytes of 0xee.
func (q *queries) get(first, n, stride int, flags vk.QueryResultFlags) ([]byte, vk.Result) {
	b := vulkan.Make[byte](&q.a, n*stride+8)
	for i := range b {
		b[i] = 0xee
	}
	r := vk.Result(q.c.dev.Call("vkGetQueryPoolResults", uintptr(q.pool), uintptr(first), uintptr(n), uintptr(len(b)-8),
		ptr(&b[0]), uintptr(stride), uintptr(flags)))
	for _, x := range b[n*stride:] {
		if x != 0xee {
			q.c.Errorf("vkGetQueryPoolResults wrote behind its data")
		}
	}
	return b[:n*stride], r
}

// values waits for the timestamps.
func (q *queries) values(first, n int) []uint64 {
	b, r := q.get(first, n, 8, wide|await)
	q.c.must("vkGetQueryPoolResults with VK_QUERY_RESULT_WAIT_BIT", r)
	v := make([]uint64, n)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

const (
	top    = vk.PipelineStageFlags(vk.PIPELINE_STAGE_TOP_OF_PIPE_BIT)
	bottom = vk.PipelineStageFlags(vk.PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT)
	wide   = vk.QueryResultFlags(vk.QUERY_RESULT_64_BIT)
	await  = vk.QueryResultFlags(vk.QUERY_RESULT_WAIT_BIT)
	with   = vk.QueryResultFlags(vk.QUERY_RESULT_WITH_AVAILABILITY_BIT)
)

func queryCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "query_pool.timestamp." + name, valid: true, run: run}
	}
	return []definition{
		row("monotonic", func(c *Case) {
			q := c.queries(40)
			b, memory, _ := c.mappedBuffer(1 << 20)
			for range 3 {
				q.do(func() {
					q.reset(0, 40)
					for i := range 40 {
						q.write([]vk.PipelineStageFlags{top, bottom, vk.PIPELINE_STAGE_TRANSFER_BIT}[i%3], i)
						q.cmd("vkCmdFillBuffer", uintptr(b), 0, 1<<20, uintptr(i))
					}
				})
				v := q.values(0, 40)
				if !slices.IsSorted(v) {
					c.Errorf("the timestamps of commands in sequence are not: %v", v)
				}
				if v[0] == v[39] {
					c.Errorf("39 fills of 1 MiB took no time")
				}
			}
			c.dev.DestroyBuffer(b)
			c.dev.Free(memory)
			q.free()
		}),
		row("submissions", func(c *Case) {
			q := c.queries(10)
			for i := range 10 {
				q.do(func() {
					q.reset(i, 1)
					q.write(bottom, i)
				})
			}
			if v := q.values(0, 10); !slices.IsSorted(v) {
				c.Errorf("the timestamps of submissions in sequence are not: %v", v)
			}
			q.free()
		}),
		row("period", func(c *Case) { // the host's clock bounds the distance of two timestamps
			q := c.queries(2)
			p := vulkan.New[vk.PhysicalDeviceProperties](&c.a)
			c.inst.Call("vkGetPhysicalDeviceProperties", uintptr(c.pd), ptr(p))
			outside := monotonic(c)
			q.do(func() { q.reset(0, 2); q.write(bottom, 0) })
			inside := monotonic(c)
			for monotonic(c) < inside+20_000_000 { // 20 ms between the two, on any machine
			}
			inside = monotonic(c) - inside
			q.do(func() { q.write(bottom, 1) })
			outside = monotonic(c) - outside
			v := q.values(0, 2)
			ns := float64(v[1]-v[0]) * float64(p.Limits.TimestampPeriod)
			if ns < float64(inside)*0.99 || ns > float64(outside)*1.01 {
				c.Errorf("%v ns between two timestamps, want %d to %d", ns, inside, outside)
			}
			q.free()
		}),
		row("availability", func(c *Case) {
			q := c.queries(4)
			q.do(func() { q.reset(0, 4); q.write(bottom, 1); q.write(bottom, 3) })
			b, r := q.get(0, 4, 16, wide|with)
			c.want("results of which two are missing", r, vk.NOT_READY)
			for i := range 4 {
				value, available := binary.LittleEndian.Uint64(b[16*i:]), binary.LittleEndian.Uint64(b[16*i+8:])
				if (available != 0) != (i%2 == 1) {
					c.Errorf("query %d: availability %d", i, available)
				}
				if i%2 == 1 && (value == 0 || value == 0xeeeeeeeeeeeeeeee) {
					c.Errorf("query %d: value %#x", i, value)
				}
			}
			b, r = q.get(1, 1, 16, wide|with)
			c.want("an available result", r, vk.SUCCESS)
			if binary.LittleEndian.Uint64(b[8:]) == 0 {
				c.Errorf("not available after VK_SUCCESS")
			}
			b, r = q.get(0, 4, 8, wide)
			c.want("results of which two are missing, without availability", r, vk.NOT_READY)
			for i := range 4 {
				if untouched := binary.LittleEndian.Uint64(b[8*i:]) == 0xeeeeeeeeeeeeeeee; untouched != (i%2 == 0) {
					c.Errorf("query %d: untouched is %v", i, untouched)
				}
			}
			q.free()
		}),
		row("reset_makes_unavailable", func(c *Case) {
			q := c.queries(3)
			for range 3 {
				q.do(func() { q.reset(0, 3); q.write(top, 0); q.write(bottom, 1); q.write(bottom, 2) })
				q.values(0, 3)
				q.do(func() { q.reset(1, 1) })
				_, r := q.get(1, 1, 8, wide)
				c.want("a query after its reset", r, vk.NOT_READY)
				for _, i := range []int{0, 2} {
					_, r = q.get(i, 1, 8, wide)
					c.want("a neighbour of a reset query", r, vk.SUCCESS)
				}
			}
			q.free()
		}),
		row("results_32_bits_and_strides", func(c *Case) {
			q := c.queries(5)
			q.do(func() {
				q.reset(0, 5)
				for i := range 5 {
					q.write(bottom, i)
				}
			})
			v := q.values(0, 5)
			half := func(what string, got uint32, want uint64) { // what doesn't fit may wrap or saturate
				if got != uint32(want) && (got != 0xffffffff || want>>32 == 0) {
					c.Errorf("%s: %#x, want the lower half of %#x", what, got, want)
				}
			}
			for _, stride := range []int{4, 8, 12, 20} {
				b, r := q.get(0, 5, stride, 0)
				c.must("32-bit results", r)
				for i := range 5 {
					half(fmt.Sprintf("stride %d, query %d", stride, i), binary.LittleEndian.Uint32(b[stride*i:]), v[i])
					for _, x := range b[stride*i+4 : stride*i+stride] {
						if x != 0xee {
							c.Errorf("stride %d: bytes between results were written", stride)
							break
						}
					}
				}
			}
			b, r := q.get(1, 3, 12, with|await)
			c.must("32-bit results with availability", r)
			for i := range 3 {
				half(fmt.Sprintf("query %d with availability", 1+i), binary.LittleEndian.Uint32(b[12*i:]), v[1+i])
				if binary.LittleEndian.Uint32(b[12*i+4:]) == 0 {
					c.Errorf("query %d is not available", 1+i)
				}
			}
			q.free()
		}),
		row("copy_results", func(c *Case) {
			copyResults(c, []resultCopy{
				{0, 4, 0, 8, wide}, {0, 4, 64, 8, wide | await}, {1, 3, 8, 24, wide}, {0, 6, 0, 16, wide | with}, {0, 4, 4, 4, 0},
				{2, 2, 12, 20, 0},
				{5, 1, 248, 8, wide | await}, {0, 4, 0, 32, wide | with | await}, {0, 6, 40, 8, wide},
			})
		}),
		row("copy_results_32_bits_with_availability", func(c *Case) { copyResults(c, []resultCopy{{3, 3, 16, 12, with}}) }),
		row("in_secondary", func(c *Case) {
			q := c.queries(2)
			s := c.commandBuffers(q.recorder.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)[0]
			primary := q.cb
			q.cb = s
			q.begin(s, 0)
			q.reset(0, 2)
			q.write(top, 0)
			q.write(bottom, 1)
			q.end(s)
			q.cb = primary
			n, p := array(&q.a, []vk.CommandBuffer{s})
			q.do(func() { c.dev.CallOn("vkCmdExecuteCommands", uintptr(q.cb), n, p) })
			if v := q.values(0, 2); v[0] > v[1] || v[0] == 0 {
				c.Errorf("timestamps %v", v)
			}
			q.free()
		}),
		{name: "query_pool.timestamp.write2", extensions: []string{"VK_KHR_synchronization2"}, features: sync2Feature,
			run: func(c *Case) {
				q := c.queries(3)
				q.do(func() {
					q.reset(0, 3)
					for i, stage := range []vk.PipelineStageFlags2{vk.PIPELINE_STAGE_2_NONE, vk.PIPELINE_STAGE_2_COPY_BIT,
						vk.PIPELINE_STAGE_2_ALL_COMMANDS_BIT} {
						c.dev.CallOn("vkCmdWriteTimestamp2KHR", uintptr(q.cb), uintptr(stage), uintptr(q.pool), uintptr(i))
					}
				})
				if v := q.values(0, 3); !slices.IsSorted(v) || v[0] == 0 {
					c.Errorf("timestamps %v", v)
				}
				q.free()
			}},
		{name: "query_pool.host_query_reset", extensions: []string{"VK_EXT_host_query_reset"}, valid: true,
			features: func(a *vulkan.Arena) unsafe.Pointer {
				f := vulkan.Struct[vk.PhysicalDeviceHostQueryResetFeatures](a)
				f.HostQueryReset = 1
				return unsafe.Pointer(f)
			}, run: func(c *Case) {
				q := c.queries(8)
				reset := func(first, n int) {
					c.dev.Call("vkResetQueryPoolEXT", uintptr(q.pool), uintptr(first), uintptr(n))
				}
				reset(0, 8)
				_, r := q.get(0, 8, 8, wide)
				c.want("queries reset by the host", r, vk.NOT_READY)
				q.do(func() {
					for i := range 8 {
						q.write(bottom, i)
					}
				})
				q.values(0, 8)
				reset(2, 3)
				b, r := q.get(0, 8, 16, wide|with)
				c.want("queries of which three were reset", r, vk.NOT_READY)
				for i := range 8 {
					if a := binary.LittleEndian.Uint64(b[16*i+8:]); (a == 0) != (i >= 2 && i < 5) {
						c.Errorf("query %d: availability %d", i, a)
					}
				}
				q.free()
			}},
		calibrated("EXT"), calibrated("KHR"),
	}
}

func sync2Feature(a *vulkan.Arena) unsafe.Pointer {
	f := vulkan.Struct[vk.PhysicalDeviceSynchronization2Features](a)
	f.Synchronization2 = 1
	return unsafe.Pointer(f)
}

// monotonic is CLOCK_MONOTONIC in nanoseconds.
func monotonic(c *Case) uint64 {
	var t unix.Timespec
	c.system("clock_gettime", unix.ClockGettime(unix.CLOCK_MONOTONIC, &t))
	return uint64(t.Nano())
}

// calibrated brackets a timestamp of the queue between two calibrations, which name the device's and the
// host's clock at about the same time.
func calibrated(vendor string) definition {
	return definition{name: "query_pool.calibrated_timestamps." + vendor,
		extensions: []string{"VK_" + vendor + "_calibrated_timestamps"},
		run: func(c *Case) {
			q := c.queries(1)
			domains, r := vulkan.Enumerate(&c.a, func(n *uint32, p *vk.TimeDomainKHR) vk.Result {
				return vk.Result(c.inst.Call("vkGetPhysicalDeviceCalibrateableTimeDomains"+vendor, uintptr(c.pd), ptr(n), ptr(p)))
			})
			c.must("vkGetPhysicalDeviceCalibrateableTimeDomains", r)
			for _, want := range []vk.TimeDomainKHR{vk.TIME_DOMAIN_DEVICE_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_KHR} {
				if !slices.Contains(domains, want) {
					c.Fatalf("domains %v lack %v", domains, want)
				}
			}
			calibrate := func() (device, host, deviation uint64) {
				infos := vulkan.Make[vk.CalibratedTimestampInfoKHR](&c.a, 2)
				for i, d := range []vk.TimeDomainKHR{vk.TIME_DOMAIN_DEVICE_KHR, vk.TIME_DOMAIN_CLOCK_MONOTONIC_KHR} {
					infos[i].SType, infos[i].TimeDomain = vk.STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_KHR, d
				}
				out, most := vulkan.Make[uint64](&c.a, 2), vulkan.New[uint64](&c.a)
				c.must("vkGetCalibratedTimestamps",
					vk.Result(c.dev.Call("vkGetCalibratedTimestamps"+vendor, 2, ptr(&infos[0]), ptr(&out[0]), ptr(most))))
				return out[0], out[1], *most
			}
			for range 5 {
				before := monotonic(c)
				d0, h0, most0 := calibrate()
				q.do(func() { q.reset(0, 1); q.write(bottom, 0) })
				v := q.values(0, 1)[0]
				d1, h1, most1 := calibrate()
				after := monotonic(c)
				if h0+most0 < before || h1 > after+most1 || h0 > h1 {
					c.Errorf("CLOCK_MONOTONIC %d and %d, want them between %d and %d (deviations %d, %d)", h0, h1, before, after,
						most0, most1)
				}
				if v+most0 < d0 || v > d1+most1 {
					c.Errorf("a timestamp %d, want one between the device's times %d and %d (deviations %d, %d)", v, d0, d1, most0,
						most1)
				}
			}
			q.free()
		}}
}

// resultCopy is one vkCmdCopyQueryPoolResults.
type resultCopy struct {
	first, n, offset, stride int
	flags                    vk.QueryResultFlags
}

// copyResults compares what is copied from a pool of six queries, of which number 4 is unavailable, with
// what vkGetQueryPoolResults says.
func copyResults(c *Case, copies []resultCopy) {
	const missing = 4
	q := c.queries(6)
	q.do(func() {
		q.reset(0, 6)
		for i := range 6 {
			if i != missing {
				q.write(bottom, i)
			}
		}
	})
	for _, t := range copies {
		b, memory, bytes := c.mappedBuffer(256)
		for i := range bytes {
			bytes[i] = 0xee
		}
		q.do(func() {
			c.dev.CallOn("vkCmdCopyQueryPoolResults", uintptr(q.cb), uintptr(q.pool), uintptr(t.first), uintptr(t.n), uintptr(b),
				uintptr(t.offset), uintptr(t.stride), uintptr(t.flags))
		})
		want := make([]byte, 256)
		for i := range want {
			want[i] = 0xee
		}
		got, _ := q.get(t.first, t.n, t.stride, t.flags)
		copy(want[t.offset:], got)
		if t.flags&with != 0 && t.first+t.n > missing {
			// The value of an unavailable query is undefined, so take what is there.
			at := t.offset + (missing-t.first)*t.stride
			copy(want[at:at+valueSize(t.flags)], bytes[at:])
		}
		c.same(fmt.Sprintf("copy of %+v", t), bytes, want)
		c.dev.DestroyBuffer(b)
		c.dev.Free(memory)
	}
	q.free()
}

// valueSize is the size of one value in results, in bytes.
func valueSize(flags vk.QueryResultFlags) int {
	if flags&wide != 0 {
		return 8
	}
	return 4
}
