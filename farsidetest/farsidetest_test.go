package farsidetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"farside/conformance/vulkan"
	"farside/farsidetest"
	"farside/internal/vk"
)

// leaker compiles a program that destroys a device before its memory if it is faulty.
func leaker(t *testing.T, faulty bool) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "leaker")
	args := []string{"-g", "-o", program, "../conformance/misuse/leak_memory.c", "-lvulkan"}
	if faulty {
		args = append(args, "-DFAULTY")
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc (Debian packages gcc, libvulkan-dev): %v\n%s", err, out)
	}
	return program
}

// child is the name of the variable that makes TestChild a test: of the program that it runs.
const child = "FARSIDETEST_CHILD"

// TestChild is the test that others see fail or pass, in a process of its own.
func TestChild(t *testing.T) {
	program := os.Getenv(child)
	if program == "" {
		t.Skip("it runs in processes of other tests: " + child + " is missing")
	}
	d := farsidetest.New(t, farsidetest.Strict("leaks"))
	if out, err := d.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFindingFailsTest: a finding fails the test that ran the program, and names the place. Without a finding it
// passes. A program that doesn't use the driver fails it.
func TestFindingFailsTest(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		want    []string // what the failing test says; empty: it passes
	}{
		"faulty": {leaker(t, true), []string{"farsidetest: FARSIDE-leaks-object", "main leak_memory.c:7", "leaker"}},
		"twin":   {leaker(t, false), nil},
		"unused": {"true", []string{"no command made an instance"}},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), child+"="+c.program)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (c.want != nil) || strings.Contains(string(out), "SKIP") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

// TestOptions: profile, faults and other settings reach the program, and nothing else of the environment does.
func TestOptions(t *testing.T) {
	t.Setenv("FARSIDE_STRICT", "nonsense")
	run := func(options ...farsidetest.Option) string {
		out, _ := farsidetest.New(t, options...).Command("vulkaninfo", "--summary").CombinedOutput()
		return string(out)
	}
	if out := run(); !strings.Contains(out, "Farside") || strings.Count(out, "deviceName") != 1 {
		t.Errorf("vulkaninfo (Debian package vulkan-tools) shows\n%s", out)
	}
	if out := run(farsidetest.Profile("pair")); strings.Count(out, "deviceName") != 2 {
		t.Errorf("with two devices vulkaninfo shows\n%s", out)
	}
	out := run(farsidetest.Faults("vkEnumeratePhysicalDevices=VK_ERROR_OUT_OF_HOST_MEMORY"))
	if !strings.Contains(out, "ERROR_OUT_OF_HOST_MEMORY") {
		t.Errorf("with a fault vulkaninfo shows\n%s", out)
	}
	dir := t.TempDir()
	run(farsidetest.Report(dir), farsidetest.Setting("FARSIDE_HEAP_DEVICE", "3MiB"))
	if pages, _ := filepath.Glob(filepath.Join(dir, "*.html")); len(pages) != 1 {
		t.Errorf("%s has the pages %q, want one", dir, pages)
	}
}

// TestSetenv: each of two tests in one process finds what it has done itself.
func TestSetenv(t *testing.T) {
	for range 2 {
		t.Run("", func(t *testing.T) {
			d := farsidetest.New(t, farsidetest.Strict("leaks"))
			d.Setenv()
			leak(t)
			found := d.Findings()
			if !slices.ContainsFunc(found, func(f farsidetest.Finding) bool {
				return f.ID == "FARSIDE-leaks-object" && f.Process == os.Getpid()
			}) {
				t.Errorf("findings %v", found)
			}
			if again := d.Findings(); len(again) != 0 {
				t.Errorf("findings a second time: %v", again)
			}
		})
	}
}

// leak destroys a device before its memory.
func leak(t *testing.T) {
	t.Helper()
	l, err := vulkan.Open()
	if err != nil {
		t.Fatal(err)
	}
	i, r := l.CreateInstance(vulkan.InstanceConfig{})
	if r != vk.SUCCESS {
		t.Fatal(r)
	}
	defer i.Destroy()
	physical, r := i.PhysicalDevices()
	if r != vk.SUCCESS || len(physical) != 1 {
		t.Fatal(r, physical)
	}
	d, r := i.CreateDevice(physical[0], vulkan.DeviceConfig{})
	if r != vk.SUCCESS {
		t.Fatal(r)
	}
	if _, r = d.Allocate(4096, 0, nil); r != vk.SUCCESS {
		t.Error(r)
	}
	d.Destroy()
}
