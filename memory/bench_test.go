package memory

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
)

const benchSize = 1 << 20

func BenchmarkAnonymous(b *testing.B) {
	for b.Loop() {
		p, err := NewAnonymous(benchSize)
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkAnonymousMapped(b *testing.B) {
	for b.Loop() {
		p, err := NewAnonymous(benchSize)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Map(); err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkAnonymousBareCalls(b *testing.B) {
	for b.Loop() {
		a, _, e := unix.RawSyscall6(unix.SYS_MMAP, 0, benchSize, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uintptr(0), 0)
		if e != 0 {
			b.Fatal(e)
		}
		unix.RawSyscall(unix.SYS_MUNMAP, a, benchSize, 0)
	}
}

func BenchmarkShared(b *testing.B) {
	for b.Loop() {
		p, err := NewShared(benchSize, sample)
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkSharedMapped(b *testing.B) {
	for b.Loop() {
		p, err := NewShared(benchSize, sample)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Map(); err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkSharedBareCalls(b *testing.B) {
	name := []byte("bench\x00")
	meta := sample.Encode()
	for b.Loop() {
		fd, _, e := unix.RawSyscall(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&name[0])),
			unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING, 0)
		if e != 0 {
			b.Fatal(e)
		}
		unix.RawSyscall(unix.SYS_FTRUNCATE, fd, benchSize+4096, 0)
		unix.RawSyscall6(unix.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(&meta[0])), MetadataSize, benchSize, 0, 0)
		unix.RawSyscall(unix.SYS_FCNTL, fd, unix.F_ADD_SEALS, memfd.Seals)
		unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
}

func BenchmarkBudgetQuery(b *testing.B) {
	q := NewBudget(Profile{Heaps: []Heap{{Size: largestHeap}}}, 1)
	for b.Loop() {
		q.Budget(0)
	}
}

func BenchmarkDefaultProfile(b *testing.B) {
	for b.Loop() {
		DefaultProfile(0, 0)
	}
}
