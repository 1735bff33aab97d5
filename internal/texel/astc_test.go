package texel

import (
	"bytes"
	"encoding/binary"
	"testing"

	"farside/internal/vk"
)

const (
	linear5x4 = vk.FORMAT_ASTC_5x4_UNORM_BLOCK
	srgb5x4   = vk.FORMAT_ASTC_5x4_SRGB_BLOCK
	hdr5x4    = vk.FORMAT_ASTC_5x4_SFLOAT_BLOCK
)

// halves repeats a texel of 16-bit floats.
func halves(r, g, b, a uint16) []byte {
	var t []byte
	for _, c := range [4]uint16{r, g, b, a} {
		t = binary.LittleEndian.AppendUint16(t, c)
	}
	return bytes.Repeat(t, 20)
}

func TestASTCVoidExtents(t *testing.T) {
	magenta, magentaBytes := halves(0x3c00, 0, 0x3c00, 0x3c00), bytes.Repeat([]byte{255, 0, 255, 255}, 20)
	const color = "ffff 0080 0300 ff0f" // 65535, 32768, 3 and 4095
	const everywhere = "fcfd ffffffffffff" + color
	for _, c := range []struct {
		name   string
		format vk.Format
		block  string
		want   []byte
	}{
		{"linear", linear5x4, everywhere, halves(0x3c00, 0x3800, 0x0300, 0x2bff)},
		{"hdr format", hdr5x4, everywhere, halves(0x3c00, 0x3800, 0x0300, 0x2bff)},
		{"sRGB", srgb5x4, everywhere, bytes.Repeat([]byte{255, 128, 0, 15}, 20)},
		// s from 1 to 2, t from 3 to 4
		{"extent", srgb5x4, "fc1d 0004 c0002000" + color, bytes.Repeat([]byte{255, 128, 0, 15}, 20)},
		{"no extent along s", srgb5x4, "fc1d 0002 c0002000" + color, magentaBytes},
		{"no extent along t", srgb5x4, "fc1d 0004 c0001800" + color, magentaBytes},
		{"reserved bit", srgb5x4, "fcf5 ffffffffffff" + color, magentaBytes},
		{"other reserved bit", linear5x4, "fcf9 ffffffffffff" + color, magenta},
		{"floats in a linear format", linear5x4, "fcff ffffffffffff 0000 003c 0040 0044", magenta},
		{"floats in an sRGB format", srgb5x4, "fcff ffffffffffff 0000 003c 0040 0044", magentaBytes},
		{"floats", hdr5x4, "fcff ffffffffffff 0000 003c 0040 0044", halves(0, 0x3c00, 0x4000, 0x4400)},
	} {
		if got := decoded(t, c.format, c.block); !bytes.Equal(got, c.want) {
			t.Errorf("%s: % x", c.name, got)
		}
	}
}

// A grid of 4 x 2 weights of three bits in a block of 5 x 4 texels: ends are (10, 20, 30, 40) and (110, 120, 130, 240).
func TestASTCWeights(t *testing.T) {
	var w word128
	set := func(at, n uint, v uint64) {
		for i := range n {
			if bit := v >> i & 1; at+i < 64 {
				w.low |= bit << (at + i)
			} else {
				w.high |= bit << (at + i - 64)
			}
		}
	}
	set(0, 11, 0x13)
	set(13, 4, 12)
	for i, v := range []uint64{10, 110, 20, 120, 30, 130, 40, 240} {
		set(17+uint(i)*8, 8, v)
	}
	for i, v := range []uint64{0, 7, 0, 7, 3, 3, 3, 3} {
		for bit := range uint(3) { // from the highest bit of the block down
			set(127-uint(i)*3-bit, 1, v>>bit)
		}
	}
	block := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, w.low), w.high)
	b, _ := BlocksOf(srgb5x4)
	dst := make([]byte, b.UnpackedSize())
	b.Decode(dst, block)
	// Weights 0 and 7 are 0 and 64 of 64, 3 is 27. Along x texels lie at 0, 12, 24, 36 and 48 of 48 sixteenths; along y
	// at 0, 5, 11 and 16 of 16.
	row := [5]int{0, 48, 32, 16, 64}
	for y, frac := range [4]int{0, 5, 11, 16} {
		for x := range 5 {
			weight := row[x]
			if frac != 0 {
				weight = gridWeight([]int{0, 64, 0, 64, 27, 27, 27, 27}, 4, 12*x, frac)
			}
			got := dst[(y*5+x)*4:][:4]
			for c, ends := range [4][2]int{{10, 110}, {20, 120}, {30, 130}, {40, 240}} {
				want := ((ends[0]<<8|0x80)*(64-weight) + (ends[1]<<8|0x80)*weight + 32) / 64 >> 8
				if int(got[c]) != want {
					t.Errorf("texel (%d, %d): channel %d is %d, want %d", x, y, c, got[c], want)
				}
			}
		}
	}
}

// gridWeight is the weight between four of a grid.
func gridWeight(grid []int, width, x, y int) int {
	grid = append(grid, make([]int, width+2)...) // beyond it all weighs nothing
	at := x/16 + y/16*width
	x, y = x%16, y%16
	w11 := (x*y + 8) / 16
	return (grid[at]*(16-x-y+w11) + grid[at+1]*(x-w11) + grid[at+width]*(y-w11) + grid[at+width+1]*w11 + 8) / 16
}

// Every value of packed digits unpacks to digits, each combination at least once.
func TestASTCDigits(t *testing.T) {
	trits, quints := make(map[[5]uint8]bool), make(map[[3]uint8]bool)
	for packed := range 256 {
		d := astcTrits(packed)
		for _, v := range d {
			if v > 2 {
				t.Errorf("%#x: digits %v", packed, d)
			}
		}
		trits[d] = true
	}
	for packed := range 128 {
		d := astcQuints(packed)
		for _, v := range d {
			if v > 4 {
				t.Errorf("%#x: digits %v", packed, d)
			}
		}
		quints[d] = true
	}
	if len(trits) != 243 || len(quints) != 125 {
		t.Errorf("%d and %d combinations", len(trits), len(quints))
	}
}

// Numbers of each range spread over all that they stand for: both ends, evenly, none twice.
func TestASTCRanges(t *testing.T) {
	check := func(r astcRange, most int, stretch func(uint8) uint8) {
		n := max(int(r.base), 1) << r.bits
		seen := make(map[uint8]bool)
		for v := range n {
			seen[stretch(uint8(v))] = true
		}
		if len(seen) != n || !seen[0] || !seen[uint8(most)] {
			t.Errorf("range %v has the numbers %v", r, seen)
		}
		gap := 0
		for v, last := 0, 0; v <= most; v++ {
			if seen[uint8(v)] {
				gap, last = max(gap, v-last), v
			}
		}
		if limit := most/(n-1) + 3; gap > limit {
			t.Errorf("range %v has a gap of %d, more than %d", r, gap, limit)
		}
	}
	for _, r := range astcColorRanges {
		check(r, 255, r.color)
	}
	for _, r := range astcWeightRanges {
		check(r, 64, r.weight)
	}
}
