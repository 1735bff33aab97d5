package spirv

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// stages is a module with a vertex and a fragment shader, and places for lines as base has them.
const stages = `OpCapability Shader
OpCapability Float64
OpCapability ClipDistance
OpCapability SampleRateShading
OpCapability InterpolationFunction
OpCapability DemoteToHelperInvocation
;capability
OpExtension "SPV_EXT_demote_to_helper_invocation"
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint Vertex %vmain "vertex" %vin %vout %vindex %block ;ventry
OpEntryPoint Fragment %fmain "fragment" %fin %fout %image %coord ;fentry
OpExecutionMode %fmain OriginUpperLeft
;mode
OpName %vin "vin"
OpName %f2 "f2"
OpDecorate %vin Location 0
OpDecorate %vout Location 0
OpDecorate %vindex BuiltIn VertexIndex
OpMemberDecorate %blocktype 0 BuiltIn Position
OpMemberDecorate %blocktype 1 BuiltIn ClipDistance
OpDecorate %blocktype Block
OpDecorate %fin Location 0
OpDecorate %fout Location 0
OpDecorate %coord BuiltIn FragCoord
OpDecorate %image DescriptorSet 0
OpDecorate %image Binding 0
;decoration
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%double = OpTypeFloat 64
%v2 = OpTypeVector %float 2
%v3 = OpTypeVector %float 3
%v4 = OpTypeVector %float 4
%d2 = OpTypeVector %double 2
%u0 = OpConstant %uint 0
%u2 = OpConstant %uint 2
%u100 = OpConstant %uint 100
%u264 = OpConstant %uint 264
%f1 = OpConstant %float 1
%v2null = OpConstantNull %v2
%v3null = OpConstantNull %v3
%v4null = OpConstantNull %v4
%arr = OpTypeArray %float %u2
%ints = OpTypeArray %int %u2
%uints = OpTypeArray %uint %u2
%long = OpTypeArray %float %u100
%blocktype = OpTypeStruct %v4 %arr
%pair = OpTypeStruct %v4 %v2
%inv4 = OpTypePointer Input %v4
%inv2 = OpTypePointer Input %v2
%inv3 = OpTypePointer Input %v3
%ind2 = OpTypePointer Input %d2
%inint = OpTypePointer Input %int
%inbool = OpTypePointer Input %bool
%infloat = OpTypePointer Input %float
%inarr = OpTypePointer Input %arr
%outv4 = OpTypePointer Output %v4
%outfloat = OpTypePointer Output %float
%outint = OpTypePointer Output %int
%outbool = OpTypePointer Output %bool
%outarr = OpTypePointer Output %arr
%outpair = OpTypePointer Output %pair
%outblock = OpTypePointer Output %blocktype
%outlong = OpTypePointer Output %long
%outints = OpTypePointer Output %ints
%texture = OpTypeImage %float 2D 0 0 0 1 Unknown
%smp = OpTypeSampledImage %texture
%psmp = OpTypePointer UniformConstant %smp
%vin = OpVariable %inv4 Input
%vout = OpVariable %outv4 Output
%vindex = OpVariable %inint Input
%block = OpVariable %outblock Output
%fin = OpVariable %inv4 Input
%fout = OpVariable %outv4 Output
%coord = OpVariable %inv4 Input
%image = OpVariable %psmp UniformConstant
;global
%vmain = OpFunction %void None %fn
%ventry = OpLabel
%v = OpLoad %v4 %vin
OpStore %vout %v
;vbody
OpReturn
OpFunctionEnd
%fmain = OpFunction %void None %fn
%fentry = OpLabel
%f = OpLoad %v4 %fin
%f2 = OpVectorShuffle %v2 %f %f 0 1
%sm = OpLoad %smp %image
OpStore %fout %f
;fbody
OpReturn
OpFunctionEnd
`

// fillStages puts lines into the places of stages. A place in the middle of a line takes its line's rest.
func fillStages(text string) string {
	out := stages
	for part := range strings.SplitSeq(text, "\n") {
		place, lines, ok := strings.Cut(strings.TrimSpace(part), ": ")
		if ok {
			out = strings.Replace(out, ";"+place+"\n", strings.ReplaceAll(lines, "; ", "\n")+"\n", 1)
		}
	}
	return out
}

