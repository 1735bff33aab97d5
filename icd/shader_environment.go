package icd

import (
	"slices"

	"farside/internal/vk"
	"farside/spirv"
)

// always are the capabilities that need neither a feature nor an extension (Vulkan, appendix "Vulkan Environment for
// SPIR-V", section "Capabilities"), those among them that name what subgroups and float controls can do included.
var always = []spirv.Capability{
	spirv.CapabilityMatrix, spirv.CapabilityShader, spirv.CapabilityInputAttachment, spirv.CapabilitySampled1D,
	spirv.CapabilityImage1D, spirv.CapabilitySampledBuffer, spirv.CapabilityImageBuffer, spirv.CapabilityImageQuery,
	spirv.CapabilityDerivativeControl, spirv.CapabilityStorageImageExtendedFormats, spirv.CapabilityDeviceGroup,
	spirv.CapabilityGroupNonUniform, spirv.CapabilityGroupNonUniformVote, spirv.CapabilityGroupNonUniformArithmetic,
	spirv.CapabilityGroupNonUniformBallot, spirv.CapabilityGroupNonUniformShuffle,
	spirv.CapabilityGroupNonUniformShuffleRelative,
	spirv.CapabilityGroupNonUniformClustered, spirv.CapabilityGroupNonUniformQuad,
	spirv.CapabilityDenormPreserve, spirv.CapabilitySignedZeroInfNanPreserve, spirv.CapabilityRoundingModeRTE,
}

// enabled is a capability with what it comes with: one of these names is enough.
type enabled struct {
	capability spirv.Capability
	by         []string
}

