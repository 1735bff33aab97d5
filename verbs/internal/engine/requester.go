package engine

import (
	"encoding/binary"
	"math/bits"
	"time"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// requester is the sending side of a queue pair. Numbers of packets (PSN) are of 24 bits and go around.
type requester struct {
	next      uint32 // of the next packet that is new
	send      uint32 // of the next packet to send: before next while packets are sent again
	acked     uint32 // of the oldest packet that isn't acknowledged
	asked     uint32 // packets sent since an acknowledgement was asked for
	window    uint32 // most packets that aren't acknowledged
	reads     int    // reads and atomics that have begun and not ended
	retries   uint8  // left
	rnr       uint8  // retries left because of receivers that weren't ready
	wentBack  bool   // packets are sent again because of a response that is missing
	notBefore time.Duration
	deadline  time.Duration // for an acknowledgement; 0 for none
}

const (
	halfPSN = 1 << 23
	// lossyBytes and lossyPackets bound what is under way where packets get lost when a socket's buffer is full.
	lossyBytes   = 64 << 10
	lossyPackets = 16
	// patience is the least time to wait for an answer on a way that loses nothing: there a peer that is slow is a
	// process that has no processor.
	patience = 250 * time.Millisecond
)

// before says whether PSN a comes before b.
func before(a, b uint32) bool { return (a-b)&packet.PSNMask >= halfPSN }

func (r *requester) setWindow(mtu uint32, reliable bool) {
	if r.window = max(lossyPackets, lossyBytes/mtu); reliable {
		r.window = halfPSN / 2
	}
}

// begin is the state RTS.
func (r *requester) begin(psn uint32) { r.next, r.send, r.acked = psn, psn, psn }

// stop forgets all that is under way.
func (r *requester) stop() {
	r.send, r.acked, r.reads = r.next, r.next, 0
	r.notBefore, r.deadline, r.wentBack = 0, 0, false
}

// progress gives all retries back. Under q.mu.
func (r *requester) progress(q *QP) {
	r.retries, r.rnr, r.wentBack = q.attr.RetryCnt, q.attr.RNRRetry, false
	q.expect()
}

// expect sets the time until which an answer must have come. Under q.mu.
func (q *QP) expect() {
	r := &q.req
	if r.acked == r.next || q.attr.Timeout == 0 || !reliable(q.kind) {
		r.deadline = 0
		return
	}
	wait := 4096 * time.Nanosecond << q.attr.Timeout
	if q.path != nil && q.path.Reliable() {
		wait = max(wait, patience)
	}
	r.deadline = q.device.timers.now() + wait
	q.schedule(r.deadline)
}

// schedule makes onTimer be called at a time, or before. Under q.mu.
func (q *QP) schedule(at time.Duration) {
	if q.scheduled == 0 || at < q.scheduled {
		q.scheduled = at
		q.device.timers.add(q, at)
	}
}

// onTimer looks at what the queue pair has waited for.
func (q *QP) onTimer() {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, now := &q.req, q.device.timers.now()
	if now >= q.scheduled {
		q.scheduled = 0
	}
	if q.late != nil {
		q.tellLate(now)
	}
	if q.device.options.Late {
		q.respond()
	}
	if q.state != ibv.QPS_RTS && q.state != ibv.QPS_SQD {
		return
	}
	if r.notBefore != 0 && now >= r.notBefore {
		r.notBefore = 0
		q.transmit()
	}
	if r.deadline != 0 && now >= r.deadline && r.notBefore == 0 {
		q.timedOut()
	}
	for _, at := range [...]time.Duration{r.deadline, r.notBefore} {
		if at != 0 {
			q.schedule(at)
		}
	}
}

// timedOut is a time in which no answer came. Under q.mu.
func (q *QP) timedOut() {
	r := &q.req
	switch {
	case r.acked == r.next:
		r.deadline = 0
	case q.blocked:
		q.expect() // nothing could be sent again anyway
	case r.retries == 0:
		q.failSend(ibv.WC_RETRY_EXC_ERR)
	default:
		r.retries--
		q.tellPacket("no answer in time", r.acked)
		r.wentBack = false
		q.expect()
		q.seek(r.acked)
		q.transmit()
	}
}

// seek makes psn, which has been sent, the next one to send. Under q.mu.
func (q *QP) seek(psn uint32) {
	q.req.send = psn
	q.sq.cursor = q.sq.done
	for q.sq.cursor < q.sq.posted {
		w := q.sq.at(q.sq.cursor)
		if !w.started || !before(w.end, psn) {
			return
		}
		q.sq.cursor++
	}
}

// transmit sends what may be sent now. Under q.mu.
func (q *QP) transmit() {
	if b := q.batch; b != nil && q.sq.cursor != q.sq.posted {
		b.Hold()
		defer b.Flush()
	}
	for q.step() {
	}
	if q.req.deadline == 0 && q.req.notBefore == 0 && q.req.acked != q.req.next {
		q.expect()
	}
}

// step sends a packet, or does what needs none. It says whether there may be more. Under q.mu.
func (q *QP) step() bool {
	r := &q.req
	if q.state != ibv.QPS_RTS && q.state != ibv.QPS_SQD || q.blocked || r.notBefore != 0 || q.sq.cursor == q.sq.posted {
		return false
	}
	w := q.sq.at(q.sq.cursor)
	if w.status == 0 && !w.started {
		if q.state == ibv.QPS_SQD || !q.begin(w) {
			return false
		}
	}
	switch {
	case w.status != 0:
		if q.sq.cursor == q.sq.done {
			q.failSend(w.status)
		}
		return false
	case !w.started: // it was done at once
		return true
	case q.kind == ibv.QPT_UD:
		return q.sendDatagram(w)
	case (r.send-r.acked)&packet.PSNMask >= r.window:
		return false
	}
	var h packet.Header
	switch w.wr.Opcode {
	case ibv.WR_RDMA_READ, ibv.WR_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_FETCH_AND_ADD:
		return q.sendRequest(w, &h)
	}
	return q.sendData(w, &h)
}

// begin checks a request and gives it its packets, or does one that needs none, or fails it. It says false if its time
// hasn't come. Under q.mu.
func (q *QP) begin(w *sendWQE) bool {
	r := &q.req
	first := q.sq.cursor == q.sq.done
	if w.wr.Flags&ibv.SEND_FENCE != 0 && r.reads > 0 {
		return false
	}
	if w.watch != nil {
		if !q.begins(w) {
			return false
		}
		if w.status != 0 {
			return true
		}
	}
	need, packets := ibv.AccessFlags(0), uint32(1)
	switch w.wr.Opcode {
	case ibv.WR_LOCAL_INV, ibv.WR_BIND_MW:
		// All before has ended: so it neither overtakes uses of the key nor their completions.
		if first {
			q.doLocally(w)
		}
		return first
	case ibv.WR_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_FETCH_AND_ADD:
		if need = ibv.ACCESS_LOCAL_WRITE; w.length != 8 {
			w.status = ibv.WC_LOC_LEN_ERR
			return true
		}
	case ibv.WR_RDMA_READ:
		need = ibv.ACCESS_LOCAL_WRITE
	}
	if need != 0 {
		if q.attr.MaxRDAtomic == 0 {
			w.status = ibv.WC_LOC_QP_OP_ERR
			return true
		}
		if r.reads >= int(q.attr.MaxRDAtomic) {
			return false
		}
	}
	switch {
	case w.length > maxMessage, q.kind == ibv.QPT_UD && w.length > uint64(mtuBytes(q.device.options.MTU)):
		w.status = ibv.WC_LOC_LEN_ERR
		return true
	case w.inline == nil && !q.checkEntries(w.wr.SGEs, need):
		w.status = ibv.WC_LOC_PROT_ERR
		return true
	}
	if first && q.doDirectly(w) {
		return true
	}
	if q.kind != ibv.QPT_UD {
		q.way() // which says how long packets are
		packets = max(1, uint32((w.length+uint64(q.mtu)-1)/uint64(q.mtu)))
	}
	if (r.next-r.acked)&packet.PSNMask+packets > halfPSN {
		return false
	}
	if need != 0 {
		r.reads++
	}
	w.started, w.psn, w.end, r.send = true, r.next, (r.next+packets-1)&packet.PSNMask, r.next
	r.next = (r.next + packets) & packet.PSNMask
	return true
}

// doLocally does an invalidation or a bind. Under q.mu.
func (q *QP) doLocally(w *sendWQE) {
	if w.wr.Opcode == ibv.WR_LOCAL_INV {
		if !q.device.invalidate(q, w.wr.InvalidateKey) {
			w.status = ibv.WC_LOC_QP_OP_ERR
		}
	} else if !w.wr.MW.bind(q, &w.wr.Bind, w.wr.BindKey) {
		w.status = ibv.WC_MW_BIND_ERR
	}
	if w.status == 0 {
		q.sq.cursor++
		q.endSend(w, ibv.WC_SUCCESS)
	}
}

// sendRequest sends the request of a read or an atomic. A read asks for as many packets as may be under way; the
// rest is another request, once all of these have come. Under q.mu.
func (q *QP) sendRequest(w *sendWQE, h *packet.Header) bool {
	r := &q.req
	h.Opcode, h.Address, h.RKey = packet.ReadRequest, w.wr.RemoteAddress, w.wr.RKey
	h.PSN, h.SRQ = r.send, w.wr.RemoteSRQ
	packets := uint32(1)
	switch w.wr.Opcode {
	case ibv.WR_RDMA_READ:
		index := (r.send - w.psn) & packet.PSNMask
		if index > 0 && r.acked != r.send {
			return false
		}
		off := uint64(index) * uint64(q.mtu)
		packets = min((w.end-r.send)&packet.PSNMask+1, r.window)
		h.Address += off
		h.Length = uint32(min(w.length-off, uint64(packets)*uint64(q.mtu)))
	case ibv.WR_ATOMIC_CMP_AND_SWP:
		h.Opcode, h.SwapAdd, h.Compare = packet.CompareSwap, w.wr.Swap, w.wr.CompareAdd
	default:
		h.Opcode, h.SwapAdd = packet.FetchAdd, w.wr.CompareAdd
	}
	if q.send(h, 0) != nil {
		return false
	}
	if r.send = (r.send + packets) & packet.PSNMask; before(w.end, r.send) {
		q.sq.cursor++
	}
	return true
}

// sendData sends the next packet of a send or a write. Under q.mu.
func (q *QP) sendData(w *sendWQE, h *packet.Header) bool {
	r := &q.req
	index := (r.send - w.psn) & packet.PSNMask
	off := uint64(index) * uint64(q.mtu)
	n := min(uint64(q.mtu), w.length-off)
	last := r.send == w.end
	h.PSN, h.SRQ = r.send, w.wr.RemoteSRQ
	h.Opcode = dataOpcode(w.wr.Opcode, index == 0, last)
	switch w.wr.Opcode {
	case ibv.WR_RDMA_WRITE, ibv.WR_RDMA_WRITE_WITH_IMM:
		h.Address, h.RKey, h.Length = w.wr.RemoteAddress, w.wr.RKey, uint32(w.length)
	}
	h.Immediate, h.Invalidate = toBig(w.wr.ImmData), w.wr.InvalidateKey
	h.Solicited = last && w.wr.Flags&ibv.SEND_SOLICITED != 0
	h.AckRequest = reliable(q.kind) && (last || r.asked+1 >= r.window/2)
	if w.inline != nil {
		q.pieces = append(q.pieces[:0], w.inline[off:off+n])
	} else if !q.gather(w.wr.SGEs, off, n) {
		w.status = ibv.WC_LOC_PROT_ERR
		return true
	}
	err := q.send(h, n)
	q.release()
	if err == errFault {
		w.status = ibv.WC_LOC_PROT_ERR
	}
	if err != nil {
		return err == errFault
	}
	if r.asked++; h.AckRequest {
		r.asked = 0
	}
	r.send = (r.send + 1) & packet.PSNMask
	if last {
		q.sq.cursor++
	}
	if q.kind == ibv.QPT_UC {
		if r.acked = r.send; last {
			q.endSend(w, ibv.WC_SUCCESS)
		}
	}
	return true
}

// dataOpcode is the operation of a packet of a send or a write.
func dataOpcode(op ibv.WROpcode, first, last bool) packet.Opcode {
	o := packet.SendFirst
	if op == ibv.WR_RDMA_WRITE || op == ibv.WR_RDMA_WRITE_WITH_IMM {
		o = packet.WriteFirst
	}
	switch {
	case first && last:
		o += packet.SendOnly
	case last:
		o += packet.SendLast
	case first:
		return o
	default:
		return o + packet.SendMiddle
	}
	switch {
	case op == ibv.WR_SEND_WITH_IMM, op == ibv.WR_RDMA_WRITE_WITH_IMM:
		return o + 1
	case op == ibv.WR_SEND_WITH_INV && first:
		return packet.SendOnlyInv
	case op == ibv.WR_SEND_WITH_INV:
		return packet.SendLastInv
	}
	return o
}

// send sends a packet to the peer, with n bytes of payload in q.pieces. Errors: fabric.ErrFull, after which the queue
// pair goes on by itself later; errFault for a payload whose memory has gone. Under q.mu.
func (q *QP) send(h *packet.Header, n uint64) error {
	h.DestinationQP = q.attr.DestQPNum
	err := q.sendOn(q.way(), h, n)
	if err == fabric.ErrDown {
		return nil // it is lost: retries tell
	}
	return err
}

// sendOn is send by any way, also fabric.ErrDown by one that has ended.
func (q *QP) sendOn(p fabric.Path, h *packet.Header, n uint64) error {
	if p == nil || q.severed {
		return nil // nobody is there: it is lost
	}
	h.Opcode |= transportOf(q.kind)
	h.PKey, h.Migrated, h.Pad = packet.DefaultPKey, true, uint8(-n&3)
	header := q.header[:h.Put(q.header[:])]
	err := q.put(p, header)
	if err == fabric.ErrFull {
		q.device.waiting.add(p, q)
		err = q.put(p, header)
	}
	switch err {
	case fabric.ErrFull:
		q.blocked = true
		return err
	case errFault, fabric.ErrDown:
		return err
	}
	return nil
}

// put sends a packet with what is in q.pieces. Errors are those of sendGuarded. Under q.mu.
func (q *QP) put(p fabric.Path, header []byte) error {
	if q.device.harmed {
		return q.sendOnCommand(p, header, q.pieces)
	}
	return sendGuarded(p, header, q.pieces)
}

// failSend ends the oldest send with an error, and with it the queue pair or its send queue. Under q.mu.
func (q *QP) failSend(status ibv.WCStatus) {
	if q.sq.done == q.sq.posted {
		return
	}
	q.endSend(q.sq.at(q.sq.done), status)
	q.endSends()
}

// endSends is what the failure of a send does to the queue pair. Under q.mu.
func (q *QP) endSends() {
	if reliable(q.kind) {
		q.toError()
	} else if q.state != ibv.QPS_ERR {
		q.toSendError()
	}
}

// endSend ends the oldest send. Under q.mu.
func (q *QP) endSend(w *sendWQE, status ibv.WCStatus) {
	onCommand := false
	if w.watch != nil {
		before := status
		status = q.endWatched(w, status)
		onCommand = status != before
	}
	q.sq.done++
	w.wr.AH, w.wr.MW, w.wr.Bind.MR = nil, nil, nil
	if status != ibv.WC_SUCCESS || q.init.SignalAll || w.wr.Flags&ibv.SEND_SIGNALED != 0 {
		e := entry{send: true, slots: q.sq.done}
		e.wc.WRID, e.wc.Status, e.wc.Opcode = w.wr.ID, status, completionOf[w.wr.Opcode]
		if status == ibv.WC_SUCCESS {
			e.wc.ByteLen = uint32(w.length)
		}
		q.complete(q.init.SendCQ, &e, false)
	}
	if onCommand {
		q.endSends()
	}
	q.checkDrained()
}

// completionOf has the operation of a completion for that of a request.
var completionOf = [32]ibv.WCOpcode{ibv.WR_RDMA_WRITE: ibv.WC_RDMA_WRITE, ibv.WR_RDMA_WRITE_WITH_IMM: ibv.WC_RDMA_WRITE,
	ibv.WR_SEND: ibv.WC_SEND, ibv.WR_SEND_WITH_IMM: ibv.WC_SEND, ibv.WR_RDMA_READ: ibv.WC_RDMA_READ,
	ibv.WR_ATOMIC_CMP_AND_SWP: ibv.WC_COMP_SWAP, ibv.WR_ATOMIC_FETCH_AND_ADD: ibv.WC_FETCH_ADD,
	ibv.WR_LOCAL_INV: ibv.WC_LOCAL_INV, ibv.WR_BIND_MW: ibv.WC_BIND_MW, ibv.WR_SEND_WITH_INV: ibv.WC_SEND}

// flushSends ends all sends that have been posted. Under q.mu.
func (q *QP) flushSends() {
	for q.sq.done < q.sq.posted {
		q.endSend(q.sq.at(q.sq.done), ibv.WC_WR_FLUSH_ERR)
	}
	q.sq.cursor = q.sq.done
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// toBig is the number whose bytes in the order of the wire are v's in memory, and the other way around.
func toBig(v uint32) uint32 {
	if littleEndian {
		return bits.ReverseBytes32(v)
	}
	return v
}
