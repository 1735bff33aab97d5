package rdmasim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim/internal/verbs"
)

func newQueuePair(t testing.TB, p *Peer, depth int) *QueuePair {
	t.Helper()
	q, err := p.NewQueuePair(depth)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func post(t testing.TB, q *QueuePair, work ...Work) {
	t.Helper()
	if err := q.Post(work); err != nil {
		t.Fatal(err)
	}
}

// poll takes n completions.
func poll(t testing.TB, q *QueuePair, n int) []Completion {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all := make([]Completion, n)
	for got := 0; got < n; {
		k, err := q.Poll(ctx, all[got:])
		if err != nil {
			t.Fatalf("after %d completions: %v", got, err)
		}
		got += k
	}
	return all
}

var isDone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func nothingToPoll(t testing.TB, q *QueuePair) {
	t.Helper()
	var c [1]Completion
	if n, err := q.Poll(isDone, c[:]); n != 0 || !errors.Is(err, context.Canceled) {
		t.Fatalf("polled %d, %+v, %v", n, c, err)
	}
}

func TestQueuePair(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 8192), 0, 8192, AccessAll)
	a := r.Address()
	q := newQueuePair(t, p, 8)
	nothingToPoll(t, q)

	// In order: what is read is what was written just before, and completions come in the order of posting.
	w, back, old32, old64 := []byte("posted"), make([]byte, 6), make([]byte, 4), make([]byte, 8)
	post(t, q,
		Work{ID: 1, Opcode: OpWrite, RemoteAddress: a + 100, Local: w, Key: r.Key()},
		Work{ID: 2, Opcode: OpRead, RemoteAddress: a + 100, Local: back, Flags: FlagSignalled},
		Work{ID: 3, Opcode: OpWrite, RemoteAddress: a + 8, Local: make([]byte, 16)},
		Work{ID: 4, Opcode: OpFetchAdd, RemoteAddress: a + 8, Local: old64, Operand: 5},
		Work{ID: 5, Opcode: OpCompareSwap, RemoteAddress: a + 8, Local: old64, Operand: 7, Compare: 5,
			Flags: FlagSignalled | FlagFence},
		Work{ID: 6, Opcode: OpFetchOr, RemoteAddress: a + 8, Local: old32, Operand: 8, Flags: FlagSignalled})
	got := poll(t, q, 3)
	want := []Completion{{ID: 2, Opcode: OpRead, Length: 6}, {ID: 5, Opcode: OpCompareSwap, Length: 8},
		{ID: 6, Opcode: OpFetchOr, Length: 4}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("completion %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if !bytes.Equal(back, w) || binary.NativeEndian.Uint64(old64) != 5 || binary.NativeEndian.Uint32(old32) != 7 {
		t.Errorf("read %q, old values %x and %x", back, old64, old32)
	}
	q.Reset()
	nothingToPoll(t, q)

	// Room: unsignalled work takes none once it has ended, signalled work until it has been polled.
	for range 20 {
		post(t, q, Work{Opcode: OpWrite, RemoteAddress: a, Local: w}, Work{Opcode: OpWrite, RemoteAddress: a, Local: w})
		q.Reset() // waits
	}
	signalled := Work{ID: 9, Opcode: OpWrite, RemoteAddress: a, Local: w, Flags: FlagSignalled}
	post(t, q, signalled, signalled, signalled, signalled, signalled)
	wantErr(t, q.Post([]Work{signalled, signalled, signalled, signalled}), ErrQueueFull)
	post(t, q, signalled, signalled, signalled)
	wantErr(t, q.Post([]Work{signalled}), StatusLocQPOpErr)
	poll(t, q, 1)
	post(t, q, signalled)
	poll(t, q, 8)
	nothingToPoll(t, q)
	for _, depth := range []int{0, -1, maxDepth + 1} {
		_, err := p.NewQueuePair(depth)
		wantErr(t, err, ErrResources)
	}
}

