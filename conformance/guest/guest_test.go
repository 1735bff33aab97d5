package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"farside/conformance/internal/soaking"
)

// TestVerdicts is about what makes a step fail. A skip does: a test that skips here runs nowhere.
func TestVerdicts(t *testing.T) {
	tests := step{Name: "tests", Tests: "export"}
	for _, c := range []struct {
		name  string
		step  step
		lines string
		exit  int
		why   string
	}{
		{"passed", tests, "=== RUN   TestA\n--- PASS: TestA (0.01s)\nPASS", 0, ""},
		{"a part skipped", tests, "--- PASS: TestA (0.01s)\n    --- SKIP: TestA/b (0.00s)", 0,
			"skipped, in the place where nothing may: TestA/b"},
		{"failed", tests, "--- FAIL: TestA (0.01s)\nFAIL", 1, "exit status 1 TestA"},
		{"crashed", tests, "--- PASS: TestA (0.01s)\npanic: no", 2, "exit status 2"},
		{"none", tests, "PASS", 0, "ran no test"},
		{"a script", step{Name: "script"}, "4: ACTIVE", 0, ""},
		{"a script that failed", step{Name: "script"}, "", 1, "exit status 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReport([]step{c.step}, t.TempDir(), soaking.NewProgress(io.Discard, false, time.Minute))
			r.add(event{Kind: eventReady})
			if why := r.steps[0].why(); why != "did not end" {
				t.Errorf("before its end: %q", why)
			}
			for line := range strings.Lines(c.lines) {
				r.add(event{Kind: eventLine, Step: c.step.Name, Text: strings.TrimSuffix(line, "\n")})
			}
			r.add(event{Kind: eventDone, Step: c.step.Name, Exit: c.exit})
			if why := r.steps[0].why(); why != c.why {
				t.Errorf("%q, want %q", why, c.why)
			}
			if err := r.judge(); (err == nil) != (c.why == "") {
				t.Errorf("judged as %v", err)
			}
			log, err := os.ReadFile(r.out + "/" + c.step.Name + ".log")
			if err != nil || strings.TrimSpace(string(log)) != c.lines {
				t.Errorf("the log has %q, %v", log, err)
			}
		})
	}
}

func TestEventsAmongNoise(t *testing.T) {
	in := "SeaBIOS (version 1.16)\r\n{\"Kind\":\"ready\"}\n[ 1.0] kernel\n{}\n" +
		"{\"Kind\":\"done\",\"Step\":\"a\",\"Exit\":3}\n"
	var got []event
	if err := events(strings.NewReader(in), func(e event) { got = append(got, e) }); err != nil {
		t.Fatal(err)
	}
	if want := []event{{Kind: eventReady}, {Kind: eventDone, Step: "a", Exit: 3}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestArchive reads an archive back as buffer-format.rst describes it.
func TestArchive(t *testing.T) {
	var b bytes.Buffer
	a := archive{w: &b}
	want := map[string]string{"init": "program", "modules": "", "modules/0.ko": "12345678", "TRAILER!!!": ""}
	for _, name := range []string{"init", "modules", "modules/0.ko", "TRAILER!!!"} {
		a.add(name, executable, []byte(want[name]))
	}
	if a.err != nil {
		t.Fatal(a.err)
	}
	rest := b.Bytes()
	aligned := func(n int) int { return (n + 3) &^ 3 }
	for len(rest) > 0 {
		field := func(i int) int {
			n, err := strconv.ParseUint(string(rest[6+8*i:][:8]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		if magic := string(rest[:6]); magic != "070701" {
			t.Fatalf("magic %q", magic)
		}
		size, length := field(6), field(11)
		name := string(rest[110:][:length-1])
		if rest[110+length-1] != 0 {
			t.Errorf("the name %q does not end with NUL", name)
		}
		start := aligned(110 + length)
		content, found := want[name]
		if got := string(rest[start:][:size]); !found || got != content {
			t.Errorf("%q holds %q", name, got)
		}
		delete(want, name)
		rest = rest[aligned(start+size):]
	}
	if len(want) > 0 {
		t.Errorf("%v are missing", want)
	}
}

func TestChosenSteps(t *testing.T) {
	if steps, err := chosen(plan, nil); err != nil || len(steps) != len(plan) {
		t.Errorf("%d steps, %v", len(steps), err)
	}
	steps, err := chosen(plan, []string{"export", "devices"})
	if err != nil || len(steps) != 2 || steps[1].Name != "devices" {
		t.Errorf("%v, %v", steps, err)
	}
	if _, err := chosen(plan, []string{"nothing"}); err == nil {
		t.Error("a step that does not exist was chosen")
	}
}

// What a download has left that was killed a day ago goes. One that may be under way, and the kernel, stay.
func TestAbandonedDownloads(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	dir := filepath.Join(cache, "farside", "guest")
	list := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(strings.Join(modules, " "))))
	for _, name := range []string{"download-1", "download-2", "linux-image-1-" + list} {
		if err := os.MkdirAll(filepath.Join(dir, name, "lists"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * downloadTime)
	for _, name := range []string{"download-1", "linux-image-1-" + list} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	k, err := findKernel(t.Context())
	if err != nil || string(k) != filepath.Join(dir, "linux-image-1-"+list) {
		t.Errorf("%s, %v", k, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "download-2" {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A guest that dies is booted once more; one that dies twice is a failure, which says what its kernel said.
func TestDeadGuest(t *testing.T) {
	const dies = `echo '{"Kind":"ready"}'; echo "Kernel panic" > "$OUT/console.log"; exit 0`
	const lives = `echo '{"Kind":"ready"}'; echo '{"Kind":"done","Step":"a"}'; echo '{"Kind":"finish"}'`
	for _, c := range []struct {
		name, second string
		died         bool
	}{{"once", lives, false}, {"twice", dies, true}} {
		t.Run(c.name, func(t *testing.T) {
			bin, out := t.TempDir(), t.TempDir()
			script := "#!/bin/sh\nif mkdir \"$OUT/first\"; then\n" + dies + "\nelse\n" + c.second + "\nfi\n"
			if err := os.WriteFile(filepath.Join(bin, "qemu-system-x86_64"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			t.Setenv("OUT", out)
			m := machine{accelerator: "tcg", limit: time.Minute}
			err := m.bootUntilJudged(t.Context(), "kernel", out, []step{{Name: "a"}})
			if errors.Is(err, errDied) != c.died || (err == nil) == c.died {
				t.Errorf("%v", err)
			}
			if said := consoleEnd(out); !strings.Contains(said, "Kernel panic") {
				t.Errorf("the console's end is %q", said)
			}
		})
	}
}
