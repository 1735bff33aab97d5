package exec

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/syncobj"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// replay executes streams.
type replay struct {
	device *Device
	queue  *Queue
	cache
	index    int        // of the command that is executed, counted through the primary and its secondaries
	op       command.Op // of that command
	labels   []string   // the open debug label regions, outermost first
	points   []syncobj.Point
	bound    bindings   // for compute
	pass     *draw.Pass // under way; nil: none
	graphics graphics
	passes
	group
	postponed []later // commands that were put off
}

// run executes a primary command buffer's stream on the physical devices of a mask.
func (r *replay) run(s *command.Stream, mask uint32) error {
	r.index, r.labels = 0, r.labels[:0]
	r.submitted, r.current = mask, allDevices
	r.within(false)
	return r.stream(s, false)
}

func (r *replay) stream(s *command.Stream, secondary bool) error {
	plain := r.plain()
	for record := range s.Records() {
		if r.graphics.drawing || r.pass.Waits() {
			if err := r.before(record.Op); err != nil {
				return err
			}
		}
		r.op = record.Op
		var err error
		if plain && record.Op != command.OpExecuteCommands { // the shortest way for what takes the shortest time
			if record.Op <= command.OpResolveImage {
				err = r.transferCommand(record)
			} else {
				err = r.perform(record)
			}
			if err != nil {
				return r.failed(err)
			}
			r.index++
			continue
		}
		if r.device.Fault != nil {
			if err = r.fault(); err != nil {
				return r.failed(err)
			}
		}
		if record.Op == command.OpExecuteCommands {
			err = r.executeCommands(record, secondary)
		} else if r.device.Shuffle != nil && r.members == nil {
			err = r.shuffled(record)
		} else {
			err = r.step(record)
		}
		if err != nil {
			return r.failed(err)
		}
		r.index++
	}
	if err := s.Err(); err != nil {
		return r.failed(err)
	}
	return r.endDraws()
}

// plain says whether nobody asks about commands, and one physical device executes them.
func (r *replay) plain() bool {
	d := r.device
	return d.Fault == nil && d.Shuffle == nil && d.Around == nil && r.members == nil && r.pieces.mu == nil
}

// unseen says whether what commands do may wait: nobody looks at each of them.
func (r *replay) unseen() bool { return r.plain() && r.device.Watch == nil && r == &r.queue.replay }

// fault calls Device.Fault for the command that is about to be executed.
func (r *replay) fault() error {
	err := r.device.Fault(r.queue, "command")
	if err != nil {
		return err
	}
	switch r.op {
	case command.OpDispatch, command.OpDispatchIndirect, command.OpDispatchBase:
		return r.device.Fault(r.queue, "dispatch")
	case command.OpFillBuffer, command.OpUpdateBuffer, command.OpCopyBuffer, command.OpCopyImage,
		command.OpCopyBufferToImage, command.OpCopyImageToBuffer, command.OpBlitImage, command.OpResolveImage,
		command.OpClearColorImage, command.OpClearDepthStencilImage:
		return r.device.Fault(r.queue, "copy")
	}
	return nil
}

// located is an error that says which command failed.
type located struct{ error }

// Unwrap gives the VkResult and the VUID.
func (l located) Unwrap() error { return l.error }

// failed says of an error at which command it happened, once.
func (r *replay) failed(err error) error {
	if _, ok := err.(located); ok {
		return err
	}
	where := ""
	if len(r.labels) > 0 {
		where = fmt.Sprintf(" in %q", strings.Join(r.labels, "/"))
	}
	return located{vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "command %d, %v%s: %w", r.index, r.op, where, err)}
}

// told says of a broken rule at which command it happened, and goes on.
func (r *replay) told(rule vk.VUID, format string, args ...any) {
	if r.device.Told != nil {
		r.device.Told(vk.Errorf(vk.ERROR_UNKNOWN, rule, "command %d, %v: "+format, append([]any{r.index, r.op}, args...)...))
	}
}

// malformed is the answer to a record whose length does not fit its kind: something wrote into the stream.
func (r *replay) malformed() error {
	return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "the recorded command is damaged")
}

