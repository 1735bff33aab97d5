package shm

import (
	"errors"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memcopy"
	"farside/internal/memfd"
	"farside/verbs/internal/fabric"
)

// The file that a process makes for the other side of a session: words, each in a cache line of its own, then the ring.
const (
	headAt   = 0   // bytes that were taken out of the other side's ring, ever
	wantAt   = 64  // 1: waits for room in its ring
	insideAt = 128 // two counts of direct operations under way, a line apart: page.go
	headSize = 4096
	ringSize = 1 << 20
	fileSize = headSize + ringSize
)

// A packet in a ring: a word; the addresses that it goes from and to, as IPv6, 16 bytes each, unless they are those of
// the packet before; header and payload; up to the next cache line, of which a short packet takes one. The word's lower
// half is the bytes of all that but for the end's padding, the upper half those of the header, and whether there are
// addresses. It is 0 until the packet is there, and is looked at for that, since a count elsewhere would be one more
// line that goes from one processor's cache to the other's:
//
//  1. The producer writes all of a packet but its word, and 0 to where the next one's will be.
//  2. It stores the word, which releases both.
//  3. The consumer loads the word, and with another value than 0 acquires both.
const (
	wordSize   = 8
	routeSize  = 32
	routed     = 1 << 63 // in the word: there are addresses
	maxPayload = 64 << 10
	line       = 64
	maxRecord  = (wordSize + routeSize + fabric.HeaderMax + maxPayload + line - 1) &^ (line - 1)
)

// route is the two addresses of a packet, as they lie in a ring.
type route [2][16]byte

var errTooLong = errors.New("shm: packet is too long")

// producer is this side's file.
type producer struct {
	mu      sync.Mutex
	mapping []byte        // headSize, the ring, the ring again
	tail    atomic.Uint64 // bytes that were put into the ring, ever
	seen    uint64        // the other side's head when it was last read, at most tail
	to      route         // of the last packet
}

