package emit

import (
	"strings"
	"testing"
)

// named begins a constant. It is written apart, since icdgen looks through this file, too.
const named = "vk." + "VUID_"

func TestVUIDs(t *testing.T) {
	const list = "# a comment\nVUID-A-b-00001\nVUID-A-c-parameter\nVUID-D::e-00002\nVUID-D-:e-00002\n"
	for _, c := range []struct{ src, want, fails string }{
		{"x := " + named + "A_b_00001 // " + named + "A_b_00001",
			`NoVUID VUID = iota // no rule applies VUID_A_b_00001 ) const vuidText = "VUID-A-b-00001" + ""`, ""},
		{"", `const vuidText = ""`, ""},
		{named + "A_b_00003", "", named + "A_b_00003: the specification has no such"},
		{named + "D__e_00002", "", "stands for both VUID-D::e-00002 and VUID-D-:e-00002"},
	} {
		used := map[string]bool{}
		VUIDsIn([]byte(c.src), used)
		l, err := ReadVUIDs(strings.NewReader(list))
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.Constants(used)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: %v, want %q", c.src, err, c.fails)
			}
			continue
		}
		if err != nil || !strings.Contains(squeeze(string(f.Data)), c.want) || strings.Contains(string(f.Data), "_c_") {
			t.Errorf("%q: %v\n%s", c.src, err, f.Data)
		}
	}
}
