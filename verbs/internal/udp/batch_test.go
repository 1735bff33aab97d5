package udp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/fd/fdtest"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/netnstest"
	"farside/verbs/internal/packet"
)

// way is one from here to there, with its network.
func way(t *testing.T, writable func(fabric.Path)) *Path {
	t.Helper()
	n := NewNet(writable)
	t.Cleanup(n.Close)
	p, err := n.Path(here, there)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// numbered sends a packet with a PSN and a payload that goes with it.
func numbered(t *testing.T, p *Path, psn uint32, size int) error {
	t.Helper()
	head := header(packet.Header{Opcode: packet.UC | packet.SendOnly, PSN: psn})
	return p.Send(head, [][]byte{bytes.Repeat([]byte{byte(psn)}, size)})
}

// TestHold has packets wait for Flush, more of them than a batch holds, and come whole and in order, with right CRCs.
func TestHold(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: there.AsSlice(), Port: packet.Port})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := way(t, func(fabric.Path) {})
	rng := rand.New(rand.NewPCG(7, 8))
	buf := make([]byte, 64<<10)
	from := uint32(0)
	for _, most := range []int{0, 3, 1024, MTU} {
		for count := range []uint32{1, 2, 20} {
			sizes := make([]int, count)
			p.Hold()
			for i := range sizes {
				sizes[i] = rng.IntN(most + 1)
				if err := numbered(t, p, from+uint32(i), sizes[i]); err != nil {
					t.Fatal(err)
				}
			}
			p.Flush()
			for i, size := range sizes {
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				n, sender, err := conn.ReadFromUDPAddrPort(buf)
				if err != nil {
					t.Fatal(err)
				}
				data := buf[:n-packet.ICRCSize]
				e := packet.Envelope{Source: here, Destination: there, SourcePort: sender.Port(),
					DestinationPort: packet.Port, Fragment: packet.DontFragment}
				if packet.ICRC(&e, data[:packet.BTHSize], data[packet.BTHSize:]) != binary.LittleEndian.Uint32(buf[len(data):]) {
					t.Errorf("packet %d has a wrong CRC", i)
				}
				pad := int(data[1] >> 4 & 3)
				psn := from + uint32(i)
				if got := binary.BigEndian.Uint32(data[8:]) & packet.PSNMask; got != psn || pad != -size&3 ||
					!bytes.Equal(data[packet.BTHSize:len(data)-pad], bytes.Repeat([]byte{byte(psn)}, size)) {
					t.Errorf("packet %d with %d bytes came as %d with %d and %d of padding", psn, size, got,
						len(data)-packet.BTHSize-pad, pad)
				}
			}
			from += uint32(count)
		}
	}
	p.Hold()
	if err := numbered(t, p, 0, 1); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, _, err := conn.ReadFromUDPAddrPort(buf); err == nil {
		t.Error("a packet left before Flush")
	}
	p.Flush()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, _, err := conn.ReadFromUDPAddrPort(buf); err != nil {
		t.Error(err)
	}
}

// TestNoAllocation has packets be sent without garbage.
func TestNoAllocation(t *testing.T) {
	netnstest.Need(t)
	p := way(t, func(fabric.Path) {})
	head := header(packet.Header{Opcode: packet.UC | packet.SendOnly})
	payload := [][]byte{make([]byte, 1024)}
	n := testing.AllocsPerRun(100, func() {
		p.Hold()
		for range 10 {
			_ = p.Send(head, payload)
		}
		p.Flush()
	})
	if n > 0 {
		t.Errorf("10 packets make %v allocations", n)
	}
}

// TestFaultInBatch has a payload that can't be read leave the packets before and after it as they are.
func TestFaultInBatch(t *testing.T) {
	netnstest.Need(t)
	port, c := open(t)
	p := way(t, func(fabric.Path) {})
	gone, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(gone)
	p.Hold()
	for psn := range uint32(3) {
		if psn != 1 {
			if err := numbered(t, p, psn, 100); err != nil {
				t.Fatal(err)
			}
			continue
		}
		func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if recover() == nil {
					t.Error("no fault")
				}
			}()
			_ = p.Send(header(packet.Header{Opcode: packet.UC | packet.SendOnly, PSN: 1}), [][]byte{{1, 2, 3}, gone[:100]})
		}()
	}
	p.Flush()
	for _, psn := range []uint32{0, 2} {
		got := next(t, c)
		if binary.BigEndian.Uint32(got.Header[8:])&packet.PSNMask != psn || len(got.Payload) != 100 {
			t.Errorf("%x with %d bytes, not packet %d", got.Header, len(got.Payload), psn)
		}
	}
	port.Close()
}

