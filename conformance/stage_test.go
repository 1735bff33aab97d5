package conformance

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	timelineExtension    = "VK_KHR_timeline_semaphore"
	sync2Extension       = "VK_KHR_synchronization2"
	semaphoreFdExtension = "VK_KHR_external_semaphore_fd"
	fenceFdExtension     = "VK_KHR_external_fence_fd"

	opaqueSemaphore = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
	syncSemaphore   = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT
	opaqueFence     = vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT
	syncFence       = vk.EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT

	millisecond = uint64(1_000_000)
	forever     = ^uint64(0)
)

var (
	syncExtensions     = []string{timelineExtension}
	sync2Extensions    = []string{timelineExtension, sync2Extension}
	externalExtensions = []string{timelineExtension, semaphoreFdExtension, fenceFdExtension, fdExtension}
)

// syncFeatures turns on timeline semaphores, sync2Features also synchronization2.
func syncFeatures(a *vulkan.Arena) unsafe.Pointer {
	t := vulkan.Struct[vk.PhysicalDeviceTimelineSemaphoreFeatures](a)
	t.TimelineSemaphore = vk.TRUE
	return unsafe.Pointer(t)
}

func sync2Features(a *vulkan.Arena) unsafe.Pointer {
	s := vulkan.Struct[vk.PhysicalDeviceSynchronization2Features](a)
	s.Synchronization2 = vk.TRUE
	s.PNext = syncFeatures(a)
	return unsafe.Pointer(s)
}

// A queue of a device, and where it comes from.
type queue struct {
	vk.Queue
	family uint32
}

// queues are all of a device's queues, family by family; the case must have asked for them.
func (c *Case) queues(dev *vulkan.Device) []queue {
	var all []queue
	for family, p := range c.inst.QueueFamilies(c.pd) {
		for i := range p.QueueCount {
			all = append(all, queue{dev.QueueOf(uint32(family), i), uint32(family)})
		}
	}
	return all
}

// An actor has objects by name on one device, of this process or another, and obeys orders; see stage.do.
type actor interface {
	do(order string) string                    // obeys, and answers
	begin(order string) (answer func() string) // the same for an order that blocks
	given() int                                // the descriptor that the last export gave
	hand(fd int)                               // gives the next import its descriptor
}

// ask gives an order and compares the answer.
func (c *Case) ask(a actor, want, format string, args ...any) {
	order := fmt.Sprintf(format, args...)
	if got := a.do(order); got != want {
		c.Errorf("%s: %s, want %s", order, got, want)
	}
}

// ok gives an order that must succeed, unless the driver lacks the handle type.
func (c *Case) ok(a actor, format string, args ...any) {
	order := fmt.Sprintf(format, args...)
	switch got := a.do(order); got {
	case "VK_SUCCESS":
	case lacksSyncFd:
		c.Unsupported("handle type SYNC_FD")
	default:
		c.Fatalf("%s: %s", order, got)
	}
}

// lacksSyncFd answers an order for a handle type that the driver says it can't do.
const lacksSyncFd = "SYNC_FD is not supported"

// A stage is an actor in this process.
type stage struct {
	c       *Case
	dev     *vulkan.Device
	queues  []queue
	pools   []vk.CommandPool // one of each queue's family
	objects map[string]*object
	last    int // what the last export gave
	next    int // what the next import takes
}

// An object of a stage: one of these handles.
type object struct {
	semaphore vk.Semaphore
	fence     vk.Fence
	event     vk.Event
	memory    vk.DeviceMemory
	handle    vk.ExternalMemoryHandleTypeFlags // of memory
	buffer    vk.Buffer
	bytes     []byte // of mapped memory
}

const stageBytes = 64 << 10

