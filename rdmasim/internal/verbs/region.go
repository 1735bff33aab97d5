package verbs

import (
	"context"
	"fmt"
	"time"
)

// DrainTimeout bounds how long the free of a region waits for operations under way. Only a peer that is
// stopped, or that left its connection to a child when it died, takes longer than its copy.
const DrainTimeout = time.Second

// RegionInfo says what a region is.
type RegionInfo struct {
	Address    uint64 // remote address of the first byte
	Length     uint64 // bytes
	Key        uint64 // 64 random bits that no other region has
	Access     Access // what the owner grants
	PID        int    // of the owner's process, in this one's namespace
	UID        uint32 // effective user of the owner
	DeviceUUID [16]byte
	Name       string // the owner's, for people
	Strict     bool   // its owner looks at the order of operations (FARSIDE_STRICT=rdma)
}

// Owner is the id on the fabric of the region's owner, 20 bits.
func (i *RegionInfo) Owner() uint32 {
	id, _, _ := SplitAddress(i.Address)
	return id
}

// Possible says whether there can be such a region around an address. The region must lie in the range of the address'
// owner, and have no rights that don't exist. It checks what another process says of a region.
func (i *RegionInfo) Possible(address uint64) bool {
	owner, at, ok := SplitAddress(i.Address)
	id, _, _ := SplitAddress(address)
	return ok && owner == id && i.Length != 0 && i.Length <= OffsetMask && at+i.Length <= 1<<OffsetBits &&
		address-i.Address < i.Length && i.Access != 0 && i.Access&^AccessAll == 0
}

// Covers says whether an operation on n bytes at off, an offset from the region's base, stays inside of the
// region, and whether the region grants need.
func (i *RegionInfo) Covers(off, n uint64, need Access) bool {
	return off <= i.Length && n <= i.Length-off && i.Access&need == need
}

// Refusal is the error of an operation that the region doesn't cover: ErrOutOfRange or ErrAccess.
func (i *RegionInfo) Refusal(off, n uint64, need Access) error {
	if off > i.Length || n > i.Length-off {
		return fmt.Errorf("%w: %d bytes at %#x of region %#x+%#x", ErrOutOfRange, n, i.Address+off, i.Address, i.Length)
	}
	return fmt.Errorf("%w: needs %v, region %#x grants %v", ErrAccess, need, i.Address, i.Access)
}

// Counters is what peers have done to a region. An operation that failed because the region was freed under
// it may be counted, one that was refused is not.
type Counters struct {
	Reads, Writes, Atomics  uint64 // operations
	BytesRead, BytesWritten uint64 // by reads and writes
}

// RegionStatus is a region with what has been done to it.
type RegionStatus struct {
	RegionInfo
	Counters Counters
	Peers    int // that have it open
}

// View is a peer's way to one region. Offsets are from the region's base. Its methods may be called from any
// goroutine.
type View interface {
	// Read copies len(p) bytes at off to p. Errors: ErrStale, ErrOutOfRange, ErrAccess, and what ended the
	// region under the operation. Before any other error than the last p is as it was.
	Read(off uint64, p []byte) error
	// Write copies p to the region at off. Errors as Read.
	Write(off uint64, p []byte) error
	// Atomic applies op to the word of width bytes, 4 or 8, at off, a multiple of width, and returns what was
	// there. Errors as Read.
	Atomic(op Opcode, off, width, operand, compare uint64) (old uint64, err error)
	// Alive says whether an operation that begins now finds the region.
	Alive() bool
	// Failure is why a view that isn't alive can't be used.
	Failure() error
	// Close makes later operations fail with reason. What the view holds is given back when the last operation
	// under way has ended. The first reason stays.
	Close(reason error)
}

// ErrStale is what a view gives when the region was gone before the operation touched it. The address may have
// found a new region since, which a peer looks for. It is compared with ==, and no user gets it.
var ErrStale error = staleError{}

type staleError struct{}

func (staleError) Error() string { return ErrFreed.Error() + ": before the operation" }
func (staleError) Unwrap() error { return ErrFreed }

// Region is a region of another process as a peer has it.
type Region struct {
	Info RegionInfo
	View View
}

// Contains says whether the region covers an address.
func (r *Region) Contains(address uint64) bool { return address-r.Info.Address < r.Info.Length }

// CheckKey compares the region's key with the one that an operation gives, 0 for none. Error: ErrKey.
func (r *Region) CheckKey(key uint64) error {
	if key != 0 && key != r.Info.Key {
		return fmt.Errorf("%w: region %#x", ErrKey, r.Info.Address)
	}
	return nil
}

// Because replaces ErrStale by what ended the region.
func (r *Region) Because(err error) error {
	if err == ErrStale {
		return r.View.Failure()
	}
	return err
}

// Fabric is a way to regions. Its methods may be called from any goroutine.
type Fabric interface {
	// Resolve finds the region around an address, which must have the key, or any for 0, and grant need, and
	// puts it into the fabric's table.
	Resolve(ctx context.Context, address, key uint64, need Access) (*Region, error)
	// Regions lists the regions that there are. Error, where a fabric tells none: ErrPermission.
	Regions(ctx context.Context) ([]RegionStatus, error)
	// Close ends the connections. The table has been closed before, and the contexts of calls of Resolve that
	// are under way have ended. It is called once.
	Close()
}
