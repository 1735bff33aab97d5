package icd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"farside/internal/config"
	"farside/internal/vk"
)

// queueTest is a device with all its queues and the timelineSemaphore feature.
type queueTest struct {
	testing.TB
	d *device
}

func newQueueTest(t testing.TB) *queueTest {
	t.Helper()
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	takeInbox()
	timeline := vk.PhysicalDeviceTimelineSemaphoreFeatures{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, TimelineSemaphore: vk.TRUE,
	}
	infos := make([]vk.DeviceQueueCreateInfo, len(ownFamilies))
	for f, family := range ownFamilies {
		priorities := make([]float32, family.Count)
		infos[f] = vk.DeviceQueueCreateInfo{QueueFamilyIndex: uint32(f), QueueCount: family.Count,
			PQueuePriorities: &priorities[0]}
	}
	info := vk.DeviceCreateInfo{PNext: unsafe.Pointer(&timeline), QueueCreateInfoCount: uint32(len(infos)),
		PQueueCreateInfos: &infos[0]}
	var h vk.Device
	if r := commands.CreateDevice(i.devices[0].handle, &info, nil, &h); r != vk.SUCCESS {
		t.Fatalf("vkCreateDevice: %v", r)
	}
	q := &queueTest{t, devices.Get(uintptr(h))}
	t.Cleanup(func() {
		if devices.Get(uintptr(h)) != nil {
			commands.DestroyDevice(h, nil)
		}
	})
	return q
}

// rules returns the VUIDs of the messages since the last call.
func rules() (list []string) {
	for _, m := range takeInbox() {
		list = append(list, m.id)
	}
	return list
}

// buffer makes a buffer of 4096 bytes in host memory and returns its bytes, too.
func (q *queueTest) buffer() (vk.Buffer, []byte) { return q.bufferFor(0) }

// bufferFor makes one with another usage, too.
func (q *queueTest) bufferFor(usage vk.BufferUsageFlags) (vk.Buffer, []byte) {
	q.Helper()
	var b vk.Buffer
	var m vk.DeviceMemory
	info := vk.BufferCreateInfo{Size: 4096, Usage: usage | vk.BUFFER_USAGE_TRANSFER_SRC_BIT |
		vk.BUFFER_USAGE_TRANSFER_DST_BIT}
	if r := commands.CreateBuffer(q.d.handle, &info, nil, &b); r != vk.SUCCESS {
		q.Fatal(r)
	}
	if r := commands.AllocateMemory(q.d.handle, &vk.MemoryAllocateInfo{AllocationSize: 4096, MemoryTypeIndex: 2}, nil,
		&m); r != vk.SUCCESS {
		q.Fatal(r)
	}
	if r := commands.BindBufferMemory(q.d.handle, b, m, 0); r != vk.SUCCESS {
		q.Fatal(r)
	}
	bytes, err := deviceMemories.Get(uint64(m)).payload.Bytes()
	if err != nil {
		q.Fatal(err)
	}
	q.Cleanup(func() { commands.DestroyBuffer(q.d.handle, b, nil); commands.FreeMemory(q.d.handle, m, nil) })
	return b, bytes
}

// commands allocates a command buffer of a family in a pool of its own.
func (q *queueTest) commands(family uint32, level vk.CommandBufferLevel) vk.CommandBuffer {
	q.Helper()
	var pool vk.CommandPool
	info := vk.CommandPoolCreateInfo{QueueFamilyIndex: family, Flags: vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT}
	if r := commands.CreateCommandPool(q.d.handle, &info, nil, &pool); r != vk.SUCCESS {
		q.Fatal(r)
	}
	out := make([]vk.CommandBuffer, 1)
	if r := commands.AllocateCommandBuffers(q.d.handle,
		&vk.CommandBufferAllocateInfo{CommandPool: pool, Level: level, CommandBufferCount: 1}, &out[0]); r != vk.SUCCESS {
		q.Fatal(r)
	}
	return out[0]
}

