package verbs

import "testing"

func TestAddressLayout(t *testing.T) {
	for _, id := range []uint32{0, 1, 0x3fff, 0x4000, 1<<IDBits - 1} {
		for _, off := range []uint64{0, 4096, 12345, OffsetMask} {
			a := MakeAddress(id, off)
			if a>>63 != 0 || a>>62&1 != 1 || a>>55&1 != 1 {
				t.Errorf("address %#x has the wrong fixed bits", a)
			}
			gotID, gotOff, ok := SplitAddress(a)
			if !ok || gotID != id || gotOff != off {
				t.Errorf("%#x splits into %#x, %#x, %v", a, gotID, gotOff, ok)
			}
		}
	}
	if _, _, ok := SplitAddress(0x7fff12345678); ok {
		t.Error("a CPU address passes for a remote one")
	}
}

func TestAccessString(t *testing.T) {
	for a, want := range map[Access]string{0: "none", AccessAll: "read,write,atomic", AccessWrite: "write",
		1<<4 | AccessRead: "read,0x10"} {
		if a.String() != want {
			t.Errorf("%d prints as %q", uint32(a), a.String())
		}
	}
}
