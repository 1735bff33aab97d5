package icd

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"farside/internal/command"
	"farside/internal/exec"
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
	// inherits is what a secondary one says of where it is executed.
	inherits exec.Inheritance

	// These belong to the thread that records, and do not change while the buffer is pending.
	err         error // the first recording error, kept for vkEndCommandBuffer
	stream      *command.Stream
	secondaries []*commandBuffer // what it executes, one for each time
	mostDevices uint32           // the device mask with which the recording began

	mu        sync.Mutex
	primaries map[*commandBuffer]struct{} // what executes it
}

func (b *commandBuffer) owner() *device { return b.pool.device }

// fail reports err as the outcome of command on this buffer.
func (b *commandBuffer) fail(command string, err error) vk.Result {
	return b.pool.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(b.handle)})
}

func beginCommandBuffer(b *commandBuffer, info *vk.CommandBufferBeginInfo) vk.Result {
	if err := b.begin(info); err != nil {
		return b.fail("vkBeginCommandBuffer", err)
	}
	return vk.SUCCESS
}

func (b *commandBuffer) begin(info *vk.CommandBufferBeginInfo) error {
	if err := b.checkBegin(info); err != nil {
		return err
	}
	mask, err := b.pool.device.beginMask(info)
	if err != nil {
		return err
	}
	usage := info.Flags
	if b.life.recording() || !b.reset() {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkBeginCommandBuffer_commandBuffer_00049,
			"the command buffer is being recorded or pending")
	}
	if err := b.stream.Begin(); err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%w", err)
	}
	if b.mostDevices = mask; mask != b.pool.device.everyDevice() {
		if err := b.stream.DeviceMask(mask); err != nil {
			return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%w", err)
		}
	}
	if b.level == vk.COMMAND_BUFFER_LEVEL_SECONDARY {
		b.takeInheritance(usage, info.PInheritanceInfo)
	}
	b.usage.Store(uint32(usage))
	b.life.set(stateRecording)
	return nil
}

func (b *commandBuffer) checkBegin(info *vk.CommandBufferBeginInfo) error {
	const both = vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT | vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
	if !b.life.recording() && b.life.state() != stateInitial {
		b.resettable(vk.VUID_vkBeginCommandBuffer_commandBuffer_00050)
	}
	switch {
	case b.level == vk.COMMAND_BUFFER_LEVEL_PRIMARY && info.Flags&both == both:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkBeginCommandBuffer_commandBuffer_02840,
			"a primary command buffer is for one submission or for simultaneous use, not both")
	}
	if b.level == vk.COMMAND_BUFFER_LEVEL_PRIMARY {
		return nil // pInheritanceInfo may be anything, and so may RENDER_PASS_CONTINUE_BIT (VkCommandBufferUsageFlagBits)
	}
	i := info.PInheritanceInfo
	if info.Flags&vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT != 0 && (i != nil || !b.pool.graphics()) {
		if err := b.checkContinues(i); err != nil {
			return err
		}
	}
	switch {
	case i == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkBeginCommandBuffer_commandBuffer_00051,
			"a secondary command buffer has no pInheritanceInfo")
	case i.OcclusionQueryEnable != vk.FALSE && !b.pool.device.allows("inheritedQueries",
		vk.VUID_VkCommandBufferInheritanceInfo_occlusionQueryEnable_00056):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferInheritanceInfo_occlusionQueryEnable_00056,
			"the feature inheritedQueries is not supported")
	case i.OcclusionQueryEnable != vk.FALSE && i.QueryFlags&^vk.QUERY_CONTROL_PRECISE_BIT != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferInheritanceInfo_queryFlags_00057,
			"queryFlags %v", i.QueryFlags)
	case i.PipelineStatistics != 0 && !b.pool.device.allows("pipelineStatisticsQuery",
		vk.VUID_VkCommandBufferInheritanceInfo_pipelineStatistics_00058):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferInheritanceInfo_pipelineStatistics_00058,
			"the feature pipelineStatisticsQuery is not supported")
	}
	return nil
}

// resettable warns where the pool's flags don't allow what is done all the same: a reset of this buffer alone.
func (b *commandBuffer) resettable(rule vk.VUID) {
	if b.pool.flags&vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT == 0 {
		b.pool.device.forgives(rule, "the pool was created without VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT")
	}
}

func endCommandBuffer(b *commandBuffer) vk.Result {
	if !b.life.recording() {
		return b.fail("vkEndCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkEndCommandBuffer_commandBuffer_00059,
			"the command buffer is not being recorded: it %v", b.life.state()))
	}
	b.stream.End()
	if b.err != nil {
		b.life.set(stateInvalid)
		return b.fail("vkEndCommandBuffer", b.err)
	}
	if !b.life.finish() {
		return b.fail("vkEndCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkEndCommandBuffer_commandBuffer_00059,
			"a command buffer that was recorded with vkCmdExecuteCommands has been reset or freed since"))
	}
	return vk.SUCCESS
}

func resetCommandBuffer(b *commandBuffer, _ vk.CommandBufferResetFlags) vk.Result {
	b.resettable(vk.VUID_vkResetCommandBuffer_commandBuffer_00046)
	if !b.reset() {
		return b.fail("vkResetCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkResetCommandBuffer_commandBuffer_00045,
			"the command buffer is pending"))
	}
	return vk.SUCCESS
}

// recording says whether the command buffer takes commands. It reports a call in any other state.
func (b *commandBuffer) recording(command string) bool {
	if b.life.recording() {
		return true
	}
	b.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, recordingRule(command),
		"the command buffer is not being recorded: it %v", b.life.state()))
	return false
}

// keep reports a recording error and keeps the first one for vkEndCommandBuffer. nil is none. A command that was given
// an empty list does nothing, and no harm: that is forgiven.
func (b *commandBuffer) keep(name string, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, errEmpty) {
		b.pool.device.forgives(vk.VUIDOf(err), fmt.Sprintf("does nothing: %v", err))
		return
	}
	if errors.Is(err, command.ErrMemory) {
		err = vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%w", err)
	}
	b.fail(name, err)
	if b.err == nil {
		b.err = err
	}
}

// record appends a command to a buffer that is being recorded. It keeps append's error for vkEndCommandBuffer. If
// append faults at an address that the application passed, the boundary reports the fault. The buffer then lacks the
// command, and so cannot be ended either.
func (b *commandBuffer) record(command string, append func() error) {
	if !b.recording(command) {
		return
	}
	appended := false
	defer func() {
		if !appended && b.err == nil {
			b.err = vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "recording %s faulted", command)
		}
	}()
	err := append()
	appended = true
	b.keep(command, err)
}

// errEmpty says that a list has no elements.
var errEmpty = errors.New("the list is empty")

// empty is the error of a list without elements, which breaks a rule.
func empty(rule vk.VUID) error {
	return vk.Errorf(vk.ERROR_UNKNOWN, rule, "%s is 0: %w", rule.Subject(), errEmpty)
}

// elements returns an array argument, which must have elements; none and null are the rules that it breaks without.
func elements[T any](p *T, count uint32, none, null vk.VUID) ([]T, error) {
	if count == 0 {
		return nil, empty(none)
	}
	if p == nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, null, "the array %s is NULL", null.Subject())
	}
	return vk.Slice(p, count), nil
}
