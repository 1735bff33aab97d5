package icd

import (
	"sync"

	"farside/internal/vk"
)

// privateDataSlot is a VkPrivateDataSlot: one number of the application for each of the device's objects.
type privateDataSlot struct {
	device *device
	data   sync.Map // object to uint64
}

func createPrivateDataSlot(h vk.Device, _ *vk.PrivateDataSlotCreateInfo, _ *vk.AllocationCallbacks, out *vk.PrivateDataSlot) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreatePrivateDataSlot", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	s := &privateDataSlot{device: d}
	*out = vk.PrivateDataSlot(privateDataSlots.Insert(s))
	d.slots.Store(s, struct{}{})
	d.created(vk.OBJECT_TYPE_PRIVATE_DATA_SLOT, uint64(*out))
	return vk.SUCCESS
}

func destroyPrivateDataSlot(h vk.Device, handle vk.PrivateDataSlot, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	s := privateDataSlots.Remove(uint64(handle))
	if s == nil {
		staleHandle("vkDestroyPrivateDataSlot", vk.OBJECT_TYPE_PRIVATE_DATA_SLOT, uint64(handle))
		return
	}
	s.device.slots.Delete(s)
	s.device.destroyed(vk.OBJECT_TYPE_PRIVATE_DATA_SLOT, uint64(handle))
}

func setPrivateData(h vk.Device, objectType vk.ObjectType, handle uint64, slot vk.PrivateDataSlot, data uint64) vk.Result {
	s := privateDataSlots.Get(uint64(slot))
	if s == nil {
		return staleHandle("vkSetPrivateData", vk.OBJECT_TYPE_PRIVATE_DATA_SLOT, uint64(slot))
	}
	if data == 0 {
		s.data.Delete(object{objectType, handle}) // 0 is what an object has that was never given a value
	} else {
		s.data.Store(object{objectType, handle}, data)
	}
	return vk.SUCCESS
}

func getPrivateData(h vk.Device, objectType vk.ObjectType, handle uint64, slot vk.PrivateDataSlot, out *uint64) {
	*out = 0
	s := privateDataSlots.Get(uint64(slot))
	if s == nil {
		staleHandle("vkGetPrivateData", vk.OBJECT_TYPE_PRIVATE_DATA_SLOT, uint64(slot))
		return
	}
	if v, ok := s.data.Load(object{objectType, handle}); ok {
		*out = v.(uint64)
	}
}

// forget drops what the application has attached to an object that is gone: its name and its private data.
func (d *device) forget(o object) {
	d.physical.instance.names.Delete(o)
	for s := range d.slots.Range {
		s.(*privateDataSlot).data.Delete(o)
	}
}
