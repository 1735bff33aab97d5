package icd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"farside/compute"
	"farside/internal/config"
	"farside/internal/vk"
	"farside/spirv"
)

// shader is what a stage of a pipeline, or a shader object, becomes: a program, and what it needs of a pipeline layout.
// It does not change.
type shader struct {
	program   *compute.Program
	stage     int      // one of computeStage, vertexStage, fragmentStage
	sets      []uint32 // the numbers of the descriptor sets that it uses
	resources []shaderResource
	push      []pushRange // of push constants that it uses
}

// stage is a VkPipelineShaderStageCreateInfo, or a VkShaderCreateInfoEXT, that has been read.
type stage struct {
	number  int // as shader's stage
	code    *shaderCode
	entry   string
	flags   vk.PipelineShaderStageCreateFlags
	options compute.Options
	varying bool // the subgroup size was not required
	object  bool // of a shader object
}

// shaderOf returns the shader of a stage, and whether it was in the cache. With VK_PIPELINE_COMPILE_REQUIRED it fails
// where that would take a compiler and the flags say that it must not.
func (d *device) shaderOf(st *stage, flags vk.PipelineCreateFlags2, cache *pipelineCache) (_ *shader, found bool,
	_ error) {
	key := st.key()
	if s := cache.get(key); s != nil {
		return s, true, nil
	}
	s := d.shaders.get(key)
	if s == nil {
		if flags&vk.PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT != 0 {
			return nil, false, vk.Errorf(vk.PIPELINE_COMPILE_REQUIRED, vk.NoVUID, "the shader is not in the cache")
		}
		made, err := d.compile(st)
		if err != nil {
			return nil, false, err
		}
		s = d.shaders.share(key, made)
	}
	cache.put(key, s)
	return s, false, nil
}

// readStage takes over what a stage says, which is the one with a number.
func (d *device) readStage(info *vk.PipelineShaderStageCreateInfo, number int) (*stage, error) {
	st := &stage{number: number, entry: vk.GoString(info.PName), flags: info.Flags, varying: true}
	switch {
	case info.Flags&vk.PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT != 0 &&
		!d.allows("subgroupSizeControl", vk.VUID_VkPipelineShaderStageCreateInfo_flags_02784):
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_flags_02784,
			"subgroups of varying size need the subgroupSizeControl feature")
	case info.Flags&vk.PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT != 0 &&
		!d.allows("computeFullSubgroups", vk.VUID_VkPipelineShaderStageCreateInfo_flags_02785):
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_flags_02785,
			"full subgroups need the computeFullSubgroups feature")
	}
	if info.Module != 0 {
		m := shaderModules.Get(uint64(info.Module))
		if m == nil || m.device != d {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_module_parameter,
				"%#x is no shader module of the device", uint64(info.Module))
		}
		st.code = m.shaderCode
	} else {
		// VK_KHR_maintenance5 and VK_EXT_graphics_pipeline_library: a pipeline may bring its code.
		code := vk.Find[vk.ShaderModuleCreateInfo](info.PNext)
		if code == nil {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_stage_06845,
				"the stage has neither a module nor code")
		}
		var err error
		if st.code, err = newShaderCode(code); err != nil {
			return nil, err
		}
	}
	st.options = compute.Options{SubgroupSize: d.physical.limits.subgroup.SubgroupSize}
	if err := d.readSubgroupSize(vk.Find[vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo](info.PNext),
		st); err != nil {
		return nil, err
	}
	var err error
	st.options.Specialization, err = readSpecialization(info.PSpecializationInfo)
	return st, err
}

// readSubgroupSize takes over the subgroup size that a stage requires. nil: it requires none.
func (d *device) readSubgroupSize(r *vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo, st *stage) error {
	if r == nil {
		return nil
	}
	n, sizes := r.RequiredSubgroupSize, &d.physical.limits.subgroups
	switch {
	case !d.allows("subgroupSizeControl", vk.VUID_VkPipelineShaderStageCreateInfo_pNext_02755):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_pNext_02755,
			"a required subgroup size needs the subgroupSizeControl feature")
	case st.flags&vk.PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_pNext_02754,
			"the subgroup size is required and may vary")
	case bits.OnesCount32(n) != 1:
		return vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkPipelineShaderStageRequiredSubgroupSizeCreateInfo_requiredSubgroupSize_02760,
			"subgroup size %d is no power of two", n)
	case n < sizes.MinSubgroupSize:
		return vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkPipelineShaderStageRequiredSubgroupSizeCreateInfo_requiredSubgroupSize_02761,
			"subgroup size %d is below minSubgroupSize, %d", n, sizes.MinSubgroupSize)
	case n > sizes.MaxSubgroupSize:
		return vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkPipelineShaderStageRequiredSubgroupSizeCreateInfo_requiredSubgroupSize_02762,
			"subgroup size %d is above maxSubgroupSize, %d", n, sizes.MaxSubgroupSize)
	}
	st.options.SubgroupSize, st.varying = n, false
	return nil
}

