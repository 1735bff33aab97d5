package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"farside/rdmasim"
)

const (
	workers   = 2 // goroutines of a peer
	listEvery = 20 * time.Millisecond
	depth     = 16 // of a worker's queue pair
)

// known is a region as one worker knows it.
type known struct {
	info    rdmasim.RegionInfo
	tag     uint16
	lane    int             // the worker's, or -1
	written []uint32        // how often each word of the lane was
	bytes   []byte          // the bytes of the lane
	seen    [lanes][]uint32 // the latest that was read in the others
	counter uint64          // likewise
}

// worker is one goroutine that uses regions.
type worker struct {
	peer  *rdmasim.Peer
	pair  *rdmasim.QueuePair
	tally *tally
	rng   *rand.Rand
	id    uint64 // in claims
	known map[uint64]*known
	buf   []byte
}

// playPeer lets workers use what regions there are.
func playPeer(stop chan struct{}, t *tally, rng *rand.Rand) error {
	p, err := rdmasim.Open(context.Background(), "")
	if err != nil {
		return err
	}
	defer p.Close()
	ended := make(chan error, workers)
	var running sync.WaitGroup
	for i := range workers {
		q, err := p.NewQueuePair(depth)
		if err != nil {
			return err
		}
		w := &worker{
			peer: p, pair: q, tally: t, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), id: uint64(os.Getpid())<<8 | uint64(i),
			known: map[uint64]*known{}, buf: make([]byte, maxSize),
		}
		running.Go(func() { ended <- w.run(stop) })
	}
	running.Wait()
	for range workers {
		err = errors.Join(err, <-ended)
	}
	return err
}

func (w *worker) run(stop chan struct{}) error {
	var listed time.Time
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if len(w.known) == 0 || time.Since(listed) >= listEvery {
			if err := w.list(); err != nil {
				return err
			}
			listed = time.Now()
		}
		for key, k := range w.known { // in random order
			if err := w.step(k); err != nil {
				delete(w.known, key)
				switch {
				case errors.Is(err, rdmasim.ErrFreed), errors.Is(err, rdmasim.ErrUnknownAddress), errors.Is(err, rdmasim.ErrKey):
					w.tally.freed.Add(1)
				case errors.Is(err, rdmasim.ErrOwnerDied):
					w.tally.died.Add(1)
				default:
					return err
				}
			} else {
				w.tally.operations.Add(1)
			}
			if w.rng.IntN(4) == 0 {
				break
			}
		}
	}
}