// executeCommands executes secondary command buffers. These can't execute others: so the recursion ends there.
func (r *replay) executeCommands(record *command.Record, secondary bool) error {
	c := new(command.ExecuteCommands)
	if !record.ExecuteCommands(c) {
		return r.malformed()
	}
	if secondary {
		return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.VUID_vkCmdExecuteCommands_commandBuffer_09375,
			"a secondary command buffer executes others")
	}
	outer := r.inside()
	for _, h := range c.CommandBuffers {
		s, err := r.device.Resources.Secondary(h)
		if err != nil {
			return r.missing(vk.VUID_vkCmdExecuteCommands_pCommandBuffers_parameter, err)
		}
		if s.Inherits != nil {
			r.running().tellInherited(s.Inherits)
		}
		open := len(r.labels)
		r.index++
		r.begin() // a secondary command buffer inherits no state
		r.within(true)
		if err := r.stream(s.Stream, true); err != nil {
			return err
		}
		r.labels = r.labels[:min(open, len(r.labels))]
	}
	r.outside(outer)
	r.within(false)
	r.begin() // nor does it leave anything behind
	return nil
}

// bytes returns the whole of a buffer that a command uses. The rule exists demands that there is one, the rule used
// that it was created with the usage. One that was not works, too: the first such command is told of.
func (r *replay) bytes(h vk.Buffer, exists vk.VUID, usage vk.BufferUsageFlags, used vk.VUID) ([]byte, error) {
	if g := &r.graphics; g.drawing { // the shaders of draws that wait look for theirs
		g.mu.Lock()
		defer g.mu.Unlock()
	}
	b, err := r.buffer(r.device.Resources, h)
	if err != nil {
		return nil, r.missing(exists, err)
	}
	if b.Usage&usage == 0 && first(b.Excess, uint32(usage)) {
		r.told(used, "works, but %s %#x was created without %v", exists.Subject(), uint64(h), usage)
	}
	return b.Bytes, nil
}

// texels is bytes for an image.
func (r *replay) texels(h vk.Image, exists vk.VUID, usage vk.ImageUsageFlags, used vk.VUID) (*transfer.Image, error) {
	img, err := r.image(r.device.Resources, h)
	if err != nil {
		return nil, r.missing(exists, err)
	}
	if img.Usage&usage == 0 && first(img.Excess, uint32(usage)) {
		r.told(used, "works, but %s %#x was created without %v", exists.Subject(), uint64(h), usage)
	}
	return &img.Image, nil
}

// first says whether nobody has been told of a usage yet, and notes that somebody is.
func first(told *atomic.Uint32, usage uint32) bool { return told.Or(usage)&usage == 0 }

const (
	bufferSrc = vk.BUFFER_USAGE_TRANSFER_SRC_BIT
	bufferDst = vk.BUFFER_USAGE_TRANSFER_DST_BIT
	imageSrc  = vk.IMAGE_USAGE_TRANSFER_SRC_BIT
	imageDst  = vk.IMAGE_USAGE_TRANSFER_DST_BIT
)

// command executes one record.
func (r *replay) command(record *command.Record) error {
	if r.device.Around != nil && record.Op != command.OpWaitEvents {
		defer r.device.Around(r.queue)()
	}
	if r.pieces.mu != nil {
		return r.whole(record)
	}
	return r.perform(record)
}

