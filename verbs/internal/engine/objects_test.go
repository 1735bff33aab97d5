package engine

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/bell"
	"farside/verbs/internal/fabric"
)

// bind binds a window and waits for that.
func (s *side) bind(w *MW, m *memory, at, n int, access ibv.AccessFlags) uint32 {
	s.t.Helper()
	key := w.Key() + 1
	if w.Type == ibv.MW_TYPE_1 {
		var err error
		key, err = s.qp.BindMW(w, 50, 0, &WindowBind{m.mr, m.address(at), uint64(n), access})
		check(s.t, err)
	} else {
		s.send(SendWR{ID: 50, Opcode: ibv.WR_BIND_MW, MW: w, BindKey: key,
			Bind: WindowBind{m.mr, m.address(at), uint64(n), access}})
	}
	if wc := s.want(50, ibv.WC_SUCCESS); wc.Opcode != ibv.WC_BIND_MW || w.Key() != key {
		s.t.Errorf("%+v, key %#x, not %#x", wc, w.Key(), key)
	}
	return key
}

// A window lets peers into its part of a region until it is unbound, and keeps the region.
func TestWindows(t *testing.T) {
	for _, kind := range []ibv.MWType{ibv.MW_TYPE_1, ibv.MW_TYPE_2} {
		a, b := pair(t, nil, config{})
		from, to := a.memory(64), b.memoryFor(4096, ibv.ACCESS_LOCAL_WRITE|ibv.ACCESS_MW_BIND)
		from.fill(1)
		w, err := b.pd.AllocMW(kind)
		check(t, err)
		key := b.bind(w, to, 100, 64, ibv.ACCESS_REMOTE_WRITE)
		wr := write(from, to, 64)
		wr.RemoteAddress, wr.RKey = to.address(100), key
		a.send(wr)
		a.want(1, ibv.WC_SUCCESS)
		if !bytes.Equal(to.bytes[100:164], from.bytes) {
			t.Error("other bytes came")
		}
		if err := to.mr.Dereg(); err != unix.EBUSY {
			t.Errorf("region of a window: %v", err)
		}
		if kind == ibv.MW_TYPE_2 {
			b.send(SendWR{ID: 51, Opcode: ibv.WR_LOCAL_INV, InvalidateKey: key})
			b.want(51, ibv.WC_SUCCESS)
		} else {
			again := b.bind(w, to, 100, 64, ibv.ACCESS_REMOTE_READ)
			if again == key {
				t.Error("a bind keeps the key")
			}
			unbound := WindowBind{}
			_, err = b.qp.BindMW(w, 52, 0, &unbound)
			check(t, err)
			b.want(52, ibv.WC_SUCCESS)
		}
		check(t, to.mr.Dereg())
		a.send(wr)
		a.want(1, ibv.WC_REM_ACCESS_ERR)
		check(t, w.Dealloc())
	}
}

