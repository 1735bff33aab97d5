package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	trips       = 2000 // each awaited by the host
	queuedTrips = 500  // all submitted at once
)

// tripPeer is one of two processes that pass 64 bytes to and fro through shared memory, each by its queue: the
// first copies, signals `there` and waits for `back`; the second waits for `there`, copies and signals `back`.
type tripPeer struct {
	a           vulkan.Arena
	dev         *vulkan.Device
	calls       *submitCalls
	there, back vk.Semaphore
	forth       [2]vk.CommandBuffer // local to shared, shared to local
	exported    []*os.File          // by the process that made them: memory, there, back

	pool          vk.CommandPool
	shared, local vk.Buffer
	region        *vk.BufferCopy
}

const (
	semaphoreFd     = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
	firstTripPeerFd = 3
)

// openTripPeer opens Farside alone; fds are the shared memory and the semaphores there and back, nil for the
// process that makes them.
func openTripPeer(fds []int) (*tripPeer, error) {
	p := new(tripPeer)
	l, err := vulkan.Open()
	if err != nil {
		return nil, err
	}
	inst, r := l.CreateInstance(vulkan.InstanceConfig{APIVersion: uint32(vk.API_VERSION_1_1)})
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("vkCreateInstance: %v", r)
	}
	pds, r := inst.PhysicalDevices()
	if r != vk.SUCCESS || len(pds) != 1 {
		return nil, fmt.Errorf("%d physical devices, want Farside's: %v", len(pds), r)
	}
	timeline := vulkan.Struct[vk.PhysicalDeviceTimelineSemaphoreFeatures](&p.a)
	timeline.TimelineSemaphore = vk.TRUE
	p.dev, r = inst.CreateDevice(pds[0], vulkan.DeviceConfig{
		Extensions: []string{vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, vk.KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
			vk.KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME},
		Next: pointerTo(timeline),
	})
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("vkCreateDevice: %v", r)
	}
	if p.calls, err = newSubmitCalls(&p.a, p.dev); err != nil {
		return nil, err
	}
	if err := p.makeSemaphores(fds); err != nil {
		return nil, err
	}
	return p, p.makeBuffers(fds)
}

func (p *tripPeer) makeSemaphores(fds []int) error {
	for i, s := range []*vk.Semaphore{&p.there, &p.back} {
		next := vulkan.SemaphoreTypeInfo(&p.a, 0, nil)
		if fds == nil {
			next = vulkan.ExportSemaphoreInfo(&p.a, semaphoreFd, next)
		}
		var r vk.Result
		if *s, r = p.dev.CreateSemaphore(next); r != vk.SUCCESS {
			return fmt.Errorf("vkCreateSemaphore: %v", r)
		}
		if fds != nil {
			if r := p.dev.ImportSemaphoreFd(*s, semaphoreFd, 0, fds[1+i]); r != vk.SUCCESS {
				return fmt.Errorf("vkImportSemaphoreFdKHR: %v", r)
			}
		}
	}
	return nil
}

func (p *tripPeer) makeBuffers(fds []int) error {
	next := vulkan.ExportInfo(&p.a, opaqueFd, nil)
	if fds != nil {
		next = vulkan.ImportFdInfo(&p.a, opaqueFd, fds[0], nil)
	}
	shared, r := p.dev.CreateBuffer(piece, opaqueFd)
	if r != vk.SUCCESS {
		return fmt.Errorf("vkCreateBuffer: %v", r)
	}
	m, r := p.dev.Allocate(p.dev.BufferRequirements(shared).Size, 0, next)
	if r == vk.SUCCESS {
		r = p.dev.BindBuffer(shared, m, 0)
	}
	if r != vk.SUCCESS {
		return fmt.Errorf("shared memory: %v", r)
	}
	local, _, err := boundBuffer(p.dev, piece, 0)
	if err != nil {
		return err
	}
	if p.pool, r = p.dev.CreateCommandPool(0); r != vk.SUCCESS {
		return fmt.Errorf("vkCreateCommandPool: %v", r)
	}
	p.region = vulkan.Put(&p.a, vk.BufferCopy{Size: piece})
	p.shared, p.local = shared, local
	for i, ends := range [2][2]vk.Buffer{{local, shared}, {shared, local}} {
		if p.forth[i], r = p.dev.AllocateCommandBuffer(p.pool); r == vk.SUCCESS {
			r = p.dev.Record(p.forth[i], vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, func(c vk.CommandBuffer) {
				p.dev.CallOn("vkCmdCopyBuffer", uintptr(c), uintptr(ends[0]), uintptr(ends[1]), 1, address(p.region))
			})
		}
		if r != vk.SUCCESS {
			return fmt.Errorf("record a copy: %v", r)
		}
	}
	if fds == nil {
		return p.export(m)
	}
	return nil
}

