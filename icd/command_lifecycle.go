package icd

import (
	"sync/atomic"

	"farside/internal/command"
	"farside/internal/vk"
)

// bufferState is a state of a command buffer's lifecycle (chapter "Command Buffers"). Pending is not one of
// them: a buffer is pending while its executions are counted, whatever happens to it meanwhile.
type bufferState uint32

const (
	stateInitial bufferState = iota
	stateRecording
	stateSpoiled // recording, but a command buffer that it executes is gone: it cannot become executable
	stateExecutable
	stateInvalid
	stateFreed bufferState = 1<<8 - 1 // the handle is gone
)

// executions begin above the state in a lifecycle's word.
const oneExecution = 1 << 8

// lifecycle is a state and the number of executions under way in one word, so that a submission by one thread
// and a reset by another cannot both succeed.
type lifecycle struct{ word atomic.Uint32 }

func (l *lifecycle) state() bufferState { return bufferState(l.word.Load() % oneExecution) }
func (l *lifecycle) pending() bool      { return l.word.Load() >= oneExecution }
func (l *lifecycle) recording() bool    { return l.state() == stateRecording || l.state() == stateSpoiled }

// change replaces the word by what f makes of it, and returns both. f returns its argument to change nothing.
func (l *lifecycle) change(f func(executions uint32, s bufferState) (uint32, bufferState)) (before, after uint32) {
	for {
		before = l.word.Load()
		n, s := f(before/oneExecution, bufferState(before%oneExecution))
		after = n*oneExecution + uint32(s)
		if l.word.CompareAndSwap(before, after) {
			return before, after
		}
	}
}

// set moves to a state. It returns false, and nothing changes, while the buffer is pending.
func (l *lifecycle) set(to bufferState) bool {
	before, _ := l.change(func(n uint32, s bufferState) (uint32, bufferState) {
		if n > 0 {
			return n, s
		}
		return 0, to
	})
	return before < oneExecution
}

// free moves to stateFreed. It returns false while the buffer is pending: its last execution ends it then.
func (l *lifecycle) free() bool {
	before, _ := l.change(func(n uint32, _ bufferState) (uint32, bufferState) { return n, stateFreed })
	return before < oneExecution
}

// spoil takes from a buffer what it executes.
func (l *lifecycle) spoil() {
	l.change(func(n uint32, s bufferState) (uint32, bufferState) {
		switch s {
		case stateRecording:
			s = stateSpoiled
		case stateExecutable:
			s = stateInvalid
		}
		return n, s
	})
}

// finish ends a recording. It returns false when the buffer was spoiled, and is invalid now.
func (l *lifecycle) finish() bool {
	_, after := l.change(func(n uint32, s bufferState) (uint32, bufferState) {
		if s == stateRecording {
			return n, stateExecutable
		}
		return n, stateInvalid
	})
	return bufferState(after%oneExecution) == stateExecutable
}

// begin counts an execution, which only an executable buffer can have, and a second one at a time only where
// simultaneous. It returns what it found and whether it counted.
func (l *lifecycle) begin(simultaneous bool) (found bufferState, ok bool) {
	before, after := l.change(func(n uint32, s bufferState) (uint32, bufferState) {
		if s == stateExecutable && (n == 0 || simultaneous) {
			n++
		}
		return n, s
	})
	return bufferState(before % oneExecution), before != after
}

// end counts an execution down. The last one makes a buffer for one submission invalid. It returns the state
// that it left the buffer in for others to use, stateExecutable while it is pending.
func (l *lifecycle) end(oneTime bool) bufferState {
	_, after := l.change(func(n uint32, s bufferState) (uint32, bufferState) {
		if n == 1 && oneTime && s == stateExecutable {
			s = stateInvalid
		}
		return n - 1, s
	})
	if after >= oneExecution {
		return stateExecutable
	}
	return bufferState(after)
}

// reset moves the buffer to its initial state. It returns false, and nothing changes, while it is pending.
func (b *commandBuffer) reset() bool {
	if !b.life.set(stateInitial) {
		return false
	}
	b.clear()
	return true
}

