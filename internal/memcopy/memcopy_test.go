package memcopy

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Every byte arrives, and none beside them is touched, at sizes around the limits.
func TestCopy(t *testing.T) {
	past := limit().past
	if past > 256<<20 {
		past = 64 << 20 // no limit, or one that the test has no memory for
	}
	src, dst := make([]byte, past+4096), make([]byte, past+4096)
	for i := range src {
		src[i] = byte(i*7 + i>>8 + i>>16)
	}
	for _, n := range []int{0, 1, 64, 4096, smallBytes, smallBytes + 1, 40_000, pieceBytes - 1, pieceBytes,
		pieceBytes + 1, 2*pieceBytes + 13, past - 1, past, past + 77} {
		for _, at := range []int{0, 1, 63} {
			clear(dst[:n+200])
			Copy(dst[at:at+n], src[3:3+n])
			if !bytes.Equal(dst[at:at+n], src[3:3+n]) {
				t.Fatalf("%d bytes to offset %d are others", n, at)
			}
			if bytes.ContainsFunc(dst[:at], func(r rune) bool { return r != 0 }) || dst[at+n] != 0 {
				t.Fatalf("%d bytes to offset %d: others were written", n, at)
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { Copy(dst, src) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What the processor tells of its caches is what the kernel made of it.
func TestLastCache(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: only amd64 has a limit")
	}
	largest := 0
	for i := range 8 {
		b, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/size", i))
		if err != nil {
			break
		}
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(b)), "K"))
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, n<<10)
	}
	if largest == 0 {
		t.Skip("SKIPPED: no /sys/devices/system/cpu/cpu0/cache")
	}
	if _, got := caches(); got != largest {
		t.Errorf("the last cache has %d bytes, the kernel says %d", got, largest)
	}
}

// A page that isn't there is a panic with its address, wherever it lies in a large copy.
func TestFaults(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const size = 4 << 20
	good := make([]byte, size)
	for _, bad := range []int{0, size / 2, size - 4096} {
		m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Mprotect(m[bad:bad+4096], unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
		for _, way := range []func(){func() { Copy(m, good) }, func() { Copy(good, m) }} {
			func() {
				defer func() {
					f, ok := recover().(interface{ Addr() uintptr })
					if at := uintptr(unsafe.Pointer(&m[bad])); !ok || f.Addr()-at >= 4096 {
						t.Errorf("a fault at %d of %d gives %v", bad, size, f)
					}
				}()
				way()
			}()
		}
		unix.Munmap(m)
	}
}

var sizes = []int{64, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 8 << 20,
	16 << 20, 64 << 20}

// memcpy is the C library's.
func memcpy(t testing.TB) func(dst, src []byte) {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	symbol, err := purego.Dlsym(libc, "memcpy")
	if err != nil {
		t.Fatal(err)
	}
	return func(dst, src []byte) {
		purego.SyscallN(symbol, uintptr(unsafe.Pointer(&dst[0])), uintptr(unsafe.Pointer(&src[0])), uintptr(len(dst)))
	}
}

// shared is memory as peers have it.
func shared(t testing.TB, size int) []byte {
	fd, err := unix.MemfdCreate("shared", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	return m
}

// BenchmarkCopy compares reads from shared memory with memcpy, a call of which takes some 80 ns by itself.
func BenchmarkCopy(b *testing.B) {
	theirs := memcpy(b)
	far := shared(b, sizes[len(sizes)-1])
	near := bytes.Repeat([]byte{1}, len(far))
	for _, n := range sizes {
		for _, side := range []struct {
			name string
			copy func(dst, src []byte)
		}{{"memcpy", theirs}, {"ours", Copy}} {
			b.Run(fmt.Sprintf("%d/%s", n, side.name), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					side.copy(near[:n], far[:n])
				}
			})
		}
	}
}
