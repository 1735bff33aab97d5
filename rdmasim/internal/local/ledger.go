package local

import (
	"sync/atomic"

	"farside/rdmasim/internal/verbs"
)

// A ledger is where a peer writes what it does to an owner's regions: a memfd that the peer makes and alone
// can write, and that the owner maps for reading. Each region that the peer has opened gets an entry, and
// keeps it; when all are used up, the peer makes a new connection with a new ledger. An entry holds a word
// for each class of operations and two sums of bytes. So the owner knows who is inside a region that it
// frees, and what has been done to a region, without being told, and a peer that dies takes its ledger with
// it.
const (
	ledgerEntries = 4096
	entrySize     = 64
	ledgerSize    = ledgerEntries * entrySize
)

// class says which word of an entry an operation uses. Reads and writes of one word have classes of their
// own, since these needn't add up bytes.
type class int

const (
	classRead class = iota
	classWrite
	classAtomic
	classReadWord // eight bytes
	classWriteWord
	classes

	sumRead    = 5 // places of the sums of bytes, in words
	sumWritten = 6
)

// A class' word, from its top: a bit that says that the region is closed for the peer, the number of
// operations that have ended, and the number of those under way.
const (
	closedBit = 1 << 63
	underWay  = 1<<18 - 1
	oneEnded  = 1 << 18
)

// entry is one region's place in a ledger.
type entry struct {
	class   [classes]*atomic.Uint64
	read    *atomic.Uint64
	written *atomic.Uint64
}

func entryAt(ledger []byte, index uint32) (e entry) {
	at := uint64(index) * entrySize
	for c := range e.class {
		e.class[c] = word(ledger, at+uint64(c)*8)
	}
	e.read, e.written = word(ledger, at+sumRead*8), word(ledger, at+sumWritten*8)
	return e
}

// busy says whether an operation is under way.
func (e *entry) busy() bool {
	var any uint64
	for _, w := range e.class {
		any |= w.Load()
	}
	return any&underWay != 0
}

// addTo adds what the entry says to a sum.
func (e *entry) addTo(c *verbs.Counters) {
	ended := func(k class) uint64 { return (e.class[k].Load() &^ closedBit) / oneEnded }
	c.Reads += ended(classRead) + ended(classReadWord)
	c.Writes += ended(classWrite) + ended(classWriteWord)
	c.Atomics += ended(classAtomic)
	c.BytesRead += e.read.Load() + 8*ended(classReadWord)
	c.BytesWritten += e.written.Load() + 8*ended(classWriteWord)
}
