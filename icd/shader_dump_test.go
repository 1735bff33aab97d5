package icd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDumpTo writes the texts of two shaders whose entry points have names that are no names of files.
func TestDumpTo(t *testing.T) {
	if write, err := dumpTo("", "main"); write != nil || err != nil {
		t.Errorf("without a directory: %t, %v", write != nil, err)
	}
	directory := filepath.Join(t.TempDir(), "a", "b")
	for _, entry := range []string{"../../main", strings.Repeat("é", 200)} {
		write, err := dumpTo(directory, entry)
		if err != nil {
			t.Fatal(err)
		}
		write("00-lower", "one")
		write("01-tidy", "two")
	}
	for stage, want := range map[string]string{"00-lower": "one", "01-tidy": "two"} {
		files, err := filepath.Glob(filepath.Join(directory, "*", stage+".txt"))
		if err != nil || len(files) != 2 {
			t.Fatalf("%s: %q, %v", stage, files, err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err != nil || string(text) != want {
				t.Errorf("%s is %q, %v", f, text, err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dumpTo(file, "main"); err == nil {
		t.Error("a file is taken for a directory")
	}
}
