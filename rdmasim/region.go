package rdmasim

import (
	"fmt"
)

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
}

// Owner is the id on the fabric of the region's owner, 20 bits.
func (i *RegionInfo) Owner() uint32 {
	id, _, _ := splitAddress(i.Address)
	return id
}

// checkKey compares the region's key with the one that an operation gives, 0 for none.
func (i *RegionInfo) checkKey(key uint64) error {
	if key != 0 && key != i.Key {
		return fmt.Errorf("%w: region %#x", ErrKey, i.Address)
	}
	return nil
}

// RemoteRegion is a region of another process as a peer sees it. It implements io.ReaderAt and io.WriterAt
// over offsets from the region's base; a transfer is whole or fails with ErrOutOfRange, so there is no
// io.EOF. It is valid until the region is freed, its owner dies or the peer is closed, and says which.
type RemoteRegion struct {
	info RegionInfo
	view *view
}

// Info is what the owner said about the region when it was resolved.
func (r *RemoteRegion) Info() RegionInfo { return r.info }

// Base is the remote address of the region's first byte.
func (r *RemoteRegion) Base() uint64 { return r.info.Address }

// Length is the region's size in bytes.
func (r *RemoteRegion) Length() uint64 { return r.info.Length }

// Access is what the owner grants.
func (r *RemoteRegion) Access() Access { return r.info.Access }

// Key is the region's key.
func (r *RemoteRegion) Key() uint64 { return r.info.Key }

// contains says whether the region covers an address.
func (r *RemoteRegion) contains(address uint64) bool { return address-r.info.Address < r.info.Length }

// offsetOf checks an io offset; a negative one is out of range.
func offsetOf(off int64) (uint64, error) {
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", ErrOutOfRange, off)
	}
	return uint64(off), nil
}

// ReadAt reads len(p) bytes at off from the region's base, or none.
func (r *RemoteRegion) ReadAt(p []byte, off int64) (int, error) {
	at, err := offsetOf(off)
	if err == nil {
		err = r.view.read(at, p)
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
		err = r.view.write(at, p)
	}
	if err != nil {
		return 0, r.explain(OpWrite, at, err)
	}
	return len(p), nil
}

func (r *RemoteRegion) explain(op Opcode, off uint64, err error) error {
	return failed(op, r.info.Address+off, r.view.because(err))
}

func failed(op Opcode, address uint64, err error) error {
	return fmt.Errorf("rdmasim: %v at %#x: %w", op, address, err)
}
