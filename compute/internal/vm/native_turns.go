package vm

import (
	"slices"

	"farside/compute/internal/native"
	"farside/compute/internal/program"
)

// Lanes of a loop with atomics may wait for what lanes of other chunks do in it. In such a region chunks take turns:
// one that has used up its rounds waits while the others have theirs. So each lane goes on as often as where all lanes
// go round together, within a factor.

// turnRounds is how often loops go round in a turn.
const turnRounds = 1 << 8

// turn is a chunk, or a pair of chunks, that waits for its turn.
type turn struct {
	at    native.Region
	chunk int
	state []byte
}

// turns are what a worker needs for regions whose chunks take turns.
type turns struct {
	waiting []turn
	free    [][]byte // states that nothing waits with
	first   []byte   // the state with which each chunk begins
}

// sharedIn are the registers that a loop writes and all lanes share.
func sharedIn(p *program.Program, l loopSpan) []program.Register {
	var list []program.Register
	for i := l.first; i < l.end; i++ {
		in := &p.Insts[i]
		if _, control := regionControls[in.Code]; !control && in.Dst.Size > 0 && in.Dst.Uniform() &&
			!slices.Contains(list, in.Dst) {
			list = append(list, in.Dst)
		}
	}
	return list
}

// saveTurn appends what a chunk under way has that others overwrite: registers that all lanes share, and what lies
// behind the registers.
func (w *worker) saveTurn(r *region, to []byte) []byte {
	for _, s := range r.shared {
		to = append(to, w.file[s.Offset:s.Offset+s.Size]...)
	}
	return append(to, w.file[w.program.FileSize:]...)
}

func (w *worker) loadTurn(r *region, from []byte) {
	for _, s := range r.shared {
		from = from[copy(w.file[s.Offset:s.Offset+s.Size], from):]
	}
	copy(w.file[w.program.FileSize:], from)
}

// runTurns executes a region whose chunks take turns. It says whether that came to its end.
func (w *worker) runTurns(r *region) bool {
	t := &w.turns
	t.waiting = t.waiting[:0]
	t.first = w.saveTurn(r, t.first[:0])
	first, end := w.active.first, w.active.end
	for next := first; next < end; {
		at, ok := w.takeTurn(r, native.Region{}, next, end-next)
		if !ok {
			return false
		}
		if at.Ended() {
			break
		}
		chunk := w.native.Paused(w.file)
		t.waiting = append(t.waiting, turn{at, chunk, w.saveTurn(r, t.take())})
		w.loadTurn(r, t.first)
		chunks := 1
		if w.native.Pairs(r.run) && (chunk-next)%2 == 0 && chunk+1 < end {
			chunks = 2
		}
		next = chunk + chunks
	}
	for len(t.waiting) > 0 {
		left := t.waiting[:0]
		for _, x := range t.waiting {
			w.loadTurn(r, x.state)
			at, ok := w.takeTurn(r, x.at, x.chunk, 1)
			if !ok {
				return false
			}
			if at.Ended() {
				t.free = append(t.free, x.state)
				continue
			}
			x.at, x.state = at, w.saveTurn(r, x.state[:0])
			left = append(left, x)
		}
		t.waiting = left
	}
	return true
}

// take gives memory for a state.
func (t *turns) take() (state []byte) {
	if last := len(t.free) - 1; last >= 0 {
		state, t.free = t.free[last][:0], t.free[:last]
	}
	return state
}

// takeTurn executes a region for chunks until it pauses. It says whether it is to go on.
func (w *worker) takeTurn(r *region, at native.Region, first, n int) (native.Region, bool) {
	for {
		var loop int32
		at, loop = w.runPart(r, w.mode(), w.mask, first, n, turnRounds, at)
		if at.Ended() {
			return at, true
		}
		if loop >= 0 {
			return at, !w.tick(ticks*turnRounds/regionRounds, loop)
		}
		w.missed()
	}
}
