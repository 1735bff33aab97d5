package icd

import (
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// maxTimelineSemaphoreValueDifference is no limit: values are compared as they are.
const maxTimelineSemaphoreValueDifference = 1<<64 - 1

// semaphore is a VkSemaphore.
type semaphore struct {
	carrier
	timeline bool
}

func createSemaphore(h vk.Device, info *vk.SemaphoreCreateInfo, _ *vk.AllocationCallbacks, out *vk.Semaphore) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateSemaphore", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	s, err := d.newSemaphore(info)
	if err != nil {
		return d.fail("vkCreateSemaphore", err)
	}
	*out = vk.Semaphore(semaphores.Insert(s))
	d.created(vk.OBJECT_TYPE_SEMAPHORE, uint64(*out))
	return vk.SUCCESS
}

func (d *device) newSemaphore(info *vk.SemaphoreCreateInfo) (*semaphore, error) {
	s := &semaphore{carrier: carrier{device: d}}
	kind, initial := syncobj.Binary, uint64(0)
	if t := vk.Find[vk.SemaphoreTypeCreateInfo](info.PNext); t != nil {
		initial = t.InitialValue
		s.timeline = t.SemaphoreType == vk.SEMAPHORE_TYPE_TIMELINE
		switch {
		case s.timeline && !d.features["timelineSemaphore"]:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkSemaphoreTypeCreateInfo-timelineSemaphore-03252",
				"timeline semaphores need the timelineSemaphore feature, which the device was created without")
		case s.timeline:
			kind = syncobj.Timeline
		case t.SemaphoreType != vk.SEMAPHORE_TYPE_BINARY:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkSemaphoreTypeCreateInfo-semaphoreType-parameter",
				"%v is no type of semaphore", t.SemaphoreType)
		case initial != 0:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkSemaphoreTypeCreateInfo-semaphoreType-03279",
				"a binary semaphore begins at 0, not at %d", initial)
		}
	}
	exported := formNone
	if e := vk.Find[vk.ExportSemaphoreCreateInfo](info.PNext); e != nil && e.HandleTypes != 0 {
		if exported = semaphoreForm(e.HandleTypes, s.timeline); exported == formNone {
			return nil, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkExportSemaphoreCreateInfo-handleTypes-01124",
				"a %v can be exported as OPAQUE_FD, or as SYNC_FD if it is binary, not as %v", kind, e.HandleTypes)
		}
	}
	var err error
	s.permanent, err = d.newPayload(kind, initial, exported)
	return s, err
}

func destroySemaphore(h vk.Device, handle vk.Semaphore, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	s := semaphores.Remove(uint64(handle))
	if s == nil {
		staleHandle("vkDestroySemaphore", vk.OBJECT_TYPE_SEMAPHORE, uint64(handle))
		return
	}
	if s.pending() {
		s.fail("vkDestroySemaphore", handle, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkDestroySemaphore-semaphore-05149",
			"the semaphore is destroyed before the queue has signalled it"))
	}
	s.release()
	s.device.destroyed(vk.OBJECT_TYPE_SEMAPHORE, uint64(handle))
}

// fail reports err as the outcome of command on this semaphore.
func (s *semaphore) fail(command string, handle vk.Semaphore, err error) vk.Result {
	return s.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_SEMAPHORE, uint64(handle)})
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

// timelineSemaphore looks up what the host's commands on semaphores work on, or says what is wrong.
func timelineSemaphore(command, vuid string, handle vk.Semaphore) (*semaphore, vk.Result) {
	s := semaphores.Get(uint64(handle))
	switch {
	case s == nil:
		return nil, staleHandle(command, vk.OBJECT_TYPE_SEMAPHORE, uint64(handle))
	case !s.timeline:
		return nil, s.fail(command, handle, vk.Errorf(vk.ERROR_UNKNOWN, vuid, "the semaphore is binary, and only a queue can use it"))
	}
	return s, vk.SUCCESS
}

func getSemaphoreCounterValue(h vk.Device, handle vk.Semaphore, out *uint64) vk.Result {
	s, r := timelineSemaphore("vkGetSemaphoreCounterValue", "VUID-vkGetSemaphoreCounterValue-semaphore-03255", handle)
	if r != vk.SUCCESS {
		return r
	}
	p := s.payload()
	defer p.Release()
	*out = p.Value()
	if s.device.lost.Load() {
		return vk.ERROR_DEVICE_LOST
	}
	return vk.SUCCESS
}

// waitSemaphores waits for all semaphores to reach their values, or for any, timeout in nanoseconds.
func waitSemaphores(h vk.Device, info *vk.SemaphoreWaitInfo, timeout uint64) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkWaitSemaphores", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	var few [4]syncobj.Point
	points := few[:0]
	list, values := vk.Slice(info.PSemaphores, info.SemaphoreCount), vk.Slice(info.PValues, info.SemaphoreCount)
	for i, handle := range list {
		s, r := timelineSemaphore("vkWaitSemaphores", "VUID-VkSemaphoreWaitInfo-pSemaphores-03256", handle)
		if r != vk.SUCCESS {
			release(points)
			return r
		}
		points = append(points, syncobj.Point{Payload: s.payload(), Value: values[i]})
	}
	return d.wait("vkWaitSemaphores", points, info.Flags&vk.SEMAPHORE_WAIT_ANY_BIT == 0, timeout)
}

func signalSemaphore(h vk.Device, info *vk.SemaphoreSignalInfo) vk.Result {
	s, r := timelineSemaphore("vkSignalSemaphore", "VUID-VkSemaphoreSignalInfo-semaphore-03257", info.Semaphore)
	if r != vk.SUCCESS {
		return r
	}
	p := s.payload()
	defer p.Release()
	if err := p.Signal(info.Value); err != nil {
		return s.fail("vkSignalSemaphore", info.Semaphore, err)
	}
	return vk.SUCCESS
}
