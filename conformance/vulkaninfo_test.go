package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
)

// tool runs a program on the driver and returns what it printed; it must succeed.
func tool(t *testing.T, env []string, dir, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(vulkan.DriverEnv(farsideManifest()), env...)
	cmd.Dir = dir
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); e != nil {
		t.Errorf("%s %v: %v\n%s", name, args, e, err.String())
	}
	return out.String(), err.String()
}

func needsTool(t *testing.T, name, pkg string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is missing (Debian package %s)", name, pkg)
	}
}

// needsCompiler skips a test that compiles shaders where there is no compiler.
func needsCompiler(t *testing.T) {
	t.Helper()
	if err := shaders.Check(); errors.Is(err, shaders.ErrTool) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func TestVulkaninfo(t *testing.T) {
	needsTool(t, "vulkaninfo", "vulkan-tools")
	layered := []string{"VK_INSTANCE_LAYERS=" + validationLayer}
	for _, c := range []struct {
		name string
		env  []string
		args []string
	}{
		{"text", nil, nil},
		{"summary", nil, []string{"--summary"}},
		{"json", nil, []string{"--json"}},
		{"text_validated", layered, nil},
		{"json_validated", layered, []string{"--json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.env != nil {
				if _, err := os.Stat(validationJSON); err != nil {
					t.Skipf("%s is missing (Debian package vulkan-validationlayers)", validationJSON)
				}
			}
			dir := t.TempDir()
			out, errors := tool(t, c.env, dir, "vulkaninfo", c.args...)
			for _, line := range validationErrors(out + "\n" + errors) {
				t.Error(line)
			}
			for line := range strings.Lines(errors) {
				// The loader remarks that it does what the environment asks for.
				if c.env != nil && strings.Contains(line, "'VK_INSTANCE_LAYERS' defined and adding layers") {
					continue
				}
				if strings.Contains(line, "ERROR") || strings.Contains(line, "WARNING") {
					t.Error(line)
				}
			}
			if len(c.args) == 0 && !strings.Contains(out, "VK_NV_external_memory_rdma") {
				t.Error("the text doesn't name VK_NV_external_memory_rdma")
			}
			if len(c.args) == 1 && c.args[0] == "--json" {
				checkJSON(t, dir, out)
			}
		})
	}
}

// checkJSON parses what vulkaninfo wrote: to a file in newer versions, to standard output in older ones.
func checkJSON(t *testing.T, dir, out string) {
	t.Helper()
	text := []byte(out)
	if files, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(files) == 1 {
		var err error
		if text, err = os.ReadFile(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	if !json.Valid(text) {
		t.Errorf("not valid JSON: %.300s", text)
	}
	if !bytes.Contains(text, []byte("Farside")) {
		t.Error("the JSON doesn't name Farside")
	}
}
