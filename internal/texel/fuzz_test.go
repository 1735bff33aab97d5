package texel

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"farside/internal/vk"
)

// fuzzBlocks decodes any bits as each format that is wanted: no byte beyond the texels changes, all others do, and
// texels are what the format can have.
func fuzzBlocks(f *testing.F, wanted ...string) {
	f.Add([]byte("0123456789abcdef"))
	f.Add(make([]byte, 16))
	f.Add(bytes.Repeat([]byte{255}, 16))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 16 {
			return
		}
		for _, format := range vk.AllFormats {
			b, ok := BlocksOf(format)
			name := strings.TrimPrefix(format.String(), "VK_FORMAT_")
			if !ok {
				continue
			}
			for _, prefix := range wanted {
				if !strings.HasPrefix(name, prefix) {
					continue
				}
				var results [2][]byte
				for i, fill := range [2]byte{0xa5, 0x5a} {
					results[i] = bytes.Repeat([]byte{fill}, b.UnpackedSize()+1)
					b.Decode(results[i], data)
					if results[i][b.UnpackedSize()] != fill {
						t.Errorf("%v: written behind the texels", format)
					}
				}
				dst := results[0][:b.UnpackedSize()]
				if !bytes.Equal(dst, results[1][:b.UnpackedSize()]) {
					t.Errorf("%v: not all of the texels are written", format)
				}
				checkTexels(t, format, b, dst, data)
			}
		}
	})
}

// checkTexels says whether decoded texels are numbers that the format can have.
func checkTexels(t *testing.T, format vk.Format, b *Blocks, dst, block []byte) {
	name := format.String()
	switch b.Unpacked() {
	case single1, single2, single4:
		low := float32(0)
		if strings.Contains(name, "SNORM") {
			low = -1
		}
		for i := 0; i < len(dst); i += 4 {
			if v := math.Float32frombits(binary.LittleEndian.Uint32(dst[i:])); !(v >= low && v <= 1) {
				t.Errorf("%v: %v", format, v)
			}
		}
	case half4:
		voidExtent := block[0] == 0xfc && block[1]&1 != 0 // its colour may be anything
		for i := 0; i < len(dst); i += 2 {
			v := binary.LittleEndian.Uint16(dst[i:])
			finite, signed := v&0x7c00 != 0x7c00, v&0x8000 != 0
			ok := finite && !signed
			switch {
			case strings.Contains(name, "BC6H_SFLOAT"):
				ok = finite || v == 0xfc00
			case strings.Contains(name, "ASTC") && strings.Contains(name, "SFLOAT"):
				ok = ok || voidExtent
			case strings.Contains(name, "ASTC"):
				ok = v <= 0x3c00
			}
			if !ok {
				t.Errorf("%v: bits %#x", format, v)
			}
		}
	default:
		for i := 3; i < len(dst) && strings.Contains(name, "ETC2") && b.Size() == 8; i += 4 {
			if a := dst[i]; a != 255 && (a != 0 || !strings.Contains(name, "A1")) {
				t.Errorf("%v: alpha %d", format, a)
			}
		}
	}
}

func FuzzETC2(f *testing.F) { fuzzBlocks(f, "ETC2", "EAC") }
func FuzzBC(f *testing.F)   { fuzzBlocks(f, "BC1", "BC2", "BC3", "BC4", "BC5") }
func FuzzBPTC(f *testing.F) { fuzzBlocks(f, "BC6H", "BC7") }
func FuzzASTC(f *testing.F) { fuzzBlocks(f, "ASTC") }
