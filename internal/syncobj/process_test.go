package syncobj

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary runs itself as another process, which plays the role that this variable names.
const roleVariable = "FARSIDE_SYNCOBJ_ROLE"

const sharedFD = 3 // where the other process finds the exported descriptor

func play(role string) int {
	switch role {
	case "puppet":
		return puppet()
	case "pong":
		return pong()
	case "without proc":
		return withoutProc()
	}
	return 2
}

// puppet does what its standard input says, one command a line, and answers each with a line.
func puppet() int {
	var p *Payload
	var kind Kind
	var value uint64
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		fmt.Sscan(rest, &value)
		answer, err := "", error(nil)
		switch verb {
		case "import":
			kind = Kind(value)
			p, err = Import(sharedFD, kind, Identity{})
		case "value":
			answer = fmt.Sprint(p.Value())
		case "signal":
			err = p.Signal(value)
		case "wait":
			err = Wait([]Point{{p, value}}, true, never, nil)
		case "release":
			p.Release()
		case "syncfile":
			var fd int
			p = New(Fence, 0)
			fd, err = p.ExportSyncFile()
			answer = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
		}
		fmt.Println(err, answer)
	}
	return 0
}

// process is a puppet, seen from outside.
type process struct {
	t       testing.TB
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	killed  sync.Once
}

// spawn starts a process with p's descriptor.
func spawn(t testing.TB, role string, p *Payload) *process {
	t.Helper()
	c := &process{t: t, cmd: exec.Command("/proc/self/exe")}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	c.cmd.Stderr = os.Stderr
	if p != nil {
		fd, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "payload")
		defer f.Close()
		c.cmd.ExtraFiles = []*os.File{f}
	}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.answers = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// kill ends the process by SIGKILL, and returns when it is gone. It may be called twice, also at once.
func (c *process) kill() {
	c.killed.Do(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
}

func (c *process) start(command string) { fmt.Fprintln(c.in, command) }

func (c *process) answer() string {
	c.t.Helper()
	line, err := c.answers.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the other process: %v", err)
	}
	verdict, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if verdict != "<nil>" {
		c.t.Fatalf("the other process: %s", line)
	}
	return rest
}

func (c *process) do(format string, args ...any) string {
	c.t.Helper()
	c.start(fmt.Sprintf(format, args...))
	return c.answer()
}

func TestAcrossProcesses(t *testing.T) {
	for _, kind := range []Kind{Fence, Binary, Timeline} {
		p := sharedPayload(t, kind, 0)
		c := spawn(t, "puppet", p)
		c.do("import %d", kind)
		c.start("wait 3")
		asleep(p)
		if err := p.Signal(3); err != nil {
			t.Fatal(err)
		}
		c.answer()
		if kind == Timeline {
			c.do("signal 4")
		} else {
			p.Reset()
			if c.do("value") != "0" {
				t.Errorf("%v: the other process does not see the reset", kind)
			}
			c.do("signal")
		}
		if err := Wait([]Point{{p, 4}}, true, uint64(time.Minute), nil); err != nil || !p.TryWait(4) {
			t.Errorf("%v: %v", kind, err)
		}
		c.do("release")
		if p.state.holders.Load() != 1 || p.Orphaned() {
			t.Errorf("%v: %d holders after the release, orphaned %v", kind, p.state.holders.Load(), p.Orphaned())
		}
		c.kill()
	}
}

// waitWhile starts waits of every form for p, lets them block, does what happen says, and returns their
// results.
func waitWhile(p *Payload, timeout time.Duration, happen func()) []error {
	other := New(Fence, 0)
	forms := []func() error{
		func() error { return Wait([]Point{{p, 1}}, true, uint64(timeout), nil) },
		func() error { return Wait([]Point{{p, 1}}, false, uint64(timeout), New(Fence, 0)) },
		// The orphan isn't the point on which the wait for all sleeps.
		func() error { return Wait([]Point{{other, 1}, {p, 1}}, true, uint64(timeout), New(Fence, 0)) },
	}
	results := make(chan error)
	for _, f := range forms {
		go func() { results <- f() }()
	}
	asleep(p)
	asleep(other)
	happen()
	var errs []error
	for range forms {
		errs = append(errs, <-results)
	}
	return errs
}

func TestKilledHolderOrphans(t *testing.T) {
	for _, kind := range []Kind{Fence, Binary, Timeline} {
		p := sharedPayload(t, kind, 0)
		c := spawn(t, "puppet", p)
		c.do("import %d", kind)
		var killed time.Time
		errs := waitWhile(p, time.Minute, func() {
			if p.Orphaned() {
				t.Errorf("%v: an orphan, while the other process lives", kind)
			}
			c.kill()
			killed = time.Now()
		})
		if took := time.Since(killed); slices.ContainsFunc(errs, func(err error) bool { return err != ErrOrphaned }) ||
			took > time.Second+late {
			t.Errorf("%v: %v after %v", kind, errs, took)
		}
		if !p.Orphaned() || Wait([]Point{{p, 1}}, true, 0, nil) != ErrOrphaned {
			t.Errorf("%v: not an orphan", kind)
		}
		// A signal that is under way here is one that can be waited for, and so is that of a new holder.
		p.Pending(1)
		if p.Orphaned() || Wait([]Point{{p, 1}}, true, 0, nil) != ErrTimeout {
			t.Errorf("%v: an orphan with a signal pending", kind)
		}
		p.Pending(-1)
		c = spawn(t, "puppet", p)
		c.do("import %d", kind)
		got := make(chan error)
		go func() { got <- Wait([]Point{{p, 1}}, true, uint64(time.Minute), nil) }()
		c.do("signal 1")
		if err := <-got; err != nil {
			t.Errorf("%v: %v with a new holder", kind, err)
		}
	}
}

