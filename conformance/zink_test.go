package conformance

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"farside/conformance/vulkan"
)

// TestZink has a program of OpenGL ES draw through Mesa's zink: textures, depths, a scissor, blending. It looks at the
// pixels itself. Transform feedback, without which zink has no OpenGL ES 3, is missing.
func TestZink(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	needsTool(t, "gcc", "gcc")
	for pattern, pkg := range map[string]string{"include/EGL/egl.h": "libegl-dev", "include/GLES2/gl2.h": "libgles-dev",
		"lib/*/libEGL_mesa.so.0": "libegl-mesa0", "lib/*/dri/zink_dri.so": "libgl1-mesa-dri"} {
		if found, _ := filepath.Glob("/usr/" + pattern); len(found) == 0 {
			t.Skipf("/usr/%s is missing (Debian package %s)", pattern, pkg)
		}
	}
	program := filepath.Join(t.TempDir(), "gl")
	if out, err := exec.Command("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-o", program,
		"clients/zink/gl.c", "-lEGL", "-lGLESv2").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(vulkan.DriverEnv(farsideManifest()), "GALLIUM_DRIVER=zink", "MESA_LOADER_DRIVER_OVERRIDE=zink",
		"LIBGL_ALWAYS_SOFTWARE=1", // which lets zink take a device that is a CPU
		"FARSIDE_LOG=warn")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "zink (Farside") || !strings.Contains(text, "all pixels are right") ||
		strings.Contains(text, "VUID") {
		t.Errorf("%v\n%s", err, text)
	}
}
