package icd

import (
	"sync"
	"time"

	"farside/internal/vk"
)

// queue is a VkQueue. A submission is executed by the thread that submits it, and is complete when
// vkQueueSubmit returns.
type queue struct {
	handle        vk.Queue
	device        *device
	family, index uint32
}

func (d *device) addQueue(family, index uint32) error {
	q := &queue{device: d, family: family, index: index}
	h, err := queues.Insert(q)
	if err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "queue handle: %w", err)
	}
	q.handle = vk.Queue(h)
	d.queues = append(d.queues, q)
	return nil
}

func getDeviceQueue(h vk.Device, family, index uint32, out *vk.Queue) {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		staleHandle("vkGetDeviceQueue", vk.OBJECT_TYPE_DEVICE, uint64(h))
		return
	}
	*out = d.queue("vkGetDeviceQueue", "VUID-vkGetDeviceQueue-queueFamilyIndex-00384", family, index)
}

func getDeviceQueue2(h vk.Device, info *vk.DeviceQueueInfo2, out *vk.Queue) {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		staleHandle("vkGetDeviceQueue2", vk.OBJECT_TYPE_DEVICE, uint64(h))
		return
	}
	if info.Flags != 0 {
		return // no queue was created with flags: VK_NULL_HANDLE (chapter "Queues", vkGetDeviceQueue2)
	}
	*out = d.queue("vkGetDeviceQueue2", "VUID-VkDeviceQueueInfo2-queueFamilyIndex-01842", info.QueueFamilyIndex, info.QueueIndex)
}

func (d *device) queue(command, vuid string, family, index uint32) vk.Queue {
	for _, q := range d.queues {
		if q.family == family && q.index == index {
			return q.handle
		}
	}
	d.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, vuid, "queue %d of family %d was not created with the device", index, family))
	return 0
}

func queueSubmit(h vk.Queue, count uint32, submits *vk.SubmitInfo, fenceHandle vk.Fence) vk.Result {
	q := queues.Get(uintptr(h))
	if q == nil {
		return staleHandle("vkQueueSubmit", vk.OBJECT_TYPE_QUEUE, uint64(h))
	}
	for i := range vk.Slice(submits, count) {
		s := &vk.Slice(submits, count)[i]
		if s.WaitSemaphoreCount+s.SignalSemaphoreCount != 0 {
			return q.device.fail("vkQueueSubmit", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkSubmitInfo-pWaitSemaphores-parameter",
				"the driver has no semaphores yet, but submission %d names some", i))
		}
		for _, c := range vk.Slice(s.PCommandBuffers, s.CommandBufferCount) {
			b := commandBuffers.Get(uintptr(c))
			if b == nil {
				return staleHandle("vkQueueSubmit", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(c))
			}
			if err := b.submit("vkQueueSubmit"); err != nil {
				return b.fail("vkQueueSubmit", err)
			}
		}
	}
	if fenceHandle == 0 {
		return vk.SUCCESS
	}
	f := fences.Get(uint64(fenceHandle))
	if f == nil {
		return staleHandle("vkQueueSubmit", vk.OBJECT_TYPE_FENCE, uint64(fenceHandle))
	}
	f.signal()
	return vk.SUCCESS
}

func queueWaitIdle(h vk.Queue) vk.Result {
	if queues.Get(uintptr(h)) == nil {
		return staleHandle("vkQueueWaitIdle", vk.OBJECT_TYPE_QUEUE, uint64(h))
	}
	return vk.SUCCESS
}

func deviceWaitIdle(h vk.Device) vk.Result {
	if devices.Get(uintptr(h)) == nil {
		return staleHandle("vkDeviceWaitIdle", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	return vk.SUCCESS
}

// fence is a VkFence: done is closed while it is signalled and replaced by an open one at reset.
type fence struct {
	device *device
	mu     sync.Mutex
	done   chan struct{}
}

func (f *fence) signal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.done:
	default:
		close(f.done)
	}
}

func (f *fence) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.done:
		f.done = make(chan struct{})
	default:
	}
}

