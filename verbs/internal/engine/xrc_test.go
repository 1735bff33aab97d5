package engine

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

// xrcPair is a requester of XRC, and a responder with two shared receive queues in protection domains of their own.
type xrcPair struct {
	from, to *side
	second   *node // to's node with the other protection domain
	xrcd     *XRCD
	srqs     [2]*SRQ
	numbers  [2]uint32
	cqs      [2]*side // of the shared receive queues
}

func newXRCPair(t *testing.T, w *fabric.Wire) *xrcPair {
	t.Helper()
	a, b := newNode(t, w, "192.0.2.1"), newNode(t, w, "192.0.2.2")
	p := &xrcPair{xrcd: b.device.NewXRCD()}
	other := *b
	var err error
	other.pd, err = b.context.AllocPD()
	check(t, err)
	p.second = &other
	for i, n := range []*node{b, p.second} {
		cq := n.cq(64)
		p.srqs[i], err = n.pd.CreateSRQ(SRQInit{MaxWR: 16, MaxSGE: 2, XRCD: p.xrcd, CQ: cq})
		check(t, err)
		p.numbers[i], err = p.srqs[i].Number()
		check(t, err)
		p.cqs[i] = &side{n, nil, cq}
	}
	p.from = a.qp(config{kind: ibv.QPT_XRC_SEND})
	target, err := b.context.CreateTarget(p.xrcd)
	check(t, err)
	p.to = &side{b, target, nil}
	p.connect(t)
	return p
}

// connect brings both to RTS.
func (p *xrcPair) connect(t *testing.T) {
	t.Helper()
	for _, s := range [][2]*side{{p.from, p.to}, {p.to, p.from}} {
		a := attributes(s[1], config{})
		a.SQPSN = s[0].psn()
		// What the other side of XRC has is ignored.
		for i, mask := range masks(ibv.QPT_RC) {
			a.QPState = ibv.QPS_INIT + ibv.QPState(i)
			check(t, s[0].qp.Modify(&a, mask))
			if q := s[0].qp.Query(); s[0] == p.from && q.MaxDestRDAtomic != 0 || s[0] == p.to && q.RetryCnt != 0 {
				t.Errorf("%+v", q)
			}
		}
	}
}

func (p *xrcPair) recv(t *testing.T, i int, id uint64, sges ...ibv.SGE) {
	t.Helper()
	check(t, p.srqs[i].PostRecv(&RecvWR{ID: id, SGEs: sges}))
}

// Each message goes to the queue that it names, and reaches memory of that queue's domain, on ways that lose packets
// too.
func TestXRC(t *testing.T) {
	for _, w := range []*fabric.Wire{{}, {Reliable: true, MTU: 1 << 16},
		{Trouble: fabric.Trouble{Lose: 0.1, Duplicate: 0.05, Reorder: 0.05, Seed: 7}}} {
		p := newXRCPair(t, w)
		from := p.from.memory(10000)
		from.fill(1)
		to := [2]*memory{p.to.memory(10000), p.second.memory(10000)}
		const rounds = 10
		for i := range 2 * rounds {
			p.recv(t, i%2, uint64(i), to[i%2].list(0, 10000)...)
			p.from.send(SendWR{ID: 1, Opcode: ibv.WR_SEND_WITH_IMM, ImmData: uint32(i), RemoteSRQ: p.numbers[i%2],
				SGEs: from.list(i, 5000)})
			p.from.want(1, ibv.WC_SUCCESS)
			wc := p.cqs[i%2].want(uint64(i), ibv.WC_SUCCESS)
			if wc.QPNum != p.to.qp.Number() || wc.ImmData != uint32(i) || wc.ByteLen != 5000 ||
				!bytes.Equal(to[i%2].bytes[:5000], from.bytes[i:][:5000]) {
				t.Fatalf("message %d: %+v", i, wc)
			}
		}
		for i := range to {
			wr := write(from, to[i], 9000)
			wr.RemoteSRQ = p.numbers[i]
			p.from.send(wr)
			p.from.want(1, ibv.WC_SUCCESS)
			back, before := p.from.memory(9000), to[i].word(9992)
			p.from.send(SendWR{ID: 2, Opcode: ibv.WR_RDMA_READ, RemoteSRQ: p.numbers[i], RemoteAddress: to[i].address(0),
				RKey: to[i].mr.Key, SGEs: back.list(0, 9000)})
			p.from.send(SendWR{ID: 3, Opcode: ibv.WR_ATOMIC_FETCH_AND_ADD, RemoteSRQ: p.numbers[i], CompareAdd: 5,
				RemoteAddress: to[i].address(9992), RKey: to[i].mr.Key, SGEs: from.list(9992, 8)})
			p.from.want(2, ibv.WC_SUCCESS)
			p.from.want(3, ibv.WC_SUCCESS)
			if !bytes.Equal(back.bytes, from.bytes[:9000]) || to[i].word(9992) != before+5 || from.word(9992) != before {
				t.Errorf("queue %d: other bytes, %d, %d", i, before, to[i].word(9992))
			}
		}
	}
}

