package engine

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// failing is a case of a send that fails.
type failing struct {
	name   string
	config config
	bad    fabric.Trouble
	// work posts what fails, with id 1.
	work func(a, b *side, from, to *memory)
	want ibv.WCStatus
	// peer is the status of the peer's receive 7, if it has one.
	peer   ibv.WCStatus
	recv   bool
	event  ibv.EventType // the peer's, if peerErr
	peerIn ibv.QPState   // the peer's state afterwards
}

func write(from, to *memory, n int) SendWR {
	return SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, n), RemoteAddress: to.address(0), RKey: to.mr.Key}
}

// Each status of a reliable connection's sends, with what happens to both ends.
func TestStatuses(t *testing.T) {
	quick := func(a *ibv.QPAttr) { a.Timeout, a.RetryCnt = 8, 2 }
	twice := func(a *ibv.QPAttr) { a.Timeout, a.RNRRetry = 18, 2 } // the peer's answer may be late
	for _, c := range []failing{
		{name: "local length", want: ibv.WC_LOC_LEN_ERR, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 7)
				wr.Opcode = ibv.WR_ATOMIC_FETCH_AND_ADD
				a.send(wr)
			}},
		{name: "local key", want: ibv.WC_LOC_PROT_ERR, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 8)
				wr.SGEs[0].LKey ^= 1
				a.send(wr)
			}},
		{name: "local range", want: ibv.WC_LOC_PROT_ERR, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, to *memory) { a.send(write(from, to, 4097)) }},
		{name: "local rights", want: ibv.WC_LOC_PROT_ERR, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, to *memory) {
				wr := write(a.memoryFor(64, 0), to, 8)
				wr.Opcode = ibv.WR_RDMA_READ
				a.send(wr)
			}},
		{name: "local memory has gone", want: ibv.WC_LOC_PROT_ERR, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, to *memory) {
				check(a.t, unix.Mprotect(from.bytes[:4096], unix.PROT_NONE))
				a.send(write(from, to, 8))
			}},
		{name: "no reads", want: ibv.WC_LOC_QP_OP_ERR, peerIn: ibv.QPS_RTS,
			config: config{attr: func(a *ibv.QPAttr) { a.MaxRDAtomic = 0 }},
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 8)
				wr.Opcode = ibv.WR_RDMA_READ
				a.send(wr)
			}},
		{name: "remote key", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR, peerIn: ibv.QPS_ERR,
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 8)
				wr.RKey ^= 1
				a.send(wr)
			}},
		{name: "remote range", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR, peerIn: ibv.QPS_ERR,
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 8)
				wr.RemoteAddress = to.address(4089)
				a.send(wr)
			}},
		{name: "remote rights of the region", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR,
			peerIn: ibv.QPS_ERR, work: func(a, b *side, from, _ *memory) {
				a.send(write(from, b.memoryFor(64, ibv.ACCESS_LOCAL_WRITE|ibv.ACCESS_REMOTE_READ), 8))
			}},
		{name: "remote rights of the queue pair", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR,
			config: config{attr: func(a *ibv.QPAttr) { a.QPAccessFlags = ibv.ACCESS_REMOTE_READ }}, peerIn: ibv.QPS_ERR,
			work: func(a, _ *side, from, to *memory) { a.send(write(from, to, 8)) }},
		{name: "remote memory has gone", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR,
			peerIn: ibv.QPS_ERR, work: func(a, _ *side, from, to *memory) {
				check(a.t, unix.Mprotect(to.bytes[:4096], unix.PROT_NONE))
				a.send(write(from, to, 8))
			}},
		{name: "read of memory that has gone", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR,
			peerIn: ibv.QPS_ERR, work: func(a, _ *side, from, to *memory) {
				check(a.t, unix.Mprotect(to.bytes[:4096], unix.PROT_NONE))
				wr := write(from, to, 8)
				wr.Opcode = ibv.WR_RDMA_READ
				a.send(wr)
			}},
		{name: "domain of another", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR, peerIn: ibv.QPS_ERR,
			work: func(a, b *side, from, _ *memory) {
				pd, err := b.context.AllocPD()
				check(a.t, err)
				other := *b.node
				other.pd = pd
				a.send(write(from, other.memory(64), 8))
			}},
		{name: "unaligned atomic", want: ibv.WC_REM_INV_REQ_ERR, event: ibv.EVENT_QP_REQ_ERR, peerIn: ibv.QPS_ERR,
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 8)
				wr.Opcode, wr.RemoteAddress = ibv.WR_ATOMIC_CMP_AND_SWP, to.address(4)
				a.send(wr)
			}},
		{name: "message longer than the receive", want: ibv.WC_REM_INV_REQ_ERR, event: ibv.EVENT_QP_REQ_ERR, recv: true,
			peer: ibv.WC_LOC_LEN_ERR, peerIn: ibv.QPS_ERR, work: func(a, b *side, from, to *memory) {
				b.recv(7, to.sge(0, 7))
				wr := write(from, to, 8)
				wr.Opcode = ibv.WR_SEND
				a.send(wr)
			}},
		{name: "receive without rights", want: ibv.WC_REM_OP_ERR, recv: true, peer: ibv.WC_LOC_PROT_ERR,
			peerIn: ibv.QPS_ERR, event: noEvent, work: func(a, b *side, from, to *memory) {
				b.recv(7, b.memoryFor(64, ibv.ACCESS_REMOTE_READ).sge(0, 64))
				wr := write(from, to, 8)
				wr.Opcode = ibv.WR_SEND
				a.send(wr)
			}},
		{name: "invalidation of what isn't a window", want: ibv.WC_REM_ACCESS_ERR, event: ibv.EVENT_QP_ACCESS_ERR,
			recv: true, peer: ibv.WC_LOC_ACCESS_ERR, peerIn: ibv.QPS_ERR, work: func(a, b *side, from, to *memory) {
				b.recv(7, to.sge(0, 64))
				wr := write(from, to, 8)
				wr.Opcode, wr.InvalidateKey = ibv.WR_SEND_WITH_INV, to.mr.Key
				a.send(wr)
			}},
		{name: "nobody answers", want: ibv.WC_RETRY_EXC_ERR, config: config{attr: quick}, peerIn: ibv.QPS_RTS,
			bad:  fabric.Trouble{Lose: 1},
			work: func(a, _ *side, from, to *memory) { a.send(write(from, to, 8)) }},
		{name: "nothing to receive", want: ibv.WC_RNR_RETRY_EXC_ERR, config: config{attr: twice}, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, to *memory) {
				wr := write(from, to, 8)
				wr.Opcode = ibv.WR_SEND
				a.send(wr)
			}},
		{name: "local invalidation of a region", want: ibv.WC_LOC_QP_OP_ERR, peerIn: ibv.QPS_RTS,
			work: func(a, _ *side, from, _ *memory) {
				a.send(SendWR{ID: 1, Opcode: ibv.WR_LOCAL_INV, InvalidateKey: from.mr.Key})
			}},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

