package memory

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
)

var sample = Metadata{
	DriverUUID: [16]byte{0: 1, 15: 2}, DeviceUUID: [16]byte{0: 3, 15: 4}, Size: 5000, ID: 77, MemoryType: 1,
	Properties: 0x101, HandleTypes: 0x1001, HandleTypesNV: 1, Dedicated: Dedicated{DedicatedImage, 99},
}

func reseal(b []byte) {
	binary.LittleEndian.PutUint32(b[100:], crc32.Checksum(b[:100], castagnoli()))
}

func TestMetadataRoundTrip(t *testing.T) {
	b := sample.Encode()
	got, err := ParseMetadata(append(b[:], "what follows is not looked at"...))
	if err != nil || got != sample {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestParseMetadataRefuses(t *testing.T) {
	for _, c := range []struct {
		name, says string
		change     func(b []byte) []byte
	}{
		{"empty", "0 bytes", func([]byte) []byte { return nil }},
		{"short", "103 bytes", func(b []byte) []byte { return b[:103] }},
		{"magic", "magic", func(b []byte) []byte { b[0]++; reseal(b); return b }},
		{"version", "version 2", func(b []byte) []byte { b[8] = 2; reseal(b); return b }},
		{"length", "105 bytes long", func(b []byte) []byte { b[12] = 105; reseal(b); return b }},
		{"checksum", "checksum", func(b []byte) []byte { b[20] ^= 1; return b }},
		{"spare", "spare", func(b []byte) []byte { b[97] = 1; reseal(b); return b }},
		{"no size", "size 0", func(b []byte) []byte { clear(b[48:56]); reseal(b); return b }},
		{"huge", "impossible", func(b []byte) []byte { b[55] = 0xff; reseal(b); return b }},
		{"kind", "dedicated kind 3", func(b []byte) []byte { b[88] = 3; reseal(b); return b }},
	} {
		b := sample.Encode()
		_, err := ParseMetadata(c.change(b[:]))
		if !errors.Is(err, ErrMetadata) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// The checksum notices every single flipped bit.
	for bit := range 8 * MetadataSize {
		b := sample.Encode()
		b[bit/8] ^= 1 << (bit % 8)
		if _, err := ParseMetadata(b[:]); err == nil {
			t.Errorf("bit %d may be flipped", bit)
		}
	}
}

func FuzzParseMetadata(f *testing.F) {
	b := sample.Encode()
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		for range 2 {
			m, err := ParseMetadata(b)
			if err == nil {
				if e := m.Encode(); string(e[:]) != string(b[:MetadataSize]) {
					t.Errorf("%x is parsed, and encoded as %x", b[:MetadataSize], e)
				}
			} else if !errors.Is(err, ErrMetadata) || m != (Metadata{}) {
				t.Errorf("%+v, %v", m, err)
			}
			// The second time the checksum is right, so that what lies behind it is tried too.
			if len(b) < MetadataSize {
				break
			}
			b = append([]byte(nil), b...)
			reseal(b)
		}
	})
}
