package shm

import (
	"encoding/binary"
	"errors"
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
	tailAt   = 0   // bytes that were put into the ring, ever
	headAt   = 64  // bytes that were taken out of the other side's ring, ever
	wantAt   = 128 // 1: waits for room in its ring
	insideAt = 192 // two counts of direct operations under way, a line apart: page.go
	headSize = 4096
	ringSize = 1 << 20
	fileSize = headSize + ringSize
)

// A packet in a ring: its length and that of its header, 4 bytes each; the addresses that it goes from and to, as IPv6,
// 16 bytes each; header and payload; up to a multiple of 16.
const (
	addressesAt = 8
	prefix      = 40
	alignment   = 16
	maxPayload  = 64 << 10
	maxRecord   = (prefix + fabric.HeaderMax + maxPayload + alignment - 1) &^ (alignment - 1)
)

// route is the two addresses of a packet, as they lie in a ring.
type route [2][16]byte

var errTooLong = errors.New("shm: packet is too long")

// producer is this side's file.
type producer struct {
	mu      sync.Mutex
	mapping []byte // headSize, the ring, the ring again
	tail    uint64 // as in the file
	seen    uint64 // the other side's head when it was last read, at most tail
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

// room says whether n bytes fit into the ring, head being the other side's. Under mu.
func (p *producer) room(n uint64, head *atomic.Uint64) (bool, error) {
	if p.tail+n-p.seen <= ringSize {
		return true, nil
	}
	now := head.Load()
	if now < p.seen || now > p.tail {
		return false, fabric.ErrDown
	}
	p.seen = now
	return p.tail+n-p.seen <= ringSize, nil
}

// recordSize is how many bytes of a ring a packet takes that has this many.
func recordSize(length int) uint64 { return uint64(prefix+length+alignment-1) &^ (alignment - 1) }

// put writes a packet. Where a part of the payload can't be read the call panics, and the ring is as it was.
func (p *producer) put(head *atomic.Uint64, r *route, header []byte, payload [][]byte) error {
	length := len(header)
	for _, part := range payload {
		length += len(part)
	}
	if len(header) > fabric.HeaderMax || length-len(header) > maxPayload {
		return errTooLong
	}
	size := recordSize(length)
	p.mu.Lock()
	defer p.mu.Unlock()
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
	at := p.mapping[headSize+p.tail%ringSize:][:size]
	binary.NativeEndian.PutUint32(at, uint32(length))
	binary.NativeEndian.PutUint32(at[4:], uint32(len(header)))
	copy(at[addressesAt:], r[0][:])
	copy(at[addressesAt+16:], r[1][:])
	at = at[prefix:]
	at = at[copy(at, header):]
	for _, part := range payload {
		memcopy.Copy(at[:len(part)], part)
		at = at[len(part):]
	}
	p.tail += size
	p.word(tailAt).Store(p.tail)
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
	from    route // of the last packet
	source  fabric.Source
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

// take hands what is in the ring when it is called to receive, and stores up to where it has read in head, which is
// this side's. The error is fabric.ErrDown for a ring that makes no sense. Under mu.
func (c *consumer) take(
	head *atomic.Uint64, receive func(from *fabric.Source, header, payload []byte),
) (some bool, err error) {
	tail := c.word(tailAt).Load()
	if tail == c.head {
		return false, nil
	}
	if tail-c.head > ringSize || tail%alignment != 0 {
		return false, fabric.ErrDown
	}
	for c.head != tail {
		at := c.mapping[headSize+c.head%ringSize:]
		length, first := binary.NativeEndian.Uint32(at), binary.NativeEndian.Uint32(at[4:])
		size := (uint64(length) + prefix + alignment - 1) &^ (alignment - 1)
		if first > fabric.HeaderMax || length < first || length-first > maxPayload || size > tail-c.head {
			return false, fabric.ErrDown
		}
		n := copy(c.header[:first], at[prefix:])
		c.look(at[addressesAt:prefix])
		receive(&c.source, c.header[:n], at[prefix+first:prefix+length:prefix+length])
		c.head += size
		head.Store(c.head)
	}
	return true, nil
}

// look makes the source of the packet whose addresses these are. Most packets come from where the last one did.
func (c *consumer) look(addresses []byte) {
	var r route
	copy(r[0][:], addresses)
	copy(r[1][:], addresses[16:])
	if r == c.from {
		return
	}
	c.from = r
	c.source = fabric.Source{Remote: netip.AddrFrom16(r[0]).Unmap(), Local: netip.AddrFrom16(r[1]).Unmap(),
		HopLimit: 64}
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
