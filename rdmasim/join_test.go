package rdmasim

import (
	"errors"
	"testing"
)

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

// Peers that are killed leave nothing at the owner.
func TestPeerKilled(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	before := countFDs()
	for range 4 {
		c := start(t, "peer", nil)
		if s := c.say("read %d 4096", r.Address()); s != "ok" {
			t.Fatal(s)
		}
		c.kill()
		c.in.Close()
	}
	eventually(t, "descriptors closed", func() bool { return countFDs() <= before })
}
