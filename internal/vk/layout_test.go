package vk

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// goLayout is a structure or union as Go has it; the generated goLayouts lists all.
type goLayout struct {
	name  string
	union bool
	typ   reflect.Type
}

const vulkanHeader = "/usr/include/vulkan/vulkan_core.h"

// grown are structures that later revisions of their extension made longer than in Debian 12's header: their
// sizes can't be compared, but the members that both have are.
var grown = map[string]string{
	"VkPhysicalDeviceClusterCullingShaderPropertiesHUAWEI": "revision 3 added indirectBufferOffsetAlignment",
}

var (
	cStruct = regexp.MustCompile(`(?ms)^typedef (?:struct|union) (\w+) \{\n(.*?)^\} \w+;`)
	cField  = regexp.MustCompile(`(?m)(\w+)(?:\[[^\]]*\])*(:\d+)?;`)
)

// compiler returns the header and gcc's path.
func compiler(t *testing.T) (header []byte, cc string) {
	t.Helper()
	header, err := os.ReadFile(vulkanHeader)
	if err != nil {
		t.Skipf("package libvulkan-dev is missing: %v", err)
	}
	if cc, err = exec.LookPath("gcc"); err != nil {
		t.Skip("package gcc is missing")
	}
	return header, cc
}

// runC compiles and runs a C program, and returns the lines that it printed.
func runC(t *testing.T, cc string, src []byte) []string {
	t.Helper()
	dir := t.TempDir()
	file, prog := filepath.Join(dir, "test.c"), filepath.Join(dir, "test")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O0", "-w", "-o", prog, file).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%.2000s", err, out)
	}
	out, err := exec.Command(prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestLayout compares the size and alignment of every structure, and the offset and size of every field, with
// what the C compiler makes of Debian's header. Structures and fields newer than the header are left out.
func TestLayout(t *testing.T) {
	header, cc := compiler(t)
	fields := map[string][]string{}
	for _, m := range cStruct.FindAllSubmatch(header, -1) {
		name := string(m[1])
		fields[name] = []string{}
		for _, f := range cField.FindAllSubmatch(m[2], -1) {
			if len(f[2]) == 0 { // C can't take the offset of a bitfield
				fields[name] = append(fields[name], string(f[1]))
			}
		}
	}

	var src bytes.Buffer
	src.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <vulkan/vulkan_core.h>\nint main(void) {\n")
	var want []string
	structs, compared := 0, 0
	for _, l := range goLayouts {
		names, ok := fields[l.name]
		if !ok {
			continue
		}
		structs++
		if grown[l.name] == "" {
			fmt.Fprintf(&src, "printf(\"%[1]s %%zu %%zu\\n\", sizeof(%[1]s), _Alignof(%[1]s));\n", l.name)
			want = append(want, fmt.Sprintf("%s %d %d", l.name, l.typ.Size(), l.typ.Align()))
		}
		if first := l.typ.Field(0); first.Type.String() != "structs.HostLayout" {
			t.Errorf("%s: the first field is %s, not structs.HostLayout", l.name, first.Type)
		}
		for _, c := range names {
			goName := strings.ToUpper(c[:1]) + c[1:]
			var offset, size uintptr
			if l.union {
				m, ok := reflect.PointerTo(l.typ).MethodByName(goName)
				if !ok {
					t.Errorf("%s.%s: no accessor", l.name, c)
					continue
				}
				size = m.Type.Out(0).Elem().Size()
			} else {
				f, ok := l.typ.FieldByName(goName)
				if !ok {
					t.Errorf("%s.%s: no field", l.name, c)
					continue
				}
				offset, size = f.Offset, f.Type.Size()
			}
			compared++
			fmt.Fprintf(&src, "printf(\"%[1]s.%[2]s %%zu %%zu\\n\", offsetof(%[1]s, %[2]s), sizeof(((%[1]s *)0)->%[2]s));\n",
				l.name, c)
			want = append(want, fmt.Sprintf("%s.%s %d %d", l.name, c, offset, size))
		}
	}
	src.WriteString("return 0;\n}\n")
	if structs < 600 || compared < 3000 {
		t.Fatalf("only %d structures and %d fields to compare: the header was not understood", structs, compared)
	}

	got := runC(t, cc, src.Bytes())
	if len(got) != len(want) {
		t.Fatalf("C printed %d lines, expected %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("C has %q, Go has %q", got[i], want[i])
		}
	}
	t.Logf("compared %d structures and %d fields", structs, compared)
}

var (
	goConst = regexp.MustCompile(`(?m)^\t(\w+) +(?:\w+ +)?= (-?\d+|0x[0-9a-f]+)$`)
	cConst  = regexp.MustCompile(`\bVK_(\w+)(?: = |  *\(?-?[0-9])`)
)

// changed are constants whose values later revisions changed.
var changed = regexp.MustCompile(`_SPEC_VERSION$|^HEADER_VERSION|_(BEGIN_RANGE|END_RANGE|MAX_ENUM)`)

// TestValues compares every enumerant and integer constant with the C compiler's value for it.
func TestValues(t *testing.T) {
	header, cc := compiler(t)
	inC := map[string]bool{}
	for _, m := range cConst.FindAllSubmatch(header, -1) {
		inC[string(m[1])] = true
	}
	var src bytes.Buffer
	src.WriteString(
		"#define VK_ENABLE_BETA_EXTENSIONS\n#include <stdio.h>\n#include <vulkan/vulkan_core.h>\nint main(void) {\n")
	var want []string
	for _, file := range []string{"constants", "enums", "bitmasks"} {
		text, err := os.ReadFile("zz_generated_" + file + ".go")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goConst.FindAllSubmatch(text, -1) {
			name := string(m[1])
			if !inC[name] || changed.MatchString(name) {
				continue
			}
			bits := "(long long)"
			v, err := strconv.ParseInt(string(m[2]), 0, 64)
			if err != nil {
				u, err := strconv.ParseUint(string(m[2]), 0, 64)
				if err != nil {
					t.Fatal(err)
				}
				v = int64(u)
			}
			if strings.HasPrefix(string(m[2]), "0x") && v >= 0 && v < 1<<32 {
				bits = "(unsigned)" // C's enumerants are ints: bit 31 is negative there
			}
			fmt.Fprintf(&src, "printf(\"%[1]s %%lld\\n\", (long long)%[2]sVK_%[1]s);\n", name, bits)
			want = append(want, fmt.Sprintf("%s %d", name, v))
		}
	}
	src.WriteString("return 0;\n}\n")
	if len(want) < 2500 {
		t.Fatalf("only %d constants to compare: the header was not understood", len(want))
	}
	got := runC(t, cc, src.Bytes())
	if len(got) != len(want) {
		t.Fatalf("C printed %d lines, expected %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("C has %q, Go has %q", got[i], want[i])
		}
	}
	t.Logf("compared %d constants", len(want))
}
