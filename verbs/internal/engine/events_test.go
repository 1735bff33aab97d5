package engine

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/bell"
)

// eventRounds is how many completions each case has; go test's -count makes them millions.
const eventRounds = 1000

// eventPatience is how long no completion may come before one counts as lost.
const eventPatience = time.Minute

// traffic is a poster and waiters: the poster adds completions only while few are not polled yet, so that a lost event
// stops both.
type traffic struct {
	t      *testing.T
	ch     *Channel
	queues []*CQ
	polled atomic.Int64
	ended  atomic.Bool
}

// startTraffic makes queues with one channel, and something that ends the test if nothing happens any more.
func startTraffic(t *testing.T, w *node, queues int) *traffic {
	t.Helper()
	ch, err := w.context.NewChannel()
	check(t, err)
	f := &traffic{t: t, ch: ch}
	for range queues {
		q, err := w.context.CreateCQ(CQInit{Entries: 8, Channel: ch})
		check(t, err)
		f.queues = append(f.queues, q)
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { f.guard(done) })
	t.Cleanup(func() {
		close(done)
		running.Wait()
		_ = ch.Destroy() // queue pairs may still have its queues
	})
	return f
}

// guard frees threads that wait for an event that never comes.
func (f *traffic) guard(done <-chan struct{}) {
	was, since := int64(-1), time.Now()
	for {
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if now := f.polled.Load(); now != was {
			was, since = now, time.Now()
		}
		if !f.ended.Load() && time.Since(since) > eventPatience {
			f.t.Errorf("an event is lost after %d completions", was)
			f.ended.Store(true)
		}
		if f.ended.Load() {
			f.ch.raise(f.queues[0])
		}
	}
}

// post adds n completions, of which not more than limit are without a poll at a time, and waits until all are polled. A
// completion is solicited where the poster may wait after it: whoever waits for those alone leaves the others.
func (f *traffic) post(n, limit int64) {
	before := f.polled.Load()
	for i := range n {
		for i-(f.polled.Load()-before) >= limit && !f.ended.Load() {
			runtime.Gosched()
		}
		if f.ended.Load() {
			return
		}
		e := entry{wc: WC{WC: ibv.WC{WRID: uint64(i)}}}
		if !f.queues[i%int64(len(f.queues))].push(&e, (i+1)%limit == 0 || i == n-1) {
			f.t.Errorf("completion %d found no room", i)
			f.ended.Store(true)
		}
	}
	for f.polled.Load()-before < n && !f.ended.Load() {
		runtime.Gosched()
	}
}

// poll empties a queue.
func (f *traffic) poll(q *CQ) {
	var wc WC
	for q.Poll(&wc) {
		f.polled.Add(1)
	}
}

// next is ibv_get_cq_event, by a blocking descriptor or, with wait, by one that isn't and poll(2).
func (f *traffic) next(wait bool) *CQ {
	for {
		q, err := f.ch.NextEvent(bell.Waits)
		switch {
		case err == nil:
			return q
		case err == unix.EAGAIN && wait:
			p := []unix.PollFd{{Fd: int32(f.ch.FD()), Events: unix.POLLIN}}
			_, _ = unix.Poll(p, -1)
		case err != unix.EINTR:
			f.t.Errorf("get_cq_event: %v", err)
			f.ended.Store(true)
			return f.queues[0]
		}
	}
}

// waitOrders are the orders in which programs get, acknowledge, arm and poll. Each arms before its last poll, as
// ibv_get_cq_event(3) has it; the queue is armed before the first one.
var waitOrders = []struct {
	name      string
	solicited bool
	step      func(f *traffic, q *CQ)
}{
	{"acknowledge, arm, poll", false, func(f *traffic, q *CQ) {
		q.AckEvents(1)
		q.Arm(false)
		f.poll(q)
	}},
	{"arm, poll, acknowledge", false, func(f *traffic, q *CQ) {
		q.Arm(false)
		f.poll(q)
		q.AckEvents(1)
	}},
	{"poll, arm, poll", false, func(f *traffic, q *CQ) {
		f.poll(q)
		q.Arm(false)
		f.poll(q)
		q.AckEvents(1)
	}},
	{"arm twice, poll", false, func(f *traffic, q *CQ) {
		q.Arm(true)
		q.Arm(false)
		q.Arm(true) // weaker: the other stays
		f.poll(q)
		q.AckEvents(1)
	}},
	{"solicited: arm, poll", true, func(f *traffic, q *CQ) {
		q.Arm(true)
		f.poll(q)
		q.AckEvents(1)
	}},
}

