package conformance

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/conformance/vulkan"
)

// runStrict compiles a program of clients/strict, and returns what it writes on standard output and standard error.
// Lines of its messenger are left out.
func runStrict(t *testing.T, name string, environ ...string) (out, stderr string) {
	t.Helper()
	needsTool(t, "gcc", "gcc")
	program := filepath.Join(t.TempDir(), name)
	args := []string{"-std=gnu11", "-Wall", "-Werror", "-o", program, "clients/strict/" + name + ".c", "-lvulkan"}
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var messages strings.Builder
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(vulkan.DriverEnv(farsideManifest()), environ...)
	cmd.Stderr = &messages
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, &messages)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "message ") })
	return strings.Join(lines, ""), messages.String()
}

// TestStrictPoison: fresh memory has the pattern with FARSIDE_STRICT=poison, whoever looks, and zeros without. What was
// written stays for an import when the exporter frees its memory.
func TestStrictPoison(t *testing.T) {
	for strict, fresh := range map[string]string{"": "00", "guard,leaks": "00", "poison": "FA"} {
		want := "fresh, by its mapping: " + fresh + "\nfresh, by an import: " + fresh + "\nfresh, by a queue: " + fresh +
			"\nfreed, by an import: 11\n"
		got, _ := runStrict(t, "poison", "FARSIDE_STRICT="+strict)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("FARSIDE_STRICT=%q (-want +got):\n%s", strict, diff)
		}
	}
}

// TestShuffleSeeds: with FARSIDE_STRICT=async commands that nothing orders come in an order of the seed, the same in
// each process. Without a seed the driver chooses one, and the log says which.
func TestShuffleSeeds(t *testing.T) {
	run := func(environ ...string) (order, seed string) {
		t.Helper()
		out, log := runStrict(t, "order", append(environ, "FARSIDE_LOG=info")...)
		if m := regexp.MustCompile(`FARSIDE_STRICT_SEED=(\d+)`).FindStringSubmatch(log); m != nil {
			seed = m[1]
		}
		return out, seed
	}
	if order, seed := run(); order != strings.Repeat("4", 16)+"\n" || seed != "" {
		t.Errorf("without async: the order is %q and the seed %q, want that of submission and none", order, seed)
	}
	const async, variable = "FARSIDE_STRICT=async", "FARSIDE_STRICT_SEED="
	seven, seed := run(async, variable+"7")
	if seed != "7" {
		t.Errorf("the log says seed %q, want 7", seed)
	}
	if again, _ := run(async, variable+"7"); again != seven {
		t.Errorf("the same seed gives the order %q, and %q before", again, seven)
	}
	if eight, _ := run(async, variable+"8"); eight == seven {
		t.Errorf("another seed gives the same order %q", eight)
	}
	chosen, seed := run(async)
	if again, _ := run(async, variable+seed); seed == "" || again != chosen {
		t.Errorf("the chosen seed %q gives the order %q, and %q before", seed, again, chosen)
	}
}
