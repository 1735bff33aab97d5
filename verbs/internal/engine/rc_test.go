package engine

import (
	"bytes"
	"testing"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// sizes are those of messages around the limits of packets.
var sizes = []int{0, 1, 7, 8, 1023, 1024, 1025, 2048, 5000, 70000}

func TestSendReceive(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(1<<17), b.memory(1<<17)
	from.fill(3)
	for i, n := range sizes {
		clear(to.bytes)
		b.recv(uint64(100+i), to.sge(10, n/2), to.sge(10+n/2, n-n/2))
		a.send(SendWR{ID: uint64(i), Opcode: ibv.WR_SEND_WITH_IMM, ImmData: 0x11223344,
			SGEs: []ibv.SGE{from.sge(5, n/3), from.sge(5+n/3, n-n/3)}})
		wc := a.want(uint64(i), ibv.WC_SUCCESS)
		if wc.Opcode != ibv.WC_SEND || wc.QPNum != a.qp.Number() {
			t.Errorf("%d bytes: %+v", n, wc)
		}
		wc = b.want(uint64(100+i), ibv.WC_SUCCESS)
		if wc.Opcode != ibv.WC_RECV || wc.ByteLen != uint32(n) || wc.WCFlags != ibv.WC_WITH_IMM ||
			wc.ImmData != 0x11223344 || wc.QPNum != b.qp.Number() {
			t.Errorf("%d bytes: %+v", n, wc)
		}
		if !bytes.Equal(to.bytes[10:10+n], from.bytes[5:5+n]) || to.bytes[9] != 0 || to.bytes[10+n] != 0 {
			t.Errorf("%d bytes: other ones came", n)
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(1<<17), b.memory(1<<17)
	from.fill(9)
	for i, n := range sizes {
		clear(to.bytes)
		a.send(SendWR{ID: uint64(i), Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(1, n), RemoteAddress: to.address(77),
			RKey: to.mr.Key})
		if wc := a.want(uint64(i), ibv.WC_SUCCESS); wc.Opcode != ibv.WC_RDMA_WRITE {
			t.Errorf("%+v", wc)
		}
		if !bytes.Equal(to.bytes[77:77+n], from.bytes[1:1+n]) || to.bytes[76] != 0 || to.bytes[77+n] != 0 {
			t.Errorf("write of %d bytes: other ones came", n)
		}
		clear(from.bytes)
		a.send(SendWR{ID: uint64(i), Opcode: ibv.WR_RDMA_READ,
			SGEs: []ibv.SGE{from.sge(3, n/2), from.sge(3+n/2, n-n/2)}, RemoteAddress: to.address(77), RKey: to.mr.Key})
		if wc := a.want(uint64(i), ibv.WC_SUCCESS); wc.Opcode != ibv.WC_RDMA_READ || wc.ByteLen != uint32(n) {
			t.Errorf("%+v", wc)
		}
		if !bytes.Equal(to.bytes[77:77+n], from.bytes[3:3+n]) || from.bytes[2] != 0 || from.bytes[3+n] != 0 {
			t.Errorf("read of %d bytes: other ones came", n)
		}
		from.fill(9)
	}
	b.none()
}

func TestWriteWithImmediate(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(1<<17), b.memory(1<<17)
	from.fill(4)
	for i, n := range sizes {
		b.recv(uint64(i))
		a.send(SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE_WITH_IMM, ImmData: 99, SGEs: from.list(0, n),
			RemoteAddress: to.address(0), RKey: to.mr.Key})
		a.want(1, ibv.WC_SUCCESS)
		wc := b.want(uint64(i), ibv.WC_SUCCESS)
		if wc.Opcode != ibv.WC_RECV_RDMA_WITH_IMM || wc.ByteLen != uint32(n) || wc.ImmData != 99 {
			t.Errorf("%+v", wc)
		}
		if !bytes.Equal(to.bytes[:n], from.bytes[:n]) {
			t.Errorf("write of %d bytes: other ones came", n)
		}
	}
}

func TestAtomics(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	to.bytes[8] = 5
	add := SendWR{ID: 1, Opcode: ibv.WR_ATOMIC_FETCH_AND_ADD, CompareAdd: 37, SGEs: from.list(0, 8),
		RemoteAddress: to.address(8), RKey: to.mr.Key}
	a.send(add)
	if wc := a.want(1, ibv.WC_SUCCESS); wc.Opcode != ibv.WC_FETCH_ADD {
		t.Errorf("%+v", wc)
	}
	if from.word(0) != 5 || to.word(8) != 42 {
		t.Errorf("added: %d, %d", from.word(0), to.word(8))
	}
	swap := add
	swap.Opcode, swap.CompareAdd, swap.Swap = ibv.WR_ATOMIC_CMP_AND_SWP, 42, 7
	for i, want := range []uint64{42, 7} {
		a.send(swap)
		if wc := a.want(1, ibv.WC_SUCCESS); wc.Opcode != ibv.WC_COMP_SWAP {
			t.Errorf("%+v", wc)
		}
		if from.word(0) != want || to.word(8) != 7 {
			t.Errorf("swap %d: %d, %d", i, from.word(0), to.word(8))
		}
	}
}

func TestInline(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(256), b.memory(256)
	from.fill(1)
	b.recv(1, to.sge(0, 256))
	s := from.sge(0, 100)
	s.LKey = 0 // isn't looked at
	a.send(SendWR{ID: 2, Opcode: ibv.WR_SEND, Flags: ibv.SEND_INLINE, SGEs: []ibv.SGE{s}})
	want := bytes.Clone(from.bytes[:100])
	clear(from.bytes)
	b.want(1, ibv.WC_SUCCESS)
	if !bytes.Equal(to.bytes[:100], want) {
		t.Error("other bytes came")
	}
}

// A reliable way takes packets of its own size, whatever the path MTU is.
func TestLargePackets(t *testing.T) {
	packets := 0
	w := &fabric.Wire{MTU: 65536, Reliable: true}
	w.Filter = func(*fabric.Packet) bool { packets++; return true }
	a, b := pair(t, w, config{})
	from, to := a.memory(1<<20), b.memory(1<<20)
	from.fill(8)
	a.send(SendWR{ID: 1, Opcode: ibv.WR_RDMA_WRITE, SGEs: from.list(0, 1<<20), RemoteAddress: to.address(0),
		RKey: to.mr.Key})
	a.want(1, ibv.WC_SUCCESS)
	if !bytes.Equal(from.bytes, to.bytes) || packets > 20 {
		t.Errorf("%d packets", packets)
	}
}

// Where packets get lost, a long read is several requests, each for what a socket's buffer holds, one at a time.
func TestLongRead(t *testing.T) {
	requests := 0
	w := &fabric.Wire{Filter: func(p *fabric.Packet) bool {
		if packet.Opcode(p.Header[0]) == packet.RC|packet.ReadRequest {
			requests++
		}
		return true
	}}
	a, b := pair(t, w, config{attr: func(a *ibv.QPAttr) { a.MaxRDAtomic, a.MaxDestRDAtomic, a.Timeout = 1, 1, 18 }})
	from, to := a.memory(1<<20), b.memory(1<<20)
	to.fill(7)
	for id := range uint64(2) {
		clear(from.bytes)
		wr := write(from, to, 1<<20)
		wr.ID, wr.Opcode = id, ibv.WR_RDMA_READ
		a.send(wr)
		a.want(id, ibv.WC_SUCCESS)
		if !bytes.Equal(from.bytes, to.bytes) {
			t.Error("other bytes came")
		}
	}
	if want := 2 * (1 << 20) / lossyBytes; requests != want {
		t.Errorf("%d requests, not %d", requests, want)
	}
}
