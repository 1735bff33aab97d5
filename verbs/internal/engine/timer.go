package engine

import (
	"container/heap"
	"runtime/debug"
	"sync"
	"time"
)

// timers calls queue pairs when their time has come, from one goroutine of the device. A queue pair has one entry. To
// put its time off costs nothing: the entry stays where it is, and is looked at again at its old time.
type timers struct {
	start time.Time
	wake  chan struct{}
	done  chan struct{}
	gone  sync.WaitGroup

	mu    sync.Mutex
	queue timerHeap
	begun bool
}

// now is the time of the timers. Queue pairs keep times as this.
func (t *timers) now() time.Duration { return time.Since(t.start) }

type timerEntry struct {
	qp *QP
	at time.Duration
}

type timerHeap []timerEntry

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timerEntry)) }
func (h *timerHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (t *timers) init() {
	t.start, t.wake, t.done = time.Now(), make(chan struct{}, 1), make(chan struct{})
}

// add makes q.onTimer be called at a time.
func (t *timers) add(q *QP, at time.Duration) {
	t.mu.Lock()
	heap.Push(&t.queue, timerEntry{q, at})
	first := t.queue[0].qp == q && t.queue[0].at == at
	if !t.begun {
		t.begun = true
		t.gone.Go(t.run)
	}
	t.mu.Unlock()
	if first {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

func (t *timers) run() {
	debug.SetPanicOnFault(true)
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		t.mu.Lock()
		wait := time.Hour
		var due *QP
		if len(t.queue) > 0 {
			if wait = t.queue[0].at - t.now(); wait <= 0 {
				due = heap.Pop(&t.queue).(timerEntry).qp
			}
		}
		t.mu.Unlock()
		if due != nil {
			due.onTimer()
			continue
		}
		alarm.Reset(wait)
		select {
		case <-alarm.C:
		case <-t.wake:
		case <-t.done:
			return
		}
	}
}

func (t *timers) stop() {
	close(t.done)
	t.gone.Wait()
}
