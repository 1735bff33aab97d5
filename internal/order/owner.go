package order

import (
	"cmp"
	"slices"
)

// Ownership of memory that several owners share (chapter "Resource Creation", "External Resource Sharing"): who reads
// what another owner has written must acquire it, after the other one has released it. Who writes without an acquire
// owns the bytes from then on, and what lay there is gone; so only reads can be wrong.
//
// Memory of which nobody has ever released or acquired anything is left alone. What peers, hosts and other drivers
// write is nobody's.

// Breach is how ownership was handed over wrongly.
type Breach uint8

// The breaches.
const (
	NoBreach             Breach = iota
	NotAcquired                 // what is read was released, and the reader has not acquired it since
	NotReleased                 // what is read was acquired, and who wrote it has not released it since
	WrittenBeforeAcquire        // what is acquired was written by the one who acquires it, after it had been released
	Mismatched                  // what is acquired was released to another queue family, or with other layouts
)

// mostTransfers is how many releases and acquires of the bytes of a read are looked at; with more nothing is found.
const mostTransfers = 128

// imageLayoutUndefined is VK_IMAGE_LAYOUT_UNDEFINED, with which an image barrier keeps nothing.
const imageLayoutUndefined = 0

// Transfer notes a Release, an Acquire or a Taken. It returns what is wrong with it, and the other part of that.
func (t *Tracker) Transfer(l *Line, m Memory, a Access) (Breach, *Access) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := record{a, l.agent, l.owner, l.epoch, t.number()}
	if m.Shared {
		t.tellAccess(m.ID, &r)
		t.learn()
	}
	id := t.canonical(m.ID)
	breach, was := NoBreach, (*Access)(nil)
	if a.Kind == Acquire {
		var keeps bool
		if breach, was, keeps = t.acquires(id, &r); !keeps {
			return breach, was
		}
	}
	h := t.history(id)
	t.replace(id, h, &r)
	t.remember(id, h, &r)
	return breach, was
}

// replace drops what r, which is no access, makes needless.
func (t *Tracker) replace(id uint64, h *history, r *record) {
	if r.Kind != Taken {
		t.handed[id] = true
	}
	for i, o := range h.all() {
		if o.Kind == r.Kind && o.owner == r.owner && r.Begin <= o.Begin && o.End <= r.End && o.number < r.number {
			h.drop(i)
		}
	}
}

// acquires holds an acquire against the last release by another owner. keeps is false if it keeps nothing of what lies
// there.
func (t *Tracker) acquires(id uint64, r *record) (breach Breach, was *Access, keeps bool) {
	var released, wrote *record
	for _, o := range t.memories[id].all() {
		if o.Kind == Release && o.owner != r.owner && o.meets(&r.Access) && (released == nil || o.number > released.number) {
			released = o
		}
	}
	image := r.Old != r.New || r.Old != imageLayoutUndefined
	if released == nil {
		return NoBreach, nil, !image || r.Old != imageLayoutUndefined
	}
	for _, o := range t.memories[id].all() {
		if o.owner == r.owner && o.number > released.number && o.meets(&r.Access) && o.meets(&released.Access) {
			switch {
			case o.Kind == Release, o.Kind == Acquire:
				return NoBreach, nil, true // that release is over
			case o.Kind.isAccess() && o.Writes && !o.May:
				wrote = o
			}
		}
	}
	same := released.Old == r.Old && released.New == r.New
	switch {
	case image && r.Old == imageLayoutUndefined && !same:
		return NoBreach, nil, false
	case wrote != nil:
		return WrittenBeforeAcquire, wrote.copy(), true
	case released.Family != r.Family, image && !same && released.New != r.Old:
		return Mismatched, released.copy(), true
	}
	return NoBreach, nil, true
}

func (a *Access) meets(b *Access) bool { return a.Begin < b.End && b.Begin < a.End }

func (a *Access) copy() *Access {
	c := *a
	return &c
}

// Unowned says whether bytes that a line is about to read are another owner's, and returns whose access or release that
// shows.
func (t *Tracker) Unowned(l *Line, m Memory, begin, end uint64) (Breach, *Access) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Shared {
		t.learn()
	}
	id := t.canonical(m.ID)
	if !t.handed[id] {
		return NoBreach, nil
	}
	var writes, transfers []*record // newest first
	for _, o := range t.memories[id].all() {
		switch {
		case o.Begin >= end || begin >= o.End:
		case o.Kind == Taken, o.Kind.isAccess() && o.Writes:
			writes = append(writes, o)
		case !o.Kind.isAccess():
			transfers = append(transfers, o)
		}
	}
	if len(transfers) > mostTransfers {
		return NoBreach, nil
	}
	newest := func(a, b *record) int { return cmp.Compare(b.number, a.number) }
	slices.SortFunc(writes, newest)
	slices.SortFunc(transfers, newest)
	left := [][2]uint64{{begin, end}}
	for _, o := range writes {
		newer, _ := slices.BinarySearchFunc(transfers, o, newest)
		if o.Kind != Taken && !o.May && o.owner != 0 && o.number > t.lost[id] {
			for _, part := range left {
				b, e := max(part[0], o.Begin), min(part[1], o.End)
				if breach, was := handedOver(transfers[:newer], o, l.owner, b, e); breach != NoBreach {
					return breach, was
				}
			}
		}
		if left = without(left, o.Begin, o.End); len(left) == 0 {
			break
		}
	}
	return NoBreach, nil
}

// handedOver says how bytes came from a write to a reader, by the transfers that are newer than the write, newest
// first. Where one of these is of a part of the bytes, each part is looked at by itself.
func handedOver(newer []*record, wrote *record, reader Agent, begin, end uint64) (Breach, *Access) {
	if begin >= end {
		return NoBreach, nil
	}
	var own, other *record // the reader's last transfer; the writer's first release
	for _, o := range newer {
		if o.Begin >= end || begin >= o.End {
			continue
		}
		for _, cut := range [...]uint64{o.Begin, o.End} {
			if begin < cut && cut < end {
				if breach, was := handedOver(newer, wrote, reader, begin, cut); breach != NoBreach {
					return breach, was
				}
				return handedOver(newer, wrote, reader, cut, end)
			}
		}
		switch {
		case own == nil && o.owner == reader:
			own = o
		case o.owner == wrote.owner && o.Kind == Release:
			other = o
		}
	}
	if wrote.owner == reader {
		if own != nil && own.Kind == Release {
			return NotAcquired, own.copy()
		}
		return NoBreach, nil
	}
	switch {
	case other == nil:
		return NotReleased, wrote.copy()
	case own == nil, own.Kind == Release, own.number < other.number:
		return NotAcquired, other.copy()
	}
	return NoBreach, nil
}

// without cuts a range out of some.
func without(list [][2]uint64, begin, end uint64) (left [][2]uint64) {
	for _, p := range list {
		if b := min(p[1], begin); p[0] < b {
			left = append(left, [2]uint64{p[0], b})
		}
		if e := max(p[0], end); e < p[1] {
			left = append(left, [2]uint64{e, p[1]})
		}
	}
	return left
}
