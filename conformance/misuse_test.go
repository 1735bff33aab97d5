package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"farside/conformance/vulkan"
	"farside/internal/finding"
)

// A misuse is a faulty program of misuse/, with the finding that strictness has for it. Without the macro FAULTY its
// source is the corrected twin.
type misuse struct {
	name    string // of the source
	finding string // an id, or a VUID of an error; empty if the program sees wrong values and nobody tells it of more
	dies    bool   // the program ends by SIGSEGV, as it would have with a mapping that is gone
	quiet   bool   // told by a line on standard error alone, when no messenger is left, or by the library of peers
	crashes bool   // it may crash, or see wrong values, without strictness, too
	at      string // of the stack that comes with the finding
	wrong   bool   // the program sees wrong values without strictness, too
	broken  bool   // the driver tells of an error without strictness, too
	timed   bool   // nothing is wrong if the program is stopped between two posts until the first of them has begun

	verbs   bool     // the program uses libibverbs
	environ []string // of all runs of this driver

	// Why the faulty program doesn't run to its end on lavapipe; empty if it does.
	lavapipe string
}

var misuses = []misuse{
	{name: "flush_upload", finding: "FARSIDE-noncoherent-missing-flush"},
	{name: "flush_half", finding: "FARSIDE-noncoherent-missing-flush"},
	{name: "flush_unmap", finding: "FARSIDE-noncoherent-missing-flush"},
	{name: "flush_image", finding: "FARSIDE-noncoherent-missing-flush"},
	{name: "flush_shared_atom", finding: "FARSIDE-noncoherent-flush-over-device"},
	{name: "flush_unaligned", finding: "FARSIDE-noncoherent-unaligned-range"},
	{name: "invalidate_readback", finding: "FARSIDE-noncoherent-missing-invalidate"},
	{name: "invalidate_free", finding: "FARSIDE-noncoherent-missing-invalidate"},
	{name: "invalidate_import", finding: "FARSIDE-noncoherent-missing-invalidate"},
	{name: "invalidate_unflushed", finding: "FARSIDE-noncoherent-invalidate-unflushed"},
	{name: "fresh_device", lavapipe: "its fresh memory is not always zero"},
	{name: "fresh_host"},
	{name: "fresh_shared"},
	{name: "map_past_end", finding: "FARSIDE-guard-out-of-bounds", at: "accessed by main map_past_end.c:10", dies: true,
		crashes: true},
	{name: "map_before_begin", finding: "FARSIDE-guard-out-of-bounds", at: "accessed by main map_before_begin.c:11",
		dies: true},
	{name: "map_part", finding: "FARSIDE-guard-out-of-bounds", at: "map_part.c:10", dies: true},
	{name: "map_tail", finding: "FARSIDE-guard-overrun"},
	{name: "use_unmapped", finding: "FARSIDE-guard-after-unmap", at: "ended by main use_unmapped.c:9", dies: true},
	{name: "use_freed", finding: "FARSIDE-guard-after-free", at: "accessed by main use_freed.c:10", dies: true,
		crashes: true},
	{name: "use_unmapped_shared", finding: "FARSIDE-guard-after-unmap", at: "main use_unmapped_shared.c:12", dies: true},
	{name: "import_size", finding: "VUID-VkMemoryAllocateInfo-allocationSize-01742", broken: true},
	{name: "import_type", finding: "VUID-VkMemoryAllocateInfo-allocationSize-01742", broken: true},
	{name: "import_device", finding: "VUID-VkImportMemoryFdInfoKHR-fd-01746", broken: true,
		environ: []string{"FARSIDE_PROFILE=pair"}},
	{name: "import_wrong_file", finding: "VUID-VkImportMemoryFdInfoKHR-handleType-00670", broken: true},
	{name: "import_dedicated", finding: "VUID-VkMemoryDedicatedAllocateInfo-buffer-01879", broken: true},
	{name: "export_undeclared", finding: "VUID-VkMemoryGetFdInfoKHR-handleType-00671", broken: true,
		lavapipe: "it crashes"},
	{name: "bind_undeclared", finding: "VUID-vkBindBufferMemory-memory-02726", broken: true},
	{name: "map_twice", finding: "VUID-VkMemoryMapInfo-memory-07958", broken: true},
	{name: "flush_unmapped", finding: "VUID-VkMappedMemoryRange-memory-00684", broken: true},
	{name: "signal_fence_twice", finding: "VUID-vkQueueSubmit-fence-00063", broken: true},
	{name: "use_freed_address", finding: "FARSIDE-leaks-freed-address", quiet: true},
	{name: "leak_memory", finding: "FARSIDE-leaks-object", at: "main leak_memory.c:7", broken: true},
	{name: "leak_objects", finding: "FARSIDE-leaks-object", at: "main leak_objects.c:12", broken: true},
	{name: "leak_device", finding: "FARSIDE-leaks-at-exit", at: "main leak_device.c:6", quiet: true},
	{name: "leak_memory_fd", finding: "FARSIDE-leaks-descriptor", at: "main leak_memory_fd.c:8", quiet: true},
	{name: "leak_semaphore_fd", finding: "FARSIDE-leaks-descriptor", at: "main leak_semaphore_fd.c:16", quiet: true},
	{name: "leak_fence_fd", finding: "FARSIDE-leaks-descriptor", at: "main leak_fence_fd.c:17", quiet: true},
	{name: "close_after_import", finding: "FARSIDE-leaks-taken-descriptor", at: "main close_after_import.c:10"},
	{name: "close_twice", finding: "FARSIDE-leaks-closed-descriptor", at: "main close_twice.c:10", wrong: true,
		lavapipe: "the import fails there, too"},
	{name: "free_twice", finding: "FARSIDE-leaks-used-destroyed", at: "main free_twice.c:8", broken: true,
		lavapipe: "it crashes"},
	{name: "use_destroyed", finding: "FARSIDE-leaks-used-destroyed", at: "main use_destroyed.c:9", broken: true},
	{name: "async_read", finding: "FARSIDE-async-unordered"},
	{name: "async_write", finding: "FARSIDE-async-unordered"},
	{name: "async_overwrite", finding: "FARSIDE-async-unordered"},
	{name: "async_submissions", finding: "FARSIDE-async-unordered"},
	{name: "async_semaphore", finding: "FARSIDE-async-unordered"},
	{name: "async_late_signal", finding: "FARSIDE-async-unordered"},
	{name: "async_fence", finding: "FARSIDE-async-unordered"},
	{name: "async_event", finding: "FARSIDE-async-unordered"},
	{name: "async_halves", finding: "FARSIDE-async-unordered"},
	{name: "async_image", finding: "FARSIDE-async-unordered"},
	{name: "async_columns", finding: "FARSIDE-async-unordered"},
	{name: "pass_readback", finding: "FARSIDE-async-unordered"},
	{name: "pass_again", finding: "FARSIDE-async-unordered"},
	{name: "async_dispatch", finding: "FARSIDE-async-maybe-unordered"},
	{name: "async_host_event", finding: "FARSIDE-async-host-write"},
	{name: "async_staging", finding: "FARSIDE-async-host-write"},
	{name: "async_readback", finding: "FARSIDE-async-host-read"},
	{name: "rdma_no_completion", finding: "FARSIDE-rdma-stale-read"},
	{name: "rdma_running", finding: "FARSIDE-rdma-stale-read"},
	{name: "rdma_guess", finding: "FARSIDE-rdma-stale-read"},
	{name: "rdma_image", finding: "FARSIDE-rdma-maybe-stale-read"},
	{name: "rdma_read_early", crashes: true},
	{name: "rdma_two_writers", finding: "FARSIDE-rdma-unordered-peers", quiet: true, timed: true},
	{name: "rdma_torn_read", finding: "FARSIDE-rdma-torn-read", quiet: true, timed: true},
	{name: "rdma_missing_fence", finding: "FARSIDE-rdma-missing-fence", quiet: true},
	{name: "rdma_overtaken", finding: "FARSIDE-rdma-missing-fence", quiet: true},
	{name: "rdma_local_changed", finding: "FARSIDE-rdma-local-changed", quiet: true},
	{name: "rdma_past_end", finding: "FARSIDE-rdma-out-of-range", quiet: true},
	{name: "rdma_misaligned", finding: "FARSIDE-rdma-misaligned-atomic", quiet: true},
	{name: "rdma_free_early", finding: "FARSIDE-rdma-freed-under-way", quiet: true, timed: true},
	{name: "rdma_overwrite", finding: "FARSIDE-rdma-device-write"},
	{name: "rdma_ignored_failure", finding: "FARSIDE-rdma-ignored-failure", quiet: true},
	{name: "verbs_local_changed", finding: "FARSIDE-rdma-local-changed", quiet: true, verbs: true},
	{name: "verbs_missing_fence", finding: "FARSIDE-rdma-missing-fence", quiet: true, verbs: true},
	{name: "verbs_overtaken", finding: "FARSIDE-rdma-missing-fence", quiet: true, verbs: true},
	{name: "verbs_two_writers", finding: "FARSIDE-rdma-unordered-peers", quiet: true, timed: true, verbs: true},
	{name: "verbs_torn_read", finding: "FARSIDE-rdma-torn-read", quiet: true, timed: true, verbs: true},
	{name: "verbs_free_early", finding: "FARSIDE-rdma-freed-under-way", quiet: true, timed: true, verbs: true},
	{name: "verbs_ignored_failure", finding: "FARSIDE-rdma-ignored-failure", quiet: true, verbs: true},
	{name: "verbs_read_early", crashes: true, verbs: true},
	{name: "peers_write", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_read", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_overwrite", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_wrong_semaphore", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_timeline", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_handover", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_half_handover", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_give_back", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_fence", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_sync_file", finding: "FARSIDE-async-unordered", at: "; process "},
	{name: "peers_invalidate", finding: "FARSIDE-async-host-read", at: "; process "},
	{name: "owners_acquire", finding: "FARSIDE-async-missing-acquire", at: "; process "},
	{name: "owners_half", finding: "FARSIDE-async-missing-acquire", at: "; process "},
	{name: "owners_image", finding: "FARSIDE-async-missing-acquire", at: "; process "},
	{name: "owners_undefined", finding: "FARSIDE-async-missing-acquire", at: "; process "},
	{name: "owners_give_back", finding: "FARSIDE-async-missing-acquire", at: "; process "},
	{name: "owners_keep", finding: "FARSIDE-async-missing-acquire"},
	{name: "owners_mapped", finding: "FARSIDE-async-maybe-missing-transfer", at: "; process "},
	{name: "owners_release", finding: "FARSIDE-async-missing-release", at: "; process "},
	{name: "owners_image_release", finding: "FARSIDE-async-missing-release", at: "; process "},
	{name: "owners_write_early", finding: "FARSIDE-async-write-before-acquire"},
	{name: "owners_family", finding: "FARSIDE-async-transfer-mismatch", at: "; process "},
	{name: "owners_layouts", finding: "FARSIDE-async-transfer-mismatch", at: "; process "},
	{name: "hostcopy_upload", finding: "FARSIDE-async-host-copy"},
	{name: "hostcopy_readback", finding: "FARSIDE-async-host-copy"},
	{name: "hostcopy_image", finding: "FARSIDE-async-host-copy"},
}

// strictStatus is FARSIDE_STRICT_EXIT in these tests.
const strictStatus = 3

// wrongStatus is the status of a program that sees wrong values: WRONG of misuse.h.
const wrongStatus = 4

// unsupportedStatus is the status of a program on a device that lacks what it needs: UNSUPPORTED of misuse.h.
const unsupportedStatus = 77

// compileMisuse makes a program of misuse/, faulty or not.
func compileMisuse(t *testing.T, m *misuse, faulty bool) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), m.name)
	build, err := filepath.Abs("../build")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-std=gnu11", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-I../cmd/libfarside_rdma", "-o", program,
		"misuse/" + m.name + ".c", "-lvulkan", "-L" + build, "-Wl,-rpath," + build, "-Wl,--as-needed", "-lfarside_rdma"}
	if faulty {
		args = append([]string{"-DFAULTY"}, args...)
	}
	if m.verbs {
		args = append(args, "-libverbs")
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %v (Debian packages gcc, libvulkan-dev): %v\n%s", args, err, out)
	}
	return program
}

