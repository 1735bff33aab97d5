package ofi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func TestReadAndWrite(t *testing.T) {
	h := newHost(t)
	c := h.connect(0)
	ctx := context.Background()
	remote, _ := h.register(4096+16, hostSize-4096-16, both)
	for _, n := range []int{0, 1, 8, 63, 64, 65, 4096, 16384, 65536, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
		for _, offset := range []uint64{0, 3} {
			b := randomBytes(n)
			if err := c.Write(ctx, remote, offset, b); err != nil {
				t.Fatalf("write of %d bytes: %v", n, err)
			}
			// A write that is complete is there.
			at := 4096 + 16 + offset
			if !bytes.Equal(h.memory[at:][:n], b) {
				t.Fatalf("write of %d bytes is complete, and not there", n)
			}
			got := make([]byte, n)
			if err := c.Read(ctx, remote, offset, got); err != nil {
				t.Fatalf("read of %d bytes: %v", n, err)
			}
			if !bytes.Equal(got, b) {
				t.Fatalf("read of %d bytes gives something else", n)
			}
		}
	}
}

func TestAtomics(t *testing.T) {
	h := newHost(t)
	c := h.connect(0)
	remote, _ := h.register(0, 4096, both)
	testAtomics[uint32](t, c, remote)
	testAtomics[uint64](t, c, remote)
}

func testAtomics[T Word](t *testing.T, c *Conn, remote Remote) {
	t.Helper()
	ctx := context.Background()
	word := ^T(0) - 1
	expect := func(name string, old T, err error, want T) {
		t.Helper()
		if err != nil || old != want {
			t.Fatalf("%s of %T: %#x, %v; want %#x", name, want, old, err, want)
		}
	}
	old, err := Swap(ctx, c, remote, 8, word)
	expect("swap", old, err, 0)
	old, err = Add[T](ctx, c, remote, 8, 5)
	expect("add", old, err, word)
	word += 5
	old, err = CompareSwap(ctx, c, remote, 8, word+1, 99)
	expect("compare-swap of another word", old, err, word)
	old, err = CompareSwap[T](ctx, c, remote, 8, word, 0xf0)
	expect("compare-swap", old, err, word)
	old, err = Or[T](ctx, c, remote, 8, 0x0f)
	expect("or", old, err, 0xf0)
	old, err = And[T](ctx, c, remote, 8, 0x3c)
	expect("and", old, err, 0xff)
	old, err = Xor[T](ctx, c, remote, 8, 0xff)
	expect("xor", old, err, 0x3c)
	old, err = Swap[T](ctx, c, remote, 8, 0)
	expect("swap back", old, err, 0xc3)
}

// What the target refuses is an error of that operation, and the next one works.
func TestRefusals(t *testing.T) {
	h := newHost(t)
	c := h.connect(0)
	ctx := context.Background()
	full, _ := h.register(0, 8192, both)
	readable, _ := h.register(0, 4096, AccessRead)
	writable, _ := h.register(0, 4096, AccessWrite)
	freed, n := h.register(0, 4096, both)
	h.close(n)
	wrong := full
	wrong.Key ^= 1
	word := make([]byte, 8)
	for _, refusal := range []struct {
		name      string
		operation func() error
	}{
		{"read with a wrong key", func() error { return c.Read(ctx, wrong, 0, word) }},
		{"write with a wrong key", func() error { return c.Write(ctx, wrong, 0, word) }},
		{"atomic with a wrong key", func() error { _, err := Add[uint64](ctx, c, wrong, 0, 1); return err }},
		{"read one byte too far", func() error { return c.Read(ctx, full, 8185, word) }},
		{"write one byte too far", func() error { return c.Write(ctx, full, 8185, word) }},
		{"atomic behind the end", func() error { _, err := Add[uint64](ctx, c, full, 8192, 1); return err }},
		{"large write too far", func() error { return c.Write(ctx, full, 1, make([]byte, 8192)) }},
		{"write to a readable region", func() error { return c.Write(ctx, readable, 0, word) }},
		{"atomic on a readable region", func() error { _, err := Add[uint32](ctx, c, readable, 0, 1); return err }},
		{"read of a writable region", func() error { return c.Read(ctx, writable, 0, word) }},
		{"read of a freed region", func() error { return c.Read(ctx, freed, 0, word) }},
		{"atomic on a freed region", func() error { _, err := Swap[uint32](ctx, c, freed, 0, 1); return err }},
	} {
		begin := time.Now()
		if err := refusal.operation(); !errors.Is(err, ErrRemoteAccess) {
			t.Errorf("%s: %v", refusal.name, err)
		}
		took := time.Since(begin)
		if err := c.Read(ctx, full, 0, word); err != nil {
			t.Fatalf("after %s: %v", refusal.name, err)
		}
		if _, err := Add[uint64](ctx, c, full, 0, 0); err != nil {
			t.Fatalf("atomic after %s: %v", refusal.name, err)
		}
		t.Logf("%s: %v, works again after another %v", refusal.name, took, time.Since(begin)-took)
	}
	if !bytes.Equal(h.memory[:hostSize], make([]byte, hostSize)) {
		t.Error("something that was refused has been done")
	}
}

