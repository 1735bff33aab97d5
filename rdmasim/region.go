package rdmasim

import (
	"fmt"

	"farside/rdmasim/internal/verbs"
)

// RemoteRegion is a region of another process as a peer sees it. It implements io.ReaderAt and io.WriterAt
// over offsets from the region's base; a transfer is whole or fails with ErrOutOfRange, so there is no
// io.EOF. It is valid until the region is freed, its owner dies or the peer is closed, and says which.
type RemoteRegion struct{ region *verbs.Region }

// Info is what the owner said about the region when it was resolved.
func (r *RemoteRegion) Info() RegionInfo { return r.region.Info }

// Base is the remote address of the region's first byte.
func (r *RemoteRegion) Base() uint64 { return r.region.Info.Address }

// Length is the region's size in bytes.
func (r *RemoteRegion) Length() uint64 { return r.region.Info.Length }

// Access is what the owner grants.
func (r *RemoteRegion) Access() Access { return r.region.Info.Access }

// Key is the region's key.
func (r *RemoteRegion) Key() uint64 { return r.region.Info.Key }

// offsetOf checks an io offset; a negative one is out of range.
func offsetOf(off int64) (uint64, error) {
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", ErrOutOfRange, off)
	}
	return uint64(off), nil
}

// ReadAt reads len(p) bytes at off from the region's base, or reports none as read. After ErrOutOfRange, ErrAccess and
// what a resolve gives p is as it was; after what ended the region, or the connection to it, meanwhile some bytes may
// have been read.
func (r *RemoteRegion) ReadAt(p []byte, off int64) (int, error) {
	at, err := offsetOf(off)
	if err == nil {
		err = r.region.View.Read(at, p)
	}
	if err != nil {
		return 0, r.explain(OpRead, at, err)
	}
	return len(p), nil
}

// WriteAt writes len(p) bytes at off from the region's base, or reports none as written; after ErrFreed
// some may have been.
func (r *RemoteRegion) WriteAt(p []byte, off int64) (int, error) {
	at, err := offsetOf(off)
	if err == nil {
		err = r.region.View.Write(at, p)
	}
	if err != nil {
		return 0, r.explain(OpWrite, at, err)
	}
	return len(p), nil
}

// AtomicAt does an atomic on the 64-bit word at off from the region's base, as [Peer.FetchAdd64] and the like do.
// Errors are theirs.
func (r *RemoteRegion) AtomicAt(op Opcode, off int64, operand, compare uint64) (old uint64, err error) {
	at, err := offsetOf(off)
	if err == nil && (r.region.Info.Address+at)&7 != 0 {
		err = ErrMisaligned
	}
	if err == nil {
		old, err = r.region.View.Atomic(op, at, 8, operand, compare)
	}
	if err != nil {
		return 0, r.explain(op, at, err)
	}
	return old, nil
}

func (r *RemoteRegion) explain(op Opcode, off uint64, err error) error {
	return failed(op, r.region.Info.Address+off, r.region.Because(err))
}

func failed(op Opcode, address uint64, err error) error {
	return fmt.Errorf("rdmasim: %v at %#x: %w", op, address, err)
}
