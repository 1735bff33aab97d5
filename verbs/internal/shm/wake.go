package shm

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/cores"
)

// nap is how long the host's goroutine leaves draining to a thread that polls, before it looks whether that still does.
// Each nap in which one has polled is followed by one of twice that, up to longestNap: each takes the processor from
// such a thread.
const nap, longestNap = 50 * time.Microsecond, time.Millisecond

// wakeUps is after how many of them it leaves draining to threads that poll, if these have polled meanwhile each time.
const wakeUps = 16

// patientNaps is how many naps without a poll it takes for a pause, while it is woken for requests.
const patientNaps = 20

// What the page says of the host's goroutine.
const (
	awake   = 0 // it needn't be woken: it looks at all rings before it sleeps, or soon
	asleep  = 1 // it waits for whatever arrives
	answers = 2 // it waits for requests; a thread that polls takes answers
)

// wait drains what arrives while nobody polls, until the host is closed.
//
// Threads that poll drain, and waking the goroutine beside them is waste. But programs such as ib_write_lat poll for
// what they have sent, and then wait for their memory to change, or do something else. So a goroutine that finds
// something after a nap without a poll is woken for the next requests, and for more of them if nobody polls meanwhile.
// To be woken for each one would take the processor from a thread that polls, where there are few. Answers come to
// those who poll for completions.
func (h *Host) wait() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	askForSlices(slice)
	defer askForSlices(0)
	cores.Widen()
	var mine turn
	left, naps, length := 0, 0, nap // wake-ups that it asks for, naps since somebody polled, of the next one
	for !h.closed.Load() {
		mine.give()
		if naps++; h.polled.Swap(false) {
			naps, length = 0, min(2*length, longestNap)
		} else {
			length = nap
		}
		if h.watched.Load() == 0 && (naps == 0 || left > 0 && naps < patientNaps) {
			left = h.besidePollers(left, length)
			continue
		}
		left = 0
		h.page.word(sleepsAt).Store(asleep)
		switch some, busy := h.drain(); {
		case busy:
			// Whoever drains may have looked before what wakes nobody any more arrived.
			h.rest(nap)
		case !some:
			h.rest(-1)
		}
		h.page.word(sleepsAt).Store(awake)
	}
}

// slice is the share of a processor that the goroutine's thread asks for at a time, the least that Linux gives.
const slice = 100 * time.Microsecond

// askForSlices asks for slices of a length, 0 for the usual one. Since Linux 6.12 a thread that wakes up takes the
// processor at once from one with longer slices, if it has had less than its part; it gets no more than that. Earlier
// kernels ignore it.
func askForSlices(length time.Duration) {
	attr, err := unix.SchedGetAttr(0, 0)
	if err == nil && attr.Policy == unix.SCHED_NORMAL {
		attr.Runtime = uint64(length)
		_ = unix.SchedSetAttr(0, attr, 0)
	}
}

// besidePollers is a nap of a length, or one that requests end, if there are wake-ups left. It returns how many are
// left now. Whoever waits for what lies here ends either (remind).
func (h *Host) besidePollers(left int, length time.Duration) int {
	if left == 0 {
		woken := h.rest(length)
		polled := h.polled.Load()
		if woken || !polled {
			if some, _ := h.drain(); some && !polled {
				return wakeUps
			}
		}
		return 0
	}
	h.page.word(sleepsAt).Store(answers)
	some, busy := h.drain()
	woken := false
	if !some && !busy {
		woken = h.rest(nap)
	}
	h.page.word(sleepsAt).Store(awake)
	if woken {
		some, _ = h.drain()
	}
	switch {
	case !some && !woken && !busy:
		return left
	case some && !h.polled.Load():
		return wakeUps
	}
	return left - 1
}

// rest waits for the eventfd, for some time or, with -1, for ever, and says whether somebody woke it.
func (h *Host) rest(most time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(h.event.Int()), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if most >= 0 {
		t := unix.NsecToTimespec(int64(most))
		timeout = &t
	}
	n, _ := unix.Ppoll(fds, timeout, nil)
	if n > 0 {
		var count [8]byte
		_, _ = unix.Read(h.event.Int(), count[:])
	}
	return n > 0
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
	if h.watched.Add(int32(change)) == 1 && change > 0 && h.page.word(sleepsAt).Load() != asleep {
		wake(h.event.Int())
	}
}

// fruitless is after how many polls that find nothing others are reminded of what lies in their rings: some 40 µs.
const fruitless = 256

// Poll hands what has arrived to the receiver, and says whether there was something.
func (h *Host) Poll() bool {
	if !h.polled.Load() {
		h.polled.Store(true)
	}
	some, _ := h.drain()
	if !some && h.fruitless.Add(1)%fruitless == 0 {
		for _, s := range h.current() {
			s.remind()
		}
		h.turn.give()
	}
	return some
}

// turn is when Go's scheduler was last asked what runs next, in ns after begin.
type turn struct{ asked atomic.Int64 }

// turnEvery is how often it is asked: once in any 10 ms.
const turnEvery = 8 * time.Millisecond

var begin = time.Now()

// give asks the scheduler, if it is time to. A thread of C that calls in again and again is one goroutine to it, and is
// never scheduled anew. Neither is a goroutine that waits in system calls. After 10 ms of that the runtime's monitor
// takes the P away at each of its rounds. Therefore it makes one each 20 µs for ever, on a processor that a thread
// could use (retake and sysmon in the runtime's proc.go). If all are scheduled anew in time, it sleeps for 10 ms.
func (t *turn) give() {
	now := int64(time.Since(begin))
	if last := t.asked.Load(); now-last >= int64(turnEvery) && t.asked.CompareAndSwap(last, now) {
		runtime.Gosched()
	}
}

// remind wakes the other side, whatever its page says, if it has taken nothing from the ring since the last reminder.
// Its thread that polls may have stopped to, or may have no processor; its goroutine then takes what there is.
func (s *Session) remind() {
	head := s.theirs.word(headAt).Load()
	if head == s.mine.tail.Load() {
		head = noHead
	}
	if s.reminded.Swap(head) == head && head != noHead {
		s.ring()
	}
	runtime.KeepAlive(s)
}

// noHead is no place in a ring: these are multiples of line.
const noHead = 1

// drain looks into each ring that nobody else is looking into, and says whether somebody is.
func (h *Host) drain() (some, busy bool) {
	for _, s := range h.current() {
		got, taken := s.drain()
		some, busy = some || got, busy || taken
	}
	return some, busy
}
