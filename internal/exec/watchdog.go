package exec

import (
	"sync/atomic"
	"time"
)

// watchdog ends a dispatch, or the draws of a command, that do not end by themselves: if no workgroup or batch ends for
// the time that they are given, or if their pace says that they would take longer than longRun times that. What is only
// long, as programs for GPUs make it, goes on.
//
// Workers of draws that wait may ask while the next draw begins. What is done of that is noted behind its beginning,
// and read before it: who sees a new part sees a new beginning, too.
type watchdog struct {
	start atomic.Int64  // nanoseconds since epoch
	ended atomic.Uint64 // workgroups of a dispatch, batches of draws
	since atomic.Int64  // when ended last grew, likewise
}

// longRun is how much longer a dispatch may take whose workgroups end.
const longRun = 20

// epoch is when the watchdogs' clock began.
var epoch = time.Now()

func (w *watchdog) begin() {
	now := int64(time.Since(epoch))
	w.ended.Store(0)
	w.since.Store(now)
	w.start.Store(now)
}

// workgroups is how many there are.
func workgroups(groups [3]uint32) float64 {
	return float64(groups[0]) * float64(groups[1]) * float64(groups[2])
}

// barks says whether the dispatch is to end. Several threads may ask, each with how many workgroups have ended. done is
// the part of the work that this is, from 0 to 1.
func (w *watchdog) barks(most time.Duration, ended uint64, done float64) bool {
	return w.barksAt(time.Since(epoch), most, ended, done)
}

func (w *watchdog) barksAt(now, most time.Duration, ended uint64, done float64) bool {
	if ended > w.ended.Load() {
		w.ended.Store(ended)
		w.since.Store(int64(now))
	}
	run, pause := now-time.Duration(w.start.Load()), now-time.Duration(w.since.Load())
	if run < most {
		return false
	}
	return pause >= most || float64(run) > longRun*float64(most)*done
}
