package spirv

import "farside/internal/vk"

// builtInRule is what a built-in of vertex, fragment and compute shaders is like, and the rules that say so.
type builtInRule struct {
	inputs, outputs models // of which it may be one
	kind            TypeKind
	count           uint32  // components; 0: an array of scalars
	stage           vk.VUID // the rule of its stages
	class           vk.VUID // and of its storage classes
	typed           vk.VUID // and of its type
}

const anyStage = inVertex | inFragment | inCompute

// builtInRules are the rules of chapter "Built-In Variables". Numbers have 32 bits.
var builtInRules = map[BuiltIn]builtInRule{
	BuiltInNumWorkgroups: {inCompute, 0, TypeInt, 3, vk.VUID_NumWorkgroups_NumWorkgroups_04296,
		vk.VUID_NumWorkgroups_NumWorkgroups_04297, vk.VUID_NumWorkgroups_NumWorkgroups_04298},
	BuiltInWorkgroupId: {inCompute, 0, TypeInt, 3, vk.VUID_WorkgroupId_WorkgroupId_04422,
		vk.VUID_WorkgroupId_WorkgroupId_04423, vk.VUID_WorkgroupId_WorkgroupId_04424},
	BuiltInLocalInvocationId: {inCompute, 0, TypeInt, 3, vk.VUID_LocalInvocationId_LocalInvocationId_04281,
		vk.VUID_LocalInvocationId_LocalInvocationId_04282, vk.VUID_LocalInvocationId_LocalInvocationId_04283},
	BuiltInGlobalInvocationId: {inCompute, 0, TypeInt, 3, vk.VUID_GlobalInvocationId_GlobalInvocationId_04236,
		vk.VUID_GlobalInvocationId_GlobalInvocationId_04237, vk.VUID_GlobalInvocationId_GlobalInvocationId_04238},
	BuiltInLocalInvocationIndex: {inCompute, 0, TypeInt, 1, vk.VUID_LocalInvocationIndex_LocalInvocationIndex_04284,
		vk.VUID_LocalInvocationIndex_LocalInvocationIndex_04285, vk.VUID_LocalInvocationIndex_LocalInvocationIndex_04286},
	BuiltInSubgroupId: {inCompute, 0, TypeInt, 1, vk.VUID_SubgroupId_SubgroupId_04367,
		vk.VUID_SubgroupId_SubgroupId_04368, vk.VUID_SubgroupId_SubgroupId_04369},
	BuiltInNumSubgroups: {inCompute, 0, TypeInt, 1, vk.VUID_NumSubgroups_NumSubgroups_04293,
		vk.VUID_NumSubgroups_NumSubgroups_04294, vk.VUID_NumSubgroups_NumSubgroups_04295},
	BuiltInSubgroupEqMask: {anyStage, 0, TypeInt, 4, vk.NoVUID, vk.VUID_SubgroupEqMask_SubgroupEqMask_04370,
		vk.VUID_SubgroupEqMask_SubgroupEqMask_04371},
	BuiltInSubgroupGeMask: {anyStage, 0, TypeInt, 4, vk.NoVUID, vk.VUID_SubgroupGeMask_SubgroupGeMask_04372,
		vk.VUID_SubgroupGeMask_SubgroupGeMask_04373},
	BuiltInSubgroupGtMask: {anyStage, 0, TypeInt, 4, vk.NoVUID, vk.VUID_SubgroupGtMask_SubgroupGtMask_04374,
		vk.VUID_SubgroupGtMask_SubgroupGtMask_04375},
	BuiltInSubgroupLeMask: {anyStage, 0, TypeInt, 4, vk.NoVUID, vk.VUID_SubgroupLeMask_SubgroupLeMask_04376,
		vk.VUID_SubgroupLeMask_SubgroupLeMask_04377},
	BuiltInSubgroupLtMask: {anyStage, 0, TypeInt, 4, vk.NoVUID, vk.VUID_SubgroupLtMask_SubgroupLtMask_04378,
		vk.VUID_SubgroupLtMask_SubgroupLtMask_04379},
	BuiltInSubgroupLocalInvocationId: {anyStage, 0, TypeInt, 1, vk.NoVUID,
		vk.VUID_SubgroupLocalInvocationId_SubgroupLocalInvocationId_04380,
		vk.VUID_SubgroupLocalInvocationId_SubgroupLocalInvocationId_04381},
	BuiltInSubgroupSize: {anyStage, 0, TypeInt, 1, vk.NoVUID, vk.VUID_SubgroupSize_SubgroupSize_04382,
		vk.VUID_SubgroupSize_SubgroupSize_04383},
	BuiltInDeviceIndex: {anyStage, 0, TypeInt, 1, vk.NoVUID, vk.VUID_DeviceIndex_DeviceIndex_04205,
		vk.VUID_DeviceIndex_DeviceIndex_04206},

	BuiltInVertexIndex: {inVertex, 0, TypeInt, 1, vk.VUID_VertexIndex_VertexIndex_04398,
		vk.VUID_VertexIndex_VertexIndex_04399, vk.VUID_VertexIndex_VertexIndex_04400},
	BuiltInInstanceIndex: {inVertex, 0, TypeInt, 1, vk.VUID_InstanceIndex_InstanceIndex_04263,
		vk.VUID_InstanceIndex_InstanceIndex_04264, vk.VUID_InstanceIndex_InstanceIndex_04265},
	BuiltInBaseVertex: {inVertex, 0, TypeInt, 1, vk.VUID_BaseVertex_BaseVertex_04184,
		vk.VUID_BaseVertex_BaseVertex_04185, vk.VUID_BaseVertex_BaseVertex_04186},
	BuiltInBaseInstance: {inVertex, 0, TypeInt, 1, vk.VUID_BaseInstance_BaseInstance_04181,
		vk.VUID_BaseInstance_BaseInstance_04182, vk.VUID_BaseInstance_BaseInstance_04183},
	BuiltInDrawIndex: {inVertex, 0, TypeInt, 1, vk.VUID_DrawIndex_DrawIndex_04207,
		vk.VUID_DrawIndex_DrawIndex_04208, vk.VUID_DrawIndex_DrawIndex_04209},
	BuiltInViewIndex: {inVertex | inFragment, 0, TypeInt, 1, vk.VUID_ViewIndex_ViewIndex_04401,
		vk.VUID_ViewIndex_ViewIndex_04402, vk.VUID_ViewIndex_ViewIndex_04403},
	BuiltInPosition: {0, inVertex, TypeFloat, 4, vk.VUID_Position_Position_04318,
		vk.VUID_Position_Position_04319, vk.VUID_Position_Position_04321},
	BuiltInPointSize: {0, inVertex, TypeFloat, 1, vk.VUID_PointSize_PointSize_04314,
		vk.VUID_PointSize_PointSize_04315, vk.VUID_PointSize_PointSize_04317},
	BuiltInClipDistance: {inFragment, inVertex, TypeFloat, 0, vk.VUID_ClipDistance_ClipDistance_04187,
		vk.VUID_ClipDistance_ClipDistance_04188, vk.VUID_ClipDistance_ClipDistance_04191},
	BuiltInCullDistance: {inFragment, inVertex, TypeFloat, 0, vk.VUID_CullDistance_CullDistance_04196,
		vk.VUID_CullDistance_CullDistance_04197, vk.VUID_CullDistance_CullDistance_04200},
	BuiltInLayer: {inFragment, inVertex, TypeInt, 1, vk.VUID_Layer_Layer_04272, vk.VUID_Layer_Layer_04274,
		vk.VUID_Layer_Layer_04276},
	BuiltInViewportIndex: {inFragment, inVertex, TypeInt, 1, vk.VUID_ViewportIndex_ViewportIndex_04404,
		vk.VUID_ViewportIndex_ViewportIndex_04406, vk.VUID_ViewportIndex_ViewportIndex_04408},

	BuiltInFragCoord: {inFragment, 0, TypeFloat, 4, vk.VUID_FragCoord_FragCoord_04210,
		vk.VUID_FragCoord_FragCoord_04211, vk.VUID_FragCoord_FragCoord_04212},
	BuiltInFrontFacing: {inFragment, 0, TypeBool, 1, vk.VUID_FrontFacing_FrontFacing_04229,
		vk.VUID_FrontFacing_FrontFacing_04230, vk.VUID_FrontFacing_FrontFacing_04231},
	BuiltInPointCoord: {inFragment, 0, TypeFloat, 2, vk.VUID_PointCoord_PointCoord_04311,
		vk.VUID_PointCoord_PointCoord_04312, vk.VUID_PointCoord_PointCoord_04313},
	BuiltInSampleId: {inFragment, 0, TypeInt, 1, vk.VUID_SampleId_SampleId_04354,
		vk.VUID_SampleId_SampleId_04355, vk.VUID_SampleId_SampleId_04356},
	BuiltInSamplePosition: {inFragment, 0, TypeFloat, 2, vk.VUID_SamplePosition_SamplePosition_04360,
		vk.VUID_SamplePosition_SamplePosition_04361, vk.VUID_SamplePosition_SamplePosition_04362},
	BuiltInSampleMask: {inFragment, inFragment, TypeInt, 0, vk.VUID_SampleMask_SampleMask_04357,
		vk.VUID_SampleMask_SampleMask_04358, vk.VUID_SampleMask_SampleMask_04359},
	BuiltInHelperInvocation: {inFragment, 0, TypeBool, 1, vk.VUID_HelperInvocation_HelperInvocation_04239,
		vk.VUID_HelperInvocation_HelperInvocation_04240, vk.VUID_HelperInvocation_HelperInvocation_04241},
	BuiltInPrimitiveId: {inFragment, 0, TypeInt, 1, vk.VUID_PrimitiveId_PrimitiveId_04330,
		vk.VUID_PrimitiveId_PrimitiveId_04334, vk.VUID_PrimitiveId_PrimitiveId_04337},
	BuiltInFragDepth: {0, inFragment, TypeFloat, 1, vk.VUID_FragDepth_FragDepth_04213,
		vk.VUID_FragDepth_FragDepth_04214, vk.VUID_FragDepth_FragDepth_04215},
	BuiltInFragStencilRefEXT: {0, inFragment, TypeInt, 1, vk.VUID_FragStencilRefEXT_FragStencilRefEXT_04223,
		vk.VUID_FragStencilRefEXT_FragStencilRefEXT_04224, vk.VUID_FragStencilRefEXT_FragStencilRefEXT_04225},
}