// No event is lost, whatever the order is in which a program waits, and however the threads meet.
func TestNoEventIsLost(t *testing.T) {
	for _, order := range waitOrders {
		for _, c := range []struct {
			queues, waiters int
			nonblock        bool
		}{{1, 1, false}, {1, 1, true}, {1, 3, false}, {3, 2, false}, {3, 2, true}} {
			if order.solicited && c.queues > 1 {
				continue // the last completion that fits is another queue's
			}
			t.Run(fmt.Sprintf("%s/%d queues, %d waiters, nonblocking %v", order.name, c.queues, c.waiters, c.nonblock),
				func(t *testing.T) {
					l := &loop{}
					d := NewDevice(l, Options{})
					t.Cleanup(d.Close)
					x, err := d.Open()
					check(t, err)
					t.Cleanup(func() { _ = x.Close() })
					f := startTraffic(t, &node{t: t, device: d, context: x}, c.queues)
					check(t, unix.SetNonblock(f.ch.FD(), c.nonblock))
					for _, q := range f.queues {
						q.Arm(order.solicited)
					}
					f.run(c.waiters, c.nonblock, order.step)
				})
		}
	}
}

// run has waiters poll what a poster posts.
func (f *traffic) run(waiters int, nonblock bool, step func(*traffic, *CQ)) {
	const rounds = int64(eventRounds)
	var running sync.WaitGroup
	for range waiters {
		running.Go(func() {
			for f.polled.Load() < rounds && !f.ended.Load() {
				step(f, f.next(nonblock))
			}
			f.ended.Store(true) // has guard free the others
		})
	}
	for done := int64(0); done < rounds; {
		n := min(1+done%61, rounds-done)
		f.post(n, 1+done%7)
		done += n
	}
	running.Wait()
	for _, q := range f.queues {
		check(f.t, q.Destroy())
	}
	if got := f.polled.Load(); !f.t.Failed() && got != rounds {
		f.t.Errorf("%d of %d completions", got, rounds)
	}
}

// The same between two processes: each end of a connection sleeps until the other's message has come, and its own is
// acknowledged, so that one lost event or packet stops both.
func TestNoEventIsLostOnRings(t *testing.T) {
	for _, order := range waitOrders {
		if order.solicited {
			continue // acknowledgements aren't
		}
		t.Run(order.name, func(t *testing.T) {
			var flows [2]*traffic
			a, b := onRings(t, config{with: func(n *node, i *QPInit) {
				f := startTraffic(t, n, 1)
				i.SendCQ, i.RecvCQ = f.queues[0], f.queues[0]
				if flows[0] == nil {
					flows[0] = f
				} else {
					flows[1] = f
				}
			}})
			var running sync.WaitGroup
			for i, s := range []*side{a, b} {
				running.Go(func() { s.pingPong(flows[i], i, eventRounds, order.step) })
			}
			running.Wait()
		})
	}
}

// pingPong sends a message and gets one, each time after the other side's if second is 1. A turn has two completions.
func (s *side) pingPong(f *traffic, second, rounds int, step func(*traffic, *CQ)) {
	defer f.ended.Store(true)
	m := s.memory(64)
	recv := func() bool { return s.qp.PostRecv(&RecvWR{SGEs: m.list(0, 8)}) == nil }
	send := func() bool {
		return s.qp.PostSend(&SendWR{Opcode: ibv.WR_SEND, SGEs: m.list(8, 8)}) == nil
	}
	wait := func(completions int) {
		for f.polled.Load() < int64(completions) && !f.ended.Load() {
			step(f, f.next(false))
		}
	}
	f.queues[0].Arm(false)
	ok := recv()
	for n := range rounds {
		if second == 1 {
			wait(2*n + 1)
		}
		ok = ok && recv() && send()
		wait(2*n + 2)
		if !ok || f.ended.Load() {
			f.t.Errorf("round %d: posted %v", n, ok)
			return
		}
	}
}
