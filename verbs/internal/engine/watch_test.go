package engine

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/internal/ibv"
	"farside/internal/journal"
	"farside/verbs/internal/fabric"
)

// told is a sink that keeps events of queue pairs and regions.
type told struct {
	mu     sync.Mutex
	events []journal.Event
}

func (s *told) Write(e *journal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, *e)
}

func newSink(t *testing.T) *told {
	s := &told{}
	journal.Attach(s)
	t.Cleanup(func() { journal.Detach(s) })
	return s
}

// brief is an event without its times and names.
type brief struct {
	Kind      journal.Kind
	Operation string
	Handle    uint64
	Size      uint64
	Value     uint64
	Text      string
}

// of are the events of one queue pair or region, in their order.
func (s *told) of(handle uint64) (list []brief) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Object.Handle == handle {
			list = append(list, brief{e.Kind, e.Operation, handle, e.Size, e.Value, e.Text})
		}
	}
	return list
}

// The journal has all work with its bytes, packets that went wrong, and registrations.
func TestJournal(t *testing.T) {
	lose := true
	w := &fabric.Wire{Filter: func(p *fabric.Packet) bool {
		first := lose && len(p.Payload) == 16
		lose = lose && !first
		return !first
	}}
	a, b := pair(t, w, config{attr: func(a *ibv.QPAttr) { a.Timeout = 14 }})
	from := a.memory(64)
	s := newSink(t)
	to := b.memoryFor(64, ibv.ACCESS_LOCAL_WRITE|ibv.ACCESS_REMOTE_READ|ibv.ACCESS_REMOTE_WRITE)
	a.send(SendWR{ID: 7, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address(0), RKey: to.mr.Key})
	a.want(7, fine)
	b.recv(3, to.sge(0, 64))
	a.send(SendWR{ID: 8, Opcode: ibv.WR_SEND, SGEs: from.list(0, 16)})
	a.want(8, fine)
	b.want(3, fine)
	a.send(SendWR{ID: 9, Opcode: ibv.WR_ATOMIC_FETCH_AND_ADD, SGEs: from.list(0, 8), RemoteAddress: to.address(0),
		RKey: to.mr.Key})
	a.want(9, ibv.WC_REM_ACCESS_ERR)
	check(t, to.mr.Dereg())

	qa, qb, mr := uint64(a.qp.Number()), uint64(b.qp.Number()), uint64(to.mr.Key)
	want := []brief{{journal.Transfer, "write", qa, 8, 7, ""}, {journal.Transfer, "send", qa, 16, 8, ""},
		{journal.Packet, "refused: remote access error", qa, 0, 0, ""},
		{journal.Transfer, "fetch-add", qa, 8, 9, "IBV_WC_REM_ACCESS_ERR"}}
	lost := brief{journal.Packet, "no answer in time", qa, 0, 0, ""}
	all := s.of(qa)
	if !slices.Contains(all, lost) {
		t.Errorf("the packet that was lost is missing: %v", all)
	}
	all = slices.DeleteFunc(all, func(b brief) bool { return b == lost }) // there are more on a machine that is slow
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("of the sender (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]brief{{journal.Transfer, "receive", qb, 16, 3, ""}}, s.of(qb)); diff != "" {
		t.Errorf("of the receiver (-want +got):\n%s", diff)
	}
	rights := "local write, remote write, remote read"
	if diff := cmp.Diff([]brief{{journal.Register, "", mr, 64, 0, rights}, {journal.Deregister, "", mr, 64, 0, rights}},
		s.of(mr)); diff != "" {
		t.Errorf("of the region (-want +got):\n%s", diff)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := int64(0)
	for _, e := range s.events {
		if e.Object.Handle == qa && e.Kind == journal.Transfer {
			if e.Time < ended {
				t.Errorf("%s begins before what came before it has ended", e.Operation)
			}
			ended = e.Time + e.Duration
		}
	}
}
