package engine

import (
	"context"
	"encoding/binary"

	"farside/internal/ibv"
	"farside/rdmasim"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
	"farside/verbs/internal/shm"
)

// The direct way: an RDMA write, a read or an atomic whose target is Farside's memory, registered by a process of this
// host and user, is done by the thread that posts it, between its own memory and its own mapping of the target's. It
// checks what the target's responder would check, in what the target has published: that the queue pair is connected
// with this one and may be used so, and key, domain, rights and range of the region. If anything is amiss, the request
// goes as packets, and the responder says what is wrong.
//
// Only a request before which all others have ended goes this way, so that the order of requests stays.

// near is a way to another process that has published what it lets others use.
type near interface {
	Usable() bool
	Enter() uint64
	Leave(uint64)
	Region(index uint32) (shm.Region, shm.Version, bool)
	QueuePair(number uint32) (shm.QueuePair, shm.Version, bool)
}

// publisher is a network that tells other processes what they may use directly.
type publisher interface {
	Publish(index uint32, r shm.Region)
	Withdraw(index uint32)
	PublishQueuePair(number uint32, q shm.QueuePair)
}

// direct is what a queue pair knows of the region that it has reached directly.
type direct struct {
	near    near
	key     uint32 // that region and refused are for
	asked   bool   // it is being looked for
	refused bool   // it can't be had
	address uint64 // remote address of its first byte
	region  *rdmasim.RemoteRegion
}

// processOf is the process that gave a queue pair its number.
func processOf(number uint32) uint32 { return number >> 12 }

// publish tells other processes of a region, if it is memory that they can reach. Under m.mu, or before others have m.
func (m *MR) publish() {
	p, ok := m.PD.Context.Device.network.(publisher)
	index := m.Key >> tagBits
	if !ok || m.init.Memory == nil || !rdmasim.IsRemote(m.init.Address) || index >= shm.Regions || m.init.Length == 0 {
		return
	}
	p.Publish(index, shm.Region{Key: m.Key, Domain: m.PD.id, Access: uint32(m.init.Access), Address: m.init.Address,
		IOVA: m.grant.start, Length: m.init.Length})
	m.published = true
}

// withdraw ends that, and waits for those who are at it. Under m.mu.
func (m *MR) withdraw() {
	if m.published {
		m.published = false
		m.PD.Context.Device.network.(publisher).Withdraw(m.Key >> tagBits)
	}
}

// publish tells other processes what this queue pair lets its peer do now. Under q.mu.
func (q *QP) publish() {
	p, ok := q.device.network.(publisher)
	if !ok {
		return
	}
	near, _ := q.path.(near)
	ready := near != nil && (q.kind == ibv.QPT_RC || q.kind == ibv.QPT_UC) && q.state >= ibv.QPS_RTR &&
		q.state <= ibv.QPS_SQE
	if !ready && !q.published {
		return
	}
	q.published = ready
	p.PublishQueuePair(q.number, shm.QueuePair{Ready: ready, Domain: q.pd.id, Access: uint32(q.attr.QPAccessFlags),
		Remote: q.attr.DestQPNum, Process: processOf(q.attr.DestQPNum)})
}

// rightsOf are the rights that a request needs at its target, 0 for one that isn't done directly.
func rightsOf(o ibv.WROpcode) ibv.AccessFlags {
	switch o {
	case ibv.WR_RDMA_WRITE:
		return ibv.ACCESS_REMOTE_WRITE
	case ibv.WR_RDMA_READ:
		return ibv.ACCESS_REMOTE_READ
	case ibv.WR_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_FETCH_AND_ADD:
		return ibv.ACCESS_REMOTE_ATOMIC
	}
	return 0
}

// setNear looks at what a new path can do. Under q.mu.
func (q *QP) setNear(p fabric.Path) {
	near, _ := p.(near)
	if q.device.harmed {
		near = nil // all goes as packets
	}
	if transportOf(q.kind) == packet.XRC { // whose memory it is depends on each request
		near = nil
	}
	q.direct = direct{near: near}
}

// doDirectly does a request before which all have ended, and says whether it has, or has failed it. Under q.mu.
func (q *QP) doDirectly(w *sendWQE) bool {
	need := rightsOf(w.wr.Opcode)
	if q.direct.near == nil || need == 0 || w.length == 0 || q.req.acked != q.req.next || !q.direct.near.Usable() {
		return false
	}
	if !q.reach(w, need) {
		return false
	}
	if w.status == 0 {
		q.sq.cursor++
		q.endSend(w, ibv.WC_SUCCESS)
	}
	return true
}