// The peer ends a window of type 2 by a send; what can't be bound fails.
func TestWindowRules(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(4096)
	w, err := b.pd.AllocMW(ibv.MW_TYPE_2)
	check(t, err)
	key := b.bind(w, to, 0, 64, ibv.ACCESS_REMOTE_WRITE)
	b.recv(7, to.sge(0, 64))
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND_WITH_INV, InvalidateKey: key, SGEs: from.list(0, 8)})
	a.want(1, ibv.WC_SUCCESS)
	if wc := b.want(7, ibv.WC_SUCCESS); wc.WCFlags != ibv.WC_WITH_INV || wc.ImmData != key {
		t.Errorf("%+v", wc)
	}
	check(t, to.mr.Dereg()) // nothing is bound
	plain := b.memoryFor(64, ibv.ACCESS_LOCAL_WRITE)
	for name, c := range map[string]struct {
		bind WindowBind
		mw   *MW
	}{
		"no region":   {WindowBind{nil, 0, 8, 0}, w},
		"no window":   {WindowBind{plain.mr, plain.address(0), 8, 0}, nil},
		"wrong right": {WindowBind{plain.mr, plain.address(0), 8, ibv.ACCESS_MW_BIND}, w},
		"no length":   {WindowBind{plain.mr, plain.address(0), 0, 0}, w},
	} {
		if err := b.qp.PostSend(&SendWR{Opcode: ibv.WR_BIND_MW, MW: c.mw, Bind: c.bind}); err != unix.EINVAL {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The region doesn't allow windows.
	b.send(SendWR{ID: 9, Opcode: ibv.WR_BIND_MW, MW: w, BindKey: key + 1,
		Bind: WindowBind{plain.mr, plain.address(0), 8, ibv.ACCESS_REMOTE_READ}})
	b.want(9, ibv.WC_MW_BIND_ERR)
	b.state(ibv.QPS_ERR)
}

func TestRegionRules(t *testing.T) {
	n := newNode(t, &fabric.Wire{}, "192.0.2.1")
	m := n.memory(8192)
	check(t, unix.Mprotect(m.bytes[4096:8192], unix.PROT_READ))
	hole, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	check(t, err)
	at := (&memory{bytes: hole}).address(0)
	for name, c := range map[string]struct {
		init MRInit
		want error
	}{
		"remote write alone":  {MRInit{Address: m.address(0), Length: 8, Access: ibv.ACCESS_REMOTE_WRITE}, unix.EINVAL},
		"remote atomic alone": {MRInit{Address: m.address(0), Length: 8, Access: ibv.ACCESS_REMOTE_ATOMIC}, unix.EINVAL},
		"on demand":           {MRInit{Address: m.address(0), Length: 8, Access: ibv.ACCESS_ON_DEMAND}, unix.EOPNOTSUPP},
		"unknown right":       {MRInit{Address: m.address(0), Length: 8, Access: 1 << 9}, unix.EINVAL},
		"around":              {MRInit{Address: m.address(0), Length: 1 << 63, IOVA: 1 << 63}, unix.EINVAL},
		"not mapped":          {MRInit{Address: 4096, Length: 8}, unix.EFAULT},
		"no access":           {MRInit{Address: at, Length: 8}, unix.EFAULT},
		"read only": {MRInit{Address: m.address(0), Length: 8192, Access: ibv.ACCESS_LOCAL_WRITE},
			unix.EFAULT},
		"end not mapped":     {MRInit{Address: at - 8, Length: 16}, unix.EFAULT},
		"read only, reading": {MRInit{Address: m.address(0), Length: 8192}, nil},
		"optional rights":    {MRInit{Address: m.address(0), Length: 8, Access: ibv.ACCESS_RELAXED_ORDERING}, nil},
	} {
		if _, err := n.pd.RegMR(c.init); err != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Addresses of a region are what it was registered with, or begin at 0; registering it again changes what it is.
func TestAddressesOfRegions(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(4096)
	from.fill(1)
	other, err := b.pd.RegMR(MRInit{Address: to.address(512), Length: 1024, IOVA: 1 << 40, Access: allAccess})
	check(t, err)
	zero, err := b.pd.RegMR(MRInit{Address: to.address(2048), Length: 1024, IOVA: to.address(2048),
		Access: allAccess | ibv.ACCESS_ZERO_BASED})
	check(t, err)
	wr := write(from, to, 64)
	wr.RemoteAddress, wr.RKey = 1<<40+8, other.Key
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	wr.RemoteAddress, wr.RKey = 16, zero.Key
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	if !bytes.Equal(to.bytes[520:584], from.bytes) || !bytes.Equal(to.bytes[2064:2128], from.bytes) {
		t.Error("other bytes came")
	}
	check(t, other.Rereg(ibv.REREG_MR_CHANGE_TRANSLATION, nil, MRInit{Address: to.address(3000), Length: 64, IOVA: 77}))
	wr.RemoteAddress, wr.RKey = 77, other.Key
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	if !bytes.Equal(to.bytes[3000:3064], from.bytes) {
		t.Error("other bytes came after the change")
	}
	check(t, other.Rereg(ibv.REREG_MR_CHANGE_ACCESS, nil, MRInit{Access: ibv.ACCESS_LOCAL_WRITE}))
	a.send(wr)
	a.want(1, ibv.WC_REM_ACCESS_ERR)
	if err := other.Rereg(8, nil, MRInit{}); err != unix.EINVAL {
		t.Errorf("unknown flag: %v", err)
	}
}

// Keys of regions that are gone don't come back soon.
func TestKeys(t *testing.T) {
	n := newNode(t, &fabric.Wire{}, "192.0.2.1")
	seen := map[uint32]bool{}
	b := n.memory(64)
	for range 5000 {
		m, err := n.pd.RegMR(MRInit{Address: b.address(0), Length: 64, IOVA: b.address(0)})
		check(t, err)
		if seen[m.Key] || n.device.keys.find(m.Key) == nil {
			t.Fatalf("key %#x", m.Key)
		}
		seen[m.Key] = true
		check(t, m.Dereg())
		if n.device.keys.find(m.Key) != nil {
			t.Fatalf("key %#x stays", m.Key)
		}
	}
}

func TestSharedReceives(t *testing.T) {
	w := &fabric.Wire{}
	na, nb := newNode(t, w, "192.0.2.1"), newNode(t, w, "192.0.2.2")
	srq, err := nb.pd.CreateSRQ(SRQInit{MaxWR: 4, MaxSGE: 2})
	check(t, err)
	to, from := nb.memory(4096), na.memory(64)
	var senders, receivers [2]*side
	for i := range senders {
		c := config{}
		senders[i] = na.qp(c)
		c.srq = srq
		receivers[i] = nb.qp(c)
		senders[i].bring(ibv.QPS_RTS, receivers[i], c)
		receivers[i].bring(ibv.QPS_RTS, senders[i], c)
	}
	if err := receivers[0].qp.PostRecv(&RecvWR{}); err != unix.EINVAL {
		t.Errorf("a receive of its own: %v", err)
	}
	for id := range uint64(4) {
		check(t, srq.PostRecv(&RecvWR{ID: id, SGEs: to.list(int(id)*64, 64)}))
	}
	if err := srq.PostRecv(&RecvWR{}); err != unix.ENOMEM {
		t.Errorf("one more: %v", err)
	}
	check(t, srq.Modify(ibv.SRQAttr{SRQLimit: 3}, ibv.SRQ_LIMIT))
	if got := srq.Attr(); got.MaxWR != 4 || got.MaxSGE != 2 || got.SRQLimit != 3 {
		t.Errorf("%+v", got)
	}
	for id := range uint64(2) {
		s := senders[id]
		s.send(SendWR{ID: id, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)})
		s.want(id, ibv.WC_SUCCESS)
		receivers[id].want(id, ibv.WC_SUCCESS)
		if id == 0 {
			receivers[0].noEvent() // three are left
		}
	}
	receivers[0].event(ibv.EVENT_SRQ_LIMIT_REACHED)
	if got := srq.Attr(); got.SRQLimit != 0 {
		t.Errorf("%+v", got)
	}
	check(t, srq.Modify(ibv.SRQAttr{MaxWR: 8}, ibv.SRQ_MAX_WR))
	if err := srq.Modify(ibv.SRQAttr{MaxWR: 1}, ibv.SRQ_MAX_WR); err != unix.EINVAL {
		t.Errorf("shorter than what is posted: %v", err)
	}
	for id := range uint64(6) {
		check(t, srq.PostRecv(&RecvWR{ID: 10 + id}))
	}
	senders[0].send(SendWR{ID: 5, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)})
	senders[0].want(5, ibv.WC_SUCCESS)
	receivers[0].want(2, ibv.WC_SUCCESS)
	// An error leaves shared receives alone, and says when none of them is in use.
	check(t, receivers[0].qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE))
	receivers[0].event(ibv.EVENT_QP_LAST_WQE_REACHED)
	receivers[0].none()
}

