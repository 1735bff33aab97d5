package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/internal/soaking"
	"farside/conformance/shaders"
)

func TestMain(m *testing.M) {
	if index := os.Getenv(nodeVariable); index != "" {
		os.Exit(runNode(index))
	}
	os.Exit(m.Run())
}

// TestSoak is a short run of what `make soak` does.
func TestSoak(t *testing.T) {
	if out, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	manifests, err := filepath.Glob("../../build/*.json")
	if err != nil || len(manifests) != 1 {
		t.Fatalf("make build wrote the manifests %v: %v", manifests, err)
	}
	if manifests[0], err = filepath.Abs(manifests[0]); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		t.Setenv(name, manifests[0])
	}
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector otherwise sleeps for a second at each process's end
	c := config{nodes: 8, Run: soaking.Run{Duration: 20 * time.Second, KillEvery: time.Second,
		Seed: uint64(time.Now().UnixNano())}}
	if testing.Short() {
		c.nodes, c.Duration, c.KillEvery = 4, 4*time.Second, 500*time.Millisecond
	}
	t.Run("copy", func(t *testing.T) { soakFor(t, c) })
	t.Run("draw", func(t *testing.T) {
		if err := shaders.Check(); errors.Is(err, shaders.ErrTool) {
			t.Skip(err)
		}
		c.draw, c.nodes, c.Duration = true, 4, min(c.Duration, 8*time.Second)
		soakFor(t, c)
	})
}

// soakFor soaks until enough has happened. A machine that does much else gets twice the time, and half the kills, each
// time: processes that are killed while they begin check nothing.
func soakFor(t *testing.T, c config) {
	for range 3 {
		sum, err := soak(t.Context(), c, soaking.NewProgress(os.Stderr, false, c.Duration))
		t.Logf("\n%v", sum)
		if err != nil {
			t.Fatal(err)
		}
		if sum.kills > 0 && sum.opened > c.nodes && sum.rounds > 0 {
			return
		}
		c.Duration, c.KillEvery = 2*c.Duration, 2*c.KillEvery
	}
	t.Errorf("too little happened")
}

func TestPattern(t *testing.T) {
	b := make([]byte, bufferSize)
	write(b, 7, 3)
	if err := check(b, 3); err != nil {
		t.Fatal(err)
	}
	if check(b, 4) == nil {
		t.Error("another round passes")
	}
	for _, i := range []int{0, 8, 16, 4096, bufferSize - 1} {
		broken := bytes.Clone(b)
		broken[i] ^= 0x10
		if check(broken, 3) == nil {
			t.Errorf("a wrong byte %d passes", i)
		}
	}
}

func TestHeaviness(t *testing.T) {
	light := soaking.Usage{Descriptors: 20, Shared: 6, Mappings: 200, Resident: 30 << 10}
	for _, change := range []struct {
		name  string
		grow  func(u *soaking.Usage)
		leaks bool
	}{
		{"nothing", func(*soaking.Usage) {}, false},
		{"the runtime's pollers", func(u *soaking.Usage) { u.Descriptors += soaking.RuntimeDescriptors }, false},
		{"descriptors", func(u *soaking.Usage) { u.Descriptors += 2 * soaking.RuntimeDescriptors }, true},
		{"one mapped memfd", func(u *soaking.Usage) { u.Shared++ }, true},
		{"mappings", func(u *soaking.Usage) { u.Mappings *= 2 }, true},
		{"memory", func(u *soaking.Usage) { u.Resident *= 4 }, true},
	} {
		t.Run(change.name, func(t *testing.T) {
			var h heaviness
			for range warmUp {
				if err := h.add(light); err != nil {
					t.Fatal(err)
				}
			}
			u := light
			change.grow(&u)
			if err := h.add(u); (err != nil) != change.leaks {
				t.Errorf("%v: %v", u, err)
			}
		})
	}
}

// TestLink lets nodes die in every state of a link: it must always come to be open again.
func TestLink(t *testing.T) {
	for steps := range 8 {
		for victim := range 2 {
			t.Run(fmt.Sprintf("%s_dies_after_%d", sideNames[victim], steps), func(t *testing.T) {
				l := &link{writer: 0, reader: 1, sides: [2]state{idle, idle}}
				r := &ring{links: []*link{l}, workers: []*worker{deafWorker(t), deafWorker(t)}}
				for range steps {
					obeyed(l)
					l.step(r, false)
				}
				if victim == right {
					l.reset = steps%2 == 1 // also while it closes
				}
				r.down(victim)
				for range 3 {
					l.step(r, false)
					obeyed(l)
				}
				if l.sides[victim] != absent || l.sides[1-victim] == running {
					t.Fatalf("beside a dead node: %v", l)
				}
				l.sides[victim] = idle
				for range 8 {
					l.step(r, false)
					obeyed(l)
				}
				if !l.open() {
					t.Errorf("%v", l)
				}
			})
		}
	}
}

// deafWorker is one whose orders nobody reads.
func deafWorker(t *testing.T) *worker {
	s, theirs := pair(t)
	t.Cleanup(func() { s.Close(); theirs.Close() })
	return &worker{socket: s}
}

// obeyed answers as the nodes of l would.
func obeyed(l *link) {
	for side, s := range l.sides {
		if verb, ok := map[state]string{offering: "offered", hushing: "hushed", closing: "closed"}[s]; ok {
			l.hear(message{words: []string{verb, sideNames[side]}})
		}
	}
}

func pair(t *testing.T) (a, b socket) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []*socket{&a, &b} {
		if *s, err = newSocket(os.NewFile(uintptr(fds[i]), "socket")); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

func dup(t *testing.T, f *os.File) int {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestMessage(t *testing.T) {
	a, b := pair(t)
	defer a.Close()
	defer b.Close()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("sent"); err != nil {
		t.Fatal(err)
	}
	if err := a.send([]int{dup(t, f), dup(t, f)}, "take %s %d", "left", 3); err != nil {
		t.Fatal(err)
	}
	m, err := b.receive()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(m.fds)
	if !m.is("take") || m.side() != left || m.text() != "left 3" || len(m.fds) != 2 {
		t.Errorf("%+v", m)
	}
	text := make([]byte, 4)
	for _, fd := range m.fds {
		if n, err := unix.Pread(fd, text, 0); n != len(text) || string(text) != "sent" {
			t.Errorf("a descriptor reads %q: %v", text, err)
		}
	}
	a.Close()
	if _, err := b.receive(); err == nil {
		t.Error("the end of the other side isn't an error")
	}
}
