package icd

import (
	"encoding/binary"
	"unsafe"

	"farside/internal/vk"
)

// readObjectCode takes over the code of a shader, whichever type it has.
func (d *device) readObjectCode(info *vk.ShaderCreateInfoEXT) (*shaderBinary, error) {
	at, code := uintptr(info.PCode), vk.Slice((*byte)(info.PCode), info.CodeSize)
	switch {
	case info.CodeSize == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderCreateInfoEXT_codeSize_arraylength, "codeSize is 0")
	case code == nil:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderCreateInfoEXT_pCode_parameter, "pCode is NULL")
	case info.CodeType == vk.SHADER_CODE_TYPE_BINARY_EXT:
		if at%16 != 0 {
			d.warn(vk.VUID_VkShaderCreateInfoEXT_pCode_08492, "works, but pCode is not aligned to 16 bytes")
		}
		b, err := decodeBinary(code)
		if err == nil && b.stage != info.Stage {
			err = incompatible("it is of %v, not of %v", b.stage, info.Stage)
		}
		return b, err
	case info.CodeType != vk.SHADER_CODE_TYPE_SPIRV_EXT:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderCreateInfoEXT_codeType_parameter, "codeType is %v",
			info.CodeType)
	case len(code)%4 != 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderCreateInfoEXT_codeSize_08735,
			"codeSize %d is no multiple of 4", info.CodeSize)
	case at%4 != 0:
		d.warn(vk.VUID_VkShaderCreateInfoEXT_pCode_08493, "works, but pCode is not aligned to 4 bytes")
	}
	if info.PName == nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderCreateInfoEXT_pName_parameter, "pName is NULL")
	}
	source := vk.Slice((*[4]byte)(info.PCode), info.CodeSize/4) // whose end is there, or it faults
	b := &shaderBinary{stage: info.Stage, subgroup: d.physical.limits.subgroup.SubgroupSize, varying: true,
		entry: vk.GoString(info.PName), words: make([]uint32, len(source))}
	for i := range source {
		b.words[i] = binary.NativeEndian.Uint32(source[i][:])
	}
	var err error
	b.values, err = readSpecialization(info.PSpecializationInfo)
	return b, err
}

// getShaderBinaryDataEXT writes the whole binary or nothing.
func getShaderBinaryDataEXT(_ *device, s *shaderObject, size *uintptr, data unsafe.Pointer) vk.Result {
	if data == nil {
		*size = uintptr(len(s.binary))
		return vk.SUCCESS
	}
	if uintptr(data)%16 != 0 {
		s.device.warn(vk.VUID_vkGetShaderBinaryDataEXT_None_08499, "works, but pData is not aligned to 16 bytes")
	}
	if *size < uintptr(len(s.binary)) {
		*size = 0
		return vk.INCOMPLETE
	}
	*size = uintptr(copy(vk.Slice((*byte)(data), uintptr(len(s.binary))), s.binary))
	return vk.SUCCESS
}
