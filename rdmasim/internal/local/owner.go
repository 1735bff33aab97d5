package local

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/fault"
	"farside/internal/fd"
	"farside/internal/finding"
	"farside/internal/memfd"
	"farside/internal/socket"
	"farside/internal/trust"
	"farside/internal/unlike"
	"farside/rdmasim/internal/verbs"
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

	// The upper half of the owner's word; the lower one is the keeper's.
	ownerServing = 1 << 32
	ownerClosed  = 2 << 32
)

// Owner is the serving side: it gives remote addresses to ranges of memfds and hands these to peers. Its
// methods may be called from any goroutine.
type Owner struct {
	id       uint32
	allowed  trust.Users
	listener *socket.Listener
	page     *fd.FD // the control page's file
	keeper   *keeper
	serving  sync.WaitGroup

	places int         // for connections
	faults *fault.Plan // nil: nothing fails on command

	// Rest, Patience and JoinTimeout are restTime, verbs.DrainTimeout and joinTimeout, save in tests, which set them
	// before the first use.
	Rest, Patience, JoinTimeout time.Duration

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

	strict   []*Region          // those with traffic
	looks    uint64             // how often somebody may have seen what peers have written
	puts     uint64             // of mappings
	findings []*finding.Finding // for tell
}

// ID is the owner's id on the fabric, 20 bits.
func (o *Owner) ID() uint32 { return o.id }

// NewOwner claims an id on this host and serves it until Close. It holds two descriptors and a thread, and
// one more descriptor for each connected peer. Errors: the operating system's, and ErrResources when the
// process has no descriptors left.
func NewOwner() (*Owner, error) {
	allowed, err := trust.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	settings, err := config.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	faults, err := fault.For(settings, "rdma.")
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	finding.Begin(settings)
	o := &Owner{allowed: allowed, faults: faults, places: places(), Rest: restTime,
		Patience: verbs.DrainTimeout, JoinTimeout: joinTimeout,
		nextSlot: ownerSlot + 1, cursor: verbs.PageSize, clients: map[*client]struct{}{}}
	if o.page, o.control, err = memfd.CreateMapped("farside-rdma-control", controlSlots*8); err != nil {
		return nil, verbs.OSError("create the control page", err)
	}
	o.keeper = keep(word(o.control, ownerSlot*8), ownerServing)
	for try := 0; o.listener == nil; try++ {
		// The kernel's table of abstract names is the register of ids: a name is taken exactly as long as
		// its process lives.
		o.id = unlike.Uint32N(1 << verbs.IDBits)
		o.listener, err = socket.ListenPacket(socketName(o.id))
		if err != nil && (!errors.Is(err, unix.EADDRINUSE) || try > 1000) {
			o.dropControl()
			return nil, verbs.OSError("claim an owner id", err)
		}
	}
	o.serving.Go(o.serve)
	return o, nil
}

func (o *Owner) dropControl() {
	o.keeper.end()
	_ = unix.Munmap(o.control)
	o.control = nil
	_ = o.page.Close()
}

// drain waits until no peer is inside of regions that have been closed, for Patience at most: step b of View.
func (o *Owner) drain(regions ...*Region) {
	end := time.Now().Add(o.Patience)
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
// nothing.
func (o *Owner) Close() {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	o.closed = true
	regions := o.regions
	var mappings []*Mapping
	for _, r := range regions {
		o.closeRegion(r)
		mappings = append(mappings, r.takeMappings()...)
	}
	// Peers tell a close from a death by this word when the connection breaks.
	word(o.control, ownerSlot*8).Store(ownerClosed)
	_ = o.listener.Close()
	o.mu.Unlock()
	for _, m := range mappings {
		m.finish()
	}
	o.drain(regions...)
	o.mu.Lock()
	for c := range o.clients {
		_ = c.conn.Close()
	}
	o.mu.Unlock()
	o.tell()
	o.serving.Wait()
	o.dropControl()
}
