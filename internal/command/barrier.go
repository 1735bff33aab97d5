package command

import "farside/internal/vk"

// OpBarrier is a record that stands for vkCmdPipelineBarrier and vkCmdPipelineBarrier2. A queue does nothing for it,
// since it keeps its commands in order; only who looks for what nothing orders (strictness) records it.
const OpBarrier Op = 1<<16 + 2

// Transfer is the part of a barrier that releases ownership of a buffer or an image to what is outside of the Vulkan
// instance, or acquires it from there: one of the queue families is Outside.
type Transfer struct {
	Type     vk.ObjectType // a buffer or an image
	Src, Dst uint32        // queue families
	Old, New vk.ImageLayout
	Range    vk.ImageSubresourceRange // of an image
	Handle   uint64
	Offset   uint64 // of a buffer, bytes, as is the size
	Size     uint64 // maybe VK_WHOLE_SIZE
}

// Outside says whether a queue family stands for what is outside of the Vulkan instance.
func Outside(family uint32) bool {
	return family == vk.QUEUE_FAMILY_EXTERNAL || family == vk.QUEUE_FAMILY_FOREIGN_EXT
}

// Barrier records a pipeline barrier with what it hands over. It fails with ErrMemory.
func (s *Stream) Barrier(transfers ...Transfer) error {
	return s.add(OpBarrier, []uint64{uint64(len(transfers))}, bytesOf(transfers))
}

// Barrier is a recorded pipeline barrier.
type Barrier struct {
	Transfers []Transfer // in the stream
}

// Barrier reads a record of a pipeline barrier into c, which is zero. It returns false when the record's length does
// not fit.
func (r *Record) Barrier(c *Barrier) (ok bool) {
	if r.Op != OpBarrier || len(r.words) == 0 {
		return false
	}
	rest := r.words[1:]
	c.Transfers, rest, ok = array[Transfer](rest, r.words[0])
	return ok && len(rest) == 0
}
