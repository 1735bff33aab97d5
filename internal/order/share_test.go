package order

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"farside/internal/fd/fdtest"
)

// memory is what the processes of these tests share.
var shared = Memory{ID: 77, Shared: true}

// process is a tracker as another process would have it, with a queue.
type process struct {
	*Tracker
	line *Line
}

func newProcess(t *testing.T, directory string, number Agent) *process {
	t.Helper()
	p := &process{Tracker: NewTracker(number << agentBits)}
	p.line = p.NewLine(0)
	if err := p.Share(directory); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

var commands uint64

func (p *process) does(writes bool) *Access {
	commands++
	return p.Do(p.line, shared, Access{Begin: 0, End: 8, Writes: writes, Command: commands, Text: "vkCmdFillBuffer"})
}

func (p *process) submit() { p.Begin(p.line, p.Host()) }

// TestProcesses goes through what orders accesses of two processes, and what does not.
func TestProcesses(t *testing.T) {
	fdtest.NoLeaks(t)
	semaphore, other := Key{Shared, 5}, Key{Shared, 6}
	file := Key{SyncFile, 7}
	local := func(n uint64) Key { return Key{Local, n} }
	for name, c := range map[string]struct {
		run      func(p, q *process) *Access
		conflict bool
	}{
		"nothing": {func(p, q *process) *Access { p.does(true); return q.does(false) }, true},
		"reads":   {func(p, q *process) *Access { p.does(false); return q.does(false) }, false},
		"semaphore": {func(p, q *process) *Access {
			p.does(true)
			p.Signal(p.line, semaphore, 0)
			q.Wait(q.line, semaphore, 0)
			return q.does(true)
		}, false},
		"wrong semaphore": {func(p, q *process) *Access {
			p.Signal(p.line, other, 0)
			p.does(true)
			p.Signal(p.line, semaphore, 0)
			q.Wait(q.line, other, 0)
			return q.does(true)
		}, true},
		"semaphore that nobody has told of": {func(p, q *process) *Access {
			p.does(true)
			q.Wait(q.line, semaphore, 0)
			return q.does(true)
		}, false},
		"there and back": {func(p, q *process) *Access {
			q.does(false)
			q.Signal(q.line, semaphore, 0)
			p.Wait(p.line, semaphore, 0)
			p.does(true)
			p.Signal(p.line, semaphore, 0)
			q.Wait(q.line, semaphore, 0)
			return q.does(true)
		}, false},
		"timeline": {func(p, q *process) *Access {
			p.Signal(p.line, semaphore, 3)
			p.does(true)
			p.Signal(p.line, semaphore, 4)
			q.Wait(q.line, semaphore, 4)
			return q.does(true)
		}, false},
		"timeline, too low": {func(p, q *process) *Access {
			p.Signal(p.line, semaphore, 3)
			p.does(true)
			p.Signal(p.line, semaphore, 4)
			q.Wait(q.line, semaphore, 3)
			return q.does(true)
		}, true},
		"timeline, the first value": {func(p, q *process) *Access {
			p.Fresh(semaphore, 2, true)
			p.does(true)
			q.Wait(q.line, semaphore, 2)
			return q.does(true)
		}, true},
		"the host waits and says so": {func(p, q *process) *Access {
			p.does(true)
			p.Signal(p.line, local(1), 0)
			p.HostWait(local(1), 0)
			q.submit()
			return q.does(true)
		}, false},
		"the host waits too late": {func(p, q *process) *Access {
			p.does(true)
			p.Signal(p.line, local(1), 0)
			q.submit()
			p.HostWait(local(1), 0)
			return q.does(true)
		}, true},
		"idle": {func(p, q *process) *Access { p.does(true); p.Idle(p.line); q.submit(); return q.does(true) }, false},
		"the other's host waits for a shared fence": {func(p, q *process) *Access {
			p.does(true)
			p.Signal(p.line, semaphore, 0)
			q.HostWait(semaphore, 0)
			q.submit()
			return q.does(true)
		}, false},
		"sync file": {func(p, q *process) *Access {
			p.Export(local(1), file)
			q.Fresh(local(1), 0, false)
			q.Import(local(1), file)
			p.does(true)
			p.Signal(p.line, local(1), 0)
			q.Wait(q.line, local(1), 0)
			return q.does(true)
		}, false},
		"sync file of what is signalled": {func(p, q *process) *Access {
			p.does(true)
			p.Signal(p.line, local(1), 0)
			p.Export(local(1), file)
			q.Import(local(1), file)
			q.Wait(q.line, local(1), 0)
			return q.does(true)
		}, false},
		"sync file that nobody imports": {func(p, q *process) *Access {
			p.Export(local(1), file)
			p.does(true)
			q.submit()
			p.Signal(p.line, local(1), 0)
			return q.does(true)
		}, true},
		"sync file that is polled": {func(p, q *process) *Access {
			p.Export(local(1), file)
			p.does(true)
			p.Signal(p.line, local(1), 0)
			q.submit()
			return q.does(true)
		}, false},
		"host access": {func(p, q *process) *Access {
			p.HostDo(shared, Access{End: 4, Writes: true})
			q.submit()
			return q.does(true)
		}, false},
		"host access after the submission": {func(p, q *process) *Access {
			q.submit()
			p.HostDo(shared, Access{End: 4, Writes: true})
			return q.does(true)
		}, true},
		"another name of the memory": {func(p, q *process) *Access {
			p.Same(shared.ID, 99)
			p.does(true)
			return q.Do(q.line, Memory{99, true}, Access{End: 8})
		}, true},
		"what was done before is revealed": {func(p, q *process) *Access {
			p.Do(p.line, Memory{ID: shared.ID}, Access{End: 8, Writes: true})
			p.Reveal(shared.ID)
			return q.does(false)
		}, true},
		"the other process ends": {func(p, q *process) *Access {
			p.does(true)
			p.Close()
			return q.does(true)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "logs")
			p, q := newProcess(t, directory, 1), newProcess(t, directory, 2)
			got := c.run(p, q)
			if (got != nil) != c.conflict {
				t.Errorf("conflict: %+v, want %v", got, c.conflict)
			}
			if got != nil && (!strings.HasPrefix(got.Process, fmt.Sprintf("process %d (", os.Getpid())) || got.Begin != 0) {
				t.Errorf("the other end is %+v", got)
			}
			p.Close()
			q.Close()
			if _, err := os.Stat(directory); !os.IsNotExist(err) {
				t.Errorf("the directory is left over: %v", err)
			}
		})
	}
}

