package shm

import (
	"sync/atomic"
	"testing"

	"farside/internal/fd/fdtest"
	"farside/verbs/internal/fabric"
)

// TestBothWait has a sender find no room while another one finds some that comes then: the first is told of it.
func TestBothWait(t *testing.T) {
	fdtest.NoLeaks(t)
	p, file, err := newProducer()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer unmapTwice(p.mapping)
	c, err := newConsumer(file)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapTwice(c.mapping)
	var head atomic.Uint64 // of the consumer
	drop := func(*fabric.Source, []byte, []byte) {}
	packet := [][]byte{make([]byte, 4096)}
	for round := range 1000 {
		for err = nil; err == nil; {
			err = p.put(&head, &route{}, nil, packet)
		}
		if err != fabric.ErrFull {
			t.Fatal(err)
		}
		taken := make(chan error)
		go func() {
			_, err := c.take(&head, drop)
			taken <- err
		}()
		for err != nil {
			err = p.put(&head, &route{}, nil, packet)
		}
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
		if !p.writable(&head) {
			t.Fatalf("round %d: nobody tells the sender that waits", round)
		}
	}
}
