package icd

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/google/go-cmp/cmp"

	"farside/internal/cabi"
	"farside/internal/command"
	"farside/internal/config"
	"farside/internal/vk"
)

// recordingTest is a device with command pools, whose messages are looked at.
type recordingTest struct {
	*testing.T
	d *device
}

func newRecordingTest(t *testing.T) *recordingTest {
	t.Helper()
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	r := &recordingTest{t, propertiesDevice(t, i, nil)}
	takeInbox()
	t.Cleanup(func() { r.reported() })
	return r
}

// sameRecords has records compared by what they say, not by the streams that hold them.
var sameRecords = cmp.Options{cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b *command.Stream) bool { return true })}

// reported fails unless the rules are broken that the messages since the last call name.
func (r *recordingTest) reported(vuids ...string) {
	r.Helper()
	var got []string
	for _, m := range takeInbox() {
		got = append(got, m.id)
	}
	if !slices.Equal(got, vuids) {
		r.Errorf("reported %q, want %q", got, vuids)
	}
}

func (r *recordingTest) result(got, want vk.Result, vuids ...string) {
	r.Helper()
	if got != want {
		r.Errorf("result %v, want %v", got, want)
	}
	r.reported(vuids...)
}

func (r *recordingTest) pool(flags vk.CommandPoolCreateFlags) vk.CommandPool {
	r.Helper()
	var h vk.CommandPool
	r.result(commands.CreateCommandPool(r.d.handle, &vk.CommandPoolCreateInfo{Flags: flags}, nil, &h), vk.SUCCESS)
	return h
}

func (r *recordingTest) allocate(pool vk.CommandPool, level vk.CommandBufferLevel) *commandBuffer {
	r.Helper()
	h := make([]vk.CommandBuffer, 1)
	r.result(commands.AllocateCommandBuffers(commandPools.Get(uint64(pool)).device.handle,
		&vk.CommandBufferAllocateInfo{CommandPool: pool, Level: level, CommandBufferCount: 1}, &h[0]), vk.SUCCESS)
	return commandBuffers.Get(uintptr(h[0]))
}

func (r *recordingTest) begin(b *commandBuffer, usage vk.CommandBufferUsageFlags) {
	r.Helper()
	r.result(commands.BeginCommandBuffer(b.handle,
		&vk.CommandBufferBeginInfo{Flags: usage, PInheritanceInfo: &vk.CommandBufferInheritanceInfo{}}), vk.SUCCESS)
}

// recorded records one command.
func (r *recordingTest) recorded(b *commandBuffer, usage vk.CommandBufferUsageFlags) {
	r.Helper()
	r.begin(b, usage)
	commands.CmdFillBuffer(b.handle, 1, 2, 3, 4)
	r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
}

func (r *recordingTest) execute(b *commandBuffer, list ...*commandBuffer) {
	r.Helper()
	handles := make([]vk.CommandBuffer, len(list))
	for i, s := range list {
		handles[i] = s.handle
	}
	commands.CmdExecuteCommands(b.handle, uint32(len(handles)), &handles[0])
}

// state fails unless the buffer is in a state.
func (r *recordingTest) state(b *commandBuffer, want bufferState) {
	r.Helper()
	if got := b.life.state(); got != want {
		r.Errorf("the command buffer %v, want one that %v", got, want)
	}
}

func (r *recordingTest) pending(b *commandBuffer) {
	r.Helper()
	if err := b.beginPending(&submitRules1); err != nil {
		r.Error(err)
	}
}

// refused fails unless a submission is refused by a rule.
func (r *recordingTest) refused(b *commandBuffer, rules *submitRules, vuid string) {
	r.Helper()
	if err := b.beginPending(rules); vk.VUIDOf(err).String() != vuid {
		r.Errorf("submitted: %v, want %s", err, vuid)
	}
}

func ops(b *commandBuffer) (list []command.Op) {
	for record := range b.Stream().Records() {
		list = append(list, record.Op)
	}
	return list
}

const (
	primary    = vk.COMMAND_BUFFER_LEVEL_PRIMARY
	secondary  = vk.COMMAND_BUFFER_LEVEL_SECONDARY
	resettable = vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT

	oneTime      = vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
	simultaneous = vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
)

