package rdmasim

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// Every atomic, of both sizes, does to its word what it says, and nothing to the neighbours.
func TestAtomics(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 4096)
	r := register(t, o, fd, 64, 1024, AccessAll)
	const start64, start32 = 0xfedcba9876543210, 0x89abcdef
	for i, c := range []struct {
		op   func(a uint64) (uint64, error)
		want uint64
	}{
		{func(a uint64) (uint64, error) { return p.FetchAdd64(a, 1<<60) }, start64 + 1<<60 - 1<<64},
		{func(a uint64) (uint64, error) { return p.Swap64(a, 5) }, 5},
		{func(a uint64) (uint64, error) { return p.CompareSwap64(a, start64, 6) }, 6},
		{func(a uint64) (uint64, error) { return p.CompareSwap64(a, start64+1, 6) }, start64},
		{func(a uint64) (uint64, error) { return p.FetchAnd64(a, 0xff00ff) }, start64 & 0xff00ff},
		{func(a uint64) (uint64, error) { return p.FetchOr64(a, 0xff00ff) }, start64 | 0xff00ff},
		{func(a uint64) (uint64, error) { return p.FetchXor64(a, 0xff00ff) }, start64 ^ 0xff00ff},
	} {
		words := []uint64{1, start64, 2}
		poke(t, fd, 64+8, words)
		old, err := c.op(r.Address() + 16)
		words[1] = c.want
		if got := peek[uint64](t, fd, 64+8); err != nil || old != start64 || !slices.Equal(got, words) {
			t.Errorf("64-bit case %d: %v, old %#x, words %#x, want %#x", i, err, old, got, words)
		}
	}
	for i, c := range []struct {
		op   func(a uint64) (uint32, error)
		want uint32
	}{
		{func(a uint64) (uint32, error) { return p.FetchAdd32(a, 1<<31) }, start32 - 1<<31},
		{func(a uint64) (uint32, error) { return p.Swap32(a, 5) }, 5},
		{func(a uint64) (uint32, error) { return p.CompareSwap32(a, start32, 6) }, 6},
		{func(a uint64) (uint32, error) { return p.CompareSwap32(a, start32+1, 6) }, start32},
		{func(a uint64) (uint32, error) { return p.FetchAnd32(a, 0xff00ff) }, start32 & 0xff00ff},
		{func(a uint64) (uint32, error) { return p.FetchOr32(a, 0xff00ff) }, start32 | 0xff00ff},
		{func(a uint64) (uint32, error) { return p.FetchXor32(a, 0xff00ff) }, start32 ^ 0xff00ff},
	} {
		words := []uint32{1, start32, 2}
		poke(t, fd, 64+8, words)
		old, err := c.op(r.Address() + 12)
		words[1] = c.want
		if got := peek[uint32](t, fd, 64+8); err != nil || old != start32 || !slices.Equal(got, words) {
			t.Errorf("32-bit case %d: %v, old %#x, words %#x, want %#x", i, err, old, got, words)
		}
	}
	_, err := p.FetchAdd32(r.Address()+2, 1)
	wantErr(t, err, ErrMisaligned)
	_, err = p.FetchXor64(r.Address()+4, 1)
	wantErr(t, err, ErrMisaligned)
	odd := register(t, o, fd, 0, 12, AccessAll) // its last half word is inside, the word is not
	_, err = p.FetchAdd64(odd.Address()+8, 1)
	wantErr(t, err, ErrOutOfRange)
	if _, err = p.FetchAdd32(odd.Address()+8, 1); err != nil {
		t.Error(err)
	}
	ro := register(t, o, fd, 0, 64, AccessRead|AccessWrite)
	_, err = p.Swap32(ro.Address(), 1)
	wantErr(t, err, ErrAccess)
}

func poke(t *testing.T, fd int, offset int64, words any) {
	t.Helper()
	b, err := binary.Append(nil, binary.NativeEndian, words)
	if err == nil {
		_, err = unix.Pwrite(fd, b, offset)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func peek[T uint32 | uint64](t *testing.T, fd int, offset int64) []T {
	t.Helper()
	words := make([]T, 3)
	b := make([]byte, binary.Size(words))
	_, err := unix.Pread(fd, b, offset)
	if err == nil {
		_, err = binary.Decode(b, binary.NativeEndian, words)
	}
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// Vectors go to any regions, in order, and stop at the first error.
func TestVectors(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	a := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	b := register(t, o, payload(t, 8192), 4096, 4096, AccessAll)
	b1, b2, b3 := make([]byte, 100), make([]byte, 8), make([]byte, 2000)
	n, err := p.ReadV([]Segment{{a.Address() + 5, b1}, {b.Address(), b2}, {a.Address() + 1000, b3}})
	if n != 3 || err != nil {
		t.Fatal(n, err)
	}
	for at, s := range map[int][]byte{5: b1, 4096: b2, 1000: b3} {
		for i := range s {
			if s[i] != pattern(at+i) {
				t.Fatalf("byte %d from %d is %d", i, at, s[i])
			}
		}
	}
	n, err = p.WriteV([]Segment{{b.Address() + 1, []byte("one")}, {a.Address() + 4095, []byte("two")},
		{b.Address(), []byte("x")}})
	wantErr(t, err, ErrOutOfRange)
	if n != 1 {
		t.Errorf("%d segments", n)
	}
	if err := p.Read(b.Address(), b2); err != nil || string(b2[1:4]) != "one" || b2[0] != pattern(4096) {
		t.Errorf("%q, %v", b2, err)
	}
	if n, err := p.ReadV(nil); n != 0 || err != nil {
		t.Error(n, err)
	}
}