func (f *fence) signalled() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

func (f *fence) isSignalled() bool {
	select {
	case <-f.signalled():
		return true
	default:
		return false
	}
}

func createFence(h vk.Device, info *vk.FenceCreateInfo, _ *vk.AllocationCallbacks, out *vk.Fence) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateFence", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	if e := vk.Find[vk.ExportFenceCreateInfo](info.PNext); e != nil && e.HandleTypes != 0 {
		return d.fail("vkCreateFence", vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkExportFenceCreateInfo-handleTypes-01446",
			"fences cannot be exported, handle types %v asked for", e.HandleTypes))
	}
	f := &fence{device: d, done: make(chan struct{})}
	if info.Flags&vk.FENCE_CREATE_SIGNALED_BIT != 0 {
		close(f.done)
	}
	*out = vk.Fence(fences.Insert(f))
	d.created(vk.OBJECT_TYPE_FENCE, uint64(*out))
	return vk.SUCCESS
}

func destroyFence(h vk.Device, handle vk.Fence, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	f := fences.Remove(uint64(handle))
	if f == nil {
		staleHandle("vkDestroyFence", vk.OBJECT_TYPE_FENCE, uint64(handle))
		return
	}
	f.device.destroyed(vk.OBJECT_TYPE_FENCE, uint64(handle))
}

func resetFences(h vk.Device, count uint32, list *vk.Fence) vk.Result {
	for _, handle := range vk.Slice(list, count) {
		f := fences.Get(uint64(handle))
		if f == nil {
			return staleHandle("vkResetFences", vk.OBJECT_TYPE_FENCE, uint64(handle))
		}
		f.reset()
	}
	return vk.SUCCESS
}

func getFenceStatus(h vk.Device, handle vk.Fence) vk.Result {
	f := fences.Get(uint64(handle))
	if f == nil {
		return staleHandle("vkGetFenceStatus", vk.OBJECT_TYPE_FENCE, uint64(handle))
	}
	if f.isSignalled() {
		return vk.SUCCESS
	}
	return vk.NOT_READY
}

// waitForFences waits for all fences or for any of them, timeout in nanoseconds.
func waitForFences(h vk.Device, count uint32, list *vk.Fence, waitAll uint32, timeout uint64) vk.Result {
	waits := make([]*fence, 0, count)
	for _, handle := range vk.Slice(list, count) {
		f := fences.Get(uint64(handle))
		if f == nil {
			return staleHandle("vkWaitForFences", vk.OBJECT_TYPE_FENCE, uint64(handle))
		}
		waits = append(waits, f)
	}
	if waitAll == vk.FALSE && len(waits) > 1 {
		return waitAny(waits, timeout)
	}
	deadline := deadlineAfter(timeout)
	for _, f := range waits {
		if f.isSignalled() {
			continue
		}
		if timeout == 0 {
			return vk.TIMEOUT
		}
		select {
		case <-f.signalled():
		case <-deadline:
			return vk.TIMEOUT
		}
	}
	return vk.SUCCESS
}

func waitAny(waits []*fence, timeout uint64) vk.Result {
	for _, f := range waits {
		if f.isSignalled() {
			return vk.SUCCESS
		}
	}
	if timeout == 0 {
		return vk.TIMEOUT
	}
	// One goroutine a fence; all leave when the call returns.
	first, stop := make(chan struct{}, len(waits)), make(chan struct{})
	defer close(stop)
	for _, f := range waits {
		go func() {
			select {
			case <-f.signalled():
				first <- struct{}{}
			case <-stop:
			}
		}()
	}
	select {
	case <-first:
		return vk.SUCCESS
	case <-deadlineAfter(timeout):
		return vk.TIMEOUT
	}
}

// deadlineAfter fires after timeout nanoseconds; nil, which never fires, for more than Go's clock can count.
func deadlineAfter(timeout uint64) <-chan time.Time {
	if timeout > uint64(1<<63-1) {
		return nil
	}
	return time.After(time.Duration(timeout))
}