// reach checks what the target has published, and copies while that holds. Under q.mu.
func (q *QP) reach(w *sendWQE, need ibv.AccessFlags) bool {
	n := q.direct.near
	defer n.Leave(n.Enter())
	peer, _, ok := n.QueuePair(q.attr.DestQPNum)
	if !ok || peer.Remote != q.number || peer.Process != processOf(q.number) || ibv.AccessFlags(peer.Access)&need == 0 {
		return false
	}
	r, _, ok := n.Region(w.wr.RKey >> tagBits)
	off := w.wr.RemoteAddress - r.IOVA
	if !ok || r.Key != w.wr.RKey || r.Domain != peer.Domain || ibv.AccessFlags(r.Access)&need == 0 ||
		off > r.Length || w.length > r.Length-off || need == ibv.ACCESS_REMOTE_ATOMIC && w.wr.RemoteAddress&7 != 0 {
		return false
	}
	if q.direct.key != r.Key || q.direct.address != r.Address {
		q.direct = direct{near: n, key: r.Key, address: r.Address}
	}
	if q.direct.region == nil {
		q.ask(r.Address)
		return false
	}
	if q.device.options.Late && fillsMemory(w.wr.Opcode) && q.watches(w.wr.SGEs) {
		return false
	}
	err := q.exchange(w, r.Address+off)
	switch err {
	case nil:
		return true
	case errFault:
		w.status = ibv.WC_LOC_PROT_ERR
		return true
	}
	q.direct.region, q.direct.refused = nil, true
	return false
}

// ask looks for the region around a remote address, beside the requests. Under q.mu.
func (q *QP) ask(address uint64) {
	if q.direct.asked || q.direct.refused {
		return
	}
	q.direct.asked = true
	key := q.direct.key
	go func() {
		var region *rdmasim.RemoteRegion
		peer, err := q.device.reacher()
		if err == nil {
			region, err = peer.Resolve(context.Background(), address)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if d := &q.direct; d.key == key && d.address == address {
			d.region, d.asked, d.refused = region, false, err != nil
		}
	}()
}

// reacher is how the device reaches memory of other processes.
func (d *Device) reacher() (*rdmasim.Peer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.peer == nil {
		p, err := rdmasim.OpenUnharmed()
		if err != nil {
			return nil, err
		}
		d.peer = p
	}
	return d.peer, nil
}

// exchange copies between a request's entries and the target, which begins at a remote address. Errors: errFault for
// the entries, else the region's. Under q.mu.
func (q *QP) exchange(w *sendWQE, address uint64) (err error) {
	defer q.release()
	defer func() { accessFault(recover(), &err) }()
	if w.inline != nil {
		q.pieces = append(q.pieces[:0], w.inline[:w.length])
	} else if !q.gather(w.wr.SGEs, 0, w.length) {
		return errFault
	}
	at := int64(address - q.direct.region.Base())
	switch w.wr.Opcode {
	case ibv.WR_RDMA_WRITE, ibv.WR_RDMA_READ:
		for _, p := range q.pieces {
			if w.wr.Opcode == ibv.WR_RDMA_WRITE {
				_, err = q.direct.region.WriteAt(p, at)
			} else {
				_, err = q.direct.region.ReadAt(p, at)
			}
			if err != nil {
				return err
			}
			at += int64(len(p))
		}
		return nil
	}
	return q.exchangeWord(w, at)
}

// exchangeWord does an atomic at a place of the region, and puts what was there into the request's entries. Under q.mu.
func (q *QP) exchangeWord(w *sendWQE, at int64) error {
	op, operand, compare := rdmasim.OpFetchAdd, w.wr.CompareAdd, uint64(0)
	if w.wr.Opcode == ibv.WR_ATOMIC_CMP_AND_SWP {
		op, operand, compare = rdmasim.OpCompareSwap, w.wr.Swap, w.wr.CompareAdd
	}
	old, err := q.direct.region.AtomicAt(op, at, operand, compare)
	if err != nil {
		return err
	}
	var value [8]byte
	binary.NativeEndian.PutUint64(value[:], old)
	rest := value[:]
	for _, p := range q.pieces {
		rest = rest[copy(p, rest):]
	}
	return nil
}
