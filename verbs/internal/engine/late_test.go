package engine

import (
	"bytes"
	"testing"
	"time"

	settings "farside/internal/config"
	"farside/internal/finding"
	"farside/internal/ibv"
	"farside/internal/late"
	"farside/rdmasim"
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

// What a peer's packets write to memory of devices is there after the completion once somebody synchronizes, or reads
// it or runs an atomic in any way, or after a while; and so is what work of this process fills.
func TestLateDevices(t *testing.T) {
	t.Setenv("FARSIDE_STRICT", "rdma")
	strict, err := settings.Read()
	check(t, err)
	finding.Begin(strict)
	t.Cleanup(func() { finding.Begin(&settings.Settings{}) })
	a, b := latePair(t)
	m, mine := b.farside(8192, allAccess), a.memory(8192)
	fill := map[string]func(){
		"a write": func() {
			a.send(SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: mine.list(0, 5000), RemoteAddress: m.address, RKey: m.mr.Key})
		},
		"a send": func() {
			b.recv(2, ibv.SGE{Addr: m.address, Length: 5000, LKey: m.mr.Key})
			a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: mine.list(0, 5000)})
			b.want(2, fine)
		},
		"a read": func() {
			b.send(SendWR{ID: 1, Opcode: ibv.WR_RDMA_READ, RemoteAddress: mine.address(0), RKey: mine.mr.Key,
				SGEs: []ibv.SGE{{Addr: m.address, Length: 5000, LKey: m.mr.Key}}})
		},
	}
	show := map[string]func(){
		"synchronize": rdmasim.Synchronize,
		"time":        func() {},
		"a peer's read": func() {
			a.send(SendWR{ID: 3, Opcode: ibv.WR_RDMA_READ, SGEs: mine.list(6000, 8), RemoteAddress: m.address + 8000,
				RKey: m.mr.Key})
			a.want(3, fine)
		},
		"an atomic": func() {
			a.send(SendWR{ID: 3, Opcode: ibv.WR_ATOMIC_FETCH_AND_ADD, SGEs: mine.list(6000, 8),
				RemoteAddress: m.address + 8000, RKey: m.mr.Key})
			a.want(3, fine)
		},
		"a send of it": func() {
			a.recv(4, mine.sge(6000, 8))
			b.send(SendWR{ID: 3, Opcode: ibv.WR_SEND, SGEs: []ibv.SGE{{Addr: m.address + 8000, Length: 8, LKey: m.mr.Key}}})
			b.want(3, fine)
			a.want(4, fine)
		},
	}
	seed := byte(0)
	for what, post := range fill {
		for how, show := range show {
			seed++
			mine.fill(seed)
			want, began := bytes.Clone(mine.bytes[:5000]), time.Now()
			post()
			if what == "a read" {
				b.want(1, fine)
			} else {
				a.want(1, fine)
			}
			// It shows after a quarter of a second, which a machine with much else to do may take for the work.
			if bytes.Equal(m.bytes[:5000], want) && time.Since(began) < 200*time.Millisecond {
				t.Errorf("%s is visible at once", what)
			}
			show()
			for end := time.Now().Add(testPatience); how == "time" && !bytes.Equal(m.bytes[:5000], want); {
				if time.Sleep(time.Millisecond); time.Now().After(end) {
					break
				}
			}
			if !bytes.Equal(m.bytes[:5000], want) {
				t.Errorf("%s is not visible after %s", what, how)
			}
		}
	}
	mine.fill(seed + 1)
	fill["a write"]()
	a.want(1, fine)
	check(t, m.region.Close())
	a.send(SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: mine.list(0, 8), RemoteAddress: m.address, RKey: m.mr.Key})
	a.want(1, ibv.WC_REM_ACCESS_ERR)
}
