package rdmasim

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"
)

// step is one operation on one word, as a history has it.
type step struct {
	Word             int
	Op               Opcode
	Operand, Compare uint64
	Old              uint64 // what it returned; nothing for a write
	Call, Return     int64  // CLOCK_MONOTONIC, which all processes share, ns
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// history does random operations on four words from address on, once all clients stand at the barrier behind
// them. Small operands make many compare-swaps succeed and many states meet again, which is what a wrong
// order would need to hide.
func history(p *Peer, address uint64, n int, seed, clients uint64) ([]step, error) {
	if _, err := p.FetchAdd64(address+64, 1); err != nil {
		return nil, err
	}
	for {
		if there, err := p.FetchAdd64(address+64, 0); err != nil {
			return nil, err
		} else if there == clients {
			break
		}
		runtime.Gosched()
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	steps := make([]step, n)
	var b [8]byte
	for i := range steps {
		s := step{Word: rng.IntN(4), Op: OpRead + Opcode(rng.IntN(int(OpFetchXor))), Operand: rng.Uint64N(8),
			Compare: rng.Uint64N(8)}
		at := address + uint64(s.Word)*8
		var err error
		s.Call = monotonic()
		switch s.Op {
		case OpRead:
			err = p.Read(at, b[:])
			s.Old = binary.NativeEndian.Uint64(b[:])
		case OpWrite:
			binary.NativeEndian.PutUint64(b[:], s.Operand)
			err = p.Write(at, b[:])
		default:
			s.Old, err = p.atomic(s.Op, 8, at, s.Operand, s.Compare)
		}
		s.Return = monotonic()
		if err != nil {
			return nil, err
		}
		steps[i] = s
		if rng.IntN(8) == 0 {
			runtime.Gosched()
		}
	}
	return steps, nil
}

// wordModel is what one word does when one operation comes after the other.
var wordModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		words := make([][]porcupine.Operation, 4)
		for _, o := range all {
			w := o.Input.(step).Word
			words[w] = append(words[w], o)
		}
		return words
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		s, w := input.(step), state.(uint64)
		next := map[Opcode]uint64{
			OpRead: w, OpWrite: s.Operand, OpFetchAdd: w + s.Operand, OpSwap: s.Operand, OpCompareSwap: w,
			OpFetchAnd: w & s.Operand, OpFetchOr: w | s.Operand, OpFetchXor: w ^ s.Operand,
		}[s.Op]
		if s.Op == OpCompareSwap && w == s.Compare {
			next = s.Operand
		}
		return s.Op == OpWrite || s.Old == w, next
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// Reads, writes and atomics of words, from goroutines of several processes, have an order that explains what
// each returned and respects who was done before whom.
func TestLinearizable(t *testing.T) {
	const processes, goroutines, each = 3, 2, 500
	owner := start(t, "owner", nil)
	a := owner.number("register 4096 7")
	p := newPeer(t)
	if err := p.Write(a, make([]byte, 72)); err != nil {
		t.Fatal(err)
	}
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all []porcupine.Operation
	)
	record := func(client int, steps []step) {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range steps {
			all = append(all, porcupine.Operation{ClientId: client, Input: s, Call: s.Call, Return: s.Return})
		}
	}
	for i := range processes {
		c := start(t, "peer", nil)
		wg.Go(func() {
			var steps []step
			if err := json.Unmarshal([]byte(c.say("history %d %d %d %d", a, each, i, processes+goroutines)), &steps); err !=
				nil {
				t.Error(err)
			}
			record(i, steps)
		})
	}
	for i := range goroutines {
		wg.Go(func() {
			steps, err := history(p, a, each, uint64(100+i), processes+goroutines)
			if err != nil {
				t.Error(err)
			}
			record(processes+i, steps)
		})
	}
	wg.Wait()
	overlaps := 0
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for i := range all[1:] {
		if all[i+1].Call < all[i].Return {
			overlaps++
		}
	}
	t.Logf("%d operations, %d of which began during another", len(all), overlaps)
	if len(all) != (processes+goroutines)*each {
		t.Fatalf("%d operations", len(all))
	}
	if result := porcupine.CheckOperationsTimeout(wordModel, all, time.Minute); result != porcupine.Ok {
		t.Fatalf("the history is %v", result)
	}
	// A read of what nobody wrote is found.
	for i := range all {
		if s := all[i].Input.(step); s.Op == OpRead {
			s.Old ^= 1 << 63
			all[i].Input = s
			break
		}
	}
	if result := porcupine.CheckOperationsTimeout(wordModel, all, time.Minute); result == porcupine.Ok {
		t.Fatal("a wrong history passes")
	}
}
