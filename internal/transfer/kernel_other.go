//go:build !amd64

package transfer

// fillChunk is how much of the destination is written word by word, and then copied to the rest: small enough to
// stay in the first cache.
const fillChunk = 4096

func fill(dst []byte, word uint32) {
	dst = dst[:len(dst)&^3]
	chunk := dst[:min(len(dst), fillChunk)]
	fillBytes(chunk, word)
	for rest := dst[len(chunk):]; len(rest) > 0; {
		rest = rest[copy(rest, chunk):]
	}
}

func fillPast(dst []byte, word uint32) { fill(dst, word) }

func copyPast(dst, src []byte) { copy(dst, src) }
