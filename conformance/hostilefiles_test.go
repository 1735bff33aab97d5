package conformance

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
)

// hostileFiles makes what a path may wrongly lead to, by name.
func hostileFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	big, err := os.Create(at("zeros"))
	if err == nil {
		err = errors.Join(big.Truncate(300<<20), big.Close())
	}
	noise := bytes.Repeat([]byte{0x9d, 0x00, 0xff, '{', 0x1b, '[', 0x80, '"'}, 4096)
	err = errors.Join(err, unix.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("directory"), 0o700),
		os.Symlink("round", at("round")), os.Symlink("no/such/place", at("nowhere")),
		os.WriteFile(at("empty"), nil, 0o600), os.WriteFile(at("noise"), noise, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"zero": "/dev/zero", "null": "/dev/null", "full": "/dev/full", "random": "/dev/random",
		"mem": "/proc/self/mem"}
	for _, name := range []string{"zeros", "fifo", "directory", "round", "nowhere", "empty", "noise"} {
		all[name] = at(name)
	}
	return all
}

// TestHostileFiles: whatever the variables that name files lead to, a program works, or its instance isn't created and
// a message names the file.
func TestHostileFiles(t *testing.T) {
	needsTool(t, "vulkaninfo", "vulkan-tools")
	for _, variable := range []string{"FARSIDE_PROFILE", "FARSIDE_FAULTS", "FARSIDE_FAULTS_RECORD", "FARSIDE_REPORT",
		"FARSIDE_TRACE"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			for name, path := range hostileFiles(t, t.TempDir()) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				cmd := exec.CommandContext(ctx, "vulkaninfo", "--summary")
				cmd.Env = append(vulkan.DriverEnv(farsideManifest()), variable+"="+path, "XDG_RUNTIME_DIR="+t.TempDir())
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				var exit *exec.ExitError
				switch {
				case ctx.Err() != nil:
					t.Errorf("%s: it hangs\n%s", name, &stderr)
				case err == nil && strings.Contains(stdout.String(), "Farside"):
				case !errors.As(err, &exit) || exit.ExitCode() < 0:
					t.Errorf("%s: %v\n%s", name, err, &stderr)
				case !strings.Contains(stderr.String(), path) || !strings.Contains(stderr.String(), variable):
					t.Errorf("%s: no message has the variable and the file: %v\n%.2000s", name, err, &stderr)
				}
				cancel()
			}
		})
	}
}
