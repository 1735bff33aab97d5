package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProfileCommands(t *testing.T) {
	list := string(ok(t, nil, "profile", "list"))
	for _, name := range []string{"default ", "group ", "h200 ", "h200-rdma ", "lavapipe ", "pair ", "tiny ", "unified "} {
		if !strings.Contains(list, name) {
			t.Errorf("the list lacks %s: %s", name, list)
		}
	}
	show := string(ok(t, nil, "profile", "show", "--cut", "h200"))
	for _, part := range []string{"NVIDIA H200", "140.4GiB", "no optimal images", "16 queues",
		"property       VkPhysicalDeviceLimits.maxImageDimension2D", "32768 -> 16384",
		"1.4.312 -> 1.3."} {
		if !strings.Contains(strings.Join(strings.Fields(show), " "), strings.Join(strings.Fields(part), " ")) {
			t.Errorf("show lacks %q", part)
		}
	}
	if strings.Count(string(ok(t, nil, "profile", "show", "group")), "of devices 0 1") != 2 {
		t.Error("show of a group")
	}
	if !strings.Contains(string(ok(t, nil, "profile", "check", "pair")), "2 physical devices") {
		t.Error("check of a pair")
	}
	wrong := filepath.Join(t.TempDir(), "wrong.toml")
	if err := os.WriteFile(wrong, []byte("[properties]\nmaxPushConstantsSize = 127\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arguments []string
		status    int
		text      string
	}{
		{[]string{"profile", "check", wrong}, 1, "maxPushConstantsSize: 127 is less than 128"},
		{[]string{"profile", "check", "h2000"}, 1, "nearest is h200"},
		{[]string{"profile", "show"}, 2, "--help"},
	} {
		wantFailure(t, c.status, c.text, c.arguments...)
	}
}

// TestShownCuts: farside profile show lists what is cut, by kind and with both values, in lines that fit a screen. It
// says how much of a long list is left out, which --cut has.
func TestShownCuts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "few.toml")
	const text = "[properties]\nmaxPushConstantsSize = 4096\n[features]\ngeometryShader = true\nalphaToOne = true\n" +
		"[extensions]\nVK_EXT_mesh_shader = true\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "  cut (extension):\n    VK_EXT_mesh_shader\n  cut (feature):\n    alphaToOne, geometryShader\n" +
		"  cut (property):\n    maxPushConstantsSize 4096 -> 256\n"
	if show := string(ok(t, nil, "profile", "show", file)); !strings.HasSuffix(show, want) {
		t.Errorf("show prints\n%swant at its end\n%s", show, want)
	}
	show := string(ok(t, nil, "profile", "show", "h200"))
	for _, part := range []string{"  cut (version):\n    apiVersion 1.4.312 -> 1.3.", "    accelerationStructure, ",
		"maxImageDimension2D 32768 -> 16384,", "0 GRAPHICS|COMPUTE|TRANSFER|SPARSE_BINDING -> COMPUTE|TRANSFER"} {
		if !strings.Contains(show, part) {
			t.Errorf("show lacks %q:\n%s", part, show)
		}
	}
	if n := strings.Count(show, "\n"); n > 50 || strings.Contains(show, "VK_KHR_video_queue") {
		t.Errorf("show has %d lines", n)
	}
	all := string(ok(t, nil, "profile", "show", "--cut", "h200"))
	shown, more := strings.Count(show, "VK_"), 0
	_, rest, _ := strings.Cut(show, "    and ")
	if _, err := fmt.Sscanf(rest, "%d more (--cut lists all)", &more); err != nil {
		t.Fatalf("%v in\n%s", err, show)
	}
	if n := strings.Count(all, "\nextension "); shown+more != n {
		t.Errorf("show has %d extensions and leaves out %d; --cut lists %d", shown, more, n)
	}
}