// stage opens a device with all queues and what a case's definition asks for.
func (c *Case) stage() *stage {
	s := &stage{c: c, dev: c.device(c.def.extensions, c.def.features), objects: map[string]*object{}}
	s.queues = c.queues(s.dev)
	for _, q := range s.queues {
		pool, r := s.dev.CreateCommandPool(q.family)
		c.must("vkCreateCommandPool", r)
		s.pools = append(s.pools, pool)
	}
	return s
}

func (s *stage) close() {
	s.dev.WaitIdle()
	s.abandon()
}

// abandon is close for a device that may be busy.
func (s *stage) abandon() {
	for _, o := range s.objects {
		s.destroy(o)
	}
	for _, p := range s.pools {
		s.dev.DestroyCommandPool(p)
	}
	s.dev.Destroy()
}

func (s *stage) destroy(o *object) {
	s.dev.DestroySemaphore(o.semaphore)
	s.dev.DestroyFence(o.fence)
	s.dev.DestroyEvent(o.event)
	s.dev.DestroyBuffer(o.buffer)
	s.dev.Free(o.memory)
}

func (s *stage) given() int  { return s.last }
func (s *stage) hand(fd int) { s.next = fd }

func (s *stage) begin(order string) func() string {
	answer := make(chan string, 1)
	go func() { answer <- s.do(order) }()
	return func() string { return <-answer }
}

func (s *stage) object(name string) *object {
	o := s.objects[name]
	if o == nil {
		s.c.Fatalf("nothing is named %q", name)
	}
	return o
}

func (s *stage) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.c.Fatalf("order: %v", err)
	}
	return n
}

// do obeys one of these orders and answers with the result or with what was asked. TYPES is a list of opaque
// and sync, or -. MEMORY is device, mapped, dma, which is mapped and leaves as a dma-buf, rdma, or exclusive, which
// belongs to one queue family at a time; contents are one byte, repeated. release and acquire transfer the ownership to
// and from other processes.
//
//	binary NAME TYPES, timeline NAME VALUE TYPES, fence NAME TYPES [signalled], event NAME, memory NAME MEMORY
//	export NAME opaque|sync|dma, import NAME opaque|sync permanent|temporary, adopt NAME MEMORY
//	submit QUEUE [wait=NAME[:VALUE]] [signal=NAME[:VALUE]] [fence=NAME] [fill=NAME:BYTE] [copy=NAME:NAME]
//		[word=NAME:OFFSET:WORD] [move=NAME:TO:FROM] [release=NAME] [acquire=NAME], the commands in their order
//	wait NAME VALUE MILLISECONDS, signal NAME VALUE, value NAME, status NAME, reset NAME, idle
//	write NAME BYTE, check NAME BYTE, destroy NAME
func (s *stage) do(order string) string {
	w := strings.Fields(order)
	d := s.dev
	switch w[0] {
	case "binary":
		return s.create(w[1], w[2], nil)
	case "timeline":
		return s.create(w[1], w[3], vulkan.SemaphoreTypeInfo(&s.c.a, s.number(w[2]), nil))
	case "fence":
		var types vk.ExternalFenceHandleTypeFlags
		if strings.Contains(w[2], "opaque") {
			types |= opaqueFence
		}
		if strings.Contains(w[2], "sync") {
			if s.c.fenceFeatures(syncFence) == 0 {
				return lacksSyncFd
			}
			types |= syncFence
		}
		var next unsafe.Pointer
		if types != 0 {
			next = vulkan.ExportFenceInfo(&s.c.a, types, nil)
		}
		var flags vk.FenceCreateFlags
		if len(w) > 3 {
			flags = vk.FENCE_CREATE_SIGNALED_BIT
		}
		f, r := d.CreateFence(flags, next)
		s.objects[w[1]] = &object{fence: f}
		return r.String()
	case "event":
		e, r := d.CreateEvent()
		s.objects[w[1]] = &object{event: e}
		return r.String()
	case "memory", "adopt":
		return s.memory(w[1], w[2], w[0] == "adopt")
	case "export":
		return s.export(s.object(w[1]), w[2])
	case "import":
		return s.importFd(s.object(w[1]), w[2], w[3])
	case "submit":
		return s.submit(int(s.number(w[1])), w[2:])
	case "wait":
		o, timeout := s.object(w[1]), s.number(w[3])*millisecond
		if o.fence != 0 {
			return d.WaitFences(true, timeout, o.fence).String()
		}
		return d.WaitSemaphores(0, timeout, vulkan.Point{Semaphore: o.semaphore, Value: s.number(w[2])}).String()
	case "signal":
		return d.SignalSemaphore(s.object(w[1]).semaphore, s.number(w[2])).String()
	case "value":
		v, r := d.CounterValue(s.object(w[1]).semaphore)
		if r != vk.SUCCESS {
			return r.String()
		}
		return fmt.Sprint(v)
	case "status":
		if o := s.object(w[1]); o.fence != 0 {
			return d.FenceStatus(o.fence).String()
		}
		return d.EventStatus(s.object(w[1]).event).String()
	case "reset":
		if o := s.object(w[1]); o.fence != 0 {
			return d.ResetFences(o.fence).String()
		}
		return d.ResetEvent(s.object(w[1]).event).String()
	case "idle":
		return d.WaitIdle().String()
	case "write":
		b := s.object(w[1]).bytes
		for i := range b {
			b[i] = byte(s.number(w[2]))
		}
		return vk.SUCCESS.String()
	case "check":
		for i, got := range s.object(w[1]).bytes {
			if got != byte(s.number(w[2])) {
				return fmt.Sprintf("byte %d is %d", i, got)
			}
		}
		return vk.SUCCESS.String()
	case "destroy":
		s.destroy(s.object(w[1]))
		delete(s.objects, w[1])
		return vk.SUCCESS.String()
	}
	s.c.Fatalf("what is %q?", order)
	return ""
}

