package spirv

import (
	"regexp"
	"strings"
	"testing"
)

// base is a module with something of everything; the tests put their lines in its places.
const base = `OpCapability Shader
OpCapability Int64
OpCapability Int64Atomics
OpCapability GroupNonUniform
OpCapability GroupNonUniformArithmetic
OpCapability GroupNonUniformClustered
OpCapability GroupNonUniformBallot
OpCapability ImageQuery
;capability
OpExtension "SPV_KHR_non_semantic_info"
;extension
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %buffer %push %image %sampled %ms %msarray %shared %uniform
;entry
OpExecutionMode %main LocalSize 8 1 1
;mode
OpName %main "main"
OpName %int "int"
OpName %f "f"
OpName %i "i"
OpName %c9 "c9"
OpName %block "block"
OpName %float "float"
OpName %uint "uint"
OpName %v2null "v2null"
OpName %i2null "i2null"
OpName %img "img"
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 16
OpDecorate %rt ArrayStride 16
OpDecorate %pushblock Block
OpMemberDecorate %pushblock 0 Offset 0
OpMemberDecorate %pushblock 1 Offset 16
OpMemberDecorate %pushblock 1 MatrixStride 16
OpMemberDecorate %pushblock 1 ColMajor
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
OpDecorate %image DescriptorSet 0
OpDecorate %image Binding 1
OpDecorate %sampled DescriptorSet 0
OpDecorate %sampled Binding 2
OpDecorate %uniform DescriptorSet 0
OpDecorate %uniform Binding 3
OpDecorate %ms DescriptorSet 0
OpDecorate %ms Binding 4
OpDecorate %msarray DescriptorSet 0
OpDecorate %msarray Binding 5
;decoration
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%long = OpTypeInt 64 1
%float = OpTypeFloat 32
%v2 = OpTypeVector %float 2
%v3 = OpTypeVector %float 3
%v4 = OpTypeVector %float 4
%u3 = OpTypeVector %uint 3
%u4 = OpTypeVector %uint 4
%i2 = OpTypeVector %int 2
%i3 = OpTypeVector %int 3
%b2 = OpTypeVector %bool 2
%m4 = OpTypeMatrix %v4 4
%c0 = OpConstant %int 0
%c1 = OpConstant %int 1
%c9 = OpConstant %int 9
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u264 = OpConstant %uint 264
%u3c = OpConstant %uint 3
%l1 = OpConstant %long 1
%f0 = OpConstant %float 0
%f1 = OpConstant %float 1
%true = OpConstantTrue %bool
%spec = OpSpecConstant %int 1
%arr = OpTypeArray %float %c9
%rt = OpTypeRuntimeArray %v4
%block = OpTypeStruct %uint %rt
%pushblock = OpTypeStruct %int %m4
%pair = OpTypeStruct %uint %uint
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pv4 = OpTypePointer StorageBuffer %v4
%pfloat = OpTypePointer StorageBuffer %float
%ppush = OpTypePointer PushConstant %pushblock
%ppushint = OpTypePointer PushConstant %int
%puniform = OpTypePointer Uniform %pushblock
%puniformint = OpTypePointer Uniform %int
%pid = OpTypePointer Input %u3
%img = OpTypeImage %float 2D 0 0 0 2 Rgba8
%imgs = OpTypeImage %float 2D 0 0 0 1 Unknown
%smp = OpTypeSampledImage %imgs
%imgms = OpTypeImage %float 2D 0 0 1 1 Unknown
%imgmsarray = OpTypeImage %float 2D 0 1 1 1 Unknown
%smpms = OpTypeSampledImage %imgms
%pimg = OpTypePointer UniformConstant %img
%psmp = OpTypePointer UniformConstant %smp
%psmpms = OpTypePointer UniformConstant %smpms
%pimgmsarray = OpTypePointer UniformConstant %imgmsarray
%ptexel = OpTypePointer Image %float
%pshared = OpTypePointer Workgroup %arr
%pfint = OpTypePointer Function %int
%pffloat = OpTypePointer Function %float
%v2null = OpConstantNull %v2
%i2null = OpConstantNull %i2
%i3null = OpConstantNull %i3
%v4null = OpConstantNull %v4
%m4null = OpConstantNull %m4
%id = OpVariable %pid Input
%buffer = OpVariable %pblock StorageBuffer
%push = OpVariable %ppush PushConstant
%uniform = OpVariable %puniform Uniform
%image = OpVariable %pimg UniformConstant
%sampled = OpVariable %psmp UniformConstant
%ms = OpVariable %psmpms UniformConstant
%msarray = OpVariable %pimgmsarray UniformConstant
%shared = OpVariable %pshared Workgroup
;global
%callee = OpFunction %void None %fn
%calleelabel = OpLabel
;callee
OpReturn
OpFunctionEnd
%main = OpFunction %void None %fn
%entry = OpLabel
%local = OpVariable %pfint Function
%i = OpLoad %int %local
%ids = OpLoad %u3 %id
%u = OpCompositeExtract %uint %ids 0
%f = OpConvertSToF %float %i
%cond = OpSLessThan %bool %i %c9
%im = OpLoad %img %image
%sm = OpLoad %smp %sampled
%smms = OpLoad %smpms %ms
%imms = OpImage %imgms %smms
%immsarray = OpLoad %imgmsarray %msarray
%count = OpAccessChain %puint %buffer %c0
;body
OpReturn
OpFunctionEnd
`

