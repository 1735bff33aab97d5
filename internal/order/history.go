package order

import (
	"iter"
	"math"
)

// history is what is remembered of the accesses to memory, in the order in which they were noted. What is dropped
// leaves its place empty until half of all places are: so dropping costs the same however much is remembered.
type history struct {
	places []record
	ranges []byteRange // of the records; looking through them is most of what noting an access costs
	empty  int
}

// byteRange is where a record's bytes are. That of an empty place overlaps with nothing.
type byteRange struct{ begin, end uint64 }

var emptyPlace = byteRange{math.MaxUint64, 0}

// all are the records and their places. Those that the loop's body has been given may be dropped there.
func (h *history) all() iter.Seq2[int, *record] {
	return func(yield func(int, *record) bool) {
		if h == nil {
			return
		}
		for i, r := range h.ranges {
			if r != emptyPlace && !yield(i, &h.places[i]) {
				return
			}
		}
	}
}

// next returns the first place from one on whose record has bytes of a range, and how many places there are if none
// has.
func (h *history) next(from int, begin, end uint64) int {
	list := h.ranges[from:]
	for i := range list {
		if r := &list[i]; r.begin < end && begin < r.end {
			return from + i
		}
	}
	return len(h.ranges)
}

// count is how many records there are.
func (h *history) count() int { return len(h.places) - h.empty }

// drop forgets the record of a place.
func (h *history) drop(i int) {
	h.places[i], h.ranges[i] = record{}, emptyPlace
	h.empty++
}

// add remembers a record. If there are as many as there may be, it forgets the oldest and returns its number.
func (h *history) add(r *record) (forgotten uint64) {
	at := byteRange{r.Begin, r.End}
	if at == emptyPlace {
		return 0 // another process says so: there are no such bytes
	}
	if 2*h.empty > len(h.places) {
		h.compact()
	}
	for h.count() >= mostRecords {
		if h.ranges[0] == emptyPlace {
			h.empty--
		} else {
			forgotten = h.places[0].number
		}
		h.places, h.ranges = h.places[1:], h.ranges[1:]
	}
	h.places, h.ranges = append(h.places, *r), append(h.ranges, at)
	return forgotten
}

// compact does away with empty places.
func (h *history) compact() {
	n := 0
	for i, r := range h.all() {
		h.places[n], h.ranges[n] = *r, h.ranges[i]
		n++
	}
	clear(h.places[n:])
	h.places, h.ranges, h.empty = h.places[:n], h.ranges[:n], 0
}

// history returns what is remembered of memory, which may be nothing yet.
func (t *Tracker) history(id uint64) *history {
	h := t.memories[id]
	if h == nil {
		h = &history{}
		t.memories[id] = h
	}
	return h
}

// remember notes an access to memory.
func (t *Tracker) remember(id uint64, h *history, r *record) {
	if forgotten := h.add(r); forgotten > 0 {
		t.lost[id] = max(t.lost[id], forgotten)
	}
}
