package memory

import (
	"bytes"
	"testing"
)

// TestShadow goes through what host and device do to memory that is not coherent.
func TestShadow(t *testing.T) {
	const size = 3*Atom + 10
	p, err := NewAnonymous(size)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	s, err := NewShadow(p, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	host, _ := s.Host().Bytes()
	device, _ := p.Bytes()
	if s.Unflushed(Span{0, size}).Size != 0 || s.Unseen().Size != 0 {
		t.Error("fresh memory has something to exchange")
	}

	copy(host[5:], "host")
	if bytes.Contains(device, []byte("host")) {
		t.Error("the device sees what was not flushed")
	}
	for _, c := range []struct{ ask, want Span }{
		{Span{0, size}, Span{5, 4}}, {Span{0, 5}, Span{}}, {Span{9, size}, Span{9, 0}}, {Span{7, 1}, Span{7, 1}},
	} {
		if got := s.Unflushed(c.ask); got.Size != c.want.Size || got.Size > 0 && got != c.want {
			t.Errorf("unflushed in %v: %v, want %v", c.ask, got, c.want)
		}
	}
	if s.Flush(Span{Atom, 1}); device[5] != 0 {
		t.Error("the flush of one atom moved another one")
	}
	if lost := s.Flush(Span{20, 1}); lost.Size != 0 || string(device[5:9]) != "host" ||
		s.Unflushed(Span{0, size}).Size != 0 {
		t.Errorf("flushed: %q, lost %v", device[:10], lost)
	}

	// Each writes an atom of its own, then both write one.
	copy(device[Atom:], "device")
	copy(host[2*Atom:], "host")
	if got := s.Unseen(); got != (Span{Atom, Atom}) {
		t.Errorf("unseen %v", got)
	}
	if lost := s.Flush(Span{0, size}); lost.Size != 0 || string(device[Atom:Atom+6]) != "device" {
		t.Errorf("a flush of everything lost %v", lost)
	}
	if lost := s.Invalidate(Span{0, size}); lost.Size != 0 || string(host[Atom:Atom+6]) != "device" ||
		string(host[2*Atom:2*Atom+4]) != "host" {
		t.Errorf("invalidated: %q, lost %v", host, lost)
	}
	if s.Unseen().Size != 0 {
		t.Error("the host has not seen what it invalidated")
	}
	host[3*Atom], device[3*Atom+1] = 1, 2
	if lost := s.Flush(Span{0, size}); lost != (Span{3 * Atom, 10}) {
		t.Errorf("a flush over the device's bytes lost %v", lost)
	}
	host[0] = 7
	if lost := s.Invalidate(Span{0, size}); lost != (Span{0, Atom}) || host[0] != 0 {
		t.Errorf("an invalidation of unflushed bytes lost %v", lost)
	}
}

// TestShadowOfImport: nobody knows what is in imported memory, and who only writes need not invalidate.
func TestShadowOfImport(t *testing.T) {
	p, err := NewAnonymous(2 * Atom)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	device, _ := p.Bytes()
	s, err := NewShadow(p, 0xfa, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	host, _ := s.Host().Bytes()
	if s.Unseen().Size != 0 {
		t.Error("there is something to see that nobody has written")
	}
	device[0] = 1
	if host[0] != 0xfa || s.Unseen().Size == 0 {
		t.Error("the host sees what it never invalidated")
	}
	copy(device, bytes.Repeat([]byte{3}, 2*Atom))
	clear(host[:Atom])
	s.Flush(Span{0, Atom})
	if device[0] != 0 || device[Atom] != 3 || s.Unseen().Size != 0 {
		t.Errorf("after a flush: %v", device)
	}
}
