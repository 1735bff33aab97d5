package spirv

import (
	"fmt"
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
		return strings.Replace(head, "%ENTRIES%\n", one, 1) + "%main = OpFunction %void None %fn\n%entry = OpLabel\n" + text + "OpReturn\nOpFunctionEnd\n"
	}
	repeat := func(n int, format string) string {
		var b strings.Builder
		for k := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(k)))
		}
		return b.String()
	}
	nested := func(n int) string {
		open := repeat(n, "OpBranch %h#\n%h# = OpLabel\nOpLoopMerge %m# %c# None\nOpBranchConditional %true %b# %m#\n%b# = OpLabel\n")
		var end strings.Builder
		for k := n - 1; k >= 0; k-- {
			end.WriteString(strings.ReplaceAll("OpBranch %c#\n%c# = OpLabel\nOpBranch %h#\n%m# = OpLabel\n", "#", fmt.Sprint(k)))
		}
		return body(open + end.String())
	}
	entries := strings.Replace(head, "%ENTRIES%\n", repeat(1500, "OpEntryPoint GLCompute %f# \"f#\"\n")+repeat(1500, "OpExecutionMode %f# LocalSize 1 1 1\n"), 1) +
		"%shared = OpFunction %void None %fn\n%l = OpLabel\n" + repeat(5000, "%x# = OpIAdd %int %c %c\n") + "OpReturn\nOpFunctionEnd\n" +
		repeat(1500, "%f# = OpFunction %void None %fn\n%l# = OpLabel\n%r# = OpFunctionCall %void %shared\nOpReturn\nOpFunctionEnd\n")
	cases := body("OpSelectionMerge %m None\nOpSwitch %c %m" + repeat(5000, " # %k#") + "\n" + repeat(5000, "%k# = OpLabel\nOpBranch %m\n") + "%m = OpLabel\n")
	// A ladder of conditions has a dominator tree as deep as it is long.
	ladder := body(repeat(5000, "OpSelectionMerge %m# None\nOpBranchConditional %true %t# %m#\n%t# = OpLabel\nOpBranch %m#\n%m# = OpLabel\n"))
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
