package texel

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

// TestLanes holds the tables to the codec, for random texels of every format that has lanes.
func TestLanes(t *testing.T) {
	const texels = 1000
	seen := 0
	colorCodecs(t, func(t *testing.T, format vk.Format, c *Codec) {
		if !c.Laned() {
			return
		}
		seen++
		random := rand.New(rand.NewPCG(8, uint64(format)))
		src := make([]byte, texels*c.Size())
		for i := range src {
			src[i] = byte(random.Uint32())
		}
		numbers, words := make([][4]float64, texels), make([]uint64, texels)
		c.DecodeFloat(numbers, src)
		c.DecodeLanes(words, src)
		for i, w := range words {
			for slot, v := range numbers[i] {
				if got := w >> (16 * slot) & 0xffff; float64(got) != math.Round(v*65535) {
					t.Fatalf("channel %d of %v has %d in its lane", slot, numbers[i], got)
				}
			}
		}
		for i := range words {
			words[i] = random.Uint64()
			for slot := range 4 {
				numbers[i][slot] = float64(words[i]>>(16*slot)&0xffff) / 65535
			}
		}
		want, got := make([]byte, len(src)), bytes.Repeat([]byte{0xa5}, len(src)+8)
		c.EncodeFloat(want, numbers)
		c.EncodeLanes(got, words)
		if !bytes.Equal(got[:len(src)], want) {
			t.Error("lanes and numbers are encoded differently")
		}
		if !bytes.Equal(got[len(src):], bytes.Repeat([]byte{0xa5}, 8)) {
			t.Error("bytes after the row changed")
		}
	})
	// 8-bit UNORM and sRGB of one to four channels in two orders, the packed ones of 8 and 16 bits, and A8.
	if want := 2*(1+1+2+2+1) + 11 + 1; seen != want {
		t.Errorf("%d formats have lanes, want %d", seen, want)
	}
}

// TestTable makes a table of a function that is not a codec's, for channels of any places.
func TestTable(t *testing.T) {
	c := mustCodec(t, vk.FORMAT_A4R4G4B4_UNORM_PACK16, vk.IMAGE_ASPECT_COLOR_BIT)
	f := func(words []uint64, texels []byte) {
		for i := range words {
			a, b := uint64(texels[2*i]), uint64(texels[2*i+1])
			words[i] = 7<<32 | (a&15)*(a&15)<<40 | (a>>4+3)<<16 | (b&15^9)<<8 | (15 - b>>4)
		}
	}
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		src[2*i], src[2*i+1] = byte(i), byte(i>>8)
	}
	got, want := make([]uint64, 1<<16), make([]uint64, 1<<16)
	c.NewTable(f).Words(got, src)
	f(want, src)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("texel %#x: %#x, want %#x", i, got[i], want[i])
		}
	}
}

func TestPutWords(t *testing.T) {
	words := []uint64{0x0807060504030201, 0x1817161514131211}
	for size := 1; size <= 8; size++ {
		want := append(append([]byte{}, []byte{1, 2, 3, 4, 5, 6, 7, 8}[:size]...),
			[]byte{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}[:size]...)
		got := make([]byte, 2*size+3)
		PutWords(got, words, size)
		if !bytes.Equal(got, append(want, 0, 0, 0)) {
			t.Errorf("%d bytes of each: % x", size, got)
		}
	}
}
