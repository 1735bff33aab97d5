package spirv

import (
	"errors"
	"math/bits"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestText holds the text of every instruction of the shaders against spirv-dis, and so the operand tables too.
func TestText(t *testing.T) {
	dis := tool(t, "spirv-dis")
	for name, words := range shaders(t) {
		cmd := exec.Command(dis, "--raw-id", "--no-header", "--no-indent", "-")
		cmd.Stdin = strings.NewReader(string(toBytes(words)))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(out)), "\n")
		m := decode(t, words)
		m.names = nil
		at := headerWords
		for n, line := range want {
			i := &Instruction{Op: Op(words[at]), Offset: uint32(at)}
			length := int(words[at] >> 16)
			operands := words[at+1:][:length-1]
			for _, o := range i.Op.info().operands.operands() {
				switch o.kind() {
				case kindIdResultType:
					i.Type = ID(operands[0])
				case kindIdResult:
					i.Result = ID(operands[0])
				default:
					continue
				}
				operands = operands[1:]
			}
			i.Operands = operands
			// The tools write more digits of floats, and halves in hexadecimal.
			if got := m.Text(i); got != strings.TrimSpace(line) &&
				(i.Op != OpConstant || m.Definitions[i.Type].Op != OpTypeFloat) {
				t.Errorf("%s, line %d: %s, want %s", name, n, got, line)
			}
			at += length
		}
		if at != len(words) {
			t.Errorf("%s: %d of %d words", name, at, len(words))
		}
	}
}

func TestDecodeShader(t *testing.T) {
	words := shaders(t)["control.comp"]
	m := decode(t, words)
	if m.Version != 0x10600 || m.Memory != MemoryModelGLSL450 || m.Addressing != AddressingModelLogical {
		t.Errorf("version %#x, memory model %v, addressing %v", m.Version, m.Memory, m.Addressing)
	}
	if len(m.EntryPoints) != 1 || m.EntryPoints[0].Name != "main" || m.EntryPoints[0].Model != ExecutionModelGLCompute {
		t.Fatalf("entry points %v", m.EntryPoints)
	}
	if modes := m.EntryPoints[0].Modes; len(modes) != 1 || modes[0].Op != OpExecutionModeId &&
		modes[0].Op != OpExecutionMode {
		t.Errorf("modes %v", modes)
	}
	if len(m.EntryPoints[0].Interface) == 0 {
		t.Error("no interface")
	}
	if len(m.Functions) != 3 {
		t.Fatalf("%d functions", len(m.Functions))
	}
	for _, f := range m.Functions {
		for n, b := range f.Blocks {
			if b.Index != n || b.Label.Op != OpLabel || b.Terminator == nil || !b.Terminator.Op.terminates() {
				t.Errorf("%s: bad block %d", m.Name(f.Result), n)
			}
		}
	}
	f := function(t, m, "classify")
	if len(f.Parameters) != 1 || m.Definitions[f.Result] != f.Instruction {
		t.Errorf("classify has %d parameters", len(f.Parameters))
	}
	found := false
	for id, list := range m.Decorations {
		for _, dec := range list {
			if dec.Kind == DecorationSpecId && dec.Operands[0] == 1 {
				found = m.Definitions[id].Op == OpSpecConstant
			}
		}
	}
	if !found {
		t.Error("no specialization constant 1")
	}
	swapped := slices.Clone(words)
	for i, w := range swapped {
		swapped[i] = bits.ReverseBytes32(w)
	}
	if other := decode(t, swapped); len(other.Functions) != 3 || other.EntryPoints[0].Name != "main" {
		t.Error("the other byte order decodes differently")
	}
}

const header = `OpCapability Shader
OpMemoryModel Logical GLSL450
`

const minimal = header + `OpEntryPoint GLCompute %1 "main"
OpExecutionMode %1 LocalSize 1 1 1
%2 = OpTypeVoid
%3 = OpTypeFunction %2
%1 = OpFunction %2 None %3
%4 = OpLabel
OpReturn
OpFunctionEnd
`

