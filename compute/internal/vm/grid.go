package vm

import "farside/compute/internal/program"

// walker is compute's driver of a worker: it walks through workgroups, each of which is a batch. All lanes of it run,
// and have effects, and share memory.
type walker struct {
	worker
	dispatch *Dispatch
	builtins builtins
	shared   []byte  // the memory of a workgroup
	sharing  []int32 // slots that are it
}

func newWalker(e *Engine, p *program.Program) *walker {
	w := &walker{shared: aligned(int(p.Shared))}
	w.init(e, p)
	for i := range p.Slots {
		if p.Slots[i].Kind == program.SlotShared {
			w.sharing = append(w.sharing, int32(i))
		}
	}
	w.bindBuiltins()
	return w
}

// begin prepares the walker for a dispatch.
func (w *walker) begin(r *run) {
	w.worker.begin(&r.execution)
	w.dispatch = r.Dispatch
	for _, i := range w.sharing {
		w.slots[i] = slice(w.shared)
	}
	w.beginBuiltins()
}

// end forgets the dispatch.
func (w *walker) end() {
	w.worker.end()
	w.dispatch = nil
}

// groups executes the workgroups from one number to the next, x fastest. It says whether they came to their end.
func (w *walker) groups(from, to uint64) bool {
	size := &w.dispatch.Groups
	row := from / uint64(size[0])
	id := [3]uint32{uint32(from % uint64(size[0])), uint32(row % uint64(size[1])), uint32(row / uint64(size[1]))}
	for from < to {
		n := uint32(1)
		w.beginGroup(&id)
		if w.engine.rows && w.native != nil {
			n = uint32(min(to-from, uint64(size[0]-id[0]), max(ticks, rowTime/w.engine.estimate)))
			w.runGroups(n)
		} else if !w.execute() {
			return false
		}
		w.ended += uint64(n)
		if w.tick(int(n), -1) {
			return false
		}
		from += uint64(n)
		for i := range id {
			id[i] += n
			if id[i] < size[i] {
				break
			}
			id[i], n = 0, 1
		}
	}
	return true
}

func (w *walker) beginGroup(id *[3]uint32) {
	w.beginGroupBuiltins(id)
	if w.program.ZeroShared {
		clear(w.shared)
	}
	w.restart()
}

// runGroups executes the program for workgroups that follow each other along x, where native is all of it.
func (w *walker) runGroups(n uint32) {
	w.runRow(n)
	w.builtins.skipGroups(n)
}