// TestFull has a socket without room keep what it was given, and tell when there is some. Nobody's UDP socket is full
// for long on the loopback interface: that of this way is a unix socket, which is full when nobody reads.
func TestFull(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	file, err := fd.Own(pair[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var told atomic.Int32
	n := NewNet(func(fabric.Path) { told.Add(1) })
	defer n.Close()
	p := newPath(n, &sender{local: here, file: file, waiting: map[*Path]struct{}{}}, there)
	p.to = &name{}
	p.Hold()
	sent := uint32(0)
	for ; numbered(t, p, sent, MTU) == nil; sent++ {
		if sent == 100000 {
			t.Fatal("there is room for anything")
		}
	}
	p.Flush()
	if told.Load() != 0 {
		t.Error("somebody is told of room where there is none")
	}
	buf := make([]byte, 64<<10)
	psn := uint32(0)
	for end := time.Now().Add(time.Minute); psn < sent; {
		if time.Now().After(end) {
			t.Fatalf("%d packets of %d came", psn, sent)
		}
		if _, err := unix.Read(pair[1], buf); err == unix.EAGAIN {
			time.Sleep(time.Millisecond)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if got := binary.BigEndian.Uint32(buf[8:]) & packet.PSNMask; got != psn {
			t.Fatalf("packet %d came, not %d", got, psn)
		}
		psn++
	}
	for end := time.Now().Add(time.Minute); told.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody is told that there is room")
		}
	}
	if err := numbered(t, p, sent, MTU); err != nil {
		t.Errorf("there is no room: %v", err)
	}
}

// TestTrain has datagrams that the kernel has joined be handed out one by one.
func TestTrain(t *testing.T) {
	netnstest.Need(t)
	port, c := open(t)
	conn, err := net.Dial("udp4", netip.AddrPortFrom(there, packet.Port).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const size, count = 100, 5
	var train []byte
	for i := range count {
		b := header(packet.Header{Opcode: packet.UC | packet.SendOnly, PSN: uint32(i)})
		n := size
		if i == count-1 {
			n = size / 2
		}
		train = append(append(append(train, b...), bytes.Repeat([]byte{byte(i)}, n-len(b)-packet.ICRCSize)...), 0, 0, 0, 0)
	}
	if failed := raw.Control(func(f uintptr) {
		err = unix.SetsockoptInt(int(f), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size)
	}); failed != nil || err != nil {
		t.Skipf("the kernel has no UDP_SEGMENT: %v", err)
	}
	if _, err := conn.Write(train); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		got := next(t, c)
		want := size - packet.BTHSize - packet.ICRCSize
		if i == count-1 {
			want = size/2 - packet.BTHSize - packet.ICRCSize
		}
		if binary.BigEndian.Uint32(got.Header[8:])&packet.PSNMask != uint32(i) ||
			!bytes.Equal(got.Payload, bytes.Repeat([]byte{byte(i)}, want)) {
			t.Errorf("%x with %d bytes", got.Header, len(got.Payload))
		}
	}
	port.Close()
}

// TestPoll has threads that poll hand out what arrives, each packet once and in order, and the port's own goroutine
// once nobody polls any more.
func TestPoll(t *testing.T) {
	netnstest.Need(t)
	port, c := open(t)
	p := way(t, func(fabric.Path) {})
	const rounds, count = 20, 20 // which fit into any socket's buffer
	var polling sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		polling.Go(func() {
			for !done.Load() {
				port.Poll(3)
				runtime.Gosched()
			}
		})
	}
	psn := uint32(0)
	take := func() {
		t.Helper()
		for i := range uint32(count) {
			if err := numbered(t, p, psn+i, 10); err != nil {
				t.Fatal(err)
			}
		}
		for range count {
			if got := next(t, c); binary.BigEndian.Uint32(got.Header[8:])&packet.PSNMask != psn {
				t.Fatalf("%x, not packet %d", got.Header, psn)
			}
			psn++
		}
	}
	for range rounds {
		take()
	}
	done.Store(true)
	polling.Wait()
	for range rounds {
		take()
	}
	port.Close()
	if port.Poll(3) {
		t.Error("a port that is closed received")
	}
}

// TestPollOne has packets by IPv6 arrive at once while those by IPv4 are left to a thread that polls.
func TestPollOne(t *testing.T) {
	netnstest.Need(t)
	port, c := openPatient(t, time.Minute, time.Hour)
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	way, err := n.Path(netip.IPv6Loopback(), netip.IPv6Loopback())
	if err != nil {
		t.Fatal(err)
	}
	port.Poll(1)
	for range 2 { // the first may wake the port, which hears of the poll then
		if err := numbered(t, way, 0, 10); err != nil {
			t.Fatal(err)
		}
		next(t, c)
	}
	port.Close()
}
