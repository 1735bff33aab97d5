package shm

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// nap is how long the host's goroutine leaves draining to a thread that polls, before it looks whether that still does.
// Programs such as ib_write_lat poll for what they have sent, and then wait for memory to change: that takes as long.
const nap = 50 * time.Microsecond

// wait drains what arrives while nobody polls, until the host is closed.
func (h *Host) wait() {
	for !h.closed.Load() {
		if h.polled.Swap(false) && h.watched.Load() == 0 {
			h.rest(nap)
			continue
		}
		h.page.word(sleepsAt).Store(1)
		switch some, busy := h.drain(); {
		case busy:
			// Whoever drains may have looked before what wakes nobody any more arrived.
			h.rest(nap)
		case !some:
			h.rest(-1)
		}
		h.page.word(sleepsAt).Store(0)
	}
}

// rest waits for the eventfd, for some time or, with -1, for ever.
func (h *Host) rest(most time.Duration) {
	fds := []unix.PollFd{{Fd: int32(h.event.Int()), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if most >= 0 {
		t := unix.NsecToTimespec(int64(most))
		timeout = &t
	}
	if n, _ := unix.Ppoll(fds, timeout, nil); n > 0 {
		var count [8]byte
		_, _ = unix.Read(h.event.Int(), count[:])
	}
}

// wake wakes whoever waits for an eventfd, which does not block: a full one wakes already.
func wake(event int) {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(event, one[:])
}

// Watch says that somebody is going to sleep until something arrives (1), or has stopped to (-1). While there is such a
// one the host's goroutine drains at once, also if somebody polls.
func (h *Host) Watch(change int) {
	if h.watched.Add(int32(change)) == 1 && change > 0 && h.page.word(sleepsAt).Load() == 0 {
		wake(h.event.Int())
	}
}

// Poll hands what has arrived to the receiver, and says whether there was something.
func (h *Host) Poll() bool {
	if !h.polled.Load() {
		h.polled.Store(true)
	}
	some, _ := h.drain()
	return some
}

// drain looks into each ring that nobody else is looking into, and says whether somebody is.
func (h *Host) drain() (some, busy bool) {
	for _, s := range h.current() {
		got, taken := s.drain()
		some, busy = some || got, busy || taken
	}
	return some, busy
}