// list finds regions of this run, and forgets those that are gone.
func (w *worker) list() error {
	all, err := w.peer.Regions(context.Background())
	if err != nil && !errors.Is(err, rdmasim.ErrTimeout) { // others' owners, or one that is being killed
		return err
	}
	for _, s := range all {
		if s.Name != os.Getenv(nameVariable) || w.known[s.Key] != nil {
			continue
		}
		w.known[s.Key] = &known{info: s.RegionInfo, lane: -1}
	}
	if len(w.known) == 0 {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// meet reads a region's tag and claims a lane.
func (w *worker) meet(k *known) error {
	if _, err := w.peer.ResolveKey(context.Background(), k.info.Address, k.info.Key); err != nil {
		return err
	}
	var b [8]byte
	if err := w.peer.Read(k.info.Address+tagAt, b[:]); err != nil {
		return err
	}
	tag := getWord(b[:], 0)
	if tag == 0 || tag >= 1<<16 {
		return fmt.Errorf("region %#x has tag %#x", k.info.Address, tag)
	}
	half := int(laneBytes(k.info.Length) / 2)
	for lane := range lanes {
		k.seen[lane] = make([]uint32, half/8)
		if k.lane >= 0 {
			continue
		}
		old, err := w.peer.CompareSwap64(k.info.Address+claimsAt+uint64(lane)*8, 0, w.id)
		if err != nil {
			return err
		}
		if old == 0 {
			k.lane, k.written, k.bytes = lane, make([]uint32, half/8), make([]byte, half)
		}
	}
	k.tag = uint16(tag)
	return nil
}

// step does one thing to a region.
func (w *worker) step(k *known) error {
	if k.tag == 0 {
		return w.meet(k)
	}
	base := k.info.Address
	half := laneBytes(k.info.Length) / 2
	what := w.rng.IntN(8)
	if k.lane < 0 && what >= 2 {
		what = w.rng.IntN(2)
	}
	words := base + laneAt(k.info.Length, max(k.lane, 0))
	switch what {
	case 0: // somebody's words
		lane := w.rng.IntN(lanes)
		first, n := w.pick(int(half / 8))
		b := w.buf[:n*8]
		if err := w.peer.Read(base+laneAt(k.info.Length, lane)+uint64(first)*8, b); err != nil {
			return err
		}
		return w.check(k, lane, first, b)
	case 1: // count
		n, err := w.peer.FetchAdd64(base+counterAt, 1)
		if err != nil {
			return err
		}
		if n < k.counter {
			return fmt.Errorf("the counter of region %#x went from %d to %d", base, k.counter, n)
		}
		k.counter = n + 1
	case 2, 3: // words, written and sometimes read again
		first, n := w.pick(len(k.written))
		b := w.next(k, first, w.buf[:n*8])
		if err := w.peer.Write(words+uint64(first)*8, b); err != nil || what == 2 {
			return err
		}
		return w.own(k, words)
	case 4: // bytes
		first, n := w.pick(len(k.bytes))
		for i := range n {
			k.bytes[first+i] = byte(w.rng.Uint32())
		}
		return w.peer.Write(words+half+uint64(first), k.bytes[first:first+n])
	case 5:
		first, n := w.pick(len(k.bytes))
		b := w.buf[:n]
		if err := w.peer.Read(words+half+uint64(first), b); err != nil {
			return err
		}
		w.tally.checked.Add(uint64(n))
		if !bytes.Equal(b, k.bytes[first:first+n]) {
			return fmt.Errorf("bytes %d to %d of lane %d of region %#x are others", first, first+n, k.lane, base)
		}
	case 6: // a vector of words
		var v []rdmasim.Segment
		rest := w.buf
		for range 4 {
			first, n := w.pick(min(len(k.written), 64))
			v = append(v, rdmasim.Segment{Address: words + uint64(first)*8, Bytes: w.next(k, first, rest[:n*8])})
			rest = rest[n*8:]
		}
		if n, err := w.peer.WriteV(v); err != nil {
			return err
		} else if n != len(v) {
			return fmt.Errorf("%d segments of %d", n, len(v))
		}
		return w.own(k, words)
	case 7:
		return w.post(k, words)
	}
	return nil
}

// pick is a random range of at least one of n things, most of them short.
func (w *worker) pick(n int) (first, length int) {
	first = w.rng.IntN(n)
	length = 1 + w.rng.IntN(n-first)
	if w.rng.IntN(4) > 0 {
		length = min(length, 1+w.rng.IntN(64))
	}
	return first, length
}

// next fills b with what the words from first on are after one more write.
func (w *worker) next(k *known, first int, b []byte) []byte {
	for i := range len(b) / 8 {
		k.written[first+i]++
		putWord(b, i, mark(k.tag, k.lane, first+i, k.written[first+i]))
	}
	return b
}

// own reads words of the worker's lane, all of which it knows.
func (w *worker) own(k *known, words uint64) error {
	first, n := w.pick(len(k.written))
	b := w.buf[:n*8]
	if err := w.peer.Read(words+uint64(first)*8, b); err != nil {
		return err
	}
	return w.compare(k, first, b)
}

func (w *worker) compare(k *known, first int, b []byte) error {
	w.tally.checked.Add(uint64(len(b)))
	for i := range len(b) / 8 {
		if got, want := getWord(b, i), mark(k.tag, k.lane, first+i, k.written[first+i]); got != want {
			return fmt.Errorf("word %d of lane %d of region %#x is %#x, not %#x", first+i, k.lane, k.info.Address, got, want)
		}
	}
	return nil
}

// check holds words of any lane against what is known of them.
func (w *worker) check(k *known, lane, first int, b []byte) (err error) {
	w.tally.checked.Add(uint64(len(b)))
	for i := range len(b) / 8 {
		seen := &k.seen[lane][first+i]
		if *seen, err = checkMark(getWord(b, i), k.tag, lane, first+i, *seen); err != nil {
			return err
		}
	}
	return nil
}

// post writes words and reads them back in one batch, in whose order the reads find them.
func (w *worker) post(k *known, words uint64) error {
	const pairs = depth / 2
	var work [depth]rdmasim.Work
	var firsts [pairs]int
	rest := w.buf
	take := func(n int) (b []byte) {
		b, rest = rest[:n], rest[n:]
		return b
	}
	for i := range pairs {
		first, n := w.pick(min(len(k.written), 512))
		firsts[i] = first
		at := words + uint64(first)*8
		work[2*i] = rdmasim.Work{Opcode: rdmasim.OpWrite, RemoteAddress: at, Local: w.next(k, first, take(n*8))}
		work[2*i+1] = rdmasim.Work{Opcode: rdmasim.OpRead, RemoteAddress: at, Local: take(n * 8)}
	}
	work[depth-1].Flags = rdmasim.FlagSignalled
	if err := w.pair.Post(work[:]); err != nil {
		return err
	}
	// Either the last one completes, or one fails and all behind it are flushed.
	var c [depth]rdmasim.Completion
	ctx, cancel := context.WithTimeout(context.Background(), stillness)
	defer cancel()
	if _, err := w.pair.Poll(ctx, c[:]); err != nil {
		return fmt.Errorf("posted work doesn't end: %w", err)
	}
	failed := c[0].Err
	w.pair.Reset()
	for n := 1; n > 0; {
		n, _ = w.pair.Poll(done, c[:])
	}
	if failed != nil {
		return failed
	}
	for i := range pairs {
		r := work[2*i+1].Local
		if !bytes.Equal(r, work[2*i].Local) {
			return fmt.Errorf("a read behind a write of %d bytes at word %d of region %#x sees other bytes", len(r), firsts[i],
				k.info.Address)
		}
	}
	w.tally.checked.Add(uint64(len(w.buf) - len(rest)))
	return nil
}

// done is over, so that a poll with it doesn't wait.
var done = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
