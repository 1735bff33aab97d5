package engine

import (
	"net/netip"
	"sync"
	"testing"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

// loop is a network of one device that doesn't allocate: what is sent comes back at the next Poll.
type loop struct {
	fabric.Network
	receiver fabric.Receiver
	source   fabric.Source

	mu          sync.Mutex
	slots       [64]struct{ header, payload []byte }
	first, sent int
	number      uint32
}

var loopAddress = netip.MustParseAddr("192.0.2.9")

func (l *loop) Attach(r fabric.Receiver) { l.receiver = r }
func (l *loop) Addresses() []netip.Addr  { return []netip.Addr{loopAddress} }
func (l *loop) FreeQPN(uint32)           {}
func (l *loop) Close()                   {}
func (l *loop) MTU() int                 { return 65536 }
func (l *loop) Reliable() bool           { return true }

func (l *loop) QPN() (uint32, error) {
	l.number++
	return 16 + l.number, nil
}

func (l *loop) Open(_, _ netip.Addr, _ uint32) (fabric.Path, error) { return l, nil }

func (l *loop) Send(header []byte, payload [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent-l.first == len(l.slots) {
		return fabric.ErrFull
	}
	s := &l.slots[l.sent%len(l.slots)]
	s.header = append(s.header[:0], header...)
	s.payload = s.payload[:0]
	for _, p := range payload {
		s.payload = append(s.payload, p...)
	}
	l.sent++
	return nil
}

func (l *loop) Poll() bool {
	some := false
	for {
		l.mu.Lock()
		if l.first == l.sent {
			l.mu.Unlock()
			return some
		}
		s := &l.slots[l.first%len(l.slots)]
		l.mu.Unlock()
		l.receiver.Receive(&l.source, s.header, s.payload)
		l.mu.Lock()
		l.first++
		l.mu.Unlock()
		some = true
	}
}

// onLoop is two connected queue pairs of one device.
func onLoop(t testing.TB, kind ibv.QPType) (a, b *side) {
	t.Helper()
	l := &loop{source: fabric.Source{Remote: loopAddress, Local: loopAddress}}
	for i := range l.slots {
		l.slots[i].header, l.slots[i].payload = make([]byte, 0, 64), make([]byte, 0, 4096)
	}
	d := NewDevice(l, Options{})
	t.Cleanup(d.Close)
	c, err := d.Open()
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	pd, err := c.AllocPD()
	check(t, err)
	n := &node{t: t, device: d, context: c, pd: pd, address: loopAddress}
	a, b = n.qp(config{kind: kind}), n.qp(config{kind: kind})
	a.bring(ibv.QPS_RTS, b, config{kind: kind})
	b.bring(ibv.QPS_RTS, a, config{kind: kind})
	return a, b
}

// Nothing that a program does all the time allocates.
func TestNoAllocation(t *testing.T) {
	for _, kind := range []ibv.QPType{ibv.QPT_RC, ibv.QPT_UC, ibv.QPT_UD} {
		a, b := onLoop(t, kind)
		m := a.memory(1 << 17)
		base := SendWR{ID: 1, SGEs: []ibv.SGE{m.sge(0, 100), m.sge(200, 3000)}, RemoteAddress: m.address(1 << 16),
			RKey: m.mr.Key, AH: a.ah(b), RemoteQPN: b.qp.Number(), RemoteQKey: 0x1234}
		recv := RecvWR{ID: 2, SGEs: []ibv.SGE{m.sge(1<<15, 50), m.sge(1<<15+50, 8000)}}
		for _, op := range []ibv.WROpcode{ibv.WR_SEND, ibv.WR_SEND_WITH_IMM, ibv.WR_RDMA_WRITE,
			ibv.WR_RDMA_WRITE_WITH_IMM, ibv.WR_RDMA_READ, ibv.WR_ATOMIC_FETCH_AND_ADD, ibv.WR_ATOMIC_CMP_AND_SWP} {
			if !Sends(kind, op) {
				continue
			}
			for _, flags := range []ibv.SendFlags{0, ibv.SEND_INLINE} {
				wr := base
				wr.Opcode, wr.Flags = op, flags
				switch {
				case op >= ibv.WR_RDMA_READ && flags != 0:
					continue
				case op > ibv.WR_RDMA_READ:
					wr.SGEs = m.list(8, 8)
				case flags != 0:
					wr.SGEs = wr.SGEs[:1]
				}
				var wc WC
				turn := func() {
					b.cq.Arm(false)
					if err := b.qp.PostRecv(&recv); err != nil {
						t.Fatal(err)
					}
					if err := a.qp.PostSend(&wr); err != nil {
						t.Fatal(err)
					}
					for !a.cq.Poll(&wc) {
					}
					if wc.Status != ibv.WC_SUCCESS {
						t.Fatalf("status %d", wc.Status)
					}
					for b.cq.Poll(&wc) {
					}
				}
				if op == ibv.WR_RDMA_WRITE || op >= ibv.WR_RDMA_READ {
					recvs := turn
					turn = func() { // the receives that nobody uses go by a send
						recvs()
						send := SendWR{Opcode: ibv.WR_SEND, SGEs: wr.SGEs[:1]}
						_ = a.qp.PostSend(&send)
						for !a.cq.Poll(&wc) {
						}
						for b.cq.Poll(&wc) {
						}
					}
				}
				turn()
				if n := testing.AllocsPerRun(50, turn); n != 0 {
					t.Errorf("kind %d, operation %d, flags %d: %v allocations", kind, op, flags, n)
				}
			}
		}
	}
}

// What both ends of a write of 8 bytes take of one processor, with a network that takes nothing.
func BenchmarkBothEnds(b *testing.B) {
	x, y := onLoop(b, ibv.QPT_RC)
	from, to := x.memory(64), y.memory(64)
	wr := write(from, to, 8)
	var wc WC
	for b.Loop() {
		if err := x.qp.PostSend(&wr); err != nil {
			b.Fatal(err)
		}
		for !x.cq.Poll(&wc) {
		}
	}
	if wc.Status != ibv.WC_SUCCESS {
		b.Fatalf("status %d", wc.Status)
	}
}

// A write between two networks of a host, from the call that posts it to its completion.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{8, 65536, 1 << 20} {
		b.Run(map[int]string{8: "8", 65536: "64K", 1 << 20: "1M"}[size], func(b *testing.B) {
			x, y := onRings(b, config{})
			from, to := x.memory(size), y.memory(size)
			stop := make(chan struct{})
			var gone sync.WaitGroup
			gone.Go(func() { // the other process polls
				var wc WC
				for {
					select {
					case <-stop:
						return
					default:
						y.cq.Poll(&wc)
					}
				}
			})
			wr := write(from, to, size)
			var wc WC
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := x.qp.PostSend(&wr); err != nil {
					b.Fatal(err)
				}
				for !x.cq.Poll(&wc) {
				}
				if wc.Status != ibv.WC_SUCCESS {
					b.Fatalf("status %d", wc.Status)
				}
			}
			close(stop)
			gone.Wait()
		})
	}
}
