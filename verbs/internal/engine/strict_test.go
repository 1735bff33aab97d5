package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"farside/internal/finding"
	"farside/internal/ibv"
	"farside/internal/journal"
)

// found collects findings.
type found struct {
	mu   sync.Mutex
	ids  []finding.ID
	text string
}

func (f *found) Write(e *journal.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Kind == journal.Finding {
		f.ids, f.text = append(f.ids, finding.ID(e.ID)), e.Text
	}
}

// expect compares what was found since the last time.
func (f *found) expect(t *testing.T, what string, want ...finding.ID) (text string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.ids, want) {
		t.Errorf("%s: found %v, want %v", what, f.ids, want)
	}
	text, f.ids, f.text = f.text, nil, ""
	return text
}

func lookForFindings(t *testing.T) *found {
	t.Helper()
	t.Setenv("FARSIDE_LOG", "off")
	f := &found{}
	journal.Attach(f)
	t.Cleanup(func() { journal.Detach(f) })
	return f
}

// Local memory must not change until a send has ended.
func TestLocalChanged(t *testing.T) {
	f := lookForFindings(t)
	a, b := latePair(t)
	from, to := a.memory(1<<21), b.memory(1<<21)
	round := func(change int, flags ibv.SendFlags, sges ...ibv.SGE) {
		a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: sges, Flags: flags})
		if change >= 0 {
			from.bytes[change]++
		}
		b.recv(2, to.sge(0, 1<<21))
		a.want(1, fine)
		b.want(2, fine)
	}
	round(-1, 0, from.sge(0, 5000))
	f.expect(t, "the same")
	round(4000, 0, from.sge(0, 3000), from.sge(3500, 1000))
	if s := f.expect(t, "changed", finding.LocalChanged); !strings.Contains(s, "changed at byte 3500 ") {
		t.Errorf("it says %q", s)
	}
	round(3200, 0, from.sge(0, 3000), from.sge(3500, 1000))
	f.expect(t, "changed between the entries")
	round(5, ibv.SEND_INLINE, from.sge(0, 64))
	f.expect(t, "inline")
	round(5, 0, from.sge(0, mostCopied+1))
	f.expect(t, "too long to look at")
	round(5, 0, from.sge(0, mostCopied))
	f.expect(t, "the longest", finding.LocalChanged)
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 64)}) // waits for a receive
	check(t, a.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE))
	from.bytes[0]++
	a.want(1, ibv.WC_WR_FLUSH_ERR)
	f.expect(t, "flushed")
	if n := a.device.copies.Load(); n != 0 {
		t.Errorf("%d bytes of copies are left", n)
	}
}

// A send with a fence may send what the read before it fills.
func TestLocalFilled(t *testing.T) {
	f := lookForFindings(t)
	a, b := latePair(t)
	from, to := a.memory(4096), b.memory(4096)
	for n := range 10 {
		to.fill(byte(n))
		a.send(SendWR{ID: 1, Opcode: ibv.WR_RDMA_READ, SGEs: from.list(0, 64), RemoteAddress: to.address(0),
			RKey: to.mr.Key})
		a.send(SendWR{ID: 2, Opcode: ibv.WR_RDMA_WRITE, Flags: ibv.SEND_FENCE, SGEs: from.list(1024, 8),
			RemoteAddress: to.address(1024), RKey: to.mr.Key})
		a.send(SendWR{ID: 3, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 64), RemoteAddress: to.address(2048),
			RKey: to.mr.Key})
		for id := range uint64(3) {
			a.want(id+1, fine)
		}
	}
	f.expect(t, "what a read filled")
}

// What a queue pair that is reset had posted is forgotten.
func TestLocalForgotten(t *testing.T) {
	f := lookForFindings(t)
	a, _ := latePair(t)
	from := a.memory(4096)
	for range 2 {
		a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 64)})
	}
	check(t, a.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RESET}, ibv.QP_STATE))
	from.bytes[0]++
	if n := a.device.copies.Load(); n != 0 {
		t.Errorf("%d bytes of copies are left", n)
	}
	f.expect(t, "reset")
}