// fill puts lines into places of base: "place: line; line".
func fill(text string) string {
	out := base
	for part := range strings.SplitSeq(text, "\n") {
		place, lines, ok := strings.Cut(strings.TrimSpace(part), ": ")
		if !ok {
			continue
		}
		out = strings.Replace(out, ";"+place+"\n", strings.ReplaceAll(lines, "; ", "\n")+"\n", 1)
	}
	return out
}

func check(t *testing.T, words []uint32) error {
	t.Helper()
	m, err := Decode(words)
	if err != nil {
		return err
	}
	return m.Check(everything())
}

func TestCheckAcceptsBase(t *testing.T) {
	words := assemble(t, base)
	if v := validate(t, words); v != "" {
		t.Fatalf("spirv-val: %s", v)
	}
	if err := check(t, words); err != nil {
		t.Fatal(err)
	}
}

// TestCheckStages has a fragment shader beside the compute shader, whose instructions are not for compute.
func TestCheckStages(t *testing.T) {
	const fragment = `entry: OpEntryPoint Fragment %callee "fragment"
mode: OpExecutionMode %callee OriginUpperLeft
callee: %d = OpDPdx %float %f1; OpKill; %unused = OpLabel`
	words := assemble(t, fill(fragment))
	if v := validate(t, words); v != "" {
		t.Fatalf("spirv-val: %s", v)
	}
	if err := check(t, words); err != nil {
		t.Error(err)
	}
}

