package syncobj

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
)

var sample = metadata{Binary, Identity{[16]byte{0: 1, 15: 2}, [16]byte{0: 3, 15: 4}}}

func reseal(b []byte) {
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli()))
}

func TestMetadataRoundTrip(t *testing.T) {
	b := sample.encode()
	got, err := parseMetadata(append(b[:], "what follows is not looked at"...))
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
		{"short", "63 bytes", func(b []byte) []byte { return b[:63] }},
		{"magic", "magic", func(b []byte) []byte { b[7] = 'M'; reseal(b); return b }},
		{"version", "version 2", func(b []byte) []byte { b[8] = 2; reseal(b); return b }},
		{"length", "65 bytes long", func(b []byte) []byte { b[12] = 65; reseal(b); return b }},
		{"checksum", "checksum", func(b []byte) []byte { b[20] ^= 1; return b }},
		{"spare", "spare", func(b []byte) []byte { b[59] = 1; reseal(b); return b }},
		{"no kind", "kind 0", func(b []byte) []byte { b[48] = 0; reseal(b); return b }},
		{"kind", "kind 4", func(b []byte) []byte { b[48] = 4; reseal(b); return b }},
	} {
		b := sample.encode()
		m, err := parseMetadata(c.change(b[:]))
		if !errors.Is(err, errMetadata) || !strings.Contains(err.Error(), c.says) || m != (metadata{}) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for bit := range 8 * metadataSize {
		b := sample.encode()
		b[bit/8] ^= 1 << (bit % 8)
		if _, err := parseMetadata(b[:]); err == nil {
			t.Errorf("bit %d may be flipped", bit)
		}
	}
}

func FuzzParseMetadata(f *testing.F) {
	b := sample.encode()
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		for range 2 {
			m, err := parseMetadata(b)
			if err == nil {
				if e := m.encode(); string(e[:]) != string(b[:metadataSize]) {
					t.Errorf("%x is parsed, and encoded as %x", b[:metadataSize], e)
				}
			} else if !errors.Is(err, errMetadata) || m != (metadata{}) {
				t.Errorf("%+v, %v", m, err)
			}
			// The second time the checksum is right, so that what lies behind it is tried too.
			if len(b) < metadataSize {
				break
			}
			b = append([]byte(nil), b...)
			reseal(b)
		}
	})
}
