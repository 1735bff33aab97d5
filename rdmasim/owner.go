package rdmasim

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// controlSlots is the number of words in a control page; slot 0 is the owner's own. The memfd is sparse:
	// pages that no region uses cost nothing.
	controlSlots = 1 << 16
	ownerSlot    = 0
	// rememberFreed is how many deregistered ranges an owner can still tell from unknown ones.
	rememberFreed = 1024
	// restTime is how long an address stays unused after its region was freed.
	restTime = 2 * time.Second
	// drainTimeout bounds how long a free waits for operations under way. Only a peer that is stopped, or that
	// left its connection to a child when it died, takes longer than its copy.
	drainTimeout = time.Second

	// The upper half of the owner's word; the lower one is the keeper's.
	ownerServing = 1 << 32
	ownerClosed  = 2 << 32
)

// Owner is the serving side: it gives remote addresses to ranges of memfds and hands these to peers. Its
// methods may be called from any goroutine.
type Owner struct {
	id        uint32
	allowed   trust
	listener  *net.UnixListener
	controlFD int
	keeper    *keeper
	serving   sync.WaitGroup
	isDefault bool
	bridge    *Bridge       // of the process' own owner, if it serves other hosts
	rest      time.Duration // restTime
	patience  time.Duration // drainTimeout

	mu        sync.Mutex
	closed    bool
	control   []byte    // mapped; nil once closed
	regions   []*Region // by base, those that rest included
	live      int       // regions that don't rest
	resting   []*Region // in the order in which they were freed
	cursor    uint64    // where the next region is looked for, offset in the owner's range
	nextSlot  uint32
	freeSlots []uint32
	clients   map[*client]struct{}
}

// Attributes is what an owner says about a region.
type Attributes struct {
	Access     Access   // what peers may do
	Name       string   // for people; cut to 128 bytes
	DeviceUUID [16]byte // of the device whose memory it is
}

// Region is a registered range of a payload.
type Region struct {
	owner      *Owner
	fd         int
	base       uint64
	length     uint64
	offset     uint64
	attributes Attributes
	key        uint64
	slot       uint32
	generation uint64

	// Under owner.mu.
	holders map[holder]struct{}
	past    Counters  // of peers that have gone
	freed   time.Time // zero while the region lives
	dropped bool      // on its way out of owner.regions
}

// holder is a peer's view of a region.
type holder struct {
	client *client
	entry  uint32 // in its ledger
}

// NewOwner claims an id on this host and serves it until Close. It holds two descriptors and a thread, and
// one more descriptor for each connected peer. Errors: the operating system's, and ErrResources when the
// process has no descriptors left.
func NewOwner() (*Owner, error) {
	allowed, err := readTrust()
	if err != nil {
		return nil, err
	}
	o := &Owner{allowed: allowed, rest: restTime, patience: drainTimeout, nextSlot: ownerSlot + 1, cursor: pageSize, clients: map[*client]struct{}{}}
	if o.controlFD, o.control, err = makeShared("farside-rdma-control", controlSlots*8); err != nil {
		return nil, osError("create the control page", err)
	}
	o.keeper = keep(word(o.control, ownerSlot*8), ownerServing)
	for try := 0; o.listener == nil; try++ {
		// The kernel's table of abstract names is the register of ids: a name is taken exactly as long as
		// its process lives.
		o.id = mathrand.Uint32N(1 << idBits)
		o.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: socketName(o.id), Net: "unixpacket"})
		if err != nil && (!errors.Is(err, unix.EADDRINUSE) || try > 1000) {
			o.dropControl()
			return nil, osError("claim an owner id", err)
		}
	}
	o.serving.Go(o.serve)
	return o, nil
}

func (o *Owner) dropControl() {
	o.keeper.end()
	_ = unix.Munmap(o.control)
	o.control = nil
	_ = unix.Close(o.controlFD)
}

// Register makes length bytes of a payload, from offset on, a region with a remote address and a random key.
// fd is a memfd with F_SEAL_SHRINK, writable if the rights are more than reading, and borrowed: it stays the
// caller's and stays open until the region is closed. The address keeps offset's place in its page. Errors:
// ErrBadPayload, ErrAccess for rights that are empty or unknown, ErrResources when the owner has no address
// or slot left, ErrClosed.
func (o *Owner) Register(fd int, offset, length uint64, a Attributes) (*Region, error) {
	if a.Access == 0 || a.Access&^AccessAll != 0 {
		return nil, fmt.Errorf("rdmasim: register with rights %v: %w", a.Access, ErrAccess)
	}
	if err := checkPayload(fd, offset, length, a.Access); err != nil {
		return nil, err
	}
	a.Name = cutName(a.Name)
	r := &Region{owner: o, fd: fd, length: length, offset: offset, attributes: a, key: newKey()}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, fmt.Errorf("rdmasim: register: %w", ErrClosed)
	}
	o.forget(rememberFreed)
	at, index, ok := o.place(offset&(pageSize-1), length)
	if !ok && o.forget(0) {
		at, index, ok = o.place(offset&(pageSize-1), length)
	}
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
	o.live++
	w := word(o.control, uint64(r.slot)*8)
	r.generation = w.Load() + 1
	w.Store(r.generation)
	return r, nil
}

