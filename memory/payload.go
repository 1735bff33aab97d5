package memory

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memfd"
	"farside/internal/vk"
)

// pageSize is the granule of mappings and of shared payloads' files.
var pageSize = uint64(unix.Getpagesize())

// RoundUpToPage rounds a size in bytes up to whole pages.
func RoundUpToPage(n uint64) uint64 { return (n + pageSize - 1) &^ (pageSize - 1) }

// PageSize returns the size of a page in bytes: the alignment of mappings and of imported host pointers.
func PageSize() uint64 { return pageSize }

type backing uint8

const (
	backedPrivate backing = iota // anonymous pages that only this process sees
	backedAlias                  // anonymous pages that may be mapped at several addresses
	backedFile                   // a descriptor that the payload owns
	backedForeign                // a mapping that the application owns
)

// Payload is the memory behind one or more VkDeviceMemory objects, of this or of other processes. It is made
// with one reference; the last Release unmaps it and closes its descriptor.
type Payload struct {
	more    atomic.Int32 // references beside the first; -1: the last is gone
	backing backing
	open    bool   // Publish has not sealed the file yet; guarded by mu
	closed  bool   // Publish has sealed the file against writing; guarded by mu
	file    *fd.FD // nil but for backedFile, like meta
	size    uint64
	id      uint64
	dmaBuf  atomic.Pointer[fd.FD] // the same pages as a dma-buf: file itself if that was imported; nil for none
	meta    *Metadata
	base    base
	mu      sync.Mutex // orders the first Map, the first DMABuf, Publish and further mappings
}

// NewAnonymous returns zeroed memory of size bytes, at least one, that can't leave the process. No system call is made
// before the first Map. MapAt does not work on it; see NewPlaceable.
func NewAnonymous(size uint64) (*Payload, error) { return new(Payload).anonymous(size, backedPrivate) }

// NewPlaceable is NewAnonymous for memory that MapAt and Map may both map: a host-visible allocation of a
// device with the memoryMapPlaced or the memoryUnmapReserve feature.
func NewPlaceable(size uint64) (*Payload, error) { return new(Payload).anonymous(size, backedAlias) }

// Anonymous is NewAnonymous, or NewPlaceable, for a caller who has a zero Payload in an object of his own. It returns
// p.
func (p *Payload) Anonymous(size uint64, placeable bool) (*Payload, error) {
	if placeable {
		return p.anonymous(size, backedAlias)
	}
	return p.anonymous(size, backedPrivate)
}

func (p *Payload) anonymous(size uint64, b backing) (*Payload, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	p.backing, p.size, p.id = b, size, newID()
	return p, nil
}

// NewShared returns zeroed memory of size bytes, at least one, in a sealed memfd, with metadata m behind it; Size and
// ID of m are filled in. It fails with ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, and
// with ERROR_OUT_OF_DEVICE_MEMORY or ERROR_OUT_OF_HOST_MEMORY when memory is short.
func NewShared(size uint64, m Metadata) (*Payload, error) { return newShared(size, m, false) }

// NewUnpublished is NewShared for memory whose descriptor the application never gets. The caller calls Publish before
// it gives the file to anybody else.
func NewUnpublished(size uint64, m Metadata) (*Payload, error) { return newShared(size, m, true) }

func newShared(size uint64, m Metadata, open bool) (*Payload, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	m.Size, m.ID = size, newID()
	p := &Payload{backing: backedFile, open: open, size: size, id: m.ID, meta: &m}
	page, encoded := RoundUpToPage(size), m.Encode()
	var err error
	p.file, err = memfd.Create(memfd.Spec{
		Name: "farside", Size: page + pageSize, Mode: memfd.Private, Content: encoded[:], At: page, Open: open,
	})
	if err != nil {
		return nil, systemError(err)
	}
	return p, nil
}

