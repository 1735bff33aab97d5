package exec

import (
	"sync/atomic"
	"time"
)

// watchdog ends a dispatch, or the draws of a command, that do not end by themselves: if no workgroup or batch ends for
// the time that they are given, or if their pace says that they would take longer than longRun times that. What is only
// long, as programs for GPUs make it, goes on.
type watchdog struct {
	start time.Time
	ended atomic.Uint64 // workgroups of a dispatch, batches of draws
	since atomic.Int64  // when ended last grew, in nanoseconds since start
}

// longRun is how much longer a dispatch may take whose workgroups end.
const longRun = 20

func (w *watchdog) begin() {
	w.start = time.Now()
	w.ended.Store(0)
	w.since.Store(0)
}

// workgroups is how many there are.
func workgroups(groups [3]uint32) float64 {
	return float64(groups[0]) * float64(groups[1]) * float64(groups[2])
}

// barks says whether the dispatch is to end. Several threads may ask, each with how many workgroups have ended. done is
// the part of the work that this is, from 0 to 1.
func (w *watchdog) barks(most time.Duration, ended uint64, done float64) bool {
	run := time.Since(w.start)
	if ended > w.ended.Load() {
		w.ended.Store(ended)
		w.since.Store(int64(run))
	}
	if run < most {
		return false
	}
	return run-time.Duration(w.since.Load()) >= most || float64(run) > longRun*float64(most)*done
}
