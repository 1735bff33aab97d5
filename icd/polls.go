package icd

import (
	"sync/atomic"
	"time"
)

const (
	pollsInRow   = 8 // that are no loop yet
	pollsApart   = 20 * time.Microsecond
	pollPatience = 50 * time.Microsecond
)

// polls notes how an application asks for the status of one object that is not there yet. One that asks in a loop takes
// a core from the work that it waits for: on a machine of two cores, half of them. From the ninth time in a row on,
// each less than 20 us after the one before, its thread sleeps until the status changes, at most 50 us. Who does
// something else in between is answered at once. The zero polls is ready to use, by several goroutines.
type polls struct {
	last atomic.Int64 // when the last one was answered, by began
	row  atomic.Int32
}

var began = time.Now()

// patience is how long, in nanoseconds, a call that would say "not yet" may wait: 0 for not at all.
func (p *polls) patience(now time.Duration) uint64 {
	last := time.Duration(p.last.Swap(int64(now)))
	switch {
	case now-last >= pollsApart:
		p.row.Store(0)
	case p.row.Load() >= pollsInRow:
		return uint64(pollPatience)
	default:
		p.row.Add(1)
	}
	return 0
}

// waited says that a call waited out of patience.
func (p *polls) waited(now time.Duration) { p.last.Store(int64(now)) }

// poll asks with no time to wait, and once more with some where that is due. "Not yet" is false.
func (p *polls) poll(ask func(timeout uint64) bool) bool {
	if ask(0) {
		return true
	}
	t := p.patience(time.Since(began))
	if t == 0 {
		return false
	}
	defer func() { p.waited(time.Since(began)) }()
	return ask(t)
}