func (p *tripPeer) export(m vk.DeviceMemory) error {
	fd, r := p.dev.GetFd(m, opaqueFd)
	for _, s := range []vk.Semaphore{p.there, p.back} {
		if r != vk.SUCCESS {
			break
		}
		p.exported = append(p.exported, os.NewFile(uintptr(fd), "exported"))
		fd, r = p.dev.SemaphoreFd(s, semaphoreFd)
	}
	if r != vk.SUCCESS {
		return fmt.Errorf("export: %v", r)
	}
	p.exported = append(p.exported, os.NewFile(uintptr(fd), "exported"))
	return nil
}

// batches are the submissions of one trip and the counter values in them.
func (p *tripPeer) batches(first bool) ([]vk.SubmitInfo, []uint64) {
	infos := vulkan.Make[vk.SubmitInfo](&p.a, 2)
	values := vulkan.Make[uint64](&p.a, 2) // of the wait, of the signal
	stage := vulkan.Put(&p.a, vk.PipelineStageFlags(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT))
	for i := range infos {
		infos[i].SType = vk.STRUCTURE_TYPE_SUBMIT_INFO
		t := vulkan.Struct[vk.TimelineSemaphoreSubmitInfo](&p.a)
		infos[i].PNext = pointerTo(t)
		waits := (i == 1) == first
		infos[i].CommandBufferCount = 1
		if waits {
			semaphore := p.there
			if first {
				semaphore = p.back
			}
			infos[i].WaitSemaphoreCount, infos[i].PWaitSemaphores, infos[i].PWaitDstStageMask = 1, vulkan.Put(&p.a, semaphore),
				stage
			t.WaitSemaphoreValueCount, t.PWaitSemaphoreValues = 1, &values[0]
			infos[i].PCommandBuffers = vulkan.Put(&p.a, p.forth[1])
			continue
		}
		semaphore := p.back
		if first {
			semaphore = p.there
		}
		infos[i].SignalSemaphoreCount, infos[i].PSignalSemaphores = 1, vulkan.Put(&p.a, semaphore)
		t.SignalSemaphoreValueCount, t.PSignalSemaphoreValues = 1, &values[1]
		infos[i].PCommandBuffers = vulkan.Put(&p.a, p.forth[0])
	}
	return infos, values
}

func (p *tripPeer) run(l *loops, first bool, samples *int64) {
	infos, values := p.batches(first)
	run(trips, l.trips, address(p.calls), 2, address(&infos[0]), address(&values[0]), 2, address(samples))
}

// queued submits all of queuedTrips at once and waits for the last. A host takes no part in them: the queues wake
// each other. The first process gets the nanoseconds from trip to trip by the device's timestamps.
func (p *tripPeer) queued(first bool) ([]int64, error) {
	var timed []vk.CommandBuffer
	var queries vk.QueryPool
	if first {
		var err error
		if queries, timed, err = p.timedCopies(); err != nil {
			return nil, err
		}
	}
	all := vulkan.Make[vk.SubmitInfo](&p.a, 2*queuedTrips)
	for i := range queuedTrips {
		infos, values := p.batches(first)
		values[0], values[1] = trips+uint64(i)+1, trips+uint64(i)+1
		if first {
			infos[1].PCommandBuffers = &timed[i]
		}
		all[2*i], all[2*i+1] = infos[0], infos[1]
	}
	r := vk.Result(p.dev.CallOn("vkQueueSubmit", uintptr(p.calls.queue), uintptr(len(all)), address(&all[0]),
		uintptr(p.calls.fence)))
	if r == vk.SUCCESS {
		r = p.dev.WaitFences(true, 10_000_000_000, p.calls.fence)
	}
	if r != vk.SUCCESS || !first {
		return nil, vkError("queued trips", r)
	}
	times := vulkan.Make[int64](&p.a, queuedTrips)
	r = vk.Result(p.dev.Call("vkGetQueryPoolResults", uintptr(queries), 0, queuedTrips, 8*queuedTrips, address(&times[0]),
		8, uintptr(vk.QUERY_RESULT_64_BIT)))
	for i := range times[1:] {
		times[i] = times[i+1] - times[i]
	}
	return times[:queuedTrips-1], vkError("vkGetQueryPoolResults", r)
}

