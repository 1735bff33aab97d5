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
)

// immediate says whether a stream is short and cannot block, so that the submitting thread may execute it.
func immediate(s *command.Stream) bool {
	left := int64(immediateBytes)
	for record := range s.Records() {
		bytes, blocks := cost(record)
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

// cost estimates the bytes that a command moves. Damaged records cost nothing: executing them finds the damage.
func cost(record command.Record) (bytes uint64, blocks bool) {
	switch record.Op {
	case command.OpFillBuffer:
		c, _ := record.FillBuffer()
		if c.Size == vk.WHOLE_SIZE {
			return immediateBytes, false
		}
		return c.Size, false
	case command.OpUpdateBuffer:
		c, _ := record.UpdateBuffer()
		return uint64(len(c.Data)), false
	case command.OpCopyBuffer:
		c, _ := record.CopyBuffer()
		for i := range c.Regions {
			if bytes += c.Regions[i].Size; bytes > immediateBytes {
				break
			}
		}
		return bytes, false
	case command.OpCopyImage:
		c, _ := record.CopyImage()
		return regionBytes * uint64(len(c.Regions)), false
	case command.OpCopyBufferToImage:
		c, _ := record.CopyBufferToImage()
		return regionBytes * uint64(len(c.Regions)), false
	case command.OpCopyImageToBuffer:
		c, _ := record.CopyImageToBuffer()
		return regionBytes * uint64(len(c.Regions)), false
	case command.OpBlitImage, command.OpResolveImage, command.OpClearColorImage, command.OpClearDepthStencilImage,
		command.OpExecuteCommands:
		return immediateBytes + 1, false
	case command.OpWaitEvents, command.OpCopyQueryPoolResults:
		return 0, true
	}
	return 0, false
}
