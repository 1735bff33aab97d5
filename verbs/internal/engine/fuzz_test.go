package engine

import (
	"encoding/binary"
	"testing"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// FuzzReceive lets a peer send what it likes to queue pairs with work of all kinds under way: it may end them, and
// changes no byte that it may not write. Each packet is eight bytes of the input: opcode, flags, two bytes that say how
// far the PSN is from the one expected, two of an offset, and two of a length.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x04, 0x80, 0, 0, 0, 0, 0, 64})
	f.Add([]byte{0x06, 0, 0, 0, 0, 0, 4, 0, 0x08, 0x80, 0, 1, 0, 0, 0, 9})
	f.Add([]byte{0x0c, 0, 0, 0, 0, 8, 1, 0, 0x14, 0, 0, 1, 0, 16, 0, 8, 0x11, 0x1f, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0x10, 0, 0, 1, 0, 0, 0, 64, 0x12, 0, 0, 2, 0, 0, 0, 0, 0x11, 0x60, 0, 3, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 400 {
			t.Skip("longer than is useful")
		}
		for _, kind := range []ibv.QPType{ibv.QPT_RC, ibv.QPT_UC, ibv.QPT_UD} {
			play(t, kind, input)
		}
	})
}

func play(t *testing.T, kind ibv.QPType, input []byte) {
	a, b := onLoop(t, kind)
	m := a.memory(8192) // the lower half is what the peer may reach
	open, err := a.pd.RegMR(MRInit{Address: m.address(0), Length: 4096, IOVA: m.address(0), Access: allAccess})
	check(t, err)
	for id := range uint64(3) {
		a.recv(id, ibv.SGE{Addr: m.address(1024), Length: 512, LKey: open.Key})
	}
	wr := SendWR{SGEs: []ibv.SGE{{Addr: m.address(2048), Length: 8, LKey: open.Key}}, RemoteAddress: m.address(0),
		RKey: open.Key, AH: a.ah(b), RemoteQPN: b.qp.Number(), RemoteQKey: 0x1234}
	for _, o := range []ibv.WROpcode{ibv.WR_SEND, ibv.WR_RDMA_READ, ibv.WR_ATOMIC_FETCH_AND_ADD, ibv.WR_RDMA_WRITE} {
		if wr.Opcode = o; Sends(kind, o) {
			check(t, a.qp.PostSend(&wr))
		}
	}
	source := fabric.Source{Remote: loopAddress, Local: loopAddress}
	payload := make([]byte, 65536)
	for i := range payload {
		payload[i] = 0xff
	}
	for ; len(input) >= 8; input = input[8:] {
		near := uint32(int32(int16(binary.BigEndian.Uint16(input[2:]))))
		psn := a.qp.res.psn
		if o := packet.Opcode(input[0]).Operation(); o >= packet.ReadResponseFirst && o <= packet.AtomicAcknowledge {
			psn = a.qp.req.acked
		}
		n := binary.BigEndian.Uint16(input[6:])
		h := packet.Header{Opcode: packet.Opcode(input[0])&0x1f | transportOf(kind), Solicited: input[1]&1 != 0,
			AckRequest: input[1]&0x80 != 0, PKey: packet.DefaultPKey, DestinationQP: a.qp.Number(),
			PSN: (psn + near) & packet.PSNMask, QKey: 0x1234, Address: m.address(0) + uint64(binary.BigEndian.Uint16(input[4:])),
			RKey: open.Key, Length: uint32(n), Syndrome: input[1], Invalidate: open.Key, Compare: uint64(n)}
		var header [packet.HeaderMax]byte
		a.device.Receive(&source, header[:h.Put(header[:])], payload[:n])
	}
	for i, c := range m.bytes[4096:] {
		if c != 0 {
			t.Fatalf("kind %d: byte %d of what the peer may not write is %d", kind, i, c)
		}
	}
	check(t, a.qp.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE))
	q := a.qp
	if q.sq.done != q.sq.posted || q.rq.done != q.rq.posted || q.res.have || len(q.held) != 0 {
		t.Fatalf("kind %d: %s", kind, a.describe())
	}
	check(t, open.Dereg()) // nobody is inside
	check(t, q.Destroy())
	check(t, b.qp.Destroy())
}