// TestThird: what a process has learned goes on to a third one, also when the second is gone.
func TestThird(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "logs")
	p, q := newProcess(t, directory, 1), newProcess(t, directory, 2)
	p.does(true)
	p.Signal(p.line, Key{Shared, 1}, 0)
	q.HostWait(Key{Shared, 1}, 0)
	r := newProcess(t, directory, 3)
	r.submit()
	q.Close()
	s := newProcess(t, directory, 4)
	s.submit()
	if a := r.does(true); a != nil {
		t.Errorf("the third process: %+v", a)
	}
	s.Begin(s.line, r.Host())
	if a := s.does(false); a == nil {
		t.Error("nothing orders the third process before the fourth")
	}
}

// TestHostile: whatever stands in a log, a process goes on; nothing of others is found then, and all they signal
// orders.
func TestHostile(t *testing.T) {
	good := (&header{1, 9 << agentBits, "name"}).encode()
	point := &entry{kind: entryPoint, key: Key{Shared, 1}, known: Known{clock: Clock{1: 2}}}
	access := &entry{kind: entryAccess, memory: 77,
		record: record{agent: 9<<agentBits + 1, Access: Access{End: 8, Writes: true}}}
	flipped := access.append(nil)
	flipped[20] ^= 1
	for name, c := range map[string]struct {
		log     []byte
		unshare bool
	}{
		"empty":              {nil, true},
		"header alone":       {good, false},
		"other header":       {append([]byte("x"), good...), true},
		"half an entry":      {append(bytes.Clone(good), access.append(nil)[:30]...), false},
		"wrong sum":          {append(bytes.Clone(good), flipped...), true},
		"no length":          {append(bytes.Clone(good), 0, 0, 0, 0, 1, 2, 3, 4), true},
		"a huge entry":       {append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4), true},
		"another's agent":    {append(bytes.Clone(good), (&entry{kind: entryAccess}).append(nil)...), true},
		"a point and zeros":  {append(point.append(bytes.Clone(good)), 0, 0, 0, 0), false},
		"an unknown kind":    {(&entry{kind: 99}).append(bytes.Clone(good)), true},
		"moved to itself":    {(&entry{kind: entryMoved}).append(bytes.Clone(good)), true},
		"moved, and no more": {(&entry{kind: entryMoved}).append(access.append(bytes.Clone(good))), true},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "logs")
			q := newProcess(t, directory, 2)
			if err := os.WriteFile(filepath.Join(directory, fmt.Sprintf("log-%016x", 9<<agentBits)), c.log, 0o600); err != nil {
				t.Fatal(err)
			}
			q.does(true)
			q.submit()
			q.Signal(q.line, Key{Shared, 1}, 0)
			q.HostWait(Key{Shared, 1}, 0)
			if (q.share == nil) != c.unshare {
				t.Errorf("the sharing has ended: %v, want %v", q.share == nil, c.unshare)
			}
			q.does(true)
		})
	}
	directory := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := NewTracker(0).Share(directory); err == nil {
		t.Error("a directory that others can read is taken")
	}
	if err := NewTracker(0).Share("/proc/self/none"); err == nil {
		t.Error("a directory that can't be made is taken")
	}
}

