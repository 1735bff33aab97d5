package engine

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/callsite"
	"farside/internal/ibv"
	"farside/internal/journal"
)

// PD is a protection domain.
type PD struct {
	Context *Context
	users   atomic.Int32 // objects in it
	id      uint32       // that no other domain of the device has had
}

// AllocPD makes a protection domain. Error: ENOMEM.
func (c *Context) AllocPD() (*PD, error) {
	if err := take(&c.Device.used.pds, maxPD); err != nil {
		return nil, err
	}
	return &PD{Context: c, id: c.Device.domains.Add(1)}, nil
}

// Dealloc ends it. Error: EBUSY while something is in it.
func (p *PD) Dealloc() error {
	if !p.users.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	p.Context.Device.used.pds.Add(-1)
	return nil
}

// ended32 keeps a count that has been 0 from being one.
const ended32 = -1 << 30

// Memory is bytes that may end under their users, as those of a region of Farside's memory.
type Memory interface {
	// Enter gives the bytes and keeps them in place until Leave. It gives nil if they have ended.
	Enter() []byte
	Leave()
	// Close is called once, when nobody is inside.
	Close()
}

// Watched is Memory of devices that may see late what adapters write (FARSIDE_STRICT=rdma).
type Watched interface {
	Memory
	// Strict says whether that is so: whether Put and Look are needed.
	Strict() bool
	// Put writes behind byte off of Enter's, for a queue pair. The user is inside. The data becomes the memory's.
	Put(queuePair uint32, off uint64, data []byte)
	// Look comes before the bytes are read, or changed in another way.
	Look()
}

// ReadOnly is Memory that may not be writable, whatever rights a region asks for.
type ReadOnly interface {
	Memory
	ReadOnly() bool
}

// MRInit says what to register. Length bytes of ordinary memory from Address on, or of Memory if that isn't nil.
type MRInit struct {
	Address uint64 // in this process, or what stands for it with Memory
	Length  uint64
	IOVA    uint64 // the address of the first byte in scatter and gather entries, and for peers
	Access  ibv.AccessFlags
	Memory  Memory // whose first byte is the region's; it becomes the region's own
	Made    *callsite.Origin
}

// MR is a memory region. Its two keys are the same number.
type MR struct {
	PD      *PD
	Key     uint32
	windows atomic.Int32 // bound to it

	mu        sync.Mutex
	init      MRInit
	grant     *grant
	published bool // to other processes
}

const (
	remoteRights = ibv.ACCESS_REMOTE_WRITE | ibv.ACCESS_REMOTE_READ | ibv.ACCESS_REMOTE_ATOMIC
	allRights    = remoteRights | ibv.ACCESS_LOCAL_WRITE | ibv.ACCESS_MW_BIND | ibv.ACCESS_ZERO_BASED |
		ibv.ACCESS_HUGETLB
	// optionalRights are those that a device may ignore (IBV_ACCESS_OPTIONAL_RANGE).
	optionalRights = 0x3ff00000
)

// checkRights refuses what ibv_reg_mr(3) forbids: remote writes and atomics need local ones.
func checkRights(a ibv.AccessFlags) error {
	switch {
	case a&ibv.ACCESS_ON_DEMAND != 0:
		return unix.EOPNOTSUPP
	case a&^(allRights|optionalRights) != 0,
		a&(ibv.ACCESS_REMOTE_WRITE|ibv.ACCESS_REMOTE_ATOMIC) != 0 && a&ibv.ACCESS_LOCAL_WRITE == 0:
		return unix.EINVAL
	}
	return nil
}

// checkMemory says whether memory can be used as the rights allow.
func (i *MRInit) checkMemory() error {
	if i.Address+i.Length < i.Address || i.IOVA+i.Length < i.IOVA {
		return unix.EINVAL
	}
	write := i.Access&(ibv.ACCESS_LOCAL_WRITE|ibv.ACCESS_REMOTE_WRITE) != 0
	if m, ok := i.Memory.(ReadOnly); ok && write && m.ReadOnly() {
		return unix.EFAULT
	}
	if i.Memory != nil || i.Length == 0 {
		return nil
	}
	return mapped(i.Address, i.Length, write)
}