// free ends the buffer. It returns false when that must wait for the buffer's executions to end.
func (b *commandBuffer) free() bool {
	if b.life.free() {
		b.clear()
		return true
	}
	b.spoilPrimaries()
	return false
}

// clear drops what was recorded.
func (b *commandBuffer) clear() {
	b.stream.Reset()
	b.err = nil
	b.usage.Store(0)
	for _, s := range b.secondaries {
		s.mu.Lock()
		delete(s.primaries, b)
		s.mu.Unlock()
	}
	clear(b.secondaries)
	b.secondaries = b.secondaries[:0]
	b.spoilPrimaries()
}

// execute notes that b executes s.
func (b *commandBuffer) execute(s *commandBuffer) {
	b.secondaries = append(b.secondaries, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.primaries == nil {
		s.primaries = map[*commandBuffer]struct{}{}
	}
	s.primaries[b] = struct{}{}
}

// spoilPrimaries takes b from those that execute it: when a secondary command buffer leaves the executable
// state, the primary ones that it was recorded to become invalid.
func (b *commandBuffer) spoilPrimaries() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.primaries {
		p.life.spoil()
	}
	clear(b.primaries)
}

// beginPending counts an execution of b, and of the secondary command buffers in it, for a submission. Each
// success is matched by one call of Completed.
func (b *commandBuffer) beginPending(rules *submitRules) error {
	if b.level != vk.COMMAND_BUFFER_LEVEL_PRIMARY {
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.level, "command buffer %#x is a secondary one", uint64(b.handle))
	}
	if found, ok := b.life.begin(b.simultaneous()); !ok {
		return b.notExecutable(found, rules.state, rules.simultaneous)
	}
	for i, s := range b.secondaries {
		if found, ok := s.life.begin(s.simultaneous()); !ok {
			for _, begun := range b.secondaries[:i] {
				begun.ended(false)
			}
			b.ended(false)
			return s.notExecutable(found, rules.secondaryState, rules.secondarySimultaneous)
		}
	}
	return nil
}

func (b *commandBuffer) recordedFor(usage vk.CommandBufferUsageFlags) bool {
	return b.usage.Load()&uint32(usage) != 0
}

func (b *commandBuffer) simultaneous() bool {
	return b.recordedFor(vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)
}

// notExecutable says why no execution can begin.
func (b *commandBuffer) notExecutable(found bufferState, stateRule, simultaneousRule vk.VUID) error {
	if found == stateExecutable {
		return vk.Errorf(vk.ERROR_UNKNOWN, simultaneousRule,
			"command buffer %#x is pending and was not recorded for simultaneous use", uint64(b.handle))
	}
	return vk.Errorf(vk.ERROR_UNKNOWN, stateRule, "command buffer %#x is not executable: it %v", uint64(b.handle), found)
}

// String completes "the command buffer …".
func (s bufferState) String() string {
	switch s {
	case stateInitial:
		return "holds no commands"
	case stateRecording, stateSpoiled:
		return "is being recorded"
	case stateExecutable:
		return "is executable"
	case stateFreed:
		return "was freed"
	}
	return "is invalid: it was recorded for one submission, or with an error, " +
		"or something that it executes was reset or freed"
}

// Stream returns what the buffer holds. It does not change while the buffer is pending.
func (b *commandBuffer) Stream() *command.Stream { return b.stream }

// Completed ends an execution that beginPending began. One that did not happen leaves what was recorded for one
// submission as it is.
func (b *commandBuffer) Completed(executed bool) {
	for _, s := range b.secondaries {
		s.ended(executed)
	}
	b.ended(executed)
}

// ended counts one execution of this buffer alone down.
func (b *commandBuffer) ended(executed bool) {
	switch b.life.end(executed && b.recordedFor(vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)) {
	case stateInvalid:
		b.spoilPrimaries()
	case stateFreed:
		b.clear()
	}
}
