package icd

import (
	"sync"
	"sync/atomic"

	"farside/internal/vk"
)

// privateDataSlot is a VkPrivateDataSlot: one number of the application for each of the device's objects.
type privateDataSlot struct {
	child
	data attached // uint64
}

func createPrivateDataSlot(
	d *device, _ *vk.PrivateDataSlotCreateInfo, _ *vk.AllocationCallbacks, out *vk.PrivateDataSlot,
) vk.Result {
	s := &privateDataSlot{child: child{device: d}}
	*out = vk.PrivateDataSlot(d.add(s))
	d.slotted.Store(true)
	d.slots.Store(s, struct{}{})
	return vk.SUCCESS
}

func (s *privateDataSlot) release() { s.device.slots.Delete(s) }

func setPrivateData(_ *device, objectType vk.ObjectType, handle uint64, s *privateDataSlot, data uint64) vk.Result {
	if data == 0 {
		s.data.Delete(object{objectType, handle}) // 0 is what an object has that was never given a value
	} else {
		s.data.Store(object{objectType, handle}, data)
	}
	return vk.SUCCESS
}

func getPrivateData(_ *device, objectType vk.ObjectType, handle uint64, s *privateDataSlot, out *uint64) {
	if v, ok := s.data.Load(object{objectType, handle}); ok {
		*out = v.(uint64)
	}
}

// attached is what the application has attached to objects. An object's end costs next to nothing while there is
// nothing.
type attached struct {
	values sync.Map    // by object
	some   atomic.Bool // a value was stored, at any time
}

// Store attaches a value to o.
func (a *attached) Store(o object, value any) {
	a.some.Store(true)
	a.values.Store(o, value)
}

// Load returns the value of o, if there is one.
func (a *attached) Load(o object) (any, bool) {
	if !a.some.Load() {
		return nil, false
	}
	return a.values.Load(o)
}

// Delete takes the value of o away.
func (a *attached) Delete(o object) {
	if a.some.Load() {
		a.values.Delete(o)
	}
}

// forget drops what the application has attached to an object that is gone: its name and its private data.
func (d *device) forget(o object) {
	d.physical.instance.names.Delete(o)
	if !d.slotted.Load() {
		return
	}
	for s := range d.slots.Range {
		s.(*privateDataSlot).data.Delete(o)
	}
}
