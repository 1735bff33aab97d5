package fabric

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sink counts what arrives.
type sink struct {
	mu       sync.Mutex
	got      []byte // first bytes of the payloads
	writable atomic.Int32
}

func (s *sink) Receive(_ *Source, _, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, payload[0])
}
func (s *sink) Writable(Path) { s.writable.Add(1) }
func (s *sink) Down(Path)     {}

func (s *sink) seen() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.got...)
}

func pair(t *testing.T, w *Wire) (Path, *sink, *sink) {
	t.Helper()
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	na, nb := w.NewNetwork(a), w.NewNetwork(b)
	var sa, sb sink
	na.Attach(&sa)
	nb.Attach(&sb)
	t.Cleanup(na.Close)
	t.Cleanup(nb.Close)
	p, err := na.Open(a, b, 17)
	if err != nil {
		t.Fatal(err)
	}
	return p, &sa, &sb
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestWireKeepsOrder(t *testing.T) {
	p, _, to := pair(t, &Wire{})
	for i := range 200 {
		if err := p.Send(nil, [][]byte{{byte(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "packets don't arrive", func() bool { return len(to.seen()) == 200 })
	for i, b := range to.seen() {
		if b != byte(i) {
			t.Fatalf("packet %d is %d", i, b)
		}
	}
}

func TestWireTrouble(t *testing.T) {
	p, _, to := pair(t, &Wire{Trouble: Trouble{Lose: 0.2, Duplicate: 0.2, Reorder: 0.2, Seed: 1}, Depth: 4096})
	for i := range 1000 {
		if err := p.Send(nil, [][]byte{{byte(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	var last, duplicate, back, lost int
	until(t, "packets don't arrive", func() bool { return len(to.seen()) > 900 })
	for i, b := range to.seen() {
		switch step := int(int8(b - byte(last))); {
		case i == 0:
		case step == 0:
			duplicate++
		case step < 0:
			back++
		case step > 1:
			lost++
		}
		last = int(b)
	}
	if duplicate < 50 || back < 50 || lost < 50 {
		t.Errorf("%d duplicates, %d out of order, %d gaps", duplicate, back, lost)
	}
}

// slow keeps the receiver busy until it is let go.
type slow struct {
	sink
	gate chan struct{}
}

func (s *slow) Receive(from *Source, header, payload []byte) {
	<-s.gate
	s.sink.Receive(from, header, payload)
}

func TestWireIsFull(t *testing.T) {
	w := &Wire{Depth: 4}
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	na, nb := w.NewNetwork(a), w.NewNetwork(b)
	from, to := &sink{}, &slow{gate: make(chan struct{})}
	na.Attach(from)
	nb.Attach(to)
	defer na.Close()
	defer nb.Close()
	p, err := na.Open(a, b, 17)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = p.Send(nil, [][]byte{{1}})
	}
	if !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	close(to.gate)
	until(t, "the way stays full", func() bool { return from.writable.Load() > 0 })
	if err := p.Send(nil, [][]byte{{1}}); err != nil {
		t.Error(err)
	}
}

func TestWireGroups(t *testing.T) {
	w := &Wire{}
	_, _, to := pair(t, w)
	group := netip.MustParseAddr("239.1.2.3")
	third := w.NewNetwork(netip.MustParseAddr("192.0.2.3"))
	third.Attach(&sink{})
	defer third.Close()
	p, err := third.Open(netip.MustParseAddr("192.0.2.3"), group, 0xffffff)
	if err != nil {
		t.Fatal(err)
	}
	host := w.hosts[netip.MustParseAddr("192.0.2.2")]
	for i, member := range []bool{false, true, false} {
		if member {
			if err := host.Join(group); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Send(nil, [][]byte{{byte(i)}}); err != nil {
			t.Fatal(err)
		}
		if member {
			until(t, "nothing arrives", func() bool { return len(to.seen()) == 1 })
			host.Leave(group)
		}
	}
	if got := to.seen(); len(got) != 1 || got[0] != 1 {
		t.Errorf("arrived: %v", got)
	}
}