// runMisuse returns how a program ended, a status or a signal, and what it wrote.
func runMisuse(t *testing.T, program, driver string, environ ...string) (status int, died syscall.Signal, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(vulkan.DriverEnv(manifestOf(driver)), environ...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if state.Signaled() {
		died = state.Signal()
	}
	return state.ExitStatus(), died, string(out)
}

// TestMisuse runs each faulty program, whose fault a lenient driver lets pass, with strictness and without, and on
// lavapipe; and its twin, in which strictness finds nothing.
func TestMisuse(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	needsTool(t, "gcc", "gcc")
	strict := []string{"FARSIDE_STRICT=all", fmt.Sprintf("FARSIDE_STRICT_EXIT=%d", strictStatus)}
	for _, m := range misuses {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.verbs {
				m.useVerbs(t)
			}
			faulty, twin := compileMisuse(t, &m, true), compileMisuse(t, &m, false)
			passes := 0
			if m.wrong {
				passes = wrongStatus
			}
			if status, died, text := runMisuse(t, faulty, "farside",
				m.environ...); status != passes && !m.crashes || strings.Contains(text, "FARSIDE-") ||
				strings.Contains(text, "VUID") && !m.broken && !m.wrong {
				t.Errorf("without strictness: status %d, %v, want %d\n%s", status, died, passes, text)
			}
			strict := append(slices.Clone(strict), m.environ...)
			m.checkFindings(t, faulty, strict)
			if status, died, text := runMisuse(t, twin, "farside", strict...); status != 0 ||
				strings.Contains(text, "FARSIDE-") || strings.Contains(text, "VUID") {
				t.Errorf("the twin: status %d, %v\n%s", status, died, text)
			}
			if _, err := os.Stat(lavapipeManifest); err != nil || !strings.Contains(*drivers, "lavapipe") {
				t.Skipf("lavapipe is missing (Debian package mesa-vulkan-drivers), or not among -drivers")
			}
			if m.lavapipe != "" {
				t.Logf("not on lavapipe: %s", m.lavapipe)
			} else if status, died, text := runMisuse(t, faulty, "lavapipe"); status == unsupportedStatus {
				t.Logf("not on lavapipe: %s", text)
			} else if status != 0 {
				t.Errorf("on lavapipe: status %d, %v\n%s", status, died, text)
			}
		})
	}
	checkMisuseFiles(t)
}