// A send or a write that needs an earlier read or atomic to be done has a fence, or is posted when the completion has
// been polled.
func TestMissingFence(t *testing.T) {
	f := lookForFindings(t)
	a, b := latePair(t)
	from, to := a.memory(4096), b.memory(4096)
	op := func(o ibv.WROpcode, flags ibv.SendFlags, local, n, remote int) SendWR {
		return SendWR{Opcode: o, Flags: flags, SGEs: from.list(local, n), RemoteAddress: to.address(remote),
			RKey: to.mr.Key}
	}
	const read, write, add = ibv.WR_RDMA_READ, ibv.WR_RDMA_WRITE, ibv.WR_ATOMIC_FETCH_AND_ADD
	for _, row := range []struct {
		what  string
		posts []SendWR
		want  []finding.ID
	}{
		{"other memory", []SendWR{op(read, 0, 0, 64, 0), op(write, 0, 64, 64, 64)}, nil},
		{"what is read", []SendWR{op(read, 0, 0, 64, 0), op(write, 0, 63, 64, 64)}, []finding.ID{finding.MissingFence}},
		{"a fence", []SendWR{op(read, 0, 0, 64, 0), op(write, ibv.SEND_FENCE, 0, 64, 64)}, nil},
		{"a fence between", []SendWR{op(read, 0, 0, 64, 0), op(write, ibv.SEND_FENCE, 64, 64, 64), op(write, 0, 0, 64, 128)},
			nil},
		{"a fence before", []SendWR{op(write, ibv.SEND_FENCE, 0, 64, 64), op(read, 0, 0, 64, 0), op(write, 0, 0, 64, 128)},
			[]finding.ID{finding.MissingFence}},
		{"a read with a fence", []SendWR{op(read, ibv.SEND_FENCE, 0, 64, 0), op(write, 0, 0, 64, 128)},
			[]finding.ID{finding.MissingFence}},
		{"what an atomic fills", []SendWR{op(add, 0, 8, 8, 0), op(write, 0, 0, 64, 64)}, []finding.ID{finding.MissingFence}},
		{"what is overwritten", []SendWR{op(read, 0, 0, 64, 0), op(write, 0, 64, 64, 63)},
			[]finding.ID{finding.MissingFence}},
		{"inline", []SendWR{op(read, 0, 0, 64, 0), op(write, ibv.SEND_INLINE, 0, 64, 64)}, nil},
		{"read after read", []SendWR{op(read, 0, 0, 64, 0), op(read, 0, 0, 64, 0)}, nil},
		{"nothing", []SendWR{op(read, 0, 0, 0, 0), op(write, 0, 0, 0, 0)}, nil},
	} {
		for i := range row.posts {
			row.posts[i].ID = uint64(i)
			a.send(row.posts[i])
		}
		f.expect(t, row.what, row.want...)
		for i := range row.posts {
			a.want(uint64(i), fine)
		}
		f.expect(t, row.what+" at the end")
	}
	a.send(op(read, 0, 0, 64, 0))
	a.next()
	a.send(op(write, 0, 0, 64, 0))
	a.next()
	f.expect(t, "a completion")
}

// Work of two queue pairs on the same bytes has no order until the first has begun.
func TestOtherQueuePairs(t *testing.T) {
	f := lookForFindings(t)
	a, b := latePair(t)
	c, d := a.node.qp(config{}), b.node.qp(config{})
	c.bring(ibv.QPS_RTS, d, config{})
	d.bring(ibv.QPS_RTS, c, config{})
	from, to := a.memory(4096), b.memory(4096)
	from.fill(1)
	work := func(o ibv.WROpcode, local, remote, n int) SendWR {
		return SendWR{ID: 1, Opcode: o, SGEs: from.list(local, n), RemoteAddress: to.address(remote), RKey: to.mr.Key}
	}
	const write, read, add = ibv.WR_RDMA_WRITE, ibv.WR_RDMA_READ, ibv.WR_ATOMIC_FETCH_AND_ADD
	for _, row := range []struct {
		what          string
		first, second SendWR
		want          []finding.ID
	}{
		{"two writes", work(write, 0, 0, 64), work(write, 100, 32, 64), []finding.ID{finding.UnorderedPeers}},
		{"the same twice", work(write, 0, 0, 64), work(write, 0, 0, 64), nil},
		{"side by side", work(write, 0, 0, 64), work(write, 100, 64, 64), nil},
		{"the same where they meet", work(write, 0, 0, 64), work(write, 32, 32, 64), nil},
		{"a read", work(write, 0, 0, 64), work(read, 1024, 32, 64), []finding.ID{finding.TornRead}},
		{"a write behind a read", work(read, 1024, 0, 64), work(write, 0, 32, 64), []finding.ID{finding.TornRead}},
		{"a word", work(write, 0, 8, 8), work(read, 1024, 8, 8), nil},
		{"two reads", work(read, 1024, 0, 64), work(read, 2048, 0, 64), nil},
		{"an atomic", work(write, 0, 8, 8), work(add, 1024, 8, 8), []finding.ID{finding.UnorderedPeers}},
		{"atomics", work(add, 1024, 8, 8), work(add, 2048, 8, 8), nil},
		{"an atomic and a read", work(add, 1024, 8, 8), work(read, 2048, 8, 8), nil},
	} {
		a.send(row.first)
		c.send(row.second)
		f.expect(t, row.what, row.want...)
		a.want(1, fine)
		c.want(1, fine)
	}
	a.send(work(write, 0, 0, 64))
	a.want(1, fine)
	c.send(work(write, 100, 32, 64))
	c.want(1, fine)
	f.expect(t, "one after the other")
	a.send(work(write, 0, 0, 64))
	check(t, a.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE))
	c.send(work(write, 100, 32, 64))
	c.want(1, fine)
	f.expect(t, "the first one was flushed")
	if n := len(a.device.announced.list); n != 0 {
		t.Errorf("%d announcements are left", n)
	}
}
