package rdmasim

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

func FuzzWire(f *testing.F) {
	f.Add(request{tag: 7, access: AccessRead, address: makeAddress(5, 4096)}.encode())
	f.Add(message{kind: kindReply, base: makeAddress(5, 4096), length: 64, slot: 3, access: AccessAll, generation: 1}.encode())
	o := newOwner(f)
	r := register(f, o, payload(f, 8192), 5, 4096, AccessRead|AccessWrite)
	f.Add(request{address: r.Address() + 9}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		// What an owner makes of it.
		q, err := decodeRequest(b)
		if err == nil && !bytes.Equal(q.encode(), b) {
			t.Errorf("%x is read as %+v", b, q)
		}
		a, fd := o.answer(b)
		if fd >= 0 {
			unix.Close(fd)
		}
		inside := q.address-r.base < r.length && q.access&AccessAtomic == 0
		switch {
		case (a.status == wireBadRequest) != (err != nil):
			t.Errorf("%x (%v) is answered with %+v", b, err, a)
		case (a.status == wireOK) != (err == nil && inside), (a.status == wireOK) != (fd >= 0):
			t.Errorf("%x is answered with %+v, descriptor %d", b, a, fd)
		case a.status == wireOK && a.check(o.id, q.address, controlSlots) != nil:
			t.Errorf("own answer is refused: %v", a.check(o.id, q.address, controlSlots))
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
	for a, want := range map[Access]string{0: "none", AccessAll: "read|write|atomic", AccessWrite: "write", 1<<4 | AccessRead: "read|0x10"} {
		if a.String() != want {
			t.Errorf("%d prints as %q", uint32(a), a.String())
		}
	}
}
