package engine

import (
	"fmt"
	"slices"
	"time"

	"farside/internal/finding"
	"farside/internal/ibv"
	"farside/internal/journal"
	"farside/internal/late"
)

// What FARSIDE_STRICT=rdma finds in the sends that a program posts. It looks when they are posted and when they end.

// mostCopied bounds the local memory of one send that is looked at, mostCopies that of all of a device, bytes.
const (
	mostCopied = 1 << 20
	mostCopies = 64 << 20
)

// sendsMemory says whether an operation sends local memory.
func sendsMemory(o ibv.WROpcode) bool {
	switch o {
	case ibv.WR_SEND, ibv.WR_SEND_WITH_IMM, ibv.WR_SEND_WITH_INV, ibv.WR_RDMA_WRITE, ibv.WR_RDMA_WRITE_WITH_IMM:
		return true
	}
	return false
}

// fillsMemory says whether an operation fills local memory.
func fillsMemory(o ibv.WROpcode) bool {
	return o == ibv.WR_RDMA_READ || o == ibv.WR_ATOMIC_CMP_AND_SWP || o == ibv.WR_ATOMIC_FETCH_AND_ADD
}

// announce looks at send i, which is being posted. Under q.mu.
func (q *QP) announce(i uint64) {
	w := q.sq.at(i)
	if sendsMemory(w.wr.Opcode) {
		if fenced := q.checkFence(i); fenced && w.inline == nil && !q.waitsForRead(i) {
			q.copySent(w)
		}
	}
	q.checkOthers(w)
}

// checkFence says whether send i lacks no fence: whether it is right if it overtakes the reads and atomics whose
// completions nobody has polled, and that come behind the last fence. Under q.mu.
func (q *QP) checkFence(i uint64) bool {
	w := q.sq.at(i)
	if w.wr.Flags&ibv.SEND_FENCE != 0 {
		return true
	}
	for j := i; j > q.sq.freed.Load(); {
		j--
		earlier := q.sq.at(j)
		if what := earlier.overtakenBy(w); what != "" {
			q.found(finding.MissingFence, w, "the %s %s the %s, which was posted before, with no fence and nobody having "+
				"polled its completion", describeSend(w), what, describeSend(earlier))
			return false
		}
		if earlier.wr.Flags&ibv.SEND_FENCE != 0 {
			return true
		}
	}
	return true
}

// overtakenBy says, in words, what goes wrong if a send or a write that was posted later overtakes w; "" if nothing
// does. Inline data has been taken before, and cannot come later.
func (w *sendWQE) overtakenBy(later *sendWQE) string {
	if !fillsMemory(w.wr.Opcode) {
		return ""
	}
	if later.inline == nil && entriesOverlap(w.wr.SGEs, later.wr.SGEs) {
		return "sends the local memory that is filled by"
	}
	writes := later.wr.Opcode == ibv.WR_RDMA_WRITE || later.wr.Opcode == ibv.WR_RDMA_WRITE_WITH_IMM
	if writes && w.wr.RKey == later.wr.RKey &&
		overlap(w.wr.RemoteAddress, w.length, later.wr.RemoteAddress, later.length) {
		return "writes where it overlaps"
	}
	return ""
}

// entriesOverlap says whether two lists of entries have bytes in common. It looks at those of one key.
func entriesOverlap(a, b []ibv.SGE) bool {
	for i := range a {
		for j := range b {
			if a[i].LKey == b[j].LKey && overlap(a[i].Addr, uint64(a[i].Length), b[j].Addr, uint64(b[j].Length)) {
				return true
			}
		}
	}
	return false
}

// overlap says whether n bytes at a and m bytes at b have any in common.
func overlap(a, n, b, m uint64) bool { return n > 0 && m > 0 && (b-a < n || a-b < m) }

// waitsForRead says whether send i begins after a read or an atomic that is under way. That may be to fill what it
// sends. Under q.mu.
func (q *QP) waitsForRead(i uint64) bool {
	fenced := q.sq.at(i).wr.Flags&ibv.SEND_FENCE != 0
	for i > q.sq.done {
		i--
		earlier := q.sq.at(i)
		if fenced && fillsMemory(earlier.wr.Opcode) {
			return true
		}
		fenced = fenced || earlier.wr.Flags&ibv.SEND_FENCE != 0
	}
	return false
}