// TestCheckAccepts has in each row what a rule might be thought to forbid. Where spirv-val of SPIRV-Tools 2023.1
// forbids it, the row begins with "ours".
func TestCheckAccepts(t *testing.T) {
	for _, text := range []string{
		"body: %x = OpUndef %imgs; %y = OpUndef %smp; %z = OpUndef %rt",
		"body: %x = OpExtInst %float %glsl Ldexp %f %l1",
		"capability: OpCapability VariablePointers\nglobal: %pp = OpTypePointer Private %pshared; " +
			"%x = OpVariable %pp Private %shared",
		"body: %x = OpImageFetch %v4 %imms %i2null Sample %i; %y = OpImageFetch %v4 %immsarray %i3null Sample %u; %z " +
			"= OpImageFetch %v4 %imms %i2null ConstOffset|Sample %i2null %c9",
		"body: %x = OpImageQuerySize %i2 %imms; %y = OpImageQuerySize %i3 %immsarray; %z = OpImageQuerySamples %uint " +
			"%imms; %w = OpImageQuerySamples %int %immsarray; %v = OpImageQueryLevels %int %imms",
		"decoration: OpMemberDecorate %x 0 BuiltIn PointSize; OpMemberDecorate %x 1 BuiltIn ClipDistance; " +
			"OpMemberDecorate %x 2 BuiltIn CullDistance; OpDecorate %x Block\nglobal: %x = OpTypeStruct %float %arr %arr",
	} {
		text, ours := strings.CutPrefix(text, "ours ")
		words := assemble(t, fill(text))
		if v := validate(t, words); (v != "") != ours {
			t.Errorf("%s: spirv-val says %q", text, v)
		}
		if err := check(t, words); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheckFeatures: what a feature without a capability allows is refused without the feature.
func TestCheckFeatures(t *testing.T) {
	const clock = "capability: OpCapability ShaderClockKHR\nextension: OpExtension \"SPV_KHR_shader_clock\"\n" +
		"global: %pairs = OpTypeVector %uint 2\n"
	for _, row := range []struct {
		text, want string
		enable     func(e *Environment)
	}{
		{clock + "body: %x = OpReadClockKHR %pairs %u3c", "shaderSubgroupClock",
			func(e *Environment) { e.SubgroupClock = true }},
		{clock + "body: %x = OpReadClockKHR %pairs %u1", "shaderDeviceClock", func(e *Environment) { e.DeviceClock = true }},
		{"extension: OpExtension \"SPV_KHR_subgroup_uniform_control_flow\"\nmode: OpExecutionMode %main " +
			"SubgroupUniformControlFlowKHR", "shaderSubgroupUniformControlFlow",
			func(e *Environment) { e.SubgroupUniformControlFlow = true }},
		{"extension: OpExtension \"SPV_KHR_maximal_reconvergence\"\nmode: OpExecutionMode %main !6023",
			"shaderMaximalReconvergence", func(e *Environment) { e.MaximalReconvergence = true }},
	} {
		m, err := Decode(assemble(t, fill(row.text)))
		if err != nil {
			t.Fatal(err)
		}
		env := everything()
		env.Extensions["SPV_KHR_subgroup_uniform_control_flow"] = true
		env.Extensions["SPV_KHR_maximal_reconvergence"] = true
		if err := m.Check(env); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want an error that names %s", row.text, err, row.want)
		}
		if row.enable(env); m.Check(env) != nil {
			t.Errorf("%s: %v", row.text, m.Check(env))
		}
	}
}

// TestCheckRefuses has a rule in each row, with what the message must say. Where spirv-val of SPIRV-Tools 2023.1 does
// not know the rule, the row begins with "ours".
func TestCheckRefuses(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		// Arithmetic and conversions.
		{"body: %x = OpIAdd %int %i %f", "OpIAdd: the types of its operands"},
		{"body: %x = OpIAdd %int %i %l1", "OpIAdd: the types of its operands"},
		{"body: %x = OpFAdd %int %i %i", "OpFAdd: the types of its operands"},
		{"body: %x = OpUDiv %int %i %i", "OpUDiv: the types of its operands"},
		{"body: %x = OpIAdd %int %i %int", "its operand %int is no object"},
		{"body: %x = OpFMul %v2 %v2null %f", "OpFMul: the types of its operands"},
		{"body: %x = OpDot %float %v2null %v4null", "OpDot: the types"},
		{"body: %x = OpMatrixTimesVector %v4 %m4null %v2null", "OpMatrixTimesVector: the types"},
		{"body: %x = OpVectorTimesScalar %v2 %v2null %i", "OpVectorTimesScalar: the types"},
		{"body: %x = OpIAddCarry %pair %i %i", "OpIAddCarry: the types"},
		{"body: %x = OpShiftLeftLogical %int %i %f", "OpShiftLeftLogical: the types"},
		{"body: %x = OpBitCount %long %l1", "not of 32 bits"},
		{"body: %x = OpSLessThan %bool %f %f", "OpSLessThan: the types"},
		{"body: %x = OpFOrdLessThan %bool %f %i", "OpFOrdLessThan: the types"},
		{"body: %x = OpLogicalNot %bool %i", "OpLogicalNot: the types"},
		{"body: %x = OpSelect %int %i %i %i", "OpSelect: the types"},
		{"body: %x = OpSelect %int %cond %i %f", "OpSelect: the types"},
		{"body: %x = OpConvertFToU %int %f", "OpConvertFToU: the types"},
		{"body: %x = OpSConvert %int %i", "OpSConvert: the types"},
		{"body: %x = OpBitcast %long %i", "OpBitcast: the types"},
		{"body: %x = OpConvertPtrToU %long %count", "PhysicalStorageBufferAddresses"},
		// Composites.
		{"body: %x = OpVectorShuffle %v2 %v2null %v4null 0 6", "the component 6 is out of range"},
		{"body: %x = OpVectorShuffle %v2 %v2null %v4null 0 1 2", "OpVectorShuffle: the types"},
		{"body: %x = OpCompositeConstruct %v4 %f %f %f", "OpCompositeConstruct: the types"},
		{"body: %x = OpCompositeConstruct %m4 %v4null %v4null %v4null", "it has 3 constituents"},
		{"body: %x = OpCompositeExtract %float %m4null 0 4", "the index 4 is out of range"},
		{"body: %x = OpCompositeExtract %v4 %m4null 0 1", "OpCompositeExtract: the types"},
		{"body: %x = OpCompositeInsert %m4 %f %m4null 1", "OpCompositeInsert: the types"},
		{"body: %x = OpTranspose %v4 %m4null", "OpTranspose: the types"},
		// Memory.
		{"body: %x = OpLoad %float %local", "its type is not what the pointer points to"},
		{"body: %x = OpLoad %int %i", "is not a pointer to memory"},
		{"body: OpStore %local %f", "the object %f is not of the type"},
		{"body: OpStore %id %ids", "storage class Input can't be written to"},
		{"body: %p = OpAccessChain %puniformint %uniform %c0; OpStore %p %i", "uniform block can't be written to"},
		{"body: %x = OpAccessChain %puint %buffer %i", "the index %i into a struct is not an OpConstant"},
		{"body: %x = OpAccessChain %puint %buffer %c9", "%block has no member 9"},
		{"body: %x = OpAccessChain %pv4 %buffer %c1 %i %c0", "is not a pointer to %float in storage class StorageBuffer"},
		{"body: %x = OpAccessChain %puint %buffer %c0 %c0", "which is no composite"},
		{"body: %x = OpAccessChain %ppushint %buffer %c0", "is not a pointer to %uint"},
		{"body: %x = OpAccessChain %pv4 %buffer %c1 %f", "the index %f is not an integer"},
		{"body: %x = OpArrayLength %uint %buffer 0", "from the last member of a struct"},
		{"body: %x = OpPtrAccessChain %puint %count %c0", "the capability"},
		{"body: OpBranch %n; %n = OpLabel; %x = OpPhi %int %i %entry %i %entry", "it has 2 parents, its block has 1"},
		{"body: OpBranch %n; %n = OpLabel; %x = OpPhi %int %f %entry", "%f is not of its type"},
		{"body: %x = OpVariable %pfint Function", "it stands behind other instructions"},
		// Atomics and barriers.
		{"body: %x = OpAtomicIAdd %uint %count %u9 %u0 %u1\nglobal: %u9 = OpConstant %uint 9", "the scope for memory is"},
		{"ours body: %x = OpAtomicIAdd %uint %count %u1 %u3c %u1", "OpAtomicIAdd: the memory semantics"},
		{"body: %x = OpAtomicIAdd %int %count %u1 %u0 %i", "its type is not what the pointer points to"},
		{"body: %x = OpAtomicIAdd %int %local %u1 %u0 %i", "its pointer is to Function"},
		{"body: %x = OpAtomicIAdd %uint %count %u %u0 %u1", "is not a 32-bit OpConstant"},
		{"body: %x = OpAtomicFAddEXT %float %buffer %u1 %u0 %f", "AtomicFloat"},
		{"body: OpControlBarrier %u1 %u2 %u264", "the scope for execution is Device"},
		{"body: OpMemoryBarrier %u2 %u0", "no order"},
		{"ours body: OpControlBarrier %u2 %u2 %u2x\nglobal: %u2x = OpConstant %uint 2", "no storage class"},
		// Subgroups.
		{"body: %x = OpGroupNonUniformIAdd %uint %u2 Reduce %u", "the scope of its group is Workgroup"},
		{"ours body: %x = OpGroupNonUniformIAdd %uint %u3c Reduce %f", "OpGroupNonUniformIAdd: the types"},
		{"ours body: %x = OpGroupNonUniformIAdd %uint %u3c ClusteredReduce %u", "no size of clusters"},
		{"ours body: %x = OpGroupNonUniformIAdd %uint %u3c ClusteredReduce %u %u3c", "not a power of two"},
		{"body: %x = OpGroupNonUniformShuffle %uint %u3c %u %u", "the capability GroupNonUniformShuffle"},
		{"ours body: %x = OpGroupNonUniformBallot %uint %u3c %cond", "OpGroupNonUniformBallot: the types"},
		// Images.
		{"body: %x = OpImageRead %float %im %i2null", "is not a vector of four"},
		{"body: %x = OpImageRead %v4 %im %v2null", "the coordinate %v2null"},
		{"body: %x = OpImageFetch %v4 %im %i2null", "a cube or a storage image"},
		{"body: %x = OpImageSampleExplicitLod %v4 %sm %v2null Sample %c0", "the image operand Sample does not go with"},
		{"body: %x = OpImageSampleExplicitLod %v4 %sm %i2null Lod %f0", "the coordinate %i2null"},
		{"body: %x = OpImageSampleExplicitLod %v4 %im %v2null Lod %f0", "is not a sampled image"},
		{"body: %x = OpImageSampleExplicitLod %v4 %sm %v2null Lod %c0", "the image operand Lod"},
		{"body: %x = OpImageSampleExplicitLod %v4 %sm %v2null Offset %i2null",
			"Offset needs the capability ImageGatherExtended"},
		{"body: OpImageWrite %im %i2null %i2null", "is not of the image's sampled type"},
		{"ours body: OpImageWrite %im %i2null %v2null", "fewer numbers than the format"},
		{"body: %x = OpImageTexelPointer %ptexel %image %i2null %u0; %y = OpAtomicExchange %float %x %u1 %u0 %f",
			"has no atomics"},
		{"body: %x = OpImageQuerySizeLod %i2 %im %c0", "the image has no levels"},
		{"body: %x = OpImageQuerySize %int %im", "does not have 2 components"},
		{"body: %x = OpImageSampleImplicitLod %v4 %sm %v2null", "a compute entry point reaches"},
		// Extended instructions.
		{"body: %x = OpExtInst %float %glsl Sin %i", "OpExtInst: the types"},
		{"body: %x = OpExtInst %v2 %glsl Length %v2null", "OpExtInst: the types"},
		{"body: %x = OpExtInst %int %glsl SAbs %f", "OpExtInst: the types"},
		{"body: %x = OpExtInst %float %glsl Modf %f %local", "OpExtInst: the types"},
		{"body: %x = OpExtInst %float %glsl InterpolateAtCentroid %f", "InterpolationFunction"},
		// Branches and calls.
		{"body: OpSelectionMerge %n None; OpSwitch %cond %n; %n = OpLabel", "its selector %"},
		{"body: OpSelectionMerge %n None; OpBranchConditional %i %n %entry; %n = OpLabel",
			"branches to the function's first block"},
		{"body: OpSelectionMerge %n None; OpBranchConditional %i %n %n2; %n2 = OpLabel; OpBranch %n; %n = OpLabel",
			"its condition %i is not a bool"},
		{"body: %x = OpFunctionCall %void %main", "an entry point"},
		{"body: %x = OpFunctionCall %int %callee", "its type is not the function's result type"},
		{"body: %x = OpFunctionCall %void %callee %i", "it has 1 arguments"},
		{"callee: %x = OpFunctionCall %void %callee\nbody: %y = OpFunctionCall %void %callee", "calls itself"},
		{"callee: %y = OpIAdd %int %i %i", "is not defined on every way to it"},
		{"body: OpReturnValue %i; %unused = OpLabel", "not of the function's result type"},
		{"callee: OpKill; %unused = OpLabel\nbody: %y = OpFunctionCall %void %callee", "a compute entry point reaches"},
		// Images with samples.
		{"body: %x = OpImageFetch %v4 %imms %i2null", "and only they, take Sample"},
		{"body: %x = OpImageFetch %v4 %imms %i2null Lod %c0", "the image operand Lod"},
		{"ours body: %x = OpImageFetch %v4 %imms %i2null Lod|Sample %c0 %c0", "the image operand Lod"},
		{"body: %x = OpImageFetch %v4 %imms %i2null Sample %f0", "the image operand Sample"},
		{"body: %x = OpImageFetch %v4 %imms %i2null Sample %i2null", "the image operand Sample"},
		{"body: %x = OpImageFetch %v4 %immsarray %i2null Sample %c0", "the coordinate %i2null is not of 3"},
		{"body: %x = OpImageFetch %u4 %imms %i2null Sample %c0", "not a vector of four of the image's sampled type"},
		{"body: %y = OpImage %imgs %sm; %x = OpImageFetch %v4 %y %i2null Sample %c0", "the image operand Sample"},
		{"body: %x = OpImageSampleExplicitLod %v4 %smms %v2null Lod %f0", "an image with samples is not sampled"},
		{"body: %x = OpImageSampleExplicitLod %v4 %smms %v2null Sample %c0", "an image with samples is not sampled"},
		{"body: %x = OpImageSampleExplicitLod %v4 %smms %v2null Grad %v2null %v2null",
			"an image with samples is not sampled"},
		{"body: %x = OpImageSampleProjExplicitLod %v4 %smms %v4null Lod %f0", "an image with samples is not sampled"},
		{"body: %x = OpImageGather %v4 %smms %v2null %c0", "an image with samples is not sampled"},
		{"body: %x = OpImageSampleDrefExplicitLod %float %smms %v2null %f0 Lod %f0", "an image with samples is not sampled"},
		{"body: %x = OpImageRead %v4 %imms %i2null Sample %c0", "not a storage image"},
		{"body: OpImageWrite %imms %i2null %v4null Sample %c0", "not a storage image"},
		{"body: %x = OpImageTexelPointer %ptexel %msarray %i3null %u0; %y = OpAtomicExchange %float %x %u1 %u0 %f",
			"not a storage image"},
		{"body: %x = OpImageQuerySizeLod %i2 %imms %c0", "the image has no levels"},
		{"body: %x = OpImageQueryLevels %int %im", "the image has no levels"},
		{"body: %y = OpImage %imgs %sm; %x = OpImageQuerySamples %int %y", "the image has no samples"},
		{"body: %x = OpImageQuerySamples %int %im", "the image has no samples"},
		{"body: %x = OpImageQuerySamples %i2 %imms", "does not have 1 components"},
		{"body: %x = OpImageQuerySamples %float %imms", "not of 32-bit integers"},
		{"body: %x = OpImageQuerySize %i2 %immsarray", "does not have 3 components"},
		{"body: %x = OpImageQuerySize %i3 %imms", "does not have 2 components"},
		{"ours global: %x = OpTypeImage %float 3D 0 0 1 1 Unknown", "only 2D images have samples"},
		{"ours global: %x = OpTypeImage %float Cube 0 0 1 1 Unknown", "only 2D images have samples"},
		{"global: %x = OpTypeImage %float 2D 0 0 2 1 Unknown", "multisampled or sampled is out of range"},
		{"global: %x = OpTypeImage %float 2D 0 0 1 2 Rgba8", "needs the capability StorageImageMultisample"},
		{"ours capability: OpCapability StorageImageMultisample\nglobal: %x = OpTypeImage %float 2D 0 1 1 2 Rgba8",
			"needs the capability ImageMSArray"},
		// Declarations.
		{"global: %x = OpTypeInt 32 1", "it is the same type as %int"},
		{"global: %x = OpTypeFloat 64", "64 bits need the capability Float64"},
		{"global: %x = OpTypeInt 8 0", "8 bits need the capability Int8"},
		{"global: %x = OpTypeImage %float 1D 0 0 0 2 Rgba8", "the capability"},
		{"global: %x = OpTypeImage %float 2D 0 0 0 0 Rgba8", "neither 1 nor 2"},
		{"ours global: %x = OpTypeImage %int 2D 0 0 0 2 Rgba8", "the format Rgba8 does not go with"},
		{"global: %x = OpTypeStruct %img", "its member %img is opaque"},
		{"global: %x = OpTypeSampledImage %img", "its image is a storage image"},
		{"global: %x = OpTypePointer AtomicCounter %uint", "AtomicCounter needs the capability AtomicStorage"},
		{"global: %p = OpTypePointer Private %int; %x = OpVariable %p Workgroup",
			"its storage class is not that of its type"},
		{"global: %x = OpVariable %pfint Function", "are in functions"},
		{"global: %p = OpTypePointer Private %int; %w = OpVariable %p Private; %x = OpVariable %p Private %w",
			"has another type"},
		{"global: %p = OpTypePointer Private %int; %x = OpVariable %p Private %int", "neither a constant nor a variable"},
		{"global: %p = OpTypePointer Private %int; %x = OpVariable %p Private %f1", "has another type"},
		{"ours global: %x = OpVariable %pblock StorageBuffer", "it has no DescriptorSet or no Binding"},
		{"ours global: %x = OpVariable %pimg UniformConstant", "it has no DescriptorSet or no Binding"},
		{"decoration: OpDecorate %x DescriptorSet 0; OpDecorate %x Binding 9\nglobal: %p = OpTypePointer " +
			"StorageBuffer %pair; %x = OpVariable %p StorageBuffer", "is not a Block"},
		{"global: %p = OpTypePointer Workgroup %rt; %x = OpVariable %p Workgroup", "a runtime array"},
		{"ours global: %p = OpTypePointer Private %img; %x = OpVariable %p Private", "images or samplers"},
		{"ours global: %x = OpUndef %img", "its type %img is opaque"},
		{"ours body: %x = OpUndef %imgs; %y = OpImageQuerySizeLod %i2 %x %c0", "is an undefined object"},
		{"ours body: %x = OpUndef %rt; %y = OpCopyObject %rt %x", "is an undefined object"},
		// Decorations and layouts.
		{"decoration: OpDecorate %int SpecId 3", "not a scalar specialization constant"},
		{"decoration: OpDecorate %int Block", "the target is not a struct"},
		{"decoration: OpMemberDecorate %block 7 Offset 0", "%block has no member 7"},
		{"decoration: OpDecorate %i BuiltIn WorkgroupId", "neither a variable nor the constant"},
		{"ours decoration: OpDecorate %buffer Binding 4", "is there twice"},
		{"decoration: OpDecorate %x Block; OpMemberDecorate %x 0 Offset 0; OpMemberDecorate %x 1 Offset 2; OpDecorate " +
			"%y DescriptorSet 0; OpDecorate %y Binding 9\nglobal: %x = OpTypeStruct %uint %uint; %p = OpTypePointer " +
			"StorageBuffer %x; %y = OpVariable %p StorageBuffer", "offset 2 is"},
		{"decoration: OpDecorate %x Block; OpMemberDecorate %x 0 Offset 0; OpMemberDecorate %x 1 Offset 12; " +
			"OpDecorate %y DescriptorSet 0; OpDecorate %y Binding 9\nglobal: %x = OpTypeStruct %v4 %uint; %p = " +
			"OpTypePointer StorageBuffer %x; %y = OpVariable %p StorageBuffer", "its offset 12 is inside of member 0"},
		{"decoration: OpDecorate %x Block; OpMemberDecorate %x 0 Offset 0; OpMemberDecorate %x 0 ColMajor; OpDecorate " +
			"%y DescriptorSet 0; OpDecorate %y Binding 9\nglobal: %x = OpTypeStruct %m4; %p = OpTypePointer " +
			"StorageBuffer %x; %y = OpVariable %p StorageBuffer", "no MatrixStride"},
		{"decoration: OpDecorate %x Block; OpMemberDecorate %x 0 Offset 0; OpMemberDecorate %x 0 MatrixStride 16; " +
			"OpDecorate %y DescriptorSet 0; OpDecorate %y Binding 9\nglobal: %x = OpTypeStruct %m4; %p = OpTypePointer " +
			"StorageBuffer %x; %y = OpVariable %p StorageBuffer", "neither RowMajor nor ColMajor"},
		{"decoration: OpDecorate %x Block; OpMemberDecorate %x 0 Offset 0; OpDecorate %y DescriptorSet 0; OpDecorate " +
			"%y Binding 9\nglobal: %x = OpTypeStruct %arr; %p = OpTypePointer StorageBuffer %x; %y = OpVariable %p " +
			"StorageBuffer", "no ArrayStride"},
		{"decoration: OpDecorate %x Block; OpDecorate %y DescriptorSet 0; OpDecorate %y Binding 9\nglobal: %x = " +
			"OpTypeStruct %uint; %p = OpTypePointer StorageBuffer %x; %y = OpVariable %p StorageBuffer",
			"it has no Offset"},
		{"decoration: OpDecorate %x Block; OpMemberDecorate %x 0 Offset 0; OpDecorate %y DescriptorSet 0; OpDecorate " +
			"%y Binding 9\nglobal: %x = OpTypeStruct %bool; %p = OpTypePointer StorageBuffer %x; %y = OpVariable %p " +
			"StorageBuffer", "a bool"},
		{"capability: OpCapability PhysicalStorageBufferAddresses\nglobal: %psb = OpTypePointer PhysicalStorageBuffer " +
			"%uint; %ppsb = OpTypePointer Private %psb; %x = OpVariable %ppsb Private",
			"AliasedPointer and RestrictPointer"},
		// Modules and entry points.
		{"capability: OpCapability Kernel", "the capability Kernel is not supported"},
		{"ours extension: OpExtension \"SPV_NV_mesh_shader\"", "the extension SPV_NV_mesh_shader is not supported"},
		{"entry: OpEntryPoint GLCompute %main \"main\" %id", "two entry points"},
		{"entry: OpEntryPoint GLCompute %callee \"other\"", "it has neither LocalSize"},
		{"mode: OpExecutionMode %main LocalSizeId %u1 %u1 %u1", "goes with the other one"},
		{"body: %x = OpLoad %int %w\nglobal: %pw = OpTypePointer Private %int; %w = OpVariable %pw Private",
			"the interface lacks %"},
	} {
		text, ours := strings.CutPrefix(row.text, "ours ")
		words := assemble(t, fill(text))
		if v := validate(t, words); (v == "") != ours {
			t.Errorf("%s: spirv-val says %q", row.text, v)
		}
		if err := check(t, words); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q", row.text, err, row.want)
		}
	}
}

