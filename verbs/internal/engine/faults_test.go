package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/internal/fault"
	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

// faulty is a pair of which the first device fails on command.
func faulty(t *testing.T, plan string, c config) (a, b *side) {
	t.Helper()
	return faultyOn(t, &fabric.Wire{}, plan, c)
}

func faultyOn(t *testing.T, w *fabric.Wire, plan string, c config) (a, b *side) {
	t.Helper()
	p, err := fault.Parse(plan)
	check(t, err)
	if c.attr == nil {
		c.attr = func(a *ibv.QPAttr) { a.Timeout = 18 } // nothing is sent again on a machine that is slow
	}
	a, b = newFaultyNode(t, w, "192.0.2.1", p).qp(c), newNode(t, w, "192.0.2.2").qp(c)
	a.bring(ibv.QPS_RTS, b, c)
	b.bring(ibv.QPS_RTS, a, c)
	return a, b
}

// statuses are those of the next n completions.
func (s *side) statuses(n int) (list []ibv.WCStatus) {
	s.t.Helper()
	for range n {
		list = append(list, s.next().Status)
	}
	return list
}

const (
	fine    = ibv.WC_SUCCESS
	flushed = ibv.WC_WR_FLUSH_ERR
)

// A completion has the status asked for, at the operation asked for, and the peer's memory is untouched by it. What
// comes before ends well, what is behind is flushed.
func TestStatusOnCommand(t *testing.T) {
	for _, row := range []struct {
		plan string
		op   ibv.WROpcode
		want []ibv.WCStatus
	}{
		{"rdma.write=IBV_WC_REM_ACCESS_ERR@3", ibv.WR_RDMA_WRITE, []ibv.WCStatus{fine, fine, ibv.WC_REM_ACCESS_ERR, flushed}},
		{"rdma.write=IBV_WC_LOC_PROT_ERR@2", ibv.WR_RDMA_WRITE_WITH_IMM,
			[]ibv.WCStatus{fine, ibv.WC_LOC_PROT_ERR, flushed, flushed}},
		{"rdma.read=IBV_WC_REM_OP_ERR@1", ibv.WR_RDMA_READ, []ibv.WCStatus{ibv.WC_REM_OP_ERR, flushed, flushed, flushed}},
		{"rdma.atomic=IBV_WC_RETRY_EXC_ERR@4", ibv.WR_ATOMIC_FETCH_AND_ADD,
			[]ibv.WCStatus{fine, fine, fine, ibv.WC_RETRY_EXC_ERR}},
		{"rdma.atomic=IBV_WC_FATAL_ERR@2", ibv.WR_ATOMIC_CMP_AND_SWP,
			[]ibv.WCStatus{fine, ibv.WC_FATAL_ERR, flushed, flushed}},
		{"rdma.send=IBV_WC_RNR_RETRY_EXC_ERR@every:2", ibv.WR_SEND,
			[]ibv.WCStatus{fine, ibv.WC_RNR_RETRY_EXC_ERR, flushed, flushed}},
		{"rdma=IBV_WC_GENERAL_ERR@3", ibv.WR_RDMA_READ, []ibv.WCStatus{fine, fine, ibv.WC_GENERAL_ERR, flushed}},
		{"rdma.send=IBV_WC_RNR_RETRY_EXC_ERR", ibv.WR_RDMA_WRITE, []ibv.WCStatus{fine, fine, fine, fine}},
	} {
		t.Run(row.plan, func(t *testing.T) {
			for range 2 {
				a, b := faulty(t, row.plan, config{})
				from, to := a.memory(64), b.memory(64)
				from.fill(1)
				for i := range row.want {
					b.recv(uint64(i), to.sge(32+8*i, 8))
				}
				a.qp.Start()
				for i := range row.want {
					check(t, a.qp.Stage(&SendWR{ID: uint64(i), Opcode: row.op, SGEs: from.list(8*i, 8), CompareAdd: 1,
						RemoteAddress: to.address(8 * i), RKey: to.mr.Key}))
				}
				a.qp.Commit()
				if diff := cmp.Diff(row.want, a.statuses(len(row.want))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				for i, status := range row.want {
					if status != fine && (to.word(8*i) != 0 || to.word(32+8*i%32) != 0 && row.op == ibv.WR_SEND) {
						t.Errorf("operation %d, which failed, changed the peer's memory", i)
					}
				}
			}
		})
	}
}

// A receive ends with the status asked for, and the sender is told of it.
func TestReceiveOnCommand(t *testing.T) {
	for _, kind := range []ibv.QPType{ibv.QPT_RC, ibv.QPT_UC, ibv.QPT_UD} {
		for range 2 {
			a, b := faulty(t, "rdma.recv=IBV_WC_LOC_LEN_ERR@2", config{kind: kind})
			to, from := a.memory(256), b.memory(64)
			for i := range 3 {
				a.recv(uint64(i), to.sge(64*i, 64))
			}
			wr := SendWR{Opcode: ibv.WR_SEND, SGEs: from.list(0, 8), RemoteQPN: a.qp.Number(), RemoteQKey: 0x1234}
			if kind == ibv.QPT_UD {
				wr.AH = b.ah(a)
			}
			b.send(wr)
			b.want(0, fine)
			a.want(0, fine)
			b.send(wr)
			a.want(1, ibv.WC_LOC_LEN_ERR)
			a.want(2, flushed)
			if kind == ibv.QPT_RC {
				b.want(0, ibv.WC_REM_OP_ERR)
			} else {
				b.want(0, fine)
			}
		}
	}
}

// A delay puts off the operation and what is behind it, and that of a receive its completion.
func TestDelayOnCommand(t *testing.T) {
	const delay = 30 * time.Millisecond
	a, b := faulty(t, "rdma.write=delay:30ms@2; rdma.recv=delay:30ms@1", config{})
	from, to := a.memory(64), b.memory(64)
	began := time.Now()
	for i := range 3 {
		a.send(SendWR{ID: uint64(i), Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address(0),
			RKey: to.mr.Key})
	}
	a.want(0, fine)
	a.want(1, fine)
	if d := time.Since(began); d < delay {
		t.Errorf("the second write took %v", d)
	}
	a.want(2, fine)
	began = time.Now()
	for i := range 2 {
		a.recv(uint64(10+i), from.sge(0, 8))
		b.send(SendWR{ID: uint64(20 + i), Opcode: ibv.WR_SEND, SGEs: to.list(0, 8)})
	}
	a.want(10, fine)
	if d := time.Since(began); d < delay {
		t.Errorf("the receive took %v", d)
	}
	a.want(11, fine)
	b.want(20, fine)
	b.want(21, fine)
}

// A part of a write or a read is done, and no more.
func TestPartialOnCommand(t *testing.T) {
	for _, row := range []struct {
		plan string
		op   ibv.WROpcode
		size int
		want ibv.WCStatus
	}{
		{"rdma.write=partial:100@2", ibv.WR_RDMA_WRITE, 100, ibv.WC_RETRY_EXC_ERR},
		{"rdma.write=partial:5000+IBV_WC_REM_OP_ERR@2", ibv.WR_RDMA_WRITE, 5000, ibv.WC_REM_OP_ERR},
		{"rdma.write=partial:3000@2", ibv.WR_RDMA_WRITE_WITH_IMM, 3000, ibv.WC_RETRY_EXC_ERR},
		{"rdma.read=partial:4097@2", ibv.WR_RDMA_READ, 4097, ibv.WC_RETRY_EXC_ERR},
		{"rdma.write=partial:0@2", ibv.WR_RDMA_WRITE, 0, ibv.WC_RETRY_EXC_ERR},
	} {
		for _, kind := range []ibv.QPType{ibv.QPT_RC, ibv.QPT_UC} {
			if kind == ibv.QPT_UC && row.op == ibv.WR_RDMA_READ {
				continue
			}
			a, b := faulty(t, row.plan, config{kind: kind})
			from, to := a.memory(8192), b.memory(8192)
			from.fill(1)
			to.fill(2)
			source, target := from, to
			if row.op == ibv.WR_RDMA_READ {
				source, target = to, from
			}
			want := bytes.Clone(target.bytes)
			copy(want[:row.size], source.bytes)
			b.recv(5, to.sge(0, 0))
			first := SendWR{ID: 1, Opcode: row.op, SGEs: from.list(0, 0), RemoteAddress: to.address(0), RKey: to.mr.Key}
			a.send(first)
			a.want(1, fine)
			a.send(SendWR{ID: 2, Opcode: row.op, SGEs: from.list(0, 8192), RemoteAddress: to.address(0), RKey: to.mr.Key})
			a.want(2, row.want)
			arrived := func() bool { b.device.network.Poll(); return bytes.Equal(target.bytes, want) }
			for end := time.Now().Add(testPatience); !arrived() && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if !bytes.Equal(target.bytes, want) {
				t.Errorf("%s: other bytes than the first %d", row.plan, row.size)
			}
		}
	}
}

// After a cut, nothing comes or goes: this side's send ends at once, the peer's when its retries are used up. What came
// before ends well. After RESET the queue pair works.
func TestSeverOnCommand(t *testing.T) {
	a, b := faulty(t, "rdma.write=sever@3", config{})
	from, to := a.memory(64), b.memory(64)
	write := SendWR{Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address(0), RKey: to.mr.Key}
	a.qp.Start()
	for range 4 {
		check(t, a.qp.Stage(&write))
	}
	a.qp.Commit()
	if diff := cmp.Diff([]ibv.WCStatus{fine, fine, ibv.WC_RETRY_EXC_ERR, flushed}, a.statuses(4)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back := SendWR{ID: 9, Opcode: ibv.WR_RDMA_WRITE, SGEs: to.list(0, 8), RemoteAddress: from.address(0),
		RKey: from.mr.Key}
	check(t, b.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_SQD}, ibv.QP_STATE))
	check(t, b.qp.Modify(&ibv.QPAttr{Timeout: 8, RetryCnt: 2}, ibv.QP_TIMEOUT|ibv.QP_RETRY_CNT))
	check(t, b.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RTS}, ibv.QP_STATE))
	b.send(back)
	b.want(9, ibv.WC_RETRY_EXC_ERR)
	c := config{attr: func(a *ibv.QPAttr) { a.Timeout = 18 }}
	for _, s := range []*side{a, b} {
		check(t, s.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RESET}, ibv.QP_STATE))
	}
	a.bring(ibv.QPS_RTS, b, c)
	b.bring(ibv.QPS_RTS, a, c)
	a.send(write)
	a.want(0, fine)
	b.send(back)
	b.want(9, fine)
}

