package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"farside/internal/config"
	"farside/manifest"
)

// newManifest writes a manifest of a library.
func newManifest(t *testing.T, library string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), manifest.FileName())
	if err := manifest.WriteFile(path, manifest.New(library, manifest.APIVersion)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	t.Setenv("VK_DRIVER_FILES", "/other.json")
	t.Setenv("VK_ICD_FILENAMES", "/other.json")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	path := newManifest(t, "./"+manifest.LibraryName)
	show := []string{"sh", "-c", `echo "$VK_DRIVER_FILES $VK_ICD_FILENAMES $1"`, "sh", "--hex"}
	args := append([]string{"run", "--manifest", path, "--"}, show...)
	if out, want := string(ok(t, nil, args...)), path+" "+path+" --hex\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if r := farside(t, nil, "run", "--manifest", path, "sh", "-c", "exit 7"); r.code != 7 {
		t.Errorf("status %d, want the program's", r.code)
	}
	system, err := manifest.Path(manifest.System, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(system); err != nil { // the driver isn't installed on this machine
		wantFailure(t, 1, "make build", "run", "true")
	}
	wantFailure(t, 1, "not found", "run", "--manifest", path, "farside-no-such-program")
	wantFailure(t, 1, "no manifest of the driver: not /nowhere", "run", "--manifest", "/nowhere", "true")
	wantFailure(t, 1, manifest.ErrNotFarside.Error(), "run", "--manifest", newManifest(t, "./libvulkan_lvp.so"), "true")
	wantFailure(t, 2, "farside run --help", "run")

	// The one beside the tool comes first.
	beside := filepath.Join(filepath.Dir(built), manifest.FileName())
	if err := manifest.WriteFile(beside, manifest.New("./"+manifest.LibraryName, manifest.APIVersion)); err != nil {
		t.Fatal(err)
	}
	out := string(ok(t, nil, append([]string{"run", "--"}, show...)...))
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out, beside+" ") {
		t.Errorf("%q, want %s", out, beside)
	}

	// What make install installed for the user is found.
	library := filepath.Join(t.TempDir(), manifest.LibraryName)
	if err := os.WriteFile(library, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	installed, err := manifest.Install(manifest.User, "", manifest.New(library, manifest.APIVersion))
	if err != nil {
		t.Fatal(err)
	}
	if out = string(ok(t, nil, append([]string{"run", "--"}, show...)...)); !strings.HasPrefix(out, installed+" ") {
		t.Errorf("%q, want %s", out, installed)
	}
}

// TestVerbs runs a program that prints its environment, with a driver that has the libraries beside it and with one
// that has not.
func TestVerbs(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", "/theirs")
	t.Setenv("NCCL_IBVERBS_LIB", "/theirs/libibverbs.so.1")
	path := newManifest(t, "./"+manifest.LibraryName)
	dir := filepath.Join(filepath.Dir(path), verbsDir)
	wantFailure(t, 1, filepath.Join(dir, verbsLibrary), "verbs", "--manifest", path, "true")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, verbsLibrary), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	show := `echo "$LD_LIBRARY_PATH $NCCL_IBVERBS_LIB $VK_DRIVER_FILES $1"`
	args := []string{"verbs", "--manifest", path, "--", "/bin/sh", "-c", show, "sh", "--hex"}
	want := dir + ":/theirs " + dir + "/" + verbsLibrary + " " + path + " --hex\n"
	if out := string(ok(t, nil, args...)); out != want {
		t.Errorf("%q, want %q", out, want)
	}
	t.Setenv("LD_LIBRARY_PATH", "")
	if out := string(ok(t, nil, args...)); !strings.HasPrefix(out, dir+" ") {
		t.Errorf("%q, want %s first", out, dir)
	}
	if r := farside(t, nil, "verbs", "--manifest", path, "sh", "-c", "exit 7"); r.code != 7 {
		t.Errorf("status %d, want the program's", r.code)
	}
	wantFailure(t, 1, "not found", "verbs", "--manifest", path, "farside-no-such-program")
	wantFailure(t, 2, "farside verbs --help", "verbs")
}

// rows are the doctor's findings of one level, and what they are about.
func rows(out []byte, level string) (found string) {
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == level && !strings.HasPrefix(line, " ") {
			found += f[1] + " "
		}
	}
	return found
}

func TestDoctor(t *testing.T) {
	// A driver of its own: another test may be at build/ meanwhile.
	path := newManifest(t, "./"+manifest.LibraryName)
	library := filepath.Join(filepath.Dir(path), manifest.LibraryName)
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", library,
		"../libvulkan_farside")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := farside(t, nil, "doctor", "--manifest", path)
	if r.code != 0 || rows(r.out, "error") != "" || !strings.Contains(string(r.out), "Farside") ||
		!strings.Contains(string(r.out), path) {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	if !strings.Contains(rows(r.out, "warning"), "verbs ") || !strings.Contains(string(r.out), verbsLibrary) {
		t.Errorf("it doesn't miss the libraries of RDMA programs: %s", r.out)
	}
	t.Setenv("FARSIDE_HEAP_DEVICE", "3MiB")
	if r := farside(t, nil, "doctor", "--manifest", path); !strings.Contains(string(r.out), "heaps of 3MiB and ") {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	t.Setenv("FARSIDE_HEAP_DEVICE", "nonsense")
	r = farside(t, nil, "doctor", "--manifest", path)
	if r.code != 1 || rows(r.out, "error") != "environment driver fabric " ||
		!strings.Contains(r.stderr, "3 of the checks failed") {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	t.Setenv("FARSIDE_HEAP_DEVICE", "")
	t.Setenv("FARSIDE_HEAP_DEVCIE", "3MiB")
	r = farside(t, nil, "doctor", "--manifest", path)
	if r.code != 0 || !strings.Contains(rows(r.out, "warning"), "environment ") ||
		!strings.Contains(string(r.out), "the nearest is FARSIDE_HEAP_DEVICE") {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	r = farside(t, nil, "doctor", "--manifest", newManifest(t, "./"+manifest.LibraryName))
	if r.code != 1 || rows(r.out, "error") != "manifest driver " || !strings.Contains(string(r.out), "make build") {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	r = farside(t, nil, "doctor", "--manifest", path, "--fabric", "tls://127.0.0.1:1/")
	if r.code != 1 || rows(r.out, "error") != "fabric " || !strings.Contains(string(r.out), "FARSIDE_FABRIC_SECRET_FILE") {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
}

// TestEnv holds docs/environment.md against the table, and looks at the list for people.
func TestEnv(t *testing.T) {
	page, err := os.ReadFile("../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	if r := farside(t, nil, "env", "--markdown"); r.code != 0 || string(r.out) != string(page) {
		t.Errorf("docs/environment.md is not what farside env --markdown prints: run make docs\n%s", r.stderr)
	}
	t.Setenv("FARSIDE_WATCHDOG", "5s")
	r := farside(t, nil, "env")
	for _, v := range config.Table {
		if !strings.Contains(string(r.out), v.Name+"\n") && !strings.Contains(string(r.out), v.Name+`="5s"`) {
			t.Errorf("%s is not listed", v.Name)
		}
	}
	if r.code != 0 || !strings.Contains(string(r.out), `FARSIDE_WATCHDOG="5s"`) {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
}
