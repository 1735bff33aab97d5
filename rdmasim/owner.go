package rdmasim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// controlSlots is the number of words in a control page; slot 0 is the owner's own. The memfd is sparse:
	// pages that no region uses cost nothing.
	controlSlots = 1 << 16
	ownerSlot    = 0
	// rememberFreed is how many deregistered ranges an owner can still tell from unknown ones.
	rememberFreed = 1024

	ownerServing = 1
	ownerClosed  = 2
)

// Owner is the serving side: it gives remote addresses to ranges of memfds and hands these to peers. Its
// methods may be called from any goroutine.
type Owner struct {
	id        uint32
	allowed   trust
	listener  *net.UnixListener
	controlFD int
	serving   sync.WaitGroup
	isDefault bool

	mu        sync.Mutex
	closed    bool
	control   []byte    // mapped; nil once closed
	regions   []*Region // by base
	cursor    uint64    // where the next region is looked for, offset in the owner's range
	nextSlot  uint32
	freeSlots []uint32
	freed     []span // ring of the last deregistered ranges
	freedNext int
	clients   map[*client]struct{}
}

type span struct{ base, length uint64 }

// Region is a registered range of a payload.
type Region struct {
	owner      *Owner
	fd         int
	base       uint64
	length     uint64
	offset     uint64
	access     Access
	slot       uint32
	generation uint64
	handedOut  bool // under owner.mu: some peer may have it mapped
	gone       bool // under owner.mu
}

// NewOwner claims an id on this host and serves it until Close. It holds two descriptors, and one more for
// each connected peer. Errors: the operating system's, and ErrResources when the process has no descriptors
// left.
func NewOwner() (*Owner, error) {
	allowed, err := readTrust()
	if err != nil {
		return nil, err
	}
	o := &Owner{allowed: allowed, controlFD: -1, nextSlot: ownerSlot + 1, cursor: pageSize, clients: map[*client]struct{}{}}
	if err := o.makeControl(); err != nil {
		return nil, err
	}
	for try := 0; o.listener == nil; try++ {
		// The kernel's table of abstract names is the register of ids: a name is taken exactly as long as
		// its process lives.
		o.id = rand.Uint32N(1 << idBits)
		o.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: socketName(o.id), Net: "unixpacket"})
		if err != nil && (!errors.Is(err, unix.EADDRINUSE) || try > 1000) {
			o.dropControl()
			return nil, osError("claim an owner id", err)
		}
	}
	o.serving.Go(o.serve)
	return o, nil
}

// makeControl creates the control page: a memfd that nobody but the mapping made here can ever write.
func (o *Owner) makeControl() error {
	fd, err := unix.MemfdCreate("farside-rdma-control", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return osError("create the control page", err)
	}
	if err = unix.Ftruncate(fd, controlSlots*8); err == nil {
		o.control, err = unix.Mmap(fd, 0, controlSlots*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL)
	}
	o.controlFD = fd
	if err != nil {
		o.dropControl()
		return osError("create the control page", err)
	}
	word(o.control, ownerSlot*8).Store(ownerServing)
	return nil
}

func (o *Owner) dropControl() {
	if o.control != nil {
		_ = unix.Munmap(o.control)
		o.control = nil
	}
	_ = unix.Close(o.controlFD)
}