// An unreliable queue pair that is cut says nothing.
func TestSeverUnreliable(t *testing.T) {
	a, b := faulty(t, "rdma.send=sever@2", config{kind: ibv.QPT_UC})
	from, to := a.memory(64), b.memory(64)
	for i := range 3 {
		b.recv(uint64(i), to.sge(0, 8))
		a.send(SendWR{ID: uint64(i), Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)})
		a.want(uint64(i), fine)
	}
	b.want(0, fine)
	b.none()
}

// Packets are lost, sent twice and in another order, by number. A reliable connection makes up for it, an unreliable
// one does not.
func TestPacketsOnCommand(t *testing.T) {
	for _, plan := range []string{"rdma.packet=drop@2", "rdma.packet=duplicate@2", "rdma.packet=reorder@2",
		"rdma.packet=drop@p0.2; rdma.packet=duplicate@p0.2; rdma.packet=reorder@p0.2; seed=7"} {
		t.Run(plan, func(t *testing.T) {
			for _, reliable := range []bool{false, true} {
				a, b := faultyOn(t, &fabric.Wire{Reliable: reliable}, plan,
					config{attr: func(a *ibv.QPAttr) { a.Timeout = 14 }})
				from, to := a.memory(8192), b.memory(8192)
				from.fill(5)
				for i := range 4 {
					b.recv(uint64(i), to.sge(2048*i, 2048))
					a.send(SendWR{ID: uint64(i), Opcode: ibv.WR_SEND, SGEs: from.list(2048*i, 2048)})
				}
				for i := range 4 {
					a.want(uint64(i), fine)
					b.want(uint64(i), fine)
				}
				if !bytes.Equal(from.bytes, to.bytes) {
					t.Error("other bytes have arrived")
				}
			}
		})
	}
}

