package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

// Random operations in both directions at a time, over ways of several kinds, do what a model does one after the other.
func TestModel(t *testing.T) {
	bad := fabric.Trouble{Lose: 0.02, Duplicate: 0.02, Reorder: 0.02}
	for _, c := range []struct {
		name string
		wire *fabric.Wire
		ops  int
	}{
		{"good", &fabric.Wire{}, 3000},
		{"reliable", &fabric.Wire{MTU: 65536, Reliable: true}, 3000},
		{"narrow", &fabric.Wire{MTU: 256, Depth: 8}, 1500},
		{"narrow and reliable", &fabric.Wire{MTU: 512, Depth: 4, Reliable: true}, 1500},
		{"bad", &fabric.Wire{Trouble: bad}, 1000},
		{"worse", &fabric.Wire{MTU: 256, Trouble: fabric.Trouble{Lose: 0.1, Duplicate: 0.1, Reorder: 0.1}}, 200},
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				t.Parallel()
				w := &fabric.Wire{MTU: c.wire.MTU, Depth: c.wire.Depth, Reliable: c.wire.Reliable, Trouble: c.wire.Trouble}
				w.Trouble.Seed = seed
				// A machine that is busy with other tests takes its time to answer.
				a, b := pair(t, w, config{cqe: 1024, attr: func(a *ibv.QPAttr) { a.Timeout, a.RetryCnt = 14, 7 }})
				var both sync.WaitGroup
				pa, pb := newPlayer(t, a, seed), newPlayer(t, b, seed+100)
				pa.peer, pb.peer = pb, pa
				both.Go(func() { pa.play(c.ops) })
				both.Go(func() { pb.play(c.ops) })
				both.Wait()
				pa.compare()
				pb.compare()
			})
		}
	}
}

const (
	placeBytes = 1 << 15 // of what the peer writes, reads and adds to
	recvBytes  = 6000
	recvs      = 16
)

// player is a side that does random things to its peer.
type player struct {
	*side
	t    *testing.T
	rng  *rand.Rand
	peer *player

	place  *memory // the peer's operations go here
	local  *memory // what is sent, and where reads go
	ring   *memory // receives
	want   []byte  // what the peer's place must be, by the model
	expect map[uint64][]byte
	sent   [][]byte // that the peer must receive, in order
	mu     sync.Mutex
	got    int // receives
	under  int // sends under way
	next   uint64
}

func newPlayer(t *testing.T, s *side, seed uint64) *player {
	p := &player{side: s, t: t, rng: rand.New(rand.NewPCG(seed, 7)), place: s.memory(placeBytes),
		local: s.memory(1 << 20), ring: s.memory(recvs * recvBytes), want: make([]byte, placeBytes),
		expect: map[uint64][]byte{}}
	for i := range recvs {
		p.recv(uint64(1000000+i), p.ring.sge(i*recvBytes, recvBytes))
	}
	return p
}

const playerDepth = 12

// play does n operations, and goes on until all of both players have ended.
func (p *player) play(n int) {
	for range n {
		p.post()
		for p.under > 0 && (p.under >= playerDepth || p.rng.IntN(3) == 0) {
			if !p.poll() {
				return
			}
		}
	}
	for p.under > 0 && p.poll() {
	}
	p.mu.Lock()
	p.next = 0 // nothing more is sent
	p.mu.Unlock()
	for end := time.Now().Add(testPatience); !p.t.Failed(); time.Sleep(50 * time.Microsecond) {
		p.peer.mu.Lock()
		all, done := len(p.peer.sent), p.peer.next == 0
		p.peer.mu.Unlock()
		if done && p.got == all {
			return
		}
		var wc WC
		if p.cq.Poll(&wc) && p.received(&wc) {
			end = time.Now().Add(testPatience)
		}
		if time.Now().After(end) {
			p.t.Errorf("%d of %d receives came", p.got, all)
		}
	}
}

