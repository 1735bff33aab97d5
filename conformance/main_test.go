package conformance

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
)

var (
	drivers = flag.String("drivers", "farside,lavapipe", "the drivers to run the table on")
	// A guest that runs the tests has what the host built, and no time to do it again.
	build       = flag.Bool("build", true, "build the driver first")
	strict      = flag.String("strict", "all", "what TestStrict sets FARSIDE_STRICT to")
	strictEvery = flag.Int("strict-every", 40, "TestStrict runs one case in so many")
)

const (
	lavapipeLibrary  = "libvulkan_lvp.so"
	validationLib    = "libVkLayer_khronos_validation.so"
	lavapipeManifest = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
	validationLayer  = "VK_LAYER_KHRONOS_validation"
	validationJSON   = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"
	poison           = 0xFA            // of fresh memory, with FARSIDE_STRICT=poison
	caseTimeout      = 5 * time.Minute // of a case that hangs: on a loaded machine, some take a minute
)

// farsideManifest is what `make build` writes.
func farsideManifest() string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	p, err := filepath.Abs("../build/farside_icd." + arch + ".json")
	if err != nil {
		panic(err)
	}
	return p
}

func manifestOf(driver string) string {
	if driver == "lavapipe" {
		return lavapipeManifest
	}
	return farsideManifest()
}

func TestMain(m *testing.M) {
	if role := os.Getenv("FARSIDE_ROLE"); role != "" {
		os.Exit(runRole(role))
	}
	if names := strings.Fields(os.Getenv("FARSIDE_CASE")); len(names) == 1 {
		os.Exit(runCase(names[0]))
	} else if len(names) > 1 {
		os.Exit(runCases(names))
	}
	flag.Parse()
	if *build && strings.Contains(*drivers, "farside") {
		make := exec.Command("make", "build")
		make.Dir = ".."
		if out, err := make.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "make build: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	// Processes of cases may be in other directories.
	dir, err := shaders.Cache()
	if err != nil {
		panic(err)
	}
	os.Setenv(shaders.CacheEnv, dir)
	os.Exit(m.Run())
}

var errHung = fmt.Errorf("hung for %v", caseTimeout)

// outcome of a case.
type outcome struct {
	verdict string // pass, fail or unsupported
	text    string // what the process printed
}

// runChild runs a case in a process of its own.
func runChild(ctx context.Context, driver string, d *definition, extra ...string) outcome {
	text, err := runProcess(ctx, driver, []string{d.name}, slices.Concat(d.env, extra))
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(text, "verdict: pass\n"):
		return outcome{"pass", text}
	case errors.As(err, &exit) && exit.ExitCode() == exitUnsupported:
		return outcome{"unsupported", text}
	default:
		return outcome{"fail", fmt.Sprintf("%s\nprocess: %v", text, err)}
	}
}

// runProcess runs cases in one process, and gives what it printed.
func runProcess(ctx context.Context, driver string, names, env []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, caseTimeout, errHung)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(vulkan.DriverEnv(manifestOf(driver)), "FARSIDE_CASE="+strings.Join(names, " "),
		"FARSIDE_CASE_DRIVER="+driver)
	// The race detector otherwise sleeps for a second at each process's end.
	cmd.Env = append(append(cmd.Env, "GORACE=atexit_sleep_ms=0"), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return out.String(), err
}

// maySkip names the device whose absence makes a case unsupported on Farside.
func maySkip(d *definition) string {
	if slices.Contains(d.extensions, dmaBufExtension) {
		if _, err := os.Stat(udmabufDevice); err != nil {
			return udmabufDevice
		}
	}
	if device := missingDevice(d); device != "" {
		return device
	}
	if d.compute {
		if err := shaders.Check(); err != nil {
			return err.Error()
		}
		for _, tool := range []string{"spirv-val", "spirv-as"} {
			if _, err := exec.LookPath(tool); err != nil {
				return tool
			}
		}
	}
	return ""
}

func TestConformance(t *testing.T) {
	names := map[string]bool{}
	for _, d := range table() {
		if names[d.name] {
			t.Fatalf("two cases are named %s", d.name)
		}
		names[d.name] = true
	}
	for name := range lavapipeBreaks {
		if !names[name] {
			t.Errorf("lavapipe's list names %s, which is no case", name)
		}
	}
	for name := range lavapipeSometimes {
		if !names[name] || lavapipeBreaks[name] != "" {
			t.Errorf("lavapipe's list of what fails now and then names %s, which is no case or always fails", name)
		}
	}
	for driver := range strings.SplitSeq(*drivers, ",") {
		t.Run(driver, func(t *testing.T) {
			if _, err := os.Stat(manifestOf(driver)); err != nil {
				t.Skipf("%s is missing (Debian package mesa-vulkan-drivers)", manifestOf(driver))
			}
			list := table()
			shared := batches{driver: driver, final: driver == "farside", well: func(string) bool { return true }}
			shared.alone = func(d *definition) bool { return driver == "lavapipe" && lavapipeBreaks[d.name] != "" }
			if driver == "lavapipe" {
				shared.keeps = lavapipeLibrary
				list = slices.DeleteFunc(list, func(d definition) bool { return d.farsideOnly })
			}
			shared.collect(list)
			for _, d := range list {
				t.Run(d.name, func(t *testing.T) {
					t.Parallel()
					o := shared.run(t.Context(), &d)
					if driver == "lavapipe" {
						if o.verdict == "fail" && lavapipeBreaks[d.name] == "" {
							t.Logf("once more: lavapipe has failed\n%s", o.text) // its races and the machine's load are not the case's
							o = runChild(t.Context(), driver, &d)
						}
						judgeLavapipe(t, &d, o)
						return
					}
					if o.verdict == "unsupported" && maySkip(&d) != "" {
						t.Skipf("%s is missing", maySkip(&d))
					}
					if o.verdict != "pass" {
						t.Errorf("%s\n%s", o.verdict, o.text)
					}
					// The driver names every handle that a case left to vkDestroyDevice or vkDestroyInstance.
					if strings.Contains(o.text, "device-05137") || strings.Contains(o.text, "instance-00629") {
						t.Errorf("a handle leaked\n%s", o.text)
					}
				})
			}
		})
	}
}

