package farsidetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/manifest"
)

// find returns the path of the driver's manifest: of the one given, or of the one that New describes.
func find(given string) (string, error) {
	if given != "" {
		path, _, err := manifest.Find(given)
		return path, err
	}
	return found()
}

// found finds or builds the driver, once for all tests of the process.
var found = sync.OnceValues(func() (string, error) {
	tree, noTree := source()
	var candidates []string
	if noTree == nil {
		candidates = append(candidates, filepath.Join(tree, "build", manifest.FileName()))
	}
	path, _, err := manifest.Find(append(candidates, manifest.Installed()...)...)
	if !errors.Is(err, manifest.ErrNotFound) {
		return path, err
	}
	if noTree != nil {
		return "", fmt.Errorf("%w, and no source to build: %w", err, noTree)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	// One place for each tree. The go command leaves what is up to date as it is.
	return build(tree, filepath.Join(cache, "farside", fmt.Sprintf("driver-%x", sha256.Sum256([]byte(tree)))[:24]))
})

// source is the directory of the module that this package is built from.
func source() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "farside").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m farside: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds the driver and its manifest into a directory. Processes that do so at the same time do it one by one.
func build(tree, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	// Without the script the driver would export what a program in Go exports as well.
	script := filepath.Join(tree, "cmd/libvulkan_farside/exports.map")
	cmd := exec.Command("go", "build", "-C", tree, "-trimpath", "-buildvcs=false", "-buildmode=c-shared",
		`-ldflags=-extldflags "-Xlinker '--version-script=`+script+`'"`,
		"-o", filepath.Join(dir, manifest.LibraryName), "./cmd/libvulkan_farside")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=", "GOOS=", "GOARCH=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the driver: %w\n%s", err, out)
	}
	path := filepath.Join(dir, manifest.FileName())
	return path, manifest.WriteFile(path, manifest.New("./"+manifest.LibraryName, manifest.APIVersion))
}

// hasJournal says whether a process has written a report into a directory.
func hasJournal(dir string) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			return true
		}
	}
	return false
}
