package cm

import (
	"io"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// Wire is what carries messages. Its methods may be called from any goroutine, and don't call the manager.
type Wire interface {
	// Number is this process' number, 12 bits, which the ids of its communications begin with.
	Number() uint32
	// Send sends a MAD from an address of this host: to the process of this host with a number, or by address to
	// another host. It may get lost.
	Send(local, remote netip.Addr, number uint32, mad []byte)
	// Own says whether an address is this host's.
	Own(netip.Addr) bool
	// Source is the address from which an address is reached. Error: the operating system's (ENETUNREACH).
	Source(remote netip.Addr) (netip.Addr, error)
	// Claim claims a port of this host, for an address or all, until it is closed. Error: EADDRINUSE.
	Claim(space uint16, at netip.AddrPort) (io.Closer, error)
	// Serve has requests for a port arrive that this process has claimed, until it is closed.
	Serve(space uint16, at netip.AddrPort) (io.Closer, error)
	// Server is the number of the process of this host that serves a port.
	Server(space uint16, at netip.AddrPort) (number uint32, ok bool)
	// GIDIndex is the index of an address in the table of GIDs.
	GIDIndex(netip.Addr) (int, bool)
	// GUID is the device's.
	GUID() uint64
	// MTU is that of a path.
	MTU(local, remote netip.Addr) ibv.MTU
}

// Manager has the identifiers of a process.
type Manager struct {
	wire Wire

	mu        sync.Mutex
	acked     sync.Cond       // an event has been acknowledged
	ids       map[uint32]*ID  // by communication id
	remote    map[peerKey]*ID // passive ones, to know a REQ that comes again
	listeners map[portKey]*ID
	next      uint32
	closed    bool
}

type peerKey struct {
	address netip.Addr
	id      uint32
}

type portKey struct {
	space uint16
	at    netip.AddrPort // its address invalid for all
}

// NewManager makes the communication management of a process.
func NewManager(wire Wire) *Manager {
	m := &Manager{wire: wire, ids: map[uint32]*ID{}, remote: map[peerKey]*ID{}, listeners: map[portKey]*ID{},
		next: uint32(time.Now().UnixNano())}
	m.acked.L = &m.mu
	return m
}

// idBits are the bits of a communication id that its process counts.
const idBits = 20

// NumberOf is the process number in a communication id.
func NumberOf(id uint32) uint32 { return id >> idBits }

// newComm gives an identifier a communication id. Under mu.
func (m *Manager) newComm(id *ID) error {
	if len(m.ids) >= 1<<(idBits-1) {
		return unix.ENOMEM
	}
	for {
		m.next++
		n := m.wire.Number()<<idBits | m.next&(1<<idBits-1)
		if m.ids[n] == nil && n != 0 {
			m.ids[n] = id
			id.comm = n
			return nil
		}
	}
}

// Receive takes a MAD that has come to queue pair 1. It may be anything.
func (m *Manager) Receive(local, remote netip.Addr, mad []byte) {
	msg, err := decode(mad)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	switch msg.attribute {
	case attrREQ:
		m.gotREQ(local, remote, &msg)
		return
	case attrSIDRREQ:
		m.gotSIDRREQ(local, remote, &msg)
		return
	}
	id := m.ids[msg.remote]
	if id == nil || id.peer != remote {
		m.stray(local, remote, &msg)
		return
	}
	switch msg.attribute {
	case attrMRA:
		id.tries = 0
	case attrREJ:
		id.gotREJ(&msg)
	case attrREP:
		id.gotREP(&msg)
	case attrRTU:
		id.gotRTU(&msg)
	case attrDREQ:
		id.gotDREQ(&msg)
	case attrDREP:
		id.gotDREP(&msg)
	case attrSIDRREP:
		id.gotSIDRREP(&msg)
	}
}

// Gone says that the process of this host with a number has ended, without a word: its connections end, as the kernel
// ends those of a process.
func (m *Manager) Gone(number uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.ids {
		if NumberOf(id.peerComm) != number || id.peerComm == 0 || !m.wire.Own(id.peer) || id.datagram() {
			continue
		}
		switch id.state {
		case connected, accepting, disconnecting:
			id.end()
		case requested, responded:
			id.gotREJ(&message{reason: RejectTimeout})
		}
	}
}

// stray answers messages about connections that are gone. Under mu.
func (m *Manager) stray(local, remote netip.Addr, msg *message) {
	answer := message{transaction: msg.transaction, local: msg.remote, remote: msg.local}
	switch msg.attribute {
	case attrDREQ:
		answer.attribute = attrDREP
	case attrREP:
		answer.attribute, answer.rejected, answer.reason = attrREJ, rejectedREP, RejectStaleConnection
	default:
		return
	}
	m.send(local, remote, &answer)
}

// send sends a message to where its remote id belongs.
func (m *Manager) send(local, remote netip.Addr, msg *message) {
	m.wire.Send(local, remote, NumberOf(msg.remote), msg.encode())
}

// listener is who listens for a service at an address. Under mu.
func (m *Manager) listener(msg *message, local netip.Addr) *ID {
	space := uint16(msg.service >> 16)
	if msg.service>>24 != 1 {
		return nil
	}
	if id := m.listeners[portKey{space, netip.AddrPortFrom(local, uint16(msg.service))}]; id != nil {
		return id
	}
	return m.listeners[portKey{space, netip.AddrPortFrom(netip.Addr{}, uint16(msg.service))}]
}

// Close ends all, silently.
func (m *Manager) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.acked.Broadcast()
	for _, id := range m.ids {
		id.stopTimer()
	}
	for _, id := range m.listeners {
		id.giveBack()
	}
}