// Register makes length bytes of a payload, from offset on, a region with a remote address. fd is a memfd
// with F_SEAL_SHRINK, writable if the rights are more than reading, and borrowed: it stays the caller's and stays open until the region is closed. The
// address keeps offset's place in its page. Errors: ErrBadPayload, ErrAccess for rights that are empty or
// unknown, ErrResources when the owner has no address or slot left, ErrClosed.
func (o *Owner) Register(fd int, offset, length uint64, access Access) (*Region, error) {
	if access == 0 || access&^AccessAll != 0 {
		return nil, fmt.Errorf("rdmasim: register with rights %v: %w", access, ErrAccess)
	}
	if err := checkPayload(fd, offset, length, access); err != nil {
		return nil, err
	}
	r := &Region{owner: o, fd: fd, length: length, offset: offset, access: access}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, fmt.Errorf("rdmasim: register: %w", ErrClosed)
	}
	at, index, ok := o.place(offset&(pageSize-1), length)
	if !ok {
		return nil, fmt.Errorf("rdmasim: register %d bytes: no address range left: %w", length, ErrResources)
	}
	switch n := len(o.freeSlots); {
	case o.nextSlot < controlSlots:
		r.slot = o.nextSlot
		o.nextSlot++
	case n > 0:
		r.slot = o.freeSlots[0]
		o.freeSlots = o.freeSlots[1:]
	default:
		return nil, fmt.Errorf("rdmasim: register: more than %d regions: %w", controlSlots-1, ErrResources)
	}
	r.base = makeAddress(o.id, at)
	o.cursor = roundUp(at+length) + pageSize
	o.regions = slices.Insert(o.regions, index, r)
	w := word(o.control, uint64(r.slot)*8)
	r.generation = w.Load() + 1
	w.Store(r.generation)
	return r, nil
}

// place finds room behind the cursor, and from the start of the range only when its end is reached, so
// that an address comes back as late as possible. index is the place in o.regions.
func (o *Owner) place(inPage, length uint64) (at uint64, index int, ok bool) {
	if length > offsetMask-4*pageSize {
		return 0, 0, false
	}
	need := roundUp(inPage+length) + pageSize // one page that belongs to no region follows each
	for pass, from := 0, o.cursor; pass < 2; pass, from = pass+1, pageSize {
		start := from
		i, _ := slices.BinarySearchFunc(o.regions, makeAddress(o.id, start), byBase)
		if i > 0 {
			if _, end := o.regions[i-1].pages(); end > start {
				start = end
			}
		}
		for ; start+need <= 1<<offsetBits; i++ {
			if i == len(o.regions) {
				return start + inPage, i, true
			}
			first, end := o.regions[i].pages()
			if start+need <= first {
				return start + inPage, i, true
			}
			start = end
		}
	}
	return 0, 0, false
}

// pages is the page range of the region with its guard, as offsets in the owner's range.
func (r *Region) pages() (first, end uint64) {
	at := r.base & offsetMask
	return at &^ (pageSize - 1), roundUp(at+r.length) + pageSize
}

func byBase(r *Region, base uint64) int {
	switch {
	case r.base < base:
		return -1
	case r.base > base:
		return 1
	}
	return 0
}

func roundUp(n uint64) uint64 { return (n + pageSize - 1) &^ (pageSize - 1) }

// checkPayload says whether every byte of the range can be touched, in the ways that the rights allow, for as
// long as the file exists.
func checkPayload(fd int, offset, length uint64, access Access) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("rdmasim: payload: %w: %w", ErrBadPayload, err)
	}
	size := uint64(st.Size)
	if length == 0 || offset > size || length > size-offset {
		return fmt.Errorf("rdmasim: %d bytes at %d of a payload of %d: %w", length, offset, size, ErrBadPayload)
	}
	// Without the seal anyone who has the file can shorten it, and the next access is a SIGBUS.
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("rdmasim: payload: %w: %w", ErrBadPayload, err)
	}
	if seals&unix.F_SEAL_SHRINK == 0 {
		return fmt.Errorf("rdmasim: payload is not sealed against shrinking: %w", ErrBadPayload)
	}
	if access&(AccessWrite|AccessAtomic) == 0 {
		return nil
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return fmt.Errorf("rdmasim: payload: %w: %w", ErrBadPayload, err)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR || seals&(unix.F_SEAL_WRITE|unix.F_SEAL_FUTURE_WRITE) != 0 {
		return fmt.Errorf("rdmasim: payload can't be written, rights are %v: %w", access, ErrBadPayload)
	}
	return nil
}

