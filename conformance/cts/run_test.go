package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run runs the suite as `make cts` would and returns what is printed, and the error.
func (s *suite) run(arguments ...string) (output string, err error) {
	s.t.Helper()
	var printed bytes.Buffer
	cmd := command()
	cmd.SetOut(&printed)
	cmd.SetArgs(append([]string{"--deqp-vk", s.path("deqp-vk"), "--lists", s.path("lists"), "--out", s.path("out"),
		"--timeout", "30s"}, arguments...))
	err = cmd.ExecuteContext(s.t.Context())
	return printed.String(), err
}

// statuses reads results.txt.
func (s *suite) statuses() map[string]string {
	got := map[string]string{}
	for line := range strings.Lines(s.read("out/results.txt")) {
		status, rest, _ := strings.Cut(line, "\t")
		name, _, _ := strings.Cut(rest, "\t")
		got[strings.TrimPrefix(name, "dEQP-VK.a.")] = status
	}
	return got
}

func wantLines(t *testing.T, output string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(output, w) {
			t.Errorf("%q is missing in\n%s", w, output)
		}
	}
}

// With --graphics the groups and exceptions of lists/graphics count as well, on a driver with graphics, and else those
// of lists/compute. The stand-in runs nothing if the option of deqp-vk and the variable of the driver don't agree.
func TestGraphics(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass", "c.fail", "g.pass", "g.fail")
	s.write("lists/compute/cases.txt", "dEQP-VK.c.*\n")
	s.write("lists/compute/expected-failures.txt", "dEQP-VK.c.fail # a feature of graphics\n")
	s.write("lists/graphics/cases.txt", "dEQP-VK.g.*\n")
	s.write("lists/graphics/expected-failures.txt", "dEQP-VK.g.fail # a pixel\n")
	output, err := s.run()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	wantLines(t, output, "cts: ok: 2 cases in ", ": 1 passed, 1 failed as expected\n")
	output, err = s.run("--graphics")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	wantLines(t, output, "cts: ok: 3 cases in ", ": 2 passed, 1 failed as expected\n")
}

func TestEveryCaseRunsOnce(t *testing.T) {
	t.Parallel()
	var cases []string
	for i := range 1200 {
		cases = append(cases, fmt.Sprintf("a.pass_%d", i))
	}
	s := newSuite(t, append(cases, "b.pass")...)
	output, err := s.run("--shards", "3")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	ran := s.ran()
	if len(ran) != len(cases) {
		t.Errorf("%d cases ran, want %d", len(ran), len(cases))
	}
	for name, times := range ran {
		if times != 1 || !strings.HasPrefix(name, "dEQP-VK.a.") {
			t.Errorf("%s ran %d times", name, times)
		}
	}
	wantLines(t, output, "cts: ok: 1200 cases in ", ": 1200 passed\n")
}

// TestSample takes one case in so many, over groups and patterns alike, and asks nothing of exceptions outside of it.
func TestSample(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_0", "a.fail_1", "a.fail_2", "a.pass_3", "a.fail_4")
	s.write("lists/expected-failures.txt", "dEQP-VK.a.fail_1 # it isn't in the sample\n")
	output, err := s.run("--every", "3")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	want := map[string]string{"pass_0": "pass", "pass_3": "pass"}
	if diff := cmp.Diff(want, s.statuses()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if _, err := s.run("--every", "0"); err == nil {
		t.Error("--every 0 is accepted")
	}
}

// TestResumes checks each way in which a process ends before its cases do: only the culprit suffers.
func TestResumes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb, status, detail string
	}{
		{"crash", "crash", "signal: segmentation fault"},
		{"crashafter", "crash", "after its end (pass): signal: segmentation fault"},
		{"hang", "timeout", "nothing happened for 10s"},
		{"quit", "crash", "deqp-vk ended by itself"},
		{"fatal", "crash", "exit status 255: out of luck"},
		{"terminate", "timeout", "deqp-vk ended the case by itself: Timeout"},
		{"truncated", "crash", "its log has no end"},
		{"noresult", "crash", "its log has no result"},
		{"lost", "fail", "DeviceLost: VK_ERROR_DEVICE_LOST"},
		{"garbage", "pass", "Ok"},
		{"unsupported", "not supported", "no compute queue"},
		{"warn", "warning", "nearly"},
		{"fail", "fail", "1 < 2 and more"},
		{"unknown", "crash", "before it began: deqp-vk ended by itself"},
		{"vanish", "crash", "before it began: deqp-vk ended by itself"},
	} {
		t.Run(c.verb, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, "a.pass_1", "a.pass_2", "a."+c.verb, "a.pass_3", "a.pass_4", "a.pass_5", "a.pass_6")
			timeout := "30s"
			if c.verb == "hang" {
				timeout = "10s"
			}
			// One shard of one batch, so that there is something before and behind the culprit.
			output, err := s.run("--shards", "1", "--timeout", timeout)
			bad := c.status == "crash" || c.status == "timeout" || c.status == "fail"
			if (err != nil) != bad {
				t.Errorf("error %v\n%s", err, output)
			}
			want := map[string]string{c.verb: c.status}
			for i := range 6 {
				want[fmt.Sprintf("pass_%d", i+1)] = "pass"
			}
			if got := s.statuses(); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			wantLines(t, s.read("out/results.txt"), fmt.Sprintf("%s\tdEQP-VK.a.%s\t%s\n", c.status, c.verb, c.detail))
			for name, times := range s.ran() {
				if times != 1 {
					t.Errorf("%s ran %d times", name, times)
				}
			}
			if bad {
				wantLines(t, output, fmt.Sprintf("%s: dEQP-VK.a.%s: %s\n", c.status, c.verb, c.detail), "cts: FAILED: 7 cases")
				s.read("out/failures/dEQP-VK/a/" + c.verb + ".txt")
			}
		})
	}
}