func TestGroupsAndLines(t *testing.T) {
	m := decode(t, assemble(t, `OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %1 "main"
OpExecutionMode %1 LocalSize 1 1 1
%20 = OpString "file.comp"
OpName %1 "start"
OpMemberName %10 1 "second"
OpDecorate %11 Restrict
OpDecorate %11 Binding 7
%11 = OpDecorationGroup
OpDecorate %12 DescriptorSet 1
OpGroupDecorate %11 %12
OpDecorate %13 Coherent
%13 = OpDecorationGroup
OpGroupMemberDecorate %13 %10 0 %10 1
%2 = OpTypeVoid
%3 = OpTypeFunction %2
%9 = OpTypeInt 32 0
%10 = OpTypeStruct %9 %9
%14 = OpTypePointer StorageBuffer %10
%12 = OpVariable %14 StorageBuffer
%1 = OpFunction %2 None %3
%4 = OpLabel
OpLine %20 7 3
OpNop
OpNoLine
OpReturn
OpFunctionEnd
`))
	var kinds []DecorationKind
	for _, d := range m.Decorations[12] {
		kinds = append(kinds, d.Kind)
	}
	if !slices.Equal(kinds, []DecorationKind{DecorationDescriptorSet, DecorationRestrict, DecorationBinding}) {
		t.Errorf("decorations %v", kinds)
	}
	if d := m.MemberDecorations[10][1]; len(d) != 1 || d[0].Kind != DecorationCoherent {
		t.Errorf("member decorations %v", d)
	}
	if m.DebugName(1) != "start" || m.Name(1) != "%start" || m.DebugName(2) != "" || m.Name(2) != "%2" {
		t.Errorf("names %s, %s", m.Name(1), m.Name(2))
	}
	lines := m.Functions[0].Blocks[0].Lines
	if len(lines) != 2 || lines[0].Line != 7 || m.Strings[lines[0].File] != "file.comp" || lines[1].File != 0 {
		t.Errorf("lines %v", lines)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := assemble(t, minimal)
	edit := func(at int, word uint32) []uint32 {
		words := slices.Clone(good)
		words[at] = word
		return words
	}
	for name, test := range map[string]struct {
		words []uint32
		want  string
	}{
		"empty":       {nil, "word 0: the module is shorter than its header"},
		"magic":       {edit(0, 7), "word 0: the magic number"},
		"version":     {edit(1, 0x10700), "word 1: the version"},
		"bound 0":     {edit(3, 0), "word 3: the bound"},
		"large bound": {edit(3, 1<<23), "word 3: the bound"},
		"small bound": {edit(3, 4), "the id 4 is not between 0 and the bound"},
		"schema":      {edit(4, 1), "word 4: the schema"},
		"length 0":    {edit(5, 17), "word 5: OpCapability: the instruction is not as long as it says"},
		"too long":    {edit(5, 0xffff<<16|17), "word 5: OpCapability: the instruction is not as long as it says"},
		"opcode":      {edit(5, 2<<16|9999), "word 5: Op(9999): the opcode is unknown"},
		"capability":  {edit(6, 99999), "word 5: OpCapability: 99999 is not a known value"},
		"cut":         {good[:len(good)-1], "the function has no OpFunctionEnd"},
	} {
		_, err := Decode(test.words)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	for name, test := range map[string]struct{ old, new, want string }{
		"no memory model": {"OpMemoryModel Logical GLSL450\n", "", "no OpMemoryModel"},
		"twice":           {"%3 = OpTypeFunction %2", "%3 = OpTypeFunction %2\n%3 = OpUndef %2", "%3 is defined already"},
		"undefined":       {"OpReturn", "OpBranch %9", "OpBranch: %9 is not defined"},
		"type":            {"%1 = OpFunction %2", "%1 = OpFunction %8", "its type %8 is not defined in front of it"},
		"order": {"%2 = OpTypeVoid", "%2 = OpTypeVoid\nOpCapability Int64",
			"OpCapability: it stands behind a section"},
		"no terminator":   {"OpReturn\n", "", "the block of word"},
		"two terminators": {"OpReturn\n", "OpReturn\nOpReturn\n", "OpReturn: it stands outside of a block"},
		"no label":        {"%4 = OpLabel\n", "", "OpReturn: it stands outside of a block"},
		"no blocks":       {"%4 = OpLabel\nOpReturn\n", "", "the function has no blocks"},
		"late merge": {"OpReturn", "OpSelectionMerge %4 None\n%7 = OpUndef %2\nOpReturn",
			"between a merge instruction and the end"},
		"late phi":         {"OpReturn", "%7 = OpUndef %2\n%8 = OpPhi %2 %7 %4\nOpReturn", "OpPhi: it stands behind another"},
		"type in function": {"OpReturn", "%7 = OpTypeBool\nOpReturn", "OpTypeBool: it may not stand in a function"},
		"code outside": {"%1 = OpFunction", "OpReturn\n%1 = OpFunction",
			"OpReturn: it may only stand in a function's block"},
		"no function":     {"OpEntryPoint GLCompute %1", "OpEntryPoint GLCompute %2", "is not a"},
		"mode of nothing": {"OpExecutionMode %1", "OpExecutionMode %2", "%2 is not an entry point"},
	} {
		if !strings.Contains(minimal, test.old) {
			t.Fatal(name)
		}
		text := strings.Replace(minimal, test.old, test.new, 1)
		_, err := Decode(assemble(t, text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(toBytes([]uint32{magic, 0x10600, 0, 8, 0, 2<<16 | uint32(OpCapability), 1, 3<<16 | uint32(OpMemoryModel), 0, 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(toWords(data))
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || int(e.Offset) > len(data)/4 {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, i := range m.Globals {
			m.Text(i)
		}
		for _, fn := range m.Functions {
			for _, b := range fn.Blocks {
				for _, i := range b.Instructions {
					m.Text(i)
				}
				m.Text(b.Terminator)
			}
		}
	})
}
