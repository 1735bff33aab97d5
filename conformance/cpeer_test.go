package conformance

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim"
)

// The tests below compile programs in C and C++ against the header and the library of peers that `make build` made,
// and run them against regions of the test's own process.

const cpeerSource = "clients/cpeer/"

// compileC makes a program that uses the library. compiler is gcc or g++ with its options.
func compileC(t *testing.T, source string, compiler ...string) string {
	t.Helper()
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	if _, err := exec.LookPath(compiler[0]); err != nil {
		t.Skipf("%s is missing (Debian package %s)", compiler[0], compiler[0])
	}
	build, err := filepath.Abs("../build")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	args := append(compiler[1:], "-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-I../cmd/libfarside_rdma", "-o", program, source,
		"-L"+build, "-Wl,-rpath,"+build, "-lfarside_rdma")
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v %v: %v\n%s", compiler, args, err, out)
	}
	return program
}

// runC runs a program, which says what is wrong and fails, and returns what it wrote.
func runC(t *testing.T, program string, args ...any) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	var text []string
	for _, a := range args {
		text = append(text, fmt.Sprint(a))
	}
	cmd := exec.CommandContext(ctx, program, text...)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", filepath.Base(program), text, err, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

// region registers size bytes and returns their remote address and the bytes.
func region(t *testing.T, owner *rdmasim.Owner, size int, access rdmasim.Access) (uint64, []byte) {
	t.Helper()
	fd, err := unix.MemfdCreate("farside-cpeer", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) }) // the owner borrows it
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mapped) })
	r, err := owner.Register(fd, 0, uint64(size), rdmasim.Attributes{Access: access})
	if err != nil {
		t.Fatal(err)
	}
	return r.Address(), mapped
}

func newOwner(t *testing.T) *rdmasim.Owner {
	t.Helper()
	owner, err := rdmasim.NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close() })
	return owner
}

// TestPeerInC calls everything with sense and without, as C and as C++.
func TestPeerInC(t *testing.T) {
	for name, compiler := range map[string][]string{
		"C99":   {"gcc", "-std=c99", "-pedantic"},
		"C++11": {"g++", "-std=c++11", "-x", "c++"},
	} {
		t.Run(name, func(t *testing.T) {
			program := compileC(t, cpeerSource+"calls.c", compiler...)
			owner := newOwner(t)
			const size = 64 << 10
			address, _ := region(t, owner, size, rdmasim.AccessAll)
			readonly, _ := region(t, owner, size, rdmasim.AccessRead)
			_, stderr := runC(t, program, address, readonly, size)
			if want := `farside_peer_open: `; !strings.Contains(stderr, want) || strings.Contains(stderr, "panic") {
				t.Errorf("standard error has %q, want one with %q", stderr, want)
			}
		})
	}
}
