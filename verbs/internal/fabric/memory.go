package fabric

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
)

// Trouble is what a Wire does to packets, as chances from 0 to 1 for each.
type Trouble struct {
	Lose, Duplicate, Reorder float64
	Seed                     uint64 // of the chances
}

// Packet is a packet on its way.
type Packet struct {
	Source
	Header, Payload []byte
}

// Wire joins networks in memory, for tests: it loses, duplicates and reorders packets on request.
type Wire struct {
	// MTU is that of all ways, bytes; 0 means 4096. Depth is how many packets a network holds before ErrFull; 0 means
	// 1024. Reliable is what Path.Reliable says. Trouble happens to packets, Filter sees each and drops it if it says
	// false. They are set before the first use.
	MTU, Depth int
	Reliable   bool
	Trouble    Trouble
	Filter     func(*Packet) bool

	mu      sync.Mutex
	rng     *rand.Rand
	hosts   map[netip.Addr]*Memory
	groups  map[netip.Addr][]*Memory
	nextQPN uint32
}

// Memory is a network on a Wire: a host with one address.
type Memory struct {
	wire    *Wire
	address netip.Addr
	ready   chan struct{} // holds a token while there may be packets
	done    chan struct{}
	idle    sync.WaitGroup

	receiver Receiver
	turn     sync.Mutex // of the thread that delivers

	// Under wire.mu.
	queue   []Packet
	held    []Packet // reordered: delivered after the next one
	closed  bool
	starved []*memoryPath // ways to this host that have given ErrFull
}

// memoryPath is a way to a host or group on a Wire.
type memoryPath struct {
	from  *Memory
	to    netip.Addr
	group bool
}

// NewNetwork adds a host with an address of its own.
func (w *Wire) NewNetwork(address netip.Addr) *Memory {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts == nil {
		w.hosts, w.groups = map[netip.Addr]*Memory{}, map[netip.Addr][]*Memory{}
		w.rng = rand.New(rand.NewPCG(w.Trouble.Seed, 1))
		w.nextQPN = 0x11
	}
	m := &Memory{wire: w, address: address, ready: make(chan struct{}, 1), done: make(chan struct{})}
	w.hosts[address] = m
	return m
}

// Attach implements Network. It starts the goroutine that delivers when nobody polls.
func (m *Memory) Attach(r Receiver) {
	m.receiver = r
	m.idle.Go(func() {
		for {
			select {
			case <-m.ready:
				m.turn.Lock()
				m.deliver()
				m.turn.Unlock()
			case <-m.done:
				return
			}
		}
	})
}

// Addresses implements Network.
func (m *Memory) Addresses() []netip.Addr { return []netip.Addr{m.address} }

// QPN implements Network.
func (m *Memory) QPN() (uint32, error) {
	m.wire.mu.Lock()
	defer m.wire.mu.Unlock()
	if m.wire.nextQPN == 1<<24 {
		return 0, ErrNoQPN
	}
	m.wire.nextQPN++
	return m.wire.nextQPN - 1, nil
}

// FreeQPN implements Network. A test doesn't use up 2^24 numbers.
func (m *Memory) FreeQPN(uint32) {}

// Open implements Network.
func (m *Memory) Open(local, remote netip.Addr, _ uint32) (Path, error) {
	if local != m.address {
		return nil, fmt.Errorf("%w: from %v, which is %v", ErrUnreachable, local, m.address)
	}
	return &memoryPath{from: m, to: remote, group: remote.IsMulticast()}, nil
}

// Join implements Network.
func (m *Memory) Join(group netip.Addr) error {
	m.wire.mu.Lock()
	defer m.wire.mu.Unlock()
	m.wire.groups[group] = append(m.wire.groups[group], m)
	return nil
}

// Leave implements Network.
func (m *Memory) Leave(group netip.Addr) {
	m.wire.mu.Lock()
	defer m.wire.mu.Unlock()
	if i := slices.Index(m.wire.groups[group], m); i >= 0 {
		m.wire.groups[group] = slices.Delete(m.wire.groups[group], i, i+1)
	}
}

// Poll implements Network.
func (m *Memory) Poll() bool {
	if !m.turn.TryLock() {
		return false
	}
	defer m.turn.Unlock()
	return m.deliver()
}

// deliver hands over what there is. Under m.turn.
func (m *Memory) deliver() bool {
	m.wire.mu.Lock()
	queue, starved := m.queue, m.starved
	m.queue, m.starved = nil, nil
	if len(queue) == 0 {
		queue, m.held = m.held, nil // nothing follows that they could come after
	}
	m.wire.mu.Unlock()
	for i := range queue {
		m.receiver.Receive(&queue[i].Source, queue[i].Header, queue[i].Payload)
	}
	for _, p := range starved {
		if r := p.from.receiver; r != nil {
			r.Writable(p)
		}
	}
	return len(queue) > 0
}

// Close implements Network. Other hosts learn of it.
func (m *Memory) Close() {
	m.wire.mu.Lock()
	if m.closed {
		m.wire.mu.Unlock()
		return
	}
	m.closed = true
	delete(m.wire.hosts, m.address)
	m.wire.mu.Unlock()
	close(m.done)
	m.idle.Wait()
	m.turn.Lock() // whoever delivers has ended
	defer m.turn.Unlock()
	m.wire.mu.Lock()
	defer m.wire.mu.Unlock()
	m.queue, m.held = nil, nil
}

// MTU implements Path.
func (p *memoryPath) MTU() int {
	if p.from.wire.MTU == 0 {
		return 4096
	}
	return p.from.wire.MTU
}

// Reliable implements Path.
func (p *memoryPath) Reliable() bool { return p.from.wire.Reliable }

// Send implements Path. Nobody at the other end is a loss, as between hosts, but on a reliable way.
func (p *memoryPath) Send(header []byte, payload [][]byte) error {
	if n := size(payload); len(header) > HeaderMax || n > p.MTU() {
		return fmt.Errorf("fabric: a packet of %d and %d bytes", len(header), n)
	}
	packet := Packet{Source: Source{Remote: p.from.address, Local: p.to, HopLimit: 64}, Header: slices.Clone(header),
		Payload: slices.Concat(payload...)}
	w := p.from.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.groups[p.to]
	if !p.group {
		to = nil
		if host := w.hosts[p.to]; host != nil {
			to = []*Memory{host}
		} else if w.Reliable {
			return ErrDown
		}
	}
	if w.Filter != nil && !w.Filter(&packet) {
		return nil
	}
	for _, host := range to {
		if err := host.take(p, packet); err != nil {
			return err
		}
	}
	return nil
}

func size(payload [][]byte) (n int) {
	for _, part := range payload {
		n += len(part)
	}
	return n
}

// take puts a packet into a host's queue, or what trouble makes of it. Under wire.mu.
func (m *Memory) take(p *memoryPath, packet Packet) error {
	w := m.wire
	depth := w.Depth
	if m.closed {
		return nil
	}
	if depth == 0 {
		depth = 1024
	}
	if len(m.queue)+len(m.held) >= depth {
		if !slices.Contains(m.starved, p) {
			m.starved = append(m.starved, p)
		}
		m.wake()
		return ErrFull
	}
	t := &w.Trouble
	switch {
	case w.rng.Float64() < t.Lose:
		return nil
	case w.rng.Float64() < t.Reorder:
		m.held = append(m.held, packet)
	default:
		m.queue = append(append(m.queue, packet), m.held...)
		m.held = nil
	}
	if w.rng.Float64() < t.Duplicate {
		m.queue = append(m.queue, packet)
	}
	m.wake()
	return nil
}

func (m *Memory) wake() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}
