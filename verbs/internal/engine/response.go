package engine

import (
	"encoding/binary"
	"time"

	"farside/internal/ibv"
	"farside/verbs/internal/packet"
)

// receiveResponse takes an answer of the peer's responder. Under q.mu.
func (q *QP) receiveResponse(h *packet.Header, payload []byte) {
	switch h.Opcode.Operation() {
	case packet.Acknowledge:
		q.receiveAck(h)
	case packet.AtomicAcknowledge:
		if w := q.awaited(h.PSN); w != nil {
			q.receiveOriginal(w, h)
		}
	default:
		if w := q.awaited(h.PSN); w != nil {
			q.receiveRead(w, payload)
		}
	}
	q.transmit()
}

// outstanding says whether a packet has been sent and not been acknowledged. Under q.mu.
func (q *QP) outstanding(psn uint32) bool {
	return (psn-q.req.acked)&packet.PSNMask < (q.req.next-q.req.acked)&packet.PSNMask
}

// receiveAck takes an acknowledgement, also a negative one. Under q.mu.
func (q *QP) receiveAck(h *packet.Header) {
	r := &q.req
	if !q.outstanding(h.PSN) {
		return
	}
	kind, value := h.Syndrome&packet.SyndromeKind, h.Syndrome&packet.SyndromeValue
	if kind == packet.SyndromeACK {
		q.acknowledge((h.PSN + 1) & packet.PSNMask)
		return
	}
	q.acknowledge(h.PSN)
	if r.acked != h.PSN {
		return // a response that is missing comes first
	}
	switch kind {
	case packet.SyndromeRNR:
		q.receiverNotReady(value)
	case packet.SyndromeNAK:
		q.tellPacket("refused: "+nakNames[value], h.PSN)
		switch value {
		case packet.NAKSequence:
			if r.retries == 0 {
				q.failSend(ibv.WC_RETRY_EXC_ERR)
				return
			}
			r.retries--
			q.seek(r.acked)
			q.expect()
		case packet.NAKInvalidRequest:
			q.failSend(ibv.WC_REM_INV_REQ_ERR)
		case packet.NAKRemoteAccess:
			q.failSend(ibv.WC_REM_ACCESS_ERR)
		case packet.NAKRemoteOp:
			q.failSend(ibv.WC_REM_OP_ERR)
		case packet.NAKInvalidRD:
			q.failSend(ibv.WC_REM_INV_RD_REQ_ERR)
		}
	}
}

// rnrTimes are the times of the values of min_rnr_timer (section 9.7.5.2.8, table 45), microseconds.
var rnrTimes = [32]int{655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840, 5120,
	7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520}

// rnrForever is the rnr_retry that never ends.
const rnrForever = 7

// receiverNotReady waits before the oldest packet is sent again. Under q.mu.
func (q *QP) receiverNotReady(value uint8) {
	r := &q.req
	if q.attr.RNRRetry != rnrForever {
		if r.rnr == 0 {
			q.failSend(ibv.WC_RNR_RETRY_EXC_ERR)
			return
		}
		r.rnr--
	}
	q.tellPacket("the receiver was not ready", r.acked)
	q.seek(r.acked)
	r.deadline = 0
	r.notBefore = q.device.timers.now() + time.Duration(rnrTimes[value])*time.Microsecond
	q.schedule(r.notBefore)
}

// acknowledge ends all sends whose packets come before psn, and goes back to a read or an atomic among them whose
// response is missing. Under q.mu.
func (q *QP) acknowledge(psn uint32) {
	r := &q.req
	from := r.acked
	for q.sq.done < q.sq.posted && before(r.acked, psn) {
		w := q.sq.at(q.sq.done)
		if !w.started {
			break
		}
		if answered(w) {
			q.goBack()
			break
		}
		if !before(w.end, psn) {
			r.acked = psn
			break
		}
		r.acked = (w.end + 1) & packet.PSNMask
		q.endSend(w, ibv.WC_SUCCESS)
	}
	if r.acked != from {
		q.advanced()
	}
}

// advanced is progress of the oldest packet. Under q.mu.
func (q *QP) advanced() {
	r := &q.req
	if before(r.send, r.acked) {
		q.seek(r.acked)
	}
	q.sq.cursor = max(q.sq.cursor, q.sq.done)
	r.progress(q)
}

// answered says whether a send ends by a response of its own.
func answered(w *sendWQE) bool {
	switch w.wr.Opcode {
	case ibv.WR_RDMA_READ, ibv.WR_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_FETCH_AND_ADD:
		return true
	}
	return false
}

// goBack sends again from the response on that is missing, once until there is progress or a timeout. Under q.mu.
func (q *QP) goBack() {
	if r := &q.req; !r.wentBack {
		r.wentBack = true
		q.tellPacket("a response was missing", r.acked)
		q.seek(r.acked)
	}
}

// awaited returns the read or atomic that a response is for, or nil if it isn't the next one. Under q.mu.
func (q *QP) awaited(psn uint32) *sendWQE {
	if !q.outstanding(psn) {
		return nil
	}
	q.acknowledge(psn)
	if q.req.acked != psn || q.sq.done == q.sq.posted {
		return nil
	}
	if w := q.sq.at(q.sq.done); w.started && answered(w) {
		return w
	}
	return nil
}

// receiveOriginal ends an atomic. Under q.mu.
func (q *QP) receiveOriginal(w *sendWQE, h *packet.Header) {
	if w.wr.Opcode == ibv.WR_RDMA_READ {
		q.failSend(ibv.WC_BAD_RESP_ERR)
		return
	}
	var value [8]byte
	binary.NativeEndian.PutUint64(value[:], h.Original)
	q.endAnswered(w, value[:])
}

// receiveRead takes a part of a read. Under q.mu.
func (q *QP) receiveRead(w *sendWQE, payload []byte) {
	n := min(uint64(q.mtu), w.length-w.got)
	if w.wr.Opcode != ibv.WR_RDMA_READ || uint64(len(payload)) != n {
		q.failSend(ibv.WC_BAD_RESP_ERR)
		return
	}
	q.endAnswered(w, payload)
}

// endAnswered scatters the next part of a response, and ends the request with the last one. Under q.mu.
func (q *QP) endAnswered(w *sendWQE, data []byte) {
	r := &q.req
	if !q.scatter(w.wr.SGEs, w.got, data) {
		q.failSend(ibv.WC_LOC_PROT_ERR)
		return
	}
	w.got += uint64(len(data))
	r.acked = (r.acked + 1) & packet.PSNMask
	if r.acked == (w.end+1)&packet.PSNMask {
		r.reads--
		q.endSend(w, ibv.WC_SUCCESS)
	}
	q.advanced()
}
