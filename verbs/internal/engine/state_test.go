package engine

import (
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

var allStates = []ibv.QPState{ibv.QPS_RESET, ibv.QPS_INIT, ibv.QPS_RTR, ibv.QPS_RTS, ibv.QPS_SQD, ibv.QPS_SQE,
	ibv.QPS_ERR}

// to brings a fresh queue pair to any state.
func (s *side) to(state ibv.QPState, peer *side, c config) {
	s.t.Helper()
	s.bring(min(state, ibv.QPS_RTS), peer, c)
	a := ibv.QPAttr{QPState: state}
	switch state {
	case ibv.QPS_SQD, ibv.QPS_ERR:
		check(s.t, s.qp.Modify(&a, ibv.QP_STATE))
	case ibv.QPS_SQE: // only a failed send leads there
		wr := SendWR{Opcode: ibv.WR_SEND, SGEs: []ibv.SGE{{Addr: 1, Length: 1}}}
		if s.qp.Kind() == ibv.QPT_UD {
			wr.AH = s.ah(peer)
		}
		s.send(wr)
		s.want(0, ibv.WC_LOC_PROT_ERR)
	}
	s.state(state)
}

func (s *side) ah(peer *side) *AH {
	s.t.Helper()
	a := attributes(peer, config{})
	h, err := s.pd.CreateAH(&a.AHAttr)
	check(s.t, err)
	return h
}

// Each change of state from each state succeeds exactly if the specification has it, with all that it needs; without
// any one of these, or with anything else, it fails and changes nothing.
func TestTransitions(t *testing.T) {
	for _, kind := range []ibv.QPType{ibv.QPT_RC, ibv.QPT_UC, ibv.QPT_UD} {
		m := masks(kind)
		needs := map[change]ibv.QPAttrMask{
			{ibv.QPS_RESET, ibv.QPS_INIT}: m[0], {ibv.QPS_INIT, ibv.QPS_INIT}: ibv.QP_STATE,
			{ibv.QPS_INIT, ibv.QPS_RTR}: m[1], {ibv.QPS_RTR, ibv.QPS_RTS}: m[2],
			{ibv.QPS_RTS, ibv.QPS_RTS}: ibv.QP_STATE, {ibv.QPS_RTS, ibv.QPS_SQD}: ibv.QP_STATE,
			{ibv.QPS_SQD, ibv.QPS_RTS}: ibv.QP_STATE, {ibv.QPS_SQD, ibv.QPS_SQD}: ibv.QP_STATE,
		}
		if kind != ibv.QPT_RC {
			needs[change{ibv.QPS_SQE, ibv.QPS_RTS}] = ibv.QP_STATE
		}
		for _, from := range allStates {
			if kind == ibv.QPT_RC && from == ibv.QPS_SQE {
				continue
			}
			w := &fabric.Wire{}
			c := config{kind: kind}
			peer := newNode(t, w, "192.0.2.2").qp(c)
			node := newNode(t, w, "192.0.2.1")
			for _, to := range allStates {
				if to == ibv.QPS_RESET || to == ibv.QPS_ERR && from != ibv.QPS_RESET {
					needs[change{from, to}] = ibv.QP_STATE
				}
				need, ok := needs[change{from, to}]
				if !ok {
					need = ibv.QP_STATE
				}
				s := node.qp(c)
				s.to(from, peer, c)
				a := attributes(peer, c)
				a.QPState = to
				for bit := ibv.QPAttrMask(1); bit <= ibv.QP_DEST_QPN; bit <<= 1 {
					if ok && bit&need != 0 && bit != ibv.QP_STATE {
						expectInvalid(t, s, &a, need&^bit, from, to)
					}
				}
				expectInvalid(t, s, &a, need|ibv.QP_CAP, from, to)
				if !ok {
					expectInvalid(t, s, &a, need, from, to)
				} else if err := s.qp.Modify(&a, need); err != nil || s.qp.State() != to {
					t.Errorf("kind %d, %d to %d: %v, state %d", kind, from, to, err, s.qp.State())
				}
				check(t, s.qp.Destroy())
			}
		}
	}
}

func expectInvalid(t *testing.T, s *side, a *ibv.QPAttr, mask ibv.QPAttrMask, from, to ibv.QPState) {
	t.Helper()
	if err := s.qp.Modify(a, mask); err != unix.EINVAL || s.qp.State() != from {
		t.Errorf("kind %d, %d to %d with %#x: %v, state %d", s.qp.Kind(), from, to, mask, err, s.qp.State())
	}
}

// Attributes out of range are refused.
func TestAttributeRanges(t *testing.T) {
	w := &fabric.Wire{}
	peer, node := newNode(t, w, "192.0.2.2").qp(config{}), newNode(t, w, "192.0.2.1")
	for name, c := range map[string]struct {
		at     ibv.QPState
		change func(*ibv.QPAttr)
	}{
		"port":            {ibv.QPS_INIT, func(a *ibv.QPAttr) { a.PortNum = 2 }},
		"partition":       {ibv.QPS_INIT, func(a *ibv.QPAttr) { a.PKeyIndex = 1 }},
		"rights":          {ibv.QPS_INIT, func(a *ibv.QPAttr) { a.QPAccessFlags = 1 << 9 }},
		"path MTU":        {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.PathMTU = 6 }},
		"no path MTU":     {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.PathMTU = 0 }},
		"peer's number":   {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.DestQPNum = 1 << 24 }},
		"no global route": {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.AHAttr.IsGlobal = 0 }},
		"source GID":      {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.AHAttr.GRH.SGIDIndex = 1 }},
		"target's reads":  {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.MaxDestRDAtomic = 129 }},
		"RNR timer":       {ibv.QPS_RTR, func(a *ibv.QPAttr) { a.MinRNRTimer = 32 }},
		"timeout":         {ibv.QPS_RTS, func(a *ibv.QPAttr) { a.Timeout = 32 }},
		"retries":         {ibv.QPS_RTS, func(a *ibv.QPAttr) { a.RetryCnt = 8 }},
		"RNR retries":     {ibv.QPS_RTS, func(a *ibv.QPAttr) { a.RNRRetry = 8 }},
		"reads":           {ibv.QPS_RTS, func(a *ibv.QPAttr) { a.MaxRDAtomic = 129 }},
	} {
		s := node.qp(config{})
		s.bring(c.at-1, peer, config{})
		a := attributes(peer, config{})
		a.QPState = c.at
		c.change(&a)
		if err := s.qp.Modify(&a, masks(ibv.QPT_RC)[c.at-1]); err != unix.EINVAL {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQuery(t *testing.T) {
	a, b := pair(t, nil, config{})
	got := a.qp.Query()
	if got.QPState != ibv.QPS_RTS || got.PathMTU != ibv.MTU_1024 || got.DestQPNum != b.qp.Number() ||
		got.RQPSN != b.psn() || got.SQPSN != a.psn() || got.RetryCnt != 7 || got.Timeout != 14 || got.Cap != a.qp.Cap() ||
		got.AHAttr.GRH.DGID != b.address.As16() || got.MaxRDAtomic != 4 || got.PortNum != 1 {
		t.Errorf("%+v", got)
	}
}

// Sends need RTS, receives INIT.
func TestPostingStates(t *testing.T) {
	w := &fabric.Wire{}
	peer, node := newNode(t, w, "192.0.2.2").qp(config{}), newNode(t, w, "192.0.2.1")
	for _, state := range allStates[:4] {
		s := node.qp(config{})
		s.to(state, peer, config{})
		if err := s.qp.PostSend(&SendWR{Opcode: ibv.WR_RDMA_WRITE}); (err == unix.EINVAL) != (state < ibv.QPS_RTS) {
			t.Errorf("send in %d: %v", state, err)
		}
		if err := s.qp.PostRecv(&RecvWR{}); (err == unix.EINVAL) != (state == ibv.QPS_RESET) {
			t.Errorf("receive in %d: %v", state, err)
		}
	}
}

// In SQD nothing new is sent, and an event says that what was under way has ended.
func TestDrain(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)}) // waits for a receive
	attr := ibv.QPAttr{QPState: ibv.QPS_SQD, EnSqdAsyncNotify: 1}
	check(t, a.qp.Modify(&attr, ibv.QP_STATE|ibv.QP_EN_SQD_ASYNC_NOTIFY))
	a.send(write(from, to, 8))
	if a.qp.Query().SQDraining != 1 {
		t.Error("drained already")
	}
	a.noEvent()
	b.recv(7, to.sge(0, 8))
	a.want(1, ibv.WC_SUCCESS)
	a.event(ibv.EVENT_SQ_DRAINED)
	a.none()
	if a.qp.Query().SQDraining != 0 {
		t.Error("not drained")
	}
	attr.QPState = ibv.QPS_RTS
	check(t, a.qp.Modify(&attr, ibv.QP_STATE))
	a.want(1, ibv.WC_SUCCESS)
}