func (i *MRInit) newGrant(pd *PD, key uint32) *grant {
	g := &grant{key: key, pd: pd, start: i.IOVA, length: i.Length, access: i.Access, memory: i.Memory,
		made: i.Made}
	if i.Access&ibv.ACCESS_ZERO_BASED != 0 {
		g.start = 0
	}
	if i.Memory == nil {
		g.bytes = bytesAt(i.Address, i.Length)
	}
	if w, ok := i.Memory.(Watched); ok && w.Strict() {
		g.watched = w
	}
	return g
}

// RegMR registers memory. After an error, Memory is still the caller's. Errors: EINVAL for rights or ranges that can't
// be, EOPNOTSUPP for IBV_ACCESS_ON_DEMAND, EFAULT for memory that isn't mapped or doesn't allow what the rights need,
// ENOMEM.
func (p *PD) RegMR(i MRInit) (*MR, error) {
	if err := checkRights(i.Access); err != nil {
		return nil, err
	}
	if err := i.checkMemory(); err != nil {
		return nil, err
	}
	d := p.Context.Device
	key, err := d.keys.reserve()
	if err != nil {
		return nil, err
	}
	m := &MR{PD: p, Key: key, init: i, grant: i.newGrant(p, key)}
	p.users.Add(1)
	d.keys.slot(key).Store(m.grant)
	m.publish()
	m.tellRegion(journal.Register)
	return m, nil
}

// Access is the region's rights.
func (m *MR) Access() ibv.AccessFlags {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.init.Access
}

// Rereg changes a region: of flags, CHANGE_TRANSLATION takes the memory of i, CHANGE_ACCESS its rights and Memory that
// has them, if there is one, CHANGE_PD the domain. Work that uses the region meanwhile may fail. The keys stay. After
// an error the region is as it was. Errors: as RegMR; EBUSY while windows are bound to it; EINVAL after its end.
func (m *MR) Rereg(flags ibv.ReregMRFlags, pd *PD, i MRInit) error {
	if flags == 0 || flags&^ibv.REREG_MR_FLAGS_SUPPORTED != 0 {
		return unix.EINVAL
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, domain := m.init, m.PD
	if flags&ibv.REREG_MR_CHANGE_TRANSLATION != 0 {
		next.Address, next.Length, next.IOVA = i.Address, i.Length, i.IOVA
	}
	others := flags&ibv.REREG_MR_CHANGE_TRANSLATION != 0 || i.Memory != nil
	if others {
		next.Memory = i.Memory
	}
	if flags&ibv.REREG_MR_CHANGE_ACCESS != 0 {
		next.Access = i.Access
	}
	if flags&ibv.REREG_MR_CHANGE_PD != 0 {
		domain = pd
	}
	if err := checkRights(next.Access); err != nil {
		return err
	}
	if err := next.checkMemory(); err != nil {
		return err
	}
	switch n := m.windows.Load(); {
	case n > 0:
		return unix.EBUSY
	case n < 0: // it has ended
		return unix.EINVAL
	}
	slot := m.PD.Context.Device.keys.slot(m.Key)
	slot.Store(nil)
	m.withdraw()
	m.grant.end()
	if old := m.init.Memory; old != nil && others {
		old.Close()
	}
	m.PD.users.Add(-1)
	domain.users.Add(1)
	m.PD, m.init, m.grant = domain, next, next.newGrant(domain, m.Key)
	slot.Store(m.grant)
	m.publish()
	return nil
}

// Dereg ends a region: nothing reaches its memory any more when it returns. Error: EBUSY while windows are bound.
func (m *MR) Dereg() error {
	m.checkFreed()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.windows.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	m.withdraw()
	m.PD.Context.Device.keys.release(m.Key)
	m.grant.end()
	if m.init.Memory != nil {
		m.init.Memory.Close()
	}
	m.PD.users.Add(-1)
	m.tellRegion(journal.Deregister)
	return nil
}
