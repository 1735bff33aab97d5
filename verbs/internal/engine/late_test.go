package engine

import (
	"testing"
	"time"

	"farside/internal/ibv"
	"farside/internal/late"
	"farside/verbs/internal/fabric"
)

// latePair is a pair of which both devices are late.
func latePair(t *testing.T) (a, b *side) {
	t.Helper()
	w, o := &fabric.Wire{Reliable: true}, Options{Name: "test0", GUID: 1, Late: true}
	a, b = newNodeWith(t, w, "192.0.2.1", o).qp(config{}), newNodeWith(t, w, "192.0.2.2", o).qp(config{})
	a.bring(ibv.QPS_RTS, b, config{})
	b.bring(ibv.QPS_RTS, a, config{})
	return a, b
}

// Work takes its time, and work of two queue pairs ends in either order.
func TestLateWork(t *testing.T) {
	a, b := latePair(t)
	d := b.node.qp(config{})
	q, err := a.pd.CreateQP(QPInit{Kind: ibv.QPT_RC, SendCQ: a.cq, RecvCQ: a.cq, Cap: a.qp.Cap(), SignalAll: true})
	check(t, err)
	c := &side{a.node, q, a.cq}
	c.bring(ibv.QPS_RTS, d, config{})
	d.bring(ibv.QPS_RTS, c, config{})
	from, to := a.memory(64), b.memory(64)
	write := SendWR{Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address(0), RKey: to.mr.Key}
	swapped := 0
	for n := range 60 {
		began := time.Now()
		write.ID = 0
		a.send(write)
		write.ID = 1
		c.send(write)
		first := a.next()
		if took := time.Since(began); took < late.Least {
			t.Fatalf("round %d: done after %v", n, took)
		}
		if first.WRID == 1 {
			swapped++
		}
		a.want(1-first.WRID, fine)
	}
	if swapped == 0 {
		t.Error("two queue pairs always end in the order in which their work was posted")
	}
}

// A write may overtake the read before it, unless it has a fence. The order of completions stays.
func TestLateRead(t *testing.T) {
	a, b := latePair(t)
	from, to := a.memory(64), b.memory(64)
	overtaken := map[ibv.SendFlags]int{}
	for n := range 60 {
		flags := ibv.SendFlags(0)
		if n%2 == 1 {
			flags = ibv.SEND_FENCE
		}
		clear(to.bytes)
		clear(from.bytes[:8])
		from.bytes[8] = 1
		a.qp.Start()
		check(t, a.qp.Stage(&SendWR{ID: 1, Opcode: ibv.WR_RDMA_READ, SGEs: from.list(0, 8), RemoteAddress: to.address(0),
			RKey: to.mr.Key}))
		check(t, a.qp.Stage(&SendWR{ID: 2, Opcode: ibv.WR_RDMA_WRITE, Flags: flags, SGEs: from.list(8, 8),
			RemoteAddress: to.address(0), RKey: to.mr.Key}))
		a.qp.Commit()
		a.want(1, fine)
		a.want(2, fine)
		if from.bytes[0] != 0 {
			overtaken[flags]++
		}
		if to.bytes[0] != 1 {
			t.Fatal("the write is missing")
		}
	}
	if overtaken[0] == 0 {
		t.Error("no write overtakes a read")
	}
	if n := overtaken[ibv.SEND_FENCE]; n != 0 {
		t.Errorf("%d writes overtake a read in spite of a fence", n)
	}
}
