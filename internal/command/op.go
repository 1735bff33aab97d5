package command

import "strconv"

// Op says which command a record holds.
type Op uint32

// The commands that streams hold. OpDebugLabel, OpPushDescriptorSet, OpBarrier, OpDeviceMask, OpSetState,
// OpBindVertexBuffers2, OpDrawMulti, OpSetLocations, OpBindShaders, OpSetInputs, OpBeginRenderPass and OpBeginRendering
// are the other records. icdgen reads this list, and writes a structure, an encoder and a decoder for each.
const (
	OpFillBuffer Op = iota + 1
	OpUpdateBuffer
	OpCopyBuffer
	OpCopyImage
	OpBlitImage
	OpCopyBufferToImage
	OpCopyImageToBuffer
	OpClearColorImage
	OpClearDepthStencilImage
	OpResolveImage
	OpSetEvent
	OpResetEvent
	OpWaitEvents
	OpResetQueryPool
	OpWriteTimestamp
	OpWriteTimestamp2
	OpCopyQueryPoolResults
	OpExecuteCommands
	OpWriteBufferMarkerAMD
	OpBindPipeline
	OpBindDescriptorSets
	OpPushConstants
	OpDispatch
	OpDispatchIndirect
	OpDispatchBase
	OpBindIndexBuffer
	OpBindIndexBuffer2
	OpSetViewport
	OpSetScissor
	OpSetViewportWithCount
	OpSetScissorWithCount
	OpDraw
	OpDrawIndexed
	OpDrawIndirect
	OpDrawIndexedIndirect
	OpDrawIndirectCount
	OpDrawIndexedIndirectCount
	OpBeginQuery
	OpEndQuery
	OpNextSubpass
	OpEndRenderPass
	OpEndRendering
	OpClearAttachments
)

// String returns the command's name.
func (o Op) String() string {
	switch {
	case o == OpDebugLabel:
		return "debug label"
	case o == OpBarrier:
		return "pipeline barrier"
	case o == OpDeviceMask:
		return "vkCmdSetDeviceMask"
	case o == OpPushDescriptorSet:
		return "vkCmdPushDescriptorSet"
	case o == OpSetState:
		return "dynamic state"
	case o == OpBindVertexBuffers2:
		return "vkCmdBindVertexBuffers2"
	case o == OpDrawMulti:
		return "vkCmdDrawMultiEXT"
	case o == OpSetLocations:
		return "vkCmdSetRenderingAttachmentLocations"
	case o == OpSetInputs:
		return "vkCmdSetRenderingInputAttachmentIndices"
	case o == OpBindShaders:
		return "vkCmdBindShadersEXT"
	case o == OpBeginRenderPass:
		return "vkCmdBeginRenderPass"
	case o == OpBeginRendering:
		return "vkCmdBeginRendering"
	case o == 0 || o >= Op(len(opNames)):
		return "Op(" + strconv.FormatUint(uint64(o), 10) + ")"
	}
	return opNames[o]
}
