package icd

import (
	"math/bits"
	"slices"

	"farside/internal/command"
	"farside/internal/exec"
	"farside/internal/vk"
)

// Shader objects (VK_EXT_shader_object): a shader of compute or of graphics, and the layout that it is used with.
// Which of them draw together is known when they do: exec joins them. Linked ones are no different from others; the
// rules about them are held.

// shaderObject is a VkShaderEXT.
type shaderObject struct {
	child
	shader *shader
	exec   exec.Shader
	binary []byte // what vkGetShaderBinaryDataEXT gives
}

// The flags that shader objects of this device can have.
const objectFlags = vk.SHADER_CREATE_LINK_STAGE_BIT_EXT | vk.SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT |
	vk.SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT | vk.SHADER_CREATE_DISPATCH_BASE_BIT_EXT

// createShadersEXT makes shaders up to the first that fails: its handle is the first VK_NULL_HANDLE.
func createShadersEXT(
	d *device, count uint32, infos *vk.ShaderCreateInfoEXT, _ *vk.AllocationCallbacks, out *vk.ShaderEXT,
) vk.Result {
	const name = "vkCreateShadersEXT"
	list, err := elements(infos, count, vk.VUID_vkCreateShadersEXT_createInfoCount_arraylength,
		vk.VUID_vkCreateShadersEXT_pCreateInfos_parameter)
	if err == nil && !d.allows("shaderObject", vk.VUID_vkCreateShadersEXT_None_08400) {
		err = vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateShadersEXT_None_08400, "the device has no feature shaderObject")
	}
	if err == nil {
		err = checkLinks(list)
	}
	if err != nil {
		return d.fail(name, err)
	}
	link := new(exec.Link)
	results := vk.Slice(out, count)
	for i := range list {
		s, err := d.newShaderObject(&list[i])
		if err != nil {
			return d.fail(name, err)
		}
		if list[i].Flags&vk.SHADER_CREATE_LINK_STAGE_BIT_EXT != 0 {
			s.exec.Link = link
			link.Stages |= vk.ShaderStageFlags(list[i].Stage)
		}
		results[i] = vk.ShaderEXT(d.add(s))
	}
	return vk.SUCCESS
}

// checkLinks looks at the shaders of a call that are to be linked.
func checkLinks(list []vk.ShaderCreateInfoEXT) error {
	const link = vk.SHADER_CREATE_LINK_STAGE_BIT_EXT
	linked := func(i *vk.ShaderCreateInfoEXT) bool { return i.Flags&link != 0 }
	first := slices.IndexFunc(list, func(i vk.ShaderCreateInfoEXT) bool { return linked(&i) })
	if first < 0 {
		return nil
	}
	var stages vk.ShaderStageFlags
	for i := range list {
		c := &list[i]
		stage := vk.ShaderStageFlags(c.Stage)
		switch {
		case !linked(c) && stage&vk.SHADER_STAGE_ALL_GRAPHICS != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateShadersEXT_pCreateInfos_08402,
				"a shader of %v is not linked, and others are", c.Stage)
		case !linked(c):
			continue
		case stages&stage != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateShadersEXT_pCreateInfos_08410, "two linked shaders are of %v",
				c.Stage)
		case c.CodeType != list[first].CodeType:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateShadersEXT_pCreateInfos_08411,
				"linked shaders are made of %v and of %v", list[first].CodeType, c.CodeType)
		}
		stages |= stage
	}
	for i := range list {
		c := &list[i]
		if linked(c) && c.Stage == vk.SHADER_STAGE_VERTEX_BIT && stages&vk.SHADER_STAGE_FRAGMENT_BIT != 0 &&
			c.NextStage != vk.SHADER_STAGE_FRAGMENT_BIT {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateShadersEXT_pCreateInfos_08409,
				"the vertex shader is linked to the fragment shader, and its nextStage is %v", c.NextStage)
		}
	}
	return nil
}

