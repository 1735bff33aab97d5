package icd

import (
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"

	"farside/internal/config"
	"farside/internal/vk"
)

// newGroupTest makes a device of both physical devices of the profile "group".
func newGroupTest(t testing.TB) *queueTest {
	t.Helper()
	captureLog(t, config.LevelOff)
	t.Setenv(config.Profile, "group")
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	takeInbox()
	return groupDevice(t, i, 0, 1)
}

// groupDevice makes a device of physical devices by their numbers.
func groupDevice(t testing.TB, i *instance, numbers ...int) *queueTest {
	t.Helper()
	var h vk.Device
	if r := createGroup(i, 0, &h, numbers...); r != vk.SUCCESS {
		t.Fatalf("vkCreateDevice: %v", r)
	}
	t.Cleanup(func() { commands.DestroyDevice(h, nil) })
	return &queueTest{t, devices.Get(uintptr(h))}
}

func createGroup(i *instance, from int, out *vk.Device, numbers ...int) vk.Result {
	members := make([]vk.PhysicalDevice, len(numbers))
	for k, n := range numbers {
		members[k] = i.devices[n].handle
	}
	host := vk.PhysicalDeviceHostImageCopyFeatures{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES,
		HostImageCopy: vk.TRUE}
	group := vk.DeviceGroupDeviceCreateInfo{SType: vk.STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO,
		PNext: unsafe.Pointer(&host), PhysicalDeviceCount: uint32(len(members)), PPhysicalDevices: unsafe.SliceData(members)}
	priorities := []float32{1, 1}
	queue := vk.DeviceQueueCreateInfo{QueueCount: 2, PQueuePriorities: &priorities[0]}
	info := vk.DeviceCreateInfo{PNext: unsafe.Pointer(&group), QueueCreateInfoCount: 1, PQueueCreateInfos: &queue}
	return commands.CreateDevice(i.devices[from].handle, &info, nil, out)
}

// allocate makes memory of a type; mask 0 leaves the instances to the driver.
func (q *queueTest) allocate(size uint64, memoryType, mask uint32, chain unsafe.Pointer) (vk.DeviceMemory, vk.Result) {
	flags := vk.MemoryAllocateFlagsInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, PNext: chain,
		DeviceMask: mask}
	if mask != 0 {
		flags.Flags = vk.MEMORY_ALLOCATE_DEVICE_MASK_BIT
	}
	var m vk.DeviceMemory
	r := commands.AllocateMemory(q.d.handle, &vk.MemoryAllocateInfo{PNext: unsafe.Pointer(&flags), AllocationSize: size,
		MemoryTypeIndex: memoryType}, nil, &m)
	return m, r
}

// localBuffer makes a buffer of 4096 bytes for handle types.
func (q *queueTest) localBuffer(types vk.ExternalMemoryHandleTypeFlags) vk.Buffer {
	q.Helper()
	external := vk.ExternalMemoryBufferCreateInfo{SType: vk.STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
		HandleTypes: types}
	info := vk.BufferCreateInfo{PNext: unsafe.Pointer(&external), Size: 4096,
		Usage: vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT | vk.BUFFER_USAGE_STORAGE_BUFFER_BIT}
	var b vk.Buffer
	if r := commands.CreateBuffer(q.d.handle, &info, nil, &b); r != vk.SUCCESS {
		q.Fatal(r)
	}
	return b
}

// bind binds a buffer with device indices.
func (q *queueTest) bind(b vk.Buffer, m vk.DeviceMemory, indices ...uint32) vk.Result {
	group := vk.BindBufferMemoryDeviceGroupInfo{SType: vk.STRUCTURE_TYPE_BIND_BUFFER_MEMORY_DEVICE_GROUP_INFO,
		DeviceIndexCount: uint32(len(indices)), PDeviceIndices: unsafe.SliceData(indices)}
	info := vk.BindBufferMemoryInfo{PNext: unsafe.Pointer(&group), Buffer: b, Memory: m}
	return commands.BindBufferMemory2(q.d.handle, 1, &info)
}

// boundBuffer makes a buffer in memory of a type and of a mask.
func (q *queueTest) boundBuffer(m vk.DeviceMemory, indices ...uint32) vk.Buffer {
	q.Helper()
	b := q.localBuffer(0)
	if r := q.bind(b, m, indices...); r != vk.SUCCESS {
		q.Fatalf("binding: %v, %v", r, rules())
	}
	return b
}

