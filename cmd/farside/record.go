package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"farside/manifest"
)

// recordPath is where install keeps the list of what it has written, below the prefix.
const recordPath = "lib/farside/installed.json"

// recorded is a file as install wrote it.
type recorded struct {
	Path   string `json:"path"`             // below the prefix
	SHA256 string `json:"sha256,omitempty"` // of its content, hexadecimal
	Target string `json:"target,omitempty"` // of a symbolic link
}

var errNotInstalled = errors.New("not as install has written it")

func sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// keepRecord writes the list before the files are. What an older version has written, and this one doesn't, stays in
// it.
func (i *installation) keepRecord(contents [][]byte) error {
	var list []recorded
	for n, f := range items() {
		r := recorded{Path: f.path, Target: f.target}
		if f.target == "" {
			r.SHA256 = sum(contents[n])
		}
		list = append(list, r)
	}
	old, err := i.readRecord()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, r := range old {
		if !slices.ContainsFunc(list, func(n recorded) bool { return n.Path == r.Path }) {
			list = append(list, r)
		}
	}
	text, err := json.MarshalIndent(list, "", "\t")
	if err != nil {
		return err
	}
	to := i.place(recordPath)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return manifest.Replace(to, append(text, '\n'), 0o644)
}

func (i *installation) readRecord() (list []recorded, err error) {
	text, err := os.ReadFile(i.place(recordPath))
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", i.place(recordPath), err)
	}
	for _, r := range list {
		if !filepath.IsLocal(r.Path) {
			return nil, fmt.Errorf("%s: it names %q, which is not below the prefix", i.place(recordPath), r.Path)
		}
	}
	return list, nil
}

// unchanged says whether a file is as install wrote it. Errors: fs.ErrNotExist, errNotInstalled, those of reading it.
func (i *installation) unchanged(r recorded) error {
	path := i.place(r.Path)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	same := false
	switch {
	case info.Mode().Type() == fs.ModeSymlink && r.Target != "":
		var target string
		target, err = os.Readlink(path)
		same = target == r.Target
	case info.Mode().IsRegular() && r.SHA256 != "":
		var content []byte
		content, err = os.ReadFile(path)
		same = sum(content) == r.SHA256
	}
	if err == nil && !same {
		err = errNotInstalled
	}
	return err
}

// toRemove is the list. Without one it is the files that install would write, without content: they are somebody
// else's, or of a version that kept no list.
func (i *installation) toRemove() ([]recorded, error) {
	list, err := i.readRecord()
	if errors.Is(err, fs.ErrNotExist) {
		for _, f := range items() {
			list = append(list, recorded{Path: f.path})
		}
		err = nil
	}
	return list, err
}

// removeUnchanged removes the files that are as install wrote them, and then the list. The error names the files that
// stay.
func (i *installation) removeUnchanged(list []recorded) error {
	var stay []string
	for _, r := range list {
		path := i.place(r.Path)
		err := i.unchanged(r)
		if err == nil {
			err = os.Remove(path)
		}
		switch {
		case err == nil:
			fmt.Println("removed", path)
		case errors.Is(err, errNotInstalled):
			stay = append(stay, path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if err := os.Remove(i.place(recordPath)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if stay != nil {
		return fmt.Errorf("%w, so it stays: %s", errNotInstalled, strings.Join(stay, ", "))
	}
	return nil
}
