package engine

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

var newGroup = netip.MustParseAddr("239.1.2.3")

func TestUnreliableConnection(t *testing.T) {
	a, b := pair(t, nil, config{kind: ibv.QPT_UC})
	from, to := a.memory(1<<17), b.memory(1<<17)
	from.fill(2)
	for i, n := range sizes {
		b.recv(uint64(i), to.sge(0, n))
		a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND_WITH_IMM, ImmData: 5, SGEs: from.list(1, n)})
		a.want(1, ibv.WC_SUCCESS)
		if wc := b.want(uint64(i), ibv.WC_SUCCESS); wc.ByteLen != uint32(n) || wc.ImmData != 5 {
			t.Errorf("%+v", wc)
		}
		if !bytes.Equal(to.bytes[:n], from.bytes[1:1+n]) {
			t.Errorf("%d bytes: other ones came", n)
		}
		b.recv(uint64(i))
		wr := write(from, to, n)
		wr.Opcode = ibv.WR_RDMA_WRITE_WITH_IMM
		a.send(wr)
		a.want(1, ibv.WC_SUCCESS)
		b.want(uint64(i), ibv.WC_SUCCESS)
		if !bytes.Equal(to.bytes[:n], from.bytes[:n]) {
			t.Errorf("write of %d bytes: other ones came", n)
		}
	}
	if err := a.qp.PostSend(&SendWR{Opcode: ibv.WR_RDMA_READ}); err != unix.EINVAL {
		t.Errorf("read: %v", err)
	}
}

// A message that loses a packet is lost, and its receive is the next message's. Nothing else suffers.
func TestUnreliableLoss(t *testing.T) {
	n := 0
	w := &fabric.Wire{Filter: func(p *fabric.Packet) bool {
		n++
		return n != 2 // the middle of the first message
	}}
	a, b := pair(t, w, config{kind: ibv.QPT_UC})
	from, to := a.memory(1<<14), b.memory(1<<14)
	from.fill(2)
	b.recv(7, to.sge(0, 1<<14))
	for id := range uint64(2) {
		a.send(SendWR{ID: id, Opcode: ibv.WR_SEND, SGEs: from.list(int(id)*1000, 3000+int(id))})
		a.want(id, ibv.WC_SUCCESS)
	}
	if wc := b.want(7, ibv.WC_SUCCESS); wc.ByteLen != 3001 || !bytes.Equal(to.bytes[:3001], from.bytes[1000:4001]) {
		t.Errorf("%+v", wc)
	}
	// What the peer may not do is lost, too.
	wr := write(from, to, 8)
	wr.RKey ^= 1
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	b.none()
	if a.qp.State() != ibv.QPS_RTS || b.qp.State() != ibv.QPS_RTS {
		t.Error("a loss ends the connection")
	}
}

// An error of a send stops the send queue alone.
func TestSendQueueError(t *testing.T) {
	a, b := pair(t, nil, config{kind: ibv.QPT_UC})
	from, to := a.memory(64), b.memory(64)
	a.recv(9, from.sge(0, 64))
	wr := write(from, to, 8)
	wr.SGEs[0].LKey ^= 1
	a.send(wr)
	a.want(1, ibv.WC_LOC_PROT_ERR)
	a.state(ibv.QPS_SQE)
	a.send(SendWR{ID: 2, Opcode: ibv.WR_RDMA_WRITE})
	a.want(2, ibv.WC_WR_FLUSH_ERR)
	b.send(SendWR{ID: 3, Opcode: ibv.WR_SEND, SGEs: to.list(0, 8)})
	a.want(9, ibv.WC_SUCCESS)
	check(t, a.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_RTS}, ibv.QP_STATE))
	a.send(write(from, to, 8))
	a.want(1, ibv.WC_SUCCESS)
}

// datagram is a send to a peer.
func (s *side) datagram(peer *side, from *memory, n int) SendWR {
	return SendWR{ID: 1, Opcode: ibv.WR_SEND, AH: s.ah(peer), RemoteQPN: peer.qp.Number(), RemoteQKey: 0x1234,
		SGEs: from.list(0, n)}
}

