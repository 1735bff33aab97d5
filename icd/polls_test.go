package icd

import (
	"testing"
	"time"

	"farside/internal/vk"
)

// TestPatience: only who asks many times in a row, without a pause in between, waits.
func TestPatience(t *testing.T) {
	const none, some = 0, uint64(pollPatience)
	for _, row := range []struct {
		name  string
		apart time.Duration
		last  uint64 // what the hundredth poll gets
	}{
		{"in a loop", 200, some},
		{"with a few pause instructions in between", 4 * time.Microsecond, some},
		{"with work in between", pollsApart, none},
		{"once a frame", 16 * time.Millisecond, none},
	} {
		var p polls
		now := time.Second
		for i := range 100 {
			got := p.patience(now)
			switch {
			case i < pollsInRow && got != none:
				t.Errorf("%s: poll %d waits", row.name, i)
			case i == 99 && got != row.last:
				t.Errorf("%s: patience %d, want %d", row.name, got, row.last)
			}
			if got != none {
				now += pollPatience
				p.waited(now)
			}
			now += row.apart
		}
		if got := p.patience(now + pollsApart); got != none {
			t.Errorf("%s: a poll after a pause waits", row.name)
		}
	}
}

// TestPollsLeaveTheCore: who polls a fence or an event in a loop sleeps most of the time, and learns of a signal.
func TestPollsLeaveTheCore(t *testing.T) {
	d := syncDevice(t)
	fence := newTestFence(t, d, 0, 0)
	var event vk.Event
	info := vk.EventCreateInfo{SType: vk.STRUCTURE_TYPE_EVENT_CREATE_INFO}
	wantResult(t, "vkCreateEvent", commands.CreateEvent(d.handle, &info, nil, &event), vk.SUCCESS)
	for _, poll := range []func() bool{
		func() bool { return commands.GetFenceStatus(d.handle, fence) == vk.NOT_READY },
		func() bool { return commands.GetEventStatus(d.handle, event) == vk.EVENT_RESET },
	} {
		n := 0
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); n++ {
			if !poll() {
				t.Fatal("what nobody signals is signalled")
			}
		}
		// Without patience there are some 100,000; each pause that the thread is made to take allows eight quick ones.
		if n > 15_000 {
			t.Errorf("%d polls in 50 ms", n)
		}
	}
	go func() { _ = commands.SetEvent(d.handle, event) }()
	for commands.GetEventStatus(d.handle, event) != vk.EVENT_SET {
	}
	commands.DestroyEvent(d.handle, event, nil)
	commands.DestroyFence(d.handle, fence, nil)
}
