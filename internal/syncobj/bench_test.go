package syncobj

import "testing"

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Fence, 0).Release()
	}
}

func BenchmarkNewShared(b *testing.B) {
	for b.Loop() {
		p, err := NewShared(Timeline, 0, Identity{})
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkSignal(b *testing.B) {
	p := New(Timeline, 0)
	for v := uint64(1); b.Loop(); v++ {
		if err := p.Signal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignalTryWait(b *testing.B) {
	p := New(Binary, 0)
	for b.Loop() {
		_ = p.Signal(1)
		if !p.TryWait(0) {
			b.Fatal("not signalled")
		}
	}
}

func BenchmarkWaitSatisfied(b *testing.B) {
	p, stop := New(Fence, 1), New(Fence, 0)
	points := []Point{{Payload: p}}
	for b.Loop() {
		if err := Wait(points, true, never, stop); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThreads is the round trip between two goroutines, each of which sleeps until the other signals.
func BenchmarkThreads(b *testing.B) {
	ping, pong, stop := New(Timeline, 0), New(Timeline, 0), New(Fence, 0)
	go func() {
		for v := uint64(1); Wait([]Point{{ping, v}}, true, never, stop) == nil; v++ {
			_ = pong.Signal(v)
		}
	}()
	for v := uint64(1); b.Loop(); v++ {
		_ = ping.Signal(v)
		if err := Wait([]Point{{pong, v}}, true, never, stop); err != nil {
			b.Fatal(err)
		}
	}
	_ = stop.Signal(1)
}