// TestCheckFlow has control flow, as blocks: "label: target", "label: cond a b", "label: sel M a b", "label: loop M C a
// b", "label: switch M default a b", "label: return".
func TestCheckFlow(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"e: sel m a b, a: m, b: m, m: return", ""},
		{"e: sel m a m, a: return, m: return", ""},
		{"e: h, h: loop m c b m, b: c, c: h, m: return", ""},
		{"e: h, h: loop m h h m, m: return", ""},
		{"e: h, h: loop m c b, b: sel x m y, x: unreachable, y: sel z c w, z: unreachable, w: c, c: cond h m, m: return", ""},
		{"e: h, h: loop m c b, b: cond m y, y: cond c w, w: c, c: h, m: return", ""},
		{"e: switch m a a b, a: b, b: m, m: return", ""},
		{"e: switch m m a b, a: m, b: sel x m y, y: x, x: m, m: return", ""},
		{"e: h, h: loop m c s, s: switch x x a, a: cond c x, x: c, c: h, m: return", ""},
		{"e: h, h: loop m c b, b: k, k: loop n d g, g: cond n d, d: k, n: c, c: h, m: return", ""},
		{"e: cond a b, a: m, b: m, m: return", "it has no merge instruction"},
		{"e: h, h: cond h m, m: return", "which is not the header of a loop"},
		{"e: h, h: sel m b m, b: h, m: return", "which is not the header of a loop"},
		{"e: h, h: loop m c b, b: sel n h n, n: c, c: h, m: return", "has another back edge"},
		{"e: h, h: loop m c b, b: m, c: m, m: return", "the loop has no back edge"},
		{"e: sel m a b, a: n, b: n, n: m, m: return", ""},
		{"e: sel m a b, a: sel n x m, x: n, n: m, b: m, m: return", "leaves the construct"},
		{"e: sel m a b, a: return, b: return, m: return", ""},
		{"e: h, h: loop m c b, b: k, k: loop n d g, g: cond m d, d: k, n: c, c: h, m: return", "leaves the construct"},
		{"e: h, h: loop m c b, b: k, k: loop n d g, g: cond c d, d: k, n: c, c: h, m: return", "leaves the construct"},
		{"e: sel m a m, a: sel m x x, x: m, m: return", "does not dominate"}, // one merge block for two
		{"e: h, h: loop m c b, b: k, k: loop n c n, n: c, c: h, m: return", "does not dominate"},
		{"e: h, h: loop m c b, b: c, c: sel n m x, x: n, n: h, m: return", "leaves the continue construct"},
		{"e: h, h: loop m c b, b: c, c: sel n r n, r: return, n: h, m: return", "inside of the continue construct"},
		{"e: sel m a b, a: x, b: x, x: return, m: unreachable", ""},
		{"e: switch m m a b, a: x, b: x, x: m, m: return", "leaves the case"},
		{"e: switch m m a b d, a: d, b: d, d: m, m: return", "fall through to"},
		{"e: switch m m a b d, a: sel x b d, x: unreachable, b: m, d: m, m: return", "leaves the construct"},
		{"e: sel m a b, a: e2, e2: m, b: e2, m: return", ""},
		{"e: bareswitch a b, a: m, b: m, m: return", "there is no OpSelectionMerge"},
		{"e: sel a a b, b: a, a: return", ""},
		{"e: h, h: loop m m b, b: m, m: h", "the continue target too"},
		{"e: sel m a b, a: sel m2 c d, c: b, d: m2, m2: m, b: m, m: return", "leaves the construct"},
		{"e: h, b: m, h: sel m b m, m: return", "it stands in front of"},
		{"e: a, a: e", "branches to the function's first block"},
	} {
		var body strings.Builder
		for n, block := range strings.Split(row.text, ", ") {
			label, rest, _ := strings.Cut(block, ": ")
			if n > 0 {
				body.WriteString("%" + label + " = OpLabel\n")
			} else {
				body.WriteString("OpBranch %" + label + "\n%" + label + " = OpLabel\n")
				if strings.Contains(row.want, "first block") {
					body.Reset()
				}
			}
			w := strings.Fields(rest)
			switch w[0] {
			case "return":
				body.WriteString("OpReturn\n")
			case "unreachable":
				body.WriteString("OpUnreachable\n")
			case "cond":
				body.WriteString("OpBranchConditional %cond %" + w[1] + " %" + w[2] + "\n")
			case "sel":
				body.WriteString("OpSelectionMerge %" + w[1] + " None\nOpBranchConditional %cond %" + w[2] + " %" + w[3] + "\n")
			case "loop":
				body.WriteString("OpLoopMerge %" + w[1] + " %" + w[2] + " None\n")
				if len(w) == 4 {
					body.WriteString("OpBranch %" + w[3] + "\n")
				} else {
					body.WriteString("OpBranchConditional %cond %" + w[3] + " %" + w[4] + "\n")
				}
			case "switch", "bareswitch":
				if w[0] == "switch" {
					body.WriteString("OpSelectionMerge %" + w[1] + " None\n")
					w = w[1:]
				}
				body.WriteString("OpSwitch %i %" + w[1])
				for n, target := range w[2:] {
					body.WriteString(" " + string(rune('1'+n)) + " %" + target)
				}
				body.WriteString("\n")
			default:
				body.WriteString("OpBranch %" + w[0] + "\n")
			}
		}
		text := strings.Replace(base, ";body\nOpReturn\n", body.String(), 1)
		if strings.Contains(row.want, "first block") {
			text = regexp.MustCompile(`OpName.*\n`).ReplaceAllString(text, "")
			text = regexp.MustCompile(`(?s)%main = OpFunction.*`).ReplaceAllString(text,
				"%main = OpFunction %void None %fn\n%e = OpLabel\nOpBranch %a\n%a = OpLabel\nOpBranch %e\nOpFunctionEnd\n")
		}
		words := assemble(t, text)
		if v := validate(t, words); (v == "") != (row.want == "") {
			t.Errorf("%s: spirv-val says %q", row.text, v)
		}
		switch err := check(t, words); {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.text, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: error %v, want %q", row.text, err, row.want)
		}
	}
}

