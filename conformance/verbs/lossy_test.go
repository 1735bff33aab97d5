package verbs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLossBetweenHosts runs programs between two hosts that lose, repeat and reorder packets on command: all work
// ends well, rping finds all data as it was, and the reports name what was done to packets, and what was missing.
func TestLossBetweenHosts(t *testing.T) {
	need(t, "rdmacm-utils", "rping")
	need(t, "perftest", "ib_write_bw")
	h := newHosts(t)
	// -u 17 is a timeout of half a second, of which there are eight before a queue pair fails.
	for _, c := range []struct{ server, client, want string }{
		{"ib_write_bw -F -n 20 -u 17", "", `(?m)^ 65536 +20`},
		{"ib_write_bw -F -n 20 -u 17 -c XRC", "", `(?m)^ 65536 +20`},
		{"ib_read_bw -F -n 20 -u 17", "", `(?m)^ 65536 +20`},
		{"ib_send_bw -F -n 20 -u 17 -c XRC", "", `(?m)^ 65536 +20`},
		{"rping -a 10.9.0.2 -C 5 -S 20000 -vV -s", "rping -a 10.9.0.2 -C 5 -S 20000 -vV -c",
			`(?m)^ping data: rdma-ping-4: `},
	} {
		if c.client == "" {
			c.client = c.server + " 10.9.0.2"
		}
		for _, harm := range []string{"drop", "duplicate", "reorder"} {
			t.Run(c.server+"/"+harm, func(t *testing.T) {
				dir := t.TempDir()
				t.Setenv("FARSIDE_REPORT", dir)
				var plan []string
				for _, which := range []string{"7", "20..22", "100"} { // of each process
					plan = append(plan, "rdma.packet="+harm+"@"+which)
				}
				t.Setenv("FARSIDE_FAULTS", strings.Join(plan, "; "))
				said := h.run(t, c.server, c.client)
				if !regexp.MustCompile(c.want).MatchString(said) {
					t.Errorf("it didn't say %q: %s", c.want, said)
				}
				events := journals(t, dir)
				want := []string{`"kind":"fault".*"command":"rdma.packet".*` + harm}
				if harm == "drop" {
					want = append(want, `"kind":"packet"`) // that something was missing
				}
				for _, w := range want {
					if !regexp.MustCompile(w).Match(events) {
						t.Errorf("the reports don't have %s:\n%s", w, events)
					}
				}
			})
		}
	}
}

// journals are the events of all processes that wrote reports to a directory.
func journals(t *testing.T, dir string) (all []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journal: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}
