package engine

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fault"
	"farside/internal/ibv"
	"farside/verbs/internal/bell"
	"farside/verbs/internal/fabric"
)

// node is a device with what a program usually makes.
type node struct {
	t       testing.TB
	device  *Device
	context *Context
	pd      *PD
	address netip.Addr
}

// newNode adds a device to a wire.
func newNode(t *testing.T, w *fabric.Wire, address string) *node {
	t.Helper()
	return newFaultyNode(t, w, address, nil)
}

// newFaultyNode is newNode with faults on command.
func newFaultyNode(t *testing.T, w *fabric.Wire, address string, plan *fault.Plan) *node {
	t.Helper()
	return newNodeWith(t, w, address, Options{Name: "test0", GUID: 1, Faults: plan})
}

// newNodeWith is newNode with options.
func newNodeWith(t *testing.T, w *fabric.Wire, address string, o Options) *node {
	t.Helper()
	a := netip.MustParseAddr(address)
	d := NewDevice(w.NewNetwork(a), o)
	t.Cleanup(d.Close)
	c, err := d.Open()
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	pd, err := c.AllocPD()
	check(t, err)
	return &node{t: t, device: d, context: c, pd: pd, address: a}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memory is bytes that aren't Go's, with a region.
type memory struct {
	bytes []byte
	mr    *MR
}

const allAccess = ibv.ACCESS_LOCAL_WRITE | ibv.ACCESS_REMOTE_READ | ibv.ACCESS_REMOTE_WRITE |
	ibv.ACCESS_REMOTE_ATOMIC | ibv.ACCESS_MW_BIND

func (n *node) memory(size int) *memory { return n.memoryFor(size, allAccess) }

func (n *node) memoryFor(size int, access ibv.AccessFlags) *memory {
	n.t.Helper()
	b, err := unix.Mmap(-1, 0, (size+4095)&^4095, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	check(n.t, err)
	// Its addresses stay taken: a packet that comes late, before the device ends, must not meet memory of somebody else.
	n.t.Cleanup(func() { _, _ = unix.Madvise(b, unix.MADV_DONTNEED), unix.Mprotect(b, unix.PROT_NONE) })
	m := &memory{bytes: b[:size:size]}
	m.mr, err = n.pd.RegMR(MRInit{Address: m.address(0), Length: uint64(size), IOVA: m.address(0), Access: access})
	check(n.t, err)
	return m
}

// address is that of a byte.
func (m *memory) address(at int) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(m.bytes)))) + uint64(at)
}

// sge names n bytes.
func (m *memory) sge(at, n int) ibv.SGE {
	return ibv.SGE{Addr: m.address(at), Length: uint32(n), LKey: m.mr.Key}
}

func (m *memory) list(at, n int) []ibv.SGE { return []ibv.SGE{m.sge(at, n)} }

// fill writes a pattern.
func (m *memory) fill(seed byte) {
	for i := range m.bytes {
		m.bytes[i] = byte(i)*7 + byte(i>>8) + seed
	}
}

func (m *memory) word(at int) uint64 { return binary.NativeEndian.Uint64(m.bytes[at:]) }

func (n *node) cq(entries int) *CQ {
	n.t.Helper()
	c, err := n.context.CreateCQ(CQInit{Entries: entries})
	check(n.t, err)
	return c
}

// side is a queue pair with its completion queue.
type side struct {
	*node
	qp *QP
	cq *CQ
}

// config is what the tests change of a pair of queue pairs.
type config struct {
	kind     ibv.QPType
	cap      ibv.QPCap
	cqe      int
	srq      *SRQ
	unsigned bool // not all sends are signalled
	attr     func(*ibv.QPAttr)
	with     func(*node, *QPInit) // changes what the queue pair is made with
}

func (n *node) qp(c config) *side {
	n.t.Helper()
	if c.kind == 0 {
		c.kind = ibv.QPT_RC
	}
	if c.cap == (ibv.QPCap{}) {
		c.cap = ibv.QPCap{MaxSendWR: 64, MaxRecvWR: 64, MaxSendSGE: 4, MaxRecvSGE: 4, MaxInlineData: 128}
	}
	if c.cqe == 0 {
		c.cqe = 256
	}
	i := QPInit{Kind: c.kind, SRQ: c.srq, Cap: c.cap, SignalAll: !c.unsigned}
	if c.with != nil {
		c.with(n, &i)
	} else {
		i.SendCQ = n.cq(c.cqe)
		i.RecvCQ = i.SendCQ
	}
	q, err := n.pd.CreateQP(i)
	check(n.t, err)
	return &side{n, q, i.SendCQ}
}

// attributes are those of all changes of state up to RTS, to a peer.
func attributes(to *side, c config) ibv.QPAttr {
	a := ibv.QPAttr{PortNum: 1, PathMTU: ibv.MTU_1024, QKey: 0x1234, RQPSN: to.psn(), DestQPNum: to.qp.Number(),
		MaxRDAtomic: 4, MaxDestRDAtomic: 4, MinRNRTimer: 1, Timeout: 14, RetryCnt: 7, RNRRetry: 7,
		QPAccessFlags: remoteRights | ibv.ACCESS_LOCAL_WRITE}
	a.AHAttr.IsGlobal, a.AHAttr.PortNum, a.AHAttr.GRH.HopLimit = 1, 1, 64
	a.AHAttr.GRH.DGID = to.address.As16()
	if c.attr != nil {
		c.attr(&a)
	}
	return a
}

