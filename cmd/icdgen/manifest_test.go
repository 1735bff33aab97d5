package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"farside/manifest"
)

// manifestCommand runs icdgen manifest and returns what it printed.
func manifestCommand(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(longFlags(append([]string{"manifest"}, args...)))
	err := cmd.Execute()
	return out.String(), err
}

func TestManifestWrites(t *testing.T) {
	want := manifest.New("./"+manifest.LibraryName, manifest.APIVersion)
	out, err := manifestCommand("-library", "./"+manifest.LibraryName)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := manifest.Parse([]byte(out)); err != nil || got != want {
		t.Errorf("printed %+v, %v; want %+v", got, err, want)
	}

	file := filepath.Join(t.TempDir(), "a.json")
	if out, err := manifestCommand("-library", "./"+manifest.LibraryName, "-o", file); err != nil || out != "" {
		t.Fatalf("printed %q, %v", out, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := manifest.Parse(data); err != nil || got != want {
		t.Errorf("wrote %+v, %v; want %+v", got, err, want)
	}
}

func TestManifestErrors(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"", "library"},
		{"-library=", "library_path is missing"},
		{"-library=/a.so -api-version=1.1", "major.minor.patch"},
		{"-library=/a.so more", "unknown command"},
		{"-library=/a.so -o /absent/b.json", "/absent"},
	}
	for _, test := range tests {
		out, err := manifestCommand(strings.Fields(test.args)...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v doesn't say %q", test.args, err, test.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %q has several lines", test.args, err)
		}
		if out != "" {
			t.Errorf("%q: printed %q", test.args, out)
		}
	}
}