func record1(t testing.TB, c vk.CommandBuffer, body func()) {
	if r := commands.BeginCommandBuffer(c,
		&vk.CommandBufferBeginInfo{PInheritanceInfo: new(vk.CommandBufferInheritanceInfo)}); r != vk.SUCCESS {
		t.Errorf("vkBeginCommandBuffer: %v", r)
	}
	body()
	if r := commands.EndCommandBuffer(c); r != vk.SUCCESS {
		t.Errorf("vkEndCommandBuffer: %v", r)
	}
}

func submit2(q *queue, fence vk.Fence, waits []vk.SemaphoreSubmitInfo, buffers []vk.CommandBuffer,
	signals []vk.SemaphoreSubmitInfo) vk.Result {
	list := make([]vk.CommandBufferSubmitInfo, len(buffers))
	for i, b := range buffers {
		list[i].CommandBuffer = b
	}
	info := vk.SubmitInfo2{
		WaitSemaphoreInfoCount: uint32(len(waits)), PWaitSemaphoreInfos: unsafe.SliceData(waits),
		CommandBufferInfoCount: uint32(len(list)), PCommandBufferInfos: unsafe.SliceData(list),
		SignalSemaphoreInfoCount: uint32(len(signals)), PSignalSemaphoreInfos: unsafe.SliceData(signals),
	}
	return commands.QueueSubmit2(q.handle, 1, &info, fence)
}

func submit1(q *queue, fence vk.Fence, info vk.SubmitInfo) vk.Result {
	return commands.QueueSubmit(q.handle, 1, &info, fence)
}

