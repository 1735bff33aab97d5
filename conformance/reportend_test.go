package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"farside/conformance/vulkan"
)

// TestReportOfEndings: however a process ends, its journal has all that it did, and farside report makes page, summary
// and JUnit report of it. A process that ends by exit(3) or a return from main has written its own before.
func TestReportOfEndings(t *testing.T) {
	needsTool(t, "gcc", "gcc")
	program := filepath.Join(t.TempDir(), "ending")
	if out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Werror", "-o", program, "clients/report/ending.c",
		"-lvulkan").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const cut = "was ended by a signal, _exit or exec"
	for _, row := range []struct {
		how     string
		signal  syscall.Signal // 0: it exits with status 5
		outcome string
		alone   []string // what it leaves, by the end of the name
	}{
		{"return", 0, "exit", []string{".html", ".json", ".jsonl", ".xml"}},
		{"exit", 0, "exit", []string{".html", ".json", ".jsonl", ".xml"}},
		{"_exit", 0, cut, []string{".jsonl"}},
		{"quick_exit", 0, cut, []string{".jsonl"}},
		{"exec", 0, cut, []string{".jsonl"}},
		{"SIGTERM", syscall.SIGTERM, cut, []string{".jsonl"}},
		{"SIGABRT", syscall.SIGABRT, cut, []string{".jsonl"}},
		{"SIGSEGV", syscall.SIGSEGV, cut, []string{".jsonl"}},
		{"SIGKILL", syscall.SIGKILL, cut, []string{".jsonl"}},
	} {
		t.Run(row.how, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "report")
			cmd := exec.CommandContext(t.Context(), program, row.how)
			cmd.Env = append(vulkan.DriverEnv(farsideManifest()), "FARSIDE_REPORT="+dir)
			out, _ := cmd.CombinedOutput()
			state := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if row.signal != 0 && state.Signal() != row.signal || row.signal == 0 && state.ExitStatus() != 5 {
				t.Fatalf("%v, want status 5 or %v\n%s", cmd.ProcessState, row.signal, out)
			}
			if got := endsOfFiles(t, dir); !slices.Equal(got, row.alone) {
				t.Errorf("it leaves %v, want %v", got, row.alone)
			}
			if out, err := exec.Command("../build/farside", "report", dir).CombinedOutput(); err != nil {
				t.Fatalf("farside report: %v\n%s", err, out)
			}
			checkEnding(t, dir, row.outcome)
		})
	}
}

// endsOfFiles returns the ends of the names of files in a directory, sorted.
func endsOfFiles(t *testing.T, dir string) (ends []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		ends = append(ends, filepath.Ext(f.Name()))
	}
	slices.Sort(ends)
	return ends
}

// checkEnding holds what farside report has made of the program's journal against what the program did.
func checkEnding(t *testing.T, dir, outcome string) {
	t.Helper()
	text := map[string]string{}
	for _, name := range []string{"summary.json", "junit.xml", "index.html"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(data)
	}
	var processes []struct {
		Program, Outcome string
		Events           map[string]int
		Leaked           int
		LeakedBytes      uint64
	}
	if err := json.Unmarshal([]byte(text["summary.json"]), &processes); err != nil {
		t.Fatal(err)
	}
	if len(processes) != 1 {
		t.Fatalf("the summary has %d processes", len(processes))
	}
	p := processes[0]
	if p.Outcome != outcome || p.Events["allocate"] != 1 || p.Leaked != 1 || p.LeakedBytes != 4096 {
		t.Errorf("the summary has %+v, want the outcome %q and memory of 4096 bytes that was never freed", p, outcome)
	}
	for _, name := range []string{"junit.xml", "index.html"} {
		if !strings.Contains(text[name], "ending") {
			t.Errorf("%s does not name the program", name)
		}
	}
}