// Each way to fail puts the pair into the error state, and what follows is flushed, signalled or not, until
// Reset.
func TestQueuePairErrors(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	next := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	ro := register(t, o, payload(t, 4096), 0, 4096, AccessRead)
	freed := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	if err := p.Read(freed.Address(), make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	freed.Close()
	nowhere, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(nowhere)
	q := newQueuePair(t, p, 16)
	b := make([]byte, 8)
	good := Work{ID: 7, Opcode: OpWrite, RemoteAddress: r.Address(), Local: []byte("good")}
	for name, c := range map[string]struct {
		work   Work
		err    error
		status Status
	}{
		"unknown address": {Work{Opcode: OpRead, RemoteAddress: r.Address() + 4096, Local: b}, ErrUnknownAddress,
			StatusRemAccessErr},
		"CPU address": {Work{Opcode: OpWrite, RemoteAddress: 0x7fff00001000, Local: b}, ErrUnknownAddress,
			StatusRemAccessErr},
		"one byte over": {Work{Opcode: OpRead, RemoteAddress: r.Address() + 4089, Local: b}, ErrOutOfRange,
			StatusRemAccessErr},
		"straddling": {Work{Opcode: OpWrite, RemoteAddress: r.Address(), Local: make([]byte, next.Address()-r.Address()+1)},
			ErrOutOfRange, StatusRemAccessErr},
		"wrong key": {Work{Opcode: OpRead, RemoteAddress: r.Address(), Key: r.Key() ^ 1, Local: b}, ErrKey,
			StatusRemAccessErr},
		"missing right": {Work{Opcode: OpFetchAnd, RemoteAddress: ro.Address(), Local: b}, ErrAccess, StatusRemAccessErr},
		"freed":         {Work{Opcode: OpSwap, RemoteAddress: freed.Address(), Local: b}, ErrFreed, StatusRemAccessErr},
		"misaligned": {Work{Opcode: OpFetchXor, RemoteAddress: r.Address() + 4, Local: b}, ErrMisaligned,
			StatusRemInvReqErr},
		"atomic of 7": {Work{Opcode: OpFetchAdd, RemoteAddress: r.Address(), Local: b[:7]}, ErrLocalLength,
			StatusLocLenErr},
		"atomic of 0": {Work{Opcode: OpFetchAdd, RemoteAddress: r.Address()}, ErrLocalLength, StatusLocLenErr},
		"no opcode":   {Work{RemoteAddress: r.Address(), Local: b}, ErrBadWork, StatusLocQPOpErr},
		"opcode 99":   {Work{Opcode: 99, RemoteAddress: r.Address(), Local: b}, ErrBadWork, StatusLocQPOpErr},
		"to nowhere": {Work{Opcode: OpRead, RemoteAddress: r.Address(), Local: nowhere[:77]}, ErrLocalFault,
			StatusLocProtErr},
		"from nowhere": {Work{Opcode: OpWrite, RemoteAddress: r.Address(), Local: nowhere[8:16]}, ErrLocalFault,
			StatusLocProtErr},
		"old, nowhere": {Work{Opcode: OpSwap, RemoteAddress: r.Address(), Local: nowhere[:8]}, ErrLocalFault,
			StatusLocProtErr},
	} {
		if err := p.Write(r.Address(), []byte("none")); err != nil {
			t.Fatal(err)
		}
		c.work.ID = 1
		post(t, q, c.work, good, good)
		got := poll(t, q, 3)
		post(t, q, good)
		got = append(got, poll(t, q, 1)...)
		if got[0].ID != 1 || got[0].Status != c.status || !errors.Is(got[0].Err, c.err) || got[0].Length != 0 ||
			got[0].Opcode != c.work.Opcode {
			t.Errorf("%s: %+v", name, got[0])
		}
		for _, f := range got[1:] {
			if f.ID != 7 || f.Status != StatusWRFlushErr || !errors.Is(f.Err, ErrFlushed) || f.Length != 0 {
				t.Errorf("%s: flushed with %+v", name, f)
			}
		}
		if err := p.Read(r.Address(), b[:4]); err != nil || string(b[:4]) == "good" {
			t.Errorf("%s: flushed work was done: %q, %v", name, b[:4], err)
		}
		q.Reset()
		good.Flags = FlagSignalled
		post(t, q, good)
		if got := poll(t, q, 1)[0]; got.Status != StatusSuccess || got.Err != nil {
			t.Fatalf("%s: after Reset: %+v", name, got)
		}
		good.Flags = 0
	}
	post(t, q, good, good)
	q.Reset()
	begin := time.Now()
	r.Close()
	if d := time.Since(begin); d >= verbs.DrainTimeout {
		t.Errorf("a fault left somebody inside of a region: its free took %v", d)
	}
	p.Close()
	post(t, q, good, good)
	for _, c := range poll(t, q, 2) {
		if c.Status != StatusWRFlushErr {
			t.Errorf("after the peer's end: %+v", c)
		}
	}
}

// Work is under way while its owner is killed: all of it completes, well or with an error, in order.
func TestQueuePairOwnerKilled(t *testing.T) {
	owner, p := start(t, "owner", nil), newPeer(t)
	a := owner.number("register 65536 7")
	// To a peer that meets the address only after the owner's death, it belongs to nobody.
	if err := p.Write(a, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	q := newQueuePair(t, p, 64)
	var killed sync.WaitGroup
	killed.Go(func() {
		time.Sleep(20 * time.Millisecond)
		owner.kill()
	})
	batch := make([]Work, 32)
	for i := range batch {
		batch[i] = Work{Opcode: OpWrite, RemoteAddress: a, Local: make([]byte, 65536), Flags: FlagSignalled}
	}
	for id, failed := uint64(0), false; !failed; {
		for i := range batch {
			batch[i].ID = id + uint64(i)
		}
		post(t, q, batch...)
		for _, c := range poll(t, q, len(batch)) {
			if c.ID != id {
				t.Fatalf("completion of %d instead of %d", c.ID, id)
			}
			id++
			switch {
			case failed && c.Status == StatusWRFlushErr:
			case !failed && c.Status == StatusRetryExcErr && errors.Is(c.Err, ErrOwnerDied):
				failed = true
			case failed || c.Status != StatusSuccess:
				t.Fatalf("%+v, failed before: %v", c, failed)
			}
		}
	}
	killed.Wait()
}

// Many post to and poll one pair; nothing is lost.
func TestQueuePairShared(t *testing.T) {
	const posters, each = 4, 2000
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 4096)
	a := register(t, o, fd, 0, 4096, AccessAll).Address()
	if err := p.Write(a, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	q := newQueuePair(t, p, 16)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	seen := 0
	for range 2 {
		wg.Go(func() {
			c := make([]Completion, 3)
			for {
				n, err := q.Poll(ctx, c)
				if err != nil {
					return
				}
				mu.Lock()
				if seen += n; seen == posters*each/2 {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	for range posters {
		wg.Go(func() {
			old := make([]byte, 8)
			for i := 0; i < each; {
				err := q.Post([]Work{{Opcode: OpFetchAdd, RemoteAddress: a, Local: old, Operand: 1, Flags: WorkFlags(i & 1)}})
				if err == nil {
					i++
				} else if !errors.Is(err, ErrQueueFull) {
					t.Error(err)
					return
				} else {
					time.Sleep(time.Microsecond)
				}
			}
		})
	}
	wg.Wait()
	q.Reset()
	b := make([]byte, 8)
	if err := p.Read(a, b); err != nil || binary.NativeEndian.Uint64(b) != posters*each || seen != posters*each/2 {
		t.Errorf("sum %d, %d completions, %v", binary.NativeEndian.Uint64(b), seen, err)
	}
}

func TestQueuePairDoesNotAllocate(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	a := register(t, o, payload(t, 4096), 0, 4096, AccessAll).Address()
	q := newQueuePair(t, p, 32)
	work := make([]Work, 32)
	for i := range work {
		work[i] = Work{Opcode: OpRead, RemoteAddress: a, Local: make([]byte, 64)}
	}
	work[31].Flags = FlagSignalled
	c := make([]Completion, 4)
	ctx := context.Background()
	round := func() {
		if err := q.Post(work); err != nil {
			t.Fatal(err)
		}
		if n, err := q.Poll(ctx, c); n != 1 || err != nil || c[0].Status != StatusSuccess {
			t.Fatal(n, err, c[0])
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}
