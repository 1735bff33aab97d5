package spirv

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestTypeDepth: types are nested as deep as MaxTypeDepth, and no deeper.
func TestTypeDepth(t *testing.T) {
	for depth, want := range map[int]string{
		MaxTypeDepth: "", MaxTypeDepth + 1: "nested more than 255 deep", 50_000: "nested more than 255 deep",
	} {
		text := "OpCapability Shader\nOpMemoryModel Logical GLSL450\n%a0 = OpTypeInt 32 0\n%one = OpConstant %a0 1\n"
		var types strings.Builder
		for i := 1; i < depth; i++ {
			fmt.Fprintf(&types, "%%a%d = OpTypeArray %%a%d %%one\n", i, i-1)
		}
		m, err := Decode(assemble(t, text+types.String()+fmt.Sprintf("%%null = OpConstantNull %%a%d\n", depth-1)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Constants(nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d deep: error %v, want %q", depth, err, want)
		}
	}
}

// TestOperandDepth: in the grammar, operands that bring others along are nested as deep as maxOperandDepth.
func TestOperandDepth(t *testing.T) {
	var depth func(list []operand, above int) int
	depth = func(list []operand, above int) int {
		deepest := above
		if above > 100 {
			t.Fatal("the grammar's operands nest without an end")
		}
		for _, o := range list {
			switch kind := o.kind(); kind {
			case kindPairIdRefIdRef, kindPairIdRefLiteralInteger, kindPairLiteralIntegerIdRef:
				deepest = max(deepest, above+1)
			case kindLiteralSpecConstantOpInteger:
				for op := range Op(math.MaxUint16) {
					if info := op.info(); info != nil && op.specializable() {
						deepest = max(deepest, depth(info.operands.operands()[2:], above+1))
					}
				}
			default:
				info := kindTable[kind]
				for _, e := range enumerantTable[info.at:][:info.n] {
					deepest = max(deepest, depth(e.parameters.operands(), above+1))
				}
			}
		}
		return deepest
	}
	deepest := 0
	for op := range Op(math.MaxUint16) {
		if info := op.info(); info != nil {
			deepest = max(deepest, depth(info.operands.operands(), 0))
		}
	}
	if deepest != maxOperandDepth {
		t.Errorf("operands are nested %d deep, want %d", deepest, maxOperandDepth)
	}
}

// TestImpliedCapabilities: in the grammar, so many capabilities imply one another in a row as maxImplied says.
func TestImpliedCapabilities(t *testing.T) {
	var chain func(c Capability, above int) int
	chain = func(c Capability, above int) int {
		if above > 100 {
			t.Fatalf("%v implies itself", c)
		}
		longest := above
		s := kindCapability.enumerant(uint32(c)).capabilities
		for _, implied := range capabilityTable[s.at:][:s.n] {
			longest = max(longest, chain(Capability(implied), above+1))
		}
		return longest
	}
	longest := 0
	info := kindTable[kindCapability]
	for _, e := range enumerantTable[info.at:][:info.n] {
		longest = max(longest, chain(Capability(e.value), 0))
	}
	if longest != maxImplied {
		t.Errorf("%d capabilities imply one another, want %d", longest, maxImplied)
	}
}
