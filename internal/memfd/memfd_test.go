package memfd_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/fd/fdtest"
	"farside/internal/memfd"
	"farside/internal/memfd/memfdtest"
)

const page = 4096

func create(t *testing.T, s memfd.Spec) *fd.FD {
	t.Helper()
	f, err := memfd.Create(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func sealsOf(t *testing.T, f *fd.FD) int {
	t.Helper()
	seals, err := unix.FcntlInt(uintptr(f.Int()), unix.F_GET_SEALS, 0)
	if err != nil {
		t.Fatal(err)
	}
	return seals
}

func TestCreate(t *testing.T) {
	fdtest.NoLeaks(t)
	for _, mode := range []uint32{memfd.Private, memfd.Public} {
		f := create(t, memfd.Spec{Name: "farside-test", Size: 2 * page, Mode: mode, Content: []byte("tail"), At: page})
		var st unix.Stat_t
		if err := unix.Fstat(f.Int(), &st); err != nil || st.Size != 2*page || st.Mode&0o7777 != mode {
			t.Errorf("size %d, mode %#o, %v", st.Size, st.Mode, err)
		}
		b := make([]byte, page+4)
		if _, err := unix.Pread(f.Int(), b, 0); err != nil || string(b[page:]) != "tail" || b[0]|b[page-1] != 0 {
			t.Errorf("content %q, %v", b[page-2:], err)
		}
		const writes = unix.F_SEAL_WRITE | unix.F_SEAL_FUTURE_WRITE
		if got := sealsOf(t, f); got&(memfd.Seals|writes) != memfd.Seals {
			t.Errorf("seals %#x, want %#x", got, memfd.Seals)
		}
		if err := memfd.SealWrites(f.Int()); !errors.Is(err, unix.EPERM) {
			t.Errorf("a final file took another seal: %v", err)
		}
		if size, err := memfd.Check(f.Int()); size != 2*page || err != nil {
			t.Errorf("%d bytes, %v", size, err)
		}
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Int()))
		if err != nil || name != "/memfd:farside-test (deleted)" {
			t.Errorf("its name is %q, %v", name, err)
		}
	}
}

