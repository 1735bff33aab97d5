package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fault"
	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// QPInit says what a queue pair is to be.
type QPInit struct {
	Kind           ibv.QPType
	SendCQ, RecvCQ *CQ
	SRQ            *SRQ // nil: it has a receive queue of its own
	Cap            ibv.QPCap
	SignalAll      bool // sq_sig_all
}

// QP is a queue pair.
type QP struct {
	Context *Context
	User    any // the user's

	device *Device
	pd     *PD   // of XRC_RECV: that of the request at hand
	xrcd   *XRCD // of XRC_RECV
	kind   ibv.QPType
	init   QPInit
	number uint32
	next   atomic.Pointer[QP] // in the device's table
	joined atomic.Int32       // multicast groups
	async  acknowledged

	posting sync.Mutex

	mu          sync.Mutex
	state       ibv.QPState
	attr        ibv.QPAttr // what has been set
	route       route      // from RTR on
	path        fabric.Path
	batch       fabric.Batcher // the path, if it is one
	mtu         uint32         // payload of a full packet
	established bool           // IBV_EVENT_COMM_EST has been raised
	last        bool           // IBV_EVENT_QP_LAST_WQE_REACHED has been raised
	fatal       bool           // a completion queue was full
	notify      bool           // that the send queue is drained
	blocked     bool           // until the path has room
	published   bool           // to other processes
	direct      direct
	severed     bool // on command: nothing comes or goes any more
	fated       bool // the next packet's fate is known
	fate        fault.PacketFate
	kept        *keptPacket // nil for none
	late        []lateEntry
	told        int64 // journal.Now at the end of the last send that was told of
	scheduled   time.Duration
	sq          sendRing
	rq          recvRing
	req         requester
	res         responder

	// What an operation works with, kept so that it doesn't allocate.
	header [fabric.HeaderMax]byte
	pieces [][]byte
	held   []*grant
}

// CreateQP makes a queue pair, in the state RESET. One of IBV_QPT_XRC_SEND has no receive queue. Errors: EINVAL,
// EOPNOTSUPP for another kind than RC, UC, UD and XRC_SEND, ENOMEM.
func (p *PD) CreateQP(i QPInit) (*QP, error) {
	c := &i.Cap
	switch i.Kind {
	case ibv.QPT_RC, ibv.QPT_UC, ibv.QPT_UD:
	case ibv.QPT_XRC_SEND:
		i.SRQ, i.RecvCQ, c.MaxRecvWR, c.MaxRecvSGE = nil, nil, 0, 0
	default:
		return nil, unix.EOPNOTSUPP
	}
	if i.SendCQ == nil || i.RecvCQ == nil && i.Kind != ibv.QPT_XRC_SEND || c.MaxSendWR > maxQPWR ||
		c.MaxRecvWR > maxQPWR || c.MaxSendSGE > maxSGE || c.MaxRecvSGE > maxSGE || c.MaxInlineData > maxInline ||
		i.SRQ != nil && (i.SRQ.PD.Context != p.Context || i.SRQ.xrcd != nil) {
		return nil, unix.EINVAL
	}
	if i.SRQ != nil {
		c.MaxRecvWR, c.MaxRecvSGE = 0, 0
	}
	q, err := p.Context.newQP(i)
	if err != nil {
		return nil, err
	}
	q.pd = p
	for _, users := range q.uses() {
		users.Add(1)
	}
	p.Context.Device.insert(q)
	return q, nil
}

// newQP makes a queue pair that nobody finds yet. Error: ENOMEM.
func (c *Context) newQP(i QPInit) (*QP, error) {
	d := c.Device
	if err := take(&d.used.qps, maxQP); err != nil {
		return nil, err
	}
	number, err := d.network.QPN()
	if err != nil {
		d.used.qps.Add(-1)
		return nil, unix.ENOMEM
	}
	q := &QP{Context: c, device: d, kind: i.Kind, init: i, number: number,
		pieces: make([][]byte, 0, maxSGE+1), held: make([]*grant, 0, maxSGE+1)}
	q.sq.init(&i.Cap)
	q.rq.init(int(i.Cap.MaxRecvWR), int(i.Cap.MaxRecvSGE))
	q.res.wqe.sges = make([]ibv.SGE, 0, maxSGE)
	q.reset()
	return q, nil
}