// run records a command buffer, executes it on the devices of a mask, and waits.
func (q *queueTest) run(mask uint32, body func(c vk.CommandBuffer)) vk.Result {
	q.Helper()
	c := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	record1(q, c, func() { body(c) })
	group := vk.DeviceGroupSubmitInfo{SType: vk.STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO, CommandBufferCount: 1,
		PCommandBufferDeviceMasks: &mask}
	if r := submit1(q.d.queues[0], 0, vk.SubmitInfo{PNext: unsafe.Pointer(&group), CommandBufferCount: 1,
		PCommandBuffers: &c}); r != vk.SUCCESS {
		return r
	}
	return commands.DeviceWaitIdle(q.d.handle)
}

// barrier orders all commands of both devices.
func barrier(c vk.CommandBuffer) {
	commands.CmdPipelineBarrier(c, 1<<16, 1<<16, vk.DEPENDENCY_DEVICE_GROUP_BIT, 1, &vk.MemoryBarrier{}, 0, nil, 0, nil)
}

func copyWords(c vk.CommandBuffer, from, to vk.Buffer, at, count uint64) {
	barrier(c)
	commands.CmdCopyBuffer(c, from, to, 1, &vk.BufferCopy{DstOffset: 4 * at, Size: 4 * count})
}

