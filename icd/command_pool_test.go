package icd

import (
	"testing"
	"unsafe"

	"farside/internal/command"
	"farside/internal/vk"
)

// twoFamilies is a device with a queue of each family.
func (r *recordingTest) twoFamilies() *device {
	r.Helper()
	priority := float32(1)
	queues := []vk.DeviceQueueCreateInfo{
		{SType: vk.STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, QueueFamilyIndex: 0, QueueCount: 1, PQueuePriorities: &priority},
		{SType: vk.STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, QueueFamilyIndex: 1, QueueCount: 1, PQueuePriorities: &priority},
	}
	var h vk.Device
	info := vk.DeviceCreateInfo{SType: vk.STRUCTURE_TYPE_DEVICE_CREATE_INFO, QueueCreateInfoCount: 2,
		PQueueCreateInfos: &queues[0]}
	r.result(commands.CreateDevice(r.d.physical.handle, &info, nil, &h), vk.SUCCESS)
	return devices.Get(uintptr(h))
}

func TestCommandPoolMisuse(t *testing.T) {
	r := newRecordingTest(t)
	stale := vk.Device(r.d.handle + 8)
	h := vk.CommandPool(7)
	r.result(commands.CreateCommandPool(stale, &vk.CommandPoolCreateInfo{}, nil, &h), vk.ERROR_UNKNOWN,
		"VUID-vkCreateCommandPool-device-parameter")
	r.result(commands.CreateCommandPool(r.d.handle, &vk.CommandPoolCreateInfo{QueueFamilyIndex: 1}, nil, &h),
		vk.ERROR_UNKNOWN,
		"VUID-vkCreateCommandPool-queueFamilyIndex-01937")
	r.result(commands.CreateCommandPool(r.d.handle, &vk.CommandPoolCreateInfo{Flags: vk.COMMAND_POOL_CREATE_PROTECTED_BIT},
		nil, &h), vk.ERROR_UNKNOWN,
		"VUID-VkCommandPoolCreateInfo-flags-02860")
	if h != 0 {
		t.Errorf("a failed vkCreateCommandPool left %#x", uint64(h))
	}
	commands.DestroyCommandPool(r.d.handle, 0, nil)
	r.reported()

	pool := r.pool(0)
	b := r.allocate(pool, primary)
	commands.FreeCommandBuffers(r.d.handle, pool, 0, nil)
	none := []vk.CommandBuffer{0, b.handle + 8} // VK_NULL_HANDLE is ignored
	commands.FreeCommandBuffers(r.d.handle, pool, 1, &none[0])
	r.reported()
	commands.FreeCommandBuffers(r.d.handle, pool, 2, &none[0])
	r.reported("VUID-vkFreeCommandBuffers-pCommandBuffers-00048")
	another := r.allocate(r.pool(0), primary)
	commands.FreeCommandBuffers(r.d.handle, pool, 1, &another.handle)
	r.reported("VUID-vkFreeCommandBuffers-pCommandBuffers-parent")
	commands.DestroyCommandPool(r.d.handle, pool, nil)
	list := []vk.CommandBuffer{1, 2}
	r.result(commands.AllocateCommandBuffers(r.d.handle,
		&vk.CommandBufferAllocateInfo{CommandPool: pool, CommandBufferCount: 2}, &list[0]),
		vk.ERROR_UNKNOWN, "VUID-VkCommandBufferAllocateInfo-commandPool-parameter")
	if list[0] != 0 || list[1] != 0 {
		t.Errorf("a failed allocation left %v", list)
	}
	r.result(commands.ResetCommandPool(r.d.handle, pool, 0), vk.ERROR_UNKNOWN,
		"VUID-vkResetCommandPool-commandPool-parameter")
	commands.TrimCommandPool(r.d.handle, pool, 0)
	r.reported("VUID-vkTrimCommandPool-commandPool-parameter")
	commands.FreeCommandBuffers(r.d.handle, pool, 1, &list[0])
	r.reported("VUID-vkFreeCommandBuffers-commandPool-parameter")
	commands.DestroyCommandPool(r.d.handle, pool, nil)
	r.reported("VUID-vkDestroyCommandPool-commandPool-parameter")

	// A pool takes its command buffers with it.
	r.result(commands.BeginCommandBuffer(b.handle, &vk.CommandBufferBeginInfo{}), vk.ERROR_UNKNOWN,
		"VUID-vkBeginCommandBuffer-commandBuffer-parameter")
	r.result(commands.EndCommandBuffer(b.handle), vk.ERROR_UNKNOWN, "VUID-vkEndCommandBuffer-commandBuffer-parameter")
	r.result(commands.ResetCommandBuffer(b.handle, 0), vk.ERROR_UNKNOWN,
		"VUID-vkResetCommandBuffer-commandBuffer-parameter")
}