// perform does what a record says. Those of dispatches are here; the other kinds follow below, family by family.
func (r *replay) perform(record *command.Record) error {
	switch record.Op {
	case command.OpBindPipeline:
		if c := new(command.BindPipeline); record.BindPipeline(c) {
			return r.bindPipeline(c)
		}
	case command.OpBindShaders:
		if c := new(command.BindShaders); record.BindShaders(c) {
			return r.bindShaders(c)
		}
	case command.OpBindDescriptorSets:
		if c := new(command.BindDescriptorSets); record.BindDescriptorSets(c) {
			return r.bindDescriptorSets(c)
		}
	case command.OpPushDescriptorSet:
		if c := new(command.PushDescriptorSet); record.PushDescriptorSet(c) {
			return r.pushDescriptorSet(c)
		}
	case command.OpPushConstants:
		if c := new(command.PushConstants); record.PushConstants(c) {
			return r.pushConstants(c)
		}
	case command.OpDispatch:
		if c := new(command.Dispatch); record.Dispatch(c) {
			return r.dispatch([3]uint32{c.GroupCountX, c.GroupCountY, c.GroupCountZ})
		}
	case command.OpDispatchIndirect:
		if c := new(command.DispatchIndirect); record.DispatchIndirect(c) {
			return r.dispatchIndirect(c)
		}
	case command.OpDispatchBase:
		if c := new(command.DispatchBase); record.DispatchBase(c) {
			return r.dispatchBase([3]uint32{c.BaseGroupX, c.BaseGroupY, c.BaseGroupZ},
				[3]uint32{c.GroupCountX, c.GroupCountY, c.GroupCountZ})
		}
	case command.OpDebugLabel:
		if c := new(command.DebugLabel); record.DebugLabel(c) {
			r.label(c)
			return nil
		}
	case command.OpBarrier:
		if c := new(command.Barrier); record.Barrier(c) {
			r.barrier(c)
			return nil
		}
	default:
		return r.transferCommand(record)
	}
	return r.malformed()
}

// ordered tells who looks for what nothing orders that what comes is ordered behind what was.
func (r *replay) ordered() {
	o := r.device.Order
	if o == nil {
		return
	}
	inside := r.passes.drawn
	r.endAccess()
	o.Barrier(r.queue.Line)
	if inside {
		r.beginAccess()
	}
}

// barrier tells who looks for what nothing orders of a barrier.
func (r *replay) barrier(c *command.Barrier) {
	r.ordered()
	if r.device.Transferred == nil {
		return
	}
	for i := range c.Transfers {
		t := &c.Transfers[i]
		r.device.Transferred(&Access{Queue: r.queue, Device: r.device.Index, Type: t.Type, Handle: t.Handle, Offset: t.Offset,
			Size: t.Size, Command: r.index, Op: r.op}, t)
	}
}

// transferCommand executes a record that moves or clears what is in buffers and images.
func (r *replay) transferCommand(record *command.Record) error {
	switch record.Op {
	case command.OpFillBuffer:
		if c := new(command.FillBuffer); record.FillBuffer(c) {
			return r.fillBuffer(c)
		}
	case command.OpUpdateBuffer:
		if c := new(command.UpdateBuffer); record.UpdateBuffer(c) {
			return r.updateBuffer(c)
		}
	case command.OpCopyBuffer:
		if c := new(command.CopyBuffer); record.CopyBuffer(c) {
			return r.copyBuffer(c)
		}
	case command.OpCopyImage:
		if c := new(command.CopyImage); record.CopyImage(c) {
			return r.copyImage(c)
		}
	case command.OpCopyBufferToImage:
		if c := new(command.CopyBufferToImage); record.CopyBufferToImage(c) {
			return r.copyBufferToImage(c)
		}
	case command.OpCopyImageToBuffer:
		if c := new(command.CopyImageToBuffer); record.CopyImageToBuffer(c) {
			return r.copyImageToBuffer(c)
		}
	case command.OpBlitImage:
		if c := new(command.BlitImage); record.BlitImage(c) {
			return r.blitImage(c)
		}
	case command.OpResolveImage:
		if c := new(command.ResolveImage); record.ResolveImage(c) {
			return r.resolveImage(c)
		}
	case command.OpClearColorImage:
		if c := new(command.ClearColorImage); record.ClearColorImage(c) {
			return r.clearColorImage(c)
		}
	case command.OpClearDepthStencilImage:
		if c := new(command.ClearDepthStencilImage); record.ClearDepthStencilImage(c) {
			return r.clearDepthStencilImage(c)
		}
	case command.OpBeginRenderPass, command.OpBeginRendering, command.OpNextSubpass, command.OpEndRenderPass,
		command.OpEndRendering, command.OpClearAttachments:
		return r.passCommand(record)
	default:
		if r.device.Graphics && forGraphics(record.Op) {
			return r.graphicsCommand(record)
		}
		return r.eventCommand(record)
	}
	return r.malformed()
}