// uses lists the counts of users of what the queue pair was made with.
func (q *QP) uses() (list []*atomic.Int32) {
	if q.xrcd != nil {
		return append(list, &q.xrcd.users)
	}
	list = append(list, &q.pd.users, &q.init.SendCQ.users)
	if q.init.RecvCQ != nil {
		list = append(list, &q.init.RecvCQ.users)
	}
	if q.init.SRQ != nil {
		list = append(list, &q.init.SRQ.users)
	}
	return list
}

// Number is the queue pair's number.
func (q *QP) Number() uint32 { return q.number }

// Kind is the queue pair's type of service.
func (q *QP) Kind() ibv.QPType { return q.kind }

// Cap is what the queue pair holds.
func (q *QP) Cap() ibv.QPCap { return q.init.Cap }

// Init is what the queue pair was made with.
func (q *QP) Init() QPInit { return q.init }

// State is the queue pair's state.
func (q *QP) State() ibv.QPState {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state
}

// Query is what ibv_query_qp answers: all attributes.
func (q *QP) Query() ibv.QPAttr {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.attr
	a.QPState, a.CurQPState, a.Cap = q.state, q.state, q.init.Cap
	a.RQPSN, a.SQPSN = q.res.psn, q.req.next
	a.SQDraining = 0
	if q.state == ibv.QPS_SQD && !q.drained() {
		a.SQDraining = 1
	}
	return a
}

// Destroy ends a queue pair. Its completions that nobody has polled are gone. It waits until all events of the queue
// pair that users have got are acknowledged. Error: EBUSY while it is attached to a multicast group.
func (q *QP) Destroy() error {
	if !q.joined.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	d := q.device
	d.remove(q)
	q.checkIgnored()
	q.mu.Lock()
	q.reset()
	q.mu.Unlock()
	q.Context.forget(&q.async)
	for _, users := range q.uses() {
		users.Add(-1)
	}
	d.used.qps.Add(-1)
	d.network.FreeQPN(q.number)
	return nil
}

// reset is the state RESET: everything as it was made. Under q.mu.
func (q *QP) reset() {
	q.state, q.attr, q.route, q.path, q.batch = ibv.QPS_RESET, ibv.QPAttr{}, route{}, nil, nil
	q.established, q.last, q.fatal, q.notify, q.blocked = false, false, false, false, false
	q.publish()
	q.direct = direct{}
	q.severed, q.fated, q.kept, q.late = false, false, nil, nil
	for _, c := range []*CQ{q.init.SendCQ, q.init.RecvCQ} {
		if c != nil {
			c.forget(q)
		}
	}
	q.forgetAllSent()
	q.sq.reset()
	q.rq.reset()
	q.req = requester{}
	q.res.reset(0)
	q.attr.QPState = ibv.QPS_RESET
}

// way is the path to the peer, nil if nobody is there. It finds it the first time. Under q.mu.
func (q *QP) way() fabric.Path {
	if q.path == nil && q.kind != ibv.QPT_UD && q.state >= ibv.QPS_RTR && q.state <= ibv.QPS_SQE {
		if p, err := q.device.open(&q.route, q.attr.DestQPNum); err == nil && p != nil {
			q.setPath(p)
		}
	}
	return q.path
}

func (q *QP) setPath(p fabric.Path) {
	q.path = p
	q.batch, _ = p.(fabric.Batcher)
	if q.req.acked == q.req.next { // packets on their way keep their length
		if q.mtu = mtuBytes(q.attr.PathMTU); p != nil && (p.Reliable() || uint32(p.MTU()) < q.mtu) {
			q.mtu = uint32(p.MTU())
		}
		q.req.setWindow(q.mtu, p != nil && p.Reliable())
	}
	q.setNear(p)
	q.publish()
}

// mtuBytes is the payload of a packet.
func mtuBytes(m ibv.MTU) uint32 { return 128 << m }

// raise makes an event of the queue pair arrive.
func (q *QP) raise(t ibv.EventType) { q.Context.raise(Event{Type: t, QP: q}) }

