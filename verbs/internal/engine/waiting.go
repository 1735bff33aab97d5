package engine

import (
	"sync"

	"farside/verbs/internal/fabric"
)

// waiting has the queue pairs that a way without room stopped.
type waiting struct {
	mu sync.Mutex
	on map[fabric.Path][]*QP
}

func (w *waiting) init() { w.on = map[fabric.Path][]*QP{} }

// add makes q go on when p has room. The caller tries once more afterwards: room may have come before.
func (w *waiting) add(p fabric.Path, q *QP) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.on[p] {
		if other == q {
			return
		}
	}
	w.on[p] = append(w.on[p], q)
}

// takeAll gives those that wait for p.
func (w *waiting) takeAll(p fabric.Path) []*QP {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.on[p]
	delete(w.on, p)
	return all
}

// Writable implements fabric.Receiver.
func (d *Device) Writable(p fabric.Path) {
	for _, q := range d.waiting.takeAll(p) {
		q.resume()
	}
}

// Down implements fabric.Receiver. As with an adapter, work ends when its retries are used up; what waits for room
// needn't wait longer for that.
func (d *Device) Down(p fabric.Path) { d.Writable(p) }
