package icd

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

func TestGroupEventsAndQueries(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		record     func(q *queueTest, c vk.CommandBuffer)
	}{
		{"set", "VUID-vkCmdSetEvent-commandBuffer-01152", func(q *queueTest, c vk.CommandBuffer) {
			commands.CmdSetEvent(c, newTestEvent(t, q.d, 0), 1)
		}},
		{"reset", "VUID-vkCmdResetEvent-commandBuffer-01157", func(q *queueTest, c vk.CommandBuffer) {
			commands.CmdResetEvent(c, newTestEvent(t, q.d, 0), 1)
		}},
		{"wait", "VUID-vkCmdWaitEvents-commandBuffer-01167", func(q *queueTest, c vk.CommandBuffer) {
			e := newTestEvent(t, q.d, 0)
			commands.SetEvent(q.d.handle, e)
			commands.CmdWaitEvents(c, 1, &e, 1, 1, 0, nil, 0, nil, 0, nil)
		}},
		{"timestamp", "", func(q *queueTest, c vk.CommandBuffer) {
			pool := newTestQueryPool(t, q.d, vk.QUERY_TYPE_TIMESTAMP, 1)
			commands.CmdResetQueryPool(c, pool, 0, 1)
			commands.CmdWriteTimestamp(c, 1, pool, 0)
		}},
	} {
		q := newGroupTest(t)
		wantResult(t, c.name+" by one", q.run(3, func(b vk.CommandBuffer) {
			commands.CmdSetDeviceMask(b, 2)
			c.record(q, b)
		}), vk.SUCCESS)
		wantReports(t, c.name+" by one")
		wantResult(t, c.name+" by both", q.run(3, func(b vk.CommandBuffer) { c.record(q, b) }), vk.ERROR_DEVICE_LOST)
		wantReports(t, c.name+" by both", c.rule)
	}
}

