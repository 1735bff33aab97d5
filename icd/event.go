package icd

import (
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// event is a VkEvent: set while its payload is signalled.
type event struct {
	device     *device
	payload    *syncobj.Payload
	deviceOnly bool // VK_EVENT_CREATE_DEVICE_ONLY_BIT
}

func createEvent(h vk.Device, info *vk.EventCreateInfo, _ *vk.AllocationCallbacks, out *vk.Event) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateEvent", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	*out = vk.Event(events.Insert(&event{
		device: d, payload: syncobj.New(syncobj.Fence, 0), deviceOnly: info.Flags&vk.EVENT_CREATE_DEVICE_ONLY_BIT != 0,
	}))
	d.created(vk.OBJECT_TYPE_EVENT, uint64(*out))
	return vk.SUCCESS
}

func destroyEvent(h vk.Device, handle vk.Event, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	e := events.Remove(uint64(handle))
	if e == nil {
		staleHandle("vkDestroyEvent", vk.OBJECT_TYPE_EVENT, uint64(handle))
		return
	}
	e.payload.Release()
	e.device.destroyed(vk.OBJECT_TYPE_EVENT, uint64(handle))
}

// hostEvent looks an event up that the host may use, or says what is wrong. vuid is the rule against events
// that are for the device only.
func hostEvent(command, vuid string, handle vk.Event) (*event, vk.Result) {
	e := events.Get(uint64(handle))
	switch {
	case e == nil:
		return nil, staleHandle(command, vk.OBJECT_TYPE_EVENT, uint64(handle))
	case e.deviceOnly:
		return nil, e.fail(command, handle, vk.Errorf(vk.ERROR_UNKNOWN, vuid, "the event was created for the device only"))
	}
	return e, vk.SUCCESS
}

// fail reports err as the outcome of command on this event.
func (e *event) fail(command string, handle vk.Event, err error) vk.Result {
	return e.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_EVENT, uint64(handle)})
}

func getEventStatus(h vk.Device, handle vk.Event) vk.Result {
	e, r := hostEvent("vkGetEventStatus", "VUID-vkGetEventStatus-event-03940", handle)
	switch {
	case r != vk.SUCCESS:
		return r
	case e.device.lost.Load():
		return vk.ERROR_DEVICE_LOST
	case e.payload.Value() != 0:
		return vk.EVENT_SET
	}
	return vk.EVENT_RESET
}

func setEvent(h vk.Device, handle vk.Event) vk.Result {
	e, r := hostEvent("vkSetEvent", "VUID-vkSetEvent-event-03941", handle)
	if r != vk.SUCCESS {
		return r
	}
	if err := e.payload.Signal(1); err != nil {
		return e.fail("vkSetEvent", handle, err)
	}
	return vk.SUCCESS
}

func resetEvent(h vk.Device, handle vk.Event) vk.Result {
	e, r := hostEvent("vkResetEvent", "VUID-vkResetEvent-event-03823", handle)
	if r != vk.SUCCESS {
		return r
	}
	e.payload.Reset()
	return vk.SUCCESS
}