// arrivals are the numbers of the datagrams that arrive of 40.
func arrivals(t *testing.T, plan string) (list []uint32) {
	a, b := faulty(t, plan, config{kind: ibv.QPT_UD})
	from, to := a.memory(64), b.memory(64)
	ah := a.ah(b)
	for i := range 60 {
		b.recv(uint64(i), to.sge(0, 64))
	}
	a.qp.Start() // one after the other, so that the one which waits for the next isn't sent alone
	for i := range uint32(40) {
		check(t, a.qp.Stage(&SendWR{Opcode: ibv.WR_SEND_WITH_IMM, ImmData: i, SGEs: from.list(0, 8), AH: ah,
			RemoteQPN: b.qp.Number(), RemoteQKey: 0x1234}))
	}
	a.qp.Commit()
	for range 40 {
		a.want(0, fine)
	}
	b.send(SendWR{Opcode: ibv.WR_SEND, SGEs: to.list(0, 8), AH: b.ah(b), RemoteQPN: b.qp.Number(), RemoteQKey: 0x1234})
	for {
		wc := b.next()
		if wc.WCFlags&ibv.WC_WITH_IMM != 0 {
			list = append(list, wc.ImmData)
		} else if wc.Opcode == ibv.WC_RECV {
			return list
		}
	}
}

