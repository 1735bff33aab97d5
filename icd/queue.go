package icd

import (
	"fmt"

	"farside/internal/exec"
	"farside/internal/journal"
	"farside/internal/vk"
)

// queue is a VkQueue.
type queue struct {
	handle        vk.Queue
	device        *device
	family, index uint32
	exec          *exec.Queue
}

func (q *queue) owner() *device { return q.device }

// fail reports err as the outcome of command on this queue.
func (q *queue) fail(command string, err error) vk.Result {
	return q.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_QUEUE, uint64(q.handle)})
}

func (d *device) addQueue(family, index uint32) error {
	q := &queue{device: d, family: family, index: index, exec: exec.NewQueue(&d.exec)}
	h, err := queues.Insert(q)
	if err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "queue handle: %w", err)
	}
	q.handle = vk.Queue(h)
	if journal.On() || d.exec.Order != nil {
		q.exec.Journaled = journal.Object{Type: "VkQueue", Handle: uint64(h),
			Name: fmt.Sprintf("queue %d of family %d", index, family)}
	}
	d.queues = append(d.queues, q)
	return nil
}

func getDeviceQueue(d *device, family, index uint32, out *vk.Queue) {
	*out = d.queue("vkGetDeviceQueue", vk.VUID_vkGetDeviceQueue_queueFamilyIndex_00384, family, index)
}

func getDeviceQueue2(d *device, info *vk.DeviceQueueInfo2, out *vk.Queue) {
	if info.Flags != 0 {
		return // no queue was created with flags: VK_NULL_HANDLE (chapter "Queues", vkGetDeviceQueue2)
	}
	*out = d.queue("vkGetDeviceQueue2", vk.VUID_VkDeviceQueueInfo2_queueFamilyIndex_01842, info.QueueFamilyIndex,
		info.QueueIndex)
}

func (d *device) queue(command string, vuid vk.VUID, family, index uint32) vk.Queue {
	for _, q := range d.queues {
		if q.family == family && q.index == index {
			return q.handle
		}
	}
	d.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, vuid, "queue %d of family %d was not created with the device", index,
		family))
	return 0
}
