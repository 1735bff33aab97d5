package command

// OpBarrier is a record that stands for vkCmdPipelineBarrier and vkCmdPipelineBarrier2. A queue does nothing for it, since
// it keeps its commands in order; only who looks for what nothing orders (strictness) records it.
const OpBarrier Op = 1<<16 + 2

// Barrier records a pipeline barrier. It fails with ErrMemory.
func (s *Stream) Barrier() error { return s.add(OpBarrier, nil) }