// eventCommand executes a record of events, queries and markers.
func (r *replay) eventCommand(record *command.Record) error {
	switch record.Op {
	case command.OpSetEvent:
		if c := new(command.SetEvent); record.SetEvent(c) {
			return r.setEvent(c.Event, true, vk.VUID_vkCmdSetEvent_event_parameter)
		}
	case command.OpResetEvent:
		if c := new(command.ResetEvent); record.ResetEvent(c) {
			return r.setEvent(c.Event, false, vk.VUID_vkCmdResetEvent_event_parameter)
		}
	case command.OpWaitEvents:
		if c := new(command.WaitEvents); record.WaitEvents(c) {
			return r.waitEvents(c.Events)
		}
	case command.OpResetQueryPool:
		if c := new(command.ResetQueryPool); record.ResetQueryPool(c) {
			return r.resetQueryPool(c)
		}
	case command.OpWriteTimestamp:
		if c := new(command.WriteTimestamp); record.WriteTimestamp(c) {
			return r.writeTimestamp(c.QueryPool, c.Query, vk.VUID_vkCmdWriteTimestamp_queryPool_parameter,
				&CmdWriteTimestampRules)
		}
	case command.OpWriteTimestamp2:
		if c := new(command.WriteTimestamp2); record.WriteTimestamp2(c) {
			return r.writeTimestamp(c.QueryPool, c.Query, vk.VUID_vkCmdWriteTimestamp2_queryPool_parameter,
				&cmdWriteTimestamp2Rules)
		}
	case command.OpCopyQueryPoolResults:
		if c := new(command.CopyQueryPoolResults); record.CopyQueryPoolResults(c) {
			return r.copyQueryPoolResults(c)
		}
	case command.OpWriteBufferMarkerAMD:
		if c := new(command.WriteBufferMarkerAMD); record.WriteBufferMarkerAMD(c) {
			return r.writeBufferMarker(c)
		}
	}
	return r.malformed()
}

// invalid is a rule that the command which is executed breaks.
func invalid(rule vk.VUID, format string, args ...any) error {
	return vk.Errorf(vk.ERROR_DEVICE_LOST, rule, format, args...)
}

// commonParents are the rules that what a command names is of the command buffer's device.
var commonParents = [...]vk.VUID{
	command.OpFillBuffer:               vk.VUID_vkCmdFillBuffer_commonparent,
	command.OpUpdateBuffer:             vk.VUID_vkCmdUpdateBuffer_commonparent,
	command.OpCopyBuffer:               vk.VUID_vkCmdCopyBuffer_commonparent,
	command.OpCopyImage:                vk.VUID_vkCmdCopyImage_commonparent,
	command.OpBlitImage:                vk.VUID_vkCmdBlitImage_commonparent,
	command.OpCopyBufferToImage:        vk.VUID_vkCmdCopyBufferToImage_commonparent,
	command.OpCopyImageToBuffer:        vk.VUID_vkCmdCopyImageToBuffer_commonparent,
	command.OpClearColorImage:          vk.VUID_vkCmdClearColorImage_commonparent,
	command.OpClearDepthStencilImage:   vk.VUID_vkCmdClearDepthStencilImage_commonparent,
	command.OpResolveImage:             vk.VUID_vkCmdResolveImage_commonparent,
	command.OpSetEvent:                 vk.VUID_vkCmdSetEvent_commonparent,
	command.OpResetEvent:               vk.VUID_vkCmdResetEvent_commonparent,
	command.OpWaitEvents:               vk.VUID_vkCmdWaitEvents_commonparent,
	command.OpResetQueryPool:           vk.VUID_vkCmdResetQueryPool_commonparent,
	command.OpWriteTimestamp:           vk.VUID_vkCmdWriteTimestamp_commonparent,
	command.OpWriteTimestamp2:          vk.VUID_vkCmdWriteTimestamp2_commonparent,
	command.OpCopyQueryPoolResults:     vk.VUID_vkCmdCopyQueryPoolResults_commonparent,
	command.OpWriteBufferMarkerAMD:     vk.VUID_vkCmdWriteBufferMarkerAMD_commonparent,
	command.OpBindPipeline:             vk.VUID_vkCmdBindPipeline_commonparent,
	command.OpBindDescriptorSets:       vk.VUID_vkCmdBindDescriptorSets_commonparent,
	command.OpDispatchIndirect:         vk.VUID_vkCmdDispatchIndirect_commonparent,
	command.OpExecuteCommands:          vk.VUID_vkCmdExecuteCommands_commonparent,
	command.OpBindIndexBuffer:          vk.VUID_vkCmdBindIndexBuffer_buffer_parameter,
	command.OpBindIndexBuffer2:         vk.VUID_vkCmdBindIndexBuffer2_buffer_parameter,
	command.OpDrawIndirect:             vk.VUID_vkCmdDrawIndirect_commonparent,
	command.OpDrawIndexedIndirect:      vk.VUID_vkCmdDrawIndexedIndirect_commonparent,
	command.OpDrawIndirectCount:        vk.VUID_vkCmdDrawIndirectCount_commonparent,
	command.OpDrawIndexedIndirectCount: vk.VUID_vkCmdDrawIndexedIndirectCount_commonparent,
	command.OpBeginQuery:               vk.VUID_vkCmdBeginQuery_commonparent,
	command.OpEndQuery:                 vk.VUID_vkCmdEndQuery_commonparent,
}