// A request that names a queue which isn't there, or is of another domain, is refused; so is memory of another queue's
// protection domain. A queue without receives isn't ready.
func TestXRCRules(t *testing.T) {
	w := &fabric.Wire{}
	p := newXRCPair(t, w)
	from, to := p.from.memory(64), p.to.memory(64)
	foreign := p.to.device.NewXRCD()
	cq := p.to.node.cq(4)
	stranger, err := p.to.pd.CreateSRQ(SRQInit{MaxWR: 1, XRCD: foreign, CQ: cq})
	check(t, err)
	number, err := stranger.Number()
	check(t, err)
	for name, c := range map[string]struct {
		srq  uint32
		want ibv.WCStatus
	}{
		"no queue":             {0xabcdef, ibv.WC_REM_INV_REQ_ERR},
		"another domain":       {number, ibv.WC_REM_INV_REQ_ERR},
		"another queue's":      {p.numbers[1], ibv.WC_REM_ACCESS_ERR},
		"what the queue's has": {p.numbers[0], ibv.WC_SUCCESS},
	} {
		wr := write(from, to, 64)
		wr.RemoteSRQ = c.srq
		p.from.send(wr)
		if wc := p.from.next(); wc.Status != c.want {
			t.Errorf("%s: status %d, not %d", name, wc.Status, c.want)
		}
		for _, s := range []*side{p.from, p.to} {
			check(t, s.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RESET}, ibv.QP_STATE))
		}
		p.connect(t)
	}
	p.from.send(SendWR{ID: 4, Opcode: ibv.WR_SEND, RemoteSRQ: p.numbers[0], SGEs: from.list(0, 8)})
	p.from.none()
	p.recv(t, 0, 5, to.sge(0, 8))
	p.cqs[0].want(5, ibv.WC_SUCCESS)
	p.from.want(4, ibv.WC_SUCCESS)

	for name, err := range map[string]error{
		"send of a target":       p.to.qp.PostSend(&SendWR{Opcode: ibv.WR_SEND}),
		"receive of a target":    p.to.qp.PostRecv(&RecvWR{}),
		"receive of a requester": p.from.qp.PostRecv(&RecvWR{}),
		"number beyond":          p.from.qp.PostSend(&SendWR{Opcode: ibv.WR_SEND, RemoteSRQ: 1 << 24}),
	} {
		if err != unix.EINVAL {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.to.pd.CreateSRQ(SRQInit{MaxWR: 1, CQ: cq}); err != unix.EINVAL {
		t.Errorf("a queue with a completion queue and no domain: %v", err)
	}
	if _, err := p.to.pd.CreateQP(QPInit{Kind: ibv.QPT_RC, SendCQ: cq, RecvCQ: cq, SRQ: stranger}); err != unix.EINVAL {
		t.Errorf("RC with a queue for XRC: %v", err)
	}
	plain, err := p.to.pd.CreateSRQ(SRQInit{MaxWR: 1})
	check(t, err)
	if _, err := plain.Number(); err != unix.EINVAL {
		t.Errorf("number of a queue that isn't for XRC: %v", err)
	}
}

// What is used stays; a queue that has gone gets nothing any more.
func TestXRCEnds(t *testing.T) {
	p := newXRCPair(t, &fabric.Wire{})
	from, to := p.from.memory(64), p.to.memory(64)
	if err := p.xrcd.Close(); err != unix.EBUSY {
		t.Errorf("a domain with queues: %v", err)
	}
	if err := p.cqs[1].cq.Destroy(); err != unix.EBUSY {
		t.Errorf("a completion queue of a shared receive queue: %v", err)
	}
	p.recv(t, 1, 1, to.sge(0, 8))
	check(t, p.srqs[1].Destroy())
	check(t, p.cqs[1].cq.Destroy())
	p.from.send(SendWR{ID: 2, Opcode: ibv.WR_SEND, RemoteSRQ: p.numbers[1], SGEs: from.list(0, 8)})
	p.from.want(2, ibv.WC_REM_INV_REQ_ERR)
	p.to.state(ibv.QPS_ERR)
	check(t, p.srqs[0].Destroy())
	if err := p.xrcd.Close(); err != unix.EBUSY {
		t.Errorf("a domain with a queue pair: %v", err)
	}
	check(t, p.to.qp.Destroy())
	check(t, p.xrcd.Close())
	if _, err := p.to.context.CreateTarget(p.from.device.NewXRCD()); err != unix.EINVAL {
		t.Errorf("a domain of another device: %v", err)
	}
}
