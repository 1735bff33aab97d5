package finding

import (
	"os"
	"strings"
	"testing"

	"farside/internal/config"
	"farside/internal/journal"
)

type sink []journal.Event

func (s *sink) Write(e *journal.Event) { *s = append(*s, *e) }

// TestTell: each finding is counted, and told a few times for each object and place.
func TestTell(t *testing.T) {
	var got sink
	journal.Attach(&got)
	defer journal.Detach(&got)
	t.Setenv("FARSIDE_LOG", "off")
	before := Count()
	about := func(object, place uint64) *Finding {
		return &Finding{ID: MissingFlush, Text: "text", Place: place, Stack: []string{"main at main.c:3"},
			Objects: []journal.Object{{Type: "VkBuffer", Handle: object, Name: "n"}, {Type: "VkQueue", Handle: 9}}}
	}
	told := 0
	for range most + 2 {
		if Tell(about(1, 0)) {
			told++
		}
	}
	if told != most || !Tell(about(2, 0)) || !Tell(about(1, 8)) {
		t.Errorf("one finding was told %d times, or hides others", told)
	}
	if n := Count() - before; n != most+4 {
		t.Errorf("counted %d findings, want %d", n, most+4)
	}
	if len(got) != most+2 || got[0].Kind != journal.Finding || got[0].ID != string(MissingFlush) ||
		got[0].Text != "text" || got[0].Object.Handle != 1 || len(got[0].Stack) != 1 {
		t.Errorf("the journal has %+v", got)
	}
	const want = "farside: error: FARSIDE-noncoherent-missing-flush: text [VkBuffer 0x1 \"n\", VkQueue 0x9]\n" +
		"    main at main.c:3\n"
	if s := line(about(1, 0)); s != want {
		t.Errorf("the line is %q, want %q", s, want)
	}
}

// TestBroken: errors that break rules count where strictness is on.
func TestBroken(t *testing.T) {
	defer Begin(&config.Settings{})
	before := Count()
	Begin(&config.Settings{})
	Broken()
	Begin(&config.Settings{Strict: config.StrictPoison})
	Broken()
	if n := Count() - before; n != 1 || !On(config.StrictPoison) || On(config.StrictGuard) {
		t.Errorf("%d errors counted, want the one with strictness on", n)
	}
}

// TestTable: the page has the table, and each row says all.
func TestTable(t *testing.T) {
	seen := map[ID]bool{}
	for _, r := range Table {
		if seen[r.ID] || !strings.HasPrefix(string(r.ID), "FARSIDE-") || !strings.HasSuffix(r.What, ".") ||
			!strings.HasSuffix(r.Cure, ".") {
			t.Errorf("row %+v", r)
		}
		seen[r.ID] = true
	}
	page, err := os.ReadFile("../../docs/strict.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), Markdown()) {
		t.Error("docs/strict.md has another table; make docs prints it")
	}
}
