package verbs

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/memory"
	"farside/rdmasim"
	"farside/verbs/internal/engine"
)

var errNoMR = errors.New("no such memory region")

// memoryRegion is an ibv_mr.
type memoryRegion struct {
	at     uintptr
	pd     atomic.Pointer[protectionDomain]
	engine *engine.MR
	ending atomic.Bool
}

var memoryRegions = newSlots[memoryRegion, ibv.MR](1 << 20)

// regMR is ibv_reg_mr: domain, address, length, rights.
func regMR(c *cabi.Call) {
	register(c, c.Args[1], uint64(c.Args[2]), uint64(c.Args[1]), ibv.AccessFlags(c.Args[3]))
}

// regMRIOVA is ibv_reg_mr_iova and ibv_reg_mr_iova2: domain, address, length, address for users, rights.
func regMRIOVA(c *cabi.Call) {
	register(c, c.Args[1], uint64(c.Args[2]), uint64(c.Args[3]), ibv.AccessFlags(c.Args[4]))
}

func register(c *cabi.Call, address uintptr, length, iova uint64, access ibv.AccessFlags) {
	i := engine.MRInit{Address: uint64(address), Length: length, IOVA: iova, Access: access, Made: originOf(c)}
	var err error
	if i.Memory, err = deviceMemory(i.Address, length, access); err != nil {
		tellFreed(i.Made, i.Address, length, err)
		fail(c, unix.EFAULT, err)
		return
	}
	newMR(c, i, address)
}

// writing are the rights with which a region's memory is written.
const writing = ibv.ACCESS_LOCAL_WRITE | ibv.ACCESS_REMOTE_WRITE | ibv.ACCESS_REMOTE_ATOMIC

// deviceMemory is the memory of a device that has a remote address in this process (vkGetMemoryRemoteAddressNV), as
// nvidia-peermem takes the addresses of a GPU: wholly inside of one region that lives. It is nil for an address that
// isn't remote. Error: EFAULT, also for rights that were taken from peers.
func deviceMemory(address, length uint64, access ibv.AccessFlags) (engine.Memory, error) {
	if !rdmasim.IsRemote(address) {
		return nil, nil
	}
	var need rdmasim.Access
	for _, r := range []struct {
		flags ibv.AccessFlags
		need  rdmasim.Access
	}{{ibv.ACCESS_REMOTE_READ, rdmasim.AccessRead}, {ibv.ACCESS_REMOTE_ATOMIC, rdmasim.AccessAtomic},
		{ibv.ACCESS_LOCAL_WRITE | ibv.ACCESS_REMOTE_WRITE, rdmasim.AccessWrite}} {
		if access&r.flags != 0 {
			need |= r.need
		}
	}
	m, err := rdmasim.Map(address, length, need)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, unix.EFAULT)
	}
	return m, nil
}