// newProducer makes a file and maps it. The caller closes the file.
func newProducer() (*producer, *fd.FD, error) {
	f, err := memfd.Create(memfd.Spec{Name: "farside-verbs-ring", Size: fileSize, Mode: memfd.Private, Open: true})
	if err != nil {
		return nil, nil, err
	}
	mapping, err := mapTwice(f.Int(), headSize, ringSize, unix.PROT_READ|unix.PROT_WRITE)
	if err == nil {
		if err = memfd.SealWrites(f.Int()); err != nil {
			unmapTwice(mapping)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return &producer{mapping: mapping}, f, nil
}

func (p *producer) word(at uint64) *atomic.Uint64 { return word(p.mapping, at) }

// packet is the word of the packet that begins so many bytes behind the ring's start.
func (p *producer) packet(at uint64) *atomic.Uint64 { return word(p.mapping, headSize+at%ringSize) }

// room says whether a packet of n bytes fits into the ring, and the next one's word, head being the other side's. Under
// mu.
func (p *producer) room(n uint64, head *atomic.Uint64) (bool, error) {
	tail := p.tail.Load()
	if tail+n+line-p.seen <= ringSize {
		return true, nil
	}
	now := head.Load()
	if now < p.seen || now > tail {
		return false, fabric.ErrDown
	}
	p.seen = now
	return tail+n+line-p.seen <= ringSize, nil
}

// recordSize is how many bytes of a ring a packet takes that has this many, with its word and addresses.
func recordSize(length int) uint64 { return uint64(length+line-1) &^ (line - 1) }

// put writes a packet. Where a part of the payload can't be read the call panics, and the ring is as it was.
func (p *producer) put(head *atomic.Uint64, r *route, header []byte, payload [][]byte) error {
	length := 0
	for _, part := range payload {
		length += len(part)
	}
	if len(header) > fabric.HeaderMax || length > maxPayload {
		return errTooLong
	}
	length += wordSize + len(header)
	about := uint64(len(header)) << 32
	p.mu.Lock()
	defer p.mu.Unlock()
	if *r != p.to || p.tail.Load() == 0 {
		length += routeSize
		about |= routed
	}
	size := recordSize(length)
	ok, err := p.room(size, head)
	if !ok && err == nil {
		others := p.word(wantAt).Swap(1) // 1 if somebody else waits, who is still to be told
		if ok, err = p.room(size, head); ok {
			p.word(wantAt).Store(others)
		}
	}
	if err != nil {
		return err
	}
	if !ok {
		return fabric.ErrFull
	}
	tail := p.tail.Load()
	at := p.mapping[headSize+tail%ringSize:][:size]
	at = at[wordSize:]
	if about&routed != 0 {
		at = at[copy(at, r[0][:]):]
		at = at[copy(at, r[1][:]):]
	}
	at = at[copy(at, header):]
	for _, part := range payload {
		memcopy.Copy(at[:len(part)], part)
		at = at[len(part):]
	}
	p.packet(tail + size).Store(0)
	p.packet(tail).Store(about | uint64(length))
	p.tail.Store(tail + size)
	p.to = *r
	return nil
}

// writable says whether somebody waits for room and a packet of any size would find it, and forgets about it then.
func (p *producer) writable(head *atomic.Uint64) bool {
	if p.word(wantAt).Load() == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ok, _ := p.room(maxRecord, head)
	return ok && p.word(wantAt).Swap(0) != 0
}

// consumer is the other side's file.
type consumer struct {
	mu      sync.Mutex
	mapping []byte // as producer's, but for reading alone
	head    uint64 // up to where it has been read
	header  [fabric.HeaderMax]byte
	source  fabric.Source // of the last packet
}

func newConsumer(f *fd.FD) (*consumer, error) {
	if err := checkFile(f, fileSize); err != nil {
		return nil, err
	}
	mapping, err := mapTwice(f.Int(), headSize, ringSize, unix.PROT_READ)
	if err != nil {
		return nil, err
	}
	return &consumer{mapping: mapping}, nil
}

func (c *consumer) word(at uint64) *atomic.Uint64 { return word(c.mapping, at) }

// take hands what is in the ring to receive, at most as much as fits into it, and stores up to where it has read in
// head, which is this side's. The error is fabric.ErrDown for a ring that makes no sense. Under mu.
func (c *consumer) take(
	head *atomic.Uint64, receive func(from *fabric.Source, header, payload []byte),
) (some bool, err error) {
	for end := c.head + ringSize; c.head < end; some = true {
		start := headSize + c.head%ringSize
		about := c.word(start).Load()
		if about == 0 {
			break
		}
		at, length, first := uint64(wordSize), about&math.MaxUint32, about&^routed>>32
		if about&routed != 0 {
			at += routeSize
		} else if c.head == 0 {
			return false, fabric.ErrDown
		}
		if first > fabric.HeaderMax || length < at+first || length > at+first+maxPayload {
			return false, fabric.ErrDown
		}
		packet := c.mapping[start:][:length:length]
		if about&routed != 0 {
			c.source = sourceOf(packet[wordSize:])
		}
		n := copy(c.header[:first], packet[at:])
		receive(&c.source, c.header[:n], packet[at+first:])
		c.head += recordSize(int(length))
		head.Store(c.head)
	}
	return some, nil
}

// sourceOf is where packets with these addresses come from.
func sourceOf(addresses []byte) fabric.Source {
	var r route
	copy(r[0][:], addresses)
	copy(r[1][:], addresses[16:])
	return fabric.Source{Remote: netip.AddrFrom16(r[0]).Unmap(), Local: netip.AddrFrom16(r[1]).Unmap(), HopLimit: 64}
}

// checkEvent says whether a file of another process is one of the kernel's without a name, as an eventfd is: to write
// to it raises no signal and changes no file. It must not block, whoever made it.
func checkEvent(f *fd.FD) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.Int(), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != 0 {
		return fabric.ErrDown
	}
	return unix.SetNonblock(f.Int(), true)
}

// checkFile says whether a file of another process has a size that is final, and enough of it.
func checkFile(f *fd.FD, size int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.Int(), &st); err != nil {
		return err
	}
	seals, err := unix.FcntlInt(uintptr(f.Int()), unix.F_GET_SEALS, 0)
	if err != nil {
		return err
	}
	if st.Size < size || seals&unix.F_SEAL_SHRINK == 0 {
		return fabric.ErrDown
	}
	return nil
}
