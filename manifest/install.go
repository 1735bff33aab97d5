package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Scope says for whom a manifest is installed.
type Scope int

const (
	// User installs for the user, in $XDG_DATA_HOME/vulkan/icd.d.
	User Scope = iota + 1
	// System installs for everyone, in /usr/local/share/vulkan/icd.d.
	System
)

// String returns the scope's name, which ParseScope reads.
func (s Scope) String() string {
	switch s {
	case User:
		return "user"
	case System:
		return "system"
	}
	return fmt.Sprintf("Scope(%d)", int(s))
}

// ParseScope reads "user" or "system".
func ParseScope(name string) (Scope, error) {
	switch name {
	case "user":
		return User, nil
	case "system":
		return System, nil
	}
	return 0, fmt.Errorf("scope %q is not user or system", name)
}

var (
	// ErrNotFarside is wrapped when the file in the way is another driver's, or no manifest at all.
	ErrNotFarside = errors.New("not a manifest of this driver")
	// ErrRelativePath is wrapped by Install when the library's path is not absolute: in another directory the
	// loader would look for it elsewhere.
	ErrRelativePath = errors.New("library path is not absolute")
	// ErrNoLibrary is wrapped by Install when there is no library at the path that the manifest names.
	ErrNoLibrary = errors.New("no such library")
	// ErrOtherLibrary is wrapped by Remove when the manifest is of another installation of this driver.
	ErrOtherLibrary = errors.New("of another installation")
)

// FileName returns the manifest's file name on this architecture.
func FileName() string { return FileNameOf(runtime.GOARCH) }

// FileNameOf returns the manifest's file name on an architecture (GOARCH). It has the kernel's name of the
// architecture, as those of other drivers have.
func FileNameOf(arch string) string {
	switch arch {
	case "amd64":
		arch = "x86_64"
	case "arm64":
		arch = "aarch64"
	}
	return "farside_icd." + arch + ".json"
}

// Path returns where Install puts the manifest. root is put before the directory, as DESTDIR is; "" means none.
// It fails when the user has no home directory.
func Path(scope Scope, root string) (string, error) {
	var dir string
	switch scope {
	case User:
		dir = os.Getenv("XDG_DATA_HOME")
		// The XDG base directory specification: relative values are invalid and to be ignored.
		if !filepath.IsAbs(dir) {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("finding the user's data directory: %w", err)
			}
			dir = filepath.Join(home, ".local", "share")
		}
	case System:
		dir = "/usr/local/share"
	default:
		return "", fmt.Errorf("no such scope: %v", scope)
	}
	return filepath.Join(root, dir, "vulkan", "icd.d", FileName()), nil
}

// Install writes the manifest where the loader looks for it and returns its path. See Path for root. A manifest
// of this driver that is there already is replaced; any other file is left alone, with an error that wraps
// ErrNotFarside.
func Install(scope Scope, root string, m Manifest) (string, error) {
	if !filepath.IsAbs(m.ICD.LibraryPath) {
		return "", fmt.Errorf("%w: %s", ErrRelativePath, m.ICD.LibraryPath)
	}
	// A manifest without its library makes each start of each Vulkan program complain.
	if info, err := os.Stat(filepath.Join(root, m.ICD.LibraryPath)); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoLibrary, err)
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: %s is not a file", ErrNoLibrary, m.ICD.LibraryPath)
	}
	path, err := Path(scope, root)
	if err != nil {
		return "", err
	}
	if err := Check(scope, root); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, WriteFile(path, m)
}

// Check says whether Install may write the manifest: with an error that wraps ErrNotFarside where another file is in
// the way.
func Check(scope Scope, root string) error {
	path, err := Path(scope, root)
	if err != nil {
		return err
	}
	if _, err := readOurs(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Remove deletes what Install wrote for a library, and returns its path. The error wraps fs.ErrNotExist when nothing is
// installed, ErrNotFarside when the file is not this driver's, and ErrOtherLibrary when it names another library of
// this driver.
func Remove(scope Scope, root, library string) (string, error) {
	path, err := Path(scope, root)
	if err != nil {
		return "", err
	}
	m, err := readOurs(path)
	if err != nil {
		return "", err
	}
	if filepath.Clean(m.ICD.LibraryPath) != filepath.Clean(library) {
		return "", fmt.Errorf("%s: %w: it names %s", path, ErrOtherLibrary, m.ICD.LibraryPath)
	}
	return path, os.Remove(path)
}

// readOurs reads a manifest of this driver.
func readOurs(path string) (Manifest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Manifest{}, err
	}
	m, err := Parse(data)
	if err != nil {
		return m, fmt.Errorf("%s: %w: %w", path, ErrNotFarside, err)
	}
	if !m.IsFarside() {
		return m, fmt.Errorf("%s: %w: it names %s", path, ErrNotFarside, m.ICD.LibraryPath)
	}
	return m, nil
}

// WriteFile writes the manifest to path with mode 0644, as Replace does.
func WriteFile(path string, m Manifest) error {
	data, err := m.Marshal()
	if err != nil {
		return err
	}
	return Replace(path, data, 0o644)
}

// Replace writes a file. It writes a temporary one and renames it, so that who opens it meanwhile gets the old file
// or the new one and never a part of it, and a program that runs from the old one goes on.
func Replace(path string, data []byte, mode fs.FileMode) (err error) {
	// The loader reads only names that end in .json, so it doesn't see the temporary file.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
