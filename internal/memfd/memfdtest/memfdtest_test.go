package memfdtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Each attempt shows something: on a plain memfd it succeeds.
func TestAttempts(t *testing.T) {
	const size = 8192
	for _, a := range attempts {
		raw, err := unix.MemfdCreate("plain", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Pwrite(raw, garbage, size-int64(len(garbage))); err != nil {
			t.Fatal(err)
		}
		if err := a.try(raw, size); err != nil {
			t.Errorf("%s: %v", a.what, err)
		}
		unix.Close(raw)
	}
}
