package journal

import (
	"encoding/json"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

type list struct{ events []Event }

func (l *list) Write(e *Event) { l.events = append(l.events, *e) }

// TestSinks: a sink gets every event between Attach and Detach, one at a time, with time and thread.
func TestSinks(t *testing.T) {
	before := Now()
	if On() {
		t.Fatal("a journal is on that nobody reads")
	}
	Emit(Event{Kind: Create}) // lost
	var a, b list
	Attach(&a)
	Attach(&b)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				Emit(Event{Kind: Execute, Duration: 1})
			}
		})
	}
	all.Wait()
	Detach(&a)
	if !On() {
		t.Error("the journal is off while somebody reads it")
	}
	Emit(Event{Kind: Destroy, Thread: 7, Time: 9})
	Detach(&b)
	Emit(Event{Kind: Create})
	if len(a.events) != 800 || len(b.events) != 801 {
		t.Fatalf("%d and %d events, want 800 and 801", len(a.events), len(b.events))
	}
	for _, e := range a.events {
		if e.Time < before || e.Time > Now() || e.Thread < unix.Getpid() {
			t.Fatalf("an event at %d, of thread %d", e.Time, e.Thread)
		}
	}
	if last := b.events[800]; last.Time != 9 || last.Thread != 7 {
		t.Errorf("what an event brings is replaced: %+v", last)
	}
	if On() {
		t.Error("the journal stays on")
	}
}

// TestJSON: what an event lacks is left out.
func TestJSON(t *testing.T) {
	got, err := json.Marshal(Event{Time: 1, Kind: Free, Object: Object{Type: "VkDeviceMemory", Handle: 2}, Size: 3})
	if want := `{"time":1,"kind":"free","object":{"type":"VkDeviceMemory","handle":"2"},"size":3}`; err != nil ||
		string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if On() {
			Emit(Event{Kind: Create})
		}
	}
}
