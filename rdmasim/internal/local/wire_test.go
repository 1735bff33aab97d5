package local

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
	"farside/rdmasim/internal/verbs"
)

func FuzzWire(f *testing.F) {
	f.Add(request{kind: kindResolve, tag: 7, access: verbs.AccessRead, address: verbs.MakeAddress(5, 4096)}.encode())
	f.Add(message{kind: kindReply, base: verbs.MakeAddress(5, 4096), length: 64, slot: 3, access: verbs.AccessAll,
		generation: 1}.encode())
	o := newOwner(f)
	r := register(f, o, payload(f, 8192), 5, 4096, verbs.AccessRead|verbs.AccessWrite)
	f.Add(request{kind: kindResolve, address: r.Address() + 9}.encode())
	f.Add(request{kind: kindJoin, entry: ledgerEntries}.encode())
	f.Add(request{kind: kindNext, address: r.Address() - 1}.encode())
	f.Add(request{kind: kindResolve, address: r.Address(), key: r.Key(), entry: 7}.encode())
	f.Add(request{kind: kindKnown, flow: 3, number: 9}.encode())
	f.Add(request{kind: kindAnnounce, address: r.Address(), key: r.Key(), length: 8, opcode: verbs.OpWrite}.encode())
	f.Add(request{kind: kindPerform, address: r.Address(), key: r.Key(), length: 8, opcode: verbs.OpRead}.encode())
	f.Add(message{kind: kindReply, base: r.Address(), length: 1, slot: 1, generation: 1, key: 9,
		counters: verbs.Counters{Reads: 1, Writes: 2, Atomics: 3, BytesRead: 4, BytesWritten: 5}, peers: 2,
		name: "näme"}.encode())
	ledgerFile, ledger, err := memfd.CreateMapped("ledger", ledgerSize)
	if err != nil {
		f.Fatal(err)
	}
	defer ledgerFile.Close()
	ledgerFD := ledgerFile.Int()
	defer unix.Munmap(ledger)
	f.Fuzz(func(t *testing.T, b []byte) {
		// What an owner makes of it.
		q, err := decodeRequest(b)
		if err == nil && !bytes.Equal(q.encode(), b) {
			t.Errorf("%x is read as %+v", b, q)
		}
		c := &client{owner: o, holds: map[uint32]*Region{}}
		if q.kind != kindJoin {
			c.answer(request{kind: kindJoin, entry: ledgerEntries}.encode(), ledgerFD)
		}
		a, fd := c.answer(b, ledgerFD)
		inside := q.address-r.base < r.length && q.access&verbs.AccessAtomic == 0 && (q.key == 0 || q.key == r.key)
		good := err == nil && (q.kind == kindJoin && q.entry > 0 && q.entry <= ledgerEntries ||
			q.kind == kindResolve && q.entry < ledgerEntries && inside || q.kind == kindNext && q.address <= r.base ||
			q.kind == kindKnown)
		switch {
		case err != nil && a.status != wireBadRequest:
			t.Errorf("%x (%v) is answered with %+v", b, err, a)
		case (a.status == wireOK) != good, (fd >= 0) != (good && q.kind == kindResolve):
			t.Errorf("%x is answered with %+v, descriptor %d", b, a, fd)
		case fd >= 0 && a.check(o.id, q.address, controlSlots) != nil:
			t.Errorf("own answer is refused: %v", a.check(o.id, q.address, controlSlots))
		case (fd >= 0) != (len(c.holds) == 1), (fd >= 0) != (len(r.holders) == 1):
			t.Errorf("%x: %d regions held, %d holders", b, len(c.holds), len(r.holders))
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		for e := range c.holds {
			c.let(e)
		}
		if c.ledger != nil {
			unix.Munmap(c.ledger)
		}
		// What a peer makes of it.
		m, err := decodeMessage(b)
		if err != nil {
			return
		}
		if !bytes.Equal(m.encode(), b) {
			t.Errorf("%x is read as %+v", b, m)
		}
		id, _, _ := verbs.SplitAddress(m.base)
		if m.check(id, m.base, controlSlots) == nil &&
			(m.length == 0 || m.length > 1<<verbs.OffsetBits || m.slot >= controlSlots || m.offset+m.length < m.offset) {
			t.Errorf("%+v passes", m)
		}
	})
}

// The other side's version is told, whichever side is the newer one.
func TestVersionMismatch(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	for _, change := range []byte{1, 0xff} {
		old := request{kind: kindNext, address: r.Address()}.encode()
		old[4] += change
		_, err := decodeRequest(old)
		wantErr(t, err, verbs.ErrProtocol)
		if !strings.Contains(err.Error(), "speaks version") {
			t.Error(err)
		}
		greeting := message{kind: kindHello, slot: 512}.encode()
		greeting[4] += change
		_, err = decodeMessage(greeting)
		wantErr(t, err, verbs.StatusBadRespErr)
		if !strings.Contains(err.Error(), "speaks version") {
			t.Error(err)
		}
	}
	// An owner answers what it doesn't understand in its own version, and hangs up; the peer survives that.
	p := newPeer(t)
	if err := p.read(r.Address(), make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	for c := range o.clients {
		c.conn.Close()
	}
	o.mu.Unlock()
	eventually(t, "a new connection", func() bool { return p.read(r.Address(), make([]byte, 8)) == nil })
}