func commonParent(op command.Op) vk.VUID {
	switch {
	case op == command.OpBindShaders:
		return vk.VUID_vkCmdBindShadersEXT_commonparent
	case op == command.OpBeginRenderPass:
		return vk.VUID_VkRenderPassBeginInfo_commonparent
	case op == command.OpBeginRendering:
		return vk.VUID_VkRenderingAttachmentInfo_commonparent
	case int(op) < len(commonParents):
		return commonParents[op]
	}
	return vk.VUID_vkCmdBindVertexBuffers_commonparent
}

// missing is the error of an object that Resources does not have. The rule is exists, unless the error has its own, or
// the object is another device's.
func (r *replay) missing(exists vk.VUID, err error) error {
	rule := exists
	switch {
	case errors.Is(err, ErrForeign):
		rule = commonParent(r.op)
	case vk.VUIDOf(err) != vk.NoVUID:
		rule = vk.VUIDOf(err)
	}
	return invalid(rule, "%s: %w", exists.Subject(), err)
}

func (r *replay) fillBuffer(c *command.FillBuffer) error {
	dst, err := r.bytes(c.DstBuffer, vk.VUID_vkCmdFillBuffer_dstBuffer_parameter, bufferDst,
		vk.VUID_vkCmdFillBuffer_dstBuffer_00029)
	if err != nil {
		return err
	}
	length, size := uint64(len(dst)), c.Size
	if c.DstOffset >= length {
		return invalid(vk.VUID_vkCmdFillBuffer_dstOffset_00024, "dstOffset %d is not within the buffer of %d bytes",
			c.DstOffset, length)
	}
	if c.DstOffset%4 != 0 {
		return invalid(vk.VUID_vkCmdFillBuffer_dstOffset_00025, "dstOffset %d is no multiple of 4", c.DstOffset)
	}
	switch {
	case size == vk.WHOLE_SIZE:
		size = (length - c.DstOffset) &^ 3
	case size == 0:
		return invalid(vk.VUID_vkCmdFillBuffer_size_00026, "size is 0")
	case size > length-c.DstOffset:
		return invalid(vk.VUID_vkCmdFillBuffer_size_00027, "%d bytes from dstOffset %d reach beyond the buffer of %d bytes",
			size, c.DstOffset, length)
	case size%4 != 0:
		return invalid(vk.VUID_vkCmdFillBuffer_size_00028, "size %d is no multiple of 4", size)
	}
	r.accessed(c.DstBuffer, c.DstOffset, size, false, true)
	transfer.Fill(dst[c.DstOffset:c.DstOffset+size], c.Data)
	return nil
}