// The first packet for a queue pair in RTR raises an event.
func TestCommunicationEstablished(t *testing.T) {
	w := &fabric.Wire{}
	c := config{}
	a, b := newNode(t, w, "192.0.2.1").qp(c), newNode(t, w, "192.0.2.2").qp(c)
	a.bring(ibv.QPS_RTS, b, c)
	b.bring(ibv.QPS_RTR, a, c)
	from, to := a.memory(64), b.memory(64)
	b.recv(7, to.sge(0, 8))
	b.recv(8, to.sge(0, 8))
	for id := range uint64(2) {
		a.send(SendWR{ID: id, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)})
		a.want(id, ibv.WC_SUCCESS)
		b.want(7+id, ibv.WC_SUCCESS)
	}
	b.event(ibv.EVENT_COMM_EST)
	b.noEvent()
}

// RESET forgets everything, also completions, and the queue pair can be used again.
func TestReset(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	for range 3 {
		for range 64 {
			a.send(write(from, to, 8))
		}
		if err := a.qp.PostSend(&SendWR{Opcode: ibv.WR_RDMA_WRITE}); err != unix.ENOMEM {
			t.Fatalf("one more: %v", err)
		}
		for _, s := range []*side{a, b} {
			check(t, s.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RESET}, ibv.QP_STATE))
			s.none()
		}
		a.bring(ibv.QPS_RTS, b, config{})
		b.bring(ibv.QPS_RTS, a, config{})
	}
	a.send(write(from, to, 8))
	a.want(1, ibv.WC_SUCCESS)
}