// strictFinds has what FARSIDE_STRICT rightly finds in cases, by the finding's id.
var strictFinds = map[string]string{
	// What the cases are about:
	"farside.sync.destroyed_fence":                 "FARSIDE-leaks-used-destroyed",
	"farside.sync.destroyed_event":                 "FARSIDE-leaks-used-destroyed",
	"farside.sync.destroyed_semaphore":             "FARSIDE-leaks-used-destroyed",
	"farside.command_buffers.pending.destroy_pool": "FARSIDE-leaks-used-destroyed",
	"farside.handles.destroyed_buffer":             "FARSIDE-leaks-used-destroyed",
	"farside.handles.freed_memory":                 "FARSIDE-leaks-used-destroyed",
	"nv.external_memory_rdma.freed":                "FARSIDE-leaks-freed-address",
	"nv.external_memory_rdma.peer_process":         "FARSIDE-rdma-out-of-range",
	"nv.external_memory_rdma.other_host":           "FARSIDE-rdma-out-of-range",
}

// TestStrict: with FARSIDE_STRICT=all a sample of the cases has the result that it has without, and nothing is found in
// it. -strict-every 1 is all of the cases.
func TestStrict(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("Farside's driver is not among -drivers")
	}
	finding := regexp.MustCompile(`farside: \w+: (FARSIDE-[\w-]+): .*`)
	for i, d := range table() {
		if i%*strictEvery != 0 {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := runChild(t.Context(), "farside", &d, "FARSIDE_STRICT="+*strict)
			if o.verdict == "unsupported" && maySkip(&d) != "" {
				t.Skipf("%s is missing", maySkip(&d))
			}
			if o.verdict != "pass" {
				t.Errorf("%s\n%s", o.verdict, o.text)
			}
			for _, f := range finding.FindAllStringSubmatch(o.text, -1) {
				// The second process of a case ends as it is, and by exit(3) under the race detector.
				if strictFinds[d.name] != f[1] && !strings.Contains(f[0], ": the process ends, and ") {
					t.Errorf("%s", f[0])
				}
			}
		})
	}
}

func judgeLavapipe(t *testing.T, d *definition, o outcome) {
	reason, listed := lavapipeBreaks[d.name]
	switch {
	case o.verdict == "unsupported":
		t.Logf("lavapipe has no way to run this: %s", o.text)
		if listed {
			t.Errorf("listed as broken (%s), but unsupported", reason)
		}
	case o.verdict == "pass" && listed:
		t.Errorf("lavapipe passes, but is listed as breaking a rule: %s", reason)
	case o.verdict == "fail" && lavapipeSometimes[d.name] != "":
		t.Logf("lavapipe fails this time: %s", lavapipeSometimes[d.name])
	case o.verdict == "fail" && !listed:
		t.Errorf("lavapipe fails and isn't listed\n%s", o.text)
	}
}

// TestValidation runs the cases that are valid usage under the validation layer and its synchronization
// validation, which must find nothing.
func TestValidation(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	if _, err := os.Stat(validationJSON); err != nil {
		t.Skipf("%s is missing (Debian package vulkan-validationlayers)", validationJSON)
	}
	list := slices.DeleteFunc(table(), func(d definition) bool { return !d.valid })
	shared := batches{driver: "farside", keeps: validationLib,
		extra: []string{"VK_INSTANCE_LAYERS=" + validationLayer, "FARSIDE_CASE_LAYERED=1",
			"VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"},
		well:  func(text string) bool { return len(validationErrors(text)) == 0 },
		alone: func(*definition) bool { return false }}
	shared.collect(list)
	for _, d := range list {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := shared.run(t.Context(), &d)
			if o.verdict == "unsupported" && maySkip(&d) != "" {
				t.Skipf("%s is missing", maySkip(&d))
			}
			if o.verdict != "pass" {
				t.Errorf("%s\n%s", o.verdict, o.text)
			}
			for _, line := range validationErrors(o.text) {
				t.Error(line)
			}
		})
	}
}

// layerTimeout is what the layer of 1.3.239 says on a busy machine after its own thread has not looked at a semaphore
// for 10 s, although it has passed the value; the message goes on "This is most likely a validation bug".
const layerTimeout = "UNASSIGNED-VkSemaphore-state-timeout"

// validationErrors are the lines by which the layer reports an error.
func validationErrors(text string) []string {
	var bad []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, layerTimeout) {
			continue
		}
		if strings.Contains(line, "Validation Error") || strings.Contains(line, "VALIDATION ERROR") {
			bad = append(bad, line[:min(len(line), 600)])
		}
	}
	return bad
}
