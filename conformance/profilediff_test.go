package conformance

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"farside/internal/profile"
)

// differences lists what a device answers otherwise than a reference says, as KIND NAME: WANT, GOT, of all extensions,
// features and structures that the driver's own device has.
func differences(reference, answer, own *profile.Device) []string {
	var list []string
	add := func(kind, name, want, got string) {
		if want != got {
			list = append(list, fmt.Sprintf("%s %s: %s, %s", kind, name, want, got))
		}
	}
	for key := range reference.Values {
		if _, ok := own.Values[key]; !ok {
			continue
		}
		add("property", key, reference.Value(key), answer.Value(key))
	}
	for name, on := range reference.Features {
		if !own.Features[name] {
			continue
		}
		add("feature", name, fmt.Sprint(on), fmt.Sprint(answer.Features[name]))
	}
	for name, revision := range reference.Extensions {
		if own.Extensions[name] == 0 {
			continue
		}
		add("extension", name, fmt.Sprint(revision), fmt.Sprint(answer.Extensions[name]))
	}
	for i := range max(len(reference.Heaps), len(answer.Heaps)) {
		add("heap", fmt.Sprint(i), element(reference.Heaps, i), element(answer.Heaps, i))
	}
	for i := range max(len(reference.Types), len(answer.Types)) {
		add("type", fmt.Sprint(i), element(reference.Types, i), element(answer.Types, i))
	}
	for i := range max(len(reference.Families), len(answer.Families)) {
		add("family", fmt.Sprint(i), element(reference.Families, i), element(answer.Families, i))
	}
	slices.Sort(list)
	return list
}

// element prints an element of a list, and nothing where there is none.
func element[T any](list []T, i int) string {
	if i >= len(list) {
		return ""
	}
	return fmt.Sprintf("%+v", list[i])
}

// textOf is what vulkaninfo prints of a profile, read as one.
func textOf(t *testing.T, name string) *profile.Device {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(file, []byte(vulkaninfoOf(t, name)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return p.Devices[0]
}

// TestH200 compares what vulkaninfo prints of the profile h200 with what it printed of that device. Each difference has
// its reason in testdata/h200.txt, and each row there has a difference.
func TestH200(t *testing.T) {
	answer, own := textOf(t, "h200"), textOf(t, profile.DefaultName)
	reference, err := profile.Load("h200")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/h200.txt")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, difference := range differences(reference.Devices[0], answer, own) {
		name, _, _ := strings.Cut(difference, ":")
		reason := ""
		for line := range strings.Lines(string(text)) {
			pattern, why, ok := strings.Cut(strings.TrimSpace(line), " | ")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			if fits, err := path.Match(pattern, name); err != nil {
				t.Fatalf("%s: %v", pattern, err)
			} else if fits && reason == "" {
				reason, used[pattern] = why, true
			}
		}
		t.Log(difference)
		if reason == "" {
			t.Errorf("without a reason: %s", difference)
		}
	}
	for line := range strings.Lines(string(text)) {
		pattern, _, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if ok && !strings.HasPrefix(line, "#") && !used[pattern] {
			t.Errorf("a reason for nothing: %s", pattern)
		}
	}
}
