package icd

import (
	"crypto/sha256"
	"sync"

	"farside/internal/vk"
	"farside/spirv"
)

// shaderModule is a VkShaderModule.
type shaderModule struct {
	child
	*shaderCode
}

// shaderCode is the SPIR-V of a shader module, of a shader object, or of a pipeline that brings its own. It is decoded
// and checked when the first pipeline needs it, and an error is that pipeline's: applications make modules that they
// never use.
type shaderCode struct {
	hash [sha256.Size]byte
	rule vk.VUID // that the module is valid

	decode sync.Once
	words  []uint32      // until they are decoded
	module *spirv.Module // nil: decoding failed
	err    error

	check       sync.Once
	environment *spirv.Environment // what the module was held to
	excess      error              // what the module uses and the device has not enabled, a *spirv.Error
	checked     error
}

func createShaderModule(
	d *device, info *vk.ShaderModuleCreateInfo, _ *vk.AllocationCallbacks, out *vk.ShaderModule,
) vk.Result {
	c, err := newShaderCode(info)
	if err != nil {
		return d.fail("vkCreateShaderModule", err)
	}
	*out = vk.ShaderModule(d.add(&shaderModule{child: child{device: d}, shaderCode: c}))
	return vk.SUCCESS
}

// newShaderCode copies the words.
func newShaderCode(info *vk.ShaderModuleCreateInfo) (*shaderCode, error) {
	switch {
	case info.CodeSize == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderModuleCreateInfo_codeSize_01085, "codeSize is 0")
	case info.CodeSize%4 != 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderModuleCreateInfo_codeSize_08735,
			"codeSize %d is no multiple of 4", info.CodeSize)
	case info.PCode == nil:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkShaderModuleCreateInfo_pCode_parameter, "pCode is NULL")
	}
	return codeOf(append([]uint32(nil), vk.Slice(info.PCode, info.CodeSize/4)...),
		vk.VUID_VkShaderModuleCreateInfo_pCode_08737), nil
}

// codeOf takes words over, and the rule that they break if they are no valid module.
func codeOf(words []uint32, rule vk.VUID) *shaderCode {
	return &shaderCode{words: words, hash: sha256.Sum256(bytesOfWords(words)), rule: rule}
}

// invalid makes an error of what is wrong with a module. Drivers have no result for that: those of Mesa return
// VK_ERROR_UNKNOWN from vkCreateComputePipelines, too, and VK_ERROR_INVALID_SHADER_NV is of an extension for GLSL.
func (c *shaderCode) invalid(err error) error {
	return vk.Errorf(vk.ERROR_UNKNOWN, c.rule, "invalid SPIR-V: %w", err)
}

// decoded returns the module.
func (c *shaderCode) decoded() (*spirv.Module, error) {
	c.decode.Do(func() {
		if c.module, c.err = spirv.Decode(c.words); c.err != nil {
			c.err = c.invalid(c.err)
		}
		c.words = nil // the module has them
	})
	return c.module, c.err
}

// valid returns what the decoded module was held to, or an error for a module that breaks a rule. The environment is
// what the device has enabled. A module that only needs more of what the device has gets that: other drivers look at
// neither features nor extensions when they compile, so there are applications that enable too few. c.excess says what
// is missing.
func (c *shaderCode) valid(d *device) (*spirv.Environment, error) {
	c.check.Do(func() {
		c.environment = d.environment()
		err := c.module.Check(c.environment)
		if err != nil && c.module.Check(d.offer()) == nil {
			c.environment, c.excess, err = d.offer(), err, nil
		}
		if err != nil {
			c.checked = c.invalid(err)
		}
	})
	return c.environment, c.checked
}
