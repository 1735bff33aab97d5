package icd

import (
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
	p := f.payload()
	defer p.Release()
	if err := p.Signal(1); err != nil {
		return q.device.fail("vkQueueSubmit", err)
	}
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
