package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	t.Chdir(dir)
	ours, other, broken := "ours.json", "other.json", "broken.json"
	for path, library := range map[string]string{ours: "./" + LibraryName, other: "./libvulkan_lvp.so"} {
		if err := WriteFile(path, New(library, APIVersion)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, m, err := Find("nothing.json", ours, other)
	if err != nil || path != filepath.Join(dir, ours) || !m.IsFarside() {
		t.Errorf("%s %+v %v", path, m, err)
	}
	for _, c := range []struct {
		path string
		want error
	}{{"nothing.json", ErrNotFound}, {other, ErrNotFarside}, {broken, ErrInvalid}} {
		if _, _, err := Find(c.path); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	if list := Installed(); len(list) != 3 || list[0] != filepath.Join(dir, "vulkan", "icd.d", FileName()) {
		t.Errorf("%q", list)
	}
}