func vkError(what string, r vk.Result) error {
	if r != vk.SUCCESS {
		return fmt.Errorf("%s: %v", what, r)
	}
	return nil
}

// timedCopies records what ends each queued trip: the copy to local memory and a timestamp.
func (p *tripPeer) timedCopies() (vk.QueryPool, []vk.CommandBuffer, error) {
	info := vulkan.Struct[vk.QueryPoolCreateInfo](&p.a)
	info.QueryType, info.QueryCount = vk.QUERY_TYPE_TIMESTAMP, queuedTrips
	pool := vulkan.New[vk.QueryPool](&p.a)
	if r := vk.Result(p.dev.Call("vkCreateQueryPool", address(info), 0, address(pool))); r != vk.SUCCESS {
		return 0, nil, vkError("vkCreateQueryPool", r)
	}
	list := vulkan.Make[vk.CommandBuffer](&p.a, queuedTrips)
	for i := range list {
		var r vk.Result
		if list[i], r = p.dev.AllocateCommandBuffer(p.pool); r == vk.SUCCESS {
			r = p.dev.Record(list[i], 0, func(c vk.CommandBuffer) {
				if i == 0 {
					p.dev.CallOn("vkCmdResetQueryPool", uintptr(c), uintptr(*pool), 0, queuedTrips)
				}
				p.dev.CallOn("vkCmdCopyBuffer", uintptr(c), uintptr(p.shared), uintptr(p.local), 1, address(p.region))
				p.dev.CallOn("vkCmdWriteTimestamp", uintptr(c), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), uintptr(*pool), uintptr(i))
			})
		}
		if r != vk.SUCCESS {
			return 0, nil, vkError("record a trip", r)
		}
	}
	return *pool, list, nil
}

// tripMain is the first process: it prints the nanoseconds of each trip, first those that the host awaits, in
// binary.
func tripMain() error {
	l, err := openLoops()
	if err != nil {
		return err
	}
	p, err := openTripPeer(nil)
	if err != nil {
		return err
	}
	second := exec.Command("/proc/self/exe")
	second.Env = append(os.Environ(), "FARSIDE_BENCH_ROLE=trip peer")
	second.Stderr = os.Stderr
	second.ExtraFiles = p.exported
	if err := second.Start(); err != nil {
		return err
	}
	samples := vulkan.Make[int64](&p.a, trips)
	p.run(l, true, &samples[0])
	queued, err := p.queued(true)
	if err != nil {
		return err
	}
	if err := second.Wait(); err != nil {
		return fmt.Errorf("the second process: %w", err)
	}
	return binary.Write(os.Stdout, binary.NativeEndian, append(samples, queued...))
}

// tripPeerMain is the second process.
func tripPeerMain() error {
	l, err := openLoops()
	if err != nil {
		return err
	}
	fds := []int{firstTripPeerFd, firstTripPeerFd + 1, firstTripPeerFd + 2}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	p, err := openTripPeer(fds)
	if err != nil {
		return err
	}
	p.run(l, false, nil)
	_, err = p.queued(false)
	return err
}

// sampleTrips measures round trips between two processes on Farside.
func sampleTrips(into *samples) error {
	if !into.needs("trip", "trip p99", "trip awaited", "trip awaited p99") {
		return nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(vulkan.DriverEnv(os.Getenv("FARSIDE_BENCH_MANIFEST")), "FARSIDE_BENCH_ROLE=trip")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("round trips: %w", err)
	}
	if len(out) != 8*(trips+queuedTrips-1) {
		return fmt.Errorf("round trips printed %d bytes", len(out))
	}
	samples := make([]float64, 0, len(out)/8)
	for b := range slices.Chunk(out, 8) {
		samples = append(samples, float64(binary.NativeEndian.Uint64(b)))
	}
	for name, part := range map[string][]float64{"trip awaited": samples[:trips], "trip": samples[trips:]} {
		slices.Sort(part)
		into.note(name, part[len(part)/2])
		into.note(name+" p99", part[int(math.Ceil(0.99*float64(len(part))))-1])
	}
	return nil
}