func TestSubmitRefuses(t *testing.T) {
	q := newQueueTest(t)
	other := propertiesDevice(t, q.d.physical.instance, nil)
	b, _ := q.buffer()
	good, secondary, family1 := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY),
		q.commands(0, vk.COMMAND_BUFFER_LEVEL_SECONDARY), q.commands(1, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	empty := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	for _, c := range []vk.CommandBuffer{good, secondary, family1} {
		record1(t, c, func() { commands.CmdFillBuffer(c, b, 0, 4, 1) })
	}
	binary := newTestSemaphore(t, q.d, binaryType, 0, 0)
	timeline := newTestSemaphore(t, q.d, timelineType, 0, 0)
	foreign := newTestSemaphore(t, other, binaryType, 0, 0)
	signalled := newTestFence(t, q.d, vk.FENCE_CREATE_SIGNALED_BIT, 0)
	queue := q.d.queues[0]
	executing := func(list ...vk.CommandBuffer) vk.SubmitInfo {
		return vk.SubmitInfo{CommandBufferCount: uint32(len(list)), PCommandBuffers: &list[0]}
	}
	noValues := &vk.TimelineSemaphoreSubmitInfo{SType: vk.STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO}
	for _, c := range []struct {
		name, rule string
		call       func() vk.Result
	}{
		{"secondary", "VUID-VkSubmitInfo-pCommandBuffers-00075",
			func() vk.Result { return submit1(queue, 0, executing(good, secondary)) }},
		{"not recorded", "VUID-vkQueueSubmit-pCommandBuffers-00070",
			func() vk.Result { return submit1(queue, 0, executing(good, empty)) }},
		{"twice at a time", "VUID-vkQueueSubmit-pCommandBuffers-00071",
			func() vk.Result { return submit1(queue, 0, executing(good, good)) }},
		{"family", "VUID-vkQueueSubmit-pCommandBuffers-00074",
			func() vk.Result { return submit1(queue, 0, executing(family1)) }},
		{"family 2", "VUID-vkQueueSubmit2-commandBuffer-03878", func() vk.Result {
			return submit2(queue, 0, nil, []vk.CommandBuffer{family1}, nil)
		}},
		{"no command buffer", "VUID-VkSubmitInfo-pCommandBuffers-parameter",
			func() vk.Result { return submit1(queue, 0, executing(good, 0x1234)) }},
		{"foreign semaphore", "VUID-vkQueueSubmit2-commonparent", func() vk.Result {
			return submit2(queue, 0, []vk.SemaphoreSubmitInfo{{Semaphore: foreign}}, []vk.CommandBuffer{good}, nil)
		}},
		{"no wait value", "VUID-VkSubmitInfo-pWaitSemaphores-03239", func() vk.Result {
			return submit1(queue, 0, vk.SubmitInfo{WaitSemaphoreCount: 1, PWaitSemaphores: &timeline})
		}},
		{"too few wait values", "VUID-VkSubmitInfo-pNext-03240", func() vk.Result {
			return submit1(queue, 0, vk.SubmitInfo{
				PNext: unsafe.Pointer(noValues), WaitSemaphoreCount: 1, PWaitSemaphores: &timeline,
			})
		}},
		{"too few signal values", "VUID-VkSubmitInfo-pNext-03241", func() vk.Result {
			return submit1(queue, 0, vk.SubmitInfo{
				PNext: unsafe.Pointer(noValues), SignalSemaphoreCount: 1, PSignalSemaphores: &timeline,
			})
		}},
		{"no signal value", "VUID-VkSubmitInfo-pWaitSemaphores-03239", func() vk.Result {
			return submit1(queue, 0, vk.SubmitInfo{SignalSemaphoreCount: 1, PSignalSemaphores: &timeline})
		}},
		{"signalled fence", "VUID-vkQueueSubmit-fence-00063",
			func() vk.Result { return submit1(queue, signalled, executing(good)) }},
		{"no fence", "VUID-vkQueueSubmit-fence-parameter",
			func() vk.Result { return submit1(queue, 0x1234, executing(good)) }},
		{"no queue", "VUID-vkQueueSubmit-queue-parameter",
			func() vk.Result { return commands.QueueSubmit(0x1234, 0, nil, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			takeInbox()
			if r := c.call(); r >= 0 {
				t.Errorf("%v, want an error", r)
			}
			if got := rules(); len(got) == 0 || got[0] != c.rule {
				t.Errorf("reported %q, want %s", got, c.rule)
			}
			// Nothing of it is pending, and nothing was executed or signalled.
			if commandBuffers.Get(uintptr(good)).life.pending() || semaphores.Get(uint64(binary)).pending() {
				t.Error("a refused submission left something pending")
			}
		})
	}
	// A refused wait takes no signal away.
	if r := submit2(queue, 0, nil, []vk.CommandBuffer{good}, []vk.SemaphoreSubmitInfo{{Semaphore: binary}}); r !=
		vk.SUCCESS {
		t.Fatal(r)
	}
	if r := submit2(q.d.queues[1], 0, []vk.SemaphoreSubmitInfo{{Semaphore: binary}}, nil, nil); r != vk.SUCCESS {
		t.Fatal(r)
	}
	if r := commands.DeviceWaitIdle(q.d.handle); r != vk.SUCCESS {
		t.Fatal(r)
	}
	commands.DestroySemaphore(other.handle, foreign, nil)
}

// TestFailedExecutionLosesTheDevice submits what cannot run: the cause is told once, with the command buffer, and all
// else fails.
func TestFailedExecutionLosesTheDevice(t *testing.T) {
	q := newQueueTest(t)
	c := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	fence := newTestFence(t, q.d, 0, 0)
	record1(t, c, func() { commands.CmdFillBuffer(c, 0x1234, 0, 4, 1) })
	takeInbox()
	if r := submit2(q.d.queues[0], fence, nil, []vk.CommandBuffer{c}, nil); r != vk.SUCCESS {
		t.Fatalf("vkQueueSubmit2: %v", r)
	}
	if r := waitFences(q.d, true, time.Minute, fence); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("vkWaitForFences: %v", r)
	}
	inbox := takeInbox()
	if len(inbox) != 1 || inbox[0].id != "VUID-vkCmdFillBuffer-dstBuffer-parameter" ||
		!strings.Contains(inbox[0].text, "buffer 0x1234") {
		t.Errorf("messages: %+v", inbox)
	}
	for what, r := range map[string]vk.Result{
		"vkQueueSubmit":    commands.QueueSubmit(q.d.queues[1].handle, 0, nil, 0),
		"vkQueueWaitIdle":  commands.QueueWaitIdle(q.d.queues[0].handle),
		"vkDeviceWaitIdle": commands.DeviceWaitIdle(q.d.handle),
		"vkGetFenceStatus": commands.GetFenceStatus(q.d.handle, fence),
	} {
		if r != vk.ERROR_DEVICE_LOST {
			t.Errorf("%s on a lost device: %v", what, r)
		}
	}
}

