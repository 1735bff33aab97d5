package verbs

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var rdmaCore = flag.String("pyverbs", "", "rdma-core's tests/; none: those of the package python3-pyverbs")

// packagedTests is where Debian's python3-pyverbs has rdma-core's tests, some of them compressed.
const packagedTests = "/usr/share/doc/rdma-core/tests"

// testsOfPackage unpacks them.
func testsOfPackage(t *testing.T) string {
	t.Helper()
	need(t, "python3-pyverbs", packagedTests+"/__init__.py")
	files, err := filepath.Glob(packagedTests + "/*")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, from := range files {
		b, err := os.ReadFile(from)
		if err == nil && strings.HasSuffix(from, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(z)
			}
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(from), ".gz")), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listed are the patterns of tests in the two tables of docs/pyverbs.md: those that Farside can't run, and those that
// some machines can't.
func listed(t *testing.T) (never, maybe []string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/pyverbs.md")
	if err != nil {
		t.Fatal(err)
	}
	missing, machine, ok := strings.Cut(string(b), "## What the machine may lack")
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	for _, m := range row.FindAllStringSubmatch(missing, -1) {
		never = append(never, m[1])
	}
	for _, m := range row.FindAllStringSubmatch(machine, -1) {
		maybe = append(maybe, m[1])
	}
	if !ok || len(never) == 0 || len(maybe) == 0 {
		t.Fatalf("docs/pyverbs.md lists %q and %q", never, maybe)
	}
	return never, maybe
}

// matching is the patterns that a test matches.
func matching(patterns []string, test string) (list []string) {
	for _, p := range patterns {
		if ok, _ := path.Match(p, test); ok {
			list = append(list, p)
		}
	}
	return list
}

// outcome is what became of a test.
type outcome struct{ result, test, reason string }

// runTests runs tests of one part, all of them without names.
func runTests(t *testing.T, dir, part string, names ...string) (list []outcome, said string) {
	t.Helper()
	args := append([]string{"-B", "testdata/rdma_core_tests.py", dir, part}, names...)
	cmd := command(t, "/usr/bin/python3", args...)
	cmd.Env = append(cmd.Env, "FARSIDE_LOG=error")
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed || cmd.ProcessState.ExitCode() > 1 {
		t.Fatalf("%s: %v\n%s", part, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSpace(line)+"\t\t", "\t"); strings.HasPrefix(f[1], "tests.") {
			list = append(list, outcome{f[0], strings.TrimPrefix(f[1], "tests."), f[2]})
		}
	}
	return list, string(out)
}

// TestPyverbs runs rdma-core's tests, all of which pass but those that docs/pyverbs.md lists with a reason. Each row of
// its first table is of tests that don't run here. The tests have deadlines of their own, seconds, which a busy machine
// may miss: one that fails gets a second try, alone.
func TestPyverbs(t *testing.T) {
	need(t, "python3-pyverbs", "/usr/lib/python3/dist-packages/pyverbs/__init__.py")
	dir := *rdmaCore
	if dir == "" {
		dir = testsOfPackage(t)
	}
	never, maybe := listed(t)
	unused := map[string]bool{}
	for _, p := range never {
		unused[p] = true
	}
	passed := 0
	for _, part := range []string{"connections", "others"} {
		list, said := runTests(t, dir, part)
		if len(list) == 0 {
			t.Errorf("%s: no test has run: %s", part, said)
		}
		for _, o := range list {
			if o.result == "failed" {
				again, why := runTests(t, dir, part, "tests."+o.test)
				if len(again) != 1 || again[0].result == "failed" {
					t.Errorf("%s: %s\n%s\nand again:\n%s", o.test, o.reason, said, why)
					continue
				}
				t.Logf("%s failed once: %s\n%s", o.test, o.reason, said)
				o = again[0]
			}
			known := matching(never, o.test)
			for _, p := range known {
				delete(unused, p)
			}
			switch {
			case o.result == "ok" && len(known) > 0:
				t.Errorf("%s passes, and docs/pyverbs.md says that it can't: %q", o.test, known)
			case o.result == "ok":
				passed++
			case len(known) == 0 && len(matching(maybe, o.test)) == 0:
				t.Errorf("%s: %s, %s", o.test, o.result, o.reason)
			}
		}
	}
	if passed < 90 && *rdmaCore == "" {
		t.Errorf("only %d tests have passed", passed)
	}
	for p := range unused {
		t.Errorf("docs/pyverbs.md lists %s, and there is no such test", p)
	}
}