// objectStageRule is the rule that a stage breaks which the device has no shaders for.
func objectStageRule(stage vk.ShaderStageFlagBits) vk.VUID {
	switch stage {
	case vk.SHADER_STAGE_TESSELLATION_CONTROL_BIT, vk.SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08419
	case vk.SHADER_STAGE_GEOMETRY_BIT:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08420
	case vk.SHADER_STAGE_TASK_BIT_EXT:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08421
	case vk.SHADER_STAGE_MESH_BIT_EXT:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08422
	case vk.SHADER_STAGE_ALL_GRAPHICS, vk.SHADER_STAGE_ALL:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08418
	case vk.SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08425
	case vk.SHADER_STAGE_CLUSTER_CULLING_BIT_HUAWEI:
		return vk.VUID_VkShaderCreateInfoEXT_stage_08426
	}
	return vk.VUID_VkShaderCreateInfoEXT_stage_parameter
}

func (d *device) newShaderObject(info *vk.ShaderCreateInfoEXT) (*shaderObject, error) {
	number := slices.Index(stageBits[:], vk.ShaderStageFlags(info.Stage))
	if number < 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, objectStageRule(info.Stage), "the device has no shaders for %v", info.Stage)
	}
	if err := d.checkObject(info, number); err != nil {
		return nil, err
	}
	layout, err := d.newPipelineLayout(&vk.PipelineLayoutCreateInfo{
		SetLayoutCount: info.SetLayoutCount, PSetLayouts: info.PSetLayouts,
		PushConstantRangeCount: info.PushConstantRangeCount, PPushConstantRanges: info.PPushConstantRanges,
	})
	if vk.VUIDOf(err) == vk.VUID_VkPipelineLayoutCreateInfo_pPushConstantRanges_00292 {
		err = vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderCreateInfoEXT_pPushConstantRanges_10063, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	b, err := d.readObjectCode(info)
	if err != nil {
		return nil, err
	}
	st, err := d.objectStage(info, number, b)
	if err != nil {
		return nil, err
	}
	data := b.encode() // before the words are decoded
	made, _, err := d.shaderOf(st, 0, nil)
	if err == nil {
		err = made.fits(layout, &objectFits)
	}
	if err != nil && info.CodeType == vk.SHADER_CODE_TYPE_BINARY_EXT {
		return nil, vk.Errorf(vk.INCOMPATIBLE_SHADER_BINARY_EXT, vk.NoVUID, "the binary is no shader: %w", err)
	}
	if err != nil {
		return nil, err
	}
	s := &shaderObject{child: child{device: d}, shader: made, binary: data}
	s.exec = exec.Shader{Stage: info.Stage, Next: info.NextStage, Sets: layout.sets,
		Uses: made.sets, Atomics: made.program.Atomics,
		Push:  slices.Clone(vk.Slice(info.PPushConstantRanges, info.PushConstantRangeCount)),
		Needs: d.objectNeeds(), Base: info.Flags&vk.SHADER_CREATE_DISPATCH_BASE_BIT_EXT != 0}
	for _, r := range made.program.Resources {
		if r.Input > 0 {
			for n := range max(r.Count, 1) {
				s.exec.Inputs = append(s.exec.Inputs, r.Input-1+n)
			}
		}
	}
	if number == computeStage {
		s.exec.Program = made.program
	} else {
		s.exec.Drawn = made.program
	}
	s.exec.Ready()
	return s, nil
}

// objectStage makes the stage of a shader object, of what a binary holds.
func (d *device) objectStage(info *vk.ShaderCreateInfoEXT, number int, b *shaderBinary) (*stage, error) {
	st := &stage{number: number, entry: b.entry, varying: b.varying, object: true,
		code: codeOf(b.words, vk.VUID_VkShaderCreateInfoEXT_pCode_08737)}
	if info.Flags&vk.SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT != 0 {
		st.flags |= vk.PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT
	}
	if info.Flags&vk.SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT != 0 {
		st.flags |= vk.PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
	}
	st.options.SubgroupSize, st.options.Specialization = b.subgroup, b.values
	if info.CodeType == vk.SHADER_CODE_TYPE_SPIRV_EXT {
		err := d.readSubgroupSize(vk.Find[vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo](info.PNext), st)
		b.subgroup, b.varying = st.options.SubgroupSize, st.varying
		return st, err
	}
	if sizes := &d.physical.limits.subgroups; b.subgroup < sizes.MinSubgroupSize || b.subgroup > sizes.MaxSubgroupSize {
		return nil, incompatible("its subgroups have %d invocations", b.subgroup)
	}
	return st, nil
}

