package exec

import (
	"testing"
	"time"
)

// TestWatchdogBarks has the watchdog end what does not end by itself, and let what is only long go on. Times are in
// seconds of dispatches that began then.
func TestWatchdogBarks(t *testing.T) {
	const most = 30 * time.Second
	type look struct {
		after float64 // since the dispatch began
		ended uint64  // workgroups
		barks bool
	}
	for name, c := range map[string]struct {
		groups [3]uint32
		looks  []look
	}{
		"an endless loop": {[3]uint32{1, 1, 1},
			[]look{{1, 0, false}, {29, 0, false}, {31, 0, true}}},
		"a long one": {[3]uint32{10, 10, 1},
			[]look{{29, 25, false}, {58, 50, false}, {110, 99, false}}},
		"one workgroup of many does not end": {[3]uint32{10, 10, 1},
			[]look{{29, 99, false}, {58, 99, false}, {60, 99, true}}},
		"an older count comes late": {[3]uint32{10, 10, 1},
			[]look{{29, 50, false}, {40, 49, false}, {60, 49, true}}},
		"so many that they would take a year": {[3]uint32{65535, 65535, 64},
			[]look{{29, 1 << 20, false}, {31, 1 << 21, true}}},
		"more workgroups than a number counts": {[3]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1},
			[]look{{31, 1 << 40, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var w watchdog
			w.begin()
			for _, l := range c.looks {
				now := time.Duration(w.start.Load()) + time.Duration(l.after*float64(time.Second))
				if got := w.barksAt(now, most, l.ended, float64(l.ended)/workgroups(c.groups)); got != l.barks {
					t.Errorf("after %v s and %d workgroups: %v", l.after, l.ended, got)
				}
			}
		})
	}
}
