package icd

import (
	"errors"

	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/vk"
)

// submission collects one vkQueueSubmit or vkQueueSubmit2.
type submission struct {
	queue            *queue
	rules            *submitRules
	*exec.Submission // nil once it is the queue's
	outstanding      []outstanding
}

// outstanding is a value that a submission waits for or signals.
type outstanding struct {
	semaphore *semaphore
	value     uint64
}

// submitRules are the rules that a submission can break, as vkQueueSubmit and vkQueueSubmit2 name them.
type submitRules struct {
	command                                                                          string
	family, level, state, simultaneous, secondaryState, secondarySimultaneous, fence vk.VUID
	waitsNear, signalsNear                                                           vk.VUID
}

var (
	submitRules1 = submitRules{
		command:               "vkQueueSubmit",
		family:                vk.VUID_vkQueueSubmit_pCommandBuffers_00074,
		level:                 vk.VUID_VkSubmitInfo_pCommandBuffers_00075,
		state:                 vk.VUID_vkQueueSubmit_pCommandBuffers_00070,
		simultaneous:          vk.VUID_vkQueueSubmit_pCommandBuffers_00071,
		secondaryState:        vk.VUID_vkQueueSubmit_pCommandBuffers_00072,
		secondarySimultaneous: vk.VUID_vkQueueSubmit_pCommandBuffers_00073,
		fence:                 vk.VUID_vkQueueSubmit_fence_00063,
		waitsNear:             vk.VUID_VkSubmitInfo_pWaitSemaphores_03243,
		signalsNear:           vk.VUID_VkSubmitInfo_pSignalSemaphores_03244,
	}
	submitRules2 = submitRules{
		command:               "vkQueueSubmit2",
		family:                vk.VUID_vkQueueSubmit2_commandBuffer_03878,
		level:                 vk.VUID_VkCommandBufferSubmitInfo_commandBuffer_03890,
		state:                 vk.VUID_vkQueueSubmit2_commandBuffer_03874,
		simultaneous:          vk.VUID_vkQueueSubmit2_commandBuffer_03875,
		secondaryState:        vk.VUID_vkQueueSubmit2_commandBuffer_03876,
		secondarySimultaneous: vk.VUID_vkQueueSubmit2_commandBuffer_03877,
		fence:                 vk.VUID_vkQueueSubmit2_fence_04894,
		waitsNear:             vk.VUID_VkSubmitInfo2_semaphore_03884,
		signalsNear:           vk.VUID_VkSubmitInfo2_semaphore_03883,
	}
)

func queueSubmit(q *queue, count uint32, submits *vk.SubmitInfo, fence *fence) vk.Result {
	s := submission{queue: q, rules: &submitRules1, Submission: exec.NewSubmission()}
	defer s.cancel()
	list := vk.Slice(submits, count)
	for i := range list {
		if err := s.batch(&list[i]); err != nil {
			return q.fail(s.rules.command, err)
		}
	}
	return s.submit(fence)
}

func queueSubmit2(q *queue, count uint32, submits *vk.SubmitInfo2, fence *fence) vk.Result {
	s := submission{queue: q, rules: &submitRules2, Submission: exec.NewSubmission()}
	defer s.cancel()
	list := vk.Slice(submits, count)
	for i := range list {
		if err := s.batch2(&list[i]); err != nil {
			return q.fail(s.rules.command, err)
		}
	}
	return s.submit(fence)
}

func queueBindSparse(q *queue, _ uint32, _ *vk.BindSparseInfo, _ *fence) vk.Result {
	return q.fail("vkQueueBindSparse", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkQueueBindSparse_queuetype,
		"queue family %d has no sparse binding", q.family))
}

