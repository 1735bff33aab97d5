package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/conformance/vulkan"
	"farside/rdmasim"
)

// compileSweep compiles a program of clients/sweep.
func compileSweep(t *testing.T, name string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	args := append([]string{"-Wall", "-Werror", "-o", program, "clients/sweep/" + name + ".c", "-lvulkan"}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestFaults runs a program in C through the Vulkan loader with a plan of faults, twice: it sees exactly the asked
// results at exactly the asked calls.
func TestFaults(t *testing.T) {
	calls := compileSweep(t, "calls")
	const none, lost, oom, many, handle = "0", "-4", "-2", "-10", "-1000072003"
	memory := func(results ...string) (lines []string) {
		for _, r := range results {
			allocate, export, _ := strings.Cut(r, " ")
			lines = append(lines, "allocate "+allocate)
			if allocate == "0" {
				lines = append(lines, "export "+export)
			}
		}
		return lines
	}
	queue := func(lines ...string) []string { return lines }
	fine := func(n int) string { return fmt.Sprintf("submit 0 wait 0 status 0 idle 0 filled %d", n) }
	dead := func(submit string, filled int) string {
		return fmt.Sprintf("submit %s wait -4 status -4 idle -4 filled %d", submit, filled)
	}
	for _, row := range []struct {
		plan, what, n string
		want          []string
	}{
		{"", "memory", "2", memory("0 0", "0 0")},
		{"vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@3", "memory", "4", memory("0 0", "0 0", oom, "0 0")},
		{"vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@2..3", "memory", "4", memory("0 0", oom, oom, "0 0")},
		{"vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@every:2", "memory", "4", memory("0 0", oom, "0 0", oom)},
		{"vkAllocateMemory[type=2]=VK_ERROR_OUT_OF_DEVICE_MEMORY@2", "memory", "4", memory("0 0", "0 0", "0 0", oom)},
		{"vkAllocateMemory[heap=0]=VK_ERROR_OUT_OF_DEVICE_MEMORY", "memory", "4", memory(oom, "0 0", oom, "0 0")},
		{"vkGetMemoryFdKHR[handle=OPAQUE_FD]=VK_ERROR_TOO_MANY_OBJECTS@2", "memory", "3",
			memory("0 0", "0 "+many, "0 0")},
		{"vkImportSemaphoreFdKHR=VK_ERROR_INVALID_EXTERNAL_HANDLE@1", "import", "2",
			[]string{"export 0 import " + handle + " close 0", "export 0 import 0"}},
		{"vkCreateInstance=VK_ERROR_OUT_OF_HOST_MEMORY", "memory", "1", []string{"instance -1"}},
		{"vkCreateDevice=VK_ERROR_INITIALIZATION_FAILED@1", "memory", "1", []string{"device -3"}},
		{"queue=lost@copy:2", "queue", "3", queue(fine(1), dead("0", 1), dead(lost, 1), fine(1))},
		{"queue=lost@3", "queue", "3", queue(fine(1), fine(2), dead("0", 2), fine(1))},
		{"queue.command=lost@1", "queue", "1", queue(dead("0", 0), fine(1))},
		{"vkQueueSubmit=VK_ERROR_DEVICE_LOST@2", "queue", "3", queue(fine(1), dead(lost, 1), dead(lost, 1), fine(1))},
		{"vkWaitForFences=VK_TIMEOUT@1", "queue", "1", queue("submit 0 wait 2", fine(1))},
		{"queue=delay:30ms@submit:1", "queue", "1", queue(fine(1), fine(1))},
		{"vkDeviceWaitIdle=delay:30ms", "queue", "1", queue(fine(1), fine(1))},
	} {
		for range 2 {
			began := time.Now()
			lines, told := faultLines(t, calls, row.plan, row.what, row.n)
			took := time.Since(began)
			if strings.Contains(row.plan, "VK_TIMEOUT") { // the rest is as far as the queue has come
				lines[0], _, _ = strings.Cut(lines[0], " status")
			}
			if diff := cmp.Diff(row.want, lines); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.plan, diff)
			}
			if strings.Contains(row.plan, "delay:30ms") && took < 30*time.Millisecond {
				t.Errorf("%s: the program took %v", row.plan, took)
			}
			// Nobody listens yet when vkCreateInstance fails; the loader's own calls come before the messenger, too.
			if row.plan != "" && len(told) == 0 && !strings.HasPrefix(row.plan, "vkCreateInstance") {
				t.Errorf("%s: no message", row.plan)
			}
		}
	}
}