func TestLifecycle(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	r.state(b, stateInitial)
	r.refused(b, &submitRules1, "VUID-vkQueueSubmit-pCommandBuffers-00070")
	r.result(commands.EndCommandBuffer(b.handle), vk.ERROR_UNKNOWN, "VUID-vkEndCommandBuffer-commandBuffer-00059")
	commands.CmdFillBuffer(b.handle, 1, 2, 3, 4)
	r.reported("VUID-vkCmdFillBuffer-commandBuffer-recording")

	r.begin(b, 0)
	r.state(b, stateRecording)
	r.result(commands.BeginCommandBuffer(b.handle, &vk.CommandBufferBeginInfo{}), vk.ERROR_UNKNOWN,
		"VUID-vkBeginCommandBuffer-commandBuffer-00049")
	r.refused(b, &submitRules2, "VUID-vkQueueSubmit2-commandBuffer-03874")
	commands.CmdFillBuffer(b.handle, 1, 2, 3, 4)
	r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
	r.state(b, stateExecutable)
	if got := ops(b); !slices.Equal(got, []command.Op{command.OpFillBuffer}) {
		t.Errorf("recorded %v", got)
	}

	// It may be executed again and again, but not twice at a time.
	for range 2 {
		r.pending(b)
		r.refused(b, &submitRules1, "VUID-vkQueueSubmit-pCommandBuffers-00071")
		r.refused(b, &submitRules2, "VUID-vkQueueSubmit2-commandBuffer-03875")
		r.result(commands.ResetCommandBuffer(b.handle, 0), vk.ERROR_UNKNOWN, "VUID-vkResetCommandBuffer-commandBuffer-00045")
		r.result(commands.BeginCommandBuffer(b.handle, &vk.CommandBufferBeginInfo{}), vk.ERROR_UNKNOWN,
			"VUID-vkBeginCommandBuffer-commandBuffer-00049")
		if len(ops(b)) != 1 {
			t.Error("a pending command buffer lost its commands")
		}
		b.Completed(true)
		r.state(b, stateExecutable)
	}

	// vkBeginCommandBuffer resets it.
	r.begin(b, 0)
	r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
	if got := ops(b); len(got) != 0 {
		t.Errorf("%v is left of the last recording", got)
	}
	r.result(commands.ResetCommandBuffer(b.handle, vk.COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT), vk.SUCCESS)
	r.state(b, stateInitial)

	r.recorded(b, simultaneous)
	r.pending(b)
	r.pending(b)
	b.Completed(true)
	r.result(commands.ResetCommandBuffer(b.handle, 0), vk.ERROR_UNKNOWN, "VUID-vkResetCommandBuffer-commandBuffer-00045")
	b.Completed(true)

	r.recorded(b, oneTime)
	r.pending(b)
	b.Completed(false) // the submission was refused
	r.state(b, stateExecutable)
	r.pending(b)
	b.Completed(true)
	r.state(b, stateInvalid)
	r.refused(b, &submitRules1, "VUID-vkQueueSubmit-pCommandBuffers-00070")
	r.recorded(b, 0)
	r.state(b, stateExecutable)
}

// A secondary command buffer may say that it counts for statistics where the device has these queries.
func TestInheritedStatistics(t *testing.T) {
	r := newRecordingTest(t)
	s := r.allocate(r.pool(0), secondary)
	i := vk.CommandBufferInheritanceInfo{PipelineStatistics: 1}
	r.result(commands.BeginCommandBuffer(s.handle, &vk.CommandBufferBeginInfo{PInheritanceInfo: &i}), vk.SUCCESS,
		"VUID-VkCommandBufferInheritanceInfo-pipelineStatistics-00058") // a warning: the feature is not enabled
}

func TestBeginMisuse(t *testing.T) {
	withoutGraphics(t)
	r := newRecordingTest(t)
	fixed := r.pool(0)
	b := r.allocate(fixed, primary)
	r.recorded(b, 0)
	for _, told := range [][]string{
		{"VUID-vkBeginCommandBuffer-commandBuffer-00050", "VUID-vkResetCommandBuffer-commandBuffer-00046"}, {"", ""},
	} { // works, with a warning the first time
		r.result(commands.BeginCommandBuffer(b.handle, &vk.CommandBufferBeginInfo{}), vk.SUCCESS, oneRule(told[0])...)
		r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
		r.result(commands.ResetCommandBuffer(b.handle, 0), vk.SUCCESS, oneRule(told[1])...)
		r.state(b, stateInitial)
		r.recorded(b, 0)
	}
	r.result(commands.ResetCommandPool(r.d.handle, fixed, 0), vk.SUCCESS)
	r.result(commands.BeginCommandBuffer(b.handle, &vk.CommandBufferBeginInfo{Flags: oneTime | simultaneous}),
		vk.ERROR_UNKNOWN,
		"VUID-vkBeginCommandBuffer-commandBuffer-02840")
	r.begin(b, vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) // ignored for primaries

	s := r.allocate(fixed, secondary)
	r.result(commands.BeginCommandBuffer(s.handle, &vk.CommandBufferBeginInfo{}), vk.ERROR_UNKNOWN,
		"VUID-vkBeginCommandBuffer-commandBuffer-00051")
	var i vk.CommandBufferInheritanceInfo
	r.result(commands.BeginCommandBuffer(s.handle,
		&vk.CommandBufferBeginInfo{Flags: vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT, PInheritanceInfo: &i}),
		vk.ERROR_UNKNOWN, "VUID-VkCommandBufferBeginInfo-flags-09123")
	i = vk.CommandBufferInheritanceInfo{OcclusionQueryEnable: vk.TRUE}
	r.result(commands.BeginCommandBuffer(s.handle, &vk.CommandBufferBeginInfo{PInheritanceInfo: &i}), vk.ERROR_UNKNOWN,
		"VUID-VkCommandBufferInheritanceInfo-occlusionQueryEnable-00056")
	i = vk.CommandBufferInheritanceInfo{PipelineStatistics: 1}
	r.result(commands.BeginCommandBuffer(s.handle, &vk.CommandBufferBeginInfo{PInheritanceInfo: &i}), vk.ERROR_UNKNOWN,
		"VUID-VkCommandBufferInheritanceInfo-pipelineStatistics-00058")
	r.recorded(s, oneTime|simultaneous)
	r.refused(s, &submitRules1, "VUID-VkSubmitInfo-pCommandBuffers-00075")
	r.refused(s, &submitRules2, "VUID-VkCommandBufferSubmitInfo-commandBuffer-03890")
}

