package icd

import "unsafe"

// bytesOfWords is the memory of words.
func bytesOfWords(words []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*4)
}