// watches says whether any entries are memory that devices see late.
func (q *QP) watches(sges []ibv.SGE) bool {
	return slices.ContainsFunc(sges, func(s ibv.SGE) bool {
		g := q.device.keys.find(s.LKey)
		return g != nil && g.watched != nil
	})
}

// mostTorn is how long a part of a message is there before the rest, at most.
const mostTorn = 200 * time.Microsecond

// copyLate is copyGuarded, which now and then puts the end in place before the rest: adapters write the parts of a
// message in any order (ibv_query_qp_data_in_order(3)), save for those of 64 aligned bytes.
func copyLate(dst, src []byte) bool {
	const line = 64
	end := len(dst) - 1 - int((addressOf(dst)+uintptr(len(dst))-1)%line)
	if end <= 0 || late.Chance(late.One) != 0 {
		return copyGuarded(dst, src)
	}
	if !copyGuarded(dst[end:], src[end:]) {
		return false
	}
	time.Sleep(late.Between(0, mostTorn))
	return copyGuarded(dst[:end], src[:end])
}

// copySent copies what a send is to send, if that can be read and is not too much. Under q.mu.
func (q *QP) copySent(w *sendWQE) {
	n := int64(w.length)
	if n == 0 || n > mostCopied || !q.gather(w.wr.SGEs, 0, w.length) {
		return
	}
	defer q.release()
	if q.device.copies.Add(n) > mostCopies {
		q.device.copies.Add(-n)
		return
	}
	w.watch.sent = make([]byte, n)
	rest := w.watch.sent
	for _, p := range q.pieces {
		if !copyGuarded(rest[:len(p)], p) {
			q.forgetSent(w)
			return
		}
		rest = rest[len(p):]
	}
}

// forgetSent drops the copy of what a send is to send. Under q.mu.
func (q *QP) forgetSent(w *sendWQE) {
	if w.watch != nil && w.watch.sent != nil {
		q.device.copies.Add(-int64(len(w.watch.sent)))
		w.watch.sent = nil
	}
}

// forgetAllSent forgets what is known of all sends that have not ended. Under q.mu.
func (q *QP) forgetAllSent() {
	for i := q.sq.done; i < q.sq.posted; i++ {
		q.started(q.sq.at(i))
		q.forgetSent(q.sq.at(i))
	}
}

// checkSent looks whether the local memory of a send that ends is what it was when it was posted, as it must be until
// the program has polled the completion. Under q.mu.
func (q *QP) checkSent(w *sendWQE) {
	if at, changed := q.changedAt(w); changed {
		q.found(finding.LocalChanged, w, "the local memory of the %s changed at byte %d after it was posted and before it "+
			"had ended", describeSend(w), at)
	}
}

// changedAt is the first byte of a send's local memory that has changed since it was posted. Under q.mu.
func (q *QP) changedAt(w *sendWQE) (at int, changed bool) {
	before := w.watch.sent[:min(uint64(len(w.watch.sent)), w.length)]
	if !q.gather(w.wr.SGEs, 0, uint64(len(before))) {
		return 0, false
	}
	defer q.release()
	for _, p := range q.pieces {
		n, same := commonGuarded(before, p)
		if at += n; !same {
			return at, true
		}
		before = before[len(p):]
	}
	return 0, false
}

// describeSend names a send in findings.
func describeSend(w *sendWQE) string {
	operation, _ := operationOf(w.wr.Opcode)
	text := fmt.Sprintf("%s of %d bytes", operation, w.length)
	if rightsOf(w.wr.Opcode) != 0 || w.wr.Opcode == ibv.WR_RDMA_WRITE_WITH_IMM {
		text += fmt.Sprintf(" at remote address %#x", w.wr.RemoteAddress)
	}
	return fmt.Sprintf("%s (wr_id %#x)", text, w.wr.ID)
}

// found tells of a mistake with a send. Its place is where its local memory begins. Under q.mu.
func (q *QP) found(id finding.ID, w *sendWQE, format string, args ...any) {
	f := &finding.Finding{ID: id, Text: fmt.Sprintf(format, args...), Objects: []journal.Object{q.named()}}
	if len(w.wr.SGEs) > 0 {
		f.Place = w.wr.SGEs[0].Addr
	}
	finding.Tell(f)
}