// TestFirstErrorIsKept records errors: vkEndCommandBuffer gives the first.
func TestFirstErrorIsKept(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	r.begin(b, 0)
	commands.CmdCopyBuffer(b.handle, 1, 2, 1, nil)
	commands.CmdCopyImage(b.handle, 1, 0, 2, 0, 1, nil)
	r.reported("VUID-vkCmdCopyBuffer-pRegions-parameter", "VUID-vkCmdCopyImage-pRegions-parameter")
	r.result(commands.EndCommandBuffer(b.handle), vk.ERROR_UNKNOWN, "VUID-vkCmdCopyBuffer-pRegions-parameter")
	r.state(b, stateInvalid)
	r.recorded(b, 0)
}

// TestCommandMisuse calls every command with arguments that it must refuse. One that is given an empty list has a
// warning, and the rest of the command buffer works.
func TestCommandMisuse(t *testing.T) {
	withoutGraphics(t)
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	buffer := b.handle
	for _, test := range []struct {
		vuid string
		call func()
	}{
		{"vkCmdUpdateBuffer-dataSize-00037", func() { commands.CmdUpdateBuffer(buffer, 1, 0, 65540, nil) }},
		{"vkCmdUpdateBuffer-dataSize-00038", func() { commands.CmdUpdateBuffer(buffer, 1, 0, 3, nil) }},
		{"vkCmdUpdateBuffer-dataSize-arraylength", func() { commands.CmdUpdateBuffer(buffer, 1, 0, 0, nil) }},
		{"vkCmdUpdateBuffer-pData-parameter", func() { commands.CmdUpdateBuffer(buffer, 1, 0, 4, nil) }},
		{"vkCmdCopyBuffer-pRegions-parameter", func() { commands.CmdCopyBuffer(buffer, 1, 2, 1, nil) }},
		{"VkCopyBufferInfo2-pRegions-parameter",
			func() { commands.CmdCopyBuffer2(buffer, &vk.CopyBufferInfo2{RegionCount: 1}) }},
		{"vkCmdCopyImage-regionCount-arraylength", func() { commands.CmdCopyImage(buffer, 1, 0, 2, 0, 0, nil) }},
		{"VkCopyImageInfo2-regionCount-arraylength", func() { commands.CmdCopyImage2(buffer, &vk.CopyImageInfo2{}) }},
		{"vkCmdBlitImage-pRegions-parameter", func() { commands.CmdBlitImage(buffer, 1, 0, 2, 0, 1, nil, 0) }},
		{"VkBlitImageInfo2-regionCount-arraylength", func() { commands.CmdBlitImage2(buffer, &vk.BlitImageInfo2{}) }},
		{"vkCmdCopyBufferToImage-regionCount-arraylength", func() { commands.CmdCopyBufferToImage(buffer, 1, 2, 0, 0, nil) }},
		{"VkCopyBufferToImageInfo2-regionCount-arraylength",
			func() { commands.CmdCopyBufferToImage2(buffer, &vk.CopyBufferToImageInfo2{}) }},
		{"vkCmdCopyImageToBuffer-regionCount-arraylength", func() { commands.CmdCopyImageToBuffer(buffer, 1, 0, 2, 0, nil) }},
		{"VkCopyImageToBufferInfo2-regionCount-arraylength",
			func() { commands.CmdCopyImageToBuffer2(buffer, &vk.CopyImageToBufferInfo2{}) }},
		{"vkCmdResolveImage-regionCount-arraylength", func() { commands.CmdResolveImage(buffer, 1, 0, 2, 0, 0, nil) }},
		{"VkResolveImageInfo2-regionCount-arraylength",
			func() { commands.CmdResolveImage2(buffer, &vk.ResolveImageInfo2{}) }},
		{"vkCmdClearColorImage-pColor-04961", func() { commands.CmdClearColorImage(buffer, 1, 0, nil, 1, nil) }},
		{"vkCmdClearColorImage-pRanges-parameter",
			func() { commands.CmdClearColorImage(buffer, 1, 0, &vk.ClearColorValue{}, 1, nil) }},
		{"vkCmdClearDepthStencilImage-pDepthStencil-parameter",
			func() { commands.CmdClearDepthStencilImage(buffer, 1, 0, nil, 1, nil) }},
		{"vkCmdClearDepthStencilImage-rangeCount-arraylength",
			func() { commands.CmdClearDepthStencilImage(buffer, 1, 0, &vk.ClearDepthStencilValue{}, 0, nil) }},
		{"vkCmdWaitEvents-eventCount-arraylength",
			func() { commands.CmdWaitEvents(buffer, 0, nil, 0, 0, 0, nil, 0, nil, 0, nil) }},
		{"vkCmdWaitEvents2-pEvents-parameter", func() { commands.CmdWaitEvents2(buffer, 1, nil, nil) }},
		{"vkCmdExecuteCommands-pCommandBuffers-parameter", func() { commands.CmdExecuteCommands(buffer, 1, nil) }},
		{"vkCmdExecuteCommands-commandBufferCount-arraylength", func() { commands.CmdExecuteCommands(buffer, 0, nil) }},
		{"vkCmdBeginQuery-queryType-02804", func() { commands.CmdBeginQuery(buffer, 1, 2, 0) }},
		{"vkCmdEndQuery-None-01923", func() { commands.CmdEndQuery(buffer, 1, 2) }},
		{"vkCmdSetDeviceMask-deviceMask-00108", func() { commands.CmdSetDeviceMask(buffer, 2) }},
	} {
		r.begin(b, 0)
		test.call()
		if strings.HasSuffix(test.vuid, "-arraylength") {
			r.result(commands.EndCommandBuffer(buffer), vk.SUCCESS, "VUID-"+test.vuid)
		} else {
			r.result(commands.EndCommandBuffer(buffer), vk.ERROR_UNKNOWN, "VUID-"+test.vuid, "VUID-"+test.vuid)
		}
		if got := ops(b); len(got) != 0 {
			t.Errorf("%s: recorded %v", test.vuid, got)
		}
	}
}

