package conformance

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"farside/conformance/vulkan"
)

// runDemo runs conformance/demo with the built driver and more environment, and returns what it printed.
func runDemo(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	needsTool(t, "go", "golang")
	program := filepath.Join(t.TempDir(), "demo")
	build := exec.Command("go", "build", "-o", program, "./demo")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = ".."
	cmd.Env = append(vulkan.DriverEnv(farsideManifest()), env...)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	t.Logf("demo %s:\n%s", strings.Join(args, " "), &out)
	return out.String(), err
}

// TestDemo runs what `make run` shows.
func TestDemo(t *testing.T) {
	out, err := runDemo(t, nil)
	if err != nil || !strings.Contains(out, "wrote it to build/picture.png\n") ||
		!strings.HasSuffix(out, "Every byte was right.\n") {
		t.Fatal(err)
	}
}

// TestHosts runs what `make run-hosts` shows. It needs network namespaces.
func TestHosts(t *testing.T) {
	out, err := runDemo(t, nil, "hosts")
	for _, lacks := range []string{"iproute2", "no network namespace", "no veth pair"} {
		if err != nil && strings.Contains(out, lacks) {
			t.Skipf("SKIPPED: the demo between two hosts cannot run here (%s)", lacks)
		}
	}
	if err != nil || !strings.Contains(out, "GB/s") || !strings.HasSuffix(out, "Every byte was right.\n") {
		t.Fatal(err)
	}
}