func TestDatagrams(t *testing.T) {
	a, b := pair(t, nil, config{kind: ibv.QPT_UD})
	from, to := a.memory(8192), b.memory(8192)
	from.fill(6)
	for i, n := range []int{0, 1, 1000, 4096} {
		b.recv(uint64(i), to.sge(0, 50), to.sge(50, 8000))
		wr := a.datagram(b, from, n)
		wr.Opcode, wr.ImmData = ibv.WR_SEND_WITH_IMM, 77
		a.send(wr)
		a.want(1, ibv.WC_SUCCESS)
		wc := b.want(uint64(i), ibv.WC_SUCCESS)
		if wc.ByteLen != uint32(40+n) || wc.SrcQP != a.qp.Number() || wc.WCFlags != ibv.WC_GRH|ibv.WC_WITH_IMM ||
			wc.ImmData != 77 || wc.SL != 8|2 {
			t.Errorf("%+v", wc)
		}
		if !bytes.Equal(to.bytes[40:40+n], from.bytes[:n]) {
			t.Errorf("%d bytes: other ones came", n)
		}
	}
	// An IPv4 header for 1000 bytes: its checksum was computed by hand.
	wr := a.datagram(b, from, 1000)
	b.recv(9, to.sge(0, 8192))
	a.send(wr)
	b.want(9, ibv.WC_SUCCESS)
	want := "4500041c000040004011b2cdc0000201c0000202"
	if got := hex.EncodeToString(to.bytes[20:40]); got != want {
		t.Errorf("header %s, not %s", got, want)
	}
	a.want(1, ibv.WC_SUCCESS)
	// Too long for a packet of the port.
	a.send(a.datagram(b, from, 4097))
	a.want(1, ibv.WC_LOC_LEN_ERR)
	a.state(ibv.QPS_SQE)
}

// What nobody can take is lost: another key, no receive. A key with the highest bit set stands for the sender's own.
func TestDatagramKeys(t *testing.T) {
	a, b := pair(t, nil, config{kind: ibv.QPT_UD})
	from, to := a.memory(64), b.memory(256)
	wr := a.datagram(b, from, 8)
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	b.none()
	b.recv(1, to.sge(0, 64))
	b.recv(2, to.sge(0, 64))
	wr.RemoteQKey = 0x4321
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	b.none()
	wr.RemoteQKey = 0x80004321
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	b.want(1, ibv.WC_SUCCESS)
	// A receive that is too short for the header.
	wr.SGEs = from.list(0, 32)
	a.send(wr)
	b.want(2, ibv.WC_LOC_LEN_ERR)
	b.state(ibv.QPS_ERR)
}

func TestMulticast(t *testing.T) {
	a, b := pair(t, nil, config{kind: ibv.QPT_UD})
	from, to := a.memory(64), b.memory(256)
	group := newGroup.As16()
	check(t, b.qp.AttachMcast(group))
	check(t, b.qp.AttachMcast(group))
	wr := a.datagram(b, from, 8)
	attr := attributes(b, config{}).AHAttr
	attr.GRH.DGID = group
	ah, err := a.pd.CreateAH(&attr)
	check(t, err)
	wr.AH, wr.RemoteQPN = ah, 0xffffff
	b.recv(1, to.sge(0, 64))
	b.recv(2, to.sge(0, 64))
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	b.want(1, ibv.WC_SUCCESS)
	b.none()
	check(t, b.qp.DetachMcast(group))
	a.send(wr)
	b.none()
	if err := b.qp.DetachMcast(group); err != unix.EINVAL {
		t.Errorf("detached twice: %v", err)
	}
	if err := b.qp.AttachMcast(b.address.As16()); err != unix.EINVAL {
		t.Errorf("attached to a host: %v", err)
	}
}

// Packets that no peer sends change nothing.
func TestStrayPackets(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	path, err := b.device.network.Open(b.address, a.address, a.qp.Number())
	check(t, err)
	for _, h := range []packet.Header{
		{Opcode: packet.UC | packet.SendOnly}, {Opcode: packet.RC | packet.Acknowledge, PSN: 5},
		{Opcode: packet.RC | packet.ReadResponseOnly, PSN: a.psn()}, {Opcode: packet.RC | packet.AtomicAcknowledge},
		{Opcode: packet.UD | packet.SendOnly}, {Opcode: packet.RC | packet.SendOnly, PKey: 5},
	} {
		var b [packet.HeaderMax]byte
		h.DestinationQP = a.qp.Number()
		if h.PKey == 0 {
			h.PKey = packet.DefaultPKey
		}
		check(t, path.Send(b[:h.Put(b[:])], nil))
	}
	check(t, path.Send([]byte{1, 2, 3}, nil))
	a.send(write(from, to, 8))
	a.want(1, ibv.WC_SUCCESS)
	a.none()
}
