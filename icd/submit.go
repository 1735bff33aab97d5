package icd

import (
	"farside/internal/exec"
	"farside/internal/vk"
)

// submission collects one vkQueueSubmit or vkQueueSubmit2.
type submission struct {
	queue   *queue
	command string // the command's name, which begins its VUIDs
	*exec.Submission
}

func queueSubmit(h vk.Queue, count uint32, submits *vk.SubmitInfo, fence vk.Fence) vk.Result {
	q := queues.Get(uintptr(h))
	if q == nil {
		return staleHandle("vkQueueSubmit", vk.OBJECT_TYPE_QUEUE, uint64(h))
	}
	s := submission{q, "vkQueueSubmit", exec.NewSubmission()}
	list := vk.Slice(submits, count)
	for i := range list {
		if err := s.batch(&list[i]); err != nil {
			s.Cancel()
			return q.fail(s.command, err)
		}
	}
	return s.submit(fence)
}

func queueSubmit2(h vk.Queue, count uint32, submits *vk.SubmitInfo2, fence vk.Fence) vk.Result {
	q := queues.Get(uintptr(h))
	if q == nil {
		return staleHandle("vkQueueSubmit2", vk.OBJECT_TYPE_QUEUE, uint64(h))
	}
	s := submission{q, "vkQueueSubmit2", exec.NewSubmission()}
	list := vk.Slice(submits, count)
	for i := range list {
		if err := s.batch2(&list[i]); err != nil {
			s.Cancel()
			return q.fail(s.command, err)
		}
	}
	return s.submit(fence)
}

func queueBindSparse(h vk.Queue, _ uint32, _ *vk.BindSparseInfo, _ vk.Fence) vk.Result {
	q := queues.Get(uintptr(h))
	if q == nil {
		return staleHandle("vkQueueBindSparse", vk.OBJECT_TYPE_QUEUE, uint64(h))
	}
	return q.fail("vkQueueBindSparse", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkQueueBindSparse-queuetype",
		"queue family %d has no sparse binding", q.family))
}

// batch adds a VkSubmitInfo. Stage masks are not looked at: a batch waits before its first command.
func (s *submission) batch(info *vk.SubmitInfo) error {
	waits := vk.Slice(info.PWaitSemaphores, info.WaitSemaphoreCount)
	signals := vk.Slice(info.PSignalSemaphores, info.SignalSemaphoreCount)
	var waitValues, signalValues []uint64
	if t := vk.Find[vk.TimelineSemaphoreSubmitInfo](info.PNext); t != nil {
		waitValues = vk.Slice(t.PWaitSemaphoreValues, t.WaitSemaphoreValueCount)
		signalValues = vk.Slice(t.PSignalSemaphoreValues, t.SignalSemaphoreValueCount)
	}
	for i, h := range waits {
		if err := s.wait(h, value(waitValues, i), len(waitValues) == len(waits), "VUID-VkSubmitInfo-pWaitSemaphores-03239"); err != nil {
			return err
		}
	}
	for _, h := range vk.Slice(info.PCommandBuffers, info.CommandBufferCount) {
		if err := s.execute(h); err != nil {
			return err
		}
	}
	for i, h := range signals {
		if err := s.signal(h, value(signalValues, i), len(signalValues) == len(signals), "VUID-VkSubmitInfo-pSignalSemaphores-03240"); err != nil {
			return err
		}
	}
	return nil
}

func value(list []uint64, i int) uint64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// batch2 adds a VkSubmitInfo2.
func (s *submission) batch2(info *vk.SubmitInfo2) error {
	waits := vk.Slice(info.PWaitSemaphoreInfos, info.WaitSemaphoreInfoCount)
	for i := range waits {
		if err := s.wait(waits[i].Semaphore, waits[i].Value, true, ""); err != nil {
			return err
		}
	}
	buffers := vk.Slice(info.PCommandBufferInfos, info.CommandBufferInfoCount)
	for i := range buffers {
		if err := s.execute(buffers[i].CommandBuffer); err != nil {
			return err
		}
	}
	signals := vk.Slice(info.PSignalSemaphoreInfos, info.SignalSemaphoreInfoCount)
	for i := range signals {
		if err := s.signal(signals[i].Semaphore, signals[i].Value, true, ""); err != nil {
			return err
		}
	}
	return nil
}

