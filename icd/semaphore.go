package icd

import (
	"sync/atomic"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

// maxTimelineSemaphoreValueDifference is no limit: values are compared as they are.
const maxTimelineSemaphoreValueDifference = 1<<64 - 1

// semaphore is a VkSemaphore.
type semaphore struct {
	carrier
	timeline bool
	// highest is the greatest value that a queue waits for or is to signal; only with a
	// maxTimelineSemaphoreValueDifference that limits anything.
	highest atomic.Uint64
}

func createSemaphore(
	d *device, info *vk.SemaphoreCreateInfo, _ *vk.AllocationCallbacks, out *vk.Semaphore,
) vk.Result {
	s, err := d.newSemaphore(info)
	if err != nil {
		return d.fail("vkCreateSemaphore", err)
	}
	*out = vk.Semaphore(d.add(s))
	return vk.SUCCESS
}

func (d *device) newSemaphore(info *vk.SemaphoreCreateInfo) (*semaphore, error) {
	s := &semaphore{carrier: carrier{child: child{device: d}}}
	kind, initial := syncobj.Binary, uint64(0)
	if t := vk.Find[vk.SemaphoreTypeCreateInfo](info.PNext); t != nil {
		initial = t.InitialValue
		s.timeline = t.SemaphoreType == vk.SEMAPHORE_TYPE_TIMELINE
		switch {
		case s.timeline && !d.allows("timelineSemaphore", vk.VUID_VkSemaphoreTypeCreateInfo_timelineSemaphore_03252):
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSemaphoreTypeCreateInfo_timelineSemaphore_03252,
				"timeline semaphores need the timelineSemaphore feature, which the device was created without")
		case s.timeline:
			kind = syncobj.Timeline
		case t.SemaphoreType != vk.SEMAPHORE_TYPE_BINARY:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSemaphoreTypeCreateInfo_semaphoreType_parameter,
				"%v is no type of semaphore", t.SemaphoreType)
		case initial != 0:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSemaphoreTypeCreateInfo_semaphoreType_03279,
				"a binary semaphore begins at 0, not at %d", initial)
		}
	}
	exported := formNone
	if e := vk.Find[vk.ExportSemaphoreCreateInfo](info.PNext); e != nil && e.HandleTypes != 0 {
		if exported = semaphoreForm(e.HandleTypes, s.timeline); exported == formNone {
			return nil, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkExportSemaphoreCreateInfo_handleTypes_01124,
				"a %v can be exported as OPAQUE_FD, or as SYNC_FD if it is binary, not as %v", kind, e.HandleTypes)
		}
	}
	var err error
	s.permanent, err = d.newPayload(kind, initial, exported)
	return s, err
}

// near holds a value of a timeline semaphore to maxTimelineSemaphoreValueDifference: from its current value, and from
// the outstanding ones. Of those, which lie above the current value, only the greatest counts; others are values that
// the same submission has already.
func (s *semaphore) near(value uint64, rule vk.VUID, others ...uint64) error {
	most := s.device.physical.limits.timeline.MaxTimelineSemaphoreValueDifference
	if !s.timeline || most == maxTimelineSemaphoreValueDifference {
		return nil
	}
	p := s.payload()
	current := p.Value()
	p.Release()
	for _, other := range append(others, current, max(current, s.highest.Load())) {
		if max(value, other)-min(value, other) > most {
			return vk.Errorf(vk.ERROR_UNKNOWN, rule,
				"value %d differs from %d by more than maxTimelineSemaphoreValueDifference, %d", value, other, most)
		}
	}
	return nil
}

// raise notes that a value is outstanding.
func (s *semaphore) raise(value uint64) {
	for {
		was := s.highest.Load()
		if value <= was || s.highest.CompareAndSwap(was, value) {
			return
		}
	}
}

// takeWait returns the payload that a queue's wait is for, with a reference for the caller. A temporary
// import ends with it.
func (s *semaphore) takeWait() *syncobj.Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.current().Retain()
	s.drop()
	return p
}

// host says whether the host's commands may use the semaphore. rule is the one against binary ones.
func (s *semaphore) host(command string, rule vk.VUID) vk.Result {
	if !s.timeline {
		return s.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, rule, "the semaphore is binary, and only a queue can use it"))
	}
	return vk.SUCCESS
}

// release ends the semaphore.
func (s *semaphore) release() {
	if s.pending() {
		s.fail("vkDestroySemaphore", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroySemaphore_semaphore_05149,
			"the semaphore is destroyed before the queue has signalled it"))
	}
	s.carrier.release()
}

func getSemaphoreCounterValue(_ *device, s *semaphore, out *uint64) vk.Result {
	if r := s.host("vkGetSemaphoreCounterValue", vk.VUID_vkGetSemaphoreCounterValue_semaphore_03255); r != vk.SUCCESS {
		return r
	}
	p := s.payload()
	defer p.Release()
	*out = p.Value()
	s.device.hostWaited([]syncobj.Point{{Payload: p, Value: *out}}, true)
	if s.device.lost.Load() {
		return vk.ERROR_DEVICE_LOST
	}
	return vk.SUCCESS
}

// waitSemaphores waits for all semaphores to reach their values, or for any, timeout in nanoseconds.
func waitSemaphores(d *device, info *vk.SemaphoreWaitInfo, timeout uint64) vk.Result {
	var few [4]syncobj.Point
	points := few[:0]
	list, values := vk.Slice(info.PSemaphores, info.SemaphoreCount), vk.Slice(info.PValues, info.SemaphoreCount)
	for i, handle := range list {
		s := live(semaphores, handle)
		if r := s.host("vkWaitSemaphores", vk.VUID_VkSemaphoreWaitInfo_pSemaphores_03256); r != vk.SUCCESS {
			release(points)
			return r
		}
		points = append(points, syncobj.Point{Payload: s.payload(), Value: values[i]})
	}
	return d.wait("vkWaitSemaphores", points, info.Flags&vk.SEMAPHORE_WAIT_ANY_BIT == 0, timeout)
}

func signalSemaphore(_ *device, info *vk.SemaphoreSignalInfo) vk.Result {
	s := live(semaphores, info.Semaphore)
	if r := s.host("vkSignalSemaphore", vk.VUID_VkSemaphoreSignalInfo_semaphore_03257); r != vk.SUCCESS {
		return r
	}
	if err := s.near(info.Value, vk.VUID_VkSemaphoreSignalInfo_value_03260); err != nil {
		return s.fail("vkSignalSemaphore", err)
	}
	p := s.payload()
	defer p.Release()
	s.device.hostSignals(p, info.Value)
	s.device.orderRemote()
	if err := p.Signal(info.Value); err != nil {
		return s.fail("vkSignalSemaphore", err)
	}
	return vk.SUCCESS
}
