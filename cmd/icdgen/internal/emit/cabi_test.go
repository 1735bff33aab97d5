package emit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"farside/cmd/icdgen/internal/registry"
)

func miniRegistry(t *testing.T) *registry.Registry {
	t.Helper()
	f, err := os.Open("../registry/testdata/mini.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reg, err := registry.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestSupported(t *testing.T) {
	names, err := Supported("support.go", []byte(`package icd
var other = vk.Commands{No: no}
func init() { cabi.Install(cabi.Commands{CreateInstance: createInstance, CmdThing: cmdThing}) }`))
	if want := []string{"CreateInstance", "CmdThing"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("Supported = %q, %v; want %q", names, err, want)
	}
	for src, want := range map[string]string{
		"package icd": "support.go: no cabi.Commands literal",
		"package icd\nvar _ = cabi.Commands{create}":     "support.go:2:23: a command without its name",
		"package icd\nvar _ = cabi.Commands{\"a\": b}":   "support.go:2:23: not a command's name",
		"package icd\nvar _ = cabi.Commands{A: b":        "support.go:2:",
		"package icd\nvar _ = Commands{A: b}":            "no cabi.Commands literal",
		"package icd\nvar _ = x.Commands{A: cabi.Entry}": "no cabi.Commands literal",
	} {
		if _, err := Supported("support.go", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
	}
}

func TestCABI(t *testing.T) {
	// The order of the keys does not matter: the registry's does.
	files, err := CABI(miniRegistry(t), []string{"GetThing", "CmdThing", "GetInstanceProcAddr", "CreateInstance"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, f := range files {
		sources[strings.TrimPrefix(f.Path, "internal/cabi/zz_generated_")] = squeeze(string(f.Data))
	}
	for _, test := range []struct{ file, want string }{
		{"commands.go", "CreateInstance func(info *vk.ThingInfo, instance *vk.Instance) vk.Result"},
		{"commands.go", "GetInstanceProcAddr func(instance vk.Instance, name *byte) vk.PFN_vkNotify"},
		{"commands.go", "CmdThing func(device vk.Device, thing vk.Thing, blend *float32)"},
		{"commands.go",
			"f.result = uintptr(uint32(installed.CreateInstance((*vk.ThingInfo)(f.pointer(0)), (*vk.Instance)(f.pointer(1)))))"},
		{"commands.go", "f.result = uintptr(installed.GetInstanceProcAddr(vk.Instance(f.word(0)), (*byte)(f.pointer(1))))"},
		{"commands.go",
			"{ installed.GetThing(vk.PhysicalDevice(f.word(0)), vk.ThingFlags(f.word(1)), vk.WideFlags(f.word(2))) }"},
		{"commands.go",
			"[5]uint16{ 0: 4, // vkCmdThing 1: 4, // vkCmdThingKHR 2: 1, // vkCreateInstance 3: 2, // " +
				"vkGetInstanceProcAddr 4: 3, // vkGetThing }"},
		{"commands.go", "1: kindResult, // vkCreateInstance 2: kindWord, // vkGetInstanceProcAddr }"},
		{"stubs_amd64.s", "PCALIGN $16 MOVL $4, AX JMP farside_entry(SB)"},
		{"stubs_arm64.s", "PCALIGN $16 MOVD $4, R9 B farside_entry(SB)"},
	} {
		if !strings.Contains(sources[test.file], test.want) {
			t.Errorf("%s lacks %q:\n%s", test.file, test.want, sources[test.file])
		}
	}
	// One stub more than commands, since stub 0 is not used.
	for _, s := range []string{"stubs_amd64.s", "stubs_arm64.s"} {
		if n := strings.Count(sources[s], "PCALIGN"); n != 5 {
			t.Errorf("%s has %d stubs, want 5", s, n)
		}
	}
}

func TestCABIRejects(t *testing.T) {
	for key, want := range map[string]string{
		"NoSuch":      "the registry has no command vkNoSuch",
		"CmdThingKHR": "an alias; support CmdThing instead",
	} {
		if _, err := CABI(miniRegistry(t), []string{key}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", key, err, want)
		}
	}
}

func TestParamName(t *testing.T) {
	for name, want := range map[string]string{
		"pCreateInfo": "createInfo", "ppData": "data", "device": "device", "physicalDevice": "physicalDevice",
		"pipeline": "pipeline", "type": "type_", "pRange": "range_", "p": "p",
	} {
		if got := paramName(name); got != want {
			t.Errorf("paramName(%q) = %q, want %q", name, got, want)
		}
	}
}
