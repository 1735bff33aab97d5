package engine

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"farside/internal/finding"
	"farside/internal/ibv"
	"farside/internal/journal"
	"farside/verbs/internal/packet"
)

// Sends of two queue pairs have no order (InfiniBand Architecture, volume 1, 9.5). With FARSIDE_STRICT=rdma, a write, a
// read or an atomic that is posted is held against those of the process' other queue pairs that have been posted and
// not begun: nobody can know that these have ended.

// announced is a write, a read or an atomic that has not begun.
type announced struct {
	q       *QP
	w       *sendWQE
	id      uint64
	remote  netip.Addr
	process uint32 // of the peer's queue pair
	opcode  ibv.WROpcode
	key     uint32
	address uint64
	length  uint64
	bytes   []byte // that a write writes, nil if they are not known
}

// announcements are those of a device.
type announcements struct {
	mu   sync.Mutex
	list []announced
}

// checkOthers looks whether a send that is posted needs the order of two queue pairs. Under q.mu.
func (q *QP) checkOthers(w *sendWQE) {
	writes := w.wr.Opcode == ibv.WR_RDMA_WRITE || w.wr.Opcode == ibv.WR_RDMA_WRITE_WITH_IMM
	if !writes && !fillsMemory(w.wr.Opcode) || w.length == 0 || transportOf(q.kind) == packet.XRC {
		return
	}
	x := announced{q: q, w: w, id: w.wr.ID, remote: q.route.remote, process: processOf(q.attr.DestQPNum),
		opcode: w.wr.Opcode, key: w.wr.RKey, address: w.wr.RemoteAddress, length: w.length}
	if writes {
		if x.bytes = w.watch.sent; w.inline != nil {
			x.bytes = bytes.Clone(w.inline)
		}
	}
	a := &q.device.announced
	a.mu.Lock()
	var id finding.ID
	var other announced
	for _, other = range a.list {
		if id = x.against(&other); id != "" {
			break
		}
	}
	a.list = append(a.list, x)
	a.mu.Unlock()
	w.watch.announced = true
	if id != "" {
		q.found(id, w, "the %s and the %s of queue pair %#x, which was posted before and has not begun, have no order",
			describeSend(w), other.describe(), other.q.number)
	}
}

// against says what is wrong if x is posted while another one has not begun; "" if nothing is.
func (x *announced) against(y *announced) finding.ID {
	if x.q == y.q || x.remote != y.remote || x.process != y.process || x.key != y.key ||
		!overlap(x.address, x.length, y.address, y.length) {
		return ""
	}
	from, to := max(x.address, y.address), min(x.address+x.length, y.address+y.length)
	reads := func(o ibv.WROpcode) bool { return o == ibv.WR_RDMA_READ }
	atomic := func(o ibv.WROpcode) bool { return fillsMemory(o) && !reads(o) }
	switch {
	case fillsMemory(x.opcode) && fillsMemory(y.opcode):
		return ""
	case atomic(x.opcode), atomic(y.opcode):
		return finding.UnorderedPeers
	case reads(x.opcode), reads(y.opcode):
		if max(x.address+x.length, y.address+y.length)-1 <= min(x.address, y.address)|7 {
			return "" // who polls a word sees the old one or the new one
		}
		return finding.TornRead
	case x.bytes == nil, y.bytes == nil,
		bytes.Equal(x.bytes[from-x.address:to-x.address], y.bytes[from-y.address:to-y.address]):
		return ""
	}
	return finding.UnorderedPeers
}

// describe names it in findings.
func (x *announced) describe() string {
	operation, _ := operationOf(x.opcode)
	return fmt.Sprintf("%s of %d bytes at remote address %#x (wr_id %#x)", operation, x.length, x.address, x.id)
}

// started ends the announcement of a send that begins, or that has ended. Under q.mu.
func (q *QP) started(w *sendWQE) {
	if w.watch == nil || !w.watch.announced {
		return
	}
	w.watch.announced = false
	a := &q.device.announced
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = slices.DeleteFunc(a.list, func(x announced) bool { return x.w == w })
}

// checkFreed looks whether a region that ends is what posted sends need, which have not ended.
func (m *MR) checkFreed() {
	d := m.PD.Context.Device
	if !d.options.Late {
		return
	}
	d.each(func(q *QP) {
		q.mu.Lock()
		defer q.mu.Unlock()
		for i := q.sq.done; i < q.sq.posted; i++ {
			w := q.sq.at(i)
			if w.inline == nil && slices.ContainsFunc(w.wr.SGEs, func(s ibv.SGE) bool { return s.LKey == m.Key }) {
				q.found(finding.FreedUnderWay, w, "the memory region with key %#x ends while the %s, which uses it, is under "+
					"way", m.Key, describeSend(w))
				return
			}
		}
	})
}

// mistakes are the failures that a program which is right does not get.
const mistakes = 1<<ibv.WC_LOC_LEN_ERR | 1<<ibv.WC_LOC_QP_OP_ERR | 1<<ibv.WC_LOC_PROT_ERR | 1<<ibv.WC_MW_BIND_ERR |
	1<<ibv.WC_LOC_ACCESS_ERR | 1<<ibv.WC_REM_INV_REQ_ERR | 1<<ibv.WC_REM_ACCESS_ERR | 1<<ibv.WC_REM_OP_ERR |
	1<<ibv.WC_RNR_RETRY_EXC_ERR

// checkIgnored looks whether a queue pair that is destroyed has failed, and nobody has polled the completion that says
// so.
func (q *QP) checkIgnored() {
	if !q.device.options.Late {
		return
	}
	for _, c := range []*CQ{q.init.SendCQ, q.init.RecvCQ} {
		if c == nil {
			continue
		}
		if id, status, ok := c.mistake(q); ok {
			finding.Tell(&finding.Finding{ID: finding.IgnoredFailure, Place: id, Objects: []journal.Object{q.named()},
				Text: fmt.Sprintf("work with wr_id %#x failed with %s, and the queue pair is destroyed before anybody has polled "+
					"the completion", id, statusText(status))})
			return
		}
	}
}

// mistake is the first completion of a queue pair that tells of a mistake of the program.
func (c *CQ) mistake(q *QP) (id uint64, status ibv.WCStatus, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range int(c.count.Load()) {
		if e := c.at(i); e.qp == q && mistakes>>e.wc.Status&1 != 0 {
			return e.wc.WRID, e.wc.Status, true
		}
	}
	return 0, 0, false
}
