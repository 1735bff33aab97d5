package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim/internal/verbs"
)

const childEnv = "RDMASIM_LOCAL_TEST_CHILD"

// TestMain becomes a peer that stays inside of the region at an address when it is told so.
func TestMain(m *testing.M) {
	address, err := strconv.ParseUint(os.Getenv(childEnv), 0, 64)
	if err != nil {
		os.Exit(m.Run())
	}
	p := &peer{}
	if p.Fabric, err = Open(&p.table); err != nil {
		panic(err)
	}
	r, err := p.find(address)
	if err != nil || !viewOf(r).enter(classRead) {
		panic(err)
	}
	fmt.Println("inside")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

func countFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(d)
}

// joined is how many connections of peers an owner has; others may list its regions meanwhile.
func joined(o *Owner) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.clients {
		if c.ledger != nil {
			n++
		}
	}
	return n
}

// payload makes a sealed memfd; byte i holds pattern(i).
func payload(t testing.TB, size int) int {
	t.Helper()
	b := make([]byte, size)
	for i := range b {
		b[i] = pattern(i)
	}
	return sealed(t, b)
}

func pattern(i int) byte { return byte(i*7 + i>>8) }

// sealed makes a memfd with these bytes that can't change its size.
func sealed(t testing.TB, b []byte) int {
	t.Helper()
	fd := loose(t, len(b))
	if _, err := unix.Pwrite(fd, b, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		t.Fatal(err)
	}
	return fd
}

// loose makes a memfd of zeros without seals.
func loose(t testing.TB, size int) int {
	t.Helper()
	fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	return fd
}

func newOwner(t testing.TB) *Owner {
	t.Helper()
	o, err := NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

func register(t testing.TB, o *Owner, fd int, offset, length uint64, access verbs.Access) *Region {
	t.Helper()
	r, err := o.Register(fd, offset, length, Attributes{Access: access})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// peer is a fabric with its table, and asks before each operation.
type peer struct {
	table verbs.Table
	*Fabric
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := &peer{}
	var err error
	if p.Fabric, err = Open(&p.table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// close can be called twice.
func (p *peer) close() {
	if p.table.Close() {
		p.Fabric.Close()
	}
}

func (p *peer) find(address uint64) (*verbs.Region, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return p.Resolve(ctx, address, 0, 0)
}

func (p *peer) read(address uint64, b []byte) error {
	r, err := p.find(address)
	if err != nil {
		return err
	}
	return r.Because(r.View.Read(address-r.Info.Address, b))
}

// view is the view of the region around an address.
func (p *peer) view(t testing.TB, address uint64) *View {
	t.Helper()
	r, err := p.find(address)
	if err != nil {
		t.Fatal(err)
	}
	return viewOf(r)
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