// TestNotRecording calls every command on a buffer that is not being recorded, and on no buffer.
func TestNotRecording(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	label := vk.DebugUtilsLabelEXT{PLabelName: cString("label")}
	for name, call := range map[string]func(vk.CommandBuffer){
		"FillBuffer":             func(h vk.CommandBuffer) { commands.CmdFillBuffer(h, 1, 2, 3, 4) },
		"UpdateBuffer":           func(h vk.CommandBuffer) { commands.CmdUpdateBuffer(h, 1, 2, 3, nil) },
		"CopyBuffer":             func(h vk.CommandBuffer) { commands.CmdCopyBuffer(h, 1, 2, 3, nil) },
		"CopyBuffer2":            func(h vk.CommandBuffer) { commands.CmdCopyBuffer2(h, nil) },
		"CopyImage":              func(h vk.CommandBuffer) { commands.CmdCopyImage(h, 1, 2, 3, 4, 5, nil) },
		"CopyImage2":             func(h vk.CommandBuffer) { commands.CmdCopyImage2(h, nil) },
		"BlitImage":              func(h vk.CommandBuffer) { commands.CmdBlitImage(h, 1, 2, 3, 4, 5, nil, 6) },
		"BlitImage2":             func(h vk.CommandBuffer) { commands.CmdBlitImage2(h, nil) },
		"CopyBufferToImage":      func(h vk.CommandBuffer) { commands.CmdCopyBufferToImage(h, 1, 2, 3, 4, nil) },
		"CopyBufferToImage2":     func(h vk.CommandBuffer) { commands.CmdCopyBufferToImage2(h, nil) },
		"CopyImageToBuffer":      func(h vk.CommandBuffer) { commands.CmdCopyImageToBuffer(h, 1, 2, 3, 4, nil) },
		"CopyImageToBuffer2":     func(h vk.CommandBuffer) { commands.CmdCopyImageToBuffer2(h, nil) },
		"ResolveImage":           func(h vk.CommandBuffer) { commands.CmdResolveImage(h, 1, 2, 3, 4, 5, nil) },
		"ResolveImage2":          func(h vk.CommandBuffer) { commands.CmdResolveImage2(h, nil) },
		"ClearColorImage":        func(h vk.CommandBuffer) { commands.CmdClearColorImage(h, 1, 2, nil, 3, nil) },
		"ClearDepthStencilImage": func(h vk.CommandBuffer) { commands.CmdClearDepthStencilImage(h, 1, 2, nil, 3, nil) },
		"PipelineBarrier": func(h vk.CommandBuffer) {
			commands.CmdPipelineBarrier(h, 1, 2, 0, 1, nil, 0, nil, 0, nil)
		},
		"PipelineBarrier2": func(h vk.CommandBuffer) { commands.CmdPipelineBarrier2(h, nil) },
		"SetEvent":         func(h vk.CommandBuffer) { commands.CmdSetEvent(h, 1, 2) },
		"SetEvent2":        func(h vk.CommandBuffer) { commands.CmdSetEvent2(h, 1, nil) },
		"ResetEvent":       func(h vk.CommandBuffer) { commands.CmdResetEvent(h, 1, 2) },
		"ResetEvent2":      func(h vk.CommandBuffer) { commands.CmdResetEvent2(h, 1, 2) },
		"WaitEvents": func(h vk.CommandBuffer) {
			commands.CmdWaitEvents(h, 1, nil, 2, 3, 0, nil, 0, nil, 0, nil)
		},
		"WaitEvents2":     func(h vk.CommandBuffer) { commands.CmdWaitEvents2(h, 1, nil, nil) },
		"ResetQueryPool":  func(h vk.CommandBuffer) { commands.CmdResetQueryPool(h, 1, 2, 3) },
		"WriteTimestamp":  func(h vk.CommandBuffer) { commands.CmdWriteTimestamp(h, 1, 2, 3) },
		"WriteTimestamp2": func(h vk.CommandBuffer) { commands.CmdWriteTimestamp2(h, 1, 2, 3) },
		"ExecuteCommands": func(h vk.CommandBuffer) { commands.CmdExecuteCommands(h, 1, nil) },
		"SetDeviceMask":   func(h vk.CommandBuffer) { commands.CmdSetDeviceMask(h, 1) },
		"CopyQueryPoolResults": func(h vk.CommandBuffer) {
			commands.CmdCopyQueryPoolResults(h, 1, 2, 3, 4, 5, 6, 7)
		},
		"WriteBufferMarkerAMD":     func(h vk.CommandBuffer) { commands.CmdWriteBufferMarkerAMD(h, 1, 2, 3, 4) },
		"WriteBufferMarker2AMD":    func(h vk.CommandBuffer) { commands.CmdWriteBufferMarker2AMD(h, 1, 2, 3, 4) },
		"BeginDebugUtilsLabelEXT":  func(h vk.CommandBuffer) { commands.CmdBeginDebugUtilsLabelEXT(h, &label) },
		"InsertDebugUtilsLabelEXT": func(h vk.CommandBuffer) { commands.CmdInsertDebugUtilsLabelEXT(h, &label) },
		"EndDebugUtilsLabelEXT":    commands.CmdEndDebugUtilsLabelEXT,
	} {
		call(b.handle)
		r.reported("VUID-vkCmd" + name + "-commandBuffer-recording")
		call(b.handle + 8)
		r.reported("VUID-vkCmd" + name + "-commandBuffer-parameter")
	}
}

