package rdmasim

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const childEnv = "RDMASIM_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(child(role))
	}
	if _, err := processOwner(); err != nil { // stays
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	before := countFDs()
	code := m.Run()
	// The poller's descriptors stay; the first test to open a socket made them.
	deadline := time.Now().Add(20 * time.Second)
	for countFDs() > before+3 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n := countFDs(); code == 0 && n > before+3 {
		fmt.Fprintf(os.Stderr, "%d descriptors before the tests, %d after\n", before, n)
		code = 1
	}
	os.Exit(code)
}

func countFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(d)
}

// payload makes a sealed memfd; byte i holds byte(i*7+i>>8).
func payload(t testing.TB, size int) int {
	t.Helper()
	fd, err := makePayload(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func makePayload(size int) (int, error) {
	fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = pattern(i)
	}
	if _, err := unix.Pwrite(fd, b, 0); err != nil {
		return -1, err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	return fd, err
}

// mapped maps a payload, as any process that has its descriptor can.
func mapped(t testing.TB, fd, size int) []byte {
	t.Helper()
	m, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	return m
}

// mappingsOf is how many mappings this process has of memfds with a name.
func mappingsOf(name string) int {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	return strings.Count(string(maps), "/memfd:"+name+" ")
}

func pattern(i int) byte { return byte(i*7 + i>>8) }

func newOwner(t testing.TB) *Owner {
	t.Helper()
	o, err := NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func newPeer(t testing.TB) *Peer {
	t.Helper()
	p, err := Open(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func register(t testing.TB, o *Owner, fd int, offset, length uint64, access Access) *Region {
	t.Helper()
	r, err := o.Register(fd, offset, length, Attributes{Access: access})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// childProcess is the test binary run again as another role.
type childProcess struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t testing.TB, role string, configure func(*exec.Cmd)) *childProcess {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if configure != nil {
		configure(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &childProcess{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// say sends a line and returns the answer.
func (p *childProcess) say(format string, a ...any) string {
	p.t.Helper()
	fmt.Fprintf(p.in, format+"\n", a...)
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("child: %v", err)
	}
	return strings.TrimSpace(line)
}

func (p *childProcess) number(format string, a ...any) uint64 {
	p.t.Helper()
	s := p.say(format, a...)
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		p.t.Fatalf("child said %q", s)
	}
	return n
}

func (p *childProcess) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	p.cmd.Wait()
}

// child obeys lines on stdin: an owner registers and frees, a peer reads, writes and adds.
func child(role string) int {
	if role == "standard" {
		return withoutStandard()
	}
	ctx := context.Background()
	in := bufio.NewScanner(os.Stdin)
	regions := map[uint64]*Region{}
	fds := map[uint64]int{}
	var peer *Peer
	var own *Owner
	var spare []int
	var err error
	enroll := Register // role "process": the process' own owner
	switch role {
	case "peer":
		peer, err = Open(ctx, "")
	case "owner":
		own, err = NewOwner()
		enroll = own.Register
	}
	for in.Scan() {
		var verb string
		var a, b, c, d uint64
		fmt.Sscan(in.Text(), &verb, &a, &b, &c, &d)
		answer := "ok"
		switch verb {
		case "register": // size, access
			var fd int
			if fd, err = makePayload(int(a)); err == nil {
				var r *Region
				if r, err = enroll(fd, 0, a, Attributes{Access: Access(b)}); err == nil {
					regions[r.Address()], fds[r.Address()] = r, fd
					answer = fmt.Sprintf("%#x", r.Address())
				}
			}
		case "setenv": // name=value
			name, value, _ := strings.Cut(strings.TrimPrefix(in.Text(), "setenv "), "=")
			err = os.Setenv(name, value)
		case "churn": // threads, times: the last region comes and goes
			err = churn(int(a), int(b), enroll)
		case "name":
			answer = "name " + FabricName()
		case "free":
			err = regions[a].Close()
			unix.Close(fds[a])
		case "word": // address, offset
			var w [8]byte
			_, err = unix.Pread(fds[a], w[:], int64(b))
			answer = strconv.FormatUint(binary.NativeEndian.Uint64(w[:]), 10)
		case "read": // address, length: checks the pattern
			p := make([]byte, b)
			err = peer.Read(a, p)
			for i := range p {
				if err == nil && p[i] != pattern(i) {
					err = fmt.Errorf("byte %d is %d", i, p[i])
				}
			}
		case "write": // address, length
			p := make([]byte, b)
			err = peer.Write(a, p)
		case "history": // address, operations, seed, clients
			var steps []step
			if steps, err = history(peer, a, int(b), c, d); err == nil {
				var text []byte
				text, err = json.Marshal(steps)
				answer = string(text)
			}
		case "exhaust": // how many descriptors can still be opened
			err = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: 4096})
			for fd := 0; fd >= 0; {
				if fd, _ = unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0); fd >= 0 {
					spare = append(spare, fd)
				}
			}
			for range min(int(a), len(spare)) {
				unix.Close(spare[0])
				spare = spare[1:]
			}
		case "leak": // a child that has all descriptors and ends with the input
			cmd := exec.Command("cat")
			cmd.Stdin = os.Stdin
			for fd := 3; fd < 64; fd++ {
				unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
			}
			err = cmd.Start()
		case "add": // address, times
			for range b {
				if _, err = peer.FetchAdd64(a, 1); err != nil {
					break
				}
			}
		}
		if err != nil {
			answer = "error " + StatusOf(err).String() + " " + err.Error()
			err = nil
		}
		fmt.Println(answer)
	}
	return 0
}

// churn registers and frees from several goroutines.
func churn(goroutines, times int, enroll func(int, uint64, uint64, Attributes) (*Region, error)) error {
	fd, err := makePayload(4096)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for i := range goroutines {
		wg.Go(func() {
			for range times {
				r, err := enroll(fd, 0, 4096, Attributes{Access: AccessAll})
				if err != nil {
					errs[i] = err
					return
				}
				r.Close()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
