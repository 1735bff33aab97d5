package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// thirdParty returns the licences of what is linked into the binaries of a tree: of Go's own library and of each
// module. They ask to be kept with binaries.
func (o *options) thirdParty(tree []file) ([]byte, error) {
	dirs, err := o.moduleDirectories()
	if err != nil {
		return nil, err
	}
	root, err := o.goCommand("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	used := map[string]string{"Go": strings.TrimSpace(root)}
	for _, f := range tree {
		// The library of verbs is assembly and C, of Farside's own.
		if b, err := f.binary(); err != nil || b == nil || b.Section(".go.buildinfo") == nil {
			continue
		}
		info, err := buildinfo.Read(bytes.NewReader(f.body))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		for _, m := range info.Deps {
			name := m.Path + " " + m.Version
			if used[name] = dirs[name]; used[name] == "" {
				return nil, fmt.Errorf("%s: the go command knows no directory of %s", f.path, name)
			}
		}
	}
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(used)) {
		texts, err := licences(used[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&all, "==== %s ====\n\n%s\n", name, texts)
	}
	return all.Bytes(), nil
}

// moduleDirectories maps "PATH VERSION" to where the module lies, for those that commands of Farside use.
func (o *options) moduleDirectories() (map[string]string, error) {
	out, err := o.goCommand("list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}",
		"./cmd/...")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(out) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[name] = dir
	}
	return dirs, nil
}

// goCommand runs the go command in Farside's source.
func (o *options) goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr, cmd.Env = o.source, os.Stderr, append(os.Environ(), "GOARCH="+o.arch, "CGO_ENABLED=1")
	out, err := cmd.Output()
	return string(out), err
}

var errNoLicence = errors.New("there is no licence")

// licences returns the licences and notices of a module.
func licences(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.Type().IsRegular() && slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"},
			func(prefix string) bool { return strings.HasPrefix(upper, prefix) }) {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			all = append(append(all, text...), '\n')
		}
	}
	if all == nil {
		return nil, fmt.Errorf("%w in %s", errNoLicence, dir)
	}
	return all, nil
}