func TestManyCulpritsInManyShards(t *testing.T) {
	t.Parallel()
	var cases []string
	for i := range 80 {
		verb := "pass"
		switch {
		case i%10 == 3:
			verb = "crash"
		case i%40 == 7:
			verb = "lost"
		case i%10 == 8:
			verb = "fail"
		}
		cases = append(cases, fmt.Sprintf("a.%s_%d", verb, i))
	}
	s := newSuite(t, cases...)
	if _, err := s.run("--shards", "2"); err != errUnexpected {
		t.Fatalf("error %v", err)
	}
	for name, status := range s.statuses() {
		verb, _, _ := strings.Cut(name, "_")
		if want := map[string]string{"pass": "pass", "crash": "crash", "lost": "fail", "fail": "fail"}[verb]; status != want {
			t.Errorf("%s: %s, want %s", name, status, want)
		}
	}
	if ran := s.ran(); len(ran) != len(cases) {
		t.Errorf("%d cases ran, want %d", len(ran), len(cases))
	}
}

func TestLogsOfFailures(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.fail", "a.pass_2", "a.crash")
	s.write("out/failures/old.txt", "")
	if _, err := s.run("--shards", "1"); err != errUnexpected {
		t.Fatalf("error %v", err)
	}
	wantLines(t, s.read("out/failures/dEQP-VK/a/fail.txt"), "fail: dEQP-VK.a.fail: 1 < 2 and more\n",
		"a message of dEQP-VK.a.fail", `StatusCode="Fail"`)
	crash := s.read("out/failures/dEQP-VK/a/crash.txt")
	wantLines(t, crash, "Test case 'dEQP-VK.a.crash'..")
	if strings.Contains(crash, "pass_2") {
		t.Errorf("another case's output is in\n%s", crash)
	}
	if _, err := os.Stat(s.path("out/failures/old.txt")); err == nil {
		t.Error("an earlier run's failure is still there")
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.fail_known", "a.flaky_1", "a.crash_1", "a.unsupported", "b.fail", "b.pass")
	s.write("lists/cases.txt", "dEQP-VK.a.*\ndEQP-VK.b.*\n")
	s.write("lists/expected-failures.txt", "dEQP-VK.*.fail* # known\n")
	s.write("lists/flakes.txt", "dEQP-VK.a.flaky*\t# now and then\n")
	s.write("lists/skips.txt", "dEQP-VK.a.crash_* # takes the process along\n")
	output, err := s.run("--shards", "2")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	wantLines(t, output, "cts: ok: 6 cases in ",
		": 3 passed, 1 not supported, 2 failed as expected, 1 flaked, 1 skipped\n")
	table := [][]string{
		{"group", "pass", "fail", "not", "supported", "crash", "timeout", "warning", "skipped"},
		{"dEQP-VK.a.*", "2", "1", "1", "0", "0", "0", "1"},
		{"dEQP-VK.b.*", "1", "1", "0", "0", "0", "0", "0"},
		{"all", "3", "2", "1", "0", "0", "0", "1"},
	}
	lines := strings.Split(output, "\n")
	for i, want := range table {
		if got := strings.Fields(lines[i]); !slices.Equal(got, want) {
			t.Errorf("line %d of the table is %q, want %q", i, got, want)
		}
	}
	if times := s.ran()["dEQP-VK.a.flaky_1"]; times != 3 {
		t.Errorf("the flake ran %d times, want 3", times)
	}
	if times := s.ran()["dEQP-VK.a.crash_1"]; times != 0 {
		t.Errorf("the skipped case ran")
	}
}

func TestUnexpectedResults(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.crash_1", "a.fail_flake", "a.flaky_1")
	s.write("lists/expected-failures.txt",
		"dEQP-VK.a.pass_1 # should fail\ndEQP-VK.a.crash_1 # a crash can't be expected\n")
	s.write("lists/flakes.txt", "dEQP-VK.a.fail_flake # never passes\n")
	output, err := s.run("--shards", "1")
	if err != errUnexpected {
		t.Fatalf("error %v", err)
	}
	wantLines(t, output,
		"pass: dEQP-VK.a.pass_1: unexpected: "+s.path("lists/expected-failures.txt")+":1 says it fails: should fail\n",
		"crash: dEQP-VK.a.crash_1: signal: segmentation fault\n", "fail: dEQP-VK.a.fail_flake: ",
		"fail: dEQP-VK.a.flaky_1: not yet\n", ", 4 unexpected\n")
	if times := s.ran()["dEQP-VK.a.fail_flake"]; times != maxAttempts {
		t.Errorf("the flake ran %d times, want %d", times, maxAttempts)
	}
}

// TestStrict: each case runs twice, the times are compared, and what differs or is found is unexpected unless it is
// listed.
func TestStrict(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.slow_1", "a.finds_1", "a.finds_2", "a.strictfail_1", "a.unsupported")
	s.write("lists/findings.txt", "dEQP-VK.a.finds_2 # it does what it should not\n")
	output, err := s.run("--shards", "1", "--strict", "all")
	if err != errUnexpected {
		t.Fatalf("error %v\n%s", err, output)
	}
	lines := strings.Split(output, "\n")
	want := strings.Fields("FARSIDE_STRICT=all passed off on ratio with findings")
	if got := strings.Fields(lines[0]); !slices.Equal(got, want) {
		t.Errorf("the table begins with %q", got)
	}
	for _, i := range []int{1, 2} {
		got := strings.Fields(lines[i])
		ratio, err := strconv.ParseFloat(got[4], 64)
		if err != nil || got[1] != "4" || ratio < 1 || got[5] != "2" {
			t.Errorf("the table has %q, want 4 that passed, more time with strictness, and 2 with findings", got)
		}
	}
	wantLines(t, output, "pass: dEQP-VK.a.finds_1: unexpected: FARSIDE-async-unordered, FARSIDE-guard-overrun\n",
		"fail: dEQP-VK.a.strictfail_1: strict\n", ", 2 unexpected\n")
	if strings.Contains(output, "finds_2") {
		t.Errorf("the listed finding is unexpected:\n%s", output)
	}
	wantLines(t, s.read("out/results.txt"), "pass\tdEQP-VK.a.finds_2\tOk\tFARSIDE-async-unordered,FARSIDE-guard-overrun\n")
	for name, times := range s.ran() {
		if times != 2 {
			t.Errorf("%s ran %d times, want 2", name, times)
		}
	}
}

func TestMalformedLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, text, want string }{
		{"skips.txt", "\n# fine\ndEQP-VK.a.pass\n", ":3: dEQP-VK.a.pass has no reason: write it behind a #"},
		{"skips.txt", "dEQP-VK.a.pass #\n", ":1: dEQP-VK.a.pass has no reason: write it behind a #"},
		{"flakes.txt", "dEQP-VK.a.pass# glued\n", ":1: dEQP-VK.a.pass needs white space before its #"},
		{"flakes.txt", "dEQP-VK.a.pass why not # reason\n", `:1: "dEQP-VK.a.pass why not" is no pattern of case names`},
		{"flakes.txt", "dEQP-VK.a.pass # one\ndEQP-VK.a.pass # two\n", ":2: dEQP-VK.a.pass stands in line 1 already"},
		{"expected-failures.txt", "dEQP-VK.a.gone* # gone\n",
			":1: dEQP-VK.a.gone* stands for no case, or for none that an earlier line leaves"},
		{"expected-failures.txt", "dEQP-VK.* # all\ndEQP-VK.a.pass # one\n",
			":2: dEQP-VK.a.pass stands for no case, or for none that an earlier line leaves"},
		{"cases.txt", "dEQP-VK.a.*\ndEQP-VK.nothing.*\n",
			":2: dEQP-VK.nothing.* stands for no case, or for none that an earlier line leaves"},
		{"cases.txt", "dEQP-VK.a.* # reason\n", ":1: a list of cases has no reasons"},
	} {
		s := newSuite(t, "a.pass")
		s.write("lists/"+c.file, c.text)
		output, err := s.run()
		if want := s.path("lists/"+c.file) + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", c.file, err, want)
		}
		if output != "" || len(s.ran()) != 0 {
			t.Errorf("%s: something ran: %s", c.file, output)
		}
	}
}

