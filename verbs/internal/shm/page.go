package shm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memfd"
)

// The page of a process, which all others that it has a session with can read.
const (
	sleepsAt   = 0  // whether its goroutine waits for the eventfd: awake, asleep, answers
	epochAt    = 64 // which of the two counts of direct operations the others use, its lowest bit
	queuesAt   = 4096
	queueSize  = 32
	regionsAt  = queuesAt + queuePairs*queueSize
	regionSize = 64
	pageSize   = regionsAt + Regions*regionSize

	// Regions is how many memory regions of a process others may use without its help.
	Regions = 65536
	// queuePairs is how many queue pairs a number of a process has.
	queuePairs = 4096
)

// Region is what others know of a memory region, whose bytes are Farside's memory.
type Region struct {
	Key     uint32 // rkey, not 0
	Domain  uint32 // of which protection domain it is
	Access  uint32 // IBV_ACCESS_*
	Address uint64 // remote address of its first byte, as package rdmasim has it
	IOVA    uint64 // by which work requests name its first byte
	Length  uint64 // bytes
}

// QueuePair is what others know of a queue pair.
type QueuePair struct {
	Ready   bool   // in the states RTR, RTS, SQD or SQE
	Domain  uint32 // its protection domain
	Access  uint32 // qp_access_flags
	Remote  uint32 // the number of the queue pair that it is connected with
	Process uint32 // the process number of that; Remote may be another namespace's
}

// A record of the page is read and written by several words, so that its first word says whether it is whole: it is odd
// while the record says something, and changes with each change of the record.
//
//	writer                                reader
//	1. make the first word even           a. load the first word; odd?
//	2. write the others                   b. load the others
//	3. make it odd, larger than before    c. load the first word once more; the same?
//
// All are operations of sync/atomic.

// page is a process' own page.
type page struct {
	mapping []byte
	file    *fd.FD
	mu      sync.Mutex // of changes
}

func newPage() (*page, error) {
	f, mapping, err := memfd.CreateMapped("farside-verbs-page", pageSize)
	if err != nil {
		return nil, err
	}
	return &page{mapping: mapping, file: f}, nil
}

func (p *page) word(at uint64) *atomic.Uint64 { return word(p.mapping, at) }

// set changes a record; no words take it away.
func (p *page) set(at uint64, words ...uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.word(at)
	version := first.Load() | 1
	first.Store(version + 1)
	for i, w := range words {
		p.word(at + 8 + uint64(i)*8).Store(w)
	}
	if len(words) > 0 {
		first.Store(version + 2)
	}
}

func (p *page) close() {
	_ = unix.Munmap(p.mapping)
	_ = p.file.Close()
}

// openPage maps the page of another process, of which only the end of the mapping may be used with unix.Munmap.
func openPage(f *fd.FD) ([]byte, error) {
	if err := checkFile(f, pageSize); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return unix.Mmap(f.Int(), 0, pageSize, unix.PROT_READ, unix.MAP_SHARED)
}

// Version tells one state of a record from all others.
type Version struct {
	word *atomic.Uint64
	was  uint64
}

// Same says whether the record still is as it was read.
func (v Version) Same() bool { return v.word.Load() == v.was }

// read copies a record, and says whether it is one.
func read(mapping []byte, at uint64, into []uint64) (Version, bool) {
	v := Version{word: word(mapping, at)}
	v.was = v.word.Load()
	if v.was&1 == 0 {
		return v, false
	}
	for i := range into {
		into[i] = word(mapping, at+8+uint64(i)*8).Load()
	}
	return v, v.Same()
}

// Publish lets other processes use a region without this one's help. index is below Regions and not in use.
func (h *Host) Publish(index uint32, r Region) {
	h.page.set(regionsAt+uint64(index)*regionSize, uint64(r.Key), uint64(r.Domain)<<32|uint64(r.Access), r.Address,
		r.IOVA, r.Length)
}

// Withdraw takes a region back. No direct operation of another process that began before is under way when it returns,
// save where a process was stopped in the middle for more than a second: patience is over then.
func (h *Host) Withdraw(index uint32) {
	h.page.set(regionsAt + uint64(index)*regionSize)
	h.settle()
}

// PublishQueuePair tells other processes of a queue pair of this process' first number.
func (h *Host) PublishQueuePair(qpn uint32, q QueuePair) {
	if qpn>>queueBits != h.number {
		return
	}
	at := uint64(queuesAt + qpn%queuePairs*queueSize)
	if !q.Ready {
		h.page.set(at)
		h.settle()
		return
	}
	h.page.set(at, uint64(q.Domain)<<32|uint64(q.Access), uint64(q.Process)<<32|uint64(q.Remote))
}

// patience is how long settle waits for other processes.
const patience = time.Second

// settle waits until no direct operation of another process is under way that began before.
//
// Direct operations are counted in one of two words, which the lowest bit of the epoch chooses:
//
//	operation                        settle
//	1. load the epoch                a. change the record
//	2. add one to that word          b. change the epoch; wait until the word of the epoch before is 0
//	3. read the record, copy         c. do b once more
//	4. take one from the word
//
// An operation that reads the old record has done 2 before a. Its word is that of the epoch of 1, which may be one that
// has ended since; that is why b is done twice. New operations count in the other word, so b ends also where others
// never rest. (This is the argument of sleepable RCU: McKenney, "Sleepable RCU", 2006.)
func (h *Host) settle() {
	h.settling.Lock()
	defer h.settling.Unlock()
	end := time.Now().Add(h.patience)
	for range 2 {
		old := (h.page.word(epochAt).Add(1) - 1) & 1
		for _, s := range h.current() {
			for try := 0; s.theirs.word(insideAt+old*64).Load() != 0 && !s.down.Load(); try++ {
				if time.Now().After(end) {
					return
				}
				time.Sleep(min(time.Duration(try)*time.Microsecond, time.Millisecond))
			}
		}
	}
}

// Usable says whether direct operations can be: the other process has answered, and lives.
func (s *Session) Usable() bool { return s.ready.Load() && !s.down.Load() }

// Enter begins a direct operation on the other process' memory, of a session that is usable; Leave ends it with what
// Enter gave. Between the two the records of Region and QueuePair hold: the other process waits before it lets go of
// memory.
func (s *Session) Enter() uint64 {
	at := insideAt + word(s.page, epochAt).Load()&1*64
	s.mine.word(at).Add(1)
	return at
}

// Leave ends what Enter has begun.
func (s *Session) Leave(token uint64) { s.mine.word(token).Add(^uint64(0)) }

// Region is the other process' region with an index, if it has one.
func (s *Session) Region(index uint32) (r Region, v Version, ok bool) {
	if index >= Regions {
		return r, v, false
	}
	var w [5]uint64
	v, ok = read(s.page, regionsAt+uint64(index)*regionSize, w[:])
	return Region{Key: uint32(w[0]), Domain: uint32(w[1] >> 32), Access: uint32(w[1]), Address: w[2], IOVA: w[3],
		Length: w[4]}, v, ok
}

// QueuePair is the other process' queue pair with a number, if it is ready.
func (s *Session) QueuePair(qpn uint32) (q QueuePair, v Version, ok bool) {
	if qpn>>queueBits != s.first {
		return q, v, false
	}
	var w [2]uint64
	v, ok = read(s.page, uint64(queuesAt+qpn%queuePairs*queueSize), w[:])
	return QueuePair{Ready: ok, Domain: uint32(w[0] >> 32), Access: uint32(w[0]), Process: uint32(w[1] >> 32),
		Remote: uint32(w[1])}, v, ok
}
