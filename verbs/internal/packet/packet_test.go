package packet

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// random makes a header that has all fields which its opcode has.
func random(rng *rand.Rand, o Opcode) Header {
	p := partsOf[o]
	h := Header{Opcode: o, Solicited: rng.IntN(2) == 0, Migrated: rng.IntN(2) == 0, AckRequest: rng.IntN(2) == 0,
		FECN: rng.IntN(2) == 0, BECN: rng.IntN(2) == 0, Pad: uint8(rng.IntN(4)), PKey: uint16(rng.Uint32()),
		DestinationQP: rng.Uint32() & PSNMask, PSN: rng.Uint32() & PSNMask}
	if p&xrceth != 0 {
		h.SRQ = rng.Uint32() & PSNMask
	}
	if p&deth != 0 {
		h.QKey, h.SourceQP = rng.Uint32(), rng.Uint32()&PSNMask
	}
	if p&(reth|atomicETH) != 0 {
		h.Address, h.RKey = rng.Uint64(), rng.Uint32()
	}
	if p&reth != 0 {
		h.Length = rng.Uint32()
	}
	if p&atomicETH != 0 {
		h.SwapAdd, h.Compare = rng.Uint64(), rng.Uint64()
	}
	if p&aeth != 0 {
		h.Syndrome, h.MSN = uint8(rng.Uint32()), rng.Uint32()&PSNMask
	}
	if p&atomicAckETH != 0 {
		h.Original = rng.Uint64()
	}
	if p&immDt != 0 {
		h.Immediate = rng.Uint32()
	}
	if p&ieth != 0 {
		h.Invalidate = rng.Uint32()
	}
	return h
}

// Every opcode's header is read as it was written.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	known := 0
	for o := range partsOf {
		if partsOf[o] == 0 {
			continue
		}
		known++
		for range 20 {
			want := random(rng, Opcode(o))
			var b [HeaderMax]byte
			n := want.Put(b[:])
			if n != Opcode(o).Size() || n > HeaderMax {
				t.Fatalf("%v: %d bytes, not %d", Opcode(o), n, Opcode(o).Size())
			}
			var got Header
			m, err := got.Get(b[:n])
			if err != nil || m != n {
				t.Fatalf("%v: %d bytes, %v", Opcode(o), m, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%v: %s", Opcode(o), d)
			}
			for short := range n {
				if _, err := got.Get(b[:short]); !errors.Is(err, ErrMalformed) {
					t.Fatalf("%v of %d bytes: %v", Opcode(o), short, err)
				}
			}
		}
	}
	if known != 23+12+2+23 {
		t.Errorf("%d opcodes", known)
	}
}