// complete adds a completion, and ends the queue pair if there is no room. Under q.mu.
func (q *QP) complete(c *CQ, e *entry, solicited bool) {
	e.qp, e.wc.QPNum = q, q.number
	if c.push(e, solicited) || q.fatal {
		return
	}
	q.fatal = true
	q.raise(ibv.EVENT_QP_FATAL)
	q.toError()
}

// toError is the state ERR: all work is flushed. What is owed to the peer is still answered. Under q.mu.
func (q *QP) toError() {
	if q.state == ibv.QPS_ERR || q.state == ibv.QPS_RESET {
		return
	}
	q.state = ibv.QPS_ERR
	q.publish()
	q.req.stop()
	q.flushSends()
	q.flushReceives()
	if q.init.SRQ != nil && !q.last {
		q.last = true
		q.raise(ibv.EVENT_QP_LAST_WQE_REACHED)
	}
}

// toSendError is the state SQE, of unreliable queue pairs whose send failed. Under q.mu.
func (q *QP) toSendError() {
	q.state = ibv.QPS_SQE
	q.req.stop()
	q.flushSends()
}

// resume goes on when the path has room.
func (q *QP) resume() {
	defer guardFaults()()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.blocked = false
	q.respond()
	q.transmit()
}

// Receive implements fabric.Receiver.
func (d *Device) Receive(from *fabric.Source, header, payload []byte) {
	var h packet.Header
	if _, err := h.Get(header); err != nil || h.PKey&0x7fff != packet.DefaultPKey&0x7fff {
		return
	}
	defer guardFaults()()
	if h.DestinationQP == multicastQP {
		for _, q := range d.groups.of(from.Local) {
			q.receive(from, &h, payload)
		}
		return
	}
	if q := d.find(h.DestinationQP); q != nil {
		q.receive(from, &h, payload)
	} else if h.DestinationQP == managementQP && h.Opcode == packet.UD|packet.SendOnly && h.QKey == managementKey {
		if receive := d.management.Load(); receive != nil {
			(*receive)(from.Local, from.Remote, payload)
		}
	}
}

// managementQP is the queue pair of communication management (GSI), managementKey its Q_Key (section 10.2.5).
const (
	managementQP  = 1
	managementKey = 0x80010000
)

// multicastQP is the number that datagrams to a group have.
const multicastQP = 0xffffff

// receive takes a packet for this queue pair.
func (q *QP) receive(from *fabric.Source, h *packet.Header, payload []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state < ibv.QPS_RTR || q.state > ibv.QPS_SQE || q.severed || h.Opcode.Transport() != transportOf(q.kind) {
		return
	}
	if q.kind == ibv.QPT_UD {
		q.receiveDatagram(from, h, payload)
		return
	}
	if from.Remote != q.route.remote || q.way() == nil {
		return
	}
	if q.state == ibv.QPS_RTR && !q.established && q.kind != ibv.QPT_XRC_SEND {
		q.established = true
		q.raise(ibv.EVENT_COMM_EST)
	}
	switch o := h.Opcode.Operation(); {
	case o >= packet.ReadResponseFirst && o <= packet.AtomicAcknowledge:
		if q.state == ibv.QPS_RTS || q.state == ibv.QPS_SQD {
			q.receiveResponse(h, payload)
		}
	case q.kind == ibv.QPT_UC:
		q.receiveUnreliable(h, payload)
	case q.kind == ibv.QPT_XRC_SEND: // which has no responder
	default:
		q.receiveRequest(h, payload)
	}
}

// reliable says whether queue pairs of a kind acknowledge.
func reliable(kind ibv.QPType) bool {
	return kind == ibv.QPT_RC || kind == ibv.QPT_XRC_SEND || kind == ibv.QPT_XRC_RECV
}

func transportOf(kind ibv.QPType) packet.Opcode {
	switch kind {
	case ibv.QPT_XRC_SEND, ibv.QPT_XRC_RECV:
		return packet.XRC
	case ibv.QPT_UC:
		return packet.UC
	case ibv.QPT_UD:
		return packet.UD
	}
	return packet.RC
}