// TestClosedLog: an application that closes descriptors of the driver gets no log written into its files.
func TestClosedLog(t *testing.T) {
	p := newProcess(t, filepath.Join(t.TempDir(), "logs"), 1)
	p.does(true)
	raw := p.share.file.Int()
	p.share.file.Disown()
	if err := os.NewFile(uintptr(raw), "").Close(); err != nil {
		t.Fatal(err)
	}
	p.does(true)
	p.Signal(p.line, Key{Shared, 1}, 0)
	if p.share != nil {
		t.Error("it goes on without its log")
	}
}

// TestRenew: a log doesn't grow for ever, and whoever reads it misses no signal.
func TestRenew(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "logs")
	p, q := newProcess(t, directory, 1), newProcess(t, directory, 2)
	p.Signal(p.line, Key{Shared, 1}, 0)
	before := p.share.ino
	for p.share.ino == before {
		p.does(true)
		p.Forget(shared.ID)
		if p.share.size > mostLog {
			t.Fatalf("the log has %d bytes", p.share.size)
		}
	}
	r := newProcess(t, directory, 3)
	for _, x := range []*process{q, r} {
		x.submit()
		if len(x.points[Key{Shared, 1}]) != 1 || x.share == nil {
			t.Error("a signal is lost")
		}
		if a := x.does(false); a == nil && x == q {
			t.Error("the last accesses are lost")
		}
	}
}

// TestKilled: a process that is killed is forgotten, with its log.
func TestKilled(t *testing.T) {
	if directory := os.Getenv("ORDER_TEST_CHILD"); directory != "" {
		p := newProcess(t, directory, 9)
		p.does(true)
		fmt.Println("ready")
		time.Sleep(time.Minute)
		return
	}
	directory := filepath.Join(t.TempDir(), "logs")
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), "ORDER_TEST_CHILD="+directory)
	out, err := child.StdoutPipe()
	if err != nil || child.Start() != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	q := newProcess(t, directory, 2)
	if a := q.does(true); a == nil || !strings.HasPrefix(a.Process, fmt.Sprintf("process %d (", child.Process.Pid)) {
		t.Errorf("the other end is %+v, want process %d", a, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	q.submit()
	if a := q.does(true); a != nil {
		// This process' own access is ordered by nothing, but it is of the same queue.
		if a.Process != "" {
			t.Errorf("a process that is gone: %+v", a)
		}
	}
	if names, _ := filepath.Glob(directory + "/*"); len(names) != 1 {
		t.Errorf("logs are left over: %v", names)
	}
}

// TestEntries: what is written is read.
func TestEntries(t *testing.T) {
	known := Known{clock: Clock{5: 6, 7: 8}, floor: 9}
	for _, e := range []entry{
		{kind: entryAccess, memory: 3,
			record: record{agent: 4, epoch: 5, number: 6,
				Access: Access{Begin: 7, End: 8, Writes: true, Way: ByHostCopy, Kind: Marker, Command: 9, Text: "text"}}},
		{kind: entryAccess, record: record{Access: Access{May: true}}},
		{kind: entryPoint, key: Key{Shared, 8}, value: 5, known: known, record: record{number: 3}},
		{kind: entryPoint, key: Key{SyncFile, 8}, known: Known{clock: Clock{}}},
		{kind: entryHost, known: known},
		{kind: entrySame, memory: 5, other: 6},
		{kind: entryMoved},
	} {
		b := e.append([]byte("before"))[6:]
		got, size, err := parseEntry(append(b, "behind"...))
		if err != nil || size != len(b) || got.kind != e.kind || got.memory != e.memory || got.other != e.other ||
			got.key != e.key || got.value != e.value || got.record != e.record || got.known.floor != e.known.floor ||
			!maps.Equal(got.known.clock, e.known.clock) {
			t.Errorf("%+v was read as %+v, %d bytes of %d, %v", e, got, size, len(b), err)
		}
	}
}

// FuzzEntry: whatever the bytes, an entry lies within them, and what is read is written the same.
func FuzzEntry(f *testing.F) {
	f.Add((&entry{kind: entryAccess, record: record{Access: Access{Text: "text"}}}).append(nil))
	f.Add((&entry{kind: entryPoint, key: Key{Shared, 8}, known: Known{clock: Clock{1: 2}}}).append(nil))
	f.Add((&entry{kind: entryHost}).append(nil))
	f.Add((&entry{kind: entrySame}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, size, err := parseEntry(b)
		if size > len(b) || err == nil && size == 0 && len(b) > mostEntry+8 {
			t.Fatalf("%d bytes of %d", size, len(b))
		}
		if err != nil || size == 0 {
			return
		}
		again, _, err := parseEntry(e.append(nil))
		if err != nil || again.record != e.record || again.key != e.key {
			t.Errorf("%+v was read as %+v, %v", e, again, err)
		}
	})
}