func TestDeviceIndexInShader(t *testing.T) {
	c := computeTest{newGroupTest(t)}
	l := c.addLayout()
	p := c.pipeline(pipelineInfo(c.module(compiled(t, `#version 450
#extension GL_EXT_device_group : require
layout(local_size_x = 4) in;
layout(set = 1, binding = 2, std430) buffer Values { uint values[]; };
void main() { values[gl_DeviceIndex * 4 + gl_LocalInvocationIndex] = 10 + gl_DeviceIndex; }`)), l))
	set, seen := c.storage()
	clear(seen)
	wantResult(t, "vkQueueSubmit", c.run(3, func(b vk.CommandBuffer) { c.add(b, p, l, set, 0, 1) }), vk.SUCCESS)
	if got, want := words(seen, 9), []uint32{10, 10, 10, 10, 11, 11, 11, 11, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A base without the pipeline's flag for it breaks a rule, of which the application is told.
func TestDispatchBaseWithoutFlag(t *testing.T) {
	c := newComputeTest(t)
	l := c.addLayout()
	p := c.pipeline(pipelineInfo(c.module(compiled(t, `#version 450
layout(local_size_x = 1) in;
layout(set = 1, binding = 2, std430) buffer Values { uint values[]; };
void main() { values[gl_WorkGroupID.x] = 7; }`)), l))
	set, seen := c.storage()
	clear(seen)
	wantResult(t, "vkQueueSubmit", c.run(1, func(b vk.CommandBuffer) {
		commands.CmdBindPipeline(b, vk.PIPELINE_BIND_POINT_COMPUTE, p)
		commands.CmdBindDescriptorSets(b, vk.PIPELINE_BIND_POINT_COMPUTE, l, 1, 1, &set, 0, nil)
		commands.CmdDispatchBase(b, 2, 0, 0, 1, 1, 1)
	}), vk.SUCCESS)
	wantReports(t, "a base", "VUID-vkCmdDispatchBase-baseGroupX-00427")
	if got, want := words(seen, 3), []uint32{0, 0, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestNoAddressesInGroup(t *testing.T) {
	q := newGroupTest(t)
	m, _ := q.allocate(4096, 0, 0, nil)
	b := q.boundBuffer(m)
	info := vk.BufferDeviceAddressInfo{SType: vk.STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, Buffer: b}
	if at := commands.GetBufferDeviceAddress(q.d.handle, &info); at != 0 {
		t.Errorf("%#x", at)
	}
	if got := rules(); !slices.Contains(got, "VUID-vkGetBufferDeviceAddress-device-03325") {
		t.Errorf("%q", got)
	}
}

// A descriptor of memory with several instances has all of them, for devices of the same physical devices and mask.
func TestGroupExternalMemory(t *testing.T) {
	const opaque = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	q := newGroupTest(t)
	i := q.d.physical.instance
	exported := vk.ExportMemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, HandleTypes: opaque}
	m, r := q.allocate(4096, 0, 3, unsafe.Pointer(&exported))
	wantResult(t, "vkAllocateMemory", r, vk.SUCCESS)
	bind := func(q *queueTest, m vk.DeviceMemory) vk.Buffer {
		b := q.localBuffer(opaque)
		wantResult(t, "binding", q.bind(b, m), vk.SUCCESS)
		return b
	}
	own := bind(q, m)
	q.run(1, func(c vk.CommandBuffer) { commands.CmdFillBuffer(c, own, 0, 4, 1) })
	wantResult(t, "filling", q.run(2, func(c vk.CommandBuffer) {
		commands.CmdSetDeviceMask(c, 2)
		commands.CmdFillBuffer(c, own, 0, 4, 2)
	}), vk.SUCCESS)
	descriptor := func() int32 {
		var fd int32
		wantResult(t, "vkGetMemoryFdKHR", commands.GetMemoryFdKHR(q.d.handle, &vk.MemoryGetFdInfoKHR{
			Memory: m, HandleType: opaque}, &fd), vk.SUCCESS)
		return fd
	}
	take := func(q *queueTest, mask uint32) (vk.DeviceMemory, vk.Result) {
		fd := descriptor()
		taken := vk.ImportMemoryFdInfoKHR{SType: vk.STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, HandleType: opaque, Fd: fd}
		imported, r := q.allocate(4096, 0, mask, unsafe.Pointer(&taken))
		if r != vk.SUCCESS {
			unix.Close(int(fd))
		}
		return imported, r
	}
	same := groupDevice(t, i, 0, 1)
	imported, r := take(same, 0)
	wantResult(t, "an import", r, vk.SUCCESS)
	theirs := bind(same, imported)
	host, seen := same.buffer()
	clear(seen)
	wantResult(t, "reading", same.run(3, func(c vk.CommandBuffer) {
		commands.CmdSetDeviceMask(c, 1)
		copyWords(c, theirs, host, 0, 1)
		commands.CmdSetDeviceMask(c, 2)
		copyWords(c, theirs, host, 1, 1)
	}), vk.SUCCESS)
	if got := words(seen, 2); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("the instances have %v", got)
	}
	wantReports(t, "what is right")
	for _, c := range []struct {
		numbers []int
		mask    uint32
		rule    string
	}{
		{[]int{0, 1}, 1, "VUID-VkMemoryAllocateInfo-None-00643"},
		{[]int{1, 0}, 3, "VUID-VkMemoryAllocateInfo-None-00644"},
		{[]int{0}, 1, "VUID-VkMemoryAllocateInfo-None-00644"},
	} {
		_, r := take(groupDevice(t, i, c.numbers...), c.mask)
		wantResult(t, c.rule, r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
		wantReports(t, c.rule, c.rule)
	}
	// Handles of one piece of memory need a heap of one instance.
	remote := vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV)
	if types := q.d.typesFor(remote); types&3 != 0 {
		t.Errorf("types %#b for remote addresses", types)
	}
	exported.HandleTypes = remote
	_, r = q.allocate(4096, 1, 0, unsafe.Pointer(&exported))
	wantResult(t, "a remote address of two instances", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
	wantReports(t, "a remote address", "VUID-VkExportMemoryAllocateInfo-handleTypes-09860")
}

// pieces makes an image of 256 x 200 texels whose left half lies on the first device, and whose right half on the
// second.
func (q *queueTest) pieces(t *testing.T, flags vk.ImageCreateFlags) (vk.Image, vk.DeviceMemory) {
	info := plainImage()
	info.Flags, info.Tiling, info.Extent = flags, vk.IMAGE_TILING_OPTIMAL, vk.Extent3D{Width: 256, Height: 200, Depth: 1}
	info.Usage |= vk.IMAGE_USAGE_HOST_TRANSFER_BIT
	h := newTestImage(t, q.d, &info)
	m, r := q.allocate(images.Get(uint64(h)).size, 0, 0, nil)
	wantResult(t, "vkAllocateMemory", r, vk.SUCCESS)
	return h, m
}

func bindPieces(q *queueTest, h vk.Image, m vk.DeviceMemory, indices []uint32, rects ...vk.Rect2D) vk.Result {
	group := vk.BindImageMemoryDeviceGroupInfo{SType: vk.STRUCTURE_TYPE_BIND_IMAGE_MEMORY_DEVICE_GROUP_INFO,
		DeviceIndexCount: uint32(len(indices)), PDeviceIndices: unsafe.SliceData(indices),
		SplitInstanceBindRegionCount: uint32(len(rects)), PSplitInstanceBindRegions: unsafe.SliceData(rects)}
	return commands.BindImageMemory2(q.d.handle, 1,
		&vk.BindImageMemoryInfo{PNext: unsafe.Pointer(&group), Image: h, Memory: m})
}

func rect(x, y int32, width, height uint32) vk.Rect2D {
	return vk.Rect2D{Offset: vk.Offset2D{X: x, Y: y}, Extent: vk.Extent2D{Width: width, Height: height}}
}

const splitFlag = vk.IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT | vk.IMAGE_CREATE_ALIAS_BIT

func TestImageInPieces(t *testing.T) {
	q := newGroupTest(t)
	h, m := q.pieces(t, splitFlag)
	left, right := rect(0, 0, 128, 200), rect(128, 0, 128, 200)
	wantResult(t, "binding", bindPieces(q, h, m, nil, left, right, left, right), vk.SUCCESS)
	// Each of these lies on one device: it sees what there is of the other image.
	plain, _ := q.pieces(t, splitFlag)
	wantResult(t, "binding", bindPieces(q, plain, m, []uint32{0, 1}), vk.SUCCESS)
	host, seen := q.buffer()
	clear(seen)
	all := vk.ImageSubresourceRange{AspectMask: 1, LevelCount: 1, LayerCount: 1}
	texel := func(c vk.CommandBuffer, img vk.Image, x int32, at uint64) {
		barrier(c)
		commands.CmdCopyImageToBuffer(c, img, vk.IMAGE_LAYOUT_GENERAL, host, 1, &vk.BufferImageCopy{BufferOffset: 4 * at,
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: 1, LayerCount: 1},
			ImageOffset:      vk.Offset3D{X: x, Y: 150}, ImageExtent: vk.Extent3D{Width: 1, Height: 1, Depth: 1}})
	}
	zero, one := vk.ClearColorValue{}, vk.ClearColorValue{}
	for k := range 4 {
		*(*float32)(unsafe.Pointer(&(*[16]byte)(unsafe.Pointer(&one))[4*k])) = 1
	}
	wantResult(t, "vkQueueSubmit", q.run(3, func(c vk.CommandBuffer) {
		commands.CmdClearColorImage(c, plain, vk.IMAGE_LAYOUT_GENERAL, &zero, 1, &all)
		barrier(c)
		commands.CmdSetDeviceMask(c, 2)
		commands.CmdClearColorImage(c, h, vk.IMAGE_LAYOUT_GENERAL, &one, 1, &all) // by the second, in both memories
		commands.CmdSetDeviceMask(c, 1)
		texel(c, h, 5, 0)
		texel(c, h, 200, 1)
		texel(c, plain, 5, 2)
		texel(c, plain, 200, 3)
		commands.CmdSetDeviceMask(c, 2)
		texel(c, plain, 5, 4)
		texel(c, plain, 200, 5)
	}), vk.SUCCESS)
	const set = 0xffffffff
	if got, want := words(seen, 6), []uint32{set, set, set, 0, 0, set}; !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	// The host writes to all pieces, and reads from them.
	row := bytes.Repeat([]byte{0x5a}, 256*4)
	area := vk.ImageSubresourceLayers{AspectMask: 1, LayerCount: 1}
	wantResult(t, "vkCopyMemoryToImage", toImage(h, 0, vk.MemoryToImageCopy{PHostPointer: unsafe.Pointer(&row[0]),
		ImageSubresource: area, ImageOffset: vk.Offset3D{Y: 150}, ImageExtent: vk.Extent3D{Width: 256, Height: 1, Depth: 1}}),
		vk.SUCCESS)
	got := make([]byte, len(row))
	wantResult(t, "vkCopyImageToMemory", toMemory(h, 0, vk.ImageToMemoryCopy{PHostPointer: unsafe.Pointer(&got[0]),
		ImageSubresource: area, ImageOffset: vk.Offset3D{Y: 150}, ImageExtent: vk.Extent3D{Width: 256, Height: 1, Depth: 1}}),
		vk.SUCCESS)
	if !bytes.Equal(row, got) {
		t.Error("the host reads other texels than it wrote")
	}
	wantResult(t, "vkQueueSubmit", q.run(3, func(c vk.CommandBuffer) {
		commands.CmdSetDeviceMask(c, 1)
		texel(c, plain, 200, 0)
		commands.CmdSetDeviceMask(c, 2)
		texel(c, plain, 200, 1)
	}), vk.SUCCESS)
	if got, want := words(seen, 2), []uint32{0, 0x5a5a5a5a}; !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	wantReports(t, "all of it")
}

func TestPiecesAreChecked(t *testing.T) {
	q := newGroupTest(t)
	left, right := rect(0, 0, 128, 200), rect(128, 0, 128, 200)
	whole, none := rect(0, 0, 256, 200), vk.Rect2D{}
	const info, group = "VUID-VkBindImageMemoryInfo-pNext-", "VUID-VkBindImageMemoryDeviceGroupInfo-"
	for _, c := range []struct {
		rule    string
		flags   vk.ImageCreateFlags
		indices []uint32
		rects   []vk.Rect2D
	}{
		{info + "01627", 0, nil, []vk.Rect2D{whole, none, none, whole}},
		{info + "01628", splitFlag, nil, []vk.Rect2D{left, rect(128, 0, 256, 200), none, whole}},
		{info + "01628", splitFlag, nil, []vk.Rect2D{left, rect(-128, 0, 128, 200), none, whole}},
		{info + "01629", splitFlag, nil, []vk.Rect2D{left, none, none, whole}},
		{group + "deviceIndexCount-01633", splitFlag, []uint32{0, 1}, []vk.Rect2D{left, right, left, right}},
		{group + "deviceIndexCount-01634", splitFlag, []uint32{0}, nil},
		{group + "pDeviceIndices-01635", splitFlag, []uint32{0, 2}, nil},
		{group + "splitInstanceBindRegionCount-01636", splitFlag, nil, []vk.Rect2D{left, right}},
		{group + "pSplitInstanceBindRegions-01637", splitFlag, nil, []vk.Rect2D{left, whole, none, whole}},
		{group + "offset-01638", splitFlag, nil, []vk.Rect2D{left, rect(100, 0, 128, 128), none, whole}},
		{group + "offset-01639", splitFlag, nil, []vk.Rect2D{left, rect(128, 100, 128, 100), none, whole}},
		{group + "extent-01640", splitFlag, nil, []vk.Rect2D{rect(0, 0, 100, 200), right, none, whole}},
		{group + "extent-01641", splitFlag, nil, []vk.Rect2D{rect(0, 0, 128, 100), right, none, whole}},
	} {
		h, m := q.pieces(t, c.flags)
		if r := bindPieces(q, h, m, c.indices, c.rects...); r == vk.SUCCESS {
			t.Errorf("%s: bound", c.rule)
		}
		wantReports(t, c.rule, c.rule)
	}
	h, _ := q.pieces(t, splitFlag)
	half, _ := q.allocate(images.Get(uint64(h)).size, 0, 1, nil)
	if r := bindPieces(q, h, half, []uint32{0, 1}); r == vk.SUCCESS {
		t.Error("bound to an instance that was not allocated")
	}
	wantReports(t, "an instance that was not allocated", info+"01626")
	image := plainImage()
	image.Flags = splitFlag
	var out vk.Image
	commands.CreateImage(q.d.handle, &image, nil, &out)
	wantReports(t, "a linear one", "VUID-VkImageCreateInfo-flags-02259")
	image.Tiling = vk.IMAGE_TILING_OPTIMAL
	commands.CreateImage(groupDevice(t, q.d.physical.instance, 0).d.handle, &image, nil, &out)
	wantReports(t, "on one device", "VUID-VkImageCreateInfo-physicalDeviceCount-01421")
	var properties vk.ImageFormatProperties
	for format, want := range map[vk.Format]vk.Result{vk.FORMAT_R8G8B8A8_UNORM: vk.SUCCESS,
		vk.FORMAT_R32G32B32_SFLOAT: vk.ERROR_FORMAT_NOT_SUPPORTED, vk.FORMAT_D32_SFLOAT: vk.ERROR_FORMAT_NOT_SUPPORTED} {
		r := commands.GetPhysicalDeviceImageFormatProperties(q.d.physical.handle, format, vk.IMAGE_TYPE_2D,
			vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_USAGE_TRANSFER_DST_BIT, splitFlag, &properties)
		wantResult(t, format.String(), r, want)
		if r == vk.SUCCESS && (properties.MaxMipLevels != 1 || properties.MaxArrayLayers != 1 ||
			properties.SampleCounts != 1) {
			t.Errorf("%+v", properties)
		}
	}
}

// Strictness knows the instances apart.
func TestGroupWithStrictness(t *testing.T) {
	t.Setenv("FARSIDE_STRICT", "all")
	TestGroupExecutes(t)
	TestImageInPieces(t)
}
