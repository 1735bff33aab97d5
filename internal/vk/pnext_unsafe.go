package vk

import (
	"bytes"
	"iter"
	"unsafe"
)

// maxChain ends the walk over a pNext chain that an application has made cyclic. The registry has fewer
// structures than this that could be in one chain.
const maxChain = 1024

// maxString bounds the search for a string's NUL: 64 KiB.
const maxString = 64 << 10

// Chain yields the structures of a pNext chain, at most 1024. The link is read before the structure is
// yielded, so a consumer may overwrite it.
func Chain(chain unsafe.Pointer) iter.Seq[*BaseInStructure] {
	return func(yield func(*BaseInStructure) bool) {
		s := (*BaseInStructure)(chain)
		for n := 0; s != nil && n < maxChain; n++ {
			next := s.PNext
			if !yield(s) {
				return
			}
			s = next
		}
	}
}

// Find returns the first structure of type T in a pNext chain, or nil:
// vk.Find[vk.ExportMemoryAllocateInfo](info.PNext).
func Find[T any, P interface {
	*T
	StructureType() StructureType
}](chain unsafe.Pointer) P {
	if chain == nil { // most structures have none: the compiler puts this much into the callers
		return nil
	}
	return find[T, P](chain)
}

func find[T any, P interface {
	*T
	StructureType() StructureType
}](chain unsafe.Pointer) P {
	want := P(nil).StructureType()
	s := (*BaseInStructure)(chain)
	for n := 0; s != nil && n < maxChain; n++ {
		if s.SType == want {
			return P(unsafe.Pointer(s))
		}
		s = s.PNext
	}
	return nil
}

// manyElements is from how many elements on an array's end is looked at before anybody makes room for as many.
const manyElements = 1 << 10

// Slice is C's array of n elements at p; nil if p is. The end of a long one is read, unless it is bytes: a wrong count
// faults here, in the command, and not when memory for so many elements is missing, which would end the process.
func Slice[T any, N ~uint32 | ~uint64 | ~uintptr](p *T, n N) []T {
	if p == nil || n == 0 {
		return nil
	}
	list := unsafe.Slice(p, int(n))
	if n >= manyElements && unsafe.Sizeof(*p) > 1 {
		touch((*byte)(unsafe.Add(unsafe.Pointer(&list[len(list)-1]), unsafe.Sizeof(*p)-1)))
	}
	return list
}

// touch reads the byte.
//
//go:noinline
func touch(p *byte) byte { return *p }

// GoString copies C's NUL-terminated string at p, at most 64 KiB of it; "" if p is nil.
func GoString(p *byte) string {
	if p == nil {
		return ""
	}
	// Byte by byte: what follows the NUL may not be mapped.
	n := 0
	for n < maxString && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// CopyString stores s in a fixed char array, cut short where it doesn't fit and always NUL-terminated.
func CopyString(dst []byte, s string) {
	if len(dst) == 0 {
		return
	}
	n := copy(dst[:len(dst)-1], s)
	clear(dst[n:])
}

// FixedString is the string in a fixed char array: up to its NUL, or all of it.
func FixedString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// WriteArray answers a two-call enumeration: with out nil it stores the number of values in count; otherwise it
// copies as many as *count allows, stores how many these were, and returns INCOMPLETE if some were left out.
func WriteArray[T any](count *uint32, out *T, values []T) Result {
	if out == nil {
		*count = uint32(len(values))
		return SUCCESS
	}
	n := copy(Slice(out, *count), values)
	*count = uint32(n)
	if n < len(values) {
		return INCOMPLETE
	}
	return SUCCESS
}

// Bool32At is the VkBool32 at an offset, in bytes, into a structure: a FeatureField's.
func Bool32At(p unsafe.Pointer, offset uintptr) *uint32 {
	return (*uint32)(unsafe.Add(p, offset))
}
