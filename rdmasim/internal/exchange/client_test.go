package exchange

import (
	"testing"
	"time"
)

// TestEnterAtEnd: who hears that a connection has ended finds it dead, and makes a new one.
func TestEnterAtEnd(t *testing.T) {
	k := &client{done: make(chan struct{})} // without the map of who waits, as read leaves it
	time.AfterFunc(20*time.Millisecond, func() { close(k.done) })
	if k.enter(&call{}, &message{}) {
		t.Error("a request has its tag")
	}
	if k.alive() {
		t.Error("the connection is alive")
	}
}