// newKey makes a key; 0 means any.
func newKey() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		if k := binary.NativeEndian.Uint64(b[:]); k != 0 {
			return k
		}
	}
}

// cutName makes a name fit into a message.
func cutName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= nameSize {
		return name
	}
	end := nameSize
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// forget lets the addresses of freed regions be used again, once they have rested, save for the last ones,
// which an owner remembers a little longer. It says whether there were any. Under o.mu.
func (o *Owner) forget(keep int) bool {
	// Half of the list at least, since taking regions out costs a walk over all of them.
	if len(o.resting) < 2*keep || len(o.resting) == 0 {
		return false
	}
	n := 0
	for n < len(o.resting)-keep && time.Since(o.resting[n].freed) >= o.rest {
		o.resting[n].dropped = true
		n++
	}
	if n == 0 {
		return false
	}
	o.resting = slices.Delete(o.resting, 0, n)
	o.regions = slices.DeleteFunc(o.regions, func(r *Region) bool { return r.dropped })
	return true
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
	switch {
	case i < 0 || address-o.regions[i].base >= o.regions[i].length:
		return nil, wireUnknown
	case !o.regions[i].freed.IsZero():
		return nil, wireFreed
	}
	return o.regions[i], wireOK
}

// Address is the remote address of the region's first byte; it never changes.
func (r *Region) Address() uint64 { return r.base }

// Length is the region's size in bytes.
func (r *Region) Length() uint64 { return r.length }

// Access is what peers may do.
func (r *Region) Access() Access { return r.attributes.Access }

// Key is the region's key, 64 random bits.
func (r *Region) Key() uint64 { return r.key }

// Counters is what peers have done to the region so far.
func (r *Region) Counters() Counters {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	return r.counters()
}

// counters is Counters under owner.mu.
func (r *Region) counters() Counters {
	sum := r.past
	for h := range r.holders {
		sum.add(entryAt(h.client.ledger, h.entry))
	}
	return sum
}

// Close deregisters the region. Operations of peers that began before have ended when it returns, save where
// a peer was stopped in the middle for more than a second; later ones fail with ErrFreed. A second Close does
// nothing. It returns no error today.
func (r *Region) Close() error {
	o := r.owner
	if o.isDefault {
		defaultMu.Lock()
	}
	o.mu.Lock()
	fresh := o.closeRegion(r)
	last := fresh && o.live == 0 && o.isDefault
	tell := map[*client]struct{}{}
	if fresh {
		for h := range r.holders {
			tell[h.client] = struct{}{}
		}
	}
	o.mu.Unlock()
	if last {
		defaultOwner = nil
	}
	if o.isDefault {
		defaultMu.Unlock()
	}
	// The word decides; the notice only lets idle peers give the memory back.
	notice := message{kind: kindRevoked, base: r.base, length: r.length, slot: r.slot, generation: r.generation}
	for c := range tell {
		c.notify(notice)
	}
	if len(tell) > 0 {
		o.drain(r)
	}
	if last {
		return o.Close()
	}
	return nil
}

// closeRegion flips the region's word and lets its address rest; it says whether the region was still there.
// Under o.mu.
func (o *Owner) closeRegion(r *Region) bool {
	if !r.freed.IsZero() {
		return false
	}
	r.freed = time.Now()
	word(o.control, uint64(r.slot)*8).Store(r.generation + 1)
	o.live--
	o.resting = append(o.resting, r)
	o.freeSlots = append(o.freeSlots, r.slot)
	return true
}

// drain waits until no peer is inside of regions that have been closed. A peer that enters looks at the
// region's word afterwards, and so finds it closed or is seen here.
func (o *Owner) drain(regions ...*Region) {
	end := time.Now().Add(o.patience)
	for try := 0; o.busy(regions) && time.Now().Before(end); try++ {
		// Most copies end within microseconds.
		time.Sleep(min(time.Duration(try)*time.Microsecond, time.Millisecond))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range regions {
		for h := range r.holders {
			h.client.let(h.entry)
		}
	}
}

func (o *Owner) busy(regions []*Region) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range regions {
		for h := range r.holders {
			if e := entryAt(h.client.ledger, h.entry); e.busy() {
				return true
			}
		}
	}
	return false
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
	regions := o.regions
	for _, r := range regions {
		o.closeRegion(r)
	}
	// Peers tell a close from a death by this word when the connection breaks.
	word(o.control, ownerSlot*8).Store(ownerClosed)
	_ = o.listener.Close()
	o.mu.Unlock()
	o.drain(regions...)
	if o.bridge != nil {
		_ = o.bridge.Close()
	}
	o.mu.Lock()
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

// Register registers with the process' own owner, which exists as long as it has regions: a process without
// regions holds no descriptor and has no name on the fabric. If FARSIDE_FABRIC says so, a [Bridge] serves it
// as long; errors of that are errors of the first registration. Otherwise as [Owner.Register].
func Register(fd int, offset, length uint64, a Attributes) (*Region, error) {
	defaultMu.Lock()
	defer defaultMu.Unlock()
	o := defaultOwner
	if o == nil {
		var err error
		if o, err = NewOwner(); err != nil {
			return nil, err
		}
		o.isDefault = true
		if err := o.serveHosts(); err != nil {
			_ = o.Close()
			return nil, err
		}
	}
	r, err := o.Register(fd, offset, length, a)
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