// newMR makes a region in the domain that is the call's first argument. Its memory becomes the region's, or is closed.
func newMR(c *cabi.Call, i engine.MRInit, address uintptr) {
	release := func() {
		if i.Memory != nil {
			i.Memory.Close()
		}
	}
	p := protectionDomains.get(c.Args[0])
	if p == nil {
		release()
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	e, err := p.engine.RegMR(i)
	if err != nil {
		release()
		fail(c, unix.EINVAL, fmt.Errorf("%d bytes at %#x with rights %#x: %w", i.Length, i.Address, uint32(i.Access), err))
		return
	}
	m := &memoryRegion{engine: e}
	m.pd.Store(p)
	_, err = memoryRegions.insert(m, func(slot uintptr) {
		m.at = slot
		*at[ibv.MR](slot) = ibv.MR{Context: p.context.at, PD: p.at, Addr: address, Length: i.Length,
			Handle: memoryRegions.handle(slot), LKey: e.Key, RKey: e.Key}
	})
	if err != nil {
		_ = e.Dereg()
		fail(c, unix.ENOMEM, err)
		return
	}
	p.context.made(c, "ibv_mr", m.at)
	c.Result = m.at
}

func deregMR(c *cabi.Call) {
	m := memoryRegions.get(c.Args[0])
	if m == nil {
		fail(c, unix.EINVAL, errNoMR)
		return
	}
	destroy(c, memoryRegions, m, &m.ending, m.pd.Load().context, m.engine.Dereg)
}

// What ibv_rereg_mr returns (enum ibv_rereg_mr_err_code).
const (
	reregInput   = ^uintptr(0) // IBV_REREG_MR_ERR_INPUT, -1
	reregCommand = ^uintptr(3) // IBV_REREG_MR_ERR_CMD, -4
)

// reregMR is ibv_rereg_mr: region, what to change, domain, address, length, rights.
func reregMR(c *cabi.Call) {
	failed := func(result uintptr, errno unix.Errno, err error) {
		fail(c, errno, err)
		c.Result = result
	}
	m := memoryRegions.get(c.Args[0])
	if m == nil {
		failed(reregInput, unix.EINVAL, errNoMR)
		return
	}
	flags := ibv.ReregMRFlags(c.Args[1])
	i := engine.MRInit{Address: uint64(c.Args[3]), IOVA: uint64(c.Args[3]), Length: uint64(c.Args[4]),
		Access: ibv.AccessFlags(c.Args[5])}
	p := m.pd.Load()
	if flags&ibv.REREG_MR_CHANGE_PD != 0 {
		next := protectionDomains.get(c.Args[2])
		if next == nil || next.context != p.context {
			failed(reregInput, unix.EINVAL, errNoPD)
			return
		}
		p = next
	}
	x := at[ibv.MR](m.at)
	address, length, access := uint64(x.Addr), x.Length, m.engine.Access()
	if flags&ibv.REREG_MR_CHANGE_TRANSLATION != 0 {
		if i.Length == 0 || i.Address == 0 {
			failed(reregInput, unix.EINVAL, errNoMR)
			return
		}
		address, length = i.Address, i.Length
	}
	if flags&ibv.REREG_MR_CHANGE_ACCESS != 0 {
		access = i.Access
	}
	if flags&(ibv.REREG_MR_CHANGE_TRANSLATION|ibv.REREG_MR_CHANGE_ACCESS) != 0 {
		var err error
		if i.Memory, err = deviceMemory(address, length, access); err != nil {
			failed(reregCommand, unix.EFAULT, err)
			return
		}
	}
	if err := m.engine.Rereg(flags, p.engine, i); err != nil {
		if i.Memory != nil {
			i.Memory.Close()
		}
		failed(reregCommand, unix.EINVAL, err)
		return
	}
	m.pd.Store(p)
	x.PD = p.at
	if flags&ibv.REREG_MR_CHANGE_TRANSLATION != 0 {
		x.Addr, x.Length = c.Args[3], i.Length
	}
}

// regDMABufMR is ibv_reg_dmabuf_mr: domain, offset, length, address for users, descriptor, rights. Where the machine
// has no dma-bufs, vkGetMemoryFdKHR's opaque descriptors, which are memfds, stand for them.
func regDMABufMR(c *cabi.Call) {
	i := engine.MRInit{Address: uint64(c.Args[1]), Length: uint64(c.Args[2]), IOVA: uint64(c.Args[3]),
		Access: ibv.AccessFlags(c.Args[5])}
	m, err := mapFile(int(c.Int(4)), i.Address, i.Length, i.Access&writing != 0)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	i.Memory = m
	newMR(c, i, c.Args[1])
}

// file is the memory behind a descriptor.
type file struct {
	mapping, bytes []byte
	readOnly       bool
}

func (f *file) Enter() []byte  { return f.bytes }
func (f *file) Leave()         {}
func (f *file) Close()         { _ = unix.Munmap(f.mapping) }
func (f *file) ReadOnly() bool { return f.readOnly }

const dmaBufMagic = 0x444d4142 // DMA_BUF_MAGIC

// mapFile maps a part of a dma-buf or of a memfd. Errors: EINVAL for another kind of file and for a part that it
// doesn't have, EBADF, EACCES for a file that may not be written, ENOMEM.
func mapFile(fd int, offset, length uint64, write bool) (*file, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return nil, err
	}
	if fs.Type != dmaBufMagic {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil {
			return nil, fmt.Errorf("the descriptor is no dma-buf and no memfd: %w", unix.EINVAL)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if size := payload(fd, uint64(st.Size)); length == 0 || offset > size || length > size-offset {
		return nil, fmt.Errorf("%d bytes at %d of %d: %w", length, offset, size, unix.EINVAL)
	}
	protection := unix.PROT_READ
	if write {
		protection |= unix.PROT_WRITE
	}
	in := offset & uint64(unix.Getpagesize()-1)
	mapping, err := unix.Mmap(fd, int64(offset-in), int(in+length), protection, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &file{mapping: mapping, bytes: mapping[in:], readOnly: !write}, nil
}

// payload is how many of the bytes of a file are memory: those of vkGetMemoryFdKHR's opaque descriptors end in a page
// that says what they are.
func payload(fd int, size uint64) uint64 {
	page := memory.PageSize()
	if size < 2*page {
		return size
	}
	var b [memory.MetadataSize]byte
	if n, err := unix.Pread(fd, b[:], int64(size-page)); err != nil || n != len(b) {
		return size
	}
	m, err := memory.ParseMetadata(b[:])
	if err != nil || memory.RoundUpToPage(m.Size)+page != size {
		return size
	}
	return m.Size
}
