package profile

import (
	"os"
	"testing"
)

// seed adds a file of the tree to a corpus.
func seed(f *testing.F, names ...string) {
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 4000)])
	}
}

// harmless reads a file in one of the formats, and does with it what the driver does.
func harmless(t *testing.T, data []byte, read func([]byte) ([]*Device, error)) {
	list, err := read(data)
	if err != nil {
		if len(err.Error()) > 1000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	p := &Profile{Name: "fuzz", Devices: list}
	_ = Check(p, func(string) bool { return true }) // most break a rule
	for _, d := range list {
		Cut(d, testOwn())
	}
}

func FuzzText(f *testing.F) {
	seed(f, "builtin/h200.vulkaninfo.txt", "builtin/lavapipe.vulkaninfo.txt")
	f.Fuzz(func(t *testing.T, data []byte) { harmless(t, data, parseText) })
}

func FuzzVulkaninfoJSON(f *testing.F) {
	seed(f, "testdata/profile.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		harmless(t, data, func(data []byte) ([]*Device, error) {
			root, err := parseTree(data)
			if err != nil {
				return nil, err
			}
			d, err := parseVulkaninfoJSON(root)
			return []*Device{d}, err
		})
	})
}

func FuzzGPUInfo(f *testing.F) {
	seed(f, "testdata/report.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		harmless(t, data, func(data []byte) ([]*Device, error) {
			root, err := parseTree(data)
			if err != nil {
				return nil, err
			}
			d, err := parseGPUInfo(root)
			return []*Device{d}, err
		})
	})
}

func FuzzTOML(f *testing.F) {
	seed(f, "builtin/tiny.toml", "builtin/pair.toml")
	f.Add([]byte(exampleTOML))
	f.Fuzz(func(t *testing.T, data []byte) {
		harmless(t, data, func(data []byte) ([]*Device, error) {
			return parseTOML(data, func(string) ([]*Device, error) { return []*Device{newDevice(true)}, nil })
		})
	})
}