// byFeature are the capabilities that a module may declare where one of the features is enabled.
var byFeature = []enabled{
	{spirv.CapabilityFloat64, []string{"shaderFloat64"}},
	{spirv.CapabilityInt64, []string{"shaderInt64"}},
	{spirv.CapabilityInt16, []string{"shaderInt16"}},
	{spirv.CapabilityFloat16, []string{"shaderFloat16"}},
	{spirv.CapabilityInt8, []string{"shaderInt8"}},
	{spirv.CapabilityInt64Atomics, []string{"shaderBufferInt64Atomics", "shaderSharedInt64Atomics",
		"shaderImageInt64Atomics"}},
	{spirv.CapabilityAtomicFloat32AddEXT, []string{
		"shaderBufferFloat32AtomicAdd", "shaderSharedFloat32AtomicAdd", "shaderImageFloat32AtomicAdd",
	}},
	{spirv.CapabilityAtomicFloat64AddEXT, []string{"shaderBufferFloat64AtomicAdd", "shaderSharedFloat64AtomicAdd"}},
	{spirv.CapabilityAtomicFloat32MinMaxEXT, []string{
		"shaderBufferFloat32AtomicMinMax", "shaderSharedFloat32AtomicMinMax", "shaderImageFloat32AtomicMinMax",
	}},
	{spirv.CapabilityAtomicFloat64MinMaxEXT, []string{"shaderBufferFloat64AtomicMinMax",
		"shaderSharedFloat64AtomicMinMax"}},
	{spirv.CapabilityInt64ImageEXT, []string{"shaderImageInt64Atomics"}},

	{spirv.CapabilityStorageBuffer16BitAccess, []string{"storageBuffer16BitAccess"}},
	{spirv.CapabilityUniformAndStorageBuffer16BitAccess, []string{"uniformAndStorageBuffer16BitAccess"}},
	{spirv.CapabilityStoragePushConstant16, []string{"storagePushConstant16"}},
	{spirv.CapabilityStorageBuffer8BitAccess, []string{"storageBuffer8BitAccess"}},
	{spirv.CapabilityUniformAndStorageBuffer8BitAccess, []string{"uniformAndStorageBuffer8BitAccess"}},
	{spirv.CapabilityStoragePushConstant8, []string{"storagePushConstant8"}},
	{spirv.CapabilityVariablePointersStorageBuffer, []string{"variablePointersStorageBuffer", "variablePointers"}},
	{spirv.CapabilityVariablePointers, []string{"variablePointers"}},
	{spirv.CapabilityPhysicalStorageBufferAddresses, []string{"bufferDeviceAddress"}},
	{spirv.CapabilityVulkanMemoryModel, []string{"vulkanMemoryModel"}},
	{spirv.CapabilityVulkanMemoryModelDeviceScope, []string{"vulkanMemoryModelDeviceScope"}},

	{spirv.CapabilityWorkgroupMemoryExplicitLayoutKHR, []string{"workgroupMemoryExplicitLayout"}},
	{spirv.CapabilityWorkgroupMemoryExplicitLayout8BitAccessKHR, []string{"workgroupMemoryExplicitLayout8BitAccess"}},
	{spirv.CapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR, []string{"workgroupMemoryExplicitLayout16BitAccess"}},

	{spirv.CapabilityUniformBufferArrayDynamicIndexing, []string{"shaderUniformBufferArrayDynamicIndexing"}},
	{spirv.CapabilitySampledImageArrayDynamicIndexing, []string{"shaderSampledImageArrayDynamicIndexing"}},
	{spirv.CapabilityStorageBufferArrayDynamicIndexing, []string{"shaderStorageBufferArrayDynamicIndexing"}},
	{spirv.CapabilityStorageImageArrayDynamicIndexing, []string{"shaderStorageImageArrayDynamicIndexing"}},

	{spirv.CapabilityShaderNonUniform, []string{"descriptorIndexing", "shaderUniformBufferArrayNonUniformIndexing",
		"shaderSampledImageArrayNonUniformIndexing", "shaderStorageBufferArrayNonUniformIndexing",
		"shaderStorageImageArrayNonUniformIndexing", "shaderUniformTexelBufferArrayNonUniformIndexing",
		"shaderStorageTexelBufferArrayNonUniformIndexing"}},
	{spirv.CapabilityRuntimeDescriptorArray, []string{"runtimeDescriptorArray"}},
	{spirv.CapabilityUniformTexelBufferArrayDynamicIndexing, []string{"shaderUniformTexelBufferArrayDynamicIndexing"}},
	{spirv.CapabilityStorageTexelBufferArrayDynamicIndexing, []string{"shaderStorageTexelBufferArrayDynamicIndexing"}},

	{spirv.CapabilityUniformBufferArrayNonUniformIndexing, []string{"shaderUniformBufferArrayNonUniformIndexing"}},
	{spirv.CapabilitySampledImageArrayNonUniformIndexing, []string{"shaderSampledImageArrayNonUniformIndexing"}},
	{spirv.CapabilityStorageBufferArrayNonUniformIndexing, []string{"shaderStorageBufferArrayNonUniformIndexing"}},
	{spirv.CapabilityStorageImageArrayNonUniformIndexing, []string{"shaderStorageImageArrayNonUniformIndexing"}},
	{spirv.CapabilityUniformTexelBufferArrayNonUniformIndexing,
		[]string{"shaderUniformTexelBufferArrayNonUniformIndexing"}},
	{spirv.CapabilityStorageTexelBufferArrayNonUniformIndexing,
		[]string{"shaderStorageTexelBufferArrayNonUniformIndexing"}},

	{spirv.CapabilityImageGatherExtended, []string{"shaderImageGatherExtended"}},
	{spirv.CapabilityStorageImageMultisample, []string{"shaderStorageImageMultisample"}},
	{spirv.CapabilityImageMSArray, []string{"shaderStorageImageMultisample"}},
	{spirv.CapabilityImageCubeArray, []string{"imageCubeArray"}},
	{spirv.CapabilitySampledCubeArray, []string{"imageCubeArray"}},
	{spirv.CapabilitySparseResidency, []string{"shaderResourceResidency"}},
	{spirv.CapabilityMinLod, []string{"shaderResourceMinLod"}},
	{spirv.CapabilityStorageImageReadWithoutFormat, []string{"shaderStorageImageReadWithoutFormat"}},
	{spirv.CapabilityStorageImageWriteWithoutFormat, []string{"shaderStorageImageWriteWithoutFormat"}},

	{spirv.CapabilityClipDistance, []string{"shaderClipDistance"}},
	{spirv.CapabilityCullDistance, []string{"shaderCullDistance"}},
	{spirv.CapabilitySampleRateShading, []string{"sampleRateShading"}},
	{spirv.CapabilityInterpolationFunction, []string{"sampleRateShading"}},
	{spirv.CapabilityDrawParameters, []string{"shaderDrawParameters"}},
	{spirv.CapabilityMultiView, []string{"multiview"}},
	{spirv.CapabilityDemoteToHelperInvocation, []string{"shaderDemoteToHelperInvocation"}},
	{spirv.CapabilityDotProduct, []string{"shaderIntegerDotProduct"}},
	{spirv.CapabilityDotProductInputAll, []string{"shaderIntegerDotProduct"}},
	{spirv.CapabilityDotProductInput4x8Bit, []string{"shaderIntegerDotProduct"}},
	{spirv.CapabilityDotProductInput4x8BitPacked, []string{"shaderIntegerDotProduct"}},
	{spirv.CapabilityGroupNonUniformRotateKHR, []string{"shaderSubgroupRotate"}},
	{spirv.CapabilityExpectAssumeKHR, []string{"shaderExpectAssume"}},
	{spirv.CapabilityFloatControls2, []string{"shaderFloatControls2"}},
	{spirv.CapabilityQuadControlKHR, []string{"shaderQuadControl"}},
	{spirv.CapabilityShaderClockKHR, []string{"shaderSubgroupClock", "shaderDeviceClock"}},
	{spirv.CapabilityComputeDerivativeGroupQuadsKHR, []string{"computeDerivativeGroupQuads"}},
}

