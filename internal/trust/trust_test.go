package trust

import "testing"

// Review 12: whoever has no id in this user namespace looked like us to a process of user 65534.
func TestOverflowUserIsNobody(t *testing.T) {
	for text, want := range map[string]bool{
		"         0          0 4294967295\n":  true,
		"0 0 65534\n65534 65534 4294901761\n": true,
		"         0       1000          1\n":  false,
		"0 100000 65536\n":                    false,
		"":                                    false,
		"nonsense":                            false,
	} {
		if got := mapsAll(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	before := seesAllUsers
	defer func() { seesAllUsers = before }()
	for _, all := range []bool{false, true} {
		seesAllUsers = func() bool { return all }
		if got := (Users{overflowUID, 7}).Allows(overflowUID); got != all {
			t.Errorf("a namespace of all users %v: 65534 is trusted %v", all, got)
		}
		if !(Users{overflowUID, 7}).Allows(7) || (Users{7}).Allows(overflowUID) {
			t.Error("other users do not matter")
		}
	}
}
