package icd

import (
	"testing"

	"farside/internal/vk"
)

func TestPrivateData(t *testing.T) {
	d := syncDevice(t)
	var slots [2]vk.PrivateDataSlot
	for i := range slots {
		info := vk.PrivateDataSlotCreateInfo{SType: vk.STRUCTURE_TYPE_PRIVATE_DATA_SLOT_CREATE_INFO}
		wantResult(t, "vkCreatePrivateDataSlot", commands.CreatePrivateDataSlot(d.handle, &info, nil, &slots[i]), vk.SUCCESS)
	}
	get := func(o object, slot vk.PrivateDataSlot) uint64 {
		v := uint64(99)
		commands.GetPrivateData(d.handle, o.Type, o.Handle, slot, &v)
		return v
	}
	fence := object{vk.OBJECT_TYPE_FENCE, uint64(newTestFence(t, d, 0, 0))}
	device := object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)}
	if v := get(fence, slots[0]); v != 0 {
		t.Errorf("an object that was given nothing has %d", v)
	}
	for i, slot := range slots {
		wantResult(t, "vkSetPrivateData", commands.SetPrivateData(d.handle, fence.Type, fence.Handle, slot, uint64(7+i)),
			vk.SUCCESS)
		wantResult(t, "vkSetPrivateData", commands.SetPrivateData(d.handle, device.Type, device.Handle, slot, uint64(70+i)),
			vk.SUCCESS)
	}
	for i, slot := range slots {
		if v := get(fence, slot); v != uint64(7+i) {
			t.Errorf("slot %d: the fence has %d", i, v)
		}
		if v := get(device, slot); v != uint64(70+i) {
			t.Errorf("slot %d: the device has %d", i, v)
		}
	}
	// What was attached goes with the object.
	commands.DestroyFence(d.handle, vk.Fence(fence.Handle), nil)
	if v := get(fence, slots[0]); v != 0 {
		t.Errorf("a destroyed fence still has %d", v)
	}
	commands.DestroyPrivateDataSlot(d.handle, slots[0], nil)
	wantReports(t, "so far")
	wantResult(t, "a destroyed slot", commands.SetPrivateData(d.handle, device.Type, device.Handle, slots[0], 1),
		vk.ERROR_UNKNOWN)
	if v := get(device, slots[0]); v != 0 {
		t.Errorf("a destroyed slot holds %d", v)
	}
	if v := get(device, slots[1]); v != 71 {
		t.Errorf("the other slot holds %d", v)
	}
	takeInbox()
	commands.DestroyPrivateDataSlot(d.handle, slots[1], nil)
	commands.DestroyPrivateDataSlot(d.handle, 0, nil)
	wantReports(t, "destroying")
}

func TestNoToolsAreListed(t *testing.T) {
	i := testInstance(t, nil)
	count := uint32(3)
	wantResult(t, "vkGetPhysicalDeviceToolProperties",
		commands.GetPhysicalDeviceToolProperties(i.devices[0].handle, &count, nil), vk.SUCCESS)
	if count != 0 {
		t.Errorf("%d tools", count)
	}
}
