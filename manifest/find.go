package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotFound is wrapped by Find when none of the files exists.
var ErrNotFound = errors.New("no manifest of the driver")

// Installed returns where Install puts manifests, the user's first.
func Installed() []string {
	var paths []string
	for _, scope := range []Scope{User, System} {
		if path, err := Path(scope, ""); err == nil {
			paths = append(paths, path)
		}
	}
	// Where packages of distributions put it.
	return append(paths, filepath.Join("/usr/share/vulkan/icd.d", FileName()))
}

// Find reads the first of the files that exists and returns its absolute path. Errors wrap ErrNotFound, ErrInvalid if
// that file can't be read, or ErrNotFarside if it is another driver's.
func Find(paths ...string) (string, Manifest, error) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m Manifest
		if err == nil {
			m, err = Parse(data)
		}
		if err == nil && !m.IsFarside() {
			err = ErrNotFarside
		}
		if err != nil {
			return "", m, fmt.Errorf("%s: %w", path, err)
		}
		path, err = filepath.Abs(path)
		return path, m, err
	}
	return "", Manifest{}, fmt.Errorf("%w: not %s", ErrNotFound, strings.Join(paths, ", "))
}