func words(b []byte, n int) (list []uint32) {
	for i := range n {
		list = append(list, binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

func TestGroupIsEnumerated(t *testing.T) {
	q := newGroupTest(t)
	i := q.d.physical.instance
	count := uint32(2)
	groups := make([]vk.PhysicalDeviceGroupProperties, 2)
	if r := commands.EnumeratePhysicalDeviceGroups(i.handle, &count, &groups[0]); r != vk.SUCCESS || count != 1 {
		t.Fatalf("%v, %d groups", r, count)
	}
	if g := &groups[0]; g.PhysicalDeviceCount != 2 || g.PhysicalDevices[0] != i.devices[0].handle ||
		g.PhysicalDevices[1] != i.devices[1].handle || g.SubsetAllocation != vk.TRUE {
		t.Errorf("%+v", groups[0])
	}
	if i.devices[0].pipelineCacheUUID() != i.devices[1].pipelineCacheUUID() ||
		i.devices[0].deviceUUID == i.devices[1].deviceUUID {
		t.Error("the devices differ in more than their identity, or not in that")
	}
	const multi, local = vk.MEMORY_HEAP_MULTI_INSTANCE_BIT, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT
	for n, h := range i.devices[1].profile.Heaps {
		if (h.Flags&multi != 0) != (h.Flags&local != 0) {
			t.Errorf("heap %d is %v", n, h.Flags)
		}
	}
	for _, c := range []struct {
		from    int
		numbers []int
		rule    string
	}{
		{0, []int{0, 0}, "VUID-VkDeviceGroupDeviceCreateInfo-pPhysicalDevices-00375"},
		{0, []int{1}, "VUID-VkDeviceGroupDeviceCreateInfo-physicalDeviceCount-00377"},
	} {
		var h vk.Device
		wantResult(t, c.rule, createGroup(i, c.from, &h, c.numbers...), vk.ERROR_INITIALIZATION_FAILED)
		wantReports(t, c.rule, c.rule)
	}
	one := groupDevice(t, i, 1, 0) // created from the first, which has index 1
	if one.d.members[0] != i.devices[1] || one.d.uuid == q.d.uuid {
		t.Error("the order of the members does not count")
	}
}

func TestNoGroupOfAPair(t *testing.T) {
	t.Setenv(config.Profile, "pair")
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	takeInbox()
	var h vk.Device
	wantResult(t, "a pair", createGroup(i, 0, &h, 0, 1), vk.ERROR_INITIALIZATION_FAILED)
	wantReports(t, "a pair", "VUID-VkDeviceGroupDeviceCreateInfo-pPhysicalDevices-00376")
}

func TestGroupMemory(t *testing.T) {
	q := newGroupTest(t)
	used := func() (list [2]uint64) {
		for k, p := range q.d.physical.group {
			list[k] = p.budget.Usage(0)
		}
		return list
	}
	for _, c := range []struct {
		mask uint32
		want [2]uint64
	}{{0, [2]uint64{5000, 5000}}, {3, [2]uint64{5000, 5000}}, {1, [2]uint64{5000, 0}}, {2, [2]uint64{0, 5000}}} {
		m, r := q.allocate(5000, 5, c.mask, nil)
		wantResult(t, "vkAllocateMemory", r, vk.SUCCESS)
		if used() != c.want {
			t.Errorf("mask %d takes %v bytes of the heaps", c.mask, used())
		}
		var at unsafe.Pointer
		want := vk.SUCCESS
		if c.mask == 0 || c.mask == 3 {
			want = vk.ERROR_MEMORY_MAP_FAILED
		}
		wantResult(t, "vkMapMemory", commands.MapMemory(q.d.handle, m, 0, vk.WHOLE_SIZE, 0, &at), want)
		if want != vk.SUCCESS {
			wantReports(t, "several instances", "VUID-VkMemoryMapInfo-memory-07963")
		}
		commands.FreeMemory(q.d.handle, m, nil)
		if used() != [2]uint64{} {
			t.Errorf("mask %d leaves %v bytes", c.mask, used())
		}
	}
	// One device's heap is full: the other's stays as it was.
	whole, r := q.allocate(q.d.physical.profile.Heaps[0].Size, 0, 2, nil)
	wantResult(t, "a whole heap", r, vk.SUCCESS)
	_, r = q.allocate(5000, 0, 0, nil)
	wantResult(t, "no room on one device", r, vk.ERROR_OUT_OF_DEVICE_MEMORY)
	if used()[0] != 0 {
		t.Errorf("a failed allocation leaves %d bytes", used()[0])
	}
	commands.FreeMemory(q.d.handle, whole, nil)
	takeInbox()
	_, r = q.allocate(64, 0, 4, nil)
	wantResult(t, "a device that is not there", r, vk.ERROR_UNKNOWN)
	wantReports(t, "a device that is not there", "VUID-VkMemoryAllocateFlagsInfo-deviceMask-00675")
	flags := vk.MemoryAllocateFlagsInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		Flags: vk.MEMORY_ALLOCATE_DEVICE_MASK_BIT}
	_, r = q.allocate(64, 0, 0, unsafe.Pointer(&flags))
	wantResult(t, "the first structure counts", r, vk.SUCCESS)
	var m vk.DeviceMemory
	r = commands.AllocateMemory(q.d.handle, &vk.MemoryAllocateInfo{PNext: unsafe.Pointer(&flags), AllocationSize: 64}, nil,
		&m)
	wantResult(t, "no device", r, vk.ERROR_UNKNOWN)
	wantReports(t, "no device", "VUID-VkMemoryAllocateFlagsInfo-deviceMask-00676")
}

func TestPeerMemoryFeatures(t *testing.T) {
	q := newGroupTest(t)
	for _, c := range []struct {
		heap, local, remote uint32
		rule                string
	}{
		{0, 0, 1, ""}, {1, 1, 0, ""},
		{2, 0, 1, "VUID-vkGetDeviceGroupPeerMemoryFeatures-heapIndex-00691"},
		{0, 2, 1, "VUID-vkGetDeviceGroupPeerMemoryFeatures-localDeviceIndex-00692"},
		{0, 0, 2, "VUID-vkGetDeviceGroupPeerMemoryFeatures-remoteDeviceIndex-00693"},
		{0, 1, 1, "VUID-vkGetDeviceGroupPeerMemoryFeatures-localDeviceIndex-00694"},
	} {
		features := vk.PeerMemoryFeatureFlags(77)
		commands.GetDeviceGroupPeerMemoryFeatures(q.d.handle, c.heap, c.local, c.remote, &features)
		if c.rule == "" {
			wantReports(t, "peers")
			if features != 15 {
				t.Errorf("heap %d: %v", c.heap, features)
			}
			continue
		}
		wantReports(t, c.rule, c.rule)
	}
}

func TestGroupBinding(t *testing.T) {
	q := newGroupTest(t)
	m, _ := q.allocate(4096, 0, 2, nil)
	for rule, indices := range map[string][]uint32{
		"VUID-VkBindBufferMemoryDeviceGroupInfo-deviceIndexCount-01606": {0},
		"VUID-VkBindBufferMemoryDeviceGroupInfo-pDeviceIndices-01607":   {1, 2},
		"VUID-VkBindBufferMemoryInfo-pNext-01605":                       {1, 0},
	} {
		wantResult(t, rule, q.bind(q.localBuffer(0), m, indices...), vk.ERROR_UNKNOWN)
		wantReports(t, rule, rule)
	}
	// Nothing lies on the first device, which says so when it is used there.
	b := q.boundBuffer(m)
	wantResult(t, "on the second", q.run(2, func(c vk.CommandBuffer) { commands.CmdFillBuffer(c, b, 0, 4, 1) }),
		vk.SUCCESS)
	wantResult(t, "on the first", q.run(1, func(c vk.CommandBuffer) { commands.CmdFillBuffer(c, b, 0, 4, 1) }),
		vk.ERROR_DEVICE_LOST)
}

// Each physical device executes the commands of its mask on its own instance, and reaches its peer's.
func TestGroupExecutes(t *testing.T) {
	q := newGroupTest(t)
	m, r := q.allocate(4096, 0, 0, nil)
	wantResult(t, "vkAllocateMemory", r, vk.SUCCESS)
	own, peer := q.boundBuffer(m), q.boundBuffer(m, 1, 0)
	host, seen := q.buffer()
	clear(seen)
	wantResult(t, "vkQueueSubmit", q.run(3, func(c vk.CommandBuffer) {
		commands.CmdFillBuffer(c, own, 0, 4096, 5)
		barrier(c)
		commands.CmdSetDeviceMask(c, 1)
		commands.CmdFillBuffer(c, own, 0, 4, 10)
		commands.CmdSetDeviceMask(c, 2)
		commands.CmdFillBuffer(c, own, 0, 4, 20)
		copyWords(c, own, host, 2, 2)
		copyWords(c, peer, host, 4, 2)
		commands.CmdSetDeviceMask(c, 1)
		copyWords(c, own, host, 0, 2)
		copyWords(c, peer, host, 6, 2)
		// The second writes to the first's memory, and the first sees it behind.
		barrier(c)
		commands.CmdSetDeviceMask(c, 2)
		commands.CmdFillBuffer(c, peer, 8, 4, 30)
		commands.CmdSetDeviceMask(c, 3)
		barrier(c)
		commands.CmdSetDeviceMask(c, 1)
		copyWords(c, own, host, 8, 3)
	}), vk.SUCCESS)
	if got, want := words(seen, 11), []uint32{10, 5, 20, 5, 10, 5, 20, 5, 10, 5, 30}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Both masks count, that of the submission and that of the command buffer.
	clear(seen)
	wantResult(t, "vkQueueSubmit", q.run(1, func(c vk.CommandBuffer) {
		copyWords(c, own, host, 0, 1)
		commands.CmdSetDeviceMask(c, 2)
		copyWords(c, own, host, 1, 1)
	}), vk.SUCCESS)
	wantResult(t, "no device", q.run(0, func(c vk.CommandBuffer) { copyWords(c, own, host, 2, 1) }), vk.SUCCESS)
	if got, want := words(seen, 3), []uint32{10, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	wantReports(t, "all of it")
}

// A secondary command buffer is executed by those that execute vkCmdExecuteCommands and are in its own mask.
func TestGroupSecondaries(t *testing.T) {
	q := newGroupTest(t)
	m, _ := q.allocate(4096, 0, 0, nil)
	own := q.boundBuffer(m)
	host, seen := q.buffer()
	clear(seen)
	second := q.commands(0, vk.COMMAND_BUFFER_LEVEL_SECONDARY)
	group := vk.DeviceGroupCommandBufferBeginInfo{SType: vk.STRUCTURE_TYPE_DEVICE_GROUP_COMMAND_BUFFER_BEGIN_INFO,
		DeviceMask: 2}
	wantResult(t, "vkBeginCommandBuffer", commands.BeginCommandBuffer(second, &vk.CommandBufferBeginInfo{
		PNext: unsafe.Pointer(&group), PInheritanceInfo: new(vk.CommandBufferInheritanceInfo)}), vk.SUCCESS)
	commands.CmdFillBuffer(second, own, 0, 4, 7)
	commands.CmdSetDeviceMask(second, 3)
	wantReports(t, "more than it began with", "VUID-vkCmdSetDeviceMask-deviceMask-00110")
	wantResult(t, "an invalid one", commands.EndCommandBuffer(second), vk.ERROR_UNKNOWN)
	takeInbox()
	wantResult(t, "vkBeginCommandBuffer", commands.BeginCommandBuffer(second, &vk.CommandBufferBeginInfo{
		Flags: vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
		PNext: unsafe.Pointer(&group), PInheritanceInfo: new(vk.CommandBufferInheritanceInfo)}), vk.SUCCESS)
	commands.CmdFillBuffer(second, own, 0, 4, 7)
	wantResult(t, "vkEndCommandBuffer", commands.EndCommandBuffer(second), vk.SUCCESS)
	wantResult(t, "vkQueueSubmit", q.run(3, func(c vk.CommandBuffer) {
		commands.CmdFillBuffer(c, own, 0, 4, 1)
		commands.CmdSetDeviceMask(c, 1)
		commands.CmdExecuteCommands(c, 1, &second) // for nobody
		copyWords(c, own, host, 0, 1)
		commands.CmdSetDeviceMask(c, 2)
		copyWords(c, own, host, 1, 1)
		commands.CmdSetDeviceMask(c, 3)
		commands.CmdExecuteCommands(c, 1, &second)
		commands.CmdSetDeviceMask(c, 1)
		copyWords(c, own, host, 2, 1)
		commands.CmdSetDeviceMask(c, 2)
		copyWords(c, own, host, 3, 1)
	}), vk.SUCCESS)
	if got, want := words(seen, 4), []uint32{1, 1, 1, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestGroupMasksAreChecked(t *testing.T) {
	q := newGroupTest(t)
	c := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	group := vk.DeviceGroupCommandBufferBeginInfo{SType: vk.STRUCTURE_TYPE_DEVICE_GROUP_COMMAND_BUFFER_BEGIN_INFO}
	for mask, rule := range map[uint32]string{4: "VUID-VkDeviceGroupCommandBufferBeginInfo-deviceMask-00106",
		0: "VUID-VkDeviceGroupCommandBufferBeginInfo-deviceMask-00107"} {
		group.DeviceMask = mask
		commands.BeginCommandBuffer(c, &vk.CommandBufferBeginInfo{PNext: unsafe.Pointer(&group)})
		wantReports(t, rule, rule)
	}
	for mask, rule := range map[uint32]string{4: "VUID-vkCmdSetDeviceMask-deviceMask-00108",
		0: "VUID-vkCmdSetDeviceMask-deviceMask-00109"} {
		commands.BeginCommandBuffer(c, &vk.CommandBufferBeginInfo{})
		commands.CmdSetDeviceMask(c, mask)
		wantReports(t, rule, rule)
		commands.ResetCommandBuffer(c, 0)
	}
	record1(t, c, func() {})
	queue := q.d.queues[0]
	semaphore := newTestSemaphore(t, q.d, binaryType, 0, 0)
	two, good, index := uint32(4), uint32(3), uint32(2)
	for rule, info := range map[string]vk.DeviceGroupSubmitInfo{
		"VUID-VkDeviceGroupSubmitInfo-waitSemaphoreCount-00082":   {WaitSemaphoreCount: 1, CommandBufferCount: 1},
		"VUID-VkDeviceGroupSubmitInfo-commandBufferCount-00083":   {SignalSemaphoreCount: 1},
		"VUID-VkDeviceGroupSubmitInfo-signalSemaphoreCount-00084": {CommandBufferCount: 1, PCommandBufferDeviceMasks: &good},
		"VUID-VkDeviceGroupSubmitInfo-pCommandBufferDeviceMasks-00086": {CommandBufferCount: 1,
			PCommandBufferDeviceMasks: &two, SignalSemaphoreCount: 1, PSignalSemaphoreDeviceIndices: new(uint32)},
		"VUID-VkDeviceGroupSubmitInfo-pWaitSemaphoreDeviceIndices-00085": {CommandBufferCount: 1,
			PCommandBufferDeviceMasks: &good, SignalSemaphoreCount: 1, PSignalSemaphoreDeviceIndices: &index},
	} {
		info.SType = vk.STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO
		wantResult(t, rule, submit1(queue, 0, vk.SubmitInfo{PNext: unsafe.Pointer(&info), CommandBufferCount: 1,
			PCommandBuffers: &c, SignalSemaphoreCount: 1, PSignalSemaphores: &semaphore}), vk.ERROR_UNKNOWN)
		wantReports(t, rule, rule)
	}
	list := []vk.CommandBufferSubmitInfo{{CommandBuffer: c, DeviceMask: 4}}
	info := vk.SubmitInfo2{CommandBufferInfoCount: 1, PCommandBufferInfos: &list[0]}
	wantResult(t, "a mask", commands.QueueSubmit2(queue.handle, 1, &info, 0), vk.ERROR_UNKNOWN)
	wantReports(t, "a mask", "VUID-VkCommandBufferSubmitInfo-deviceMask-03891")
	signals := []vk.SemaphoreSubmitInfo{{Semaphore: semaphore, DeviceIndex: 2}}
	wantResult(t, "an index", submit2(queue, 0, nil, nil, signals), vk.ERROR_UNKNOWN)
	wantReports(t, "an index", "VUID-VkSemaphoreSubmitInfo-device-03889")
}
