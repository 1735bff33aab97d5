package spirv

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheckIndexing indexes arrays of descriptors of each kind by constants and by others, on devices with and without
// the features for it. spirv-val does not know of features, and accepts all. Dynamic indices are left to the compiler.
func TestCheckIndexing(t *testing.T) {
	const block = "; OpDecorate %element Block; OpMemberDecorate %element 0 Offset 0"
	for _, kind := range []struct {
		name, decoration, class, element string
		dynamic, nonUniform              Capability
	}{
		{"uniform buffers", block, "Uniform", "%element = OpTypeStruct %v4",
			CapabilityUniformBufferArrayDynamicIndexing, CapabilityUniformBufferArrayNonUniformIndexing},
		{"storage buffers", block, "StorageBuffer", "%element = OpTypeStruct %v4",
			CapabilityStorageBufferArrayDynamicIndexing, CapabilityStorageBufferArrayNonUniformIndexing},
		{"sampled images", "", "UniformConstant", "%element = OpTypeImage %float 3D 0 0 0 1 Unknown",
			CapabilitySampledImageArrayDynamicIndexing, CapabilitySampledImageArrayNonUniformIndexing},
		{"combined", "", "UniformConstant",
			"%image3 = OpTypeImage %float 3D 0 0 0 1 Unknown; %element = OpTypeSampledImage %image3",
			CapabilitySampledImageArrayDynamicIndexing, CapabilitySampledImageArrayNonUniformIndexing},
		{"samplers", "", "UniformConstant", "%element = OpTypeSampler",
			CapabilitySampledImageArrayDynamicIndexing, CapabilitySampledImageArrayNonUniformIndexing},
		{"storage images", "", "UniformConstant", "%element = OpTypeImage %float 3D 0 0 0 2 Rgba8",
			CapabilityStorageImageArrayDynamicIndexing, CapabilityStorageImageArrayNonUniformIndexing},
		{"uniform texel buffers", "", "UniformConstant", "%element = OpTypeImage %float Buffer 0 0 0 1 Unknown",
			CapabilityUniformTexelBufferArrayDynamicIndexing, CapabilityUniformTexelBufferArrayNonUniformIndexing},
		{"storage texel buffers", "", "UniformConstant", "%element = OpTypeImage %float Buffer 0 0 0 2 Rgba8",
			CapabilityStorageTexelBufferArrayDynamicIndexing, CapabilityStorageTexelBufferArrayNonUniformIndexing},
	} {
		for _, index := range []string{"%c1", "%spec", "%sum", "%u", "%chosen"} {
			decoration := "OpDecorate %descriptors DescriptorSet 0; OpDecorate %descriptors Binding 9" + kind.decoration
			nonUniform := index == "%chosen"
			if nonUniform {
				decoration += "; OpDecorate %chosen NonUniform"
			}
			module := fill("capability: OpCapability ShaderNonUniform; OpCapability SampledBuffer; OpCapability ImageBuffer\n" +
				"decoration: " + decoration + "\nglobal: %sum = OpSpecConstantOp %int IAdd %spec %c1; " + kind.element +
				"; %several = OpTypeArray %element %c9; %pseveral = OpTypePointer CLASS %several" +
				"; %pelement = OpTypePointer CLASS %element; %descriptors = OpVariable %pseveral CLASS\n" +
				"body: %chosen = OpIAdd %uint %u %u1; %chain = OpAccessChain %pelement %descriptors " + index)
			module = strings.ReplaceAll(module, "CLASS", kind.class)
			module = strings.Replace(module, "%uniform\n", "%uniform %descriptors\n", 1)
			words := assemble(t, module)
			if v := validate(t, words); v != "" {
				t.Fatalf("%s by %s: spirv-val says %s", kind.name, index, v)
			}
			for _, device := range []struct {
				without []Capability
				refuses bool
			}{
				{nil, false},
				{[]Capability{kind.dynamic}, false}, // who may index by anything
				{[]Capability{kind.nonUniform}, nonUniform},
				{[]Capability{kind.dynamic, kind.nonUniform}, nonUniform},
			} {
				env := everything()
				for _, c := range device.without {
					delete(env.Capabilities, c)
				}
				err := decode(t, words).Check(env)
				want := ""
				if device.refuses {
					want = fmt.Sprintf("the feature of the capability %v is not enabled (VUID-", kind.nonUniform)
				}
				if (err != nil) != device.refuses || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s by %s without %v: error %v, want %q", kind.name, index, device.without, err, want)
				}
			}
		}
	}
}

// TestCheckSampledImageUses has what may and what must not be done with an OpSampledImage; spirv-val agrees on each.
func TestCheckSampledImageUses(t *testing.T) {
	const sampled = "%image2 = OpImage %imgs %sm; %sampler = OpLoad %tsampler %thesampler; " +
		"%both = OpSampledImage %smp %image2 %sampler; "
	const sample = "OpImageSampleExplicitLod %v4 %both %v2null Lod %f0"
	for _, row := range []struct{ body, want string }{
		{"%x = " + sample, ""},
		{"%x = OpImage %imgs %both; %y = OpImageQueryLevels %int %x", ""},
		{"%x = OpImageGather %v4 %both %v2null %c0", ""},
		{"%x = OpCopyObject %smp %both", ""},
		{"OpBranch %next; %next = OpLabel; %x = OpImageQueryLevels %int %image2", ""},
		{"OpBranch %next; %next = OpLabel; %x = " + sample, "is of another block"},
		{"OpBranch %next; %next = OpLabel; %x = OpImage %imgs %both", "is of another block"},
		{"OpSelectionMerge %next None; OpBranchConditional %cond %then %next; %then = OpLabel; %x = " + sample +
			"; OpBranch %next; %next = OpLabel", "is of another block"},
		{"%x = OpSelect %smp %cond %both %both", "is for image lookups only"},
		{"OpBranch %next; %next = OpLabel; %x = OpPhi %smp %both %entry", "is opaque"},
		{"%x = OpFunctionCall %void %sampling %both", "is for image lookups only"},
	} {
		module := fill("decoration: OpDecorate %thesampler DescriptorSet 0; OpDecorate %thesampler Binding 9\n" +
			"global: %tsampler = OpTypeSampler; %ptsampler = OpTypePointer UniformConstant %tsampler; %thesampler = " +
			"OpVariable %ptsampler UniformConstant" +
			"; %fnsmp = OpTypeFunction %void %smp; %sampling = OpFunction %void None %fnsmp; %parameter = " +
			"OpFunctionParameter %smp; %first = OpLabel; OpReturn; OpFunctionEnd\n" +
			"body: " + sampled + row.body)
		words := assemble(t, strings.Replace(module, "%uniform\n", "%uniform %thesampler\n", 1))
		if v := validate(t, words); (v == "") != (row.want == "") {
			t.Errorf("%s: spirv-val says %q", row.body, v)
		}
		if err := check(t, words); (err == nil) != (row.want == "") || err != nil &&
			!strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q", row.body, err, row.want)
		}
	}
}
