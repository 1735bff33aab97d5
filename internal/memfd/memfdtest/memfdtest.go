// Package memfdtest tries, in tests, to change memory that must not change.
package memfdtest

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// attempt is a way to change a file through a descriptor of it, or to be able to: it returns nil after a success.
type attempt struct {
	what string
	try  func(raw, size int) error
}

var attempts = []attempt{
	{"write", func(raw, _ int) error { return took(unix.Pwrite(raw, garbage, 0)) }},
	{"copy_file_range", func(raw, _ int) error {
		return from(func(other int) error {
			var at int64
			return took(unix.CopyFileRange(other, &at, raw, &at, len(garbage), 0))
		})
	}},
	{"sendfile", func(raw, _ int) error {
		return from(func(other int) error {
			var at int64
			return took(unix.Sendfile(raw, other, &at, len(garbage)))
		})
	}},
	{"splice", func(raw, _ int) error {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
		if _, err := unix.Write(ends[1], garbage); err != nil {
			return err
		}
		var at int64
		n, err := unix.Splice(ends[0], nil, raw, &at, len(garbage), unix.SPLICE_F_NONBLOCK)
		return took(int(n), err)
	}},
	{"shorten", func(raw, size int) error { return unix.Ftruncate(raw, int64(size/2)) }},
	{"lengthen", func(raw, size int) error { return unix.Ftruncate(raw, int64(size*2)) }},
	{"open with O_TRUNC", func(raw, _ int) error { return opened(raw, unix.O_RDONLY|unix.O_TRUNC) }},
	{"open for writing with O_TRUNC", func(raw, _ int) error { return opened(raw, unix.O_RDWR|unix.O_TRUNC) }},
	{"punch a hole", func(raw, size int) error {
		return unix.Fallocate(raw, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(size))
	}},
	{"allocate beyond the end", func(raw, size int) error { return unix.Fallocate(raw, 0, int64(size), int64(size)) }},
	{"map for writing", func(raw, size int) error {
		m, err := unix.Mmap(raw, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		return unix.Munmap(m)
	}},
	{"mprotect", mapped(func(m []byte) error { return unix.Mprotect(m, unix.PROT_READ|unix.PROT_WRITE) })},
	{"remove a mapping's pages", mapped(func(m []byte) error { return unix.Madvise(m, unix.MADV_REMOVE) })},
	{"another seal", func(raw, _ int) error {
		_, err := unix.FcntlInt(uintptr(raw), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		return err
	}},
}

var garbage = bytes.Repeat([]byte{0xee}, 64)

// took makes an error of a system call that wrote nothing.
func took(n int, err error) error {
	if err == nil && n <= 0 {
		return fmt.Errorf("%d bytes were taken", n)
	}
	return err
}

// from runs f with a file of garbage.
func from(f func(raw int) error) error {
	other, err := unix.MemfdCreate("garbage", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(other)
	if _, err := unix.Write(other, garbage); err != nil {
		return err
	}
	return f(other)
}

// opened opens the file behind a descriptor again.
func opened(raw, flags int) error {
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", raw), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(again)
}

// mapped makes an attempt of what is tried on a mapping for reading.
func mapped(try func(m []byte) error) func(raw, size int) error {
	return func(raw, size int) error {
		m, err := unix.Mmap(raw, 0, size, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		defer unix.Munmap(m)
		return try(m)
	}
}

// WantReadOnly fails t if a memfd can be changed through the descriptor, or made writable.
func WantReadOnly(t testing.TB, raw int) {
	t.Helper()
	before := content(t, raw)
	for _, a := range attempts {
		if err := a.try(raw, len(before)); err == nil {
			t.Errorf("%s: it succeeded", a.what)
		}
		if after := content(t, raw); !bytes.Equal(before, after) {
			t.Errorf("%s: the file has changed (%d bytes, %d before)", a.what, len(after), len(before))
			before = after
		}
	}
}

func content(t testing.TB, raw int) []byte {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(raw, &st); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, st.Size)
	if n, err := unix.Pread(raw, b, 0); err != nil || n != len(b) {
		t.Fatalf("%d of %d bytes, %v", n, len(b), err)
	}
	return b
}
