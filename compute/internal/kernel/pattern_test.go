package kernel

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// Loads and stores whose offsets have an order over several chunks give what those in Go give, within the memory,
// across its end and beyond it. A page that is not to be touched would not find a read that stays near; the bytes
// around do for writes.
func TestPatterns(t *testing.T) {
	if Best() == Go() {
		t.Skip("this machine has one set")
	}
	patterns := map[string]func(lane int) int{
		"consecutive": func(lane int) int { return lane },
		"rows of 32":  func(lane int) int { return lane/32*48 + lane%32 },
		"rows of 16":  func(lane int) int { return lane/16*40 + lane%16 },
		"rows of 8":   func(lane int) int { return lane/8*24 + lane%8 },
		"backwards":   func(lane int) int { return chunks*Width - lane },
		"equal":       func(int) int { return 5 },
		"by 16":       func(lane int) int { return lane / 16 },
		"by 8":        func(lane int) int { return lane / 8 },
		"by twos":     func(lane int) int { return 2 * lane },
		"by threes":   func(lane int) int { return 3 * lane },
		"by fours":    func(lane int) int { return 4 * lane },
		"first":       func(lane int) int { return max(lane-40, 0) },
		"one off":     func(lane int) int { return lane + lane/61 },
	}
	sizes := map[Op]int{LoadU8: 1, LoadU16: 2, Load32: 4, Load64: 8, Store8: 1, Store16: 2, Store32: 4, Store64: 8}
	for op, size := range sizes {
		bits := 32
		if size == 8 {
			bits = 64
		}
		random := rand.New(rand.NewPCG(9, uint64(op)))
		for name, pattern := range patterns {
			t.Run(fmt.Sprintf("%s/%s", op, name), func(t *testing.T) {
				for range 200 {
					whole := make([]byte, 4096)
					for i := range whole {
						whole[i] = byte(random.Uint32())
					}
					other := bytes.Clone(whole)
					args := Args{Immediate: uint64(random.IntN(64))}
					f := newFile()
					args.A = f.register(32, random.IntN(8) == 0)
					lane, base := 0, random.IntN(64)*size-random.IntN(2)*16*size
					fill(args.A, 32, func() uint64 {
						lane++
						return uint64(base + pattern(lane-1)*size)
					})
					args.B = f.register(bits, random.IntN(4) == 0)
					fill(args.B, bits, random.Uint64)
					if random.IntN(3) == 0 {
						args.Mask = f.register(32, random.IntN(4) == 0)
						most := random.IntN(9) + 1
						fill(args.Mask, 32, func() uint64 { return uint64(mask(random.IntN(most) > 0)) })
					}
					first := random.IntN(chunks)
					n := random.IntN(chunks - first + 1)
					length := uint64(random.IntN(1200))
					var results [2]Register
					for i, s := range sets() {
						results[i] = f.register(bits, false)
						fill(results[i], bits, func() uint64 { return 0x5555555555555555 })
						memory := [][]byte{whole, other}[i]
						args.Dst, args.Memory = results[i], &Memory{Base: unsafe.Pointer(&memory[1024]), Size: length}
						s.Ops[op](&args, first, n)
					}
					if !bytes.Equal(whole, other) {
						t.Fatalf("%d from %d, base %d + %d, %d bytes: the memory differs", n, first, base, args.Immediate, length)
					}
					for chunk := range chunks {
						for lane := range Width {
							if a, b := get(results[0], bits, chunk, lane), get(results[1], bits, chunk, lane); a != b {
								t.Fatalf("%d from %d, base %d + %d, %d bytes: chunk %d, lane %d: Go %#x, vectors %#x", n, first, base,
									args.Immediate, length, chunk, lane, a, b)
							}
						}
					}
				}
			})
		}
	}
}