// A library that isn't there is an error that says what to install.
func TestLibraryMissing(t *testing.T) {
	_, err := open("libfabric-missing.so.1")
	if !errors.Is(err, ErrLibrary) || !strings.Contains(err.Error(), "package libfabric1") {
		t.Error(err)
	}
}

func TestProviderMissing(t *testing.T) {
	for _, bind := range []string{"127.0.0.1", ""} {
		if _, err := NewTarget("nosuch", bind); !errors.Is(err, ErrProvider) {
			t.Errorf("bind %q: %v", bind, err)
		}
	}
	if _, err := NewTarget("", "192.0.2.77"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("an address that isn't of this host: %v", err)
	}
}

// underLoad keeps goroutines reading and writing until they fail. It returns when all are under way.
func underLoad(t *testing.T, c *Conn, remote Remote, goroutines int) (results <-chan error) {
	t.Helper()
	started, ended := make(chan error, goroutines), make(chan error, goroutines)
	for i := range goroutines {
		go func() {
			b := make([]byte, 1<<(4+2*i))
			for n := 0; ; n++ {
				operation := c.Read
				if n%2 == 0 {
					operation = c.Write
				}
				err := operation(context.Background(), remote, 0, b)
				if n == 10 || n < 10 && err != nil {
					started <- err
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range goroutines {
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
	return ended
}

// Whoever uses a target that is killed gets ErrUnreachable by his own deadline.
func TestTargetKilledUnderLoad(t *testing.T) {
	h := newHost(t)
	check := nothingLeft(t)
	c := h.connect(3 * time.Second)
	remote, _ := h.register(0, hostSize, both)
	const goroutines = 6
	results := underLoad(t, c, remote, goroutines)
	h.kill()
	begin := time.Now()
	for range goroutines {
		if err := <-results; !errors.Is(err, ErrUnreachable) {
			t.Error(err)
		}
	}
	t.Logf("all know after %v", time.Since(begin))
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := Add[uint64](context.Background(), c, remote, 0, 1); !errors.Is(err, ErrUnreachable) {
		t.Errorf("atomic: %v", err)
	}
	if _, err := Connect(context.Background(), h.address, Options{Timeout: 2 * time.Second}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("connect: %v", err)
	}
	c.Close()
	check()
}

// Freeing a region ends the operations on it, and those on another region of the target go on.
func TestFreedUnderLoad(t *testing.T) {
	h := newHost(t)
	c := h.connect(0)
	const goroutines = 4
	freed, number := h.register(0, hostSize/2, both)
	kept, _ := h.register(hostSize/2, hostSize/2, both)
	results := underLoad(t, c, freed, goroutines)
	undisturbed := make(chan error)
	stop := make(chan struct{})
	go func() {
		b, got := randomBytes(100_000), make([]byte, 100_000)
		for {
			select {
			case <-stop:
				undisturbed <- nil
				return
			default:
			}
			err := c.Write(context.Background(), kept, 0, b)
			if err == nil {
				err = c.Read(context.Background(), kept, 0, got)
			}
			if err == nil && !bytes.Equal(b, got) {
				err = errors.New("wrong data")
			}
			if err != nil {
				undisturbed <- err
				return
			}
		}
	}()
	h.close(number)
	for range goroutines {
		if err := <-results; !errors.Is(err, ErrRemoteAccess) {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-undisturbed; err != nil {
		t.Errorf("on another region: %v", err)
	}
}

// A target that doesn't move doesn't hold anybody: neither past the deadline nor past the end of a context.
// When it goes on the same Conn works again.
func TestTargetStopped(t *testing.T) {
	h := newHost(t)
	c := h.connect(3 * time.Second)
	remote, _ := h.register(0, hostSize, both)
	b := randomBytes(hostSize)
	if err := c.Write(context.Background(), remote, 0, b); err != nil {
		t.Fatal(err)
	}
	if err := h.command.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// A signal takes its time; this waits until all threads have stopped.
	if _, err := unix.Wait4(h.command.Process.Pid, nil, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	other := make([]byte, hostSize)
	if err := c.Write(context.Background(), remote, 0, other); !errors.Is(err, ErrUnreachable) {
		t.Errorf("write: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	if err := c.Read(ctx, remote, 0, other); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read with a context: %v", err)
	}
	cancel()
	if _, err := Add[uint64](context.Background(), c, remote, 0, 1); !errors.Is(err, ErrUnreachable) {
		t.Errorf("atomic: %v", err)
	}
	if !bytes.Equal(other, make([]byte, hostSize)) {
		t.Error("a read that failed changes the buffer")
	}
	if err := h.command.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// What the target had in its sockets, it does now. That ends sooner or later.
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := c.Write(context.Background(), remote, 0, b)
		if err == nil {
			err = c.Read(context.Background(), remote, 0, other)
		}
		if err == nil && bytes.Equal(other, b) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("never works again: %v", err)
		}
	}
}

// Close ends what is under way, and nothing is left of connections and targets.
func TestClose(t *testing.T) {
	h := newHost(t)
	check := nothingLeft(t)
	for range 3 {
		c := h.connect(0)
		remote, _ := h.register(0, hostSize, both)
		results := underLoad(t, c, remote, 4)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range 4 {
			if err := <-results; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		if err := c.Read(context.Background(), remote, 0, make([]byte, 8)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	for range 3 {
		target, err := NewTarget("", "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Connect(context.Background(), target.Address(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		target.Close()
		target.Close()
		if _, err := target.Register(h.memory, both); err == nil {
			t.Error("a closed target takes regions")
		}
	}
	check()
}

// Some adapters want local buffers registered, too. tcp doesn't, and lets it happen.
func TestLocalRegistration(t *testing.T) {
	h := newHost(t)
	c := h.connect(0)
	c.endpoint.local = true
	remote, _ := h.register(0, hostSize, both)
	b, got := randomBytes(hostSize), make([]byte, hostSize)
	if err := c.Write(context.Background(), remote, 0, b); err != nil {
		t.Fatal(err)
	}
	if err := c.Read(context.Background(), remote, 0, got); err != nil || !bytes.Equal(got, b) {
		t.Fatal("read gives something else: ", err)
	}
	clear(h.memory[:4096])
	testAtomics[uint64](t, c, remote)
	for i := range c.slots {
		if c.slots[i].local != (memory{}) {
			t.Errorf("slot %d keeps its buffer registered", i)
		}
	}
	// With operations under way, the registrations end with the endpoint.
	results := underLoad(t, c, remote, 4)
	c.Close()
	for range 4 {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// Goroutines that use one Conn don't stand in each other's way: one takes completions, and the others don't keep
// it from doing so.
func TestManyAtOnce(t *testing.T) {
	h := newHost(t)
	c := h.connect(time.Minute)
	remote, _ := h.register(0, hostSize, both)
	const goroutines, times = 8, 1000
	begin := time.Now()
	results := make(chan error, goroutines)
	for i := range uint64(goroutines) {
		go func() {
			for n := range uint64(times) {
				if old, err := Add[uint64](context.Background(), c, remote, i*8, 1); err != nil || old != n {
					results <- fmt.Errorf("addition %d finds %d: %w", n, old, err)
					return
				}
			}
			results <- nil
		}()
	}
	for range goroutines {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); took > 40*time.Second {
		t.Errorf("%d operations took %v", goroutines*times, took)
	}
}
