package main

import (
	"fmt"
	"time"
)

// A state is that of one side of a link.
type state int

const (
	absent   state = iota // the node is dead or has no device
	idle                  // it has no end
	offering              // it has been asked for an end
	offered               // its descriptors have come
	running
	hushing // a reader has been told not to believe what it reads
	hushed
	closing // it has been told to close
)

func (s state) String() string {
	return [...]string{"absent", "idle", "offering", "offered", "running", "hushing", "hushed", "closing"}[s]
}

// A link leads from one node to the next. Its two sides open together and close in order: the reader is
// hushed, the writer closes, the reader closes. A node that dies, or loses its device, leaves the other side
// to be closed.
type link struct {
	writer, reader int
	sides          [2]state
	fds            [2][]int // that a side has offered
	reset          bool     // the link is to close on both sides
	rounds         uint64   // that were checked
	moved          time.Time
	settle         uint64 // how many rounds it is to have carried before it closes for good
}

func (l *link) open() bool { return l.sides == [2]state{running, running} }

func (l *link) String() string { return fmt.Sprintf("sides %v, resetting %v", l.sides, l.reset) }

// hear takes in what a side has answered; what a side that has been told to close still answers is void.
func (l *link) hear(m message) {
	side := m.side()
	s := &l.sides[side]
	switch {
	case m.is("offered") && *s == offering:
		*s = offered
		l.fds[side] = m.fds
		return
	case m.is("hushed") && *s == hushing:
		*s = hushed
	case m.is("closed") && *s == closing:
		*s = idle
	}
	closeAll(m.fds)
}

// step does what is to be done next; a link that is to stay closed doesn't open.
func (l *link) step(r *ring, stay bool) {
	if l.reset {
		l.shut(r)
		return
	}
	switch l.sides {
	case [2]state{idle, idle}:
		if !stay {
			l.order(r, right, offering, "offer", nil)
			l.order(r, left, offering, "offer", nil)
		}
	case [2]state{offered, offered}:
		fds := l.fds
		l.fds = [2][]int{}
		l.moved = time.Now()
		r.sum.opened++
		l.order(r, left, running, "take", fds[right])
		l.order(r, right, running, "take", fds[left])
	}
}

// shut closes the sides, one after the other.
func (l *link) shut(r *ring) {
	for side, fds := range l.fds {
		closeAll(fds)
		l.fds[side] = nil
	}
	w, rd := l.sides[right], l.sides[left]
	has := func(s state) bool { return s == offering || s == offered || s == running }
	switch {
	case w == closing || rd == hushing || rd == closing:
	case has(w) && has(rd):
		l.order(r, left, hushing, "hush", nil)
	case has(w):
		l.order(r, right, closing, "close", nil)
	case has(rd) || rd == hushed:
		l.order(r, left, closing, "close", nil)
	default:
		l.reset = false
	}
}

// order tells the node of a side what to do. A node that has just died doesn't hear it: the supervisor is
// about to see its end.
func (l *link) order(r *ring, side int, s state, verb string, fds []int) {
	l.sides[side] = s
	w := r.workers[[2]int{l.writer, l.reader}[side]]
	_ = w.socket.send(fds, "%s %s %d", verb, sideNames[side], w.generation)
}