// Publish gives the file of NewUnpublished its last seals. With readOnly, this process is the only one that can write
// to the memory from then on, whoever gets the file in whatever way; without, all who get it for writing can. A later
// call, and one for other memory, does nothing. Errors: ERROR_MEMORY_MAP_FAILED, ERROR_OUT_OF_HOST_MEMORY.
func (p *Payload) Publish(readOnly bool) error {
	if readOnly {
		// The mapping that exists when the file is sealed is the one that can write.
		if _, err := p.Map(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		return nil
	}
	seal := memfd.Seal
	if readOnly {
		seal = memfd.SealWrites
	}
	if err := seal(p.file.Int()); err != nil {
		return systemError(err)
	}
	p.open, p.closed = false, readOnly
	return nil
}

// FromFD returns a payload over the first size bytes of a file, which the payload owns from now on. The caller
// has checked that the file is at least RoundUpToPage(size) bytes long and can't shrink. An m without an ID
// gets one.
func FromFD(file *fd.FD, size uint64, m Metadata) *Payload {
	p := &Payload{backing: backedFile, file: file, size: size, id: m.ID, meta: &m}
	if p.id == 0 {
		p.id = newID()
	}
	return p
}

// checkSize refuses what can't be mapped. A size of 0 has been refused where applications say it.
func checkSize(size uint64) error {
	if size > largestHeap {
		return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.NoVUID, "%d bytes are more than can be mapped", size)
	}
	return nil
}

// systemError gives a failed system call its VkResult.
func systemError(err error) error {
	r := vk.ERROR_OUT_OF_HOST_MEMORY
	switch {
	case fd.Exhausted(err):
		r = vk.ERROR_TOO_MANY_OBJECTS
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EFBIG), errors.Is(err, unix.EDQUOT):
		r = vk.ERROR_OUT_OF_DEVICE_MEMORY
	}
	return vk.Errorf(r, vk.NoVUID, "%w", err)
}

// Size returns the allocation's size in bytes, as it was asked for.
func (p *Payload) Size() uint64 { return p.size }

// ID returns a number that names the payload in every process that holds it
// (VkDeviceMemoryReportCallbackDataEXT::memoryObjectId).
func (p *Payload) ID() uint64 { return p.id }

// FD returns the descriptor of the payload's file, which stays the payload's; false for memory that has none.
func (p *Payload) FD() (int, bool) { return p.file.Int(), p.backing == backedFile }

// Disown leaves the payload's descriptor to whoever has taken its number: the last Release does not close it. The
// memory can't be exported any more.
func (p *Payload) Disown() { p.file.Disown() }

// Export returns a new close-on-exec descriptor of the payload's file, which is the caller's. Errors: fcntl(2),
// F_DUPFD_CLOEXEC; EBADF for memory that has no file.
func (p *Payload) Export() (int, error) { return p.file.Export() }

// Metadata returns what the payload's file says about itself; the zero value for memory without a file.
func (p *Payload) Metadata() Metadata {
	if p.meta == nil {
		return Metadata{}
	}
	return *p.meta
}

// Foreign says whether the memory is a mapping that belongs to the application.
func (p *Payload) Foreign() bool { return p.backing == backedForeign }

// Retain adds a reference and returns p.
func (p *Payload) Retain() *Payload {
	if p.more.Add(1) <= 0 {
		panic("memory: Retain of a payload that is gone")
	}
	return p
}

// TryRetain adds a reference, unless the last one is gone: then it returns false. It is for those who find a
// payload that somebody else may release at the same time.
func (p *Payload) TryRetain() bool {
	for {
		n := p.more.Load()
		if n < 0 {
			return false
		}
		if p.more.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release drops a reference; the last one unmaps the memory and closes its descriptor.
func (p *Payload) Release() {
	switch n := p.more.Add(-1); {
	case n >= 0:
		return
	case n < -1:
		panic("memory: Release of a payload that is gone")
	}
	if p.backing != backedForeign {
		p.unmap()
	}
	_ = p.file.Close()
	_ = p.dmaBuf.Load().Close()
}

var idState = struct {
	once sync.Once
	key  uint64
	n    atomic.Uint64
}{}

// newID returns a number that no other payload on the machine has, as far as 64 random bits can promise: a
// bijective mix of a counter within the process, begun at a random place.
func newID() uint64 {
	idState.once.Do(func() {
		var b [8]byte
		rand.Read(b[:])
		idState.key = binary.LittleEndian.Uint64(b[:])
	})
	for {
		x := idState.key + idState.n.Add(1)*0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		if x ^= x >> 31; x != 0 {
			return x
		}
	}
}
