package engine

import (
	"encoding/binary"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// receiveUnreliable takes a packet of an unreliable connection. A message of which a packet is missing, or that can't
// be received, is lost (section 9.8.3). Its receive goes to the next one. Under q.mu.
func (q *QP) receiveUnreliable(h *packet.Header, payload []byte) {
	r, o := &q.res, h.Opcode.Operation()
	if h.PSN != r.psn || first(o) {
		r.message = noMessage
	}
	r.psn = (h.PSN + 1) & packet.PSNMask
	kind := writing
	if o <= packet.SendOnlyImm {
		kind = sending
	}
	if !q.fits(o, kind, len(payload)) {
		r.message = noMessage
		return
	}
	if kind == sending {
		q.receiveUnreliableSend(h, payload)
		return
	}
	immediate := o == packet.WriteLastImm || o == packet.WriteOnlyImm
	end := uint64(len(payload))
	if !first(o) {
		end += r.off
	}
	if first(o) && !q.beginWrite(h) || end > r.length || last(o) && end != r.length || immediate && !q.takeReceive() ||
		!q.place(payload) {
		r.message = noMessage
		return
	}
	r.message, r.off = writing, end
	q.accept(h, last(o))
	if immediate {
		e := entry{wc: WC{WC: ibv.WC{Opcode: ibv.WC_RECV_RDMA_WITH_IMM, ByteLen: uint32(r.length)}}}
		setImmediate(&e, h)
		q.endReceive(&e, h.Solicited)
	}
}

// receiveUnreliableSend takes a packet of a send that fits. Under q.mu.
func (q *QP) receiveUnreliableSend(h *packet.Header, payload []byte) {
	r, o := &q.res, h.Opcode.Operation()
	if first(o) {
		if !q.takeReceive() {
			return
		}
		r.message, r.off = sending, 0
	}
	failed := ibv.WC_SUCCESS
	if r.off+uint64(len(payload)) > r.wqe.room() {
		failed = ibv.WC_LOC_LEN_ERR
	} else if !q.scatter(r.wqe.sges, r.off, payload) {
		failed = ibv.WC_LOC_PROT_ERR
	}
	if failed != ibv.WC_SUCCESS {
		q.endReceive(&entry{wc: WC{WC: ibv.WC{Status: failed, Opcode: ibv.WC_RECV}}}, false)
		q.toError()
		return
	}
	r.off += uint64(len(payload))
	q.accept(h, last(o))
	if last(o) {
		e := entry{wc: WC{WC: ibv.WC{Opcode: ibv.WC_RECV, ByteLen: uint32(r.off)}}}
		setImmediate(&e, h)
		q.endReceive(&e, h.Solicited)
	}
}

const (
	grhBytes = 40
	// privilegedQKey in the Q_Key of a request says that the queue pair's own is used (section 10.2.4.3).
	privilegedQKey = 1 << 31
)

// sendDatagram sends a datagram, and ends its request. Under q.mu.
func (q *QP) sendDatagram(w *sendWQE) bool {
	h := packet.Header{Opcode: packet.SendOnly, PSN: w.psn, DestinationQP: w.wr.RemoteQPN, QKey: w.wr.RemoteQKey,
		SourceQP: q.number, Immediate: toBig(w.wr.ImmData), Solicited: w.wr.Flags&ibv.SEND_SOLICITED != 0}
	if w.wr.Opcode == ibv.WR_SEND_WITH_IMM {
		h.Opcode = packet.SendOnlyImm
	}
	if h.QKey&privilegedQKey != 0 {
		h.QKey = q.attr.QKey
	}
	path := w.wr.AH.to(w.wr.RemoteQPN)
	if w.inline != nil {
		q.pieces = append(q.pieces[:0], w.inline)
	} else if !q.gather(w.wr.SGEs, 0, w.length) {
		w.status = ibv.WC_LOC_PROT_ERR
		return true
	}
	err := q.sendOn(path, &h, w.length)
	q.release()
	switch err {
	case errFault:
		w.status = ibv.WC_LOC_PROT_ERR
		return true
	case fabric.ErrFull:
		return false
	case fabric.ErrDown: // it is lost, and the next one finds out who is there now
		w.wr.AH.way.Store(nil)
	}
	q.req.send = (q.req.send + 1) & packet.PSNMask
	q.req.acked = q.req.send
	q.sq.cursor++
	q.endSend(w, ibv.WC_SUCCESS)
	return true
}

// receiveDatagram takes a datagram, if its Q_Key is right and there is a receive. Under q.mu.
func (q *QP) receiveDatagram(from *fabric.Source, h *packet.Header, payload []byte) {
	r := &q.res
	if h.QKey != q.attr.QKey || len(payload) > int(mtuBytes(ibv.MTU_4096)) || !q.takeReceive() {
		return
	}
	e := entry{wc: WC{WC: ibv.WC{Opcode: ibv.WC_RECV, ByteLen: uint32(grhBytes + len(payload)), SrcQP: h.SourceQP,
		WCFlags: ibv.WC_GRH, SL: headerKind(from)}}}
	setImmediate(&e, h)
	var grh [grhBytes]byte
	putGRH(&grh, from, len(payload))
	switch {
	case r.wqe.room() < uint64(e.wc.ByteLen):
		e.wc.Status = ibv.WC_LOC_LEN_ERR
	case !q.scatter(r.wqe.sges, 0, grh[:]) || !q.scatter(r.wqe.sges, grhBytes, payload):
		e.wc.Status = ibv.WC_LOC_PROT_ERR
	}
	q.endReceive(&e, h.Solicited)
	if e.wc.Status != ibv.WC_SUCCESS {
		q.toError()
	}
}

// headerKind is what a completion says of the headers of a datagram in place of a service level, which RoCE has none
// of: UDP was there (8), behind IPv6 (1) or IPv4 (2), as mlx5's completions have it. UCX takes from it where addresses
// lie.
func headerKind(from *fabric.Source) uint8 {
	if from.Remote.Is4() {
		return 8 | 2
	}
	return 8 | 1
}

// putGRH writes what receivers of datagrams find before the payload: an IPv6 header, or 20 bytes of nothing and an IPv4
// header (annex A17.4.5.1).
func putGRH(b *[grhBytes]byte, from *fabric.Source, payload int) {
	const udp, nextUDP = 8, 17
	length := udp + packet.BTHSize + 8 + payload + -payload&3 + packet.ICRCSize
	if from.Remote.Is4() {
		ip := b[20:]
		ip[0], ip[1] = 0x45, from.TrafficClass
		binary.BigEndian.PutUint16(ip[2:], uint16(20+length))
		ip[6] = 0x40 // DF
		ip[8], ip[9] = from.HopLimit, nextUDP
		source, destination := from.Remote.As4(), from.Local.As4()
		copy(ip[12:], source[:])
		copy(ip[16:], destination[:])
		sum := uint32(0)
		for i := 0; i < len(ip); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(ip[i:]))
		}
		sum = sum&0xffff + sum>>16
		binary.BigEndian.PutUint16(ip[10:], ^uint16(sum&0xffff+sum>>16))
		return
	}
	binary.BigEndian.PutUint32(b[:], 6<<28|uint32(from.TrafficClass)<<20|from.FlowLabel&0xfffff)
	binary.BigEndian.PutUint16(b[4:], uint16(length))
	b[6], b[7] = nextUDP, from.HopLimit
	source, destination := from.Remote.As16(), from.Local.As16()
	copy(b[8:], source[:])
	copy(b[24:], destination[:])
}