// objectFits are the rules for what a shader object needs of its layout: those of a pipeline's.
var objectFits = fitRules{
	noPush: vk.VUID_VkShaderCreateInfoEXT_codeType_10064, push: vk.VUID_VkShaderCreateInfoEXT_codeType_10065,
	set: vk.VUID_VkShaderCreateInfoEXT_codeType_10383, kind: vk.VUID_VkShaderCreateInfoEXT_codeType_10384,
	inline: vk.VUID_VkShaderCreateInfoEXT_codeType_10386, count: vk.VUID_VkShaderCreateInfoEXT_codeType_10385,
}

// checkObject looks at the flags of a shader and at what may follow it.
func (d *device) checkObject(info *vk.ShaderCreateInfoEXT, number int) error {
	flags, next := info.Flags, info.NextStage
	broken := func(rule vk.VUID, format string, args ...any) error {
		return vk.Errorf(vk.ERROR_UNKNOWN, rule, format, args...)
	}
	switch {
	case number != computeStage && !d.physical.graphics():
		return broken(vk.VUID_vkCreateShadersEXT_stage_09671, "no queue family of the device has graphics")
	case flags&^objectFlags != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_flags_parameter,
			"flags %v belong to features that the device does not have", flags&^objectFlags)
	case number == computeStage && flags&vk.SHADER_CREATE_LINK_STAGE_BIT_EXT != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_flags_08412, "a shader of compute is linked")
	case number != computeStage && flags&vk.SHADER_CREATE_DISPATCH_BASE_BIT_EXT != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_flags_08485, "%v of a shader of %v", flags, info.Stage)
	case number != computeStage && flags&vk.SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_flags_08992, "%v of a shader of %v", flags, info.Stage)
	case flags&vk.SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT != 0 &&
		!d.allows("subgroupSizeControl", vk.VUID_VkShaderCreateInfoEXT_flags_09404):
		return broken(vk.VUID_VkShaderCreateInfoEXT_flags_09404,
			"subgroups of varying size need the subgroupSizeControl feature")
	case flags&vk.SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT != 0 &&
		!d.allows("computeFullSubgroups", vk.VUID_VkShaderCreateInfoEXT_flags_09405):
		return broken(vk.VUID_VkShaderCreateInfoEXT_flags_09405, "full subgroups need the computeFullSubgroups feature")
	case number != vertexStage && next != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_nextStage_08434, "%v after %v", next, info.Stage)
	case next&(vk.SHADER_STAGE_TESSELLATION_CONTROL_BIT|vk.SHADER_STAGE_TESSELLATION_EVALUATION_BIT) != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_nextStage_08428,
			"nextStage %v needs the feature tessellationShader", next)
	case next&vk.SHADER_STAGE_GEOMETRY_BIT != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_nextStage_08429, "nextStage %v needs the feature geometryShader", next)
	case next&^vk.SHADER_STAGE_FRAGMENT_BIT != 0:
		return broken(vk.VUID_VkShaderCreateInfoEXT_nextStage_08427, "%v after a vertex shader", next)
	case info.SetLayoutCount > d.physical.limits.MaxBoundDescriptorSets:
		return broken(vk.VUID_VkShaderCreateInfoEXT_setLayoutCount_12257,
			"%d set layouts are more than maxBoundDescriptorSets, %d", info.SetLayoutCount,
			d.physical.limits.MaxBoundDescriptorSets)
	}
	return nil
}

// objectNeeds are the dynamic states that draws with shader objects take: those of features that the device has
// enabled.
func (d *device) objectNeeds() exec.DynamicStates {
	needs := ^exec.DynamicStates(0)
	for state, feature := range map[vk.DynamicState]string{
		vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT:             "alphaToOne",
		vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE:            "depthBounds",
		vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT:              "depthClamp",
		vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT:                 "logicOp",
		vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT:               "depthClipEnable",
		vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT:  "depthClipControl",
		vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT:               "depthClampControl",
		vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT:              "colorWriteEnable",
		vk.DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT: "attachmentFeedbackLoopDynamicState",
	} {
		if !d.features[feature] {
			needs &^= exec.DynamicState(state)
		}
	}
	if !d.extensions[vk.EXT_PROVOKING_VERTEX_EXTENSION_NAME] {
		needs &^= exec.DynamicState(vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT)
	}
	if !d.features["stippledRectangularLines"] && !d.features["stippledBresenhamLines"] &&
		!d.features["stippledSmoothLines"] {
		needs &^= statesOf(vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT, vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT,
			vk.DYNAMIC_STATE_LINE_STIPPLE)
	}
	return needs
}