// TestSecondForms compares what the commands with structures record with what their predecessors do.
func TestSecondForms(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	layers := vk.ImageSubresourceLayers{AspectMask: 1, MipLevel: 2, BaseArrayLayer: 3, LayerCount: 4}
	at, extent := vk.Offset3D{X: 1, Y: 2, Z: 3}, vk.Extent3D{Width: 4, Height: 5, Depth: 6}
	const n = 6 // more than are converted in place
	var (
		copies  = slices.Repeat([]vk.BufferCopy{{SrcOffset: 1, DstOffset: 2, Size: 3}}, n)
		copies2 = slices.Repeat([]vk.BufferCopy2{{SrcOffset: 1, DstOffset: 2, Size: 3}}, n)
		images  = slices.Repeat([]vk.ImageCopy{{SrcSubresource: layers, SrcOffset: at, DstOffset: vk.Offset3D{X: 9},
			Extent: extent}}, n)
		images2 = slices.Repeat([]vk.ImageCopy2{{SrcSubresource: layers, SrcOffset: at, DstOffset: vk.Offset3D{X: 9},
			Extent: extent}}, n)
		mixed = slices.Repeat([]vk.BufferImageCopy{{BufferOffset: 1, BufferRowLength: 2, BufferImageHeight: 3,
			ImageSubresource: layers, ImageOffset: at, ImageExtent: extent}}, n)
		mixed2 = slices.Repeat([]vk.BufferImageCopy2{{BufferOffset: 1, BufferRowLength: 2, BufferImageHeight: 3,
			ImageSubresource: layers, ImageOffset: at, ImageExtent: extent}}, n)
		blits = slices.Repeat([]vk.ImageBlit{{SrcSubresource: layers, SrcOffsets: [2]vk.Offset3D{1: at},
			DstOffsets: [2]vk.Offset3D{at}}}, n)
		blits2 = slices.Repeat([]vk.ImageBlit2{{SrcSubresource: layers, SrcOffsets: [2]vk.Offset3D{1: at},
			DstOffsets: [2]vk.Offset3D{at}}}, n)
		resolve = slices.Repeat([]vk.ImageResolve{{SrcSubresource: layers, DstSubresource: layers, DstOffset: at,
			Extent: extent}}, n)
		resolve2 = slices.Repeat([]vk.ImageResolve2{{SrcSubresource: layers, DstSubresource: layers, DstOffset: at,
			Extent: extent}}, n)
		events = []vk.Event{7, 8}
		all    = vk.PIPELINE_STAGE_ALL_COMMANDS_BIT
	)
	h := b.handle
	for i, test := range []struct{ first, second func() }{
		{func() { commands.CmdCopyBuffer(h, 1, 2, n, &copies[0]) },
			func() {
				commands.CmdCopyBuffer2(h, &vk.CopyBufferInfo2{SrcBuffer: 1, DstBuffer: 2, RegionCount: n, PRegions: &copies2[0]})
			}},
		{func() { commands.CmdCopyImage(h, 1, 3, 2, 4, n, &images[0]) },
			func() {
				commands.CmdCopyImage2(h, &vk.CopyImageInfo2{SrcImage: 1, SrcImageLayout: 3, DstImage: 2, DstImageLayout: 4,
					RegionCount: n, PRegions: &images2[0]})
			}},
		{func() { commands.CmdCopyBufferToImage(h, 1, 2, 4, n, &mixed[0]) },
			func() {
				commands.CmdCopyBufferToImage2(h, &vk.CopyBufferToImageInfo2{SrcBuffer: 1, DstImage: 2, DstImageLayout: 4,
					RegionCount: n, PRegions: &mixed2[0]})
			}},
		{func() { commands.CmdCopyImageToBuffer(h, 1, 3, 2, n, &mixed[0]) },
			func() {
				commands.CmdCopyImageToBuffer2(h, &vk.CopyImageToBufferInfo2{SrcImage: 1, SrcImageLayout: 3, DstBuffer: 2,
					RegionCount: n, PRegions: &mixed2[0]})
			}},
		{func() { commands.CmdBlitImage(h, 1, 3, 2, 4, n, &blits[0], vk.FILTER_LINEAR) },
			func() {
				commands.CmdBlitImage2(h, &vk.BlitImageInfo2{SrcImage: 1, SrcImageLayout: 3, DstImage: 2, DstImageLayout: 4,
					RegionCount: n,
					PRegions:    &blits2[0], Filter: vk.FILTER_LINEAR})
			}},
		{func() { commands.CmdResolveImage(h, 1, 3, 2, 4, n, &resolve[0]) },
			func() {
				commands.CmdResolveImage2(h, &vk.ResolveImageInfo2{SrcImage: 1, SrcImageLayout: 3, DstImage: 2, DstImageLayout: 4,
					RegionCount: n, PRegions: &resolve2[0]})
			}},
		{func() { commands.CmdSetEvent(h, 7, all) }, func() { commands.CmdSetEvent2(h, 7, &vk.DependencyInfo{}) }},
		{func() { commands.CmdResetEvent(h, 7, all) }, func() { commands.CmdResetEvent2(h, 7, 1) }},
		{func() { commands.CmdWaitEvents(h, 2, &events[0], all, all, 1, nil, 2, nil, 3, nil) },
			func() { commands.CmdWaitEvents2(h, 2, &events[0], nil) }},
		{func() { commands.CmdWriteBufferMarkerAMD(h, all, 3, 4, 5) },
			func() { commands.CmdWriteBufferMarker2AMD(h, 1, 3, 4, 5) }},
	} {
		r.begin(b, 0)
		test.first()
		test.second()
		commands.CmdPipelineBarrier(h, all, all, 0, 1, nil, 1, nil, 1, nil)
		commands.CmdPipelineBarrier2(h, nil)
		commands.CmdSetDeviceMask(h, 1)
		r.result(commands.EndCommandBuffer(h), vk.SUCCESS)
		list := recorded(b)
		if len(list) != 2 || !cmp.Equal(list[0], list[1], sameRecords) {
			t.Errorf("%d: recorded\n%v", i, list)
		}
	}
}