func (s *stage) create(name, types string, next unsafe.Pointer) string {
	var t vk.ExternalSemaphoreHandleTypeFlags
	if strings.Contains(types, "opaque") {
		t |= opaqueSemaphore
	}
	if strings.Contains(types, "sync") {
		if s.c.semaphoreFeatures(syncSemaphore, false) == 0 {
			return lacksSyncFd
		}
		t |= syncSemaphore
	}
	if t != 0 {
		next = vulkan.ExportSemaphoreInfo(&s.c.a, t, next)
	}
	o, r := s.dev.CreateSemaphore(next)
	s.objects[name] = &object{semaphore: o}
	return r.String()
}

// memory allocates memory that can be exported, or adopts the descriptor of another stage's, with a buffer.
func (s *stage) memory(name, kind string, adopt bool) string {
	c := s.c
	external := slices.Contains(c.def.extensions, fdExtension)
	var types vk.ExternalMemoryHandleTypeFlags
	switch {
	case kind == "dma":
		types = dmaBuf
	case external:
		types = opaqueFd
	}
	var families []uint32
	if kind != "exclusive" {
		for i := range c.inst.QueueFamilies(c.pd) {
			families = append(families, uint32(i))
		}
	}
	buffer, r := s.dev.CreateSharedBuffer(stageBytes, types, families)
	c.must("vkCreateBuffer", r)
	t, ok := c.memoryType(map[string]vk.MemoryPropertyFlags{"device": deviceLocal, "exclusive": deviceLocal,
		"mapped": hostVisible | hostCoherent,
		"dma":    hostVisible | hostCoherent, "rdma": rdmaCapable}[kind],
		map[string]vk.MemoryPropertyFlags{"device": hostVisible}[kind])
	if !ok {
		t = c.visible()
	}
	req := s.dev.BufferRequirements(buffer)
	var next unsafe.Pointer
	switch {
	case adopt:
		next = vulkan.ImportFdInfo(&c.a, types, s.next, nil)
	case external:
		next = vulkan.ExportInfo(&c.a, types, nil)
	}
	m, r := s.dev.Allocate(req.Size, t, next)
	c.must("vkAllocateMemory", r)
	c.must("vkBindBufferMemory", s.dev.BindBuffer(buffer, m, 0))
	o := &object{memory: m, handle: types, buffer: buffer}
	if kind == "mapped" || kind == "dma" {
		p, r := s.dev.Map(m, 0, vk.WHOLE_SIZE)
		c.must("vkMapMemory", r)
		o.bytes = vulkan.Bytes(p, stageBytes)
	}
	s.objects[name] = o
	return vk.SUCCESS.String()
}