func TestPatternsNarrow(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.pass_2", "a.b.pass_3")
	s.write("lists/skips.txt", "dEQP-VK.a.gone # matters only to a complete run\n")
	output, err := s.run("dEQP-VK.a.b.*", "*.pass_1")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if got := slices.Sorted(maps.Keys(s.ran())); !slices.Equal(got, []string{"dEQP-VK.a.b.pass_3", "dEQP-VK.a.pass_1"}) {
		t.Errorf("these ran: %v", got)
	}
	if _, err := s.run("dEQP-VK.elsewhere.*"); err == nil {
		t.Error("a pattern without a case is no error")
	}
}

func TestNoDevice(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.pass_2", "a.pass_3", "a.pass_4", "a.pass_5")
	_, err := s.run("--shards", "1", "--deqp-option=--no-device=No matching queue found")
	const want = "3 processes in a row ran no case; of the last: before it began: exit status 255: No matching queue found"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = s.run("--data", s.path("lists"))
	if want := s.path("deqp-vk") + " doesn't list its cases: exit status 255: Failed to initialize dEQP: no cases"; err ==
		nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	for _, arguments := range [][]string{
		{"--deqp-vk", s.path("nowhere/deqp-vk")}, {"--lists", s.path("nowhere")}, {"--shards", "0"},
		{"--deqp-vk", s.path("lists/cases.txt")}, {"--deqp-vk", "/bin/true"},
	} {
		if output, err := s.run(arguments...); err == nil || err == errUnexpected {
			t.Errorf("%v: error %v\n%s", arguments, err, output)
		}
	}
}

