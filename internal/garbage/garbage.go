// Package garbage has the collector run where what looks small to it keeps much: a mapping that ends by a cleanup of a
// small object (runtime.AddCleanup) keeps memory of another process, maybe of one that has ended.
package garbage

import (
	"runtime"
	"sync/atomic"
	"time"
)

// pause is the time between two collections that Soon asks for, at least.
const pause = time.Second

var soon atomic.Bool

// Soon has the garbage be collected in a while, once for all calls until then. It may be called from any goroutine,
// also with locks held.
func Soon() {
	if soon.CompareAndSwap(false, true) {
		time.AfterFunc(pause, func() {
			soon.Store(false)
			runtime.GC()
		})
	}
}