// byExtension are the capabilities that come with a device extension, which has no feature for them.
var byExtension = []enabled{
	{spirv.CapabilitySubgroupBallotKHR, []string{vk.EXT_SHADER_SUBGROUP_BALLOT_EXTENSION_NAME}},
	{spirv.CapabilitySubgroupVoteKHR, []string{vk.EXT_SHADER_SUBGROUP_VOTE_EXTENSION_NAME}},
	{spirv.CapabilityStorageImageReadWithoutFormat, []string{vk.KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME}},
	{spirv.CapabilityStorageImageWriteWithoutFormat, []string{vk.KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME}},
	{spirv.CapabilityShaderNonUniform, []string{vk.EXT_DESCRIPTOR_INDEXING_EXTENSION_NAME}},
}

// spirvExtensions are the extensions of SPIR-V that a module may ask for: from a minor version of Vulkan 1 on, 0 for
// none, or with a device extension.
var spirvExtensions = []struct {
	name      string
	minor     uint32
	extension string
}{
	{"SPV_KHR_variable_pointers", 1, vk.KHR_VARIABLE_POINTERS_EXTENSION_NAME},
	{"SPV_KHR_16bit_storage", 1, vk.KHR_16BIT_STORAGE_EXTENSION_NAME},
	{"SPV_KHR_storage_buffer_storage_class", 1, vk.KHR_STORAGE_BUFFER_STORAGE_CLASS_EXTENSION_NAME},
	{"SPV_KHR_device_group", 1, vk.KHR_DEVICE_GROUP_EXTENSION_NAME},
	{"SPV_KHR_multiview", 1, vk.KHR_MULTIVIEW_EXTENSION_NAME},
	{"SPV_KHR_shader_draw_parameters", 1, vk.KHR_SHADER_DRAW_PARAMETERS_EXTENSION_NAME},
	{"SPV_KHR_8bit_storage", 2, vk.KHR_8BIT_STORAGE_EXTENSION_NAME},
	{"SPV_KHR_float_controls", 2, vk.KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME},
	{"SPV_EXT_descriptor_indexing", 2, vk.EXT_DESCRIPTOR_INDEXING_EXTENSION_NAME},
	{"SPV_KHR_vulkan_memory_model", 2, vk.KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME},
	{"SPV_KHR_physical_storage_buffer", 2, vk.KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME},
	{"SPV_EXT_physical_storage_buffer", 0, vk.KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME},
	{"SPV_EXT_demote_to_helper_invocation", 3, vk.EXT_SHADER_DEMOTE_TO_HELPER_INVOCATION_EXTENSION_NAME},
	{"SPV_KHR_non_semantic_info", 3, vk.KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME},
	{"SPV_KHR_terminate_invocation", 3, vk.KHR_SHADER_TERMINATE_INVOCATION_EXTENSION_NAME},
	{"SPV_KHR_integer_dot_product", 3, vk.KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME},
	{"SPV_KHR_subgroup_rotate", 4, vk.KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME},
	{"SPV_KHR_expect_assume", 4, vk.KHR_SHADER_EXPECT_ASSUME_EXTENSION_NAME},
	{"SPV_KHR_float_controls2", 4, vk.KHR_SHADER_FLOAT_CONTROLS_2_EXTENSION_NAME},
	{"SPV_KHR_quad_control", 0, vk.KHR_SHADER_QUAD_CONTROL_EXTENSION_NAME},
	{"SPV_KHR_shader_clock", 0, vk.KHR_SHADER_CLOCK_EXTENSION_NAME},
	{"SPV_KHR_shader_ballot", 0, vk.EXT_SHADER_SUBGROUP_BALLOT_EXTENSION_NAME},
	{"SPV_KHR_subgroup_vote", 0, vk.EXT_SHADER_SUBGROUP_VOTE_EXTENSION_NAME},
	{"SPV_KHR_workgroup_memory_explicit_layout", 0, vk.KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME},
	{"SPV_EXT_shader_atomic_float_add", 0, vk.EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME},
	{"SPV_EXT_shader_atomic_float_min_max", 0, vk.EXT_SHADER_ATOMIC_FLOAT_2_EXTENSION_NAME},
	{"SPV_EXT_shader_image_int64", 0, vk.EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME},
	{"SPV_KHR_subgroup_uniform_control_flow", 0, vk.KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME},
	{"SPV_KHR_maximal_reconvergence", 0, vk.KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME},
	{"SPV_GOOGLE_hlsl_functionality1", 0, vk.GOOGLE_HLSL_FUNCTIONALITY_1_EXTENSION_NAME},
	{"SPV_GOOGLE_user_type", 0, vk.GOOGLE_USER_TYPE_EXTENSION_NAME},
	{"SPV_GOOGLE_decorate_string", 0, vk.GOOGLE_DECORATE_STRING_EXTENSION_NAME},
}