// The same seed harms the same packets, another one others; each by its number is what was asked for.
func TestPacketsBySeed(t *testing.T) {
	var plain []uint32
	for i := range uint32(40) {
		plain = append(plain, i)
	}
	first := arrivals(t, "rdma.packet=drop@p0.3; seed=11")
	if diff := cmp.Diff(first, arrivals(t, "rdma.packet=drop@p0.3; seed=11")); diff != "" {
		t.Errorf("with the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, arrivals(t, "rdma.packet=drop@p0.3; seed=12")) || cmp.Equal(first, plain) {
		t.Errorf("with any seed %v arrive", first)
	}
	for _, row := range []struct {
		plan string
		want []uint32
	}{
		{"rdma.packet=drop@3", append([]uint32{0, 1}, plain[3:]...)},
		{"rdma.packet=duplicate@3", append([]uint32{0, 1, 2}, plain[2:]...)},
		{"rdma.packet=reorder@3", append([]uint32{0, 1, 3, 2}, plain[4:]...)},
	} {
		if diff := cmp.Diff(row.want, arrivals(t, row.plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.plan, diff)
		}
	}
}

// With probability and a seed, the same operations fail.
func TestStatusBySeed(t *testing.T) {
	run := func(seed string) (n int) {
		a, b := faulty(t, "rdma.write=IBV_WC_REM_OP_ERR@p0.05; seed="+seed, config{})
		from, to := a.memory(64), b.memory(64)
		for a.qp.State() == ibv.QPS_RTS && n < 1000 {
			a.send(SendWR{Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address(0), RKey: to.mr.Key})
			if a.next().Status == fine {
				n++
			}
		}
		return n
	}
	first := run("3")
	if again := run("3"); again != first || first == 0 {
		t.Errorf("%d writes before the fault, then %d", first, again)
	}
	if run("4") == first && run("5") == first {
		t.Error("the seed has no effect")
	}
}

// What goes directly to another process' memory fails the same way.
func TestDirectOnCommand(t *testing.T) {
	x, y := onRings(t, config{})
	from, to := x.memory(4096), y.farside(4096, allAccess)
	from.fill(3)
	wr := SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 0), RemoteAddress: to.address, RKey: to.mr.Key}
	wr.SGEs = from.list(0, 8)
	x.untilDirect(wr)
	plan, err := fault.Parse("rdma.write=partial:100@1")
	check(t, err)
	x.device.options.Faults = plan
	before := x.sent()
	wr.SGEs, wr.RemoteAddress = from.list(0, 1000), to.address+1000
	x.send(wr)
	x.want(1, ibv.WC_RETRY_EXC_ERR)
	if x.sent() != before {
		t.Error("it went as packets")
	}
	if !bytes.Equal(to.bytes[1000:1100], from.bytes[:100]) || to.bytes[1100] != 0 {
		t.Error("other bytes than the first 100 were written")
	}
}

// An atomic that goes directly is told of once, and does what it should.
func TestDirectAtomicIsToldOnce(t *testing.T) {
	x, y := onRings(t, config{})
	from, to := x.memory(64), y.farside(4096, allAccess)
	wr := SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address, RKey: to.mr.Key}
	x.untilDirect(wr)
	s, before := newSink(t), x.sent()
	wr.Opcode, wr.CompareAdd = ibv.WR_ATOMIC_FETCH_AND_ADD, 5
	x.send(wr)
	x.want(1, fine)
	wr.Opcode, wr.Swap = ibv.WR_ATOMIC_CMP_AND_SWP, 9
	x.send(wr)
	x.want(1, fine)
	if x.sent() != before || to.bytes[0] != 9 || from.bytes[0] != 5 {
		t.Errorf("%d packets, the word is %d and was %d", x.sent()-before, to.bytes[0], from.bytes[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) != 2 || s.events[0].Operation != "fetch-add" || s.events[1].Operation != "compare-swap" {
		t.Errorf("%+v", s.events)
	}
}