// TestFaultSeeds: the same seed gives the same faults in another process, another seed others.
func TestFaultSeeds(t *testing.T) {
	calls := compileSweep(t, "calls")
	run := func(seed int) []string {
		plan := fmt.Sprintf("vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@p0.3; vkGetMemoryFdKHR="+
			"VK_ERROR_TOO_MANY_OBJECTS@p0.2; seed=%d", seed)
		lines, _ := faultLines(t, calls, plan, "memory", "100")
		return lines
	}
	one := run(42)
	if diff := cmp.Diff(one, run(42)); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(one, run(43)) {
		t.Error("another seed gives the same faults")
	}
	text := strings.Join(one, "\n")
	if n, m := strings.Count(text, "allocate -2"), strings.Count(text, "export -10"); n < 15 || n > 45 || m < 4 || m > 30 {
		t.Errorf("%d allocations and %d exports of 100 failed", n, m)
	}
}

// faultLines are what calls prints with a plan: its own lines, and what a messenger is told of faults.
func faultLines(t *testing.T, calls, plan, what, n string) (lines, told []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, calls, what, n)
	cmd.Env = append(vulkan.DriverEnv(farsideManifest()), "FARSIDE_FAULTS="+plan)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("%s: %v\n%s", plan, err, out)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "told "); ok {
			told = append(told, text)
			continue
		}
		lines = append(lines, line)
	}
	return lines, told
}

// TestSweep: farside faults sweep finds the ten bugs of a program's error paths, and none in the mended program.
func TestSweep(t *testing.T) {
	for _, row := range []struct {
		flags  []string
		status int
		want   map[string]string // the verdict for each call
	}{
		{nil, 3, map[string]string{
			"vkCreateDevice@1": "leak", "vkCreateBuffer@1": "hidden", "vkAllocateMemory@1": "leak",
			"vkGetMemoryFdKHR@1": "hidden", "vkAllocateMemory@2": "leak", "vkMapMemory@1": "crash",
			"vkAllocateCommandBuffers@1": "crash", "vkCreateFence@1": "leak", "vkQueueSubmit@1": "hang",
			"vkWaitForFences@1": "hang",
		}},
		{[]string{"-DMENDED"}, 0, map[string]string{}},
	} {
		program := compileSweep(t, "sweep", row.flags...)
		cmd := exec.CommandContext(t.Context(), "../build/farside", "faults", "sweep", "--manifest", farsideManifest(),
			"--json", "--timeout", "5s", "--", program)
		out, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != row.status {
			t.Fatalf("status %d, want %d: %v\n%s", code, row.status, err, out)
		}
		var r struct {
			Runs, Missed int
			Bad          []struct {
				Fault    string
				Verdicts []string
			}
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, b := range r.Bad {
			command, rest, _ := strings.Cut(b.Fault, "=")
			_, number, _ := strings.Cut(rest, "@")
			got[command+"@"+number] = strings.Join(b.Verdicts, ",")
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.flags, diff)
		}
		if r.Runs < 30 || r.Missed != 0 {
			t.Errorf("%q: %d runs, %d missed", row.flags, r.Runs, r.Missed)
		}
	}
}

// TestFaultsOfPeerInC: the library of peers in C gives the asked statuses at the asked operations, twice.
func TestFaultsOfPeerInC(t *testing.T) {
	program := compileC(t, cpeerSource+"faults.c", "gcc")
	owner := newOwner(t)
	t.Setenv("FARSIDE_FAULTS", "rdma.write=IBV_WC_REM_OP_ERR@2; rdma.write=partial:2@2; "+
		"rdma.atomic=IBV_WC_RETRY_EXC_ERR@2; rdma.read=sever@3")
	for range 2 {
		address, _ := region(t, owner, 64, rdmasim.AccessAll)
		if _, told := runC(t, program, address); told != "" {
			t.Errorf("standard error: %s", told)
		}
	}
	t.Setenv("FARSIDE_LOG", "info")
	address, _ := region(t, owner, 64, rdmasim.AccessAll)
	if _, told := runC(t, program, address); strings.Count(told, "id=FARSIDE-fault") != 5 ||
		!strings.Contains(told, "call 2 of rdma.atomic") {
		t.Errorf("standard error: %s", told)
	}
}
