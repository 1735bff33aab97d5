package texel

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"farside/internal/vk"
)

// Every compressed format has blocks, of the size and extent that the registry gives them.
func TestBlocksOfEveryFormat(t *testing.T) {
	n := 0
	for _, f := range vk.AllFormats {
		storage, ok := FormatOf(f)
		b, compressed := BlocksOf(f)
		if compressed != (ok && storage.Compressed) {
			t.Errorf("%v has blocks: %v", f, compressed)
		}
		if !compressed {
			continue
		}
		n++
		width, height := b.Extent()
		if storage.Block != [3]uint32{uint32(width), uint32(height), 1} ||
			storage.Planes[0].BlockSize != uint32(b.Size()) {
			t.Errorf("%v: blocks of %d x %d texels and %d bytes, want %v", f, width, height, b.Size(), storage)
		}
		codec, ok := CodecOf(b.Unpacked(), vk.IMAGE_ASPECT_COLOR_BIT)
		if !ok || codec.Class() != Float || b.UnpackedSize() != codec.Size()*width*height ||
			b.UnpackedSize() > MostBlockBytes {
			t.Errorf("%v: %d bytes of %v", f, b.UnpackedSize(), b.Unpacked())
		}
	}
	if n != 68 {
		t.Errorf("%d compressed formats, want 68", n)
	}
}

// knownBlocks has blocks of each format of BPTC and ASTC, with the CRC-32 of their texels as another decoder, that of
// the Khronos CTS, has them. Of BPTC these are all modes; of ASTC numbers of partitions and planes, with kinds of ends,
// void extents and errors.
//
//go:embed testdata/blocks.txt
var knownBlocks string

