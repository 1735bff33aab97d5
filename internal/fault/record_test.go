package fault

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/internal/vk"
)

// TestRecord: what a process counts is there for others at once, and a file of another version is refused.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	r, err := StartRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := StartRecord(dir); again != r || err != nil {
		t.Errorf("a second record: %v", err)
	}
	r.Call("vkMapMemory")
	r.Call("vkMapMemory")
	r.Call("vkNothing")
	buffer := slices.Index(Kinds, "VkBuffer")
	r.Live(buffer, 3)
	r.Live(buffer, 2)
	r.Leave(buffer, 1)
	parse(t, "rdma.read=sever@1").At("rdma.read", nil)
	want := Counts{Injected: 1, Calls: map[string]uint64{"vkMapMemory": 2}, Left: map[string]uint64{"VkBuffer": 3}}
	got, err := ReadRecords(dir)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "1"), make([]byte, 64), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecords(dir); !errors.Is(err, errRecord) {
		t.Errorf("a file of another version: %v", err)
	}
}

// TestInteresting: a sweep tries errors that programs meet, one of them where two lead to the same path.
func TestInteresting(t *testing.T) {
	for name, want := range map[string][]vk.Result{
		"vkCreateBuffer":   {vk.ERROR_OUT_OF_DEVICE_MEMORY},
		"vkGetMemoryFdKHR": {vk.ERROR_TOO_MANY_OBJECTS, vk.ERROR_OUT_OF_HOST_MEMORY},
		"vkWaitForFences":  {vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.ERROR_DEVICE_LOST},
		"vkDestroyFence":   nil,
	} {
		if diff := cmp.Diff(want, Commands[commandIndex(name)].Interesting()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