func TestFamiliesAndDevicesDontMix(t *testing.T) {
	r := newRecordingTest(t)
	other := r.twoFamilies()
	pools := make([]vk.CommandPool, 2)
	for family := range pools {
		info := vk.CommandPoolCreateInfo{QueueFamilyIndex: uint32(family), Flags: resettable}
		r.result(commands.CreateCommandPool(other.handle, &info, nil, &pools[family]), vk.SUCCESS)
	}
	p, s := r.allocate(pools[0], primary), r.allocate(pools[1], secondary)
	foreign := r.allocate(r.pool(0), secondary)
	r.recorded(s, 0)
	r.recorded(foreign, 0)
	r.begin(p, 0)
	r.execute(p, s)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-00094")
	r.execute(p, foreign)
	r.reported("VUID-vkCmdExecuteCommands-commonparent")
	for _, pool := range pools {
		commands.DestroyCommandPool(other.handle, pool, nil)
	}
	commands.DestroyDevice(other.handle, nil)
}

func TestDeviceGroupMask(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	group := vk.DeviceGroupCommandBufferBeginInfo{SType: vk.STRUCTURE_TYPE_DEVICE_GROUP_COMMAND_BUFFER_BEGIN_INFO,
		DeviceMask: 2}
	info := vk.CommandBufferBeginInfo{PNext: unsafe.Pointer(&group)}
	r.result(commands.BeginCommandBuffer(b.handle, &info), vk.ERROR_UNKNOWN,
		"VUID-VkDeviceGroupCommandBufferBeginInfo-deviceMask-00106")
	group.DeviceMask = 1
	r.result(commands.BeginCommandBuffer(b.handle, &info), vk.SUCCESS)
	commands.CmdSetDeviceMask(b.handle, 1)
	r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
}

// TestFlatCommandsInGo records by the functions what else the stubs record.
func TestFlatCommandsInGo(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	data := [2]uint32{5, 6}
	value := vk.ClearDepthStencilValue{Depth: .5, Stencil: 7}
	ranges := vk.ImageSubresourceRange{AspectMask: 2, LevelCount: 1, LayerCount: 1}
	r.begin(b, 0)
	commands.CmdUpdateBuffer(b.handle, 1, 4, 8, unsafe.Pointer(&data))
	commands.CmdClearDepthStencilImage(b.handle, 2, 1, &value, 1, &ranges)
	commands.CmdResetQueryPool(b.handle, 3, 4, 5)
	commands.CmdWriteTimestamp(b.handle, 1, 3, 4)
	commands.CmdWriteTimestamp2(b.handle, 1<<40, 3, 5)
	commands.CmdCopyQueryPoolResults(b.handle, 3, 4, 2, 6, 8, 16, vk.QUERY_RESULT_64_BIT)
	r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
	n := 0
	for record := range b.Stream().Records() {
		ok := false
		switch n++; record.Op {
		case command.OpUpdateBuffer:
			c := new(command.UpdateBuffer)
			record.UpdateBuffer(c)
			ok = c.DstBuffer == 1 && c.DstOffset == 4 && len(c.Data) == 8 && c.Data[0] == 5 && c.Data[4] == 6
		case command.OpClearDepthStencilImage:
			c := new(command.ClearDepthStencilImage)
			record.ClearDepthStencilImage(c)
			ok = c.Image == 2 && *c.DepthStencil == value && len(c.Ranges) == 1 && c.Ranges[0] == ranges
		case command.OpResetQueryPool:
			c := new(command.ResetQueryPool)
			record.ResetQueryPool(c)
			ok = *c == command.ResetQueryPool{QueryPool: 3, FirstQuery: 4, QueryCount: 5}
		case command.OpWriteTimestamp:
			c := new(command.WriteTimestamp)
			record.WriteTimestamp(c)
			ok = *c == command.WriteTimestamp{PipelineStage: 1, QueryPool: 3, Query: 4}
		case command.OpWriteTimestamp2:
			c := new(command.WriteTimestamp2)
			record.WriteTimestamp2(c)
			ok = *c == command.WriteTimestamp2{Stage: 1 << 40, QueryPool: 3, Query: 5}
		case command.OpCopyQueryPoolResults:
			c := new(command.CopyQueryPoolResults)
			record.CopyQueryPoolResults(c)
			ok = *c == command.CopyQueryPoolResults{QueryPool: 3, FirstQuery: 4, QueryCount: 2, DstBuffer: 6, DstOffset: 8,
				Stride: 16,
				Flags:  vk.QUERY_RESULT_64_BIT}
		}
		if !ok {
			t.Errorf("%d: a record of %v is wrong", n, record.Op)
		}
	}
	if n != 6 {
		t.Errorf("%d records", n)
	}
}