func (r *replay) updateBuffer(c *command.UpdateBuffer) error {
	dst, err := r.bytes(c.DstBuffer, vk.VUID_vkCmdUpdateBuffer_dstBuffer_parameter, bufferDst,
		vk.VUID_vkCmdUpdateBuffer_dstBuffer_00034)
	if err != nil {
		return err
	}
	length, size := uint64(len(dst)), uint64(len(c.Data))
	switch {
	case c.DstOffset >= length:
		return invalid(vk.VUID_vkCmdUpdateBuffer_dstOffset_00032, "dstOffset %d is not within the buffer of %d bytes",
			c.DstOffset, length)
	case size > length-c.DstOffset:
		return invalid(vk.VUID_vkCmdUpdateBuffer_dataSize_00033,
			"%d bytes from dstOffset %d reach beyond the buffer of %d bytes", size, c.DstOffset, length)
	case c.DstOffset%4 != 0:
		return invalid(vk.VUID_vkCmdUpdateBuffer_dstOffset_00036, "dstOffset %d is no multiple of 4", c.DstOffset)
	}
	r.accessed(c.DstBuffer, c.DstOffset, size, false, true)
	copy(dst[c.DstOffset:], c.Data)
	return nil
}

func (r *replay) copyBuffer(c *command.CopyBuffer) error {
	src, err := r.bytes(c.SrcBuffer, vk.VUID_vkCmdCopyBuffer_srcBuffer_parameter, bufferSrc,
		vk.VUID_vkCmdCopyBuffer_srcBuffer_00118)
	if err != nil {
		return err
	}
	dst, err := r.bytes(c.DstBuffer, vk.VUID_vkCmdCopyBuffer_dstBuffer_parameter, bufferDst,
		vk.VUID_vkCmdCopyBuffer_dstBuffer_00120)
	if err != nil {
		return err
	}
	if r.device.Watch != nil {
		for _, g := range c.Regions {
			r.accessed(c.SrcBuffer, g.SrcOffset, g.Size, true, false)
			r.accessed(c.DstBuffer, g.DstOffset, g.Size, false, true)
		}
	}
	return transfer.CopyBuffer(dst, src, c.Regions)
}

func (r *replay) copyImage(c *command.CopyImage) error {
	src, err := r.texels(c.SrcImage, vk.VUID_vkCmdCopyImage_srcImage_parameter, imageSrc,
		vk.VUID_vkCmdCopyImage_aspect_06662)
	if err != nil {
		return err
	}
	dst, err := r.texels(c.DstImage, vk.VUID_vkCmdCopyImage_dstImage_parameter, imageDst,
		vk.VUID_vkCmdCopyImage_aspect_06663)
	if err != nil {
		return err
	}
	accessedImages(r, c.DstImage, c.SrcImage, c.Regions, func(g *vk.ImageCopy) (dst, src vk.ImageSubresourceLayers) {
		return g.DstSubresource, g.SrcSubresource
	})
	return transfer.CopyImage(dst, src, c.Regions)
}

func (r *replay) copyBufferToImage(c *command.CopyBufferToImage) error {
	src, err := r.bytes(c.SrcBuffer, vk.VUID_vkCmdCopyBufferToImage_srcBuffer_parameter, bufferSrc,
		vk.VUID_vkCmdCopyBufferToImage_srcBuffer_00174)
	if err != nil {
		return err
	}
	dst, err := r.texels(c.DstImage, vk.VUID_vkCmdCopyBufferToImage_dstImage_parameter, imageDst,
		vk.VUID_vkCmdCopyBufferToImage_dstImage_00177)
	if err != nil {
		return err
	}
	r.accessedRegions(c.SrcBuffer, dst.Format, c.Regions, true, false)
	accessedLayers(r, c.DstImage, c.Regions, imageSide, false, true)
	return transfer.CopyBufferToImage(dst, src, c.Regions)
}

func imageSide(g *vk.BufferImageCopy) vk.ImageSubresourceLayers { return g.ImageSubresource }

func (r *replay) copyImageToBuffer(c *command.CopyImageToBuffer) error {
	src, err := r.texels(c.SrcImage, vk.VUID_vkCmdCopyImageToBuffer_srcImage_parameter, imageSrc,
		vk.VUID_vkCmdCopyImageToBuffer_srcImage_00186)
	if err != nil {
		return err
	}
	dst, err := r.bytes(c.DstBuffer, vk.VUID_vkCmdCopyImageToBuffer_dstBuffer_parameter, bufferDst,
		vk.VUID_vkCmdCopyImageToBuffer_dstBuffer_00191)
	if err != nil {
		return err
	}
	r.accessedRegions(c.DstBuffer, src.Format, c.Regions, false, true)
	accessedLayers(r, c.SrcImage, c.Regions, imageSide, true, false)
	return transfer.CopyImageToBuffer(dst, src, c.Regions)
}

