package command

import (
	"fmt"
	"syscall"
	"unsafe"
)

// mmap and munmap are variables for the tests, which count and refuse.
var (
	mmap   = syscall.Mmap
	munmap = syscall.Munmap
)

func mapWords(n, flags int) ([]uint64, error) {
	b, err := mmap(-1, 0, n*8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|flags)
	if err != nil {
		return nil, fmt.Errorf("%w: map %d bytes: %w", ErrMemory, n*8, err)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

func unmapWords(w []uint64) {
	if err := munmap(bytesOf(w)); err != nil {
		panic(fmt.Sprintf("farside: unmap a chunk of recorded commands: %v", err))
	}
}

func address(w []uint64) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(w))) }

// bytesOf is the memory of an array, bytesAt that of one structure.
func bytesOf[T any](list []T) []byte {
	var element T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list))*unsafe.Sizeof(element))
}

func bytesAt[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// store copies b to the begin of words, padded with zeros to a whole number of them, which it returns.
func store(words []uint64, b []byte) int {
	n := (len(b) + 7) / 8
	if n > 0 {
		words[n-1] = 0
		copy(bytesOf(words), b)
	}
	return n
}

// array takes count elements from the begin of words, and returns what is behind them.
func array[T any](words []uint64, count uint64) (list []T, rest []uint64, ok bool) {
	var element T
	size := uint64(unsafe.Sizeof(element))
	if count > uint64(len(words))*8/size {
		return nil, nil, false
	}
	list = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(words))), int(count))
	return list, words[(count*size+7)/8:], true
}

// structure takes one structure from the begin of words.
func structure[T any](words []uint64) (v *T, rest []uint64, ok bool) {
	list, rest, ok := array[T](words, 1)
	return unsafe.SliceData(list), rest, ok
}
