package rdmasim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A remote address, from its top: bit 63 is 0, bit 62 is 1, six bits of the owner's id, bit 55 is 1, fourteen
// more bits of the id, and 41 bits inside the owner's range. Bits 62 and 55 make it non-canonical on x86-64
// with four and five levels of page table; on arm64 bit 55 selects the kernel's half whatever the top byte
// is, so that neither can ever be mapped by a process, tagged pointers or not.
const (
	offsetBits   = 41
	offsetMask   = 1<<offsetBits - 1
	idBits       = 20
	idLowBits    = 14
	fixedMask    = 1<<63 | 1<<62 | 1<<55
	fixedPattern = 1<<62 | 1<<55
)

// pageSize is the unit of allocation in an owner's range, bytes.
var pageSize = uint64(os.Getpagesize())

// makeAddress returns the remote address of a byte in an owner's range.
func makeAddress(id uint32, offset uint64) uint64 {
	low := uint64(id) & (1<<idLowBits - 1)
	high := uint64(id) >> idLowBits
	return fixedPattern | high<<56 | low<<offsetBits | offset&offsetMask
}

// splitAddress returns the owner's id and the offset in its range; ok is false for a value that isn't a
// remote address.
func splitAddress(address uint64) (id uint32, offset uint64, ok bool) {
	if address&fixedMask != fixedPattern {
		return 0, 0, false
	}
	high := address >> 56 & (1<<(idBits-idLowBits) - 1)
	low := address >> offsetBits & (1<<idLowBits - 1)
	return uint32(high<<idLowBits | low), address & offsetMask, true
}

// socketName is the abstract unix address at which the owner answers; net's notation.
func socketName(id uint32) string { return fmt.Sprintf(socketPrefix+"%05x", id) }

const socketPrefix = "@farside-rdma-"

// AllowUIDs is the environment variable that lists further user ids, decimal and separated by commas, which
// an owner serves and which a peer believes. Nobody but the process' own effective user is trusted without
// it.
const AllowUIDs = "FARSIDE_FABRIC_ALLOW_UIDS"

// trust is the set of users that this process deals with.
type trust []uint32

func readTrust() (trust, error) {
	t := trust{uint32(os.Geteuid())}
	for _, f := range strings.FieldsFunc(os.Getenv(AllowUIDs), func(r rune) bool { return r == ',' || r == ' ' }) {
		uid, err := strconv.ParseUint(f, 10, 32)
		if err != nil {
			// A list of trusted users that can't be read is not to be guessed at.
			return nil, fmt.Errorf("rdmasim: %s: %w", AllowUIDs, err)
		}
		t = append(t, uint32(uid))
	}
	return t, nil
}

func (t trust) allows(uid uint32) bool {
	for _, u := range t {
		if u == uid {
			return true
		}
	}
	return false
}
