// Package fdtest finds leaks of descriptors in tests.
package fdtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"farside/internal/fd"
)

// NoLeaks fails t if at its end the process has other descriptors than now. It says where those of package fd were
// opened, and what the others are. Tests that use it don't run in parallel.
func NoLeaks(t testing.TB) {
	t.Helper()
	before := Open(t)
	traced := fd.Trace()
	t.Cleanup(func() {
		traced.Stop()
		for _, frames := range traced.Live() {
			var b strings.Builder
			for more := true; more; {
				f, next := frames.Next()
				fmt.Fprintf(&b, "\n\t%s:%d %s", f.File, f.Line, f.Function)
				more = next
			}
			t.Errorf("a descriptor is still open. It was opened by:%s", &b)
		}
		for raw, file := range Open(t) {
			if _, ok := before[raw]; !ok {
				t.Errorf("descriptor %s is open at the end of the test: %s", raw, file)
			}
			delete(before, raw)
		}
		for raw, file := range before {
			t.Errorf("descriptor %s was closed by the test: %s", raw, file)
		}
	})
}

// Open returns the descriptors of the process, with the names of their files.
func Open(t testing.TB) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]string{}
	for _, e := range entries {
		// The descriptor of the directory itself is closed by now. What Go's runtime opens once, for its poller, is
		// no leak.
		name, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && name != "anon_inode:[eventpoll]" && name != "anon_inode:[eventfd]" {
			open[e.Name()] = name
		}
	}
	return open
}