// TestForeignObjectsInCommands records commands with objects of another device: the rule commonparent names each, and
// the device is lost before anything is written.
func TestForeignObjectsInCommands(t *testing.T) {
	other := newQueueTest(t)
	theirs, bytes := other.buffer()
	plain := plainImage()
	image := newTestImage(t, other.d, &plain)
	event := newTestEvent(t, other.d, 0)
	pool := newTestQueryPool(t, other.d, vk.QUERY_TYPE_TIMESTAMP, 1)
	for name, record := range map[string]func(c vk.CommandBuffer){
		"FillBuffer": func(c vk.CommandBuffer) { commands.CmdFillBuffer(c, theirs, 0, 4, 1) },
		"ClearColorImage": func(c vk.CommandBuffer) {
			commands.CmdClearColorImage(c, image, vk.IMAGE_LAYOUT_GENERAL, new(vk.ClearColorValue), 1,
				&vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1})
		},
		"SetEvent":       func(c vk.CommandBuffer) { commands.CmdSetEvent(c, event, 0) },
		"ResetQueryPool": func(c vk.CommandBuffer) { commands.CmdResetQueryPool(c, pool, 0, 1) },
	} {
		q := newQueueTest(t)
		c := q.commands(0, primary)
		record1(t, c, func() { record(c) })
		takeInbox()
		submit2(q.d.queues[0], 0, nil, []vk.CommandBuffer{c}, nil)
		wantResult(t, name, commands.QueueWaitIdle(q.d.queues[0].handle), vk.ERROR_DEVICE_LOST)
		wantReports(t, name, "VUID-vkCmd"+name+"-commonparent")
	}
	if bytes[0] != 0 {
		t.Error("another device's buffer was written to")
	}
}

// TestDestroyWhileQueuesWait destroys a device whose queues wait for what never comes.
func TestDestroyWhileQueuesWait(t *testing.T) {
	q := newQueueTest(t)
	timeline := newTestSemaphore(t, q.d, timelineType, 0, 0)
	for _, queue := range q.d.queues {
		if r := submit2(queue, 0, []vk.SemaphoreSubmitInfo{{Semaphore: timeline, Value: 1}}, nil, nil); r != vk.SUCCESS {
			t.Fatal(r)
		}
	}
	done := make(chan struct{})
	go func() {
		commands.DestroyDevice(q.d.handle, nil)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("vkDestroyDevice hangs")
	}
	if n := queues.Len(); n != 0 {
		t.Errorf("%d queues are left", n)
	}
}