// Nothing goes while something else has it.
func TestBusy(t *testing.T) {
	n := newNode(t, &fabric.Wire{}, "192.0.2.1")
	ch, err := n.context.NewChannel()
	check(t, err)
	cq, err := n.context.CreateCQ(CQInit{Entries: 4, Channel: ch})
	check(t, err)
	srq, err := n.pd.CreateSRQ(SRQInit{MaxWR: 4, MaxSGE: 1})
	check(t, err)
	qp, err := n.pd.CreateQP(QPInit{Kind: ibv.QPT_UD, SendCQ: cq, RecvCQ: cq, SRQ: srq})
	check(t, err)
	group := ibv.GID(newGroup.As16())
	check(t, qp.AttachMcast(group))
	busy := func(what string, err error) {
		t.Helper()
		if err != unix.EBUSY {
			t.Errorf("%s: %v", what, err)
		}
	}
	busy("domain", n.pd.Dealloc())
	busy("shared queue", srq.Destroy())
	busy("completion queue", cq.Destroy())
	busy("channel", ch.Destroy())
	busy("queue pair", qp.Destroy())
	check(t, qp.DetachMcast(group))
	check(t, qp.Destroy())
	check(t, srq.Destroy())
	check(t, cq.Destroy())
	check(t, ch.Destroy())
	m := n.memory(64)
	busy("domain of a region", n.pd.Dealloc())
	check(t, m.mr.Dereg())
	check(t, n.pd.Dealloc())
	busy("deallocated", n.pd.Dealloc())
}