func TestRefusals(t *testing.T) {
	good := make([]byte, HeaderMax)
	h := Header{Opcode: RC | SendOnly}
	h.Put(good)
	for name, change := range map[string]func([]byte){
		"unknown opcode": func(b []byte) { b[0] = 0x15 },
		"RD":             func(b []byte) { b[0] = 2<<5 | 4 },
		"read by UC":     func(b []byte) { b[0] = byte(UC | ReadRequest) },
		"version":        func(b []byte) { b[1] = 1 },
	} {
		b := bytes.Clone(good)
		change(b)
		if _, err := new(Header).Get(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSplit(t *testing.T) {
	build := func(h Header, data int) []byte {
		var b [HeaderMax]byte
		n := h.Put(b[:])
		return append(b[:n:n], make([]byte, data+ICRCSize)...)
	}
	header, data, err := Split(build(Header{Opcode: RC | WriteOnly, Pad: 3}, 8))
	if err != nil || len(header) != 28 || len(data) != 5 {
		t.Errorf("%d, %d, %v", len(header), len(data), err)
	}
	for name, b := range map[string][]byte{
		"padding alone":      build(Header{Opcode: RC | SendOnly, Pad: 3}, 2),
		"odd length":         build(Header{Opcode: RC | SendOnly}, 3),
		"payload of an ACK":  build(Header{Opcode: RC | Acknowledge}, 4),
		"no room for a CRC":  build(Header{Opcode: RC | SendOnly}, 0)[:BTHSize+3],
		"no header":          nil,
		"half of a datagram": build(Header{Opcode: RC | FetchAdd}, 0)[:20],
	} {
		if _, _, err := Split(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two packets that adapters sent: a UC SEND, and a congestion notification of a ConnectX-4 Lx, whose header is not this
// codec's.
func TestKnownCRC(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := netip.MustParseAddr
	for _, c := range []struct {
		name     string
		envelope Envelope
		bytes    []byte
		want     uint32 // as on the wire
	}{
		{"UC SEND Only", Envelope{Source: a("192.168.0.7"), Destination: a("192.168.0.7"), SourcePort: 49152,
			DestinationPort: Port, ID: 1144, Fragment: DontFragment},
			unhex("24 60 ffff 000000d3 00cf1710 4630818be28935d90e9a95505401be885e500000"), 0x78f353f3},
		{"CNP", Envelope{Source: a("10.0.17.1"), Destination: a("10.0.18.1"), DestinationPort: Port, ID: 0x718c,
			Fragment: DontFragment}, unhex("8100 ffff 4000 0118 0000 0000 " + strings.Repeat("00", 16)), 0x82fd002a},
	} {
		got := ICRC(&c.envelope, c.bytes[:BTHSize], c.bytes[BTHSize:])
		if wire := binary.BigEndian.Uint32(binary.LittleEndian.AppendUint32(nil, got)); wire != c.want {
			t.Errorf("%s: %#x, not %#x", c.name, wire, c.want)
		}
	}
	var h Header
	n, err := h.Get(unhex("24 60 ffff 000000d3 00cf1710"))
	if err != nil || n != BTHSize {
		t.Fatal(n, err)
	}
	want := Header{Opcode: UC | SendOnly, Migrated: true, Pad: 2, PKey: DefaultPKey, DestinationQP: 211, PSN: 13571856}
	if d := cmp.Diff(want, h); d != "" {
		t.Error(d)
	}
}

const python = "/usr/bin/python3"

// roce is a program for scapy: a line in is an IPv4 packet without CRC, a line out the CRC that scapy gives it and what
// it reads of the base transport header.
const roce = `
import sys
from scapy.layers.inet import IP, UDP
from scapy.contrib.roce import BTH
for line in sys.stdin:
    p = IP(bytes.fromhex(line) + b'\0\0\0\0')
    b = p[BTH]
    fields = (b.opcode, b.solicited, b.migreq, b.padcount, b.version, b.pkey, b.fecn, b.becn, b.dqpn, b.ackreq, b.psn)
    del p[BTH].icrc
    print(bytes(p)[-4:].hex(), *fields)
`

// scapy has the same invariant CRC, and reads the same base transport header.
func TestScapy(t *testing.T) {
	if err := exec.Command(python, "-c", "import scapy.contrib.roce").Run(); err != nil {
		t.Skip("python3-scapy is missing")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	e := Envelope{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.77"),
		SourcePort: 0xc123, DestinationPort: Port, Fragment: DontFragment}
	var in, want strings.Builder
	for o := range partsOf {
		if partsOf[o] == 0 || Opcode(o).Transport() == XRC {
			continue // scapy has no XRC
		}
		h := random(rng, Opcode(o))
		h.Pad = 0
		var b [HeaderMax]byte
		n := h.Put(b[:])
		var data []byte
		if Opcode(o).HasPayload() {
			for range 4 * rng.IntN(20) {
				data = append(data, byte(rng.Uint32()))
			}
		}
		fmt.Fprintf(&in, "%x\n", datagram(&e, b[:n], data))
		flag := map[bool]int{true: 1}
		fmt.Fprintf(&want, "%x %d %d %d %d 0 %d %d %d %d %d %d\n",
			binary.LittleEndian.AppendUint32(nil, ICRC(&e, b[:n], data)), o, flag[h.Solicited], flag[h.Migrated], h.Pad,
			h.PKey, flag[h.FECN], flag[h.BECN], h.DestinationQP, flag[h.AckRequest], h.PSN)
	}
	command := exec.Command(python, "-c", roce)
	command.Stdin = strings.NewReader(in.String())
	got, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Error(d)
	}
}

// datagram is an IPv4 packet around a packet without CRC, whose length includes it.
func datagram(e *Envelope, header, data []byte) []byte {
	length := udpHeader + len(header) + len(data) + ICRCSize
	b := []byte{0x45, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(ipv4Header+length))
	b = binary.BigEndian.AppendUint16(b, e.ID)
	b = binary.BigEndian.AppendUint16(b, e.Fragment)
	b = append(b, 64, udpNumber, 0, 0)
	b = append(append(b, e.Source.AsSlice()...), e.Destination.AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, e.SourcePort)
	b = binary.BigEndian.AppendUint16(b, e.DestinationPort)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0, 0)
	return append(append(b, header...), data...)
}

// The CRC of IPv6 is that of the bytes that annex A17 lists.
func TestCRCOfIPv6(t *testing.T) {
	e := Envelope{Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2"),
		SourcePort: 0xc000, DestinationPort: Port}
	h := Header{Opcode: RC | SendOnly, PKey: DefaultPKey, DestinationQP: 0x11, PSN: 5, FECN: true}
	var b [HeaderMax]byte
	n := h.Put(b[:])
	got := ICRC(&e, b[:n], []byte("data"))
	h.FECN = false
	h.Put(b[:])
	if other := ICRC(&e, b[:n], []byte("data")); other != got {
		t.Error("a bit that routers change counts")
	}
	if other := ICRC(&e, b[:n], []byte("da"), []byte("ta")); other != got {
		t.Error("the parts of the payload count")
	}
	e.Destination = netip.MustParseAddr("2001:db8::3")
	if other := ICRC(&e, b[:n], []byte("data")); other == got {
		t.Error("the address doesn't count")
	}
}

func TestNoAllocation(t *testing.T) {
	e := Envelope{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.77")}
	h := Header{Opcode: RC | WriteOnlyImm}
	var b [HeaderMax]byte
	data := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		n := h.Put(b[:])
		_ = ICRC(&e, b[:n], data)
		_, _ = h.Get(b[:n])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOpcodeString(t *testing.T) {
	for o, want := range map[Opcode]string{RC | SendOnly: "RC SEND Only", UD | SendOnlyImm: "UD SEND Only Imm",
		XRC | SendOnlyInv: "XRC SEND Only Inv", UC | ReadRequest: "0x2c"} {
		if o.String() != want {
			t.Errorf("%q, not %q", o.String(), want)
		}
	}
}

func BenchmarkICRC4096(b *testing.B) {
	e := Envelope{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.77")}
	header, data := make([]byte, BTHSize), make([]byte, 4096)
	b.SetBytes(4096)
	for b.Loop() {
		_ = ICRC(&e, header, data)
	}
}

func FuzzSplit(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, o := range []Opcode{RC | SendOnly, RC | WriteOnlyImm, RC | FetchAdd, UD | SendOnlyImm, XRC | SendOnlyInv,
		RC | AtomicAcknowledge} {
		h := random(rng, o)
		h.Pad = 0
		var b [HeaderMax]byte
		f.Add(append(b[:h.Put(b[:])], 1, 2, 3, 4))
	}
	f.Fuzz(func(t *testing.T, datagram []byte) {
		header, data, err := Split(datagram)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		var h, again Header
		n, err := h.Get(header)
		if err != nil || n != len(header) || n+len(data)+int(h.Pad)+ICRCSize != len(datagram) {
			t.Fatalf("%d of %d bytes, %v", n, len(header), err)
		}
		var b [HeaderMax]byte
		if m := h.Put(b[:]); m != n {
			t.Fatalf("%d bytes become %d", n, m)
		}
		if _, err := again.Get(b[:n]); err != nil || again != h {
			t.Fatalf("%+v becomes %+v, %v", h, again, err)
		}
	})
}
