package conformance

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"farside/conformance/vulkan"
)

// The tests below run C programs whose signal handlers, descriptors and processes are as unfriendly as an
// application's may be, and that make every kind of call of the driver and of the library of peers.

// surroundings is a compiled program of clients/surroundings.
type surroundings struct {
	program, shader, peers, driver string
}

func compileSurroundings(t *testing.T, name string) surroundings {
	t.Helper()
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	needsTool(t, "gcc", "gcc")
	needsTool(t, "glslangValidator", "glslang-tools")
	build, err := filepath.Abs("../build")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := surroundings{filepath.Join(dir, name), filepath.Join(dir, "fill.spv"), filepath.Join(build, "libfarside_rdma.so"),
		filepath.Join(build, "libvulkan_farside.so")}
	for _, args := range [][]string{
		{"gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-rdynamic", "-I../cmd/libfarside_rdma", "-o", s.program,
			"clients/surroundings/" + name + ".c", "-lvulkan", "-ldl"},
		{"glslangValidator", "-V", "-o", s.shader, "clients/surroundings/fill.comp"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v (Debian packages gcc, libvulkan-dev, glslang-tools): %v\n%s", args, err, out)
		}
	}
	return s
}

// run returns the program's exit status and what it wrote; a signal that ended it is an error.
func (s surroundings) run(t *testing.T, args ...string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = vulkan.DriverEnv(farsideManifest())
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		t.Fatalf("%s: %v\n%.4000s", filepath.Base(s.program), err, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestSignals has handlers of 16 KiB run at 5 kHz, by timers and by signals to each thread, while threads make every
// kind of call: installed before the driver was loaded and after, with SA_ONSTACK and without.
func TestSignals(t *testing.T) {
	s := compileSurroundings(t, "signals")
	seconds := 8
	if testing.Short() {
		seconds = 2
	}
	for _, when := range []string{"before", "after"} {
		for _, stack := range []string{"plain", "stack"} {
			t.Run(when+"/"+stack, func(t *testing.T) {
				status, text := s.run(t, s.shader, s.peers, when, stack, "16", "5000", strconv.Itoa(seconds))
				if status != 0 {
					t.Fatalf("exit status %d\n%.4000s", status, text)
				}
				t.Log(text)
			})
		}
	}
}

// TestHandlersThatCall has handlers call the libraries, on threads that are in them and on others, and end the process.
func TestHandlersThatCall(t *testing.T) {
	s := compileSurroundings(t, "handlers")
	for range 4 {
		status, text := s.run(t, s.shader, s.peers, "1")
		if status != 0 {
			t.Fatalf("exit status %d\n%.4000s", status, text)
		}
		t.Log(text)
	}
}

// TestFaultHandler has the application handle SIGSEGV itself, and pass a wild pointer.
func TestFaultHandler(t *testing.T) {
	s := compileSurroundings(t, "fault")
	for how, want := range map[string]int{"before": 0, "chain": 0, "own": 42} {
		status, text := s.run(t, s.shader, how)
		if status != want {
			t.Errorf("%s: exit status %d, want %d\n%.4000s", how, status, want, text)
		}
		if told := strings.Contains(text, "vkGetBufferMemoryRequirements"); told != (want == 0) {
			t.Errorf("%s: that the driver reported the fault is %v\n%.4000s", how, told, text)
		}
	}
}

// TestMessenger has a debug messenger called in a thread of the library.
func TestMessenger(t *testing.T) {
	s := compileSurroundings(t, "messenger")
	shader := filepath.Join(t.TempDir(), "print.spv")
	if out, err := exec.Command("glslangValidator", "-V", "-o", shader, "clients/surroundings/print.comp").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if status, text := s.run(t, shader); status != 0 {
		t.Fatalf("exit status %d\n%.4000s", status, text)
	}
}

// TestWrongCounts passes counts of up to 2^32-1 with short arrays.
func TestWrongCounts(t *testing.T) {
	s := compileSurroundings(t, "counts")
	if status, text := s.run(t, s.shader); status != 0 {
		t.Fatalf("exit status %d\n%.4000s", status, text)
	}
}

// TestDescriptors has descriptors 0 to 2 closed, broken, full or reused, and no descriptor left at each stage.
func TestDescriptors(t *testing.T) {
	s := compileSurroundings(t, "descriptors")
	for _, how := range []string{"closed", "broken", "full", "reused", "none0", "none1", "none2"} {
		t.Run(how, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			if status, text := s.run(t, s.shader, s.peers, how, report); status != 0 {
				more, _ := os.ReadFile(report)
				t.Errorf("exit status %d\n%s%.4000s", status, more, text)
			}
		})
	}
}

// TestForkWhileBusy forks without exec while threads are in the driver and in the library of peers. Each child has an
// answer from every symbol, and one message from each library.
func TestForkWhileBusy(t *testing.T) {
	s := compileSurroundings(t, "busy")
	status, text := s.run(t, s.shader, s.peers, s.driver)
	if status != 0 {
		t.Fatalf("exit status %d\n%.4000s", status, text)
	}
	for _, library := range []string{"the Vulkan driver", "libfarside_rdma"} {
		if n := strings.Count(text, "this process was forked after it loaded "+library); n != 200 {
			t.Errorf("%d of 200 children wrote the message about %s", n, library)
		}
	}
}

// TestForkEarly forks without exec when a library is loaded and its Go runtime has not started yet. The child has an
// answer and a message all the same.
func TestForkEarly(t *testing.T) {
	s := compileSurroundings(t, "early")
	for symbol, library := range map[string]string{
		"vk_icdNegotiateLoaderICDInterfaceVersion": s.driver, "farside_peer_open": s.peers,
	} {
		status, text := s.run(t, library, symbol)
		if status != 0 || !strings.Contains(text, "this process was forked after it loaded ") {
			t.Errorf("%s: exit status %d\n%.4000s", symbol, status, text)
		}
	}
}

// TestTrace: FARSIDE_LOG=trace prints the calls of an unmodified program.
func TestTrace(t *testing.T) {
	needsTool(t, "vulkaninfo", "vulkan-tools")
	cmd := exec.CommandContext(t.Context(), "vulkaninfo", "--summary")
	cmd.Env = append(vulkan.DriverEnv(farsideManifest()), "FARSIDE_LOG=trace")
	out, err := cmd.CombinedOutput()
	for _, line := range []string{"msg=vkCreateInstance result=VK_SUCCESS",
		"msg=vkEnumeratePhysicalDevices result=VK_SUCCESS", "msg=vkGetPhysicalDeviceProperties2", "msg=vkDestroyInstance"} {
		if err != nil || !strings.Contains(string(out), "level=TRACE "+line) {
			t.Errorf("%v, no line %q:\n%.4000s", err, line, out)
		}
	}
}

// TestTwins forks twice before the loader is there. The two processes have chosen other seeds.
func TestTwins(t *testing.T) {
	s := compileSurroundings(t, "twins")
	t.Setenv("FARSIDE_FAULTS", "vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@p0.5")
	t.Setenv("FARSIDE_LOG", "info")
	status, text := s.run(t)
	seeds := regexp.MustCompile(`seed=\d+`).FindAllString(text, -1)
	if status != 0 || len(seeds) != 2 || seeds[0] == seeds[1] {
		t.Errorf("exit status %d, seeds %v\n%.4000s", status, seeds, text)
	}
}
