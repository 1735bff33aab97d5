package exec

import (
	"sync/atomic"
	"time"
)

// watchdog ends a dispatch that does not end by itself: one in which no workgroup ends for the time that it is given,
// or whose pace says that it would take longer than longRun times that. A dispatch that is only long, as programs for
// GPUs make them, goes on.
type watchdog struct {
	start  time.Time
	groups float64       // of the dispatch
	ended  atomic.Uint64 // of these
	since  atomic.Int64  // when ended last grew, in nanoseconds since start
}

// longRun is how much longer a dispatch may take whose workgroups end.
const longRun = 20

func (w *watchdog) begin(groups [3]uint32) {
	w.start, w.groups = time.Now(), float64(groups[0])*float64(groups[1])*float64(groups[2])
	w.ended.Store(0)
	w.since.Store(0)
}

// barks says whether the dispatch is to end. Several threads may ask, each with how many workgroups have ended.
func (w *watchdog) barks(most time.Duration, ended uint64) bool {
	run := time.Since(w.start)
	if ended > w.ended.Load() {
		w.ended.Store(ended)
		w.since.Store(int64(run))
	}
	if run < most {
		return false
	}
	return run-time.Duration(w.since.Load()) >= most || float64(run)*w.groups > longRun*float64(most)*float64(ended)
}