// batch adds a VkSubmitInfo. Stage masks are not looked at: a batch waits before its first command.
func (s *submission) batch(info *vk.SubmitInfo) error {
	waits := vk.Slice(info.PWaitSemaphores, info.WaitSemaphoreCount)
	signals := vk.Slice(info.PSignalSemaphores, info.SignalSemaphoreCount)
	var waitValues, signalValues []uint64
	waitRule, signalRule := vk.VUID_VkSubmitInfo_pWaitSemaphores_03239, vk.VUID_VkSubmitInfo_pWaitSemaphores_03239
	if t := vk.Find[vk.TimelineSemaphoreSubmitInfo](info.PNext); t != nil {
		waitRule, signalRule = vk.VUID_VkSubmitInfo_pNext_03240, vk.VUID_VkSubmitInfo_pNext_03241
		waitValues = vk.Slice(t.PWaitSemaphoreValues, t.WaitSemaphoreValueCount)
		signalValues = vk.Slice(t.PSignalSemaphoreValues, t.SignalSemaphoreValueCount)
	}
	var masks []uint32
	if info.PNext != nil {
		var err error
		if masks, err = s.groupMasks(info); err != nil {
			return err
		}
	}
	for i, h := range waits {
		if err := s.wait(h, value(waitValues, i), len(waitValues) == len(waits), waitRule); err != nil {
			return err
		}
	}
	for i, h := range vk.Slice(info.PCommandBuffers, info.CommandBufferCount) {
		mask := uint32(1) // "If this structure is not present, […] command buffers execute on device index zero"
		if masks != nil {
			mask = masks[i]
		}
		if err := s.execute(h, mask); err != nil {
			return err
		}
	}
	for i, h := range signals {
		if err := s.signal(h, value(signalValues, i), len(signalValues) == len(signals), signalRule); err != nil {
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
		if err := s.checkIndex(&waits[i]); err != nil {
			return err
		}
		if err := s.wait(waits[i].Semaphore, waits[i].Value, true, vk.NoVUID); err != nil {
			return err
		}
	}
	buffers := vk.Slice(info.PCommandBufferInfos, info.CommandBufferInfoCount)
	for i := range buffers {
		mask, err := s.maskOf(&buffers[i])
		if err != nil {
			return err
		}
		if err := s.execute(buffers[i].CommandBuffer, mask); err != nil {
			return err
		}
	}
	signals := vk.Slice(info.PSignalSemaphoreInfos, info.SignalSemaphoreInfoCount)
	for i := range signals {
		if err := s.checkIndex(&signals[i]); err != nil {
			return err
		}
		if err := s.signal(signals[i].Semaphore, signals[i].Value, true, vk.NoVUID); err != nil {
			return err
		}
	}
	return nil
}

// semaphore returns a semaphore of a batch. A timeline semaphore needs hasValue, as rule says.
func (s *submission) semaphore(h vk.Semaphore, hasValue bool, rule vk.VUID) (*semaphore, error) {
	sem := live(semaphores, h)
	if sem.timeline && !hasValue {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, rule,
			"timeline semaphore %#x has no value in VkTimelineSemaphoreSubmitInfo", sem.handle)
	}
	return sem, nil
}

// near holds a value to maxTimelineSemaphoreValueDifference, where that limits anything.
func (s *submission) near(sem *semaphore, value uint64, rule vk.VUID) error {
	if !sem.timeline || s.queue.device.physical.limits.timeline.MaxTimelineSemaphoreValueDifference ==
		maxTimelineSemaphoreValueDifference {
		return nil
	}
	var others []uint64
	for _, o := range s.outstanding {
		if o.semaphore == sem {
			others = append(others, o.value)
		}
	}
	s.outstanding = append(s.outstanding, outstanding{sem, value})
	return sem.near(value, rule, others...)
}

func (s *submission) wait(h vk.Semaphore, value uint64, hasValue bool, rule vk.VUID) error {
	sem, err := s.semaphore(h, hasValue, rule)
	if err != nil {
		return err
	}
	if err := s.near(sem, value, s.rules.waitsNear); err != nil {
		return err
	}
	s.Wait(sem.takeWait(), value)
	return nil
}

func (s *submission) signal(h vk.Semaphore, value uint64, hasValue bool, rule vk.VUID) error {
	sem, err := s.semaphore(h, hasValue, rule)
	if err != nil {
		return err
	}
	if err := s.near(sem, value, s.rules.signalsNear); err != nil {
		return err
	}
	s.Signal(sem.payload(), value)
	return nil
}

func (s *submission) execute(h vk.CommandBuffer, mask uint32) error {
	b := live(commandBuffers, h)
	if b.pool.family != s.queue.family {
		return vk.Errorf(vk.ERROR_UNKNOWN, s.rules.family,
			"command buffer %#x is of queue family %d, the queue of %d", uint64(h), b.pool.family, s.queue.family)
	}
	if err := b.beginPending(s.rules); err != nil {
		return err
	}
	s.ExecuteOn(b, mask)
	return nil
}

// cancel gives back what was collected, unless the queue has it.
func (s *submission) cancel() {
	if s.Submission != nil {
		s.Cancel()
	}
}

// submit ends the collection with the fence, if there is one, and hands it to the queue.
func (s *submission) submit(f *fence) vk.Result {
	if f != nil {
		p := f.payload()
		if p.Value() != 0 {
			p.Release()
			return s.queue.fail(s.rules.command, vk.Errorf(vk.ERROR_UNKNOWN, s.rules.fence, "the fence is signalled"))
		}
		s.Signal(p, 1)
		f.queue.Store(s.queue.exec)
	}
	if s.queue.device.lost.Load() {
		return vk.ERROR_DEVICE_LOST
	}
	if s.queue.device.strict(config.StrictAsync) {
		s.Note = s.queue.device.shots()
	}
	s.queue.device.orderRemote()
	for _, o := range s.outstanding {
		o.semaphore.raise(o.value)
	}
	s.queue.exec.Submit(s.Submission)
	s.Submission = nil
	return vk.SUCCESS
}

func queueWaitIdle(q *queue) vk.Result {
	return q.device.waited("vkQueueWaitIdle", q.exec.WaitIdle())
}

func deviceWaitIdle(d *device) vk.Result {
	list := make([]*exec.Queue, len(d.queues))
	for i, q := range d.queues {
		list[i] = q.exec
	}
	return d.waited("vkDeviceWaitIdle", exec.WaitIdle(list))
}

// executionFailed makes the device lost after what a queue executes failed: the cause is reported first.
// A fault on command has been told already.
func (d *device) executionFailed(b exec.CommandBuffer, err error) {
	if errors.Is(err, errInjected) {
		d.lose()
		return
	}
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
