package icd

import (
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// event is a VkEvent: set while its payload is signalled.
type event struct {
	child
	payload    *syncobj.Payload
	deviceOnly bool // VK_EVENT_CREATE_DEVICE_ONLY_BIT
	polls      polls
}

func createEvent(d *device, info *vk.EventCreateInfo, _ *vk.AllocationCallbacks, out *vk.Event) vk.Result {
	*out = vk.Event(d.add(&event{
		child: child{device: d}, payload: d.fresh(syncobj.New(syncobj.Fence, 0)),
		deviceOnly: info.Flags&vk.EVENT_CREATE_DEVICE_ONLY_BIT != 0,
	}))
	return vk.SUCCESS
}

func (e *event) release() { e.payload.Release() }

// host says whether the host may use the event. rule is the one against events that are for the device only.
func (e *event) host(command string, rule vk.VUID) vk.Result {
	if e.deviceOnly {
		return e.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, rule, "the event was created for the device only"))
	}
	return vk.SUCCESS
}

func getEventStatus(_ *device, e *event) vk.Result {
	if r := e.host("vkGetEventStatus", vk.VUID_vkGetEventStatus_event_03940); r != vk.SUCCESS {
		return r
	}
	points := [1]syncobj.Point{{Payload: e.payload}}
	set := e.polls.poll(func(timeout uint64) bool {
		return e.device.lost.Load() || syncobj.Wait(points[:], true, timeout, e.device.stop) == nil
	})
	switch {
	case e.device.lost.Load():
		return vk.ERROR_DEVICE_LOST
	case set:
		e.device.hostWaited(points[:], true)
		return vk.EVENT_SET
	}
	return vk.EVENT_RESET
}

func setEvent(_ *device, e *event) vk.Result {
	if r := e.host("vkSetEvent", vk.VUID_vkSetEvent_event_03941); r != vk.SUCCESS {
		return r
	}
	e.device.hostSignals(e.payload, 0)
	if err := e.payload.Signal(1); err != nil {
		return e.fail("vkSetEvent", err)
	}
	return vk.SUCCESS
}

func resetEvent(_ *device, e *event) vk.Result {
	if r := e.host("vkResetEvent", vk.VUID_vkResetEvent_event_03823); r != vk.SUCCESS {
		return r
	}
	e.payload.Reset()
	return vk.SUCCESS
}