// semaphore looks a semaphore of a batch up. A timeline semaphore needs hasValue, as rule says.
func (s *submission) semaphore(h vk.Semaphore, hasValue bool, rule string) (*semaphore, error) {
	sem := semaphores.Get(uint64(h))
	if sem == nil || sem.device != s.queue.device {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+s.command+"-commonparent", "semaphore %#x does not live on the queue's device", uint64(h))
	}
	if sem.timeline && !hasValue {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, rule, "timeline semaphore %#x has no value in VkTimelineSemaphoreSubmitInfo", uint64(h))
	}
	return sem, nil
}

func (s *submission) wait(h vk.Semaphore, value uint64, hasValue bool, rule string) error {
	sem, err := s.semaphore(h, hasValue, rule)
	if err != nil {
		return err
	}
	s.Wait(sem.takeWait(), value)
	return nil
}

func (s *submission) signal(h vk.Semaphore, value uint64, hasValue bool, rule string) error {
	sem, err := s.semaphore(h, hasValue, rule)
	if err != nil {
		return err
	}
	s.Signal(sem.payload(), value)
	return nil
}

func (s *submission) execute(h vk.CommandBuffer) error {
	b := commandBuffers.Get(uintptr(h))
	if b == nil || b.pool.device != s.queue.device {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+s.command+"-commonparent", "command buffer %#x does not live on the queue's device", uint64(h))
	}
	if b.pool.family != s.queue.family {
		rule := "VUID-vkQueueSubmit-pCommandBuffers-00074"
		if s.command == "vkQueueSubmit2" {
			rule = "VUID-vkQueueSubmit2-commandBuffer-03878"
		}
		return vk.Errorf(vk.ERROR_UNKNOWN, rule, "command buffer %#x is of queue family %d, the queue of %d", uint64(h), b.pool.family, s.queue.family)
	}
	if err := b.beginPending(s.command); err != nil {
		return err
	}
	s.Execute(b)
	return nil
}

// submit ends the collection and hands it to the queue.
func (s *submission) submit(h vk.Fence) vk.Result {
	if h != 0 {
		f := fences.Get(uint64(h))
		if f == nil || f.device != s.queue.device {
			s.Cancel()
			return staleHandle(s.command, vk.OBJECT_TYPE_FENCE, uint64(h))
		}
		p := f.payload()
		if p.Value() != 0 {
			p.Release()
			s.Cancel()
			return s.queue.fail(s.command, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+s.command+"-fence-00063", "the fence is signalled"))
		}
		s.Signal(p, 1)
		f.queue.Store(s.queue.exec)
	}
	if s.queue.device.lost.Load() {
		s.Cancel()
		return vk.ERROR_DEVICE_LOST
	}
	s.queue.exec.Submit(s.Submission)
	return vk.SUCCESS
}

func queueWaitIdle(h vk.Queue) vk.Result {
	q := queues.Get(uintptr(h))
	if q == nil {
		return staleHandle("vkQueueWaitIdle", vk.OBJECT_TYPE_QUEUE, uint64(h))
	}
	return q.device.waited("vkQueueWaitIdle", q.exec.WaitIdle())
}

func deviceWaitIdle(h vk.Device) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkDeviceWaitIdle", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	list := make([]*exec.Queue, len(d.queues))
	for i, q := range d.queues {
		list[i] = q.exec
	}
	return d.waited("vkDeviceWaitIdle", exec.WaitIdle(list))
}

// executionFailed makes the device lost after what a queue executes failed: the cause is reported first.
func (d *device) executionFailed(b exec.CommandBuffer, err error) {
	objects := []object{{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)}}
	if b, ok := b.(*commandBuffer); ok {
		objects = append(objects, object{vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(b.handle)})
	}
	d.physical.instance.fail("vkQueueSubmit", err, objects...)
	d.lose()
}

// lose makes the device lost: from now on every wait and every submission fails with VK_ERROR_DEVICE_LOST.
func (d *device) lose() {
	d.lost.Store(true)
	_ = d.stop.Signal(1) // a fence payload's signal does not fail
}
