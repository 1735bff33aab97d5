// Package memcopy copies large blocks of memory by one thread as fast as the C library's memcpy.
//
// Go's copy is as fast while source and destination fit into the first cache. Beyond that, it is slower for two
// reasons:
//
//   - It copies by vectors on AMD's processors, and on Intel's if the destination isn't aligned. REP MOVSB is faster
//     from some size on (repMoves), and is used until source and destination would fill the last cache.
//   - From 1 MiB on it writes past the caches on amd64, which is faster for what the last cache can't hold, and takes
//     up to 1.8 times as long for what it holds. So without REP MOVSB a larger copy is done in pieces that Go's copy
//     keeps in the caches, until source and destination would fill half of the last cache. glibc has had the same limit
//     since 2.38 (sysdeps/x86/dl-cacheinfo.h, non_temporal_threshold).
//
// Faults are those of Go's copy: with debug.SetPanicOnFault they are panics with the address.
package memcopy

import (
	"math"
	"sync"
)

const (
	// smallBytes is the largest copy that is left to Go's copy on all processors.
	smallBytes = 16 << 10
	// pieceBytes is a size that Go's copy doesn't write past the caches.
	pieceBytes = 512 << 10
	// usualFirst and usualCache stand for a first and a last cache whose sizes the processor doesn't tell, as in some
	// virtual machines.
	usualFirst = 32 << 10
	usualCache = 32 << 20
)

// limits are the sizes in bytes from which on a copy is done in another way.
type limits struct {
	rep  int // REP MOVSB
	past int // past the caches
}

var limit = sync.OnceValue(func() limits {
	first, last := caches()
	if first <= 0 {
		first = usualFirst
	}
	if last <= 0 {
		last = usualCache
	}
	from, until := repMoves(first, last)
	if from == 0 {
		from, until = math.MaxInt-1, last/4
	}
	return limits{rep: max(from, smallBytes) + 1, past: max(until, 2*pieceBytes)}
})

// PastCaches says whether a copy of n bytes is faster past the caches.
func PastCaches(n int) bool { return n > pieceBytes && n >= limit().past }

// Copy copies len(dst) bytes from src, which has that many and shares none with dst.
func Copy(dst, src []byte) {
	if len(dst) <= smallBytes {
		copy(dst, src)
		return
	}
	large(dst, src)
}

// large is Copy of what takes long enough for a call to cost nothing.
func large(dst, src []byte) {
	switch l := limit(); {
	case len(dst) >= l.past:
		copy(dst, src)
		return
	case len(dst) >= l.rep:
		repMove(dst, src[:len(dst)])
		return
	}
	for len(dst) > 0 {
		n := copy(dst[:min(len(dst), pieceBytes)], src)
		dst, src = dst[n:], src[n:]
	}
}
