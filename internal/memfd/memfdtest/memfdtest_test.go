package memfdtest

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const size = 8192

// plain is a memfd without seals, full of one byte.
func plain(t *testing.T) int {
	t.Helper()
	raw, err := unix.MemfdCreate("plain", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(raw) })
	if n, err := unix.Pwrite(raw, bytes.Repeat([]byte{1}, size), 0); err != nil || n != size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	return raw
}

// Each attempt shows something: on a plain memfd it succeeds, and changes the file if it is not about being able to.
func TestAttempts(t *testing.T) {
	able := map[string]bool{"map for writing": true, "mprotect": true, "another seal": true}
	for _, a := range attempts {
		raw := plain(t)
		before := content(t, raw)
		if err := a.try(raw, size); err != nil {
			t.Errorf("%s: %v", a.what, err)
		}
		if changed := !bytes.Equal(before, content(t, raw)); changed == able[a.what] {
			t.Errorf("%s: the file has changed: %v", a.what, changed)
		}
	}
}

// recorder is a test that fails, and keeps why.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.said = append(r.said, format) }

func TestWantReadOnly(t *testing.T) {
	raw := plain(t)
	r := &recorder{TB: t}
	WantReadOnly(r, raw)
	if all := strings.Join(r.said, "\n"); !strings.Contains(all, "it succeeded") ||
		!strings.Contains(all, "the file has changed") {
		t.Errorf("of a plain file it says %q", r.said)
	}
	raw = plain(t)
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(raw), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	WantReadOnly(t, raw)
}