// bindShaders records vkCmdBindShadersEXT. Without shaders, those of all stages are unbound.
func (b *commandBuffer) bindShaders(stages []vk.ShaderStageFlagBits, shaders []vk.ShaderEXT) error {
	var room [8]command.StageShader
	list, seen := room[:0], vk.ShaderStageFlags(0)
	for i, stage := range stages {
		broken := func(rule vk.VUID, format string, args ...any) error {
			return vk.Errorf(vk.ERROR_UNKNOWN, rule, format, args...)
		}
		const tracing = vk.SHADER_STAGE_RAYGEN_BIT_KHR | vk.SHADER_STAGE_ANY_HIT_BIT_KHR |
			vk.SHADER_STAGE_CLOSEST_HIT_BIT_KHR | vk.SHADER_STAGE_MISS_BIT_KHR | vk.SHADER_STAGE_INTERSECTION_BIT_KHR |
			vk.SHADER_STAGE_CALLABLE_BIT_KHR
		switch flags := b.pool.device.physical.families[b.pool.family].Flags; {
		case stage == vk.SHADER_STAGE_ALL_GRAPHICS || stage == vk.SHADER_STAGE_ALL:
			return broken(vk.VUID_vkCmdBindShadersEXT_pStages_08464, "%v is no stage", stage)
		case stage&tracing != 0:
			return broken(vk.VUID_vkCmdBindShadersEXT_pStages_08465, "there are no shader objects for %v", stage)
		case stage == vk.SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI:
			return broken(vk.VUID_vkCmdBindShadersEXT_pStages_08467, "there are no shader objects for %v", stage)
		case stage == vk.SHADER_STAGE_CLUSTER_CULLING_BIT_HUAWEI:
			return broken(vk.VUID_vkCmdBindShadersEXT_pStages_08468, "there are no shader objects for %v", stage)
		case bits.OnesCount32(uint32(stage)) != 1:
			return broken(vk.VUID_vkCmdBindShadersEXT_pStages_parameter, "%v is no stage", stage)
		case seen&stage != 0:
			return broken(vk.VUID_vkCmdBindShadersEXT_pStages_08463, "%v appears twice", stage)
		case stage == vk.SHADER_STAGE_COMPUTE_BIT && flags&vk.QUEUE_COMPUTE_BIT == 0:
			return broken(vk.VUID_vkCmdBindShadersEXT_pShaders_08476, "queue family %d has no compute", b.pool.family)
		case stage != vk.SHADER_STAGE_COMPUTE_BIT && !b.pool.graphics():
			return broken(vk.VUID_vkCmdBindShadersEXT_pShaders_08477, "queue family %d has no graphics", b.pool.family)
		}
		seen |= stage
		s := command.StageShader{Stage: uint64(stage)}
		if shaders != nil {
			s.Shader = shaders[i]
		}
		list = append(list, s)
	}
	return b.stream.BindShaders(list)
}

// cmdBindShadersEXT is of compute, too. Whether the shaders live, and are of their stages, is checked when it is
// executed.
func cmdBindShadersEXT(b *commandBuffer, count uint32, stages *vk.ShaderStageFlagBits, shaders *vk.ShaderEXT) {
	b.record("vkCmdBindShadersEXT", func() error {
		list, err := elements(stages, count, vk.VUID_vkCmdBindShadersEXT_stageCount_arraylength,
			vk.VUID_vkCmdBindShadersEXT_pStages_parameter)
		if err != nil {
			return err
		}
		if !b.owner().allows("shaderObject", vk.VUID_vkCmdBindShadersEXT_None_08462) {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBindShadersEXT_None_08462, "the device has no feature shaderObject")
		}
		return b.bindShaders(list, vk.Slice(shaders, count))
	})
}
