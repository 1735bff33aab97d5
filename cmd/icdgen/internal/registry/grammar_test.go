package registry

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func miniGrammar(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/spirv.core.grammar.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestParseGrammar(t *testing.T) {
	g, err := ParseGrammar(strings.NewReader(miniGrammar(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := Instruction{
		Name: "OpThing", Aliases: []string{"OpThingKHR"}, Opcode: 5,
		Operands: []Operand{{"IdResultType", ""}, {"IdResult", ""}, {"IdRef", ""}, {"Hint", "?"}, {"PairIdRefIdRef", "*"}},
		Requirement: Requirement{
			Capabilities: []string{"Small", "Big"}, Extensions: []string{"SPV_KHR_thing"}, Version: "1.3", LastVersion: "1.5",
		},
	}
	if diff := cmp.Diff(want, g.Instructions[1]); diff != "" {
		t.Errorf("the instruction differs: %s", diff)
	}
	far := g.Kinds[0].Enumerants[2]
	if far.Value != 2 || len(far.Parameters) != 1 || far.Aliases[0] != "FarKHR" {
		t.Errorf("the enumerant is %+v", far)
	}
	if z := g.Kinds[1].Enumerants[0]; z.Value != 7 || z.Version != "None" {
		t.Errorf("the enumerant with a number is %+v", z)
	}
}

func TestParseGrammarFails(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"kind":       {`"kind": "IdRef"`, `"kind": "IdFer"`, `"OpThing": unknown operand kind "IdRef"`},
		"quantifier": {`"?"`, `"+"`, `unknown quantifier "+"`},
		"capability": {`"Small",`, `"Large",`, `unknown capability "Large"`},
		"value":      {`"0x0001"`, `"bit"`, `is no number of 32 bits`},
		"twice":      {`"opcode": 5`, `"opcode": 0`, `opcode 0 is there twice`},
		"version":    {`"1.3"`, `"next"`, `bad version "next"`},
		"name":       {`"OpNop"`, `"Op Nop"`, `bad name`},
		"empty":      {`"major_version": 1`, `"major_version": 0`, `not SPIR-V's core grammar`},
		"bases":      {`"bases": [`, `"bases": ["Id",`, `unknown operand kind "Id"`},
	} {
		doc := strings.Replace(miniGrammar(t), test.old, test.new, 1)
		if name == "kind" {
			doc = strings.Replace(miniGrammar(t), `"category": "Id",
   "kind": "IdRef"`, `"category": "Id",
   "kind": "IdFer"`, 1)
		}
		_, err := ParseGrammar(strings.NewReader(doc))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, test.want)
		}
	}
	if _, err := ParseExtendedSet(strings.NewReader(`{"instructions": []}`)); err == nil {
		t.Error("an extended set without instructions was accepted")
	}
}

func FuzzGrammar(f *testing.F) {
	f.Fuzz(func(t *testing.T, doc string) {
		g, err := ParseGrammar(strings.NewReader(doc))
		switch {
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("an error of several lines: %q", err)
		case err == nil && len(g.Instructions) == 0:
			t.Error("a grammar without instructions was accepted")
		}
		if _, err := ParseExtendedSet(strings.NewReader(doc)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}
