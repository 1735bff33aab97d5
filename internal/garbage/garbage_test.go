package garbage

import (
	"runtime"
	"testing"
	"time"
)

// What is garbage when Soon is called is cleaned up, though nothing is allocated.
func TestSoon(t *testing.T) {
	gone := make(chan struct{})
	func() {
		keeper := new([64]byte)
		runtime.AddCleanup(keeper, func(c chan struct{}) { close(c) }, gone)
	}()
	for range 10 {
		Soon()
	}
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("nothing was collected")
	}
}
