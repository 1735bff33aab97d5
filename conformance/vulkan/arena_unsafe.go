package vulkan

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

const (
	arenaChunk = 256 << 10
	keptChunks = 16
	// spoiled is what memory holds that was given back: a driver that looks at a structure after its call shows.
	spoiled = 0xa5
)

// kept are chunks of closed arenas, for the next ones. Nearly each call has an arena, and to return its memory to the
// system took a sixth of the time of all cases.
var kept struct {
	sync.Mutex
	chunks [][]byte
}

// An Arena is memory outside Go's heap for the structures that a call passes to C.
// It only grows, until Reset or Close. It is safe for concurrent use.
type Arena struct {
	mu     sync.Mutex
	chunks [][]byte
	at     int // the chunk that is being filled
	off    int // its first free byte
}

// bytes returns n zeroed bytes, aligned to 16.
func (a *Arena) bytes(n int) unsafe.Pointer {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = (max(n, 1) + 15) &^ 15
	for {
		if a.at < len(a.chunks) {
			c := a.chunks[a.at]
			if a.off+n <= len(c) {
				b := c[a.off : a.off+n]
				clear(b)
				a.off += n
				return unsafe.Pointer(&b[0])
			}
			a.at, a.off = a.at+1, 0
			continue
		}
		a.chunks = append(a.chunks, chunk(n))
	}
}

// chunk gives n bytes or more.
func chunk(n int) []byte {
	kept.Lock()
	defer kept.Unlock()
	if last := len(kept.chunks) - 1; last >= 0 && n <= arenaChunk {
		c := kept.chunks[last]
		kept.chunks = kept.chunks[:last]
		return c
	}
	c, err := unix.Mmap(-1, 0, max(n, arenaChunk), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(fmt.Sprintf("vulkan: no memory for structures: %v", err))
	}
	return c
}

// spoil overwrites what was taken, and makes it free.
func (a *Arena) spoil() {
	for i, c := range a.chunks[:min(a.at+1, len(a.chunks))] {
		if i == a.at {
			c = c[:a.off]
		}
		for j := range c {
			c[j] = spoiled
		}
	}
	a.at, a.off = 0, 0
}

// Reset makes the arena's memory free for reuse; what was taken from it must no longer be used.
func (a *Arena) Reset() {
	a.mu.Lock()
	a.spoil()
	a.mu.Unlock()
}

// Close returns the memory, which must no longer be used.
func (a *Arena) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spoil()
	kept.Lock()
	defer kept.Unlock()
	for _, c := range a.chunks {
		if len(c) == arenaChunk && len(kept.chunks) < keptChunks {
			kept.chunks = append(kept.chunks, c)
		} else {
			_ = unix.Munmap(c)
		}
	}
	a.chunks = nil
}

// New returns a zeroed T in the arena.
func New[T any](a *Arena) *T {
	var t T
	return (*T)(a.bytes(int(unsafe.Sizeof(t))))
}

// Struct returns a zeroed extensible structure in the arena, its sType set.
func Struct[T any, P interface {
	*T
	StructureType() vk.StructureType
}](a *Arena) P {
	p := P(New[T](a))
	*(*vk.StructureType)(unsafe.Pointer(p)) = p.StructureType() // sType comes first
	return p
}

// Make returns n zeroed values of T in the arena.
func Make[T any](a *Arena, n int) []T {
	var t T
	return unsafe.Slice((*T)(a.bytes(n*int(unsafe.Sizeof(t)))), n)
}

// First is the address of a slice's first element, or nil.
func First[T any](s []T) *T { return unsafe.SliceData(s) }

// Put copies v into the arena. It is meant for scalars and handles.
func Put[T any](a *Arena, v T) *T {
	p := New[T](a)
	*p = v
	return p
}

// String puts s into the arena with a zero byte behind it.
func (a *Arena) String(s string) *byte {
	b := Make[byte](a, len(s)+1)
	copy(b, s)
	return &b[0]
}

// Strings puts a C array of C strings into the arena; nil for none.
func (a *Arena) Strings(s []string) **byte {
	if len(s) == 0 {
		return nil
	}
	p := Make[*byte](a, len(s))
	for i := range s {
		p[i] = a.String(s[i])
	}
	return &p[0]
}

// GoString reads a C string.
func GoString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Bytes is the n bytes of memory at p, as vkMapMemory returned it.
func Bytes(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

// Ptr makes a pNext (or any void pointer) of a typed one.
func Ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
