package remote

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/local"
	"farside/rdmasim/internal/verbs"
)

// newBridge serves every owner of this host with a secret of its own.
func newBridge(t testing.TB) *Bridge {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, bytes.Repeat([]byte(t.Name()), 32), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", file)
	b, err := Serve(Options{Address: netip.MustParseAddrPort("127.0.0.1:0"),
		Serves: func(uint32) bool { return true },
		Open:   func(t *verbs.Table) (verbs.Fabric, error) { return local.Open(t) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func newOwner(t testing.TB) *local.Owner {
	t.Helper()
	o, err := local.NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// register makes a region of size bytes, of which byte i is i, and returns the mapping of its payload.
func register(t testing.TB, o *local.Owner, size int, access verbs.Access) (*local.Region, []byte) {
	t.Helper()
	file, err := memfd.Create(memfd.Spec{Name: "payload", Size: uint64(size), Mode: memfd.Private})
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := unix.Mmap(file.Int(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close(); unix.Munmap(mapping) })
	for i := range mapping {
		mapping[i] = byte(i)
	}
	r, err := o.Register(file.Int(), 0, uint64(size), local.Attributes{Access: access})
	if err != nil {
		t.Fatal(err)
	}
	return r, mapping
}

// openHost is a peer that has the secret and leaves out every check of its own.
func openHost(t testing.TB, b *Bridge) *exchange.Host {
	t.Helper()
	c, err := loadCredentials()
	if err != nil {
		t.Fatal(err)
	}
	h, err := exchange.Open(context.Background(), b.Address(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// A bridge checks everything itself: rights exactly, the one to atomics as well, range, alignment, opcode and
// key, at each operation.
func TestBridgeChecks(t *testing.T) {
	b := newBridge(t)
	o := newOwner(t)
	h := openHost(t, b)
	const size = 4096
	all := []verbs.Access{verbs.AccessRead, verbs.AccessWrite, verbs.AccessAtomic,
		verbs.AccessRead | verbs.AccessWrite, verbs.AccessAll}
	for _, access := range all {
		r, memory := register(t, o, size, access)
		if _, outcome, err := h.Resolve(context.Background(), exchange.Question{Address: r.Address()}); outcome != 0 ||
			err != nil {
			t.Fatal(outcome, err)
		}
		place := func(off uint64) exchange.Place { return exchange.Place{Address: r.Address() + off, Key: r.Key()} }
		word := make([]byte, 8)
		check := func(name string, o exchange.Outcome, err error, want error) {
			t.Helper()
			if err != nil || !errors.Is(outcomeError(o), want) || (want == nil) != (o == 0) {
				t.Errorf("%v: %s: %v, %v, want %v", access, name, outcomeError(o), err, want)
			}
		}
		granted := func(need verbs.Access) error {
			if access&need == 0 {
				return verbs.ErrAccess
			}
			return nil
		}
		outcome, err := h.Read(place(8), word)
		check("read", outcome, err, granted(verbs.AccessRead))
		outcome, err = h.Write(place(8), []byte("12345678"))
		check("write", outcome, err, granted(verbs.AccessWrite))
		before := bytes.Clone(memory)
		for op := range uint8(12) {
			for _, width := range []uint8{0, 1, 4, 8, 16} {
				a := exchange.Atomic{Place: place(16), Opcode: op, Width: width, Operand: 1}
				want := granted(verbs.AccessAtomic)
				if op < uint8(verbs.OpFetchAdd) || op > uint8(verbs.OpFetchXor) || width != 4 && width != 8 {
					want = verbs.ErrBadWork
				}
				_, outcome, err = h.Atomic(a)
				check(verbs.Opcode(op).String(), outcome, err, want)
			}
		}
		if access&verbs.AccessAtomic == 0 && !bytes.Equal(memory, before) {
			t.Errorf("%v: an atomic takes effect", access)
		}
		if access != verbs.AccessAll {
			continue
		}
		_, outcome, err = h.Atomic(exchange.Atomic{Place: place(17), Opcode: uint8(verbs.OpFetchAdd), Width: 4})
		check("misaligned", outcome, err, verbs.ErrMisaligned)
		outcome, err = h.Read(place(size-7), word)
		check("read over the end", outcome, err, verbs.ErrOutOfRange)
		outcome, err = h.Write(place(size-7), word)
		check("write over the end", outcome, err, verbs.ErrOutOfRange)
		outcome, err = h.Read(place(size), word)
		check("read behind the end", outcome, err, verbs.ErrStale)
		outcome, err = h.Read(exchange.Place{Address: r.Address(), Key: r.Key() + 1}, word)
		check("another key", outcome, err, verbs.ErrStale)
		outcome, err = h.Read(exchange.Place{Address: 4096, Key: 0}, word)
		check("no remote address", outcome, err, verbs.ErrStale)
		r.Close()
		outcome, err = h.Read(place(0), word)
		check("a freed region", outcome, err, verbs.ErrStale)
		_, outcome, err = h.Resolve(context.Background(), exchange.Question{Address: r.Address(), Key: r.Key()})
		check("resolve of a freed region", outcome, err, verbs.ErrFreed)
	}
}

// Names of fabrics, and nothing else.
func TestHostOf(t *testing.T) {
	for name, want := range map[string]string{
		"tls://192.0.2.7:7471/": "192.0.2.7:7471", "tls://host:1": "host:1", "ofi://[::1]:2/": "[::1]:2",
	} {
		if got, err := hostOf(name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"tls", "tls://", "tls://:1/", "tls://host/", "tls://host:1/x", "tls://u@host:1/",
		"tls://host:1/?q", "tls://host:1/#f", "tcp://host:1/", ""} {
		if got, err := hostOf(name); !errors.Is(err, verbs.ErrUnknownFabric) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
