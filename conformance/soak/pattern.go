package main

import (
	"encoding/binary"
	"fmt"
)

// bufferSize is what travels in one round, in bytes.
const bufferSize = 256 << 10

// A pattern is the content of a buffer in one round: every word depends on the sender, the round and its
// place.
type pattern struct{ state uint64 }

func newPattern(sender uint64, round uint64) *pattern {
	return &pattern{sender*0x9e3779b97f4a7c15 ^ round*0xd1342543de82ef95}
}

// next is splitmix64.
func (p *pattern) next() uint64 {
	p.state += 0x9e3779b97f4a7c15
	z := p.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// write fills b with what sender sends in a round: both, and then words that follow from them.
func write(b []byte, sender, round uint64) {
	binary.LittleEndian.PutUint64(b, sender)
	binary.LittleEndian.PutUint64(b[8:], round)
	p := newPattern(sender, round)
	for i := 16; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], p.next())
	}
}

// check says which word isn't what write put there; who the sender is, b says itself.
func check(b []byte, round uint64) error {
	sender := binary.LittleEndian.Uint64(b)
	if got := binary.LittleEndian.Uint64(b[8:]); got != round {
		return fmt.Errorf("round %d came in place of round %d", got, round)
	}
	p := newPattern(sender, round)
	for i := 16; i < len(b); i += 8 {
		if got, want := binary.LittleEndian.Uint64(b[i:]), p.next(); got != want {
			return fmt.Errorf("the word at byte %d of round %d is %#x, want %#x", i, round, got, want)
		}
	}
	return nil
}
