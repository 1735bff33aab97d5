package remote

import "testing"

// What a bridge calls itself can be opened, also where the address has a zone.
func TestNames(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:7471":      "tls://192.0.2.7:7471/",
		"[2001:db8::1]:7471":  "tls://[2001:db8::1]:7471/",
		"[fe80::1%eth0]:7471": "tls://[fe80::1%25eth0]:7471/",
	} {
		name := nameOf(address)
		if name != want {
			t.Errorf("the name of %s is %s, want %s", address, name, want)
		}
		if got, err := hostOf(name); got != address || err != nil {
			t.Errorf("%s is at %q (%v), want %s", name, got, err, address)
		}
	}
}