func TestStagesAccepts(t *testing.T) {
	for _, text := range []string{
		"",
		"fbody: %x = OpDPdx %v4 %f; %y = OpFwidth %v2 %f2",
		"fbody: %x = OpImageSampleImplicitLod %v4 %sm %f2 Bias %f1; " +
			"%y = OpImageSampleProjImplicitLod %v4 %sm %v3null",
		"fbody: OpKill; %unused = OpLabel", "fbody: OpTerminateInvocation; %unused = OpLabel",
		"fbody: OpDemoteToHelperInvocation; %x = OpIsHelperInvocationEXT %bool",
		"fbody: %x = OpExtInst %v4 %glsl InterpolateAtOffset %fin %v2null",
		"fentry: %z\nmode: OpExecutionMode %fmain DepthReplacing; OpExecutionMode %fmain DepthLess\n" +
			"decoration: OpDecorate %z BuiltIn FragDepth\nglobal: %z = OpVariable %outfloat Output",
		"ventry: %x\ndecoration: OpDecorate %x Location 5\nglobal: %x = OpVariable %ind2 Input",
		"ventry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Component 2\nglobal: %x = OpVariable %inv2 Input",
		"ventry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %pair Block\nglobal: %x = OpVariable %outpair Output",
		"ventry: %x\ndecoration: OpMemberDecorate %pair 0 Location 1; OpMemberDecorate %pair 1 Location 7; " +
			"OpDecorate %pair Block\nglobal: %x = OpVariable %outpair Output",
		"fentry: %x\ndecoration: OpDecorate %x Location 0; OpDecorate %x Index 1\nglobal: %x = OpVariable %outv4 Output",
		"fentry: %x\ndecoration: OpDecorate %x Location 3; OpDecorate %x Flat\nglobal: %x = OpVariable %inint Input",
		"fentry: %x\ndecoration: OpDecorate %x BuiltIn SampleMask\nglobal: %x = OpVariable %outints Output",
	} {
		words := assemble(t, fillStages(text))
		if v := validate(t, words); v != "" {
			t.Errorf("%s: spirv-val says %q", text, v)
		}
		if err := check(t, words); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestStagesRefuses: spirv-val refuses all, except where a row begins with "ours". Where both name a rule it is the
// same.
func TestStagesRefuses(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"vbody: %x = OpDPdx %v4 %v", "a vertex entry point reaches"},
		{"vbody: OpKill; %unused = OpLabel", "a vertex entry point reaches"},
		{"vbody: OpDemoteToHelperInvocation", "a vertex entry point reaches"},
		{"fbody: OpControlBarrier %u2 %u2 %u264", "scope is Workgroup, and in a function that a fragment"},
		{"fbody: %x = OpDPdx %v2 %f", "do not go together"},
		{"fbody: %x = OpImageSampleImplicitLod %v4 %sm %f2 Lod %f1", "implicit one"},
		{"fbody: %x = OpImageSampleExplicitLod %v4 %sm %f2 Lod|Bias %f1 %f1", "Bias"},
		{"fbody: %x = OpExtInst %v4 %glsl InterpolateAtOffset %fin %v3null", "do not go together"},
		{"fbody: %x = OpExtInst %v4 %glsl InterpolateAtCentroid %fout", "do not go together"},
		{"mode: OpExecutionMode %fmain OriginLowerLeft", "origin"},
		{"mode: OpExecutionMode %fmain PixelCenterInteger", "centers"},
		{"mode: OpExecutionMode %vmain EarlyFragmentTests", "mode of fragment shaders"},
		{"mode: OpExecutionMode %fmain DepthLess; OpExecutionMode %fmain DepthGreater", "several"},
		{"ventry: %x\nglobal: %x = OpVariable %inv4 Input", "nor has it a Location"},
		{"ventry: %x\ndecoration: OpDecorate %x Location 0\nglobal: %x = OpVariable %inv2 Input", "both the component"},
		{"ventry: %x\ndecoration: OpDecorate %x Location 0\nglobal: %x = OpVariable %outfloat Output", "both the component"},
		{"ventry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Component 3\nglobal: %x = OpVariable %inv2 Input",
			"more than the location has"},
		{"ventry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Component 1\nglobal: %x = OpVariable %ind2 Input",
			"64-bit"},
		{"ventry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Flat\nglobal: %x = OpVariable %inv2 Input",
			"not interpolated"},
		{"fentry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Flat\nglobal: %x = OpVariable %outfloat Output",
			"not interpolated"},
		{"fentry: %x\ndecoration: OpDecorate %x Location 1\nglobal: %x = OpVariable %inint Input", "Flat"},
		{"ours fentry: %x\ndecoration: OpDecorate %x Location 1\nglobal: %x = OpVariable %ind2 Input", "Flat"},
		{"fentry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Flat\nglobal: %x = OpVariable %inbool Input",
			"bool"},
		{"ventry: %x\ndecoration: OpDecorate %x Location 1; OpDecorate %x Index 1\nglobal: %x = OpVariable %outv4 Output",
			"Index"},
		{"ours ventry: %x\ndecoration: OpDecorate %x Location 70000\nglobal: %x = OpVariable %outv4 Output", "location"},
		{"fentry: %x\ndecoration: OpDecorate %x BuiltIn FragDepth\nglobal: %x = OpVariable %outfloat Output\n" +
			"fbody: OpStore %x %f1", "DepthReplacing"},
		{"fentry: %x\ndecoration: OpDecorate %x BuiltIn VertexIndex; OpDecorate %x Flat\n" +
			"global: %x = OpVariable %inint Input\n" +
			"fbody: %y = OpLoad %int %x", "none of fragment"},
		{"ours ventry: %x\ndecoration: OpDecorate %x BuiltIn FragCoord\nglobal: %x = OpVariable %inv4 Input",
			"none of vertex"},
		{"ventry: %x\ndecoration: OpDecorate %x BuiltIn InstanceIndex\nglobal: %x = OpVariable %outint Output", "no output"},
		{"ventry: %x\ndecoration: OpDecorate %x BuiltIn InstanceIndex\nglobal: %x = OpVariable %infloat Input",
			"32-bit integer"},
		{"fentry: %x\ndecoration: OpDecorate %x BuiltIn FrontFacing; OpDecorate %x Flat\n" +
			"global: %x = OpVariable %inint Input\nfbody: %y = OpLoad %int %x",
			"bool"},
		{"fentry: %x\ndecoration: OpDecorate %x BuiltIn PointCoord\nglobal: %x = OpVariable %inv3 Input", "2 32-bit floats"},
		{"fentry: %x\ndecoration: OpDecorate %x BuiltIn SampleMask\nglobal: %x = OpVariable %outint Output", "an array"},
		{"ours ventry: %x\ndecoration: OpDecorate %x BuiltIn CullDistance\ncapability: OpCapability CullDistance\n" +
			"global: %x = OpVariable %outlong Output", "more than"},
	} {
		text, ours := strings.CutPrefix(row.text, "ours ")
		words := assemble(t, fillStages(text))
		v := validate(t, words)
		if (v == "") != ours {
			t.Errorf("%s: spirv-val says %q", row.text, v)
		}
		err := check(t, words)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q", row.text, err, row.want)
			continue
		}
		var e *Error
		if errors.As(err, &e) && e.VUID.String() != "" && strings.Contains(v, "VUID-") &&
			!strings.Contains(v, e.VUID.String()) {
			t.Errorf("%s: the rule is %v, spirv-val says %q", row.text, e.VUID, v)
		}
	}
}

