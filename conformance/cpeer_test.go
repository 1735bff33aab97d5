package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim"
)

// The tests below compile programs in C and C++ against the header and the library of peers that `make build`
// made, and run them against regions of the test's own process.

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
	args := append(compiler[1:], "-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-I../cmd/libfarside_rdma", "-o",
		program, source,
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

// TestPeerInCQueue posts and polls.
func TestPeerInCQueue(t *testing.T) {
	program := compileC(t, cpeerSource+"queue.c", "gcc", "-std=c11")
	const size = 64 << 10
	address, _ := region(t, newOwner(t), size, rdmasim.AccessAll)
	runC(t, program, address, size)
}

// TestPeerInCProcesses calls from many threads and from forked children.
func TestPeerInCProcesses(t *testing.T) {
	program := compileC(t, cpeerSource+"processes.c", "gcc", "-std=c11")
	address, _ := region(t, newOwner(t), 4096, rdmasim.AccessAll)
	_, stderr := runC(t, program, address)
	if n := strings.Count(stderr, "was forked after it loaded libfarside_rdma"); n != 5 {
		t.Errorf("five forked children have told of it %d times:\n%s", n, stderr)
	}
}

// TestPeerInCBesideDriver has both libraries in one process.
func TestPeerInCBesideDriver(t *testing.T) {
	program := compileC(t, cpeerSource+"both.c", "gcc", "-std=c11", "-Wl,--as-needed")
	manifest := farsideManifest()
	t.Setenv("VK_DRIVER_FILES", manifest)
	t.Setenv("VK_ICD_FILENAMES", manifest)
	runC(t, program, filepath.Join(filepath.Dir(manifest), "libfarside_rdma.so"))
}

// TestPeerInCOwnerEnds sees a region freed under load.
func TestPeerInCOwnerEnds(t *testing.T) {
	program := compileC(t, cpeerSource+"follow.c", "gcc", "-std=c11")
	owner := newOwner(t)
	address, _ := region(t, owner, 4096, rdmasim.AccessAll)
	follow := exec.CommandContext(t.Context(), program, fmt.Sprint(address))
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "reading" {
		t.Fatalf("the program says %q", lines.Text())
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	// The region goes first, then its owner: a reader that did not run in between finds the owner gone.
	freed, gone := strconv.Itoa(int(rdmasim.StatusRemAccessErr)), strconv.Itoa(int(rdmasim.StatusRetryExcErr))
	if got := lines.Text(); got != freed && got != gone {
		t.Errorf("after the owner has freed it and ended, reading gives %q, want %s or %s", got, freed, gone)
	}
	if err := follow.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPeerInCPage compiles and runs the program of docs/remote-memory.md, with what make install installs.
func TestPeerInCPage(t *testing.T) {
	page, err := os.ReadFile("../docs/remote-memory.md")
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ := strings.Cut(string(page), "```c\n")
	source, _, ok := strings.Cut(source, "```\n")
	if !ok {
		t.Fatal("the page has no program in C")
	}
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	home := t.TempDir()
	installed := func(target string) {
		cmd := exec.Command("make", "-o", "build", target, "SCOPE=user")
		cmd.Dir = ".."
		for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
			out, err := exec.Command("go", "env", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(out)))
		}
		cmd.Env = append(append(os.Environ(), cmd.Env...), "HOME="+home, "XDG_DATA_HOME="+home+"/.local/share")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	installed("install")
	file, program := filepath.Join(home, "peer.c"), filepath.Join(home, "peer")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, file},
		pkgConfig(t, filepath.Join(home, ".local/lib/pkgconfig"))...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v\n%s", args, err, out)
	}
	address, mapped := region(t, newOwner(t), 4096, rdmasim.AccessAll)
	mapped[0] = 7
	out, _ := runC(t, program, address)
	if want := "first byte 7, counter 7\nwork 1: 16 bytes\n"; out != want {
		t.Errorf("the program of the page prints %q, want %q", out, want)
	}
	installed("uninstall")
	_ = filepath.WalkDir(filepath.Join(home, ".local"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			t.Errorf("make uninstall leaves %s: %v", path, err)
		}
		return nil
	})
}

// pkgConfig returns what it takes to build against the installed library, by pkg-config, or, where that is
// missing, by reading the file.
func pkgConfig(t *testing.T, dir string) []string {
	t.Helper()
	if _, err := exec.LookPath("pkg-config"); err == nil {
		cmd := exec.Command("pkg-config", "--cflags", "--libs", "farside-rdma")
		cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pkg-config: %v\n%s", err, out)
		}
		return strings.Fields(string(out))
	}
	text, err := os.ReadFile(filepath.Join(dir, "farside-rdma.pc"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	var args []string
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.Contains(name, ":") {
			values[name] = os.Expand(value, func(name string) string { return values[name] })
		} else if name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name == "Cflags" || name == "Libs" {
			args = append(args, strings.Fields(os.Expand(value, func(name string) string { return values[name] }))...)
		}
	}
	return args
}

// TestPeerInCFar calls everything towards another host, which is a bridge of this one.
func TestPeerInCFar(t *testing.T) {
	program := compileC(t, cpeerSource+"calls.c", "gcc", "-std=c99")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("a secret", 8)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", secret)
	bridge, err := rdmasim.Serve(rdmasim.ServeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bridge.Close()
	owner := newOwner(t)
	const size = 64 << 10
	address, _ := region(t, owner, size, rdmasim.AccessAll)
	readonly, _ := region(t, owner, size, rdmasim.AccessRead)
	runC(t, program, address, readonly, size, bridge.Fabric())
}

// TestPeerInCStatuses compares the header's numbers with the names of <infiniband/verbs.h>.
func TestPeerInCStatuses(t *testing.T) {
	header, err := os.ReadFile("../cmd/libfarside_rdma/farside_rdma.h")
	if err != nil {
		t.Fatal(err)
	}
	_, enum, _ := strings.Cut(string(header), "enum farside_status {")
	enum, _, _ = strings.Cut(enum, "};")
	found := regexp.MustCompile(`FARSIDE_(\w+) = (\d+)`).FindAllStringSubmatch(enum, -1)
	if len(found) < 12 {
		t.Errorf("the header has %d statuses", len(found))
	}
	for _, f := range found {
		number, err := strconv.Atoi(f[2])
		if err != nil || rdmasim.Status(number).String() != "IBV_WC_"+f[1] {
			t.Errorf("FARSIDE_%s is %s, which is %v", f[1], f[2], rdmasim.Status(number))
		}
	}
}
