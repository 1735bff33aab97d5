package profile

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"farside/internal/fd"
)

//go:embed builtin
var builtin embed.FS

// DefaultName is the profile that changes nothing.
const DefaultName = "default"

// maxBases bounds how many files stand behind one another.
const maxBases = 8

// Builtin returns the names of the built-in profiles, the default first, each with a line that says what it is.
func Builtin() (names, about []string) {
	all, err := fs.Glob(builtin, "builtin/*.toml")
	if err != nil {
		return nil, nil // the pattern is a good one
	}
	for _, file := range all {
		names = append(names, strings.TrimSuffix(path.Base(file), ".toml"))
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(boolInt(b == DefaultName), boolInt(a == DefaultName)), cmp.Compare(a, b))
	})
	for _, name := range names {
		text, _ := builtin.ReadFile("builtin/" + name + ".toml")
		first, _, _ := strings.Cut(string(text), "\n")
		about = append(about, strings.TrimPrefix(first, "# "))
	}
	return names, about
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Load returns a built-in profile, or reads one from a file, of which name is the path. Errors: ErrProfile.
func Load(name string) (*Profile, error) {
	var list []*Device
	data, err := builtin.ReadFile("builtin/" + name + ".toml")
	if err == nil {
		list, err = parse(data, builtinFile, "", maxBases)
	} else if list, err = loadFile(name, maxBases); err != nil && !strings.ContainsAny(name, "/.") {
		names, _ := Builtin()
		err = fmt.Errorf("there is no file %q, and no built-in profile of that name: those are %s%s", clip(name),
			strings.Join(names, ", "), suggestion(name, names))
	}
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrProfile, clip(name), err)
	}
	return &Profile{Name: name, Devices: list}, nil
}

func suggestion(name string, names []string) string {
	if near := nearest(name, names); near != "" {
		return "; the nearest is " + near
	}
	return ""
}

// builtinFile reads what a built-in profile is based on.
func builtinFile(_, name string) ([]byte, string, error) {
	data, err := builtin.ReadFile(path.Join("builtin", name))
	return data, "", err
}

// diskFile reads a file, whose name is relative to dir.
func diskFile(dir, name string) ([]byte, string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	data, err := fd.ReadRegular(name, maxFile)
	return data, filepath.Dir(name), err
}

func loadFile(name string, bases int) ([]*Device, error) {
	data, dir, err := diskFile("", name)
	if err != nil {
		return nil, err
	}
	return parse(data, diskFile, dir, bases)
}

// parse recognises the format of a file by its content.
func parse(
	data []byte, open func(dir, name string) ([]byte, string, error), dir string, bases int,
) ([]*Device, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(text) > 0 && text[0] == '{':
		return parseJSON(data)
	case bytes.Contains(text, []byte("VULKANINFO\n")) || bytes.Contains(text, []byte("VULKANINFO\r\n")):
		return parseText(data)
	}
	return parseTOML(data, func(name string) ([]*Device, error) {
		if bases == 0 {
			return nil, errorf("more than %d files stand behind one another", maxBases)
		}
		if text, err := builtin.ReadFile("builtin/" + name + ".toml"); err == nil {
			return parse(text, builtinFile, "", bases-1)
		}
		text, at, err := open(dir, name)
		if err != nil {
			return nil, err
		}
		return parse(text, open, at, bases-1)
	})
}

func parseJSON(data []byte) ([]*Device, error) {
	root, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	var d *Device
	switch {
	case root.get("capabilities") != nil:
		d, err = parseVulkaninfoJSON(root)
	case root.get("properties") != nil && root.get("extensions") != nil:
		d, err = parseGPUInfo(root)
	default:
		return nil, errorf("line 1: the document is neither a Vulkan profile (\"capabilities\") nor a report of " +
			"gpuinfo.org (\"properties\", \"extensions\")")
	}
	if err != nil {
		return nil, err
	}
	return []*Device{d}, nil
}
