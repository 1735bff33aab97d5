// Package unlike gives random numbers that no other process has: seeds, names, numbers that peers tell each other
// apart by. Those of math/rand are alike in processes that were forked before the library was loaded: Go makes its seed
// of the 16 bytes that the kernel gives a program when it is executed (getauxval(3), AT_RANDOM).
package unlike

import (
	"crypto/rand"
	"encoding/binary"
)

// Uint64 returns 64 random bits.
func Uint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// Uint32N returns a random number below n, which is not 0.
func Uint32N(n uint32) uint32 {
	// Of 64 bits, what is left over by n makes no number likelier than another by more than 2^-32.
	return uint32(Uint64() % uint64(n))
}