const noEvent = ibv.EventType(999)

func (c *failing) run(t *testing.T) {
	w := &fabric.Wire{Trouble: c.bad}
	a, b := pair(t, w, c.config)
	from, to := a.memory(4096), b.memory(4096)
	a.recv(5, from.sge(0, 8))
	a.recv(6, from.sge(0, 8))
	c.work(a, b, from, to)
	// What is posted later is flushed, also though it isn't signalled, and receives are.
	check(t, a.qp.PostSend(&SendWR{ID: 2, Opcode: ibv.WR_SEND}))
	a.want(1, c.want)
	seen := map[uint64]bool{}
	for range 3 {
		wc := a.next()
		if wc.Status != ibv.WC_WR_FLUSH_ERR {
			t.Fatalf("%d ends with %d", wc.WRID, wc.Status)
		}
		seen[wc.WRID] = true
	}
	if !seen[2] || !seen[5] || !seen[6] {
		t.Errorf("flushed: %v", seen)
	}
	a.state(ibv.QPS_ERR)
	if c.recv {
		b.want(7, c.peer)
	}
	b.state(c.peerIn)
	if c.event != noEvent && c.event != 0 {
		b.event(c.event)
	} else {
		b.noEvent()
	}
	a.noEvent()
}

// With rnr_retry 7 a send waits for ever for a receive.
func TestReceiverNotReadyForEver(t *testing.T) {
	a, b := pair(t, nil, config{attr: func(a *ibv.QPAttr) { a.RetryCnt, a.Timeout = 1, 18 }})
	from, to := a.memory(64), b.memory(64)
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)})
	a.send(SendWR{ID: 2, Opcode: ibv.WR_RDMA_WRITE_WITH_IMM, SGEs: from.list(0, 8), RemoteAddress: to.address(8),
		RKey: to.mr.Key})
	a.none()
	b.recv(7, to.sge(0, 8))
	a.want(1, ibv.WC_SUCCESS)
	b.want(7, ibv.WC_SUCCESS)
	a.none()
	b.recv(8)
	a.want(2, ibv.WC_SUCCESS)
	b.want(8, ibv.WC_SUCCESS)
}