// TestMisuseShowsFindings: each kind of finding has a program that shows it, and programs expect no others.
func TestMisuseShowsFindings(t *testing.T) {
	shown := map[finding.ID]bool{}
	for _, m := range misuses {
		if strings.HasPrefix(m.finding, "FARSIDE-") {
			shown[finding.ID(m.finding)] = true
		}
	}
	for _, row := range finding.Table {
		if !shown[row.ID] {
			t.Errorf("no program of misuse/ shows %s", row.ID)
		}
		delete(shown, row.ID)
	}
	for id := range shown {
		t.Errorf("programs of misuse/ expect %s, which is not in finding.Table", id)
	}
}

// useVerbs lets a program use this driver's library of verbs. Others have none: it would need an adapter.
func (m *misuse) useVerbs(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		t.Skip("verbs.h is missing (Debian package libibverbs-dev)")
	}
	libraries, err := filepath.Abs("../build/verbs")
	if err != nil {
		t.Fatal(err)
	}
	m.environ = append(slices.Clone(m.environ), "LD_LIBRARY_PATH="+libraries)
	m.lavapipe = "it uses verbs"
}

// checkFindings holds the faulty program's end and messages against the table.
func (m *misuse) checkFindings(t *testing.T, faulty string, strict []string) {
	t.Helper()
	status, died, text := runMisuse(t, faulty, "farside", strict...)
	for tries := 1; m.timed && status == 0 && tries < 5; tries++ {
		status, died, text = runMisuse(t, faulty, "farside", strict...)
	}
	if m.finding == "" {
		if status != wrongStatus || strings.Contains(text, "FARSIDE-") {
			t.Errorf("status %d, %v, want %d\n%s", status, died, wrongStatus, text)
		}
		return
	}
	switch {
	case m.dies && died != syscall.SIGSEGV:
		t.Errorf("status %d, %v, want SIGSEGV\n%s", status, died, text)
	case !m.dies && status != strictStatus:
		t.Errorf("status %d, %v, want %d\n%s", status, died, strictStatus, text)
	}
	if strings.HasPrefix(m.finding, "FARSIDE-") && !strings.Contains(text, ": "+m.finding+": ") {
		t.Errorf("standard error lacks %s:\n%s", m.finding, text)
	}
	if told := strings.Contains(text, "message "+m.finding+"\n"); told == m.quiet {
		t.Errorf("that messengers are told is %v:\n%s", told, text)
	}
	if !strings.Contains(text, m.at) {
		t.Errorf("the stack lacks %s:\n%s", m.at, text)
	}
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(line, "message FARSIDE-"); ok && "FARSIDE-"+strings.TrimSpace(id) != m.finding {
			t.Errorf("an unexpected finding: %s", line)
		}
	}
}

// checkMisuseFiles fails if a source is not in the table.
func checkMisuseFiles(t *testing.T) {
	files, err := filepath.Glob("misuse/*.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".c")
		if !slices.ContainsFunc(misuses, func(m misuse) bool { return m.name == name }) {
			t.Errorf("%s is not in the table", f)
		}
	}
}