func (s *stage) export(o *object, kind string) string {
	var r vk.Result
	switch {
	case o.memory != 0:
		s.last, r = s.dev.GetFd(o.memory, o.handle)
	case o.fence != 0 && kind == "sync":
		s.last, r = s.dev.FenceFd(o.fence, syncFence)
	case o.fence != 0:
		s.last, r = s.dev.FenceFd(o.fence, opaqueFence)
	case kind == "sync":
		s.last, r = s.dev.SemaphoreFd(o.semaphore, syncSemaphore)
	default:
		s.last, r = s.dev.SemaphoreFd(o.semaphore, opaqueSemaphore)
	}
	return r.String()
}

func (s *stage) importFd(o *object, kind, permanence string) string {
	if o.fence != 0 {
		ht, flags := opaqueFence, vk.FenceImportFlags(0)
		if kind == "sync" {
			ht = syncFence
		}
		if permanence == "temporary" {
			flags = vk.FENCE_IMPORT_TEMPORARY_BIT
		}
		return s.dev.ImportFenceFd(o.fence, ht, flags, s.next).String()
	}
	ht, flags := opaqueSemaphore, vk.SemaphoreImportFlags(0)
	if kind == "sync" {
		ht = syncSemaphore
	}
	if permanence == "temporary" {
		flags = vk.SEMAPHORE_IMPORT_TEMPORARY_BIT
	}
	return s.dev.ImportSemaphoreFd(o.semaphore, ht, flags, s.next).String()
}

func (s *stage) submit(index int, words []string) string {
	var b vulkan.Batch
	var fence vk.Fence
	var commands []func(cb vk.CommandBuffer)
	for _, word := range words {
		verb, rest, _ := strings.Cut(word, "=")
		args := strings.Split(rest, ":")
		o := s.object(args[0])
		number := func(i int) uint64 {
			if i >= len(args) {
				return 0
			}
			return s.number(args[i])
		}
		fill := func(offset, size, word uint64) {
			commands = append(commands, func(cb vk.CommandBuffer) {
				s.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(o.buffer), uintptr(offset), uintptr(size), uintptr(word))
			})
		}
		copyFrom := func(src *object, r vk.BufferCopy) {
			region := vulkan.Put(&s.c.a, r)
			commands = append(commands, func(cb vk.CommandBuffer) {
				s.dev.CallOn("vkCmdCopyBuffer", uintptr(cb), uintptr(src.buffer), uintptr(o.buffer), 1, ptr(region))
			})
		}
		switch verb {
		case "wait":
			b.Wait = append(b.Wait, vulkan.Point{Semaphore: o.semaphore, Value: number(1)})
		case "signal":
			b.Signal = append(b.Signal, vulkan.Point{Semaphore: o.semaphore, Value: number(1)})
		case "fence":
			fence = o.fence
		case "release":
			commands = append(commands,
				func(cb vk.CommandBuffer) { s.transfer(cb, o, s.queues[index].family, vk.QUEUE_FAMILY_EXTERNAL) })
		case "acquire":
			commands = append(commands,
				func(cb vk.CommandBuffer) { s.transfer(cb, o, vk.QUEUE_FAMILY_EXTERNAL, s.queues[index].family) })
		case "fill":
			fill(0, vk.WHOLE_SIZE, number(1)*0x01010101)
		case "word":
			fill(number(1), 4, number(2))
		case "move":
			copyFrom(o, vk.BufferCopy{DstOffset: number(1), SrcOffset: number(2), Size: 4})
		case "copy":
			copyFrom(s.object(args[1]), vk.BufferCopy{Size: stageBytes})
		}
	}
	if len(commands) > 0 {
		cb, r := s.dev.AllocateCommandBuffer(s.pools[index])
		s.c.must("vkAllocateCommandBuffers", r)
		s.c.must("recording", s.dev.Record(cb, vk.CommandBufferUsageFlags(vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT),
			func(cb vk.CommandBuffer) {
				for _, record := range commands {
					record(cb)
					s.barrier(cb)
				}
			}))
		b.Buffers = append(b.Buffers, cb)
	}
	return s.dev.SubmitBatches(s.queues[index].Queue, fence, b).String()
}