func TestCompletionQueue(t *testing.T) {
	a, b := pair(t, nil, config{cqe: 4})
	from, to := a.memory(64), b.memory(64)
	for range 3 {
		a.send(write(from, to, 8))
	}
	for a.cq.count.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	if err := a.cq.Resize(2); err != unix.EINVAL {
		t.Errorf("too small: %v", err)
	}
	check(t, a.cq.Resize(3))
	if a.cq.Entries() != 3 {
		t.Error(a.cq.Entries())
	}
	for range 3 {
		a.want(1, ibv.WC_SUCCESS)
	}
	// One more than fits ends queue and queue pair.
	for range 4 {
		a.send(write(from, to, 8))
	}
	a.event(ibv.EVENT_CQ_ERR)
	a.event(ibv.EVENT_QP_FATAL)
	a.state(ibv.QPS_ERR)
	for range 3 {
		a.want(1, ibv.WC_SUCCESS)
	}
}

// A channel tells of the next completion, once, or of the next solicited one or error.
func TestChannel(t *testing.T) {
	w := &fabric.Wire{}
	a := newNode(t, w, "192.0.2.1").qp(config{})
	n := newNode(t, w, "192.0.2.2")
	ch, err := n.context.NewChannel()
	check(t, err)
	check(t, unix.SetNonblock(ch.FD(), true))
	cq, err := n.context.CreateCQ(CQInit{Entries: 16, Channel: ch})
	check(t, err)
	q, err := n.pd.CreateQP(QPInit{Kind: ibv.QPT_RC, SendCQ: cq, RecvCQ: cq, Cap: a.qp.Cap()})
	check(t, err)
	b := &side{n, q, cq}
	a.bring(ibv.QPS_RTS, b, config{})
	b.bring(ibv.QPS_RTS, a, config{})
	from, to := a.memory(64), b.memory(64)
	send := func(flags ibv.SendFlags) {
		t.Helper()
		b.recv(7, to.sge(0, 8))
		a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, Flags: flags, SGEs: from.list(0, 8)})
		a.want(1, ibv.WC_SUCCESS)
		b.want(7, ibv.WC_SUCCESS)
	}
	expect := func(what string, want bool) {
		t.Helper()
		got, err := ch.NextEvent(bell.Waits)
		if want != (err == nil) || want && got != cq || !want && err != unix.EAGAIN {
			t.Fatalf("%s: %v", what, err)
		}
		if want {
			cq.AckEvents(1)
		}
	}
	send(0)
	expect("not armed", false)
	cq.Arm(false)
	send(0)
	expect("armed", true)
	send(0)
	expect("armed once", false)
	cq.Arm(true)
	send(0)
	expect("not solicited", false)
	send(ibv.SEND_SOLICITED)
	expect("solicited", true)
	cq.Arm(true)
	b.recv(9)
	check(t, b.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE))
	expect("an error", true)
	// A queue waits for acknowledgements before it goes, and takes its events along.
	cq.Arm(false)
	b.recv(10)
	check(t, b.qp.Destroy())
	got, err := ch.NextEvent(bell.Waits)
	check(t, err)
	done := make(chan error)
	go func() { done <- got.Destroy() }()
	select {
	case err := <-done:
		t.Fatalf("gone before its event is acknowledged: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	got.AckEvents(1)
	check(t, <-done)
	check(t, ch.Destroy())
}

// Slots of the send queue are free again when a completion is polled, not before.
func TestUnsignalledSendsFill(t *testing.T) {
	a, b := pair(t, nil, config{unsigned: true,
		cap: ibv.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1}})
	from, to := a.memory(64), b.memory(64)
	for range 4 {
		a.send(write(from, to, 8))
	}
	a.none()
	if err := a.qp.PostSend(&SendWR{Opcode: ibv.WR_RDMA_WRITE}); err != unix.ENOMEM {
		t.Fatalf("a full queue: %v", err)
	}
	check(t, a.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RESET}, ibv.QP_STATE))
	check(t, b.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RESET}, ibv.QP_STATE))
	a.bring(ibv.QPS_RTS, b, config{})
	b.bring(ibv.QPS_RTS, a, config{})
	for i := range 40 {
		wr := write(from, to, 8)
		if i%4 == 3 {
			wr.Flags = ibv.SEND_SIGNALED
		}
		a.send(wr)
		if i%4 == 3 {
			a.want(1, ibv.WC_SUCCESS)
		}
	}
	for range 4 {
		check(t, b.qp.PostRecv(&RecvWR{}))
	}
	if err := b.qp.PostRecv(&RecvWR{}); err != unix.ENOMEM {
		t.Errorf("a full receive queue: %v", err)
	}
	if err := a.qp.PostSend(&SendWR{Opcode: ibv.WR_SEND, SGEs: make([]ibv.SGE, 2)}); err != unix.EINVAL {
		t.Errorf("too many entries: %v", err)
	}
}