// spirvVersion is the highest version of SPIR-V that a version of Vulkan takes, as in a module's header.
func spirvVersion(minor uint32) uint32 {
	return [...]uint32{0x10000, 0x10300, 0x10500, 0x10600}[min(minor, 3)]
}

// newEnvironment is what the rules for modules come to, with some of the device's features and extensions.
func (p *physicalDevice) newEnvironment(feature, extension func(name string) bool) *spirv.Environment {
	minor := vk.VersionMinor(p.version())
	version := spirvVersion(minor)
	if extension(vk.KHR_SPIRV_1_4_EXTENSION_NAME) {
		version = max(version, 0x10400)
	}
	e := &spirv.Environment{
		Version:                     version,
		Capabilities:                map[spirv.Capability]bool{},
		Extensions:                  map[string]bool{},
		UniformBufferStandardLayout: feature("uniformBufferStandardLayout"),
		ScalarBlockLayout:           feature("scalarBlockLayout"),
		WorkgroupScalarLayout:       feature("workgroupMemoryExplicitLayoutScalarBlockLayout"),
		SubgroupClock:               feature("shaderSubgroupClock"),
		DeviceClock:                 feature("shaderDeviceClock"),
		SubgroupUniformControlFlow:  feature("shaderSubgroupUniformControlFlow"),
		MaximalReconvergence:        feature("shaderMaximalReconvergence"),
		MaxWorkgroupSize:            p.limits.MaxComputeWorkGroupSize,
		MaxWorkgroupInvocations:     p.limits.MaxComputeWorkGroupInvocations,
		MaxWorkgroupMemory:          p.limits.MaxComputeSharedMemorySize,
		MaxVertexInputs:             p.limits.MaxVertexInputAttributes,
		MaxVertexOutputs:            p.limits.MaxVertexOutputComponents / 4,
		MaxFragmentInputs:           p.limits.MaxFragmentInputComponents / 4,
		MaxFragmentOutputs:          p.limits.MaxFragmentOutputAttachments,
	}
	for _, c := range always {
		e.Capabilities[c] = true
	}
	enable := func(table []enabled, has func(name string) bool) {
		for _, c := range table {
			if slices.ContainsFunc(c.by, has) {
				e.Capabilities[c.capability] = true
			}
		}
	}
	enable(byFeature, feature)
	enable(byExtension, extension)
	for i := range spirvExtensions {
		x := &spirvExtensions[i]
		if x.minor != 0 && minor >= x.minor || extension(x.extension) {
			e.Extensions[x.name] = true
		}
	}
	return e
}

// newEnvironment is what modules are held to on a device: what it has enabled.
func (d *device) newEnvironment() *spirv.Environment {
	return d.physical.newEnvironment(
		func(name string) bool { return d.features[name] }, func(name string) bool { return d.extensions[name] })
}

// newOffer is what modules could be held to if the device had enabled all that there is.
func (d *device) newOffer() *spirv.Environment {
	return d.physical.newEnvironment(d.physical.hasFeature, d.physical.supports)
}
