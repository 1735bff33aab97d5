package rdmasim

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// BenchmarkTransfer compares reads and writes of a resolved region with the C library's memcpy over a mapping
// of the same memory; a call of that takes some 50 ns by itself, so that small ones are compared with Go's copy.
func BenchmarkTransfer(b *testing.B) {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		b.Fatal(err)
	}
	memcpy, err := purego.Dlsym(libc, "memcpy")
	if err != nil {
		b.Fatal(err)
	}
	o, p := newOwner(b), newPeer(b)
	const size = 64 << 20
	fd := payload(b, size)
	a := register(b, o, fd, 0, size, AccessAll).Address()
	mapping := mapped(b, fd, size)
	local := make([]byte, size)
	copy(local, mapping)
	for _, n := range []int{8, 64, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, size} {
		raw := func(dst, src []byte) { copy(dst, src) }
		if n >= 1<<20 {
			raw = func(dst, src []byte) {
				purego.SyscallN(memcpy, uintptr(unsafe.Pointer(&dst[0])), uintptr(unsafe.Pointer(&src[0])), uintptr(n))
			}
		}
		buf, data := local[:n], mapping[:n]
		run := func(name string, op func()) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					op()
				}
			})
		}
		must := func(err error) {
			if err != nil {
				b.Fatal(err)
			}
		}
		run("raw-read", func() { raw(buf, data) })
		run("read", func() { must(p.Read(a, buf)) })
		run("raw-write", func() { raw(data, buf) })
		run("write", func() { must(p.Write(a, buf)) })
	}
}

func BenchmarkAtomics(b *testing.B) {
	o, p := newOwner(b), newPeer(b)
	fd := payload(b, 4096)
	a := register(b, o, fd, 0, 4096, AccessAll).Address()
	b.Run("raw-fetch-add", func(b *testing.B) {
		w := (*atomic.Uint64)(unsafe.Pointer(&mapped(b, fd, 4096)[0]))
		for b.Loop() {
			w.Add(1)
		}
	})
	b.Run("fetch-add", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.FetchAdd64(a, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compare-swap", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.CompareSwap64(a, 0, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkQueuePair posts batches of writes of 64 bytes, of which the last is signalled; the time is that of
// one.
func BenchmarkQueuePair(b *testing.B) {
	o, p := newOwner(b), newPeer(b)
	a := register(b, o, payload(b, 4096), 0, 4096, AccessAll).Address()
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := newQueuePair(b, p, n)
			work := make([]Work, n)
			for i := range work {
				work[i] = Work{Opcode: OpWrite, RemoteAddress: a, Local: make([]byte, 64)}
			}
			work[n-1].Flags = FlagSignalled
			done := make([]Completion, 1)
			b.ReportAllocs()
			for i := 0; i < b.N; i += n {
				if err := q.Post(work); err != nil {
					b.Fatal(err)
				}
				if _, err := q.Poll(context.Background(), done); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResolve measures the first resolve of an address in an owner that runs in another process: with
// the connection made, and with a peer that has met no owner yet, and is closed again. raw is what the
// mapping alone costs.
func BenchmarkResolve(b *testing.B) {
	owner := start(b, "owner", nil)
	a := owner.number("register 4096 7")
	ctx := context.Background()
	b.Run("raw", func(b *testing.B) {
		fd := payload(b, 4096)
		for b.Loop() {
			m, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				b.Fatal(err)
			}
			unix.Munmap(m)
		}
	})
	b.Run("connected", func(b *testing.B) {
		p := newPeer(b)
		for b.Loop() {
			r, err := p.Resolve(ctx, a)
			if err != nil {
				b.Fatal(err)
			}
			p.table.Drop(r.region, ErrFreed)
		}
	})
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			p, err := Open(ctx, "")
			if err == nil {
				_, err = p.Resolve(ctx, a)
			}
			if err != nil {
				b.Fatal(err)
			}
			p.Close()
		}
	})
}

func BenchmarkRegister(b *testing.B) {
	o := newOwner(b)
	fd := payload(b, 4096)
	for b.Loop() {
		r, err := o.Register(fd, 0, 4096, Attributes{Access: AccessAll})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
