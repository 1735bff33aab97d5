package ofi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const childEnv = "FARSIDE_OFI_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if _, err := load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		fmt.Fprintln(os.Stderr, "SKIPPED: every test of package ofi")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is what a test tells the child that has the target.
type order struct {
	Register       bool // or close region Index
	Offset, Length uint64
	Access         Access
	Index          int
}

// reply is the child's answer.
type reply struct {
	Address Address
	Remote  Remote
	Error   string
}

// serve is the child: a target whose payload is descriptor 3. It ends with its standard input.
func serve() error {
	target, err := NewTarget("", "127.0.0.1")
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(reply{Address: target.Address()}); err != nil {
		return err
	}
	var payload unix.Stat_t
	if err := unix.Fstat(3, &payload); err != nil {
		return err
	}
	memory, err := unix.Mmap(3, 0, int(payload.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	var regions []*Region
	in := json.NewDecoder(os.Stdin)
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			return target.Close()
		}
		var a reply
		if o.Register {
			r, err := target.Register(memory[o.Offset:][:o.Length], o.Access)
			if err != nil {
				a.Error = err.Error()
			} else {
				a.Remote = r.Remote()
				regions = append(regions, r)
			}
		} else if err := regions[o.Index].Close(); err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// host is a child process with a target, and its payload.
type host struct {
	t       testing.TB
	command *exec.Cmd
	in      *json.Encoder
	out     *json.Decoder
	address Address
	memory  []byte
	regions int
}

const (
	both     = AccessRead | AccessWrite
	hostSize = 4 << 20
)

func newHost(t testing.TB) *host {
	t.Helper()
	return newHostOf(t, hostSize)
}

func newHostOf(t testing.TB, size int) *host {
	t.Helper()
	fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "payload")
	defer file.Close()
	if err := file.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t}
	if h.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	h.command = exec.Command("/proc/self/exe")
	h.command.Env = append(os.Environ(), childEnv+"=1")
	h.command.ExtraFiles = []*os.File{file}
	h.command.Stderr = os.Stderr
	stdin, err := h.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := h.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = h.command.Wait()
		_ = unix.Munmap(h.memory)
	})
	h.in, h.out = json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout))
	var a reply
	if err := h.out.Decode(&a); err != nil {
		t.Fatal("the child says nothing:", err)
	}
	h.address = a.Address
	return h
}

func (h *host) ask(o order) reply {
	h.t.Helper()
	var a reply
	if err := h.in.Encode(o); err != nil {
		h.t.Fatal(err)
	}
	if err := h.out.Decode(&a); err != nil {
		h.t.Fatal(err)
	}
	if a.Error != "" {
		h.t.Fatal(a.Error)
	}
	return a
}

// register returns a region and its number.
func (h *host) register(offset, length uint64, access Access) (Remote, int) {
	h.t.Helper()
	h.regions++
	return h.ask(order{Register: true, Offset: offset, Length: length, Access: access}).Remote, h.regions - 1
}

func (h *host) close(region int) {
	h.t.Helper()
	h.ask(order{Index: region})
}

func (h *host) kill() {
	_ = h.command.Process.Kill()
	_ = h.command.Wait()
}

func (h *host) connect(timeout time.Duration) *Conn {
	h.t.Helper()
	c, err := Connect(context.Background(), h.address, Options{Timeout: timeout})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return c
}

// nothingLeft fails the test if goroutines or descriptors are more than at the time of the call.
func nothingLeft(t *testing.T) (check func()) {
	t.Helper()
	goroutines, descriptors := runtime.NumGoroutine(), countFDs(t)
	return func() {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for runtime.NumGoroutine() > goroutines || countFDs(t) > descriptors {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<16)
				t.Fatalf("%d goroutines before, %d after; %d descriptors before, %d after: %s\n%s", goroutines,
					runtime.NumGoroutine(), descriptors, countFDs(t), listFDs(),
					stacks[:runtime.Stack(stacks, true)])
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func countFDs(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func listFDs() string {
	var b strings.Builder
	d, _ := os.ReadDir("/proc/self/fd")
	for _, e := range d {
		l, _ := os.Readlink("/proc/self/fd/" + e.Name())
		fmt.Fprintf(&b, " %s=%s", e.Name(), l)
	}
	return b.String()
}
