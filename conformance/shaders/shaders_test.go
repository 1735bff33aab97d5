package shaders

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// TestCache: a shader is compiled once for its text, macros and options, and for none of the others.
func TestCache(t *testing.T) {
	if dir, err := Cache(); err != nil || filepath.Base(dir) != "shaders" {
		t.Errorf("in the tree, shaders are kept in %q, %v", dir, err)
	}
	t.Setenv(CacheEnv, t.TempDir())
	first := Source{Name: "first.comp", Text: "#version 450\nlayout(local_size_x = N) in; void main() {}",
		Defines: []string{"N=1"}}
	other, same := first, first
	other.Defines = []string{"N=2"}
	var modules [][]uint32
	for _, s := range []Source{first, other, same} {
		words, err := s.Compile()
		if errors.Is(err, ErrTool) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, words)
	}
	if slices.Equal(modules[0], modules[1]) || !slices.Equal(modules[0], modules[2]) {
		t.Errorf("modules of %v, %v and %v words: the second is another one, the third the first one", modules[0],
			modules[1], modules[2])
	}
	t.Setenv("PATH", t.TempDir()) // without a compiler
	if _, err := first.Compile(); err != nil {
		t.Errorf("what is kept is compiled again: %v", err)
	}
	other.Defines = []string{"N=3"}
	if _, err := other.Compile(); !errors.Is(err, ErrTool) {
		t.Errorf("without a compiler: %v", err)
	}
}
