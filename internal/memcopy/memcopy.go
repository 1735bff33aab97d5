// Package memcopy copies large blocks of memory by one thread as fast as the C library's memcpy.
//
// Go's copy is as fast below 1 MiB. From there on it writes past the caches on amd64, which is faster for what the
// last cache can't hold, and takes up to 1.8 times as long for what it holds. So a larger copy is done in pieces that
// Go's copy keeps in the caches, until source and destination would fill half of the last cache. glibc has had the
// same limit since 2.38 (sysdeps/x86/dl-cacheinfo.h, non_temporal_threshold).
//
// Faults are those of Go's copy: with debug.SetPanicOnFault they are panics with the address.
package memcopy

import "sync"

const (
	// pieceBytes is a size that Go's copy doesn't write past the caches.
	pieceBytes = 512 << 10
	// usualCache stands for a last cache whose size the processor doesn't tell.
	usualCache = 32 << 20
)

// pastBytes is the size from which on a copy goes past the caches.
var pastBytes = sync.OnceValue(func() int {
	size := lastCache()
	if size <= 0 {
		size = usualCache
	}
	return max(size/4, 2*pieceBytes)
})

// PastCaches says whether a copy of n bytes is faster past the caches.
func PastCaches(n int) bool { return n > pieceBytes && n >= pastBytes() }

// Copy copies len(dst) bytes from src, which has that many and shares none with dst.
func Copy(dst, src []byte) {
	if len(dst) <= pieceBytes || PastCaches(len(dst)) {
		copy(dst, src)
		return
	}
	for len(dst) > 0 {
		n := copy(dst[:min(len(dst), pieceBytes)], src)
		dst, src = dst[n:], src[n:]
	}
}
