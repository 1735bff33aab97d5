package main

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"dEQP-VK.a.*", "dEQP-VK.a.b.c", true},
		{"dEQP-VK.a.*", "dEQP-VK.a.", true},
		{"dEQP-VK.a.*", "dEQP-VK.ab.c", false},
		{"dEQP-VK.a.b", "dEQP-VK.a.b", true},
		{"dEQP-VK.a.b", "dEQP-VK.a.bc", false},
		{"*", "anything", true},
		{"*.x_*_y", "a.b.x_1_2_y", true},
		{"*.x_*_y", "a.b.x_y", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"ab*ba", "aba", false},
		{"a**c", "ac", true},
	} {
		if got := match(c.pattern, c.name); got != c.want {
			t.Errorf("match(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

// FuzzReadLog: whatever deqp-vk or a stray writer puts into the log, reading ends, and no case ends twice.
func FuzzReadLog(f *testing.F) {
	// Longer than the reader's buffer: the end of the line is no line of its own.
	f.Add("#beginTestCaseResult a.b\n" + strings.Repeat("x", 64<<10) + "#endTestCaseResult\n")
	f.Fuzz(func(t *testing.T, log string) {
		events := make(chan event)
		go func() {
			defer close(events)
			readLog(strings.NewReader(log), events)
		}()
		open := ""
		for e := range events {
			switch {
			case e.begun != "" && e.ended == nil && open == "":
				open = e.begun
			case e.begun == "" && e.ended != nil && open == e.ended.name:
				open = ""
				if e.ended.status >= statusCount || strings.Contains(e.ended.detail, "\n") {
					t.Errorf("%+v", *e.ended)
				}
			default:
				t.Fatalf("event %+v while %q is open", e, open)
			}
		}
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	var long tail
	for range 100 {
		long.Write([]byte(strings.Repeat("x", 10<<10)))
	}
	long.Write([]byte("the end"))
	got := long.String()
	if len(got) < tailSize || len(got) > 2*tailSize || !strings.HasSuffix(got, "xthe end") {
		t.Errorf("%d bytes, which end in %q", len(got), got[len(got)-10:])
	}
}