// width is how many bits a scalar type has, and 0 for others.
func (i *Instruction) width() int {
	if i.Op == OpTypeInt || i.Op == OpTypeFloat {
		return int(i.Operands[0])
	}
	return 0
}

func FuzzCheck(f *testing.F) {
	env := everything()
	f.Add(toBytes([]uint32{magic, 0x10600, 0, 8, 0, 2<<16 | uint32(OpCapability), 1, 3<<16 | uint32(OpMemoryModel), 0, 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(toWords(data))
		if err != nil {
			return
		}
		if err := m.Check(env); err != nil {
			if _, ok := err.(*Error); !ok {
				t.Errorf("the error is a %T", err)
			}
			return
		}
		c, err := m.Constants(nil)
		if err != nil {
			t.Fatal(err)
		}
		specialization := map[uint32][]byte{} // with some of the module's own bytes
		for id := range m.Decorations {
			if d := m.decoration(ID(id), DecorationSpecId); d != nil {
				size := max(4, m.Definitions[m.Definitions[id].Type].width()/8)
				at := int(d.Operands[0]) % (len(data) - size)
				specialization[d.Operands[0]] = data[max(at, 0):][:size]
			}
		}
		special, err := m.Constants(specialization)
		if _, ok := err.(*Error); err != nil && !ok {
			t.Errorf("the error is a %T", err)
		}
		for _, e := range m.EntryPoints {
			if e.Model == ExecutionModelGLCompute {
				_ = m.CheckEntryPoint(e, c, env)
				if special != nil {
					_ = m.CheckEntryPoint(e, special, env)
				}
			}
		}
		for _, fn := range m.Functions {
			if _, err := m.CFG(fn); err != nil {
				t.Fatal(err)
			}
		}
	})
}
