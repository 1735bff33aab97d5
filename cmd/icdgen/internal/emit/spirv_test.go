package emit

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"farside/cmd/icdgen/internal/registry"
)

func spirvGrammar(t testing.TB) (*registry.Grammar, []registry.Instruction) {
	t.Helper()
	core, err := os.ReadFile("../registry/testdata/spirv.core.grammar.json")
	if err != nil {
		t.Fatal(err)
	}
	glsl, err := os.ReadFile("../registry/testdata/extinst.glsl.std.450.grammar.json")
	if err != nil {
		t.Fatal(err)
	}
	g, err := registry.ParseGrammar(bytes.NewReader(core))
	if err != nil {
		t.Fatal(err)
	}
	set, err := registry.ParseExtendedSet(bytes.NewReader(glsl))
	if err != nil {
		t.Fatal(err)
	}
	return g, set
}

func TestPrintsSPIRV(t *testing.T) {
	files, err := SPIRV(spirvGrammar(t))
	if err != nil {
		t.Fatal(err)
	}
	again, err := SPIRV(spirvGrammar(t))
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]string{}
	for i, f := range files {
		if !bytes.Equal(f.Data, again[i].Data) {
			t.Errorf("%s differs the second time", f.Path)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(f.Path, "spirv/zz_generated_"), ".go")
		printed[name] = squeeze(string(f.Data))
	}
	for _, test := range []struct{ file, want string }{
		{"ops", "OpThing Op = 5 OpThingKHR Op = 5"},
		{"ops", "GLSLSin GLSL = 13"},
		{"enums", "type Hint uint32"},
		{"enums", "HintFar Hint = 0x2 HintFarKHR Hint = 0x2"},
		{"enums", "DecorationZeta DecorationKind = 0x7"},
		{"enums", "Dim2D Dim = 0x1"},
		{"enums", "func (v DecorationKind) String() string { return kindDecoration.format(uint32(v)) }"},
		{"tables", "const grammarVersion = 0x10600"},
		{"tables", "var opIndex = [...]uint16{ 0: 1, 5: 2, }"},
		{"tables", "requirement{span{0, 2}, span{0, 1}, 0x13, 0x15}"},
		{"tables", "kindDecoration: {3, 2, false}"},
		// Sorted by value: Alpha, 2, stands in front of Zeta, 7.
		{"tables", "{0x2, 36<<8 | 5, span{}, requirement{span{}, span{}, 0x10, 0}}, {0x7, 41<<8 | 4, span{},"},
		{"tables", "2: {58<<8 | 3, 2}"},
		// IdResultType, IdResult, IdRef, Hint once or not at all, any number of pairs.
		{"tables", "var operandTable = [...]operand{ 5, 6, 7, 257, 520, 7, }"},
		{"tables", "var capabilityTable = [...]uint16{ 1, 4000, 4000, }"},
		{"tables", `const names = "" + "OpNopOpThing`},
	} {
		if !strings.Contains(printed[test.file], test.want) {
			t.Errorf("%q is missing in %s", test.want, printed[test.file])
		}
	}
}

func TestSPIRVRefusesSeveralBits(t *testing.T) {
	g, set := spirvGrammar(t)
	g.Kinds[0].Enumerants[1].Value = 12
	if _, err := SPIRV(g, set); err == nil || !strings.Contains(err.Error(), `Hint: "Near" has several bits`) {
		t.Errorf("error %v", err)
	}
}
