package texel

import (
	"encoding/binary"
	"math"
	"testing"

	"farside/internal/vk"
)

func unpack(t *testing.T, f vk.Format, words ...uint64) []byte {
	t.Helper()
	b, ok := BlocksOf(f)
	if !ok {
		t.Fatalf("no blocks of %v", f)
	}
	var block []byte
	for _, w := range words {
		block = binary.BigEndian.AppendUint64(block, w)
	}
	dst := make([]byte, b.UnpackedSize())
	b.Decode(dst, block)
	return dst
}

// Blocks whose texels follow from the specification by hand, one for each mode.
func TestETC2Modes(t *testing.T) {
	const rgb, punch = vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK, vk.FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK
	for _, c := range []struct {
		name   string
		format vk.Format
		word   uint64
		texels map[[2]int][4]byte
	}{
		// Individual: colours 4, 8, 12 and 15, 0, 1; tables 1 (5, 17) and 0 (2, 8); texel (1, 2) has index 3, (2, 0) 1.
		{"individual", rgb, 0x4f80c1<<40 | 1<<37 | 1<<(16+6) | 1<<6 | 1<<8, map[[2]int][4]byte{
			{0, 0}: {68 + 5, 136 + 5, 204 + 5, 255}, {1, 2}: {68 - 17, 136 - 17, 204 - 17, 255},
			{2, 0}: {255, 8, 25, 255}, {3, 3}: {255, 2, 19, 255},
		}},
		// Differential, flipped: colour 10, 20, 30 with -1, 2, 1 below; all texels have index 2 (the first distance,
		// negative).
		{"differential", rgb, uint64(10<<3|7)<<56 | (20<<3|2)<<48 | (30<<3|1)<<40 | 1<<33 | 1<<32 | 0xffff<<16,
			map[[2]int][4]byte{
				{3, 1}: {82 - 2, 165 - 2, 247 - 2, 255}, {0, 2}: {74 - 2, 181 - 2, 255 - 2, 255},
			}},
		// The same with transparent texels: of index 2, while those of index 0 have no distance.
		{"transparent", punch, uint64(10<<3|7)<<56 | (20<<3|2)<<48 | (30<<3|1)<<40 | 1<<32 | 1<<16, map[[2]int][4]byte{
			{0, 0}: {0, 0, 0, 0}, {3, 1}: {82, 165, 247, 255},
		}},
	} {
		got := unpack(t, c.format, c.word)
		for at, want := range c.texels {
			if g := [4]byte(got[(at[1]*4+at[0])*4:]); g != want {
				t.Errorf("%s: texel %v is %v, want %v", c.name, at, g, want)
			}
		}
	}
}

// T, H and planar modes are found by sums that overflow.
func TestETC2OverflowModes(t *testing.T) {
	const format = vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK
	texel := func(b []byte, x, y int) [4]byte { return [4]byte(b[(y*4+x)*4:]) }
	// T: bits 63 to 61 are 0 and bit 58 is 1, so that red 0..3 and a difference of -4 or more is below 0.
	// The first colour is (0<<2 | 1, 7, 8), the second (9, 10, 11), the distance 16.
	w := uint64(1<<58 | 1<<56 | 7<<52 | 8<<48 | 9<<44 | 10<<40 | 11<<36 | 1<<34 | 1<<33 | 1<<32)
	w |= 1<<1 | 1<<(16+2) | 1<<3 | 1<<(16+3) // texels (0, 1), (0, 2) and (0, 3) have 1, 2 and 3
	got := unpack(t, format, w)
	for y, want := range [][4]byte{{17, 119, 136, 255}, {153 + 16, 170 + 16, 187 + 16, 255}, {153, 170, 187, 255},
		{153 - 16, 170 - 16, 187 - 16, 255}} {
		if g := texel(got, 0, y); g != want {
			t.Errorf("T: texel (0, %d) is %v, want %v", y, g, want)
		}
	}
	// H: green is 0 with a difference of -4 (bits 55 to 53 are 0, bit 50 is 1), red does not overflow. Colours (2, 1, 9)
	// and (2, 1, 8): the first is larger, which adds 1 to the distance 4: 32.
	w = 2<<59 | 0<<56 | 1<<52 | 1<<51 | 1<<50 | 1<<47 | 2<<43 | 1<<39 | 8<<35 | 1<<34 | 1<<33
	w |= 1<<1 | 1<<(16+2) | 1<<3 | 1<<(16+3)
	got = unpack(t, format, w)
	for y, want := range [][4]byte{{66, 49, 185, 255}, {2, 0, 121, 255}, {66, 49, 168, 255}, {2, 0, 104, 255}} {
		if g := texel(got, 0, y); g != want {
			t.Errorf("H: texel (0, %d) is %v, want %v", y, g, want)
		}
	}
	// Planar: blue is 0 with a difference of -4 (bit 42). Origin (8, 4, 0), right (8+32, 4, 63), down (8, 4+64, 0).
	w = 8<<57 | 4<<49 | 1<<42 | 1<<33 | 20<<34 | 0<<32 | 4<<25 | 63<<19 | 8<<13 | 68<<6
	got = unpack(t, format, w)
	for at, want := range map[[2]int][4]byte{
		{0, 0}: {32, 8, 0, 255}, {2, 0}: {(2*(162-32) + 4*32 + 2) / 4, 8, (2*255 + 2) / 4, 255},
		{0, 3}: {32, (3*(137-8) + 4*8 + 2) / 4, 0, 255},
	} {
		if g := texel(got, at[0], at[1]); g != want {
			t.Errorf("planar: texel %v is %v, want %v", at, g, want)
		}
	}
}

func TestEAC(t *testing.T) {
	// Base 100, multiplier 2, table 13; texel (0, 0) has index 0 (-1), (1, 0) index 7 (9).
	w := uint64(100<<56 | 2<<52 | 13<<48 | 0<<45 | 7<<33)
	got := unpack(t, vk.FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK, w, 0)
	if got[3] != 98 || got[7] != 118 {
		t.Errorf("alpha %d and %d, want 98 and 118", got[3], got[7])
	}
	at := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[i:])) }
	got = unpack(t, vk.FORMAT_EAC_R11_UNORM_BLOCK, w)
	if a, b := at(got, 0), at(got, 4); a != float32(804-16)/2047 || b != float32(804+144)/2047 {
		t.Errorf("%v and %v", a*2047, b*2047)
	}
	// -128 counts as -127; without a multiplier the steps are the finest.
	w = 0x80<<56 | 0<<52 | 13<<48 | 7<<33
	got = unpack(t, vk.FORMAT_EAC_R11G11_SNORM_BLOCK, 5<<56|15<<52|7<<48|7<<45, w)
	if a, b, c := at(got, 0), at(got, 4), at(got, 12); a != 1 || b != float32(-127*8-1)/1023 ||
		c != float32(-127*8+9)/1023 {
		t.Errorf("%v, %v and %v", a*1023, b*1023, c*1023)
	}
}