// barrier makes what was transferred visible to later transfers and to the host.
func (s *stage) barrier(cb vk.CommandBuffer) {
	const transfer, host = uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), uintptr(vk.PIPELINE_STAGE_HOST_BIT)
	b := vulkan.Struct[vk.MemoryBarrier](&s.c.a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT | vk.ACCESS_TRANSFER_WRITE_BIT | vk.ACCESS_HOST_READ_BIT |
		vk.ACCESS_HOST_WRITE_BIT)
	s.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), transfer, transfer|host, 0, 1, ptr(b), 0, 0, 0, 0)
}

// transfer gives a buffer from one queue family to another.
func (s *stage) transfer(cb vk.CommandBuffer, o *object, from, to uint32) {
	const all = uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	b := vulkan.Struct[vk.BufferMemoryBarrier](&s.c.a)
	b.Buffer, b.Size = o.buffer, vk.WHOLE_SIZE
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = from, to
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT | vk.ACCESS_TRANSFER_WRITE_BIT)
	s.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 1, ptr(b), 0, 0)
}

// A farStage is an actor in another process.
type farStage struct{ *peer }

func (c *Case) farStage() *farStage {
	role := "stage"
	if slices.Contains(c.def.extensions, dmaBufExtension) {
		role = "dma_stage"
	}
	return &farStage{c.start(role)}
}

func (f *farStage) do(order string) string { return f.begin(order)() }

func (f *farStage) begin(order string) func() string {
	f.tell("%s", order)
	return f.hear
}

func (f *farStage) given() int {
	fd, err := receiveFd(f.socket)
	f.c.system("receive", err)
	return fd
}

func (f *farStage) hand(fd int) {
	f.c.system("send", sendFd(f.socket, fd))
	unix.Close(fd)
}

// playStage is the life of a farStage's process. A descriptor goes over the socket after an order that
// exports, and before one that imports.
func playStage(c *Case) {
	s := c.stage()
	defer s.close()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		verb, _, _ := strings.Cut(in.Text(), " ")
		if verb == "import" || verb == "adopt" {
			fd, err := receiveFd(3)
			c.system("receive", err)
			s.hand(fd)
		}
		answer := s.do(in.Text())
		if verb == "export" && answer == "VK_SUCCESS" {
			c.system("send", sendFd(3, s.last))
			unix.Close(s.last)
		}
		say("%s", answer)
	}
}

// pass exports an object of one actor and imports it into another's, which must exist.
func (c *Case) pass(from, to actor, name, kind, permanence string) {
	c.ok(from, "export %s %s", name, kind)
	to.hand(from.given())
	c.ok(to, "import %s %s %s", name, kind, permanence)
}

// share makes an actor adopt another's memory under the same name.
func (c *Case) share(from, to actor, name, memory string) {
	c.ok(from, "export %s opaque", name)
	to.hand(from.given())
	c.ok(to, "adopt %s %s", name, memory)
}
