package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"farside/conformance/vulkan"
)

// dawnPackage is Dawn for Node.js: WebGPU on Vulkan, a client that nobody wrote for this driver.
const dawnPackage = "webgpu@0.6.2"

// dawn is the path of the package, which npm puts below build/ the first time.
func dawn(t *testing.T) string {
	t.Helper()
	needsTool(t, "node", "nodejs")
	needsTool(t, "npm", "npm")
	dir, err := filepath.Abs("../build/dawn")
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(dir, "node_modules", "webgpu", "index.js")
	if _, err := os.Stat(module); err == nil {
		return module
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", dir,
		dawnPackage)
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("the npm package %s is missing, and npm does not get it: %v\n%.1000s", dawnPackage, err, out)
	}
	return module
}

// TestDawn has Dawn draw a scene, with an index buffer, instances, a texture with levels, blending, a depth buffer and
// four samples that are resolved, and count its pixels with a compute shader.
func TestDawn(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	module := dawn(t)
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "clients/dawn/scene.mjs", module)
	cmd.Env = vulkan.DriverEnv(farsideManifest())
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &messages)
	}
	var scene struct {
		Adapter string
		Errors  []string
		Counts  []int
		Picture string
	}
	if err := json.Unmarshal(out, &scene); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(scene.Adapter, "Farside") || len(scene.Errors) != 0 ||
		strings.Contains(messages.String(), "VUID") {
		t.Errorf("adapter %q, errors %q\n%s", scene.Adapter, scene.Errors, &messages)
	}
	if want := []int{768, 768, 1024, 1024}; !slices.Equal(scene.Counts, want) {
		t.Errorf("red, green, blue and black pixels: %v, want %v", scene.Counts, want)
	}
	texels, err := base64.StdEncoding.DecodeString(scene.Picture)
	if err != nil || len(texels) != 64*256 {
		t.Fatalf("a picture of %d bytes, %v", len(texels), err)
	}
	// The first row of pixels has the last row of texels.
	for at, want := range map[[2]int][4]byte{
		{0, 0}: {0, 255, 0, 255}, {1, 0}: {255, 0, 0, 255}, {16, 0}: {128, 255, 128, 255}, {40, 7}: {0, 0, 255, 255},
		{7, 40}: {0, 0, 0, 255}, {32, 32}: {0, 255, 0, 255}, {33, 32}: {255, 0, 0, 255},
	} {
		got := [4]byte(texels[at[1]*256+at[0]*4:])
		for i, v := range want {
			if d := int(v) - int(got[i]); d < -1 || d > 1 {
				t.Errorf("pixel %v is %v, want %v", at, got, want)
				break
			}
		}
	}
}
