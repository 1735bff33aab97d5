package local

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/socket"
	"farside/rdmasim/internal/verbs"
)

// TestHostileOperations: what a peer says of operations on a strict region reaches nothing beyond the region, and what
// makes no sense is refused. The owner goes on.
func TestHostileOperations(t *testing.T) {
	o, good := newOwner(t), newPeer(t)
	finding.Begin(&config.Settings{Strict: config.StrictRDMA})
	defer finding.Begin(&config.Settings{})
	r := register(t, o, payload(t, 8192), 0, 8192, verbs.AccessRead|verbs.AccessWrite)
	bytes := func(n int) int { return sealed(t, make([]byte, n)) }
	announce := request{kind: kindAnnounce, address: r.Address(), key: r.Key(), opcode: verbs.OpWrite, flow: 1, number: 1,
		length: 64}
	perform := announce
	perform.kind = kindPerform
	with := func(q request, change func(*request)) request {
		change(&q)
		return q
	}
	for name, c := range map[string]struct {
		before []request
		ask    request
		file   int // -1: none
		want   wireStatus
	}{
		"an announcement":  {nil, announce, -1, wireOK},
		"past the end":     {nil, with(announce, func(q *request) { q.length = 8193 }), -1, wireAccess},
		"all of the space": {nil, with(announce, func(q *request) { q.length = ^uint64(0) }), -1, wireAccess},
		"no region":        {nil, with(announce, func(q *request) { q.address += 1 << 20 }), -1, wireUnknown},
		"another key":      {nil, with(announce, func(q *request) { q.key++ }), -1, wireBadRequest},
		"no opcode":        {nil, with(announce, func(q *request) { q.opcode = 0 }), -1, wireBadRequest},
		"opcode 99":        {nil, with(announce, func(q *request) { q.opcode = 99 }), -1, wireBadRequest},
		"a missing right":  {nil, with(announce, func(q *request) { q.opcode = verbs.OpFetchAdd }), -1, wireAccess},
		"no bytes":         {[]request{announce}, perform, -1, wireBadRequest},
		"fewer bytes":      {[]request{announce}, perform, bytes(63), wireBadRequest},
		"the bytes":        {[]request{announce}, perform, bytes(64), wireOK},
		"too many": {[]request{announce},
			with(perform, func(q *request) { q.length = 1 << 40 }), bytes(64), wireBadRequest},
		"beside what was said": {[]request{announce},
			with(perform, func(q *request) { q.address++ }), bytes(64), wireAccess},
		"another opcode": {[]request{announce},
			with(perform, func(q *request) { q.opcode = verbs.OpRead }), -1, wireAccess},
		"past the end, bytes": {nil, with(perform, func(q *request) { q.address += 8190 }), bytes(64), wireAccess},
		"known by nobody":     {nil, with(announce, func(q *request) { q.kind, q.flow = kindKnown, 99 }), -1, wireOK},
	} {
		conn, err := socket.DialPacket(context.Background(), socketName(o.id))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		hello, err := receive(conn)
		if err != nil {
			t.Fatal(err)
		}
		hello.drop()
		join := request{kind: kindJoin, entry: 1}.encode()
		if _, err := conn.WriteMsg(join, unix.UnixRights(bytes(entrySize))); err != nil {
			t.Fatal(err)
		}
		for _, q := range c.before {
			if _, err := conn.Write(q.encode()); err != nil {
				t.Fatal(err)
			}
			if a, err := receive(conn); err != nil || a.status != wireOK {
				t.Fatalf("%s: %+v, %v", name, a, err)
			}
		}
		var rights []byte
		if c.file >= 0 {
			rights = unix.UnixRights(c.file)
		}
		if _, err := conn.WriteMsg(c.ask.encode(), rights); err != nil {
			t.Fatal(err)
		}
		if a, err := receive(conn); err != nil || a.status != c.want {
			t.Errorf("%s: %+v, %v, want status %d", name, a.message, err, c.want)
		}
		conn.Close()
	}
	got := make([]byte, 8)
	if err := good.read(r.Address()+64, got); err != nil || got[1] != pattern(65) {
		t.Errorf("after all that: % x, %v", got, err)
	}
}

// TestStrictReadOnly: a strict region without the right to write holds nothing, and is read as any other.
func TestStrictReadOnly(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	finding.Begin(&config.Settings{Strict: config.StrictRDMA})
	defer finding.Begin(&config.Settings{})
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessRead)
	got := make([]byte, 4096)
	if err := p.read(r.Address(), got); err != nil || got[99] != pattern(99) {
		t.Errorf("%v, % x", err, got[:100])
	}
	s, ok := mustFind(t, p, r.Address()).View.(verbs.StrictView)
	if !ok {
		t.Fatal("the region is not strict")
	}
	wantErr(t, s.Write(0, got), verbs.ErrAccess)
}

func mustFind(t *testing.T, p *peer, address uint64) *verbs.Region {
	t.Helper()
	r, err := p.find(address)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
