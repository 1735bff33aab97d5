package exec

import (
	"farside/internal/command"
	"farside/internal/vk"
)

const (
	// immediateBytes is how much a submission may move on the thread that submits it: some 20 µs, about what
	// waking another thread and waiting for it costs.
	immediateBytes = 256 << 10
	// commandBytes is what a command costs apart from what it moves, as bytes.
	commandBytes = 256
	// regionBytes stands for one region of an image command, whose size is not worth computing here.
	regionBytes = 64 << 10
	// What a workgroup, an instruction and eight lanes of it cost, as bytes.
	groupBytes = 4096
	instBytes  = 64
	chunkBytes = 32
)

// immediate says whether a stream is short and cannot block, so that the submitting thread may execute it.
func immediate(s *command.Stream, r Resources) bool {
	left := int64(immediateBytes)
	var pipeline *Pipeline
	for record := range s.Records() {
		pipeline = boundForCompute(record, r, pipeline)
		bytes, blocks := cost(record, r, pipeline)
		if left -= commandBytes; blocks || bytes > uint64(left) {
			return false
		}
		left -= int64(bytes)
		if left < 0 {
			return false
		}
	}
	return true
}

// boundForCompute is the compute pipeline that is bound after a command. Executing the stream finds errors.
func boundForCompute(record *command.Record, r Resources, before *Pipeline) *Pipeline {
	switch record.Op {
	case command.OpBindPipeline:
		c := new(command.BindPipeline)
		record.BindPipeline(c)
		if c.PipelineBindPoint == vk.PIPELINE_BIND_POINT_COMPUTE {
			before, _ = r.Pipeline(c.Pipeline)
		}
	case command.OpBindShaders:
		c := new(command.BindShaders)
		record.BindShaders(c)
		for _, b := range c.Shaders {
			if s, err := r.Shader(b.Shader); err == nil && s.Stage == vk.SHADER_STAGE_COMPUTE_BIT {
				before = &s.compute
			}
		}
	}
	return before
}

// cost estimates the bytes that a command moves. Damaged records cost nothing: executing them finds the damage.
func cost(record *command.Record, r Resources, pipeline *Pipeline) (bytes uint64, blocks bool) {
	switch record.Op {
	case command.OpFillBuffer:
		c := new(command.FillBuffer)
		record.FillBuffer(c)
		if c.Size == vk.WHOLE_SIZE {
			return immediateBytes, false
		}
		return c.Size, false
	case command.OpUpdateBuffer:
		c := new(command.UpdateBuffer)
		record.UpdateBuffer(c)
		return uint64(len(c.Data)), false
	case command.OpCopyBuffer:
		c := new(command.CopyBuffer)
		record.CopyBuffer(c)
		for i := range c.Regions {
			if bytes += c.Regions[i].Size; bytes > immediateBytes {
				break
			}
		}
		return bytes, false
	case command.OpCopyImage:
		c := new(command.CopyImage)
		record.CopyImage(c)
		return regionBytes * uint64(len(c.Regions)), false
	case command.OpCopyBufferToImage:
		c := new(command.CopyBufferToImage)
		record.CopyBufferToImage(c)
		return regionBytes * uint64(len(c.Regions)), false
	case command.OpCopyImageToBuffer:
		c := new(command.CopyImageToBuffer)
		record.CopyImageToBuffer(c)
		return regionBytes * uint64(len(c.Regions)), false
	case command.OpDispatch:
		c := new(command.Dispatch)
		record.Dispatch(c)
		return dispatchCost(pipeline, c.GroupCountX, c.GroupCountY, c.GroupCountZ), false
	case command.OpDispatchBase:
		c := new(command.DispatchBase)
		record.DispatchBase(c)
		return dispatchCost(pipeline, c.GroupCountX, c.GroupCountY, c.GroupCountZ), false
	case command.OpDispatchIndirect: // the size is not known yet
		return immediateBytes + 1, false
	case command.OpBeginRenderPass, command.OpBeginRendering: // with what comes at the end of its subpasses
		return passCost(record, r), false
	case command.OpClearAttachments, command.OpBlitImage, command.OpResolveImage, command.OpClearColorImage,
		command.OpClearDepthStencilImage, command.OpExecuteCommands, command.OpDraw, command.OpDrawIndexed,
		command.OpDrawIndirect, command.OpDrawIndexedIndirect, command.OpDrawIndirectCount,
		command.OpDrawIndexedIndirectCount, command.OpDrawMulti:
		return immediateBytes + 1, false
	case command.OpWaitEvents, command.OpCopyQueryPoolResults:
		return 0, true
	}
	return 0, false
}

// dispatchCost estimates what a dispatch takes, as bytes that could be moved in that time. How often a loop goes round
// is not known: a shader with one takes long.
func dispatchCost(p *Pipeline, x, y, z uint32) uint64 {
	if p == nil || p.Program == nil || x == 0 || y == 0 || z == 0 {
		return 0
	}
	if len(p.Program.Loops) > 0 || max(x, y, z) > immediateBytes/groupBytes {
		return immediateBytes + 1
	}
	if p.Program.LayOut() != nil {
		return 0 // running it says why
	}
	chunks := uint64(p.Program.Lanes+7) / 8
	return uint64(x) * uint64(y) * uint64(z) * (groupBytes + uint64(len(p.Program.Insts))*(instBytes+chunks*chunkBytes))
}