// TestInterrupt interrupts the runner itself: it kills its processes and says what it has.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass_1", "a.fail_1", "a.hang", "a.pass_2", "a.pass_3", "a.pass_4", "a.pass_5")
	cmd := exec.Command(s.path("runner"), "--deqp-vk", s.path("deqp-vk"), "--lists", s.path("lists"), "--out",
		s.path("out"), "--shards", "1")
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	// The runner has started its process by the time that the case says it has begun.
	for s.ran()["dEQP-VK.a.hang"] == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	child := childOf(t, cmd.Process.Pid)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d\n%s", code, &printed)
	}
	if err := syscall.Kill(child, 0); err != syscall.ESRCH {
		t.Errorf("the child is still there: %v", err)
	}
	wantLines(t, printed.String(), "fail: dEQP-VK.a.fail_1: 1 < 2 and more\n", "cts: FAILED: 2 cases in ",
		": 1 passed, 1 unexpected, 5 not run\n", "cts: interrupted\n")
}

// childOf returns the number of the one process that another has started.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// Behind the name, which may hold anything, come the state and the parent.
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			child, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}

// TestOrphanHoldsPipes: a process that outlives deqp-vk with its pipes open doesn't hold the run up for good.
func TestOrphanHoldsPipes(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.orphan")
	start := time.Now()
	output, err := s.run()
	_, after, _ := strings.Cut(s.read("out/results.txt"), "a.orphan\t")
	orphan, failure := strconv.Atoi(strings.TrimSpace(after))
	if err != nil || failure != nil {
		t.Fatalf("%v, %v\n%s", err, failure, output)
	}
	if err := syscall.Kill(orphan, syscall.SIGKILL); err != nil || time.Since(start) < graceful {
		t.Errorf("after %v the pipes weren't held: %v", time.Since(start), err)
	}
}

func TestProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	p := newProgress(&printed, false, 10, 0)
	p.bad()
	p.add(4)
	p.close()
	if got, want := printed.String(), "cts: 4 of 10 cases after 0s, 1 failed\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	printed.Reset()
	p = newProgress(&printed, false, 10, time.Hour)
	p.add(10)
	if printed.Len() > 0 {
		t.Errorf("got %q before its time", printed.String())
	}
	p = newProgress(&printed, true, 10, time.Hour)
	p.bad()
	p.add(10)
	p.close()
	wantLines(t, printed.String(), "cts: 1 failed", "(10/10")
}

func TestCancelledBeforeStart(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "a.pass")
	d := deqp{path: s.path("deqp-vk"), data: s.dir, dir: s.path("out"), timeout: time.Minute}
	p, err := readPlan(t.Context(), []string{s.path("lists")}, &d, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err := p.run(ctx, []*deqp{&d}, 2, newProgress(io.Discard, false, 1, time.Hour))
	if len(results[0]) != 0 || err != context.Canceled || len(s.ran()) != 0 {
		t.Errorf("%v, %v", results, err)
	}
}
