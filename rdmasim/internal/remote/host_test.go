package remote

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// liar is a bridge that says what a test tells it, with the right secret.
type liar struct {
	description exchange.Description
	outcome     exchange.Outcome // of reads, writes and atomics
	wait        time.Duration    // before it describes a region
}

func (l *liar) Resolve(ctx context.Context, _ exchange.Question) (exchange.Description, exchange.Outcome) {
	select {
	case <-time.After(l.wait):
	case <-ctx.Done():
	}
	return l.description, 0
}

func (l *liar) Read(exchange.Place, []byte) exchange.Outcome            { return l.outcome }
func (l *liar) Write(exchange.Place, []byte) exchange.Outcome           { return l.outcome }
func (l *liar) Atomic(exchange.Atomic) (old uint64, _ exchange.Outcome) { return 7, l.outcome }

// fabric connects to the liar.
func (l *liar) fabric(t *testing.T) (*Fabric, *verbs.Table) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, bytes.Repeat([]byte("secret"), 8), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", file)
	credentials, err := loadCredentials()
	if err != nil {
		t.Fatal(err)
	}
	s, err := exchange.Serve(netip.MustParseAddrPort("127.0.0.1:0"), credentials, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	table := &verbs.Table{}
	f, err := Open(t.Context(), "tls://"+s.Address()+"/", table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		table.Close()
		f.Close()
	})
	return f, table
}

// A bridge that describes a region that can't be is caught, and nothing comes into the table.
func TestLyingBridge(t *testing.T) {
	const at = 1 << 20
	address := verbs.MakeAddress(77, at)
	good := exchange.Description{Address: address, Length: 4096, Key: 9, Access: uint32(verbs.AccessAll)}
	for name, lie := range map[string]func(*exchange.Description){
		"not a remote address": func(d *exchange.Description) { d.Address, d.Length = 0x7f0000000000, 1<<63 },
		"all addresses":        func(d *exchange.Description) { d.Address, d.Length = 0, 1<<63 },
		"another owner's":      func(d *exchange.Description) { d.Address = verbs.MakeAddress(76, at) },
		"of two owners":        func(d *exchange.Description) { d.Length = 1 << verbs.OffsetBits },
		"longer than a range":  func(d *exchange.Description) { d.Length = 1 << 62 },
		"elsewhere":            func(d *exchange.Description) { d.Address += 4096 },
		"before":               func(d *exchange.Description) { d.Address -= 4096 },
		"no length":            func(d *exchange.Description) { d.Length = 0 },
		"no rights":            func(d *exchange.Description) { d.Access = 0 },
		"unknown rights":       func(d *exchange.Description) { d.Access = 1 << 30 },
		"no key":               func(d *exchange.Description) { d.Key = 0 },
	} {
		l := &liar{description: good}
		lie(&l.description)
		f, table := l.fabric(t)
		if _, err := f.Resolve(t.Context(), address, 0, 0); !errors.Is(err, verbs.ErrProtocol) || table.Len() != 0 {
			t.Errorf("%s: %v, %d regions", name, err, table.Len())
		}
	}
	f, table := (&liar{description: good}).fabric(t)
	if _, err := f.Resolve(t.Context(), address, 9, verbs.AccessRead); err != nil || table.Len() != 1 {
		t.Errorf("the truth: %v", err)
	}
	if _, err := f.Resolve(t.Context(), address, 8, verbs.AccessRead); err == nil {
		t.Error("a region with another key than the one asked for")
	}
}

// Outcomes that don't exist, and those that an operation can't have, are errors; memory of a read that failed stays
// as it was.
func TestLyingOutcomes(t *testing.T) {
	address := verbs.MakeAddress(77, 1<<20)
	for outcome := range exchange.Outcome(40) {
		l := &liar{outcome: outcome,
			description: exchange.Description{Address: address, Length: 4096, Key: 9, Access: uint32(verbs.AccessAll)}}
		f, _ := l.fabric(t)
		r, err := f.Resolve(t.Context(), address, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := []byte("as it was")
		errRead, errWrite := r.View.Read(0, b), r.View.Write(0, b)
		_, errAtomic := r.View.Atomic(verbs.OpFetchAdd, 0, 8, 1, 0)
		for _, err := range []error{errRead, errWrite, errAtomic} {
			if (err == nil) != (outcome == 0) || err == verbs.ErrStale && r.View.Alive() {
				t.Errorf("outcome %d: %v", outcome, err)
			}
			if err != nil && verbs.StatusOf(err) == verbs.StatusSuccess {
				t.Errorf("outcome %d: %v has no status", outcome, err)
			}
		}
		if outcome != 0 && string(b) != "as it was" {
			t.Errorf("outcome %d: the memory is now %q", outcome, b)
		}
	}
}

// A bridge that doesn't answer costs the time that the caller gives it.
func TestSilentBridge(t *testing.T) {
	f, _ := (&liar{wait: time.Minute}).fabric(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := f.Resolve(ctx, verbs.MakeAddress(77, 4096), 0, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if d := time.Since(begin); d > 4*time.Second {
		t.Errorf("it took %v", d)
	}
}
