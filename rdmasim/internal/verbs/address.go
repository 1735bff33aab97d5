package verbs

import "os"

// A remote address, from its top: bit 63 is 0, bit 62 is 1, six bits of the owner's id, bit 55 is 1, fourteen
// more bits of the id, and 41 bits inside the owner's range. Bits 62 and 55 make it non-canonical on x86-64
// with four and five levels of page table; on arm64 bit 55 selects the kernel's half whatever the top byte
// is, so that neither can ever be mapped by a process, tagged pointers or not.
const (
	OffsetBits   = 41
	OffsetMask   = 1<<OffsetBits - 1
	IDBits       = 20
	idLowBits    = 14
	fixedMask    = 1<<63 | 1<<62 | 1<<55
	fixedPattern = 1<<62 | 1<<55
)

// PageSize is the unit of allocation in an owner's range, bytes.
var PageSize = uint64(os.Getpagesize())

// MakeAddress returns the remote address of a byte in an owner's range.
func MakeAddress(id uint32, offset uint64) uint64 {
	low := uint64(id) & (1<<idLowBits - 1)
	high := uint64(id) >> idLowBits
	return fixedPattern | high<<56 | low<<OffsetBits | offset&OffsetMask
}

// SplitAddress returns the owner's id and the offset in its range; ok is false for a value that isn't a
// remote address.
func SplitAddress(address uint64) (id uint32, offset uint64, ok bool) {
	if address&fixedMask != fixedPattern {
		return 0, 0, false
	}
	high := address >> 56 & (1<<(IDBits-idLowBits) - 1)
	low := address >> OffsetBits & (1<<idLowBits - 1)
	return uint32(high<<idLowBits | low), address & OffsetMask, true
}