// recorded are the records of a command buffer.
func recorded(b *commandBuffer) (list []command.Record) {
	for record := range b.Stream().Records() {
		list = append(list, *record)
	}
	return list
}

func TestCommandLabels(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	r.begin(b, 0)
	name := cString("region")
	commands.CmdBeginDebugUtilsLabelEXT(b.handle, &vk.DebugUtilsLabelEXT{PLabelName: name, Color: [4]float32{1, 2, 3, 4}})
	*name = 'x' // the stream holds its own copy
	commands.CmdInsertDebugUtilsLabelEXT(b.handle, &vk.DebugUtilsLabelEXT{})
	commands.CmdEndDebugUtilsLabelEXT(b.handle)
	r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
	var got []command.DebugLabel
	for record := range b.Stream().Records() {
		var l command.DebugLabel
		if !record.DebugLabel(&l) {
			t.Errorf("recorded %v", record.Op)
		}
		got = append(got, l)
	}
	if len(got) != 3 || got[0].Kind != command.LabelBegin || string(got[0].Name) != "region" ||
		got[0].Color != [4]float32{1, 2, 3, 4} ||
		got[1].Kind != command.LabelInsert || len(got[1].Name) != 0 || got[2].Kind != command.LabelEnd {
		t.Errorf("recorded %v", got)
	}
}

