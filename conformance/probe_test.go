package conformance

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProbe compiles a plain C program against the system's Vulkan header and lets it ask.
func TestProbe(t *testing.T) {
	needsTool(t, "gcc", "gcc")
	probe := filepath.Join(t.TempDir(), "probe")
	out, err := exec.Command("gcc", "-Wall", "-Werror", "-o", probe, "clients/probe/probe.c", "-lvulkan").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc (Debian packages gcc, libvulkan-dev): %v\n%s", err, out)
	}
	text, _ := tool(t, nil, "", probe)
	if !strings.HasSuffix(text, "done\n") {
		t.Error("the probe didn't come to its end")
	}
	rules := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "broken") {
			t.Error(line)
		}
		if strings.HasPrefix(line, "ok ") {
			rules++
		}
	}
	if rules < 50 {
		t.Errorf("the probe asked only %d rules:\n%s", rules, text)
	}
}
