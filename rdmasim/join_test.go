package rdmasim

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Peers that join wrongly are shown out, and nobody else notices.
func TestWrongJoins(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	loose, err := unix.MemfdCreate("loose", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(loose)
	if err := unix.Ftruncate(loose, ledgerSize); err != nil {
		t.Fatal(err)
	}
	goodFD, good, err := makeShared("ledger", ledgerSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(good)
	defer unix.Close(goodFD)
	join := request{kind: kindJoin, entry: ledgerEntries}
	resolve := request{kind: kindResolve, address: r.Address(), entry: 5}
	type packet struct {
		request
		fd int // -1 for none
	}
	short := payload(t, ledgerSize-1)
	if err := p.Read(r.Address(), make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	before := countFDs()
	for name, packets := range map[string][]packet{
		"no ledger":            {{join, -1}},
		"not sealed":           {{join, loose}},
		"not a memfd":          {{join, 0}},
		"too short":            {{join, short}},
		"no entries":           {{request{kind: kindJoin}, goodFD}},
		"too many entries":     {{request{kind: kindJoin, entry: ledgerEntries + 1}, goodFD}},
		"twice":                {{join, goodFD}, {join, goodFD}},
		"without joining":      {{resolve, -1}},
		"entry outside":        {{request{kind: kindJoin, entry: 5}, goodFD}, {resolve, -1}},
		"entry used twice":     {{join, goodFD}, {resolve, -1}, {resolve, -1}},
		"rights without names": {{join, goodFD}, {request{kind: kindResolve, address: r.Address(), access: 1 << 20}, -1}},
	} {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socketName(o.id), Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		hello, err := receive(conn)
		if err != nil {
			t.Fatal(err)
		}
		hello.drop()
		for _, q := range packets {
			var rights []byte
			if q.fd >= 0 {
				rights = unix.UnixRights(q.fd)
			}
			if _, _, err := conn.WriteMsgUnix(q.encode(), rights, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		var last answer
		for {
			a, err := receive(conn)
			if err != nil {
				break
			}
			a.drop()
			last = a
		}
		if last.status != wireBadRequest {
			t.Errorf("%s: %+v", name, last.message)
		}
		conn.Close()
	}
	if err := p.Read(r.Address(), make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only the good one holds the region", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(r.holders) == 1
	})
	eventually(t, "descriptors closed", func() bool { return countFDs() <= before })
}

// An owner that has no descriptor left for another peer says so; those that it has go on.
func TestOwnerWithoutDescriptors(t *testing.T) {
	owner, old := start(t, "owner", nil), newPeer(t)
	a := owner.number("register 4096 7")
	if err := old.Read(a, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	// One is left, for the connection; at first maybe another one, which the owner is about to close.
	eventually(t, "a peer too many", func() bool {
		owner.say("exhaust 1")
		p := newPeer(t)
		defer p.Close()
		err := p.Read(a, make([]byte, 8))
		if err != nil && !errors.Is(err, ErrResources) {
			t.Errorf("a peer too many gets %v", err)
		}
		return err != nil
	})
	if err := old.Read(a, make([]byte, 8)); err != nil {
		t.Error(err)
	}
	owner.say("exhaust 200")
	if err := newPeer(t).Read(a, make([]byte, 8)); err != nil {
		t.Error(err)
	}
}
