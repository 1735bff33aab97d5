// Libfarside_rdma is package rdmasim for C: the functions of farside_rdma.h, which documents them. Those are
// the symbols of entry.S, which go on to the functions here.
//
// C holds no Go pointer: a farside_peer* is a number of a handle table. Pointers from C are numbers, too,
// until they have been checked for what Go's runtime could stumble over; one that leads nowhere faults, and
// the fault becomes a status.
package main

// #include "farside_rdma.h"
// extern uint64_t *gate_guard;
import "C"

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"farside/internal/config"
	"farside/internal/gate"
	"farside/internal/handle"
	"farside/internal/stderr"
	"farside/rdmasim"
)

// peer is what a farside_peer* stands for.
type peer struct {
	fabric *rdmasim.Peer
	queue  *rdmasim.QueuePair
	open   context.Context // until farside_peer_close
	close  context.CancelFunc
}

// status is an enum farside_status.
type status = C.int

var (
	peers = handle.NewTable[peer](0xfa, "farside_peer")

	// userSpace is where the addresses end that the kernel gives to a process which doesn't ask for higher ones.
	// Beyond, the processor's faults don't say where they were.
	userSpace = uintptr(1) << map[string]int{"amd64": 47, "arm64": 48}[runtime.GOARCH]

	// nowhere faults. It stands in for local memory that can't exist.
	nowhere = func() []byte {
		p, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			panic(fmt.Sprintf("farside: no address space for one page: %v", err))
		}
		return p
	}()

	// done is a context that lets nobody wait.
	done = func() context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}()
)

func init() { C.gate_guard = (*C.uint64_t)(unsafe.Pointer(gate.Guard)) }

//export gate_enter
func gate_enter(bare int32) { gate.Enter(bare != 0) }

//export gate_exit
func gate_exit() { gate.Run(gate.Exit) }

