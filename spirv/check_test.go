package spirv

import (
	"os/exec"
	"strings"
	"testing"
)

// everything allows all that the checker knows.
func everything() *Environment {
	env := &Environment{
		Version: 0x10600, Capabilities: map[Capability]bool{}, Extensions: map[string]bool{},
		UniformBufferStandardLayout: true, ScalarBlockLayout: true, WorkgroupScalarLayout: true,
		MaxWorkgroupSize: [3]uint32{1024, 1024, 64}, MaxWorkgroupInvocations: 1024, MaxWorkgroupMemory: 32768,
		MaxVertexInputs: 32, MaxVertexOutputs: 32, MaxFragmentInputs: 32, MaxFragmentOutputs: 8,
	}
	for _, c := range []Capability{
		CapabilityMatrix, CapabilityShader, CapabilityFloat16, CapabilityFloat64, CapabilityInt64, CapabilityInt64Atomics,
		CapabilityInt16, CapabilityInt8,
		CapabilityImageGatherExtended, CapabilityStorageImageMultisample, CapabilityUniformBufferArrayDynamicIndexing,
		CapabilitySampledImageArrayDynamicIndexing, CapabilityStorageBufferArrayDynamicIndexing,
		CapabilityStorageImageArrayDynamicIndexing,
		CapabilityImageCubeArray, CapabilitySampledRect, CapabilitySampled1D, CapabilityImage1D, CapabilitySampledCubeArray,
		CapabilitySampledBuffer, CapabilityImageBuffer, CapabilityImageMSArray, CapabilityStorageImageExtendedFormats,
		CapabilityImageQuery,
		CapabilityStorageImageReadWithoutFormat, CapabilityStorageImageWriteWithoutFormat, CapabilityMinLod,
		CapabilityGroupNonUniform, CapabilityGroupNonUniformVote, CapabilityGroupNonUniformArithmetic,
		CapabilityGroupNonUniformBallot,
		CapabilityGroupNonUniformShuffle, CapabilityGroupNonUniformShuffleRelative, CapabilityGroupNonUniformClustered,
		CapabilityGroupNonUniformQuad,
		CapabilityGroupNonUniformRotateKHR, CapabilitySubgroupBallotKHR, CapabilitySubgroupVoteKHR,
		CapabilityStorageBuffer16BitAccess, CapabilityUniformAndStorageBuffer16BitAccess, CapabilityStoragePushConstant16,
		CapabilityStorageBuffer8BitAccess, CapabilityUniformAndStorageBuffer8BitAccess, CapabilityStoragePushConstant8,
		CapabilityVariablePointersStorageBuffer, CapabilityVariablePointers, CapabilityDeviceGroup,
		CapabilityDenormPreserve, CapabilityDenormFlushToZero, CapabilitySignedZeroInfNanPreserve, CapabilityRoundingModeRTE,
		CapabilityRoundingModeRTZ,
		CapabilityShaderNonUniform, CapabilityRuntimeDescriptorArray, CapabilityUniformTexelBufferArrayDynamicIndexing,
		CapabilityStorageTexelBufferArrayDynamicIndexing, CapabilityUniformBufferArrayNonUniformIndexing,
		CapabilitySampledImageArrayNonUniformIndexing,
		CapabilityStorageBufferArrayNonUniformIndexing, CapabilityStorageImageArrayNonUniformIndexing,
		CapabilityUniformTexelBufferArrayNonUniformIndexing, CapabilityStorageTexelBufferArrayNonUniformIndexing,
		CapabilityVulkanMemoryModel, CapabilityVulkanMemoryModelDeviceScope, CapabilityPhysicalStorageBufferAddresses,
		CapabilityDotProduct, CapabilityDotProductInputAll, CapabilityDotProductInput4x8Bit,
		CapabilityDotProductInput4x8BitPacked,
		CapabilityAtomicFloat32AddEXT, CapabilityAtomicFloat64AddEXT, CapabilityAtomicFloat32MinMaxEXT,
		CapabilityAtomicFloat16AddEXT,
		CapabilityWorkgroupMemoryExplicitLayoutKHR, CapabilityWorkgroupMemoryExplicitLayout8BitAccessKHR,
		CapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR,
		CapabilityInt64ImageEXT, CapabilityShaderClockKHR, CapabilityExpectAssumeKHR,
		CapabilityClipDistance, CapabilityCullDistance, CapabilityShaderLayer, CapabilityShaderViewportIndex,
		CapabilityDrawParameters, CapabilityStorageInputOutput16, CapabilityMultiView, CapabilityGeometry,
		CapabilitySampleRateShading, CapabilityInputAttachment, CapabilityDerivativeControl,
		CapabilityInterpolationFunction, CapabilityMultiViewport, CapabilityStencilExportEXT,
		CapabilityDemoteToHelperInvocation,
	} {
		env.Capabilities[c] = true
	}
	for _, e := range []string{
		"SPV_KHR_non_semantic_info", "SPV_KHR_physical_storage_buffer", "SPV_KHR_storage_buffer_storage_class",
		"SPV_KHR_vulkan_memory_model",
		"SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float16_add", "SPV_EXT_shader_atomic_float_min_max",
		"SPV_EXT_descriptor_indexing",
		"SPV_KHR_variable_pointers", "SPV_KHR_16bit_storage", "SPV_KHR_8bit_storage", "SPV_KHR_shader_ballot",
		"SPV_KHR_subgroup_vote",
		"SPV_KHR_workgroup_memory_explicit_layout", "SPV_KHR_integer_dot_product", "SPV_KHR_float_controls",
		"SPV_EXT_shader_image_int64",
		"SPV_KHR_shader_clock", "SPV_KHR_expect_assume", "SPV_KHR_no_integer_wrap_decoration", "SPV_KHR_subgroup_rotate",
		"SPV_GOOGLE_decorate_string", "SPV_EXT_demote_to_helper_invocation", "SPV_EXT_shader_stencil_export",
	} {
		env.Extensions[e] = true
	}
	return env
}

// validate runs spirv-val, and says what it has to say.
func validate(t testing.TB, words []uint32) string {
	t.Helper()
	cmd := exec.Command(tool(t, "spirv-val"), "--target-env", "vulkan1.3", "--scalar-block-layout",
		"--workgroup-scalar-block-layout", "-")
	cmd.Stdin = strings.NewReader(string(toBytes(words)))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func TestCheckAcceptsShaders(t *testing.T) {
	for name, words := range shaders(t) {
		if v := validate(t, words); v != "" {
			t.Errorf("%s: spirv-val: %s", name, v)
		}
		if err := decode(t, words).Check(everything()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
