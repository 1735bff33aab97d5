package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim"
)

// built is the tool as a user gets it.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "farside-test-")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "farside")
	if out, err := exec.Command("go", "build", "-o", built, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// device is memory with a remote address, in the test's process.
type device struct {
	*rdmasim.Region
	t  *testing.T
	fd int
}

func newDevice(t *testing.T, size int, access rdmasim.Access, name string) device {
	t.Helper()
	o, err := rdmasim.NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		t.Fatal(err)
	}
	r, err := o.Register(fd, 0, uint64(size), rdmasim.Attributes{Access: access, Name: name,
		DeviceUUID: [16]byte{0xde, 0xad, 15: 0xff}})
	if err != nil {
		t.Fatal(err)
	}
	d := device{r, t, fd}
	d.set(0, pattern(size))
	return d
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func (d device) set(at int64, b []byte) {
	d.t.Helper()
	if _, err := unix.Pwrite(d.fd, b, at); err != nil {
		d.t.Fatal(err)
	}
}

func (d device) get(at int64, n int) []byte {
	d.t.Helper()
	b := make([]byte, n)
	if _, err := unix.Pread(d.fd, b, at); err != nil {
		d.t.Fatal(err)
	}
	return b
}

// at is an address as an argument.
func (d device) at(offset uint64) string { return fmt.Sprintf("%#x", d.Address()+offset) }

// result is what a call of the tool gave.
type result struct {
	out    []byte
	stderr string
	code   int
}

func farside(t *testing.T, in io.Reader, args ...string) result {
	t.Helper()
	var out bytes.Buffer
	r := call(t, in, &out, args...)
	r.out = out.Bytes()
	return r
}

func call(t *testing.T, in io.Reader, out io.Writer, args ...string) result {
	t.Helper()
	cmd := exec.Command(built, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatalf("farside %q: %v: %s", args, err, stderr.String())
	}
	return result{stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

// ok is the output of a call that must succeed in silence.
func ok(t *testing.T, in io.Reader, args ...string) []byte {
	t.Helper()
	r := farside(t, in, args...)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("farside %q: status %d: %s", args, r.code, r.stderr)
	}
	return r.out
}

// wantFailure calls the tool and wants a status, one line on standard error with the text, and no output.
func wantFailure(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	r := farside(t, nil, args...)
	if r.code != code || len(r.out) > 0 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, text) ||
		!strings.HasPrefix(r.stderr, "farside: ") {
		t.Errorf("farside %q: status %d, output %q, error %q; want %d and %q", args, r.code, r.out, r.stderr, code, text)
	}
}

// running is the tool while it runs.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr *bytes.Buffer
	done   chan struct{}
	err    error
}

func startFarside(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(built, args...), stderr: &bytes.Buffer{}, done: make(chan struct{})}
	r.cmd.Stderr = r.stderr
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stdout, r.out = write, bufio.NewReader(read)
	err = r.cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.done
		read.Close()
	})
	return r
}

// line is the next line of its output.
func (r *running) line() string {
	r.t.Helper()
	s, err := r.out.ReadString('\n')
	if err != nil {
		<-r.done
		r.t.Fatalf("no line: %v, %v: %s", err, r.err, r.stderr)
	}
	return strings.TrimSuffix(s, "\n")
}

// interrupt ends it, with status 0.
func (r *running) interrupt() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.t.Fatal("it goes on after an interrupt")
	}
	if r.err != nil {
		r.t.Fatalf("%v: %s", r.err, r.stderr)
	}
}