// memory is n bytes of C's memory at an address, which may turn out to fault.
func memory(at, n uintptr) []byte {
	switch {
	case n == 0:
		return nil
	case at < uintptr(len(nowhere)) || at > userSpace || n > userSpace-at:
		return nowhere[:min(n, uintptr(len(nowhere)))]
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// array is memory as n structures. A number of them that can't exist faults as well.
func array[T any](at, n uintptr) []T {
	var t T
	if n > userSpace/unsafe.Sizeof(t) {
		n = userSpace / unsafe.Sizeof(t)
	}
	b := memory(at, n*unsafe.Sizeof(t))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// run gives the status of f, which may touch C's memory.
func run(f func() status) (s status) {
	gate.Run(func() {
		defer answer(&s)
		debug.SetPanicOnFault(true)
		s = f()
	})
	return s
}

// answer is deferred: it makes a status of a fault. Any other panic is an error of ours, of which C must not
// die.
func answer(s *status) {
	v := recover()
	if v == nil {
		return
	}
	*s = C.FARSIDE_LOC_PROT_ERR
	if _, ok := v.(interface{ Addr() uintptr }); !ok {
		*s = C.FARSIDE_GENERAL_ERR
		fmt.Fprintf(stderr.Writer, "farside: panic: %v\n%s", v, debug.Stack())
	}
}

func statusOf(err error) status {
	if err == nil {
		return C.FARSIDE_SUCCESS
	}
	return status(rdmasim.StatusOf(err))
}

//export rdma_peer_open
func rdma_peer_open(fabric, result uintptr) status {
	return run(func() status {
		out := memory(result, 8)
		binary.NativeEndian.PutUint64(out, 0)
		var name []byte
		for fabric != 0 {
			c := memory(fabric+uintptr(len(name)), 1)[0]
			if c == 0 {
				break
			}
			name = append(name, c)
		}
		p, err := openPeer(string(name))
		if err != nil {
			fmt.Fprintf(stderr.Writer, "farside: farside_peer_open: %v\n", err)
			return statusOf(err)
		}
		binary.NativeEndian.PutUint64(out, peers.Insert(p))
		return C.FARSIDE_SUCCESS
	})
}

func openPeer(name string) (*peer, error) {
	if err := gate.Prepare(); err != nil {
		return nil, err
	}
	if _, err := config.Capture(); err != nil {
		return nil, err
	}
	fabric, err := rdmasim.Open(context.Background(), name)
	if err != nil {
		return nil, err
	}
	queue, err := fabric.NewQueuePair(C.FARSIDE_DEPTH)
	if err != nil {
		_ = fabric.Close()
		return nil, err
	}
	p := &peer{fabric: fabric, queue: queue}
	p.open, p.close = context.WithCancel(context.Background())
	return p, nil
}

//export rdma_peer_close
func rdma_peer_close(h uint64) {
	run(func() status {
		p := peers.Remove(h)
		if p == nil {
			return C.FARSIDE_WR_FLUSH_ERR
		}
		p.close()
		_ = p.fabric.Close()
		p.queue.Reset() // waits for work under way
		return C.FARSIDE_SUCCESS
	})
}

//export rdma_read
func rdma_read(h, address uint64, local, length uintptr) status {
	return run(func() status {
		p := peers.Get(h)
		if p == nil {
			return C.FARSIDE_WR_FLUSH_ERR
		}
		return statusOf(p.fabric.Read(address, memory(local, length)))
	})
}

//export rdma_write
func rdma_write(h, address uint64, local, length uintptr) status {
	return run(func() status {
		p := peers.Get(h)
		if p == nil {
			return C.FARSIDE_WR_FLUSH_ERR
		}
		return statusOf(p.fabric.Write(address, memory(local, length)))
	})
}

//export rdma_fetch_add64
func rdma_fetch_add64(h, address, add uint64, old uintptr) status {
	return run(func() status {
		p := peers.Get(h)
		if p == nil {
			return C.FARSIDE_WR_FLUSH_ERR
		}
		was, err := p.fabric.FetchAdd64(address, add)
		return store(old, was, err)
	})
}

//export rdma_compare_swap64
func rdma_compare_swap64(h, address, compare, swap uint64, old uintptr) status {
	return run(func() status {
		p := peers.Get(h)
		if p == nil {
			return C.FARSIDE_WR_FLUSH_ERR
		}
		was, err := p.fabric.CompareSwap64(address, compare, swap)
		return store(old, was, err)
	})
}

// store gives C what an atomic found, if it wants it.
func store(old uintptr, was uint64, err error) status {
	if err == nil && old != 0 {
		binary.NativeEndian.PutUint64(memory(old, 8), was)
	}
	return statusOf(err)
}

//export rdma_post
func rdma_post(h uint64, work, n uintptr) status {
	return run(func() status {
		p := peers.Get(h)
		switch {
		case p == nil:
			return C.FARSIDE_WR_FLUSH_ERR
		case n > C.FARSIDE_DEPTH:
			return C.FARSIDE_LOC_QP_OP_ERR
		}
		list := make([]rdmasim.Work, n)
		requests := array[C.struct_farside_work](work, n)
		for i := range requests {
			r := &requests[i]
			if r.opcode < C.FARSIDE_READ || r.opcode > C.FARSIDE_FETCH_XOR ||
				r.flags&^(C.FARSIDE_SIGNALLED|C.FARSIDE_FENCE) != 0 {
				return C.FARSIDE_LOC_QP_OP_ERR
			}
			// Not as the pointer that it is declared to be: it may be anything.
			local := *(*uintptr)(unsafe.Pointer(&r.local))
			w := rdmasim.Work{
				ID: uint64(r.wr_id), Opcode: rdmasim.Opcode(r.opcode), Flags: rdmasim.WorkFlags(r.flags),
				RemoteAddress: uint64(r.remote_address), Key: uint64(r.key), Local: memory(local, uintptr(r.length)),
				Operand: uint64(r.compare_add), Compare: uint64(r.compare_add),
			}
			if w.Opcode == rdmasim.OpSwap || w.Opcode == rdmasim.OpCompareSwap {
				w.Operand = uint64(r.swap)
			}
			list[i] = w
		}
		return statusOf(p.queue.Post(list))
	})
}

//export rdma_poll
func rdma_poll(h uint64, completions, n uintptr, timeout int32) status {
	var taken status
	failure := run(func() (s status) {
		taken, s = poll(h, completions, n, timeout)
		return s
	})
	if failure != C.FARSIDE_SUCCESS {
		return -failure
	}
	return taken
}

func poll(h uint64, completions, n uintptr, timeout int32) (taken, s status) {
	p := peers.Get(h)
	if p == nil {
		return 0, C.FARSIDE_WR_FLUSH_ERR
	}
	out := array[C.struct_farside_completion](completions, min(n, C.FARSIDE_DEPTH))
	clear(out) // faults before a completion is taken
	if k := p.take(done, out); k > 0 || len(out) == 0 || timeout == 0 {
		return k, C.FARSIDE_SUCCESS
	}
	ctx := p.open
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(timeout)*time.Millisecond)
		defer cancel()
	}
	if taken = p.take(ctx, out); taken == 0 && p.open.Err() != nil {
		return 0, C.FARSIDE_WR_FLUSH_ERR
	}
	return taken, C.FARSIDE_SUCCESS
}

// take polls until out is full or nothing is left, and waits for the first until ctx is done.
func (p *peer) take(ctx context.Context, out []C.struct_farside_completion) (taken status) {
	var batch [16]rdmasim.Completion
	for len(out) > 0 {
		k, _ := p.queue.Poll(ctx, batch[:min(len(batch), len(out))])
		if k == 0 {
			break
		}
		for i, c := range batch[:k] {
			out[i] = C.struct_farside_completion{
				wr_id: C.uint64_t(c.ID), length: C.uint64_t(c.Length), status: C.int32_t(c.Status), opcode: C.uint32_t(c.Opcode),
			}
		}
		out, taken, ctx = out[k:], taken+status(k), done
	}
	return taken
}

//export rdma_reset
func rdma_reset(h uint64) status {
	return run(func() status {
		p := peers.Get(h)
		if p == nil {
			return C.FARSIDE_WR_FLUSH_ERR
		}
		p.queue.Reset()
		return C.FARSIDE_SUCCESS
	})
}

// texts lie in the library's read-only data, where they stay.
var texts = [...]string{
	rdmasim.StatusSuccess:        "success\x00",
	rdmasim.StatusLocLenErr:      "local memory of a wrong length\x00",
	rdmasim.StatusLocQPOpErr:     "operation that can not be queued\x00",
	rdmasim.StatusLocProtErr:     "local memory is not accessible\x00",
	rdmasim.StatusWRFlushErr:     "flushed, or peer closed\x00",
	rdmasim.StatusBadRespErr:     "other side does not speak this protocol\x00",
	rdmasim.StatusRemInvReqErr:   "misaligned remote address\x00",
	rdmasim.StatusRemAccessErr:   "no such access to remote memory\x00",
	rdmasim.StatusRetryExcErr:    "owner died or host unreachable\x00",
	C.FARSIDE_FATAL_ERR:          "process was forked after it loaded libfarside_rdma\x00",
	rdmasim.StatusRespTimeoutErr: "owner does not answer\x00",
	rdmasim.StatusGeneralErr:     "general error\x00",
}

//export rdma_status_string
func rdma_status_string(s int32) unsafe.Pointer {
	text := "unknown status\x00"
	if n := max(s, -s); n >= 0 && int(n) < len(texts) && texts[n] != "" {
		text = texts[n]
	}
	return unsafe.Pointer(unsafe.StringData(text))
}

func main() {}
