package main

import (
	"encoding/binary"
	"fmt"
)

// A region begins with a header of words: its tag, a counter, and for each lane who has claimed it. The rest
// is divided into lanes. The first half of a lane is words that everybody may read, the second bytes for the
// one who claimed it.
const (
	lanes       = 8
	tagAt       = 0
	counterAt   = 8
	claimsAt    = 16
	headerSize  = 256
	maxSize     = 512 << 10
	minSize     = 8 << 10
	poison      = 0xdeaddeaddeaddead
	laneGrain   = 128
	indexInLane = 1<<13 - 1
)

// laneBytes is the size of a lane of a region.
func laneBytes(region uint64) uint64 { return (region - headerSize) / lanes &^ (laneGrain - 1) }

// laneAt is where a lane begins in its region.
func laneAt(region uint64, lane int) uint64 { return headerSize + uint64(lane)*laneBytes(region) }

// mark is word i of a lane after it was written seq times, 0 before.
func mark(tag uint16, lane, i int, seq uint32) uint64 {
	if seq == 0 {
		return 0
	}
	return uint64(tag)<<48 | uint64(seq)<<16 | uint64(lane)<<13 | uint64(i&indexInLane)
}

// checkMark says whether w can be word i of a lane in which seen was the last number that was seen there, and
// returns the number that it has now.
func checkMark(w uint64, tag uint16, lane, i int, seen uint32) (uint32, error) {
	seq := uint32(w >> 16)
	if w != mark(tag, lane, i, seq) || seq < seen {
		return seen, fmt.Errorf("word %d of lane %d of region %#x is %#x, after write %d", i, lane, tag, w, seen)
	}
	return seq, nil
}

func putWord(b []byte, i int, w uint64) { binary.NativeEndian.PutUint64(b[i*8:], w) }

func getWord(b []byte, i int) uint64 { return binary.NativeEndian.Uint64(b[i*8:]) }
