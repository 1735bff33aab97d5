package spirv

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLargeModules has modules with much of one thing, for which no step may take quadratic time.
func TestLargeModules(t *testing.T) {
	const head = `OpCapability Shader
OpMemoryModel Logical GLSL450
%ENTRIES%
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%true = OpConstantTrue %bool
%int = OpTypeInt 32 0
%c = OpConstant %int 5
`
	const one = "OpEntryPoint GLCompute %main \"main\"\nOpExecutionMode %main LocalSize 1 1 1\n"
	body := func(text string) string {
		return strings.Replace(head, "%ENTRIES%\n", one, 1) + "%main = OpFunction %void None %fn\n%entry = OpLabel\n" + text +
			"OpReturn\nOpFunctionEnd\n"
	}
	repeat := func(n int, format string) string {
		var b strings.Builder
		for k := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(k)))
		}
		return b.String()
	}
	nested := func(n int) string {
		open := repeat(n,
			"OpBranch %h#\n%h# = OpLabel\nOpLoopMerge %m# %c# None\nOpBranchConditional %true %b# %m#\n%b# = OpLabel\n")
		var end strings.Builder
		for k := n - 1; k >= 0; k-- {
			end.WriteString(strings.ReplaceAll("OpBranch %c#\n%c# = OpLabel\nOpBranch %h#\n%m# = OpLabel\n", "#", fmt.Sprint(k)))
		}
		return body(open + end.String())
	}
	entries := strings.Replace(head, "%ENTRIES%\n",
		repeat(1500, "OpEntryPoint GLCompute %f# \"f#\"\n")+repeat(1500, "OpExecutionMode %f# LocalSize 1 1 1\n"), 1) +
		"%shared = OpFunction %void None %fn\n%l = OpLabel\n" + repeat(5000, "%x# = OpIAdd %int %c %c\n") +
		"OpReturn\nOpFunctionEnd\n" +
		repeat(1500,
			"%f# = OpFunction %void None %fn\n%l# = OpLabel\n%r# = OpFunctionCall %void %shared\nOpReturn\nOpFunctionEnd\n")
	cases := body("OpSelectionMerge %m None\nOpSwitch %c %m" + repeat(5000, " # %k#") + "\n" +
		repeat(5000, "%k# = OpLabel\nOpBranch %m\n") + "%m = OpLabel\n")
	// A ladder of conditions has a dominator tree as deep as it is long.
	ladder := body(
		repeat(5000,
			"OpSelectionMerge %m# None\nOpBranchConditional %true %t# %m#\n%t# = OpLabel\nOpBranch %m#\n%m# = OpLabel\n"))
	for name, test := range map[string]struct{ text, want string }{
		"entry points":   {entries, ""},
		"cases":          {cases, ""},
		"ladder":         {ladder, ""},
		"nested loops":   {nested(1000), ""},
		"nested too far": {nested(1100), "nested more than 1023 deep"},
	} {
		words := assemble(t, test.text)
		start := time.Now()
		err := check(t, words)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: %d words took %v", name, len(words), d)
		} else {
			t.Logf("%s: %d words took %v", name, len(words), d)
		}
	}
}

// TestLargeBound: a tiny module whose bound is the largest one that there is, with ids all over it. Tables by ID must
// not be as long as the bound; messages name the ids by the numbers that the module has.
func TestLargeBound(t *testing.T) {
	const text = `OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %4194302 "main"
OpExecutionMode %4194302 LocalSize 1 1 1
OpDecorate %70 SpecId 1
%7 = OpTypeVoid
%4000001 = OpTypeFunction %7
%90000 = OpTypeInt 32 0
%70 = OpSpecConstant %90000 5
%4100000 = OpSpecConstantOp %90000 IAdd %70 %70
%4194302 = OpFunction %7 None %4000001
%9 = OpLabel
OpSelectionMerge %3999999 None
OpSwitch %4100000 %3999999 10 %2000000
%2000000 = OpLabel
OpBranch %3999999
%3999999 = OpLabel
OpReturn
OpFunctionEnd
`
	words := assemble(t, text)
	if words[3] != maxBound {
		t.Fatalf("the bound is %d", words[3])
	}
	before := slices.Clone(words)
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	m := decode(t, words)
	if err := m.Check(everything()); err != nil {
		t.Fatal(err)
	}
	c, err := m.Constants(map[uint32][]byte{1: {21, 0, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&to)
	if n := to.TotalAlloc - from.TotalAlloc; n > 1<<20 {
		t.Errorf("%d words take %d bytes", len(words), n)
	}
	if !slices.Equal(words, before) {
		t.Error("the words that were given are not as they were")
	}
	f := m.Functions[0]
	if got := c.Values[f.Blocks[0].Terminator.Operands[0]]; got == nil || got.Bits != 42 {
		t.Errorf("the selector is %+v, want 42", got)
	}
	if got := m.Text(f.Blocks[0].Terminator); got != "OpSwitch %4100000 %3999999 10 %2000000" {
		t.Errorf("the switch is %q", got)
	}
	for wrong, want := range map[string]string{
		"%8 = OpCopyObject %90000 %3999998": "%3999998 is not defined",
		"%4194302 = OpUndef %90000":         "%4194302 is defined already",
		"%4000002 = OpUndef %4000003":       "its type %4000003 is not defined",
	} {
		_, err := Decode(assemble(t, strings.Replace(text, "OpBranch %3999999", wrong+"\nOpBranch %3999999", 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", wrong, err, want)
		}
	}
	outside := slices.Clone(before)
	outside[3] = 4194302
	if _, err := Decode(outside); err == nil ||
		!strings.Contains(err.Error(), "the id 4194302 is not between 0 and the bound") {
		t.Errorf("an id that is the bound: error %v", err)
	}
}
