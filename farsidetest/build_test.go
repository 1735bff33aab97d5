package farsidetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuild: what is built where no driver is found is a driver.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: links the driver, and -short is set")
	}
	tree, err := source()
	if err != nil {
		t.Fatal(err)
	}
	path, err := build(tree, filepath.Join(t.TempDir(), "a b"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := New(t, Manifest(path)).Command("vulkaninfo", "--summary").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Farside") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPage runs the test of docs/testing-in-go.md in a module of its own, as the page says.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/testing-in-go.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```go\n")
	text, _, ok := strings.Cut(text, "```\n")
	if !ok {
		t.Fatal("the page has no program in Go")
	}
	tree, err := source()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "example_test.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "example"},
		{"mod", "edit", "-require=farside@v0.0.0", "-replace=farside=" + tree},
		{"mod", "tidy"},
		{"test", "-v", "."},
	} {
		cmd := exec.Command("go", args...)
		// The modules that the tree needs are in the cache. Their sums are not asked for again.
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GONOSUMDB=*", "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		if err != nil || args[0] == "test" && !strings.Contains(string(out), "PASS: TestUpload") {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
}