// key identifies what the stage becomes, on a device.
func (st *stage) key() cacheKey {
	b := make([]byte, 0, 256)
	word := func(v int) { b = binary.LittleEndian.AppendUint64(b, uint64(v)) }
	b = append(b, st.code.hash[:]...)
	word(st.number)
	word(len(st.entry))
	word(int(st.options.SubgroupSize))
	word(int(st.flags))
	word(map[bool]int{true: 1}[st.options.ViewOfDevice])
	b = append(b, st.entry...)
	for _, id := range slices.Sorted(maps.Keys(st.options.Specialization)) {
		value := st.options.Specialization[id]
		word(int(id))
		word(len(value))
		b = append(b, value...)
	}
	return sha256.Sum256(b)
}

// compile makes the shader of a stage, and writes down what FARSIDE_DUMP asks for.
func (d *device) compile(st *stage) (*shader, error) {
	dump, err := dumpTo(d.physical.settings.Dump, st.entry)
	if err != nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "FARSIDE_DUMP: %w", err)
	}
	s, err := d.compileAs(st, dump)
	if err != nil {
		return nil, err
	}
	warn := func(rule vk.VUID, text string) { d.warn(rule, fmt.Sprintf("entry point %q: %s", st.entry, text)) }
	var excess *spirv.Error
	if errors.As(st.code.excess, &excess) {
		warn(excess.VUID, fmt.Sprintf("works, but the device was made without what it needs: %v", excess))
	}
	if rule := s.notFull(st); rule != vk.NoVUID {
		warn(rule, fmt.Sprintf("full subgroups: the workgroup's width, %d, is no multiple of the subgroup size, %d",
			s.program.LocalSize[0], s.program.SubgroupSize))
	}
	for _, w := range s.program.Warnings {
		warn(w.VUID, w.Text)
	}
	return s, nil
}

// compileAs makes the shader of a stage. dump is compute.Options.Dump.
func (d *device) compileAs(st *stage, dump func(pass, text string)) (*shader, error) {
	m, err := st.code.decoded()
	if err != nil {
		return nil, err
	}
	s := &shader{stage: st.number}
	environment, err := st.code.valid(d)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.EntryPoints, func(e *spirv.EntryPoint) bool {
		return e.Name == st.entry && e.Model == stageModels[st.number]
	})
	noEntry, wrong := vk.VUID_VkPipelineShaderStageCreateInfo_pName_00707,
		vk.VUID_VkPipelineShaderStageCreateInfo_pSpecializationInfo_06849
	if st.object {
		noEntry, wrong = vk.VUID_VkShaderCreateInfoEXT_pName_08440, vk.VUID_VkShaderCreateInfoEXT_pCode_08460
	}
	if i < 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, noEntry, "the module has no entry point %q of the stage %v", st.entry,
			stageBits[st.number])
	}
	options := st.options
	options.Stage = compilerStages[st.number]
	options.Capabilities = d.environment().Capabilities
	options.PlainGo = d.physical.settings.Kernels == config.KernelsGo
	options.NoNative = d.physical.settings.Kernels == config.KernelsVector
	options.Narrow = d.physical.settings.Kernels == config.KernelsNarrow
	options.Dump = dump
	if options.Constants, err = m.Constants(options.Specialization); err == nil {
		err = m.CheckEntryPoint(m.EntryPoints[i], options.Constants, environment)
	}
	if err == nil {
		s.program, err = compute.Compile(m, st.entry, options)
	}
	if err != nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, wrong, "entry point %q: %w", st.entry, err)
	}
	if err := s.checkSubgroups(st, d.physical.limits.subgroups.MaxComputeWorkgroupSubgroups); err != nil {
		return nil, err
	}
	s.use(m)
	return s, nil
}

// checkSubgroups holds the size of the workgroups to the most subgroups that there may be.
func (s *shader) checkSubgroups(st *stage, most uint32) error {
	if p := s.program; st.number == computeStage && !st.varying && p.Lanes > int(p.SubgroupSize)*int(most) {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineShaderStageCreateInfo_pNext_02756,
			"workgroups of %d invocations are more than %d subgroups of %d", p.Lanes, most,
			p.SubgroupSize)
	}
	return nil
}

// notFull is the rule that a stage breaks which asks for full subgroups and can't have them, NoVUID where all is well.
// Such a stage works: the last subgroup of a workgroup has fewer invocations, as without the flag.
func (s *shader) notFull(st *stage) vk.VUID {
	p := s.program
	full := st.flags&vk.PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT != 0
	switch {
	case !full || st.number != computeStage || p.LocalSize[0]%p.SubgroupSize == 0:
		return vk.NoVUID
	case st.object && st.flags&vk.PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT != 0:
		return vk.VUID_VkShaderCreateInfoEXT_flags_08416
	case st.object:
		return vk.VUID_VkShaderCreateInfoEXT_flags_08417
	case st.varying:
		return vk.VUID_VkPipelineShaderStageCreateInfo_flags_02759
	}
	return vk.VUID_VkPipelineShaderStageCreateInfo_pNext_02757
}
