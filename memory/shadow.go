package memory

import (
	"bytes"
	"sync"
)

// Atom is VkPhysicalDeviceLimits::nonCoherentAtomSize in bytes, a cache line: what a flush or an invalidation moves at
// least.
const Atom = 64

// Span is bytes of a payload.
type Span struct{ Offset, Size uint64 }

// Shadow is the host's own view of a payload whose memory type is not coherent (FARSIDE_STRICT=noncoherent). Mappings
// show it in place of the payload, which is what devices see. Both views exchange atoms when they are told to.
//
// A third copy has what both last agreed on, atom by atom: what differs from it has been written since, by the host or
// by a device. Writing what was there already is not noticed, and such an atom does not move.
type Shadow struct {
	mu          sync.Mutex
	host        *Payload
	hostBytes   []byte
	agreed      []byte
	agreement   *Payload // holds agreed
	payload     *Payload // holds device
	device      []byte
	closed      bool // Release was called: nothing is mapped any more
	imported    bool // it is unknown what was in the payload at first
	flushed     bool // Flush was called
	invalidated bool // Invalidate was called
}

// NewShadow makes the host's view of p, of which initial is each byte as long as nobody has written; for imported
// memory, whose bytes are unknown, it is what the host sees until it invalidates. It ends with Release. Errors: as for
// Payload.Map.
func NewShadow(p *Payload, initial byte, imported bool) (s *Shadow, err error) {
	s = &Shadow{imported: imported}
	if s.device, err = p.Bytes(); err != nil {
		return nil, err
	}
	if s.host, err = NewPlaceable(p.size); err != nil {
		return nil, err
	}
	if s.agreement, err = NewAnonymous(p.size); err != nil {
		s.host.Release()
		return nil, err
	}
	s.payload = p.Retain()
	if s.hostBytes, err = s.host.Bytes(); err == nil {
		s.agreed, err = s.agreement.Bytes()
	}
	if err != nil {
		s.Release()
		return nil, err
	}
	if initial != 0 {
		fill(s.hostBytes, initial)
		fill(s.agreed, initial)
	}
	return s, nil
}

// Release ends the view. From now on it has nothing to exchange.
func (s *Shadow) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.host.Release()
	s.agreement.Release()
	s.payload.Release()
}

// Host returns the payload that mappings show.
func (s *Shadow) Host() *Payload { return s.host }

// Flush gives the device what the host has written to the atoms of a range. It returns the first atom in which the
// device had written, too, which is lost; Size is 0 if there is none.
func (s *Shadow) Flush(r Span) (lost Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushed = true
	s.differing(s.hostBytes, atoms(r, uint64(len(s.device))), func(a Span) bool {
		host, agreed, device := s.views(a)
		if lost.Size == 0 && !bytes.Equal(device, agreed) && !bytes.Equal(device, host) {
			lost = a
		}
		copy(device, host)
		copy(agreed, host)
		return true
	})
	return lost
}

// Invalidate gives the host what the device has written to the atoms of a range. It returns the first atom that the
// host had written and not flushed, which is lost; Size is 0 if there is none.
func (s *Shadow) Invalidate(r Span) (lost Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalidated = true
	r = atoms(r, uint64(len(s.device)))
	s.differing(s.hostBytes, r, func(a Span) bool {
		host, agreed, device := s.views(a)
		if lost.Size == 0 && !bytes.Equal(host, device) {
			lost = a
		}
		copy(host, device)
		copy(agreed, device)
		return true
	})
	s.differing(s.device, r, func(a Span) bool {
		host, agreed, device := s.views(a)
		copy(host, device)
		copy(agreed, device)
		return true
	})
	return lost
}

// Unflushed returns the first bytes in a range that the host has written and the device does not have; Size is 0 if
// there are none.
func (s *Shadow) Unflushed(r Span) (found Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.differing(s.hostBytes, clip(r, uint64(len(s.device))), func(a Span) bool {
		host, agreed, device := s.views(a)
		for i := range host {
			if differs := host[i] != agreed[i] && host[i] != device[i]; differs && found.Size == 0 {
				found = Span{a.Offset + uint64(i), 1}
			} else if differs {
				found.Size = a.Offset + uint64(i) + 1 - found.Offset
			}
		}
		return found.Size == 0
	})
	return found
}

// Unseen returns the first atom that a device has written and that the host never asked for by an invalidation; Size is
// 0 if there is none, or if the host did invalidate. Of imported memory, which the host may only have been writing, it
// says nothing once the host has flushed.
func (s *Shadow) Unseen() (found Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.invalidated || s.imported && s.flushed {
		return found
	}
	const piece = 2 << 20
	size := uint64(len(s.device))
	for at := uint64(0); at < size && found.Size == 0 && !s.closed; at += piece {
		r := clip(Span{at, piece}, size)
		if !resident(s.device[at : at+r.Size]) {
			continue // nobody has written there, and looking would take pages from the system
		}
		s.differing(s.device, r, func(a Span) bool {
			host, _, device := s.views(a)
			if !bytes.Equal(host, device) {
				found = a
			}
			return found.Size == 0
		})
	}
	return found
}

// views returns a span in all three.
func (s *Shadow) views(a Span) (host, agreed, device []byte) {
	return s.hostBytes[a.Offset : a.Offset+a.Size], s.agreed[a.Offset : a.Offset+a.Size],
		s.device[a.Offset : a.Offset+a.Size]
}

// differing calls f with the atoms of a range, cut off at its ends, in which view is not what was agreed on, until f
// returns false.
func (s *Shadow) differing(view []byte, r Span, f func(Span) bool) {
	if s.closed {
		return
	}
	const stride = 64 * Atom
	end := r.Offset + r.Size
	for at := r.Offset; at < end; {
		next := min(at/stride*stride+stride, end)
		if bytes.Equal(view[at:next], s.agreed[at:next]) {
			at = next
			continue
		}
		for at < next {
			last := min(at/Atom*Atom+Atom, next)
			if !bytes.Equal(view[at:last], s.agreed[at:last]) && !f(Span{at, last - at}) {
				return
			}
			at = last
		}
	}
}

// clip cuts a range off at the end of size bytes.
func clip(r Span, size uint64) Span {
	r.Offset = min(r.Offset, size)
	return Span{r.Offset, min(r.Size, size-r.Offset)}
}

// atoms widens a range to whole atoms, but not beyond size bytes.
func atoms(r Span, size uint64) Span {
	r = clip(r, size)
	begin := r.Offset / Atom * Atom
	return Span{begin, min((r.Offset+r.Size+Atom-1)/Atom*Atom, size) - begin}
}

// fill sets each byte of b.
func fill(b []byte, value byte) {
	if len(b) == 0 {
		return
	}
	b[0] = value
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
