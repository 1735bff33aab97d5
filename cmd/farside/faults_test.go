package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/internal/fault"
)

func TestFaultsList(t *testing.T) {
	out := string(ok(t, nil, "faults", "list", "vkGetMemoryFdKHR"))
	if want := "vkGetMemoryFdKHR  VK_ERROR_TOO_MANY_OBJECTS VK_ERROR_OUT_OF_HOST_MEMORY VK_ERROR_UNKNOWN " +
		"VK_ERROR_VALIDATION_FAILED delay:TIME\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if out := string(ok(t, nil, "faults", "list", "rdma.wr*")); !strings.Contains(out, "partial:BYTES") ||
		!strings.Contains(out, " IBV_WC_RETRY_EXC_ERR") || strings.Contains(out, "IBV_WC_SUCCESS") {
		t.Errorf("%q", out)
	}
	if n := strings.Count(string(ok(t, nil, "faults", "list")), "\n"); n != len(fault.Commands)+len(fault.Points()) {
		t.Errorf("%d lines", n)
	}
	wantFailure(t, 1, "is named vkCreateBufer; the nearest is vkCreateBuffer", "faults", "list", "vkCreateBufer")
	wantFailure(t, 2, "syntax error in pattern", "faults", "list", "[")
}

func TestFaultsCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(file, []byte("queue=lost@dispatch:7 # the seventh\nseed=0x10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := string(ok(t, nil, "faults", "check", file)); out != "queue.dispatch=lost@7\nseed=16\n" {
		t.Errorf("%q", out)
	}
	wantFailure(t, 1, "the nearest is vkAllocateMemory", "faults", "check", "vkAlocateMemory=VK_ERROR_UNKNOWN")
	wantFailure(t, 1, file+"x\" is neither a plan", "faults", "check", file+"x")
}

// TestSweepRefuses: a program that makes no calls, fails by itself or isn't there can't be swept.
func TestSweepRefuses(t *testing.T) {
	manifest := newManifest(t, "./libvulkan_farside.so")
	wantFailure(t, 1, "made no calls", "faults", "sweep", "--manifest", manifest, "--", "true")
	wantFailure(t, 1, "fails without faults", "faults", "sweep", "--manifest", manifest, "--", "false")
	wantFailure(t, 1, "not found", "faults", "sweep", "--manifest", manifest, "--", "farside-no-such-program")
	wantFailure(t, 2, "syntax error in pattern", "faults", "sweep", "--manifest", manifest, "--only", "[", "--", "true")
	wantFailure(t, 2, "requires at least 1 arg", "faults", "sweep")
}

// TestHungRun: a run that takes too long is killed with its children, also where one keeps its output open.
func TestHungRun(t *testing.T) {
	child := filepath.Join(t.TempDir(), "child")
	s := &sweep{args: []string{"sh", "-c", "sleep 600 & echo $! > " + child + "; sleep 600"}, env: os.Environ()}
	var pid []byte
	for limit := 200 * time.Millisecond; len(pid) == 0; limit *= 5 { // until the shell has come so far
		if limit > time.Minute {
			t.Fatal("the shell makes no child")
		}
		o, err := s.once(t.Context(), "", limit)
		if err != nil || !o.hung {
			t.Fatalf("%+v, %v", o, err)
		}
		pid, _ = os.ReadFile(child)
	}
	alive := func() bool {
		text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		_, state, _ := strings.Cut(string(text), ") ")
		return err == nil && state[0] != 'Z' // nobody may be there to wait for it
	}
	for end := time.Now().Add(20 * time.Second); alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a child lives on")
		}
	}
}

// TestJudge: what makes a run bad.
func TestJudge(t *testing.T) {
	run := func(script, output string, calls, left uint64) *sweepOutcome {
		s := &sweep{args: []string{"sh", "-c", script}, env: os.Environ()}
		o, err := s.once(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		o.output = []byte(output)
		o.counts = fault.Counts{Calls: map[string]uint64{"vkCreateBuffer": calls}, Left: map[string]uint64{"VkBuffer": left}}
		return o
	}
	good := run("exit 0", "done", 2, 1)
	for _, row := range []struct {
		what string
		o    *sweepOutcome
		want []string
	}{
		{"an error that was told", run("exit 1", "done", 1, 1), nil},
		{"another output", run("exit 0", "failed", 2, 1), nil},
		{"a second try", run("exit 0", "done", 3, 1), nil},
		{"nothing told", run("exit 0", "done", 2, 1), []string{verdictHidden}},
		{"nothing told, more left", run("exit 0", "done", 2, 3), []string{verdictLeak, verdictHidden}},
		{"more left", run("exit 1", "", 1, 2), []string{verdictLeak}},
		{"a signal", run("kill -SEGV $$", "", 1, 2), []string{verdictCrash}},
		{"a signal below a shell", run("sh -c 'kill -ABRT $$'; exit 134", "", 1, 1), []string{verdictCrash}},
	} {
		job := sweepJob{command: commandNamed("vkCreateBuffer"), plan: "x"}
		var got []string
		if b := new(sweep).judge(job, row.o, good); b != nil {
			got = b.Verdicts
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.what, diff)
		}
		if b := (&sweep{noLeaks: true}).judge(job, row.o, good); b != nil && slices.Contains(b.Verdicts, verdictLeak) {
			t.Errorf("%s: a leak that nobody asked for", row.what)
		}
		job.command = commandNamed("vkMergePipelineCaches")
		row.o.counts.Calls["vkMergePipelineCaches"] = good.counts.Calls["vkMergePipelineCaches"]
		if b := new(sweep).judge(job, row.o, good); b != nil && b.Verdicts[0] == verdictHidden {
			t.Errorf("%s: an error that may be ignored is %v", row.what, b.Verdicts)
		}
	}
}

// TestSweepJobs: a run for each call and each error that it can have, as far as --only and --limit let it.
func TestSweepJobs(t *testing.T) {
	good := &sweepOutcome{counts: fault.Counts{Calls: map[string]uint64{"vkCreateBuffer": 3, "vkMapMemory": 1,
		"vkEnumerateDeviceExtensionProperties": 5}}}
	plans := func(s sweep) (list []string) {
		jobs, _ := s.jobsOf(good)
		for _, j := range jobs {
			list = append(list, j.plan)
		}
		return list
	}
	buffer := "vkCreateBuffer=VK_ERROR_OUT_OF_DEVICE_MEMORY@"
	maps := []string{"vkMapMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@1", "vkMapMemory=VK_ERROR_MEMORY_MAP_FAILED@1"}
	for _, row := range []struct {
		s    sweep
		want []string
	}{
		{sweep{only: "*"}, append([]string{buffer + "1", buffer + "2", buffer + "3"}, maps...)},
		{sweep{only: "vkMap*"}, maps},
		{sweep{only: "*Buffer", limit: 1}, []string{buffer + "1"}},
	} {
		if diff := cmp.Diff(row.want, plans(row.s)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row.s, diff)
		}
	}
}

// commandNamed is a command that faults can be put into.
func commandNamed(name string) *fault.Command {
	i := slices.IndexFunc(fault.Commands, func(c fault.Command) bool { return c.Name() == name })
	return &fault.Commands[i]
}