// TestQueueHammer has a thread for each queue record, submit and wait at random, with the others' semaphores. It is
// meant for the race detector.
func TestQueueHammer(t *testing.T) {
	q := newQueueTest(t)
	n := uint64(len(q.d.queues))
	timelines := make([]vk.Semaphore, n)
	for i := range timelines {
		timelines[i] = newTestSemaphore(t, q.d, timelineType, 0, 0)
	}
	const rounds = 200
	type worker struct {
		buffers  [2]vk.Buffer
		bytes    [2][]byte
		commands [3]vk.CommandBuffer
		fence    vk.Fence
	}
	workers := make([]worker, n)
	for i, queue := range q.d.queues {
		w := &workers[i]
		for j := range w.buffers {
			w.buffers[j], w.bytes[j] = q.buffer()
		}
		for j := range w.commands {
			w.commands[j] = q.commands(queue.family, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
		}
		w.fence = newTestFence(t, q.d, 0, 0)
	}
	var group sync.WaitGroup
	for i, queue := range q.d.queues {
		group.Go(func() {
			w, r := &workers[i], rand.New(rand.NewPCG(uint64(i), 1))
			if err := hammer(t, q.d, queue, r, rounds, timelines, i, w.commands[:], w.buffers, w.bytes[1], w.fence); err != nil {
				t.Errorf("queue %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if r := commands.DeviceWaitIdle(q.d.handle); r != vk.SUCCESS {
		t.Error(r)
	}
	if got := rules(); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
}

func hammer(t *testing.T, d *device, queue *queue, r *rand.Rand, rounds uint64, timelines []vk.Semaphore, self int,
	recorded []vk.CommandBuffer, buffers [2]vk.Buffer, bytes []byte, fence vk.Fence) error {
	for round := uint64(1); round <= rounds; round++ {
		value := byte(r.Uint32() | 1)
		region := vk.BufferCopy{SrcOffset: 4 * uint64(r.IntN(64)), DstOffset: uint64(r.IntN(2048)),
			Size: uint64(1 + r.IntN(1024))}
		c := recorded[round%uint64(len(recorded))]
		record1(t, c, func() {
			commands.CmdFillBuffer(c, buffers[0], 0, vk.WHOLE_SIZE, uint32(value)*0x01010101)
			commands.CmdCopyBuffer(c, buffers[0], buffers[1], 1, &region)
		})
		// The round before of another queue has been or will be submitted: no cycle, whatever the order.
		other := r.IntN(len(timelines))
		waits := []vk.SemaphoreSubmitInfo{{Semaphore: timelines[other], Value: round - 1}}
		if result := submit2(queue, fence, waits, []vk.CommandBuffer{c},
			[]vk.SemaphoreSubmitInfo{{Semaphore: timelines[self], Value: round}}); result != vk.SUCCESS {
			return fmt.Errorf("round %d: vkQueueSubmit2: %v", round, result)
		}
		if result := waitFences(d, true, time.Minute, fence); result != vk.SUCCESS {
			return fmt.Errorf("round %d: vkWaitForFences: %v", round, result)
		}
		for at := region.DstOffset; at < region.DstOffset+region.Size; at++ {
			if bytes[at] != value {
				return fmt.Errorf("round %d: byte %d is %#x, want %#x", round, at, bytes[at], value)
			}
		}
		if result := commands.ResetFences(d.handle, 1, &fence); result != vk.SUCCESS {
			return fmt.Errorf("round %d: vkResetFences: %v", round, result)
		}
	}
	return nil
}

// TestRefusedSubmissionLeavesNothingPending refuses submissions at each of several command buffers, primary and
// secondary: none stays pending, and all of them can be reset.
func TestRefusedSubmissionLeavesNothingPending(t *testing.T) {
	q := newQueueTest(t)
	const count = 4
	queue := q.d.queues[0]
	for _, level := range []vk.CommandBufferLevel{vk.COMMAND_BUFFER_LEVEL_PRIMARY, vk.COMMAND_BUFFER_LEVEL_SECONDARY} {
		for broken := range count {
			list := make([]vk.CommandBuffer, count)
			for i := range list {
				list[i] = q.commands(0, level)
				record1(t, list[i], func() {})
			}
			submitted := list
			if level == vk.COMMAND_BUFFER_LEVEL_SECONDARY {
				p := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
				record1(t, p, func() { commands.CmdExecuteCommands(p, count, &list[0]) })
				submitted = []vk.CommandBuffer{p}
			}
			b := commandBuffers.Get(uintptr(list[broken]))
			if _, ok := b.life.begin(false); !ok { // somebody else's submission
				t.Fatalf("buffer %d cannot be executed", broken)
			}
			if r := submit2(queue, 0, nil, submitted, nil); r != vk.ERROR_UNKNOWN || len(rules()) != 1 {
				t.Errorf("%v, buffer %d pending: %v", level, broken, r)
			}
			b.life.end(false)
			for i, h := range append(submitted, list...) {
				if s := commandBuffers.Get(uintptr(h)); s.life.pending() || s.life.state() != stateExecutable {
					t.Errorf("%v, buffer %d pending: buffer %d is left pending, %v", level, broken, i, s.life.pending())
				}
			}
			if r := submit2(queue, 0, nil, submitted, nil); r != vk.SUCCESS {
				t.Errorf("%v, after the refusal: %v, %q", level, r, rules())
			}
			commands.QueueWaitIdle(queue.handle)
		}
	}
}
