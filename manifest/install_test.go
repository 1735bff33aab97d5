package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	tests := []struct {
		scope     Scope
		xdg, root string
		want      string
	}{
		{User, "", "", "/home/u/.local/share/vulkan/icd.d/"},
		{User, "/data", "", "/data/vulkan/icd.d/"},
		{User, "relative", "", "/home/u/.local/share/vulkan/icd.d/"},
		{User, "/data", "/tmp/stage", "/tmp/stage/data/vulkan/icd.d/"},
		{System, "/data", "", "/usr/local/share/vulkan/icd.d/"},
		{System, "", "/tmp/stage", "/tmp/stage/usr/local/share/vulkan/icd.d/"},
	}
	for _, test := range tests {
		t.Setenv("XDG_DATA_HOME", test.xdg)
		got, err := Path(test.scope, test.root)
		if want := test.want + FileName(); err != nil || got != want {
			t.Errorf("Path(%v, %q) with XDG_DATA_HOME=%q = %q, %v; want %q", test.scope, test.root, test.xdg, got, err, want)
		}
	}
	if path, err := Path(0, ""); err == nil {
		t.Errorf("Path of no scope = %q", path)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	if path, err := Path(User, ""); err == nil {
		t.Errorf("Path without a home directory = %q", path)
	}
}

func TestFileNameOf(t *testing.T) {
	for arch, want := range map[string]string{
		"amd64": "farside_icd.x86_64.json", "arm64": "farside_icd.aarch64.json", "riscv64": "farside_icd.riscv64.json",
	} {
		if got := FileNameOf(arch); got != want {
			t.Errorf("FileNameOf(%s) = %s, want %s", arch, got, want)
		}
	}
	if got, want := FileName(), FileNameOf(runtime.GOARCH); got != want {
		t.Errorf("FileName() = %s, want %s", got, want)
	}
}

// newLibrary makes a file that a manifest may name.
func newLibrary(t *testing.T, root, path string) {
	t.Helper()
	file := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestParseScope(t *testing.T) {
	for _, want := range []Scope{User, System} {
		if got, err := ParseScope(want.String()); err != nil || got != want {
			t.Errorf("ParseScope(%q) = %v, %v", want.String(), got, err)
		}
	}
	if got, err := ParseScope("root"); err == nil {
		t.Errorf("ParseScope(root) = %v", got)
	}
}

func TestInstallAndRemove(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", "/home/u")
	t.Setenv("XDG_DATA_HOME", "")
	for _, scope := range []Scope{User, System} {
		// Twice, as installing over an older version must work.
		for _, lib := range []string{"/opt/old/" + LibraryName, "/opt/new/" + LibraryName} {
			newLibrary(t, root, lib)
			want := New(lib, APIVersion)
			path, err := Install(scope, root, want)
			if err != nil {
				t.Fatal(err)
			}
			if wantPath, _ := Path(scope, root); path != wantPath {
				t.Errorf("Install wrote %s, want %s", path, wantPath)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Parse(data); err != nil || got != want {
				t.Errorf("installed %+v, %v; want %+v", got, err, want)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode() != 0o644 {
				t.Errorf("mode %v, %v; want 0644", info.Mode(), err)
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(entries) != 1 {
				t.Errorf("%v, %v beside the manifest; want nothing", entries, err)
			}
		}
		library := "/opt/new/" + LibraryName
		if _, err := Remove(scope, root, "/opt/old/"+LibraryName); !errors.Is(err, ErrOtherLibrary) {
			t.Errorf("Remove for another library: %v, want ErrOtherLibrary", err)
		}
		path, err := Remove(scope, root, library)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
		if _, err := Remove(scope, root, library); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("second Remove: %v, want fs.ErrNotExist", err)
		}
	}
}

func TestForeignFilesStay(t *testing.T) {
	other, err := New("/usr/lib/libvulkan_lvp.so", "1.3.230").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"another driver": string(other), "no manifest": "hello"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path, err := Path(System, root)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			newLibrary(t, root, "/opt/"+LibraryName)
			if _, err := Install(System, root, New("/opt/"+LibraryName, APIVersion)); !errors.Is(err, ErrNotFarside) {
				t.Errorf("Install: %v, want ErrNotFarside", err)
			}
			if _, err := Remove(System, root, "/opt/"+LibraryName); !errors.Is(err, ErrNotFarside) {
				t.Errorf("Remove: %v, want ErrNotFarside", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != content {
				t.Errorf("the file became %q, %v", got, err)
			}
		})
	}
}

func TestInstallErrors(t *testing.T) {
	root := t.TempDir()
	if _, err := Install(System, root, New("build/"+LibraryName, APIVersion)); !errors.Is(err, ErrRelativePath) {
		t.Errorf("relative library: %v, want ErrRelativePath", err)
	}
	// Attack 14: a manifest was installed for a library that does not exist.
	if _, err := Install(System, root, New("/opt/"+LibraryName, APIVersion)); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("missing library: %v, want ErrNoLibrary", err)
	}
	if _, err := Install(System, root, New("/", APIVersion)); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("a directory as library: %v, want ErrNoLibrary", err)
	}
	if path, _ := Path(System, root); exists(path) {
		t.Errorf("%s was written", path)
	}
	newLibrary(t, root, "/opt/"+LibraryName)
	if _, err := Install(System, root, New("/opt/"+LibraryName, "1")); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad version: %v, want ErrInvalid", err)
	}
	err := WriteFile(filepath.Join(root, "absent", "a.json"), New("/opt/a.so", APIVersion))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("absent directory: %v, want fs.ErrNotExist with its name", err)
	}
	// A directory in the way: the rename fails and the temporary file has to go.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "a.json"), New("/opt/a.so", APIVersion)); err == nil {
		t.Error("WriteFile replaced a directory")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v left behind", entries, err)
	}
}