// What is staged isn't sent before it is committed, and not at all after it is aborted.
func TestBatch(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	wr := write(from, to, 8)
	a.qp.Start()
	check(t, a.qp.Stage(&wr))
	check(t, a.qp.Stage(&wr))
	a.none()
	a.qp.Abort()
	a.none()
	a.qp.Start()
	check(t, a.qp.Stage(&wr))
	a.qp.Commit()
	a.want(1, ibv.WC_SUCCESS)
	a.none()
}

func TestCreationLimits(t *testing.T) {
	n := newNode(t, &fabric.Wire{}, "192.0.2.1")
	cq := n.cq(1)
	for name, c := range map[string]struct {
		init QPInit
		want error
	}{
		"raw packets": {QPInit{Kind: ibv.QPT_RAW_PACKET, SendCQ: cq, RecvCQ: cq}, unix.EOPNOTSUPP},
		"no queue":    {QPInit{Kind: ibv.QPT_RC, SendCQ: cq}, unix.EINVAL},
		"sends": {QPInit{Kind: ibv.QPT_RC, SendCQ: cq, RecvCQ: cq, Cap: ibv.QPCap{MaxSendWR: maxQPWR + 1}},
			unix.EINVAL},
		"entries": {QPInit{Kind: ibv.QPT_RC, SendCQ: cq, RecvCQ: cq, Cap: ibv.QPCap{MaxRecvSGE: maxSGE + 1}},
			unix.EINVAL},
		"inline": {QPInit{Kind: ibv.QPT_RC, SendCQ: cq, RecvCQ: cq, Cap: ibv.QPCap{MaxInlineData: maxInline + 1}},
			unix.EINVAL},
		"nothing at all": {QPInit{Kind: ibv.QPT_RC, SendCQ: cq, RecvCQ: cq}, nil},
	} {
		if _, err := n.pd.CreateQP(c.init); err != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, entries := range []int{0, maxCQE + 1} {
		if _, err := n.context.CreateCQ(CQInit{Entries: entries}); err != unix.EINVAL {
			t.Errorf("%d completions: %v", entries, err)
		}
	}
	if _, err := n.device.PortAttr(2); err != unix.EINVAL {
		t.Errorf("second port: %v", err)
	}
	if _, ok := n.device.GID(1); ok {
		t.Error("a GID that isn't there")
	}
}

// watched is a network that counts who sleeps.
type watched struct {
	fabric.Network
	sleepers int
}

func (w *watched) Watch(change int) { w.sleepers += change }

// A network knows of each queue that is armed, and may be slept on, until it has fired or is gone.
func TestArmedQueuesAreWatched(t *testing.T) {
	w := &watched{Network: new(fabric.Wire).NewNetwork(netip.MustParseAddr("192.0.2.1"))}
	d := NewDevice(w, Options{})
	defer d.Close()
	c, err := d.Open()
	check(t, err)
	defer c.Close()
	channel, err := c.NewChannel()
	check(t, err)
	silent, err := c.CreateCQ(CQInit{Entries: 1})
	check(t, err)
	silent.Arm(false)
	if w.sleepers != 0 {
		t.Error("nobody can sleep on a queue without a channel")
	}
	q, err := c.CreateCQ(CQInit{Entries: 4, Channel: channel})
	check(t, err)
	q.Arm(true)
	q.Arm(false)
	if w.sleepers != 1 {
		t.Errorf("%d sleepers of one queue", w.sleepers)
	}
	for range 2 {
		q.push(&entry{}, false)
		if w.sleepers != 0 {
			t.Errorf("%d sleepers after the event", w.sleepers)
		}
	}
	q.Arm(true)
	q.push(&entry{}, false)
	if w.sleepers != 1 {
		t.Error("who waits for a solicited event sleeps on")
	}
	check(t, q.Destroy())
	if w.sleepers != 0 {
		t.Errorf("%d sleepers without a queue", w.sleepers)
	}
}