// TestSealWrites (review 4, attacks 6): after it a file can be written through the old mapping and in no other way,
// whoever opens it again.
func TestSealWrites(t *testing.T) {
	fdtest.NoLeaks(t)
	f, mapping, err := memfd.CreateMapped("farside-test", page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer unix.Munmap(mapping)
	mapping[7] = 7
	readOnly, err := f.Reopen(unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	again, err := readOnly.Reopen(unix.O_RDWR) // the mode lets this user
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var b [8]byte
	if _, err := unix.Pread(again.Int(), b[:], 0); err != nil || b[7] != 7 {
		t.Errorf("a reader sees %v, %v", b, err)
	}
	memfdtest.WantReadOnly(t, readOnly.Int())
	memfdtest.WantReadOnly(t, again.Int())
	memfdtest.WantReadOnly(t, f.Int())
	m, err := unix.Mmap(again.Int(), 0, page, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	if _, err := memfd.Check(f.Int()); err == nil {
		t.Error("a file that can't be mapped for writing passed")
	}
	if mapping[7] = 8; m[7] != 8 {
		t.Error("the owner's mapping isn't the file any more")
	}
}

// A driver that makes dma-bufs of memfds asks for their seals as well, but not for what the descriptor was opened for.
func TestSealWritesStopsUdmabuf(t *testing.T) {
	fdtest.NoLeaks(t)
	const device = "/dev/udmabuf"
	dev, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("%s: %v", device, err)
	}
	defer unix.Close(dev)
	sealed, mapping, err := memfd.CreateMapped("farside-test", page)
	if err != nil {
		t.Fatal(err)
	}
	defer sealed.Close()
	defer unix.Munmap(mapping)
	open := create(t, memfd.Spec{Name: "farside-test", Size: page, Mode: memfd.Private})
	for _, c := range []struct {
		file *fd.FD
		want error
	}{{sealed, unix.EINVAL}, {open, nil}} {
		readOnly, err := c.file.Reopen(unix.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		defer readOnly.Close()
		raw, err := udmabuf(dev, readOnly.Int())
		if !errors.Is(err, c.want) {
			t.Errorf("a dma-buf of it: %v, want %v", err, c.want)
		}
		if err == nil {
			unix.Close(raw)
		}
	}
}

// udmabuf makes a dma-buf of a memfd's first page (linux/udmabuf.h, UDMABUF_CREATE).
func udmabuf(dev, memfd int) (int, error) {
	create := struct {
		memfd, flags uint32
		offset, size uint64
	}{uint32(memfd), 1, 0, page}
	raw, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), 0x40187542, uintptr(unsafe.Pointer(&create)))
	if errno != 0 {
		return -1, errno
	}
	return int(raw), nil
}

func TestOpenFilesAreSealedLater(t *testing.T) {
	fdtest.NoLeaks(t)
	f := create(t, memfd.Spec{Name: "farside-test", Size: page, Mode: memfd.Private, Open: true})
	if _, err := memfd.Check(f.Int()); err == nil {
		t.Error("a file whose seals can change passed")
	}
	if err := memfd.Seal(f.Int()); err != nil {
		t.Fatal(err)
	}
	if _, err := memfd.Check(f.Int()); err != nil {
		t.Error(err)
	}
}

// DenyOthers takes the right to write from other users, and nothing from the owner.
func TestDenyOthers(t *testing.T) {
	fdtest.NoLeaks(t)
	for mode, want := range map[uint32]uint32{
		memfd.Public: memfd.Private, memfd.Private: memfd.Private, 0o600: 0o600, 0o640: 0o640, 0o622: 0o600, 0o664: 0o644,
	} {
		f := create(t, memfd.Spec{Name: "farside-test", Size: page, Mode: mode})
		if err := memfd.DenyOthers(f.Int()); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(f.Int(), &st); err != nil {
			t.Fatal(err)
		}
		if got := st.Mode & 0o666; got != want {
			t.Errorf("mode %#o became %#o, want %#o", mode, got, want)
		}
	}
	if err := memfd.DenyOthers(-1); !errors.Is(err, unix.EBADF) {
		t.Errorf("of no file: %v", err)
	}
}

// TestCheckRefusesSealedWrites (mutant 7): F_SEAL_WRITE and F_SEAL_FUTURE_WRITE are told apart from none, each alone.
func TestCheckRefusesSealedWrites(t *testing.T) {
	fdtest.NoLeaks(t)
	for _, seal := range []int{unix.F_SEAL_WRITE, unix.F_SEAL_FUTURE_WRITE} {
		f := create(t, memfd.Spec{Name: "farside-test", Size: page, Mode: memfd.Private, Open: true})
		if _, err := unix.FcntlInt(uintptr(f.Int()), unix.F_ADD_SEALS, seal|unix.F_SEAL_SEAL); err != nil {
			t.Fatal(err)
		}
		if _, err := memfd.Check(f.Int()); err == nil {
			t.Errorf("a file with seal %#x passed", seal)
		}
	}
}

// TestFileSizeLimit (attacks 11): a limit of file sizes gives an error, and not the signal that ends programs in C.
func TestFileSizeLimit(t *testing.T) {
	fdtest.NoLeaks(t)
	raised := make(chan os.Signal, 1)
	signal.Notify(raised, unix.SIGXFSZ)
	defer signal.Stop(raised)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4 * page, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, large := memfd.Create(memfd.Spec{Name: "large", Size: 4*page + 1, Mode: memfd.Private})
	_, _, mapped := memfd.CreateMapped("large", 5*page)
	f, fits := memfd.Create(memfd.Spec{Name: "fits", Size: 4 * page, Content: []byte{1}, At: 4*page - 1})
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(large, unix.EFBIG) || !errors.Is(mapped, unix.EFBIG) || fits != nil {
		t.Errorf("%v; %v; %v", large, mapped, fits)
	}
	f.Close()
	select {
	case <-raised:
		t.Error("SIGXFSZ was raised")
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := memfd.Create(memfd.Spec{Name: "huge", Size: 1 << 63, Mode: memfd.Private}); !errors.Is(err, unix.EFBIG) {
		t.Errorf("a file of 2^63 bytes: %v", err)
	}
}

// TestNothingStaysOnFailure makes each step of Create fail.
func TestNothingStaysOnFailure(t *testing.T) {
	fdtest.NoLeaks(t)
	for name, c := range map[string]struct {
		spec memfd.Spec
		want error
	}{
		"size":    {memfd.Spec{Size: 1 << 63}, unix.EFBIG},
		"content": {memfd.Spec{Size: page, Content: []byte{1}, At: 1 << 63}, unix.EINVAL},
	} {
		f, err := memfd.Create(c.spec)
		if err == nil {
			f.Close()
			t.Errorf("%s: created", name)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := memfd.CreateMapped("empty", 0); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a mapping of 0 bytes: %v", err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := memfd.Create(memfd.Spec{Size: page})
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("without descriptors: %v", err)
	}
}

func TestCheckRefusesOthers(t *testing.T) {
	fdtest.NoLeaks(t)
	null, err := fd.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, raw := range map[string]int{"nothing": -1, "a device": null.Int()} {
		if _, err := memfd.Check(raw); err == nil {
			t.Errorf("%s passed", name)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		f, err := memfd.Create(memfd.Spec{Name: "farside-test", Size: 17 * page, Mode: memfd.Private})
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