// psn is the first number of a queue pair's packets, near the end of the numbers.
func (s *side) psn() uint32 { return 0xfffff0 + s.qp.Number()&0xf }

const (
	toInit = ibv.QP_STATE | ibv.QP_PKEY_INDEX | ibv.QP_PORT | ibv.QP_ACCESS_FLAGS
	toRTR  = ibv.QP_STATE | ibv.QP_AV | ibv.QP_PATH_MTU | ibv.QP_DEST_QPN | ibv.QP_RQ_PSN |
		ibv.QP_MAX_DEST_RD_ATOMIC | ibv.QP_MIN_RNR_TIMER
	toRTS = ibv.QP_STATE | ibv.QP_TIMEOUT | ibv.QP_RETRY_CNT | ibv.QP_RNR_RETRY | ibv.QP_SQ_PSN |
		ibv.QP_MAX_QP_RD_ATOMIC
)

// masks are those of the changes of state to INIT, RTR and RTS.
func masks(kind ibv.QPType) [3]ibv.QPAttrMask {
	switch kind {
	case ibv.QPT_UD:
		return [3]ibv.QPAttrMask{toInit&^ibv.QP_ACCESS_FLAGS | ibv.QP_QKEY, ibv.QP_STATE, ibv.QP_STATE | ibv.QP_SQ_PSN}
	case ibv.QPT_UC:
		return [3]ibv.QPAttrMask{toInit, toRTR &^ (ibv.QP_MAX_DEST_RD_ATOMIC | ibv.QP_MIN_RNR_TIMER),
			ibv.QP_STATE | ibv.QP_SQ_PSN}
	}
	return [3]ibv.QPAttrMask{toInit, toRTR, toRTS}
}

// bring brings a queue pair from RESET to a state.
func (s *side) bring(state ibv.QPState, to *side, c config) {
	s.t.Helper()
	a := attributes(to, c)
	a.SQPSN = s.psn()
	for i, mask := range masks(s.qp.Kind()) {
		if a.QPState = ibv.QPS_INIT + ibv.QPState(i); a.QPState > state {
			break
		}
		if err := s.qp.Modify(&a, mask); err != nil {
			s.t.Fatalf("to state %d: %v", a.QPState, err)
		}
	}
}

// pair connects two queue pairs on a wire of their own, or the one of w.
func pair(t *testing.T, w *fabric.Wire, c config) (a, b *side) {
	t.Helper()
	if w == nil {
		w = &fabric.Wire{}
	}
	a, b = newNode(t, w, "192.0.2.1").qp(c), newNode(t, w, "192.0.2.2").qp(c)
	a.bring(ibv.QPS_RTS, b, c)
	b.bring(ibv.QPS_RTS, a, c)
	return a, b
}

const testPatience = 20 * time.Second

// next waits for a completion.
func (s *side) next() WC {
	s.t.Helper()
	var wc WC
	for end := time.Now().Add(testPatience); !s.cq.Poll(&wc); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(end) {
			s.t.Fatalf("no completion; %s", s.describe())
		}
	}
	return wc
}

func (s *side) describe() string {
	s.qp.mu.Lock()
	defer s.qp.mu.Unlock()
	q := s.qp
	return fmt.Sprintf("state %d, blocked %v, sq %d/%d/%d, requester %+v, responder psn %#x, %d answers", q.state,
		q.blocked, q.sq.done, q.sq.cursor, q.sq.posted, q.req, q.res.psn, q.res.answers.n)
}

// want waits for a completion with a status.
func (s *side) want(id uint64, status ibv.WCStatus) WC {
	s.t.Helper()
	wc := s.next()
	if wc.WRID != id || wc.Status != status {
		s.t.Fatalf("completion of %d with status %d, not %d with %d", wc.WRID, wc.Status, id, status)
	}
	return wc
}

// none says that there is no completion for a while.
func (s *side) none() {
	s.t.Helper()
	var wc WC
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s.cq.Poll(&wc) {
			s.t.Fatalf("a completion of %d with status %d", wc.WRID, wc.Status)
		}
	}
}

func (s *side) send(wr SendWR) {
	s.t.Helper()
	check(s.t, s.qp.PostSend(&wr))
}

func (s *side) recv(id uint64, sges ...ibv.SGE) {
	s.t.Helper()
	check(s.t, s.qp.PostRecv(&RecvWR{ID: id, SGEs: sges}))
}

// event waits for an asynchronous event, acknowledges it and compares its type.
func (s *side) event(want ibv.EventType) {
	s.t.Helper()
	p := []unix.PollFd{{Fd: int32(s.context.FD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, int(testPatience.Milliseconds())); n != 1 {
		s.t.Fatalf("no event %d: %v", want, err)
	}
	e, err := s.context.NextEvent(bell.Waits)
	check(s.t, err)
	e.Ack()
	if e.Type != want {
		s.t.Fatalf("event %d, not %d", e.Type, want)
	}
}

// noEvent says that no asynchronous event is there.
func (s *side) noEvent() {
	s.t.Helper()
	p := []unix.PollFd{{Fd: int32(s.context.FD()), Events: unix.POLLIN}}
	if n, _ := unix.Poll(p, 0); n != 0 {
		e, _ := s.context.NextEvent(bell.Waits)
		s.t.Fatalf("event %d", e.Type)
	}
}

// state waits until a queue pair is in a state.
func (s *side) state(want ibv.QPState) {
	s.t.Helper()
	for end := time.Now().Add(testPatience); s.qp.State() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("in state %d, not %d", s.qp.State(), want)
		}
	}
}