func TestKnownBlocks(t *testing.T) {
	formats := make(map[string]vk.Format)
	for _, f := range vk.AllFormats {
		formats[f.String()] = f
	}
	n := 0
	for line := range strings.Lines(knownBlocks) {
		var name string
		var block []byte
		var want uint32
		if _, err := fmt.Sscanf(line, "%s %x %x", &name, &block, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		f := formats["VK_FORMAT_"+name+"_BLOCK"]
		b, ok := BlocksOf(f)
		if !ok {
			t.Fatalf("%q: no such format", line)
		}
		n++
		dst := make([]byte, b.UnpackedSize())
		b.Decode(dst, block)
		if got := crc32.ChecksumIEEE(dst); got != want {
			t.Errorf("%s: CRC %08x of % x", strings.TrimSpace(line), got, dst)
		}
	}
	if n != 418 {
		t.Errorf("%d blocks, want 418", n)
	}
}

// decoded decodes a block that is written in hexadecimal, from its first byte on.
func decoded(t *testing.T, f vk.Format, block string) []byte {
	t.Helper()
	b, ok := BlocksOf(f)
	if !ok {
		t.Fatalf("no blocks of %v", f)
	}
	bytes, err := hex.DecodeString(strings.ReplaceAll(block, " ", ""))
	if err != nil || len(bytes) != b.Size() {
		t.Fatalf("block %q of %d bytes: %v", block, b.Size(), err)
	}
	dst := make([]byte, b.UnpackedSize())
	b.Decode(dst, bytes)
	return dst
}

// floats are the channels of a texel of 32-bit floats.
func floats(texels []byte, texel, channels int) (c [4]float32) {
	for i := range channels {
		c[i] = math.Float32frombits(binary.LittleEndian.Uint32(texels[(texel*channels+i)*4:]))
	}
	return c
}

// Blocks whose texels follow from the specification's formulas by hand.
func TestBCColors(t *testing.T) {
	// Ends (31, 63, 0) / (31, 63, 31) and (0, 21, 31); codes 0, 1, 2, 3 in the first row, 3 in all others.
	const more, less = "e0ff bf02 e4ffffff", "bf02 e0ff e4ffffff"
	linear := func(r, g, b float64) [4]float32 { return [4]float32{float32(r), float32(g), float32(b), 1} }
	eotf := func(r, g, b float64) [4]float32 { return linear(srgbEOTF(r), srgbEOTF(g), srgbEOTF(b)) }
	four := [4][3]float64{{1, 1, 0}, {0, 1 / 3., 1}, {2 / 3., 7 / 9., 1 / 3.}, {1 / 3., 5 / 9., 2 / 3.}}
	three := [4][3]float64{{0, 1 / 3., 1}, {1, 1, 0}, {.5, 2 / 3., .5}, {}}
	const alphas = "f0 12 34 56 78 9a bc de"
	for _, c := range []struct {
		format vk.Format
		block  string
		colors [4][3]float64
		alpha  [5]float64 // of the first row and the last texel
	}{
		{vk.FORMAT_BC1_RGB_UNORM_BLOCK, more, four, [5]float64{1, 1, 1, 1, 1}},
		{vk.FORMAT_BC1_RGB_UNORM_BLOCK, less, three, [5]float64{1, 1, 1, 1, 1}},
		{vk.FORMAT_BC1_RGBA_UNORM_BLOCK, less, three, [5]float64{1, 1, 1, 0, 0}},
		{vk.FORMAT_BC1_RGBA_SRGB_BLOCK, more, four, [5]float64{1, 1, 1, 1, 1}},
		{vk.FORMAT_BC1_RGB_SRGB_BLOCK, less, three, [5]float64{1, 1, 1, 1, 1}},
		// Here the order of the ends says nothing.
		{vk.FORMAT_BC2_UNORM_BLOCK, alphas + more, four, [5]float64{0, 1, 2 / 15., 1 / 15., 13 / 15.}},
		{vk.FORMAT_BC2_SRGB_BLOCK, alphas + more, four, [5]float64{0, 1, 2 / 15., 1 / 15., 13 / 15.}},
		// Alpha from 255 to 10, codes 0, 1, 2, 7 and 3.
		{vk.FORMAT_BC3_UNORM_BLOCK, "ff0a 880e00 000060" + more, four,
			[5]float64{1, 10 / 255., (6*255 + 10) / 7. / 255, (255 + 6*10) / 7. / 255, (5*255 + 2*10) / 7. / 255}},
		// Alpha from 10 to 255: codes 6 and 7 are 0 and 1.
		{vk.FORMAT_BC3_SRGB_BLOCK, "0aff be0e00 000040" + more, four,
			[5]float64{0, 1, (4*10 + 255) / 5. / 255, 1, (4*10 + 255) / 5. / 255}},
	} {
		dst := decoded(t, c.format, c.block)
		number := linear
		if strings.Contains(c.format.String(), "SRGB") {
			number = eotf
		}
		for i, at := range [5]int{0, 1, 2, 3, 15} {
			color := c.colors[min(i, 3)]
			want := number(color[0], color[1], color[2])
			want[3] = float32(c.alpha[i])
			if got := floats(dst, at, 4); got != want {
				t.Errorf("%v %s: texel %d is %v, want %v", c.format, c.block, at, got, want)
			}
		}
	}
}

func TestBCChannels(t *testing.T) {
	const codes = "88c6fa 88c6fa" // 0, 1, 2, 3, 4, 5, 6, 7, twice
	for _, c := range []struct {
		format vk.Format
		ends   string
		want   [8]float64 // by code
	}{
		{vk.FORMAT_BC4_UNORM_BLOCK, "6e05", [8]float64{770, 35, 665, 560, 455, 350, 245, 140}},
		{vk.FORMAT_BC4_UNORM_BLOCK, "056e", [8]float64{35, 770, 182, 329, 476, 623, 0, 255 * 7}},
		{vk.FORMAT_BC4_UNORM_BLOCK, "0505", [8]float64{35, 35, 35, 35, 35, 35, 0, 255 * 7}},
		{vk.FORMAT_BC4_SNORM_BLOCK, "10f2", [8]float64{112, -98, 82, 52, 22, -8, -38, -68}},
		{vk.FORMAT_BC4_SNORM_BLOCK, "f210", [8]float64{-98, 112, -56, -14, 28, 70, -127 * 7, 127 * 7}},
		// -128 counts as -127, and yet is less.
		{vk.FORMAT_BC4_SNORM_BLOCK, "8180", [8]float64{-889, -889, -889, -889, -889, -889, -889, -889}},
		{vk.FORMAT_BC4_SNORM_BLOCK, "8081", [8]float64{-889, -889, -889, -889, -889, -889, -889, 889}},
	} {
		most := 255.
		two := vk.Format(vk.FORMAT_BC5_UNORM_BLOCK)
		if c.format == vk.FORMAT_BC4_SNORM_BLOCK {
			most, two = 127, vk.FORMAT_BC5_SNORM_BLOCK
		}
		one := decoded(t, c.format, c.ends+codes)
		both := decoded(t, two, c.ends+codes+"ff00"+codes)
		for i := range 16 {
			want := float32(c.want[i%8] / (7 * most))
			if got := floats(one, i, 1)[0]; got != want {
				t.Errorf("%v %s: code %d is %v, want %v", c.format, c.ends, i%8, got, want)
			}
			if got := floats(both, i, 2)[0]; got != want {
				t.Errorf("%v %s: code %d is %v, want %v", two, c.ends, i%8, got, want)
			}
		}
		// The second channel has ends of its own.
		want := [2]float32{1, 0}
		if most == 127 {
			want = [2]float32{-1. / 127, 0}
		}
		if got := [2]float32{floats(both, 0, 2)[1], floats(both, 1, 2)[1]}; got != want {
			t.Errorf("%v: green is %v, want %v", two, got, want)
		}
	}
}

func TestBPTCWithoutMode(t *testing.T) {
	for _, f := range []vk.Format{vk.FORMAT_BC7_UNORM_BLOCK, vk.FORMAT_BC7_SRGB_BLOCK} {
		if got := decoded(t, f, "00ffffff ffffffff ffffffff ffffffff"); !bytes.Equal(got, make([]byte, 64)) {
			t.Errorf("%v: % x", f, got)
		}
	}
	for _, mode := range []string{"13", "17", "1b", "1f"} {
		for _, f := range []vk.Format{vk.FORMAT_BC6H_UFLOAT_BLOCK, vk.FORMAT_BC6H_SFLOAT_BLOCK} {
			got := decoded(t, f, mode+"ffffff ffffffff ffffffff ffffffff")
			if want := bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0x3c}, 16); !bytes.Equal(got, want) {
				t.Errorf("%v, mode %s: % x", f, mode, got)
			}
		}
	}
}

// Fields of modes take all bits up to the pattern or the indices.
func TestBC6HFields(t *testing.T) {
	n := 0
	for number, l := range bc6Layouts() {
		if l == nil {
			continue
		}
		n++
		last := l.parts[len(l.parts)-1]
		if end, want := int(last.at+last.width), [3]int{0, 65, 77}[l.subsets]; end != want {
			t.Errorf("the ends of mode %d reach to bit %d, want %d", number, end, want)
		}
		var bits [12]int
		for _, p := range l.parts {
			bits[p.end*3+p.channel] += int(p.width)
		}
		for i, got := range bits[:l.subsets*6] {
			want := int(l.bits)
			if i >= 3 && l.transformed {
				want = int(l.delta[i%3])
			}
			if got != want {
				t.Errorf("mode %d: channel %d of end %d has %d bits, want %d", number, i%3, i/3, got, want)
			}
		}
	}
	if n != 14 {
		t.Errorf("%d modes, want 14", n)
	}
}
