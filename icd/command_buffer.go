package icd

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"farside/internal/command"
	"farside/internal/handle"
	"farside/internal/vk"
)

var commandBuffers = handle.NewDispatchable[commandBuffer]("VkCommandBuffer")

// commandBuffer is a VkCommandBuffer. Most commands are appended to its stream by the stubs of internal/cabi;
// the functions of this package that are named after commands do it in the cases that the stubs leave to them.
type commandBuffer struct {
	handle vk.CommandBuffer
	pool   *commandPool
	level  vk.CommandBufferLevel
	life   lifecycle
	usage  atomic.Uint32 // VkCommandBufferUsageFlags of the recording

	// These belong to the thread that records, and do not change while the buffer is pending.
	err         error // the first recording error, kept for vkEndCommandBuffer
	stream      *command.Stream
	secondaries []*commandBuffer // what it executes, one for each time

	mu        sync.Mutex
	primaries map[*commandBuffer]struct{} // what executes it
}

// fail reports err as the outcome of command on this buffer.
func (b *commandBuffer) fail(command string, err error) vk.Result {
	return b.pool.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(b.handle)})
}

func beginCommandBuffer(h vk.CommandBuffer, info *vk.CommandBufferBeginInfo) vk.Result {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		return staleHandle("vkBeginCommandBuffer", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
	}
	if err := b.begin(info); err != nil {
		return b.fail("vkBeginCommandBuffer", err)
	}
	return vk.SUCCESS
}

func (b *commandBuffer) begin(info *vk.CommandBufferBeginInfo) error {
	if err := b.checkBegin(info); err != nil {
		return err
	}
	usage := info.Flags
	if b.life.recording() || !b.reset() {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkBeginCommandBuffer-commandBuffer-00049", "the command buffer is being recorded or pending")
	}
	if err := b.stream.Begin(); err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "%w", err)
	}
	b.usage.Store(uint32(usage))
	b.life.set(stateRecording)
	return nil
}

func (b *commandBuffer) checkBegin(info *vk.CommandBufferBeginInfo) error {
	const both = vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT | vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
	resettable := b.pool.flags&vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT != 0
	switch {
	case !resettable && !b.life.recording() && b.life.state() != stateInitial:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkBeginCommandBuffer-commandBuffer-00050",
			"the pool was created without VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT and the command buffer %v", b.life.state())
	case b.level == vk.COMMAND_BUFFER_LEVEL_PRIMARY && info.Flags&both == both:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkBeginCommandBuffer-commandBuffer-02840",
			"a primary command buffer is for one submission or for simultaneous use, not both")
	}
	if g := vk.Find[vk.DeviceGroupCommandBufferBeginInfo](info.PNext); g != nil && g.DeviceMask != 1 {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkDeviceGroupCommandBufferBeginInfo-deviceMask-00106",
			"device mask %#x of a group of one device", g.DeviceMask)
	}
	if b.level == vk.COMMAND_BUFFER_LEVEL_PRIMARY {
		return nil // pInheritanceInfo may be anything, and so may RENDER_PASS_CONTINUE_BIT (VkCommandBufferUsageFlagBits)
	}
	i := info.PInheritanceInfo
	switch {
	case info.Flags&vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkCommandBufferBeginInfo-flags-09123", "no queue family has render passes")
	case i == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkBeginCommandBuffer-commandBuffer-00051", "a secondary command buffer has no pInheritanceInfo")
	case i.OcclusionQueryEnable != vk.FALSE:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkCommandBufferInheritanceInfo-occlusionQueryEnable-00056", "the feature inheritedQueries is not supported")
	case i.PipelineStatistics != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkCommandBufferInheritanceInfo-pipelineStatistics-00058",
			"the feature pipelineStatisticsQuery is not supported")
	}
	return nil
}

func endCommandBuffer(h vk.CommandBuffer) vk.Result {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		return staleHandle("vkEndCommandBuffer", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
	}
	if !b.life.recording() {
		return b.fail("vkEndCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkEndCommandBuffer-commandBuffer-00059",
			"the command buffer is not being recorded: it %v", b.life.state()))
	}
	b.stream.End()
	if b.err != nil {
		b.life.set(stateInvalid)
		return b.fail("vkEndCommandBuffer", b.err)
	}
	if !b.life.finish() {
		return b.fail("vkEndCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkEndCommandBuffer-commandBuffer-00059",
			"a command buffer that was recorded with vkCmdExecuteCommands has been reset or freed since"))
	}
	return vk.SUCCESS
}

func resetCommandBuffer(h vk.CommandBuffer, _ vk.CommandBufferResetFlags) vk.Result {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		return staleHandle("vkResetCommandBuffer", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
	}
	if b.pool.flags&vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT == 0 {
		return b.fail("vkResetCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkResetCommandBuffer-commandBuffer-00046",
			"the pool was created without VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT"))
	}
	if !b.reset() {
		return b.fail("vkResetCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkResetCommandBuffer-commandBuffer-00045", "the command buffer is pending"))
	}
	return vk.SUCCESS
}

// recording returns the command buffer while it takes commands. It reports a call in any other state.
func recording(command string, h vk.CommandBuffer) *commandBuffer {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		staleHandle(command, vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
		return nil
	}
	if !b.life.recording() {
		b.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+command+"-commandBuffer-recording",
			"the command buffer is not being recorded: it %v", b.life.state()))
		return nil
	}
	return b
}

// keep reports a recording error and keeps the first one for vkEndCommandBuffer. nil is none.
func (b *commandBuffer) keep(name string, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, command.ErrMemory) {
		err = vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "%w", err)
	}
	b.fail(name, err)
	if b.err == nil {
		b.err = err
	}
}

// record appends a command to a buffer that is being recorded. What append returns is kept. When it faults, at
// an address that the application passed, the boundary reports that, and the buffer cannot be ended either: it
// lacks the command.
func record(command string, h vk.CommandBuffer, append func(*commandBuffer) error) {
	b := recording(command, h)
	if b == nil {
		return
	}
	appended := false
	defer func() {
		if !appended && b.err == nil {
			b.err = vk.Errorf(vk.ERROR_UNKNOWN, "", "recording %s faulted", command)
		}
	}()
	err := append(b)
	appended = true
	b.keep(command, err)
}

// elements returns an array argument, which must have elements. owner, the command or structure that it belongs
// to, and noun, what an element is called, make the names of the rules.
func elements[T any](owner, noun string, p *T, count uint32) ([]T, error) {
	if count == 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-"+noun+"Count-arraylength", "%sCount is 0", noun)
	}
	if p == nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-p"+strings.ToUpper(noun[:1])+noun[1:]+"s-parameter", "the array of %ss is NULL", noun)
	}
	return vk.Slice(p, count), nil
}