// TestPlaces looks at locations and components of an interface with something of everything.
func TestPlaces(t *testing.T) {
	m := decode(t, shaders(t)["interface.vert"])
	c, err := m.Constants(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][][2]uint32{
		"matrix":     {{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}},
		"doubles":    {{6, 0}, {6, 2}, {7, 0}, {7, 2}},
		"arrays":     {{8, 0}, {8, 1}, {9, 0}, {9, 1}, {10, 0}, {10, 1}},
		"high":       {{12, 2}, {12, 3}},
		"outDoubles": {{1, 0}, {1, 2}, {2, 0}},
		"block":      {{8, 0}, {8, 1}, {8, 2}, {8, 3}, {9, 0}, {10, 0}, {10, 1}, {11, 0}, {11, 1}},
	}
	for _, v := range m.Variables {
		name := m.DebugName(v.Result)
		if want[name] == nil {
			continue
		}
		var got [][2]uint32
		for p := range m.Places(v, c) {
			got = append(got, [2]uint32{p.Location, p.Component})
		}
		if !slices.Equal(got, want[name]) {
			t.Errorf("%s: %v, want %v", name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Error("missing:", want)
	}
	e := m.EntryPoints[0]
	env := everything()
	if err := m.CheckEntryPoint(e, c, env); err != nil {
		t.Error(err)
	}
	env.MaxVertexOutputs = 12
	if err := m.CheckEntryPoint(e, c, env); err == nil || !strings.Contains(err.Error(), "location 12") {
		t.Error(err)
	}
}
