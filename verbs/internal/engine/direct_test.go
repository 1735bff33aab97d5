package engine

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/internal/memfd"
	"farside/rdmasim"
	"farside/verbs/internal/network"
)

// onRings is two connected queue pairs of two devices, each with a network of its own, as two processes have.
func onRings(t testing.TB, c config) (x, y *side) {
	t.Helper()
	loopback := netip.MustParseAddr("127.0.0.1")
	var sides [2]*side
	for i := range sides {
		n, err := network.Open()
		check(t, err)
		d := NewDevice(n, Options{})
		t.Cleanup(d.Close)
		context, err := d.Open()
		check(t, err)
		t.Cleanup(func() { _ = context.Close() })
		pd, err := context.AllocPD()
		check(t, err)
		sides[i] = (&node{t: t, device: d, context: context, pd: pd, address: loopback}).qp(c)
	}
	index := -1
	for i, a := range sides[0].device.network.Addresses() {
		if a == loopback {
			index = i
		}
	}
	if index < 0 {
		t.Skip("the loopback interface is down")
	}
	change := c.attr
	c.attr = func(a *ibv.QPAttr) {
		a.AHAttr.GRH.SGIDIndex, a.Timeout = uint8(index), 16
		if change != nil {
			change(a)
		}
	}
	for i := range sides {
		sides[i].bring(ibv.QPS_RTS, sides[1-i], c)
	}
	return sides[0], sides[1]
}

// farside is memory with a remote address, and its region.
type farsideMemory struct {
	bytes   []byte // a mapping of the test's own
	address uint64
	region  *rdmasim.Region
	mr      *MR
}

func (n *node) farside(size int, access ibv.AccessFlags) *farsideMemory {
	n.t.Helper()
	f, err := memfd.Create(memfd.Spec{Name: "test", Size: uint64(size)})
	check(n.t, err)
	b, err := unix.Mmap(f.Int(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check(n.t, err)
	n.t.Cleanup(func() { _, _ = unix.Munmap(b), f.Close() })
	r, err := rdmasim.Register(f.Int(), 0, uint64(size), rdmasim.Attributes{Access: rdmasim.AccessAll, Holds: true})
	check(n.t, err)
	n.t.Cleanup(func() { _ = r.Close() })
	m, err := rdmasim.Map(r.Address(), uint64(size), rdmasim.AccessWrite)
	check(n.t, err)
	mr, err := n.pd.RegMR(MRInit{Address: r.Address(), Length: uint64(size), IOVA: r.Address(), Access: access, Memory: m})
	check(n.t, err)
	return &farsideMemory{b, r.Address(), r, mr}
}

// untilDirect writes until a write takes the direct way.
func (s *side) untilDirect(wr SendWR) {
	s.t.Helper()
	for end := time.Now().Add(testPatience); ; time.Sleep(time.Millisecond) {
		before := s.sent()
		s.send(wr)
		s.want(wr.ID, ibv.WC_SUCCESS)
		if s.sent() == before {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("no write goes directly")
		}
	}
}

// sent is the number of the next packet.
func (s *side) sent() uint32 {
	s.qp.mu.Lock()
	defer s.qp.mu.Unlock()
	return s.qp.req.next
}

// What goes directly does the same as packets, and refusals are the responder's.
func TestDirect(t *testing.T) {
	x, y := onRings(t, config{})
	from, to := x.memory(1<<16), y.farside(1<<16, allAccess)
	from.fill(3)
	wr := SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: []ibv.SGE{from.sge(0, 1000), from.sge(2000, 3000)},
		RemoteAddress: to.address + 77, RKey: to.mr.Key}
	x.untilDirect(wr)
	if !bytes.Equal(to.bytes[77:1077], from.bytes[:1000]) || !bytes.Equal(to.bytes[1077:4077], from.bytes[2000:5000]) {
		t.Error("other bytes were written")
	}
	before := x.sent()
	wr.Opcode = ibv.WR_RDMA_READ
	clear(from.bytes)
	x.send(wr)
	if wc := x.want(1, ibv.WC_SUCCESS); wc.Opcode != ibv.WC_RDMA_READ || wc.ByteLen != 4000 {
		t.Errorf("%+v", wc)
	}
	if !bytes.Equal(to.bytes[77:1077], from.bytes[:1000]) || !bytes.Equal(to.bytes[1077:4077], from.bytes[2000:5000]) {
		t.Error("other bytes were read")
	}
	clear(to.bytes)
	to.bytes[8] = 40
	add := SendWR{ID: 2, Opcode: ibv.WR_ATOMIC_FETCH_AND_ADD, CompareAdd: 2, SGEs: from.list(0, 8),
		RemoteAddress: to.address + 8, RKey: to.mr.Key}
	x.send(add)
	x.want(2, ibv.WC_SUCCESS)
	add.Opcode, add.CompareAdd, add.Swap = ibv.WR_ATOMIC_CMP_AND_SWP, 42, 50
	x.send(add)
	x.want(2, ibv.WC_SUCCESS)
	if from.word(0) != 42 || to.bytes[8] != 50 || x.sent() != before {
		t.Errorf("atomics: %d, %d, %d packets", from.word(0), to.bytes[8], x.sent()-before)
	}
	y.none()
	// A local fault is the requester's.
	check(t, unix.Mprotect(from.bytes[:4096], unix.PROT_NONE))
	x.send(add)
	x.want(2, ibv.WC_LOC_PROT_ERR)
	x.state(ibv.QPS_ERR)
	y.state(ibv.QPS_RTS)
}

// Requests that the target doesn't allow, or not any more, fail as with packets.
func TestDirectRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		access ibv.AccessFlags
		spoil  func(y *side, to *farsideMemory, wr *SendWR)
	}{
		"key":   {allAccess, func(_ *side, _ *farsideMemory, wr *SendWR) { wr.RKey ^= 1 }},
		"range": {allAccess, func(_ *side, to *farsideMemory, wr *SendWR) { wr.RemoteAddress = to.address + 4090 }},
		"read": {allAccess &^ ibv.ACCESS_REMOTE_READ,
			func(_ *side, _ *farsideMemory, wr *SendWR) { wr.Opcode = ibv.WR_RDMA_READ }},
		"deregistered": {allAccess, func(y *side, to *farsideMemory, _ *SendWR) { check(y.t, to.mr.Dereg()) }},
		"freed":        {allAccess, func(y *side, to *farsideMemory, _ *SendWR) { check(y.t, to.region.Close()) }},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := onRings(t, config{})
			from, to := x.memory(64), y.farside(4096, c.access)
			wr := SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address, RKey: to.mr.Key}
			x.untilDirect(wr)
			c.spoil(y, to, &wr)
			x.send(wr)
			x.want(1, ibv.WC_REM_ACCESS_ERR)
			y.state(ibv.QPS_ERR)
		})
	}
}

// A queue pair that has left its states takes nothing any more.
func TestDirectStates(t *testing.T) {
	x, y := onRings(t, config{attr: func(a *ibv.QPAttr) { a.Timeout, a.RetryCnt = 16, 0 }})
	from, to := x.memory(64), y.farside(4096, allAccess)
	from.fill(1)
	wr := SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 8), RemoteAddress: to.address, RKey: to.mr.Key}
	x.untilDirect(wr)
	check(t, y.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE))
	clear(to.bytes)
	x.send(wr)
	x.want(1, ibv.WC_RETRY_EXC_ERR)
	if to.bytes[1] != 0 {
		t.Error("written nevertheless")
	}
}