// The receiver's timer says how long the sender waits.
func TestRNRTimer(t *testing.T) {
	a, b := pair(t, nil, config{attr: func(a *ibv.QPAttr) { a.MinRNRTimer = 25 }}) // 61.44 ms
	from, to := a.memory(64), b.memory(64)
	start := time.Now()
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)})
	told := func() bool {
		a.qp.mu.Lock()
		defer a.qp.mu.Unlock()
		return a.qp.req.notBefore != 0
	}
	for end := time.Now().Add(testPatience); !told() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	b.recv(7, to.sge(0, 8))
	a.want(1, ibv.WC_SUCCESS)
	if d := time.Since(start); d < 61*time.Millisecond {
		t.Errorf("sent again after %v", d)
	}
}

// A lost response of an atomic doesn't make it happen twice.
func TestAtomicOnce(t *testing.T) {
	lost := 0
	w := &fabric.Wire{Filter: func(p *fabric.Packet) bool {
		if packet.Opcode(p.Header[0]) == packet.RC|packet.AtomicAcknowledge && lost < 3 {
			lost++
			return false
		}
		return true
	}}
	a, b := pair(t, w, config{})
	from, to := a.memory(64), b.memory(64)
	a.send(SendWR{ID: 1, Opcode: ibv.WR_ATOMIC_FETCH_AND_ADD, CompareAdd: 5, SGEs: from.list(8, 8),
		RemoteAddress: to.address(0), RKey: to.mr.Key})
	a.want(1, ibv.WC_SUCCESS)
	if to.word(0) != 5 || from.word(8) != 0 || lost != 3 {
		t.Errorf("%d, %d, %d lost", to.word(0), from.word(8), lost)
	}
}

// More reads under way than the peer can have end the connection.
func TestTooManyReads(t *testing.T) {
	w := &fabric.Wire{Depth: 4, MTU: 256}
	a, b := pair(t, w, config{attr: func(a *ibv.QPAttr) { a.MaxRDAtomic, a.MaxDestRDAtomic = 8, 0 }})
	from, to := a.memory(1<<16), b.memory(1<<16)
	wr := write(from, to, 1<<16)
	wr.Opcode = ibv.WR_RDMA_READ
	a.send(wr)
	a.want(1, ibv.WC_REM_INV_REQ_ERR)
	b.event(ibv.EVENT_QP_REQ_ERR)
}

// Deregistration ends what peers may do, and what is under way fails.
func TestDeregistered(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(4096), b.memory(4096)
	check(t, to.mr.Dereg())
	a.send(write(from, to, 8))
	a.want(1, ibv.WC_REM_ACCESS_ERR)
}
