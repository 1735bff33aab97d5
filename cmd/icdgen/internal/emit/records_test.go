package emit

import (
	"slices"
	"strings"
	"testing"

	"farside/cmd/icdgen/internal/registry"
)

// recordingRegistry has commands with every kind of argument that a record knows, and one that it doesn't.
func recordingRegistry(t *testing.T) *registry.Registry {
	t.Helper()
	reg := miniRegistry(t)
	add := func(name string, params ...*registry.Decl) {
		params = append([]*registry.Decl{{Name: "commandBuffer", Type: "VkDevice"}}, params...)
		reg.Commands = append(reg.Commands, &registry.Command{Name: name, Result: registry.Decl{Type: "void"},
			Params: params})
	}
	add("vkCmdMove", &registry.Decl{Name: "src", Type: "VkThing"},
		&registry.Decl{Name: "format", Type: "VkFormat"},
		&registry.Decl{Name: "thingCount", Type: "uint32_t"},
		&registry.Decl{Name: "pThings", Type: "VkThing", Pointer: 1, Len: "thingCount"},
		&registry.Decl{Name: "pValue", Type: "VkValue", Pointer: 1},
		&registry.Decl{Name: "infoCount", Type: "uint32_t"},
		&registry.Decl{Name: "pInfos", Type: "VkThingInfo", Pointer: 1, Len: "infoCount"},
		&registry.Decl{Name: "flags", Type: "VkWideFlags"})
	add("vkCmdData", &registry.Decl{Name: "size", Type: "uint64_t"},
		&registry.Decl{Name: "pData", Type: "void", Pointer: 1, Len: "size"})
	add("vkCmdPointers", &registry.Decl{Name: "ppThings", Type: "VkThing", Pointer: 2})
	add("vkCmdFloat", &registry.Decl{Name: "width", Type: "float"})
	add("vkCmdEndless", &registry.Decl{Name: "pThings", Type: "VkThing", Pointer: 1, Len: "elsewhere"})
	return reg
}

func TestOps(t *testing.T) {
	ops, err := Ops("op.go", []byte("package command\nconst (\n\tOpMove Op = iota + 1\n\tOpData\n)\nvar OpOther = 3\n"))
	if want := []string{"Move", "Data"}; err != nil || !slices.Equal(ops, want) {
		t.Errorf("Ops = %q, %v; want %q", ops, err, want)
	}
	for src, want := range map[string]string{
		"package command":                                                "op.go: no ops",
		"package command\nconst limit = 3":                               "op.go:2:7: limit is no op",
		"package command\nconst OpMove Op =":                             "op.go:2:",
		"package command\nconst OpMove Op = 2":                           "op.go:2:7: the ops must count from iota + 1",
		"package command\nconst (\n\tOpMove = iota + 1\n\tOpData = 7\n)": "op.go:4:2: the ops must count from iota + 1",
	} {
		if _, err := Ops("op.go", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
	}
}

func TestRecords(t *testing.T) {
	files, err := Records(recordingRegistry(t), []string{"Move", "Data", "Thing"})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Path != "internal/command/zz_generated_records.go" {
		t.Fatalf("files %v", files)
	}
	got := squeeze(string(files[0].Data))
	for _, want := range []string{
		`OpMove: "vkCmdMove",`,
		"type Move struct { Src vk.Thing Format vk.Format Things []vk.Thing Value *vk.Value Flags vk.WideFlags }",
		"func (s *Stream) Move(src vk.Thing, format vk.Format, things []vk.Thing, value *vk.Value, flags vk.WideFlags) error",
		"s.add(OpMove, []uint64{uint64(src), uint64(uint32(format)), uint64(len(things)), uint64(flags)}, " +
			"bytesOf(things), bytesAt(value))",
		"if r.Op != OpMove || len(r.words) < 4 {",
		"c.Flags = vk.WideFlags(r.words[3])",
		"if c.Things, rest, ok = array[vk.Thing](rest, r.words[2]); !ok",
		"if c.Value, rest, ok = structure[vk.Value](rest); !ok",
		"type Data struct { Data []byte }",
		"func (s *Stream) Data(data []byte) error",
		"type Thing struct { Thing vk.Thing Blend *[4]float32 }",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing\n%s\nin\n%s", want, got)
		}
	}
}

func TestRecordsRejects(t *testing.T) {
	for op, want := range map[string]string{
		"NoSuch":   "the registry has no command vkCmdNoSuch",
		"ThingKHR": "an alias; record Thing instead",
		"Pointers": "ppThings: no way to record it",
		"Float":    "width: no way to record it",
		"Endless":  "pThings: no argument counts its elements",
	} {
		if _, err := Records(recordingRegistry(t), []string{op}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", op, err, want)
		}
	}
}
