package local

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"farside/rdmasim/internal/verbs"
)

// An orderly end is no death.
func TestKeeperEnds(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	v := p.view(t, r.Address())
	if v.served&tidMask == 0 {
		t.Error("the kernel has no robust futexes; owners' deaths are seen late")
	}
	o.Close()
	wantErr(t, v.Read(0, make([]byte, 8)), verbs.ErrFreed)
	if w := v.serving.Load(); w != ownerClosed {
		t.Errorf("the owner's word is %#x", w)
	}
}

// A free waits for who is inside of the region, and a close of the peer doesn't hide him.
func TestFreeWaits(t *testing.T) {
	for _, closePeer := range []bool{false, true} {
		o, p := newOwner(t), newPeer(t)
		o.Patience = time.Minute
		r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
		v := p.view(t, r.Address())
		if !v.enter(classWrite) {
			t.Fatal("can't enter")
		}
		if closePeer {
			p.close()
		}
		var left sync.WaitGroup
		begin := time.Now()
		left.Go(func() {
			time.Sleep(50 * time.Millisecond)
			if v.unmapped.Load() {
				t.Error("unmapped under an operation")
			}
			v.leave(classWrite)
		})
		r.Close()
		if d := time.Since(begin); d < 40*time.Millisecond {
			t.Errorf("the free took %v", d)
		}
		left.Wait()
		if err := v.Read(0, make([]byte, 8)); !errors.Is(err, verbs.ErrFreed) && !errors.Is(err, verbs.ErrClosed) {
			t.Error(err)
		}
		if c := r.Counters(); c != (verbs.Counters{Writes: 1}) {
			t.Errorf("counters %+v", c)
		}
	}
}

// More regions than a ledger has entries: the peer goes on with another one.
func TestLedgerFull(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	keep := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	fd := payload(t, 4096)
	buf := make([]byte, 16)
	if err := p.read(keep.Address(), buf); err != nil {
		t.Fatal(err)
	}
	for range ledgerEntries + 10 {
		r := register(t, o, fd, 0, 4096, verbs.AccessAll)
		if err := p.read(r.Address(), buf); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if err := p.read(keep.Address(), buf); err != nil {
		t.Fatal(err)
	}
	if n := joined(o); n != 2 {
		t.Errorf("%d connections", n)
	}
	keep.Close()
	eventually(t, "the first connection ends with its last region", func() bool { return joined(o) == 1 })
}

// A peer that is killed inside of a region doesn't hold up its free, one that is stopped does for a while.
func TestFreeWaitsNotForTheDead(t *testing.T) {
	o := newOwner(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%#x", childEnv, r.Address()))
		child.Stderr = os.Stderr
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			child.Process.Kill()
			child.Wait()
		})
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "inside\n" {
			t.Fatal(line, err)
		}
		child.Process.Signal(signal)
		begin := time.Now()
		r.Close()
		switch d := time.Since(begin); {
		case signal == syscall.SIGSTOP && d < verbs.DrainTimeout:
			t.Errorf("gave up after %v", d)
		case d > 20*verbs.DrainTimeout:
			t.Errorf("%v took %v", signal, d)
		}
	}
}
