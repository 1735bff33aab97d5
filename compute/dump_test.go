package compute

import (
	"slices"
	"strings"
	"testing"

	"farside/spirv"
)

const dumped = `#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint y[]; };
shared uint s[64];
void main() {
	uint i = gl_LocalInvocationID.x, sum = 0;
	s[i] = y[i];
	barrier();
	for (uint k = 0; k < y[i + 1]; k++) {
		if ((sum & 1) == 1)
			sum += s[k] * i;
		sum ^= k;
	}
	atomicAdd(y[0], sum);
	y[i] = sum < 7 ? sum : i;
}`

// Option Dump gets each pass and the program, in order, and changes nothing of it.
func TestDump(t *testing.T) {
	words := glslWords(t, dumped)
	m, err := spirv.Decode(words)
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	texts := map[string]string{}
	p, err := Compile(m, "main", Options{SubgroupSize: 32, Dump: func(stage, text string) {
		stages = append(stages, stage)
		texts[stage] = text
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := p.String()
	if want := compileWords(t, words, Options{}).String(); text != want {
		t.Errorf("the program is\n%s\nwithout a dump\n%s", text, want)
	}
	if !slices.IsSorted(stages) || len(stages) < 12 || !strings.HasSuffix(stages[0], "-lower") {
		t.Fatalf("stages %q", stages)
	}
	if last := stages[len(stages)-1]; !strings.HasSuffix(last, "-program") || texts[last] != text {
		t.Errorf("%s is\n%s\nwant\n%s", last, texts[last], text)
	}
	for _, part := range []string{"loop 0: b", "memory 1: ", "Out(0.0)[0]", "shared", "AtomicAddI32",
		"LocalInvocationId.0", "Phi ", "if v", "end"} {
		if !strings.Contains(texts[stages[0]], part) {
			t.Errorf("no %q in\n%s", part, texts[stages[0]])
		}
	}
}