// builtIn checks a built-in of an entry point: its stage, storage class and type.
func (k *checker) builtIn(e *EntryPoint, i *Instruction, b BuiltIn, class StorageClass, t *Type) error {
	r, ok := builtInRules[b]
	name := "vertex"
	switch e.Model {
	case ExecutionModelFragment:
		name = "fragment"
	case ExecutionModelGLCompute:
		name = "compute"
	}
	rule := r.stage
	if !ok || e.Model == ExecutionModelGLCompute && !r.inputs.has(e.Model) {
		rule = vk.VUID_StandaloneSpirv_BuiltIn_04668
	}
	if !(r.inputs | r.outputs).has(e.Model) {
		return ruleAt(i, rule, "the built-in %v is none of %s shaders", b, name)
	}
	way, what := r.inputs, "input"
	if class == StorageClassOutput {
		way, what = r.outputs, "output"
	}
	if !way.has(e.Model) {
		return ruleAt(i, r.class, "the built-in %v is no %s of %s shaders", b, what, name)
	}
	if b == BuiltInFragDepth && !e.hasMode(ExecutionModeDepthReplacing) && k.m.usage().used(e.Function)[i.Result] {
		return ruleAt(e.Instruction, vk.VUID_FragDepth_FragDepth_04216,
			"it writes FragDepth, but has not the mode DepthReplacing")
	}
	count, scalar := uint32(1), t
	switch t.Kind {
	case TypeVector:
		count, scalar = t.Count, t.Elem
		if count == 1 {
			count = 0
		}
	case TypeArray:
		count, scalar = 0, t.Elem
	}
	fits := scalar.Kind == r.kind && (r.kind == TypeBool || scalar.Width == 32) && count == r.count
	if !fits || r.count == 0 && t.Kind != TypeArray {
		return ruleAt(i, r.typed, "the built-in %v is not of %s", b, r.text())
	}
	if r.count == 0 && t.Count > maxDistances {
		return ruleAt(i, r.typed, "the built-in %v has more than %d elements", b, maxDistances)
	}
	return nil
}

// maxDistances is more than any device has of clip and cull distances, or words of sample masks.
const maxDistances = 32

// text says what a built-in is of.
func (r *builtInRule) text() string {
	kind := map[TypeKind]string{TypeInt: "32-bit integer", TypeFloat: "32-bit float", TypeBool: "bool"}[r.kind]
	switch r.count {
	case 0:
		return "an array of " + kind + "s"
	case 1:
		return "1 " + kind + "s"
	}
	return string(rune('0'+r.count)) + " " + kind + "s"
}
