package command

import (
	"bytes"
	"testing"

	"farside/memory"
)

func payload(t *testing.T, size uint64) *memory.Payload {
	t.Helper()
	p, err := memory.NewAnonymous(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

func TestReplayRunsInOrder(t *testing.T) {
	a, b := payload(t, 4096), payload(t, 4096)
	var s Stream
	s.Fill(Range{a, 0, 4096}, 0x01020304)
	data := []byte("abcdefgh")
	s.Update(Range{a, 8, 8}, data)
	data[0] = 'x' // the stream holds its own copy
	s.Copy(Range{b, 100, 20}, Range{a, 4, 20})
	if s.Len() != 3 {
		t.Fatalf("Len = %d, want 3", s.Len())
	}
	for range 2 {
		if err := s.Replay(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	want := append(append(make([]byte, 100), 4, 3, 2, 1), "abcdefgh\x04\x03\x02\x01\x04\x03\x02\x01"...)
	want = append(want, make([]byte, 4096-len(want))...)
	if !bytes.Equal(got, want) {
		t.Errorf("memory after replay:\n% x\nwant\n% x", got[96:128], want[96:128])
	}
	s.Reset()
	if s.Len() != 0 {
		t.Errorf("Len after Reset = %d", s.Len())
	}
}

func TestFillOddLengths(t *testing.T) {
	for _, n := range []int{4, 8, 12, 20, 4092} {
		dst := make([]byte, n+4)
		fillWords(dst[:n], 0xdeadbeef)
		want := append(bytes.Repeat([]byte{0xef, 0xbe, 0xad, 0xde}, n/4), 0, 0, 0, 0)
		if !bytes.Equal(dst, want) {
			t.Errorf("fill of %d bytes is wrong", n)
		}
	}
}
