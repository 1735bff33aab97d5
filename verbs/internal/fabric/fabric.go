// Package fabric is how packets of queue pairs travel: a Network has ways (Path) to other processes of the host and to
// other hosts, and hands what arrives to its Receiver.
//
// All ways carry the same packets: a header (the base transport header and the extended ones of RoCEv2, as package
// packet writes them) and a payload. What surrounds them on the way (Ethernet, IP, UDP, padding, invariant CRC, slots
// of a ring) is the network's.
//
// # Calls back
//
// A network calls its Receiver from Poll, and from goroutines of its own when nobody polls: delivery never depends on
// Poll. It never calls the Receiver from inside of Send, since the sender holds the lock of its queue pair then.
// Packets of one Path arrive in their order, one after the other; those of different paths may arrive at the same time
// in several threads.
package fabric

import (
	"errors"
	"net/netip"
)

var (
	// ErrFull is Path.Send's when the way has no room now. Receiver.Writable follows once it has.
	ErrFull = errors.New("fabric: the way has no room")
	// ErrDown is Path.Send's when the process at the other end has gone, or the way can't be used any more.
	ErrDown = errors.New("fabric: the other end has gone")
	// ErrUnreachable is Network.Open's for an address that no way leads to.
	ErrUnreachable = errors.New("fabric: no way to the address")
	// ErrNoQPN is Network.QPN's when there is no number left.
	ErrNoQPN = errors.New("fabric: no number of a queue pair is left")
)

// HeaderMax is the most bytes that a header has: BTH, RETH and ImmDt, or BTH, XRCETH and AtomicETH.
const HeaderMax = 64

// Network carries packets between the queue pairs of processes and hosts. Its methods may be called from any goroutine.
type Network interface {
	// Attach sets who receives. It is called once, before anything is sent.
	Attach(Receiver)
	// Addresses lists the addresses of this host that queue pairs may use, as IPv4 or IPv6, not as IPv4-mapped
	// IPv6. The device makes a GID of each, in this order. It never shrinks or changes its order.
	Addresses() []netip.Addr
	// QPN returns a number, 24 bits and above 1, that no other queue pair of the host has. Error: ErrNoQPN.
	QPN() (uint32, error)
	// FreeQPN gives a number back. It is used again late.
	FreeQPN(qpn uint32)
	// Open returns the way to the queue pair qpn at an address, from one of Addresses. It is cheap: ways are kept for
	// each process or host. A multicast address leads to all queue pairs that have joined. The other end need not be
	// there yet on a way that isn't reliable. Errors: ErrUnreachable, the operating system's.
	Open(local, remote netip.Addr, qpn uint32) (Path, error)
	// Join makes packets to a multicast address arrive; Leave ends that. Joins are counted.
	Join(group netip.Addr) error
	Leave(group netip.Addr)
	// Poll hands what has arrived to the receiver, and says whether there was something. A thread that finds another
	// one at it comes back with false at once.
	Poll() bool
	// Close ends all ways. The receiver is not called any more when it returns.
	Close()
}

// Path is the way to one process or host. Its methods may be called from any goroutine.
type Path interface {
	// MTU is the most bytes of payload that a packet may have. Both ends of a way find the same number.
	MTU() int
	// Reliable says that nothing is lost, duplicated or reordered while both processes live. A queue pair fills packets
	// up to MTU then, whatever its path MTU is.
	Reliable() bool
	// Send sends a packet: a header of at most HeaderMax bytes, and the parts of the payload, in their order, together
	// at most MTU bytes. Both are the caller's again when it returns. The payload may lie in memory that faults:
	// then the panic goes through to the caller, nothing has been sent, and the way stays usable. Errors: ErrFull,
	// ErrDown.
	Send(header []byte, payload [][]byte) error
}

// Batcher is what a Path may be, too, if packets that leave together cost less.
type Batcher interface {
	Path
	// Hold lets packets wait for the next Flush, or for as long as there is room for more of them. Each call is followed
	// by one of Flush, which is soon. Send copies then, as always.
	Hold()
	// Flush ends a Hold, and sends what waits. What finds no room leaves once there is some.
	Flush()
}

// Source says where a packet comes from, and what its IP header had. Ways that have no IP header make it up.
type Source struct {
	Remote, Local netip.Addr // of the sender; where it was sent to, maybe a multicast group
	TrafficClass  uint8
	HopLimit      uint8
	FlowLabel     uint32
}

// Receiver takes what arrives. The engine is one.
type Receiver interface {
	// Receive takes a packet. header and payload are valid during the call only. They may lie in memory that another
	// process changes meanwhile, so that what is checked is copied out first; payload is copied at most once. The
	// payload has no padding and no CRC.
	Receive(from *Source, header, payload []byte)
	// Writable says that a way that gave ErrFull has room again. It may come though nobody waits.
	Writable(Path)
	// Down says that the other end of a way has gone: queue pairs there answer nothing any more.
	Down(Path)
}