// post posts a random operation. What follows a read or an atomic waits for it.
func (p *player) post() {
	p.mu.Lock()
	p.next++
	id := p.next
	p.mu.Unlock()
	slot := int(id%(2*playerDepth)) * 40000
	n := p.rng.IntN(200)
	if p.rng.IntN(4) == 0 {
		n = p.rng.IntN(placeBytes / 2)
	}
	at := p.rng.IntN(placeBytes - n)
	wr := SendWR{ID: id, Flags: ibv.SEND_FENCE, RemoteAddress: p.peer.place.address(at), RKey: p.peer.place.mr.Key}
	var result []byte
	switch kind := p.rng.IntN(10); {
	case kind < 4:
		p.random(slot, n)
		wr.Opcode = ibv.WR_RDMA_WRITE
		wr.SGEs = p.split(slot, n)
		copy(p.want[at:], p.local.bytes[slot:slot+n])
	case kind < 6:
		n = min(n, recvBytes)
		p.random(slot, n)
		wr.Opcode = ibv.WR_SEND
		wr.SGEs = p.split(slot, n)
		p.mu.Lock()
		p.sent = append(p.sent, bytes.Clone(p.local.bytes[slot:slot+n]))
		p.mu.Unlock()
	case kind < 8:
		wr.Opcode = ibv.WR_RDMA_READ
		wr.SGEs = p.split(slot, n)
		result = bytes.Clone(p.want[at : at+n])
	default:
		at &^= 7
		wr.RemoteAddress = p.peer.place.address(at)
		wr.SGEs = p.local.list(slot, 8)
		old := binary.NativeEndian.Uint64(p.want[at:])
		result = bytes.Clone(p.want[at : at+8])
		wr.CompareAdd = p.rng.Uint64()
		if wr.Opcode = ibv.WR_ATOMIC_FETCH_AND_ADD; p.rng.IntN(2) == 0 {
			wr.Opcode, wr.Swap = ibv.WR_ATOMIC_CMP_AND_SWP, p.rng.Uint64()
			if p.rng.IntN(2) == 0 {
				wr.CompareAdd = old
			}
			if wr.CompareAdd == old {
				old = wr.Swap
			}
		} else {
			old += wr.CompareAdd
		}
		binary.NativeEndian.PutUint64(p.want[at:], old)
	}
	p.expect[id] = result
	p.under++
	if err := p.qp.PostSend(&wr); err != nil {
		p.t.Errorf("post: %v", err)
	}
}

func (p *player) random(at, n int) {
	for i := range n {
		p.local.bytes[at+i] = byte(p.rng.Uint32())
	}
}

// split names a range in one to four entries.
func (p *player) split(at, n int) (list []ibv.SGE) {
	for len(list) < 3 && n > 0 && p.rng.IntN(2) == 0 {
		part := p.rng.IntN(n + 1)
		list = append(list, p.local.sge(at, part))
		at, n = at+part, n-part
	}
	return append(list, p.local.sge(at, n))
}

// poll takes a completion, and says false after a failure.
func (p *player) poll() bool {
	var wc WC
	for end := time.Now().Add(testPatience); !p.cq.Poll(&wc); time.Sleep(20 * time.Microsecond) {
		if time.Now().After(end) || p.t.Failed() {
			p.t.Errorf("no completion; %s; peer: %s", p.describe(), p.peer.describe())
			return false
		}
	}
	if wc.Opcode == ibv.WC_RECV {
		return p.received(&wc)
	}
	if wc.Status != ibv.WC_SUCCESS {
		p.t.Errorf("request %d ends with %d; %s; peer: %s", wc.WRID, wc.Status, p.describe(), p.peer.describe())
		return false
	}
	p.under--
	slot := int(wc.WRID%(2*playerDepth)) * 40000
	want, ok := p.expect[wc.WRID]
	delete(p.expect, wc.WRID)
	if !ok || want != nil && !bytes.Equal(p.local.bytes[slot:slot+len(want)], want) {
		p.t.Errorf("request %d (%d, %d bytes) gives other bytes", wc.WRID, wc.Opcode, len(want))
		return false
	}
	return true
}

// received compares what came with what was sent, and posts the receive again.
func (p *player) received(wc *WC) bool {
	i := int(wc.WRID - 1000000)
	p.peer.mu.Lock()
	var want []byte
	ok := p.got < len(p.peer.sent)
	if ok {
		want = p.peer.sent[p.got]
	}
	p.peer.mu.Unlock()
	p.got++
	at := i * recvBytes
	if !ok || wc.Status != ibv.WC_SUCCESS || !bytes.Equal(p.ring.bytes[at:at+int(wc.ByteLen)], want) {
		p.t.Errorf("receive %d (status %d) isn't what was sent", p.got-1, wc.Status)
		return false
	}
	p.recv(wc.WRID, p.ring.sge(at, recvBytes))
	return true
}

// compare compares the peer's memory with the model.
func (p *player) compare() {
	if !bytes.Equal(p.peer.place.bytes, p.want) {
		p.t.Error("the peer's memory isn't what the model has")
	}
}