func (r *replay) blitImage(c *command.BlitImage) error {
	src, err := r.texels(c.SrcImage, vk.VUID_vkCmdBlitImage_srcImage_parameter, imageSrc,
		vk.VUID_vkCmdBlitImage_srcImage_00219)
	if err != nil {
		return err
	}
	dst, err := r.texels(c.DstImage, vk.VUID_vkCmdBlitImage_dstImage_parameter, imageDst,
		vk.VUID_vkCmdBlitImage_dstImage_00224)
	if err != nil {
		return err
	}
	accessedImages(r, c.DstImage, c.SrcImage, c.Regions, func(g *vk.ImageBlit) (dst, src vk.ImageSubresourceLayers) {
		return g.DstSubresource, g.SrcSubresource
	})
	return transfer.Blit(dst, src, c.Regions, c.Filter)
}

func (r *replay) resolveImage(c *command.ResolveImage) error {
	src, err := r.texels(c.SrcImage, vk.VUID_vkCmdResolveImage_srcImage_parameter, imageSrc,
		vk.VUID_vkCmdResolveImage_srcImage_06762)
	if err != nil {
		return err
	}
	dst, err := r.texels(c.DstImage, vk.VUID_vkCmdResolveImage_dstImage_parameter, imageDst,
		vk.VUID_vkCmdResolveImage_dstImage_06764)
	if err != nil {
		return err
	}
	accessedImages(r, c.DstImage, c.SrcImage, c.Regions, func(g *vk.ImageResolve) (dst, src vk.ImageSubresourceLayers) {
		return g.DstSubresource, g.SrcSubresource
	})
	return transfer.Resolve(dst, src, c.Regions)
}

func (r *replay) clearColorImage(c *command.ClearColorImage) error {
	dst, err := r.texels(c.Image, vk.VUID_vkCmdClearColorImage_image_parameter, imageDst,
		vk.VUID_vkCmdClearColorImage_image_00002)
	if err != nil {
		return err
	}
	r.accessedImage(c.Image, false, true)
	return transfer.ClearColor(dst, c.Color, c.Ranges)
}

func (r *replay) clearDepthStencilImage(c *command.ClearDepthStencilImage) error {
	dst, err := r.texels(c.Image, vk.VUID_vkCmdClearDepthStencilImage_image_parameter, imageDst,
		vk.VUID_vkCmdClearDepthStencilImage_pRanges_02659)
	if err != nil {
		return err
	}
	r.accessedImage(c.Image, false, true)
	return transfer.ClearDepthStencil(dst, c.DepthStencil, c.Ranges)
}

func (r *replay) event(h vk.Event, exists vk.VUID) (*syncobj.Payload, error) {
	p, err := r.device.Resources.Event(h)
	if err != nil {
		return nil, r.missing(exists, err)
	}
	return p, nil
}

func (r *replay) setEvent(h vk.Event, set bool, exists vk.VUID) error {
	p, err := r.event(h, exists)
	if err != nil {
		return err
	}
	defer p.Release()
	if !set {
		p.Reset()
		return nil
	}
	if o := r.device.Order; o != nil {
		o.Signal(r.queue.Line, OrderKey(p), 0)
	}
	return p.Signal(1)
}

func (r *replay) waitEvents(events []vk.Event) error {
	r.points = r.points[:0]
	defer func() {
		for _, p := range r.points {
			p.Payload.Release()
		}
	}()
	for _, h := range events {
		p, err := r.event(h, vk.VUID_vkCmdWaitEvents_pEvents_parameter)
		if err != nil {
			return err
		}
		r.points = append(r.points, syncobj.Point{Payload: p, Value: 1})
	}
	if err := syncobj.Wait(r.points, true, math.MaxUint64, r.device.Stop); err != nil {
		return err
	}
	if o := r.device.Order; o != nil {
		for _, p := range r.points {
			o.Wait(r.queue.Line, OrderKey(p.Payload), 0)
		}
	}
	return nil
}

