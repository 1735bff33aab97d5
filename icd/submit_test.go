package icd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"farside/internal/vk"
)

// queueTest is a device with all its queues and the timelineSemaphore feature.
type queueTest struct {
	testing.TB
	d *device
}

func newQueueTest(t testing.TB) *queueTest {
	t.Helper()
	captureLog(t, "off")
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	takeInbox()
	timeline := vk.PhysicalDeviceTimelineSemaphoreFeatures{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, TimelineSemaphore: vk.TRUE,
	}
	infos := make([]vk.DeviceQueueCreateInfo, len(queueFamilies))
	for f, n := range queueFamilies {
		priorities := make([]float32, n)
		infos[f] = vk.DeviceQueueCreateInfo{QueueFamilyIndex: uint32(f), QueueCount: n, PQueuePriorities: &priorities[0]}
	}
	info := vk.DeviceCreateInfo{PNext: unsafe.Pointer(&timeline), QueueCreateInfoCount: uint32(len(infos)), PQueueCreateInfos: &infos[0]}
	var h vk.Device
	if r := createDevice(i.physical.handle, &info, nil, &h); r != vk.SUCCESS {
		t.Fatalf("vkCreateDevice: %v", r)
	}
	q := &queueTest{t, devices.Get(uintptr(h))}
	t.Cleanup(func() {
		if devices.Get(uintptr(h)) != nil {
			destroyDevice(h, nil)
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
	info := vk.BufferCreateInfo{Size: 4096, Usage: usage | vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT}
	if r := createBuffer(q.d.handle, &info, nil, &b); r != vk.SUCCESS {
		q.Fatal(r)
	}
	if r := allocateMemory(q.d.handle, &vk.MemoryAllocateInfo{AllocationSize: 4096, MemoryTypeIndex: 2}, nil, &m); r != vk.SUCCESS {
		q.Fatal(r)
	}
	if r := bindBufferMemory(q.d.handle, b, m, 0); r != vk.SUCCESS {
		q.Fatal(r)
	}
	bytes, err := deviceMemories.Get(uint64(m)).payload.Bytes()
	if err != nil {
		q.Fatal(err)
	}
	q.Cleanup(func() { destroyBuffer(q.d.handle, b, nil); freeMemory(q.d.handle, m, nil) })
	return b, bytes
}

// commands allocates a command buffer of a family in a pool of its own.
func (q *queueTest) commands(family uint32, level vk.CommandBufferLevel) vk.CommandBuffer {
	q.Helper()
	var pool vk.CommandPool
	info := vk.CommandPoolCreateInfo{QueueFamilyIndex: family, Flags: vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT}
	if r := createCommandPool(q.d.handle, &info, nil, &pool); r != vk.SUCCESS {
		q.Fatal(r)
	}
	out := make([]vk.CommandBuffer, 1)
	if r := allocateCommandBuffers(q.d.handle, &vk.CommandBufferAllocateInfo{CommandPool: pool, Level: level, CommandBufferCount: 1}, &out[0]); r != vk.SUCCESS {
		q.Fatal(r)
	}
	return out[0]
}

func record1(t testing.TB, c vk.CommandBuffer, commands func()) {
	if r := beginCommandBuffer(c, &vk.CommandBufferBeginInfo{PInheritanceInfo: new(vk.CommandBufferInheritanceInfo)}); r != vk.SUCCESS {
		t.Errorf("vkBeginCommandBuffer: %v", r)
	}
	commands()
	if r := endCommandBuffer(c); r != vk.SUCCESS {
		t.Errorf("vkEndCommandBuffer: %v", r)
	}
}

func submit2(q *queue, fence vk.Fence, waits []vk.SemaphoreSubmitInfo, buffers []vk.CommandBuffer, signals []vk.SemaphoreSubmitInfo) vk.Result {
	list := make([]vk.CommandBufferSubmitInfo, len(buffers))
	for i, b := range buffers {
		list[i].CommandBuffer = b
	}
	info := vk.SubmitInfo2{
		WaitSemaphoreInfoCount: uint32(len(waits)), PWaitSemaphoreInfos: unsafe.SliceData(waits),
		CommandBufferInfoCount: uint32(len(list)), PCommandBufferInfos: unsafe.SliceData(list),
		SignalSemaphoreInfoCount: uint32(len(signals)), PSignalSemaphoreInfos: unsafe.SliceData(signals),
	}
	return queueSubmit2(q.handle, 1, &info, fence)
}

func submit1(q *queue, fence vk.Fence, info vk.SubmitInfo) vk.Result {
	return queueSubmit(q.handle, 1, &info, fence)
}

func TestSubmitRefuses(t *testing.T) {
	q := newQueueTest(t)
	other := propertiesDevice(t, q.d.physical.instance, nil)
	b, _ := q.buffer()
	good, secondary, family1 := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY), q.commands(0, vk.COMMAND_BUFFER_LEVEL_SECONDARY), q.commands(1, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	empty := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	for _, c := range []vk.CommandBuffer{good, secondary, family1} {
		record1(t, c, func() { cmdFillBuffer(c, b, 0, 4, 1) })
	}
	binary := newTestSemaphore(t, q.d, binaryType, 0, 0)
	timeline := newTestSemaphore(t, q.d, timelineType, 0, 0)
	foreign := newTestSemaphore(t, other, binaryType, 0, 0)
	signalled := newTestFence(t, q.d, vk.FENCE_CREATE_SIGNALED_BIT, 0)
	queue := q.d.queues[0]
	commands := func(list ...vk.CommandBuffer) vk.SubmitInfo {
		return vk.SubmitInfo{CommandBufferCount: uint32(len(list)), PCommandBuffers: &list[0]}
	}
	for _, c := range []struct {
		name, rule string
		call       func() vk.Result
	}{
		{"secondary", "VUID-VkSubmitInfo-pCommandBuffers-00075", func() vk.Result { return submit1(queue, 0, commands(good, secondary)) }},
		{"not recorded", "VUID-vkQueueSubmit-pCommandBuffers-00070", func() vk.Result { return submit1(queue, 0, commands(good, empty)) }},
		{"twice at a time", "VUID-vkQueueSubmit-pCommandBuffers-00071", func() vk.Result { return submit1(queue, 0, commands(good, good)) }},
		{"family", "VUID-vkQueueSubmit-pCommandBuffers-00074", func() vk.Result { return submit1(queue, 0, commands(family1)) }},
		{"family 2", "VUID-vkQueueSubmit2-commandBuffer-03878", func() vk.Result {
			return submit2(queue, 0, nil, []vk.CommandBuffer{family1}, nil)
		}},
		{"no command buffer", "VUID-vkQueueSubmit-commonparent", func() vk.Result { return submit1(queue, 0, commands(good, 0x1234)) }},
		{"foreign semaphore", "VUID-vkQueueSubmit2-commonparent", func() vk.Result {
			return submit2(queue, 0, []vk.SemaphoreSubmitInfo{{Semaphore: foreign}}, []vk.CommandBuffer{good}, nil)
		}},
		{"no wait value", "VUID-VkSubmitInfo-pWaitSemaphores-03239", func() vk.Result {
			return submit1(queue, 0, vk.SubmitInfo{WaitSemaphoreCount: 1, PWaitSemaphores: &timeline})
		}},
		{"no signal value", "VUID-VkSubmitInfo-pSignalSemaphores-03240", func() vk.Result {
			return submit1(queue, 0, vk.SubmitInfo{SignalSemaphoreCount: 1, PSignalSemaphores: &timeline})
		}},
		{"signalled fence", "VUID-vkQueueSubmit-fence-00063", func() vk.Result { return submit1(queue, signalled, commands(good)) }},
		{"no fence", "VUID-vkQueueSubmit-fence-parameter", func() vk.Result { return submit1(queue, 0x1234, commands(good)) }},
		{"no queue", "VUID-vkQueueSubmit-queue-parameter", func() vk.Result { return queueSubmit(0x1234, 0, nil, 0) }},
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
	if r := submit2(queue, 0, nil, []vk.CommandBuffer{good}, []vk.SemaphoreSubmitInfo{{Semaphore: binary}}); r != vk.SUCCESS {
		t.Fatal(r)
	}
	if r := submit2(q.d.queues[1], 0, []vk.SemaphoreSubmitInfo{{Semaphore: binary}}, nil, nil); r != vk.SUCCESS {
		t.Fatal(r)
	}
	if r := deviceWaitIdle(q.d.handle); r != vk.SUCCESS {
		t.Fatal(r)
	}
	destroySemaphore(other.handle, foreign, nil)
}

// TestFailedExecutionLosesTheDevice submits what cannot run: the cause is told once, with the command buffer, and all else fails.
func TestFailedExecutionLosesTheDevice(t *testing.T) {
	q := newQueueTest(t)
	c := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	fence := newTestFence(t, q.d, 0, 0)
	record1(t, c, func() { cmdFillBuffer(c, 0x1234, 0, 4, 1) })
	takeInbox()
	if r := submit2(q.d.queues[0], fence, nil, []vk.CommandBuffer{c}, nil); r != vk.SUCCESS {
		t.Fatalf("vkQueueSubmit2: %v", r)
	}
	if r := waitFences(q.d, true, time.Minute, fence); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("vkWaitForFences: %v", r)
	}
	inbox := takeInbox()
	if len(inbox) != 1 || inbox[0].id != "VUID-vkCmdFillBuffer-dstBuffer-parameter" || !strings.Contains(inbox[0].text, "buffer 0x1234") {
		t.Errorf("messages: %+v", inbox)
	}
	for what, r := range map[string]vk.Result{
		"vkQueueSubmit": queueSubmit(q.d.queues[1].handle, 0, nil, 0), "vkQueueWaitIdle": queueWaitIdle(q.d.queues[0].handle),
		"vkDeviceWaitIdle": deviceWaitIdle(q.d.handle), "vkGetFenceStatus": getFenceStatus(q.d.handle, fence),
	} {
		if r != vk.ERROR_DEVICE_LOST {
			t.Errorf("%s on a lost device: %v", what, r)
		}
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
		destroyDevice(q.d.handle, nil)
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
	if r := deviceWaitIdle(q.d.handle); r != vk.SUCCESS {
		t.Error(r)
	}
	if got := rules(); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
}

func hammer(t *testing.T, d *device, queue *queue, r *rand.Rand, rounds uint64, timelines []vk.Semaphore, self int,
	commands []vk.CommandBuffer, buffers [2]vk.Buffer, bytes []byte, fence vk.Fence) error {
	for round := uint64(1); round <= rounds; round++ {
		value := byte(r.Uint32() | 1)
		region := vk.BufferCopy{SrcOffset: 4 * uint64(r.IntN(64)), DstOffset: uint64(r.IntN(2048)), Size: uint64(1 + r.IntN(1024))}
		c := commands[round%uint64(len(commands))]
		record1(t, c, func() {
			cmdFillBuffer(c, buffers[0], 0, vk.WHOLE_SIZE, uint32(value)*0x01010101)
			cmdCopyBuffer(c, buffers[0], buffers[1], 1, &region)
		})
		// The round before of another queue has been or will be submitted: no cycle, whatever the order.
		other := r.IntN(len(timelines))
		waits := []vk.SemaphoreSubmitInfo{{Semaphore: timelines[other], Value: round - 1}}
		if result := submit2(queue, fence, waits, []vk.CommandBuffer{c}, []vk.SemaphoreSubmitInfo{{Semaphore: timelines[self], Value: round}}); result != vk.SUCCESS {
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
		if result := resetFences(d.handle, 1, &fence); result != vk.SUCCESS {
			return fmt.Errorf("round %d: vkResetFences: %v", round, result)
		}
	}
	return nil
}