// With another holder alive, the death of one is no loss.
func TestKilledAmongOthers(t *testing.T) {
	p := sharedPayload(t, Timeline, 0)
	killed, alive := spawn(t, "puppet", p), spawn(t, "puppet", p)
	killed.do("import %d", Timeline)
	alive.do("import %d", Timeline)
	killed.kill()
	if err := Wait([]Point{{p, 1}}, true, uint64(300*time.Millisecond), nil); err != ErrTimeout {
		t.Errorf("with another holder: %v", err)
	}
	alive.do("release")
	if err := Wait([]Point{{p, 1}}, true, uint64(time.Minute), nil); err != ErrOrphaned {
		t.Errorf("after the last holder's release: %v", err)
	}
}

func TestCleanReleaseDoesNotOrphan(t *testing.T) {
	p := sharedPayload(t, Binary, 0)
	c := spawn(t, "puppet", p)
	c.do("import %d", Binary)
	errs := waitWhile(p, 400*time.Millisecond, func() {
		c.do("release")
		c.kill()
	})
	if slices.ContainsFunc(errs, func(err error) bool { return err != ErrTimeout }) {
		t.Error(errs)
	}
}

// A signaller that is killed before it wakes anybody delays the others, and no more.
func TestLostWakeUp(t *testing.T) {
	p := sharedPayload(t, Timeline, 0)
	got := make(chan error)
	go func() { got <- Wait([]Point{{p, 1}}, true, never, nil) }()
	asleep(p)
	p.state.wanted.Store(none)
	p.state.value.Store(1)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestKilledExporterOfSyncFile(t *testing.T) {
	c := spawn(t, "puppet", nil)
	path := c.do("syncfile")
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ImportSyncFile(fd, Fence)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	errs := waitWhile(p, time.Minute, c.kill)
	if slices.ContainsFunc(errs, func(err error) bool { return err != ErrOrphaned }) {
		t.Error(errs)
	}
}

// pong answers each odd value of the timeline with the next even one, up to the one that ends it.
func pong() int {
	p, err := Import(sharedFD, Timeline, Identity{})
	for v := uint64(1); err == nil && v != math.MaxUint64; v += 2 {
		if err = Wait([]Point{{p, v}}, true, never, nil); err == nil {
			if err = p.Signal(v + 1); err != nil && p.Value() == math.MaxUint64 {
				return 0
			}
		}
	}
	fmt.Fprintln(os.Stderr, "pong:", err)
	return 1
}

// BenchmarkRoundTrip signals another process over a shared timeline and waits for its answer.
func BenchmarkRoundTrip(b *testing.B) {
	p := sharedPayload(b, Timeline, 0)
	c := spawn(b, "pong", p)
	stop := New(Fence, 0) // every wait of the driver has one
	trips := make([]time.Duration, 0, b.N)
	next := uint64(1)
	for b.Loop() {
		start := time.Now()
		if err := p.Signal(next); err != nil {
			b.Fatal(err)
		}
		if err := Wait([]Point{{p, next + 1}}, true, uint64(time.Minute), stop); err != nil {
			b.Fatal(err)
		}
		trips = append(trips, time.Since(start))
		next += 2
	}
	if err := p.Signal(math.MaxUint64); err != nil {
		b.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	slices.Sort(trips)
	b.ReportMetric(float64(trips[len(trips)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(trips[len(trips)*99/100].Nanoseconds()), "p99-ns")
}

// Wherever the other process is killed, in the middle of a signal too, the wait for it ends.
func TestKilledAtAnyTime(t *testing.T) {
	for round := range 12 {
		p := sharedPayload(t, Timeline, 0)
		c := spawn(t, "pong", p)
		var err error
		for v := uint64(1); err == nil; v += 2 {
			if err = p.Signal(v); err == nil {
				err = Wait([]Point{{p, v + 1}}, true, uint64(time.Minute), nil)
			}
			if v == 1 && err == nil { // the other process plays along
				time.AfterFunc(time.Duration(round)*1700*time.Microsecond, c.kill)
			}
		}
		if err != ErrOrphaned {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

// withoutProc exports and imports where /proc is not mounted, and prints the errors.
func withoutProc() int {
	p, err := NewShared(Binary, 0, Identity{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, exported := p.Export()
	raw, err := unix.FcntlInt(uintptr(p.shared.file.Int()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, imported := Import(raw, Binary, Identity{})
	if _, err := unix.FcntlInt(uintptr(raw), unix.F_GETFD, 0); err != nil {
		fmt.Println("the descriptor of the refused import:", err)
	}
	fmt.Printf("%v\n%v\n", exported, imported)
	return 0
}

// Attack 12: without /proc an export failed with "no such file or directory". It still fails, since only /proc opens a
// memfd again, and now says why.
func TestWithoutProc(t *testing.T) {
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/proc").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: unshare(1) and mount(8) are needed, in namespaces of our own: %v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-rm", "sh", "-c", `mount -t tmpfs none /proc && exec "$0"`, self)
	cmd.Env = append(os.Environ(), roleVariable+"=without proc")
	out, err := cmd.Output() // the race detector, too, misses /proc, and says so on standard error
	if lines := strings.Split(string(out), "\n"); err != nil || len(lines) != 3 ||
		strings.Count(string(out), "/proc is not mounted") != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