func (r *replay) pool(h vk.QueryPool, exists vk.VUID) (*QueryPool, error) {
	p, err := r.device.Resources.QueryPool(h)
	if err != nil {
		return nil, r.missing(exists, err)
	}
	return p, nil
}

func (r *replay) resetQueryPool(c *command.ResetQueryPool) error {
	p, err := r.pool(c.QueryPool, vk.VUID_vkCmdResetQueryPool_queryPool_parameter)
	if err != nil {
		return err
	}
	return p.Reset(c.FirstQuery, c.QueryCount, &cmdResetQueryPoolRules)
}

func (r *replay) writeTimestamp(h vk.QueryPool, query uint32, exists vk.VUID, rules *QueryRules) error {
	p, err := r.pool(h, exists)
	if err != nil {
		return err
	}
	// In a pass with several views it is a query for each; only the first has to be the time ("Timestamp Queries").
	views, now := r.views(), Now()
	if uint64(query)+uint64(views) > uint64(len(p.queries)) && int(query) < len(p.queries) {
		return invalid(rules.Views, "%d views from query %d on are more than the pool of %d has", views, query,
			len(p.queries))
	}
	for i := range views {
		if err := p.Write(query+i, now, rules); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) copyQueryPoolResults(c *command.CopyQueryPoolResults) error {
	p, err := r.pool(c.QueryPool, vk.VUID_vkCmdCopyQueryPoolResults_queryPool_parameter)
	if err != nil {
		return err
	}
	dst, err := r.bytes(c.DstBuffer, vk.VUID_vkCmdCopyQueryPoolResults_dstBuffer_parameter, bufferDst,
		vk.VUID_vkCmdCopyQueryPoolResults_dstBuffer_00825)
	if err != nil {
		return err
	}
	if c.DstOffset >= uint64(len(dst)) {
		return invalid(vk.VUID_vkCmdCopyQueryPoolResults_dstOffset_00819, "dstOffset %d is not within the buffer of %d bytes",
			c.DstOffset, len(dst))
	}
	r.accessed(c.DstBuffer, c.DstOffset, uint64(c.QueryCount)*c.Stride, false, true)
	err = p.Results(c.FirstQuery, c.QueryCount, dst[c.DstOffset:], c.Stride, c.Flags, r.device.Stop,
		&cmdCopyQueryPoolResultsRules)
	if errors.Is(err, ErrNotReady) {
		return nil // what is available is copied, and a command has nobody to tell about the rest
	}
	return err
}

func (r *replay) writeBufferMarker(c *command.WriteBufferMarkerAMD) error {
	dst, err := r.bytes(c.DstBuffer, vk.VUID_vkCmdWriteBufferMarkerAMD_dstBuffer_parameter, bufferDst,
		vk.VUID_vkCmdWriteBufferMarkerAMD_dstBuffer_01799)
	if err != nil {
		return err
	}
	length := uint64(len(dst))
	switch {
	case length < 4 || c.DstOffset > length-4:
		return invalid(vk.VUID_vkCmdWriteBufferMarkerAMD_dstOffset_01798,
			"4 bytes from dstOffset %d reach beyond the buffer of %d bytes", c.DstOffset, length)
	case c.DstOffset%4 != 0:
		return invalid(vk.VUID_vkCmdWriteBufferMarkerAMD_dstOffset_01801, "dstOffset %d is no multiple of 4", c.DstOffset)
	}
	r.accessed(c.DstBuffer, c.DstOffset, 4, false, true)
	// Somebody may be polling the word while the queue runs.
	atomic.StoreUint32(word(dst[c.DstOffset:]), c.Marker)
	return nil
}

// label follows the debug label regions. One begun in another command buffer may end in this one.
func (r *replay) label(c *command.DebugLabel) {
	switch {
	case c.Kind == command.LabelBegin:
		r.labels = append(r.labels, string(c.Name))
	case c.Kind == command.LabelEnd && len(r.labels) > 0:
		r.labels = r.labels[:len(r.labels)-1]
	}
}
