package rdmasim

import (
	"context"
	"os"
	"strings"
	"testing"
)

func TestAccessFor(t *testing.T) {
	for _, c := range []struct {
		variable string // "-" for unset
		name     string
		want     Access
	}{
		{"-", "", AccessAll},
		{"-", "weights", AccessAll},
		{"-", "weights [ro]", AccessRead},
		{"-", "weights[rw] ", AccessRead | AccessWrite},
		{"-", "mailbox [write, atomic]", AccessWrite | AccessAtomic},
		{"-", "layer[3]", AccessAll},
		{"-", "ro]", AccessAll},
		{"-", "[]", AccessAll},
		{"read,atomic", "", AccessRead | AccessAtomic},
		{"read,atomic", "x [rw]", AccessRead},
		{"read", "x [write]", 0},
		{"reed", "", 0},
		{"", "", AccessAll}, // empty is unset
	} {
		t.Setenv(AccessVariable, c.variable)
		if c.variable == "-" {
			os.Unsetenv(AccessVariable)
		}
		got, err := AccessFor(c.name)
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%q and %q give %v, %v; want %v", c.variable, c.name, got, err, c.want)
		}
	}
	for a := Access(1); a <= AccessAll; a++ {
		if b, err := ParseAccess(a.String()); b != a || err != nil {
			t.Errorf("%v is read as %v, %v", a, b, err)
		}
	}
}

func TestRegionInfo(t *testing.T) {
	ctx := context.Background()
	o, p := newOwner(t), newPeer(t)
	uuid := [16]byte{1, 2, 15: 3}
	long := strings.Repeat("ä", 70) + "\xff"
	r, err := o.Register(payload(t, 4096), 0, 4096, Attributes{Access: AccessRead, Name: long, DeviceUUID: uuid})
	if err != nil {
		t.Fatal(err)
	}
	rr, err := p.Resolve(ctx, r.Address()+17)
	if err != nil {
		t.Fatal(err)
	}
	want := RegionInfo{
		Address: r.Address(), Length: 4096, Key: r.Key(), Access: AccessRead,
		PID: os.Getpid(), UID: uint32(os.Geteuid()), DeviceUUID: uuid, Name: strings.Repeat("ä", 64),
	}
	if rr.Info() != want {
		t.Errorf("got %+v, want %+v", rr.Info(), want)
	}
	if r.Key() == 0 || register(t, o, payload(t, 4096), 0, 4096, AccessRead).Key() == r.Key() {
		t.Error("keys are not random")
	}
}

// A wrong key is refused by the owner, before it hands anything out, and by a peer that has the region.
func TestWrongKey(t *testing.T) {
	ctx := context.Background()
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	for range 2 {
		p := newPeer(t)
		_, err := p.ResolveKey(ctx, r.Address(), r.Key()^1<<40)
		wantErr(t, err, ErrKey)
		if StatusOf(err) != StatusRemAccessErr {
			t.Errorf("status %v", StatusOf(err))
		}
		if _, err := p.ResolveKey(ctx, r.Address(), r.Key()); err != nil {
			t.Fatal(err)
		}
		_, err = p.ResolveKey(ctx, r.Address(), r.Key()+1)
		wantErr(t, err, ErrKey)
	}
}
