package main

import (
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
