package shm

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"

	"farside/internal/fd/fdtest"
	"farside/verbs/internal/fabric"
)

// ring is both ends of one.
func ring(t *testing.T) (*producer, *consumer) {
	t.Helper()
	p, file, err := newProducer()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	t.Cleanup(func() { unmapTwice(p.mapping) })
	c, err := newConsumer(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unmapTwice(c.mapping) })
	return p, c
}

// TestLaps sends packets of random sizes and routes, whose payload looks like words of packets, many times around a
// ring.
func TestLaps(t *testing.T) {
	p, c := ring(t)
	rng := rand.New(rand.NewPCG(7, 8))
	var head atomic.Uint64
	type packet struct {
		from, to        netip.Addr
		header, payload []byte
	}
	var under []packet
	words := make([]byte, maxPayload)
	for i := 0; i < len(words); i += 8 {
		binary.NativeEndian.PutUint64(words[i:], routed|8<<32|100)
	}
	check := func(from *fabric.Source, header, payload []byte) {
		want := under[0]
		under = under[1:]
		if from.Remote != want.from || from.Local != want.to || !bytes.Equal(header, want.header) ||
			!bytes.Equal(payload, want.payload) {
			t.Fatalf("%v, header %x, %d bytes arrive; want %v to %v, header %x, %d bytes", *from, header, len(payload),
				want.from, want.to, want.header, len(want.payload))
		}
	}
	for p.tail.Load() < 50*ringSize {
		w := packet{netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.IntN(2))}), netip.IPv6Loopback(),
			words[:rng.IntN(fabric.HeaderMax+1)], words[:rng.IntN(1+1<<rng.IntN(17))]}
		err := p.put(&head, &route{w.from.As16(), w.to.As16()}, w.header, [][]byte{w.payload})
		if err == nil {
			under = append(under, w)
		}
		if err == fabric.ErrFull || rng.IntN(30) == 0 {
			_, err = c.take(&head, check)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if some, err := c.take(&head, check); !some || err != nil || len(under) > 0 {
		t.Errorf("%d packets have not arrived: %v, %v", len(under), some, err)
	}
}

// TestHostileWords has words that make no sense, of the first packet and of one behind it.
func TestHostileWords(t *testing.T) {
	for name, about := range map[string]uint64{
		"no addresses ever": wordSize | 0<<32, "too short": routed | wordSize, "no length": routed,
		"a header beyond": routed | 40 | 8<<32, "a long header": routed | 400 | (fabric.HeaderMax+1)<<32,
		"a long payload": routed | (wordSize + routeSize + maxPayload + 1), "all bits": math.MaxUint64,
	} {
		p, c := ring(t)
		var head atomic.Uint64
		p.packet(0).Store(about)
		_, err := c.take(&head, func(*fabric.Source, []byte, []byte) { t.Errorf("%s: a packet arrives", name) })
		if err != fabric.ErrDown {
			t.Errorf("%s: %v, want ErrDown", name, err)
		}
	}
}

// TestBothWait has a sender find no room while another one finds some that comes then: the first is told of it.
func TestBothWait(t *testing.T) {
	fdtest.NoLeaks(t)
	p, c := ring(t)
	var err error
	var head atomic.Uint64 // of the consumer
	drop := func(*fabric.Source, []byte, []byte) {}
	packet := [][]byte{make([]byte, 4096)}
	for round := range 1000 {
		for err = nil; err == nil; {
			err = p.put(&head, &route{}, nil, packet)
		}
		if err != fabric.ErrFull {
			t.Fatal(err)
		}
		taken := make(chan error)
		go func() {
			_, err := c.take(&head, drop)
			taken <- err
		}()
		for err != nil {
			err = p.put(&head, &route{}, nil, packet)
		}
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
		if !p.writable(&head) {
			t.Fatalf("round %d: nobody tells the sender that waits", round)
		}
	}
}
