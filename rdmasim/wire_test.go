package rdmasim

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

func FuzzWire(f *testing.F) {
	f.Add(request{kind: kindResolve, tag: 7, access: AccessRead, address: makeAddress(5, 4096)}.encode())
	f.Add(message{kind: kindReply, base: makeAddress(5, 4096), length: 64, slot: 3, access: AccessAll, generation: 1}.encode())
	o := newOwner(f)
	r := register(f, o, payload(f, 8192), 5, 4096, AccessRead|AccessWrite)
	f.Add(request{kind: kindResolve, address: r.Address() + 9}.encode())
	f.Add(request{kind: kindJoin, entry: ledgerEntries}.encode())
	f.Add(request{kind: kindNext, address: r.Address() - 1}.encode())
	f.Add(request{kind: kindResolve, address: r.Address(), key: r.Key(), entry: 7}.encode())
	f.Add(message{kind: kindReply, base: r.Address(), length: 1, slot: 1, generation: 1, key: 9, counters: Counters{1, 2, 3, 4, 5}, peers: 2, name: "näme"}.encode())
	ledgerFD, ledger, err := makeShared("ledger", ledgerSize)
	if err != nil {
		f.Fatal(err)
	}
	defer unix.Close(ledgerFD)
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
		inside := q.address-r.base < r.length && q.access&AccessAtomic == 0 && (q.key == 0 || q.key == r.key)
		good := err == nil && (q.kind == kindJoin && q.entry > 0 && q.entry <= ledgerEntries ||
			q.kind == kindResolve && q.entry < ledgerEntries && inside || q.kind == kindNext && q.address <= r.base)
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
		id, _, _ := splitAddress(m.base)
		if m.check(id, m.base, controlSlots) == nil && (m.length == 0 || m.length > 1<<offsetBits || m.slot >= controlSlots || m.offset+m.length < m.offset) {
			t.Errorf("%+v passes", m)
		}
	})
}

func TestAccessString(t *testing.T) {
	for a, want := range map[Access]string{0: "none", AccessAll: "read,write,atomic", AccessWrite: "write", 1<<4 | AccessRead: "read,0x10"} {
		if a.String() != want {
			t.Errorf("%d prints as %q", uint32(a), a.String())
		}
	}
}