// find returns the region around an address, or why there is none. Under o.mu.
func (o *Owner) find(address uint64) (*Region, wireStatus) {
	i, exact := slices.BinarySearchFunc(o.regions, address, byBase)
	if !exact {
		i--
	}
	if i >= 0 && i < len(o.regions) && address-o.regions[i].base < o.regions[i].length {
		return o.regions[i], wireOK
	}
	for _, s := range o.freed {
		if address >= s.base && address-s.base < s.length {
			return nil, wireFreed
		}
	}
	return nil, wireUnknown
}

// Address is the remote address of the region's first byte; it never changes.
func (r *Region) Address() uint64 { return r.base }

// Length is the region's size in bytes.
func (r *Region) Length() uint64 { return r.length }

// Access is what peers may do.
func (r *Region) Access() Access { return r.access }

// Close deregisters the region. Operations of peers that succeed have happened before Close returns; later
// ones fail with ErrFreed. A second Close does nothing. It returns no error today.
func (r *Region) Close() error {
	o := r.owner
	if o.isDefault {
		defaultMu.Lock()
		defer defaultMu.Unlock()
	}
	o.mu.Lock()
	last := o.closeRegion(r)
	var tell []*client
	if r.handedOut {
		for c := range o.clients {
			tell = append(tell, c)
		}
		r.handedOut = false
	}
	o.mu.Unlock()
	// The word decides; the notice only lets idle peers give the memory back.
	notice := message{kind: kindRevoked, base: r.base, length: r.length, slot: r.slot, generation: r.generation}
	for _, c := range tell {
		c.notify(notice)
	}
	if last && o.isDefault {
		defaultOwner = nil
		return o.Close()
	}
	return nil
}

// closeRegion flips the region's word and forgets it; it says whether that was the last one. Under o.mu.
func (o *Owner) closeRegion(r *Region) bool {
	if r.gone {
		return false
	}
	r.gone = true
	word(o.control, uint64(r.slot)*8).Store(r.generation + 1)
	i, _ := slices.BinarySearchFunc(o.regions, r.base, byBase)
	o.regions = slices.Delete(o.regions, i, i+1)
	o.freeSlots = append(o.freeSlots, r.slot)
	s := span{r.base, r.length}
	if len(o.freed) < rememberFreed {
		o.freed = append(o.freed, s)
	} else {
		o.freed[o.freedNext] = s
		o.freedNext = (o.freedNext + 1) % rememberFreed
	}
	return len(o.regions) == 0
}

// Close deregisters every region, stops serving and gives back every descriptor. A second Close does
// nothing. It returns no error today.
func (o *Owner) Close() error {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil
	}
	o.closed = true
	for len(o.regions) > 0 {
		o.closeRegion(o.regions[len(o.regions)-1])
	}
	// Peers tell a close from a death by this word when the connection breaks.
	word(o.control, ownerSlot*8).Store(ownerClosed)
	_ = o.listener.Close()
	for c := range o.clients {
		_ = c.conn.Close()
	}
	o.mu.Unlock()
	o.serving.Wait()
	o.dropControl()
	return nil
}

var (
	defaultMu    sync.Mutex
	defaultOwner *Owner
)

// Register registers with the process' own owner, which exists as long as it has regions: a process
// without regions holds no descriptor and has no name on the fabric. Peers get every right. Otherwise as
// [Owner.Register].
func Register(fd int, offset, length uint64) (*Region, error) {
	defaultMu.Lock()
	defer defaultMu.Unlock()
	o := defaultOwner
	if o == nil {
		var err error
		if o, err = NewOwner(); err != nil {
			return nil, err
		}
		o.isDefault = true
	}
	r, err := o.Register(fd, offset, length, AccessAll)
	if err != nil {
		if defaultOwner == nil {
			_ = o.Close()
		}
		return nil, err
	}
	defaultOwner = o
	return r, nil
}

// osError wraps an error of the operating system, and says so when it is about descriptors.
func osError(what string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("rdmasim: %s: out of file descriptors: %w: %w", what, ErrResources, err)
	}
	return fmt.Errorf("rdmasim: %s: %w", what, err)
}