func TestSecondaryCommandBuffers(t *testing.T) {
	r := newRecordingTest(t)
	pool := r.pool(resettable)
	p, q := r.allocate(pool, primary), r.allocate(pool, primary)
	s, u := r.allocate(pool, secondary), r.allocate(pool, secondary)

	r.begin(p, 0)
	r.execute(p, s)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-00089") // not executable
	r.execute(p, q)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-00088") // not secondary
	r.recorded(s, 0)
	r.recorded(u, simultaneous)
	r.execute(p, s, s)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-00093") // twice
	stale := p.handle + 8
	commands.CmdExecuteCommands(p.handle, 1, &stale)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-parameter")

	r.begin(q, 0)
	r.execute(q, s, u, u)
	r.execute(q, u)
	r.execute(q, s)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-00092") // executed already
	r.result(commands.EndCommandBuffer(q.handle), vk.ERROR_UNKNOWN, "VUID-vkCmdExecuteCommands-pCommandBuffers-00092")

	r.begin(q, 0)
	r.execute(q, s, u, u)
	r.result(commands.EndCommandBuffer(q.handle), vk.SUCCESS)
	records := recorded(q)
	if len(records) != 1 {
		t.Fatalf("recorded %v", ops(q))
	}
	if c := new(command.ExecuteCommands); !records[0].ExecuteCommands(c) ||
		!slices.Equal(c.CommandBuffers, []vk.CommandBuffer{s.handle, u.handle, u.handle}) {
		t.Errorf("recorded %v", c)
	}

	// The secondary ones are pending with the primary.
	r.pending(q)
	r.result(commands.ResetCommandBuffer(s.handle, 0), vk.ERROR_UNKNOWN, "VUID-vkResetCommandBuffer-commandBuffer-00045")
	r.begin2(p)
	r.execute(p, s)
	r.reported("VUID-vkCmdExecuteCommands-pCommandBuffers-00091")
	r.begin2(p)
	r.execute(p, u)
	r.result(commands.EndCommandBuffer(p.handle), vk.SUCCESS)
	r.pending(p)
	p.Completed(true)
	q.Completed(true)
	r.begin(p, 0)
	r.execute(p, s)
	r.result(commands.EndCommandBuffer(p.handle), vk.SUCCESS)
	r.pending(q)
	r.refused(p, &submitRules1, "VUID-vkQueueSubmit-pCommandBuffers-00073")
	r.refused(p, &submitRules2, "VUID-vkQueueSubmit2-commandBuffer-03877")
	q.Completed(true)
	r.pending(p)
	p.Completed(true)

	// A reset of a secondary one makes the primary ones invalid; one that no longer executes it stays.
	r.recorded(p, 0)
	r.result(commands.ResetCommandBuffer(s.handle, 0), vk.SUCCESS)
	r.state(p, stateExecutable)
	r.state(q, stateInvalid)

	// While a primary is recorded: vkEndCommandBuffer says so.
	r.recorded(s, 0)
	r.begin(p, 0)
	r.execute(p, s)
	r.begin(s, 0)
	r.result(commands.EndCommandBuffer(p.handle), vk.ERROR_UNKNOWN, "VUID-vkEndCommandBuffer-commandBuffer-00059")
	r.state(p, stateInvalid)

	// For one submission: with it the primary becomes invalid too.
	r.result(commands.EndCommandBuffer(s.handle), vk.SUCCESS)
	r.recorded(s, oneTime)
	r.begin(p, 0)
	r.execute(p, s)
	r.result(commands.EndCommandBuffer(p.handle), vk.SUCCESS)
	r.pending(p)
	p.Completed(true)
	r.state(s, stateInvalid)
	r.state(p, stateInvalid)

	// Freed.
	r.recorded(s, 0)
	r.begin(p, 0)
	r.execute(p, s)
	r.result(commands.EndCommandBuffer(p.handle), vk.SUCCESS)
	commands.FreeCommandBuffers(r.d.handle, pool, 1, &s.handle)
	r.state(p, stateInvalid)
	r.begin(p, 0)
	r.result(commands.EndCommandBuffer(p.handle), vk.SUCCESS)

	r.begin(u, 0)
	r.execute(u, s)
	r.reported("VUID-vkCmdExecuteCommands-commandBuffer-09375")
}

// begin2 ends a recording that has an error, and begins anew.
func (r *recordingTest) begin2(b *commandBuffer) {
	r.Helper()
	if commands.EndCommandBuffer(b.handle) == vk.SUCCESS {
		r.Error("vkEndCommandBuffer gives no error")
	}
	takeInbox()
	r.begin(b, 0)
}

func TestPoolLifecycle(t *testing.T) {
	r := newRecordingTest(t)
	pool := r.pool(vk.COMMAND_POOL_CREATE_TRANSIENT_BIT)
	a, b := r.allocate(pool, primary), r.allocate(pool, primary)
	r.recorded(a, 0)
	r.begin(b, 0)
	r.pending(a)
	r.result(commands.ResetCommandPool(r.d.handle, pool, 0), vk.ERROR_UNKNOWN, "VUID-vkResetCommandPool-commandPool-00040")
	r.state(a, stateExecutable)
	r.state(b, stateRecording)
	a.Completed(true)
	r.result(commands.ResetCommandPool(r.d.handle, pool, vk.COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT), vk.SUCCESS)
	r.state(a, stateInitial)
	r.state(b, stateInitial)
	commands.CmdFillBuffer(b.handle, 1, 2, 3, 4)
	r.reported("VUID-vkCmdFillBuffer-commandBuffer-recording")
	r.recorded(b, 0)
	commands.TrimCommandPool(r.d.handle, pool, 0)
	if len(ops(b)) != 1 {
		t.Error("a trim took what is recorded")
	}

	var list [3]vk.CommandBuffer
	list[0] = 7
	r.result(commands.AllocateCommandBuffers(r.d.handle,
		&vk.CommandBufferAllocateInfo{CommandPool: pool, Level: 9, CommandBufferCount: 3}, &list[0]),
		vk.ERROR_UNKNOWN, "VUID-VkCommandBufferAllocateInfo-level-parameter")
	if list[0] != 0 {
		t.Error("a failed allocation left a handle")
	}

	// What is freed or destroyed while it is pending stays until it completes.
	for _, end := range []func(){
		func() {
			commands.FreeCommandBuffers(r.d.handle, pool, 1, &a.handle)
			r.reported("VUID-vkFreeCommandBuffers-pCommandBuffers-00047")
			a = b
		},
		func() {
			commands.DestroyCommandPool(r.d.handle, pool, nil)
			r.reported("VUID-vkDestroyCommandPool-commandPool-00041")
		},
	} {
		r.result(commands.ResetCommandPool(r.d.handle, pool, 0), vk.SUCCESS)
		r.recorded(a, oneTime)
		r.pending(a)
		busy, h := a, a.handle
		end()
		if commandBuffers.Get(uintptr(h)) != nil {
			t.Error("the handle is live")
		}
		if len(ops(busy)) != 1 {
			t.Error("the commands are gone before they are executed")
		}
		busy.Completed(true)
		if len(ops(busy)) != 0 {
			t.Error("the commands stay after the execution")
		}
	}
}

