package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/manifest"
)

// files lists what lies below a directory and is no directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var installed = []string{
	".local/bin/farside", ".local/include/farside_rdma.h", ".local/lib/farside/installed.json",
	".local/lib/farside/libvulkan_farside.so", ".local/lib/farside/verbs/libibverbs.so.1",
	".local/lib/farside/verbs/librdmacm.so.1",
	".local/lib/libfarside_rdma.so", ".local/lib/libfarside_rdma.so.0", ".local/lib/pkgconfig/farside-rdma.pc",
	".local/share/bash-completion/completions/farside", ".local/share/fish/vendor_completions.d/farside.fish",
	".local/share/man/man1/farside.1", ".local/share/man/man7/farside.7",
	".local/share/vulkan/icd.d/" + manifest.FileName(), ".local/share/zsh/site-functions/_farside",
}

// newBuild makes a directory with files of the names that make build makes.
func newBuild(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a build")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, verbsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{manifest.LibraryName, rdmaLibrary, rdmaHeader, "verbs/" + verbsLibrary, "farside"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInstallAndUninstall(t *testing.T) {
	from, home := newBuild(t), filepath.Join(t.TempDir(), "a home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	for range 2 { // over an older version, too
		if r := farside(t, nil, "install", "--from", from); r.code != 0 ||
			strings.Count(string(r.out), "installed "+home) != len(installed)-1 { // but the list of them
			t.Fatalf("%d: %s%s", r.code, r.out, r.stderr)
		}
		if got := files(t, home); !slices.Equal(got, installed) {
			t.Errorf("installed %q, want %q", got, installed)
		}
	}
	path, m, err := findManifest("")
	if err != nil || path != filepath.Join(home, installed[len(installed)-2]) ||
		m.ICD.LibraryPath != filepath.Join(home, installed[3]) {
		t.Errorf("%s %+v, %v", path, m, err)
	}
	if b, err := os.ReadFile(m.ICD.LibraryPath); err != nil || string(b) != manifest.LibraryName {
		t.Errorf("the library is %q, %v", b, err)
	}
	for range 2 {
		if r := farside(t, nil, "uninstall"); r.code != 0 {
			t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
		}
		if got := files(t, home); len(got) != 0 {
			t.Errorf("%q are left", got)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".local/lib/farside")); !os.IsNotExist(err) {
		t.Error("the driver's directory is left")
	}
	// For a package: nothing but the place differs.
	stage := t.TempDir()
	args := []string{"--scope", "system", "--prefix", "/opt/far side", "--destdir", stage}
	if r := farside(t, nil, append([]string{"install", "--from", from}, args...)...); r.code != 0 {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	text, err := os.ReadFile(filepath.Join(stage, "usr/local/share/vulkan/icd.d", manifest.FileName()))
	if err != nil || !strings.Contains(string(text), `"/opt/far side/lib/farside/libvulkan_farside.so"`) {
		t.Errorf("the manifest is %s, %v", text, err)
	}
	if r := farside(t, nil, append([]string{"uninstall"}, args...)...); r.code != 0 || len(files(t, stage)) != 0 {
		t.Errorf("%d: %s%s, and %q are left", r.code, r.out, r.stderr, files(t, stage))
	}
}

// A package's tree has the same files as an installation, a manifest that finds the library wherever the tree lies,
// and no list, as package managers keep their own. The tool of an unpacked one runs programs from there and installs
// it.
func TestInstallPackage(t *testing.T) {
	from, home, stage := newBuild(t), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	ok(t, nil, "install", "--package", "arm64", "--from", from, "--prefix", "/usr", "--destdir", stage)
	var want []string
	for _, path := range installed {
		if path = strings.TrimPrefix(path, ".local/"); path != recordPath {
			want = append(want, "usr/"+strings.Replace(path, manifest.FileName(), "farside_icd.aarch64.json", 1))
		}
	}
	if diff := cmp.Diff(want, files(t, stage)); diff != "" {
		t.Errorf("the package's tree: %s", diff)
	}
	_, m, err := manifest.Find(filepath.Join(stage, "usr/share/vulkan/icd.d/farside_icd.aarch64.json"))
	if err != nil || m.ICD.LibraryPath != "../../../lib/farside/"+manifest.LibraryName {
		t.Errorf("the manifest is %+v, %v", m, err)
	}
	if text, err := os.ReadFile(filepath.Join(stage, "usr/lib/pkgconfig/farside-rdma.pc")); err != nil ||
		!strings.HasPrefix(string(text), "prefix=${pcfiledir}/../..\n") {
		t.Errorf("pkg-config's file is %s, %v", text, err)
	}
	wantFailure(t, 2, "none of the others can be", "install", "--package", "amd64", "--scope", "user", "--from", from)

	unpacked := filepath.Join(t.TempDir(), "un packed")
	ok(t, nil, "install", "--package", runtime.GOARCH, "--from", from, "--prefix", "/", "--destdir", unpacked)
	tool := filepath.Join(unpacked, "bin/farside")
	program, err := os.ReadFile(built)
	if err == nil {
		err = os.WriteFile(tool, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "run", "--", "sh", "-c", "echo $VK_DRIVER_FILES").CombinedOutput()
	path := filepath.Join(unpacked, "share/vulkan/icd.d", manifest.FileName())
	if want := path + "\n"; string(out) != want || err != nil {
		t.Errorf("programs run on %q, %v; want %q", out, err, want)
	}
	if out, err := exec.Command(tool, "install").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(installed, files(t, home)); diff != "" {
		t.Errorf("installed from the unpacked tree: %s", diff)
	}
	ok(t, nil, "uninstall")
	if left := files(t, home); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

// What install did not write, or somebody has changed since, stays, and uninstall says so.
func TestUninstallRemovesOnlyItsOwn(t *testing.T) {
	from, home := newBuild(t), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	put := func(path, content string) string {
		t.Helper()
		path = filepath.Join(home, path)
		_ = os.Remove(path)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Nothing was installed: a library and a program of others have the names.
	put(".local/bin/farside", "a program of somebody else")
	put(".local/lib/libfarside_rdma.so.0", "a library of somebody else")
	before := files(t, home)
	if r := farside(t, nil, "uninstall"); r.code != 1 || !strings.Contains(r.stderr, "not as install has written it") {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	if diff := cmp.Diff(before, files(t, home)); diff != "" {
		t.Errorf("uninstall without install: %s", diff)
	}
	// One is replaced after the installation, a link points elsewhere, a file is new.
	ok(t, nil, "install", "--from", from)
	put(".local/bin/farside", "another program of somebody else")
	put(".local/lib/farside/notes", "new")
	link := filepath.Join(home, ".local/lib/libfarside_rdma.so")
	if err := errors.Join(os.Remove(link), os.Symlink("libfarside_rdma.so.1", link)); err != nil {
		t.Fatal(err)
	}
	r := farside(t, nil, "uninstall")
	if r.code != 1 || !strings.Contains(r.stderr, home+"/.local/bin/farside") || !strings.Contains(r.stderr, link) {
		t.Errorf("%d: %s%s", r.code, r.out, r.stderr)
	}
	want := []string{".local/bin/farside", ".local/lib/farside/notes", ".local/lib/libfarside_rdma.so"}
	if diff := cmp.Diff(want, files(t, home)); diff != "" {
		t.Errorf("uninstall leaves and takes: %s", diff)
	}
	// The manifest names the library that was installed last.
	ok(t, nil, "install", "--from", from, "--prefix", filepath.Join(home, "a"))
	ok(t, nil, "install", "--from", from, "--prefix", filepath.Join(home, "b"))
	if out := string(ok(t, nil, "uninstall", "--prefix", filepath.Join(home, "a"))); !strings.Contains(out,
		filepath.Join(home, "b", driverPath)) {
		t.Errorf("what stays isn't told: %s", out)
	}
	if _, m, err := findManifest(""); err != nil || m.ICD.LibraryPath != filepath.Join(home, "b", driverPath) {
		t.Errorf("the manifest of another installation: %+v, %v", m, err)
	}
	// A list that leads elsewhere is refused.
	victim := put("victim", "x")
	put("b/"+recordPath, `[{"path": "../victim", "sha256": "`+sum([]byte("x"))+`"}]`)
	wantFailure(t, 1, "not below the prefix", "uninstall", "--prefix", filepath.Join(home, "b"))
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}

// Files that an older version has installed, and this one doesn't, go with the others.
func TestUninstallOfOlderVersion(t *testing.T) {
	from, home := newBuild(t), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	ok(t, nil, "install", "--from", from)
	list := filepath.Join(home, ".local", recordPath)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(text), "[", `[{"path": "bin/farside-old", "sha256": "`+sum([]byte("old"))+`"},`, 1)
	if err := errors.Join(os.WriteFile(list, []byte(old), 0o644),
		os.WriteFile(filepath.Join(home, ".local/bin/farside-old"), []byte("old"), 0o755)); err != nil {
		t.Fatal(err)
	}
	ok(t, nil, "install", "--from", from)
	ok(t, nil, "uninstall")
	if left := files(t, home); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

// pkg-config(1) gives back the prefix, whatever characters it has: it cut one at a #.
func TestPkgConfigOfPrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"/opt/farside": "/opt/farside",
		"/opt/a#b":     `/opt/a\#b`,
		`/a b'c"d\e`:   `/a\ b\'c\"d\\e`,
	} {
		text, err := pkgConfig(&installation{prefix: prefix})
		if err != nil || !strings.HasPrefix(string(text), "prefix="+want+"\n") {
			t.Errorf("%s: %s, %v", prefix, text, err)
		}
		if _, err := exec.LookPath("pkg-config"); err != nil {
			t.Logf("pkg-config is missing: what it makes of %s was not tried", prefix)
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "farside-rdma.pc"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		// The shell takes the words apart as a build does.
		cmd := exec.Command("sh", "-c", `eval "set -- $(pkg-config --cflags farside-rdma)"; printf %s "$1"`)
		cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+dir)
		if out, err := cmd.CombinedOutput(); string(out) != "-I"+prefix+"/include" || err != nil {
			t.Errorf("for %s pkg-config and the shell give %s, %v", prefix, out, err)
		}
	}
}

// Attack 14: a manifest was installed for a library that does not exist. Nothing is written where something is missing,
// or in the way.
func TestInstallRefuses(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	for _, missing := range []string{manifest.LibraryName, rdmaLibrary, rdmaHeader, verbsLibrary, "farside"} {
		from := newBuild(t)
		path := missing
		if missing == verbsLibrary {
			path = filepath.Join(verbsDir, verbsLibrary)
		}
		if err := os.Remove(filepath.Join(from, path)); err != nil {
			t.Fatal(err)
		}
		r := farside(t, nil, "install", "--from", from)
		if r.code != 1 || !strings.Contains(r.stderr, missing) || !strings.Contains(r.stderr, "make build") ||
			len(files(t, home)) != 0 {
			t.Errorf("without %s %d: %s, and %q are installed", missing, r.code, r.stderr, files(t, home))
		}
	}
	wantFailure(t, 1, "not user or system", "install", "--scope", "world", "--from", newBuild(t))
	wantFailure(t, 1, "not an absolute path", "install", "--prefix", "here", "--from", newBuild(t))
	for _, prefix := range []string{"/a\nlibdir=/b", "/a${libdir}"} {
		wantFailure(t, 1, "pkg-config", "install", "--prefix", prefix, "--destdir", home, "--from", newBuild(t))
	}
	wantFailure(t, 1, "pkg-config", "install", "--prefix", "/a$b", "--destdir", home, "--from", newBuild(t))
	wantFailure(t, 2, "unknown command", "uninstall", "more")
	other, err := manifest.New("/usr/lib/libvulkan_lvp.so", "1.3.230").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path, err := manifest.Path(manifest.User, "")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, other, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantFailure(t, 1, "not a manifest of this driver", "install", "--from", newBuild(t))
	if got := files(t, home); len(got) != 1 {
		t.Errorf("%q are there", got)
	}
	wantFailure(t, 1, "not a manifest of this driver", "uninstall")
	if got, err := os.ReadFile(path); err != nil || string(got) != string(other) {
		t.Errorf("the manifest became %s, %v", got, err)
	}
}

// Attack 14: make build in a checkout whose path has a space failed and left stray directories; make install with such
// a HOME failed.
func TestMakeInPathsWithSpaces(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds everything, and -short is set")
	}
	top := filepath.Join(t.TempDir(), "two words")
	tree, home := filepath.Join(top, "a check,out"), filepath.Join(top, "it's home")
	copyTree(t, tree)
	before, err := os.ReadDir(tree)
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "GOTELEMETRY=off", "XDG_CONFIG_HOME="+t.TempDir())
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		environ = append(environ, name+"="+strings.TrimSpace(string(out)))
	}
	in := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = tree, environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return string(out)
	}
	in("make", "install", "VERSION=9.8.7", "COMMIT=test")
	if got := files(t, home); !slices.Equal(got, installed) {
		t.Errorf("installed %q, want %q", got, installed)
	}
	in("make", "symbols")
	if out := in(filepath.Join(home, ".local/bin/farside"), "--version"); !strings.Contains(out, "9.8.7") {
		t.Error(out)
	}
	if out := in(filepath.Join(home, ".local/bin/farside"), "run", "--", "env"); !strings.Contains(out,
		"VK_DRIVER_FILES="+home) {
		t.Error(out)
	}
	if _, err := exec.LookPath("pkg-config"); err == nil {
		source := filepath.Join(top, "a peer.c")
		program := "#include <farside_rdma.h>\nint main(void) { return farside_status_string(0) == 0; }\n"
		if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		in("sh", "-ec", `export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"
			eval "gcc -o '$1.out' '$1' $(pkg-config --cflags --libs farside-rdma)"; "$1.out"`, "sh", source)
	} else {
		t.Log("pkg-config is missing: what it makes of the installed file was not tried")
	}
	in("make", "uninstall")
	if got := files(t, home); len(got) != 0 {
		t.Errorf("make uninstall leaves %q", got)
	}
	in("make", "clean")
	if after, err := os.ReadDir(tree); err != nil || len(after) != len(before) {
		t.Errorf("the tree has %v now, it had %v", after, before)
	}
	if names, err := os.ReadDir(top); err != nil || slices.ContainsFunc(names, func(e fs.DirEntry) bool {
		return e.Name() != "a check,out" && e.Name() != "it's home" && !strings.HasPrefix(e.Name(), "a peer.c")
	}) {
		t.Errorf("beside the tree there are %v, %v", names, err)
	}
}

// copyTree copies what it takes to build.
func copyTree(t *testing.T, to string) {
	t.Helper()
	const top = "../.."
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "build", "testdata", "conformance"}, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, filepath.Join(to, name))
		case !d.Type().IsRegular() || d.Name() == ".git":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, info.Mode())
	})
	if err != nil {
		t.Fatal(err)
	}
}