// TestPendingHammer lets threads submit, reset and free the same buffers, which no application may do: nothing
// is executed that is being changed, and all memory comes back.
func TestPendingHammer(t *testing.T) {
	captureLog(t, config.LevelOff)
	d := propertiesDevice(t, testInstance(t, nil), nil)
	r := &recordingTest{t, d}
	pool := r.pool(resettable)
	p := commandPools.Get(uint64(pool))
	b := r.allocate(pool, primary)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 2000 {
				if b.beginPending(&submitRules1) == nil {
					if n := len(ops(b)); n != 1 {
						t.Errorf("executed %d commands", n)
					}
					b.Completed(true)
				}
			}
		})
	}
	wg.Go(func() {
		random := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			if b.reset() {
				if err := b.stream.Begin(); err != nil {
					t.Error(err)
				}
				b.usage.Store(uint32([]vk.CommandBufferUsageFlags{0, oneTime, simultaneous}[random.IntN(3)]))
				b.life.set(stateRecording)
				if err := b.stream.FillBuffer(1, 2, 3, 4); err != nil {
					t.Error(err)
				}
				b.stream.End()
				b.life.finish()
			}
		}
	})
	wg.Wait()
	p.mu.Lock()
	if len(p.free([]vk.CommandBuffer{b.handle})) != 0 || b.life.pending() {
		t.Error("the buffer is still pending")
	}
	p.mu.Unlock()
}

// TestStubsFeedTheSlowPath records the same commands through C's entries and through this package's functions.
func TestStubsFeedTheSlowPath(t *testing.T) {
	r := newRecordingTest(t)
	pool := r.pool(resettable)
	a, b := r.allocate(pool, primary), r.allocate(pool, primary)
	region := vk.BufferCopy{SrcOffset: 1, DstOffset: 2, Size: 3}
	layers := vk.ImageSubresourceRange{AspectMask: 1, LevelCount: 2, LayerCount: 3}
	var color vk.ClearColorValue
	*color.Float32() = [4]float32{1, 2, 3, 4}
	call := func(name string, args ...uintptr) {
		purego.SyscallN(cabi.Entry("vkCmd"+name), append([]uintptr{uintptr(b.handle)}, args...)...)
	}
	const n = 3000 // over several chunks
	record := func(b *commandBuffer, fill, copyBuffer, clearColor, barrier func()) []command.Record {
		r.begin(b, 0)
		for range n {
			fill()
			copyBuffer()
			clearColor()
			barrier()
		}
		r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
		return recorded(b)
	}
	h := a.handle
	slow := record(a, func() { commands.CmdFillBuffer(h, 1, 2, 3, 4) },
		func() { commands.CmdCopyBuffer(h, 1, 2, 1, &region) },
		func() { commands.CmdClearColorImage(h, 1, 2, &color, 1, &layers) },
		func() { commands.CmdPipelineBarrier(h, 1, 1, 0, 0, nil, 0, nil, 0, nil) })
	fast := record(b, func() { call("FillBuffer", 1, 2, 3, 4) },
		func() { call("CopyBuffer", 1, 2, 1, uintptr(unsafe.Pointer(&region))) },
		func() {
			call("ClearColorImage", 1, 2, uintptr(unsafe.Pointer(&color)), 1, uintptr(unsafe.Pointer(&layers)))
		},
		func() { call("PipelineBarrier", 1, 1, 0, 0, 0, 0, 0, 0, 0) })
	if len(slow) != 3*n || !cmp.Equal(slow, fast, sameRecords) {
		t.Errorf("%d records by the functions, %d by the stubs, or not the same ones", len(slow), len(fast))
	}
	// The window is shut now: the stub leaves the call to the function, which reports it.
	call("FillBuffer", 1, 2, 3, 4)
	r.reported("VUID-vkCmdFillBuffer-commandBuffer-recording")
	call("PipelineBarrier", 1, 1, 0, 0, 0, 0, 0, 0, 0)
	r.reported("VUID-vkCmdPipelineBarrier-commandBuffer-recording")
	commands.FreeCommandBuffers(r.d.handle, pool, 1, &b.handle)
	call("FillBuffer", 1, 2, 3, 4)
	r.reported("VUID-vkCmdFillBuffer-commandBuffer-parameter")
}
