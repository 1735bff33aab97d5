package icd

import (
	"testing"

	"farside/internal/vk"
)

func TestShaderModule(t *testing.T) {
	c := newComputeTest(t)
	words := []uint32{0x07230203, 0x10000, 0, 1, 0}
	var h vk.ShaderModule
	info := vk.ShaderModuleCreateInfo{CodeSize: uintptr(4 * len(words)), PCode: &words[0]}
	if r := commands.CreateShaderModule(c.d.handle, &info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("%v, module %#x", r, uint64(h))
	}
	words[0] = 0
	if got := shaderModules.Get(uint64(h)).words[0]; got != 0x07230203 {
		t.Errorf("the application changes a module that exists: %#x", got)
	}
	commands.DestroyShaderModule(c.d.handle, h, nil)
	commands.DestroyShaderModule(c.d.handle, 0, nil)
	if got := rules(); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
	for _, test := range []struct {
		info vk.ShaderModuleCreateInfo
		vuid string
	}{
		{vk.ShaderModuleCreateInfo{PCode: &words[0]}, "VUID-VkShaderModuleCreateInfo-codeSize-01085"},
		{vk.ShaderModuleCreateInfo{CodeSize: 18, PCode: &words[0]}, "VUID-VkShaderModuleCreateInfo-codeSize-08735"},
		{vk.ShaderModuleCreateInfo{CodeSize: 20}, "VUID-VkShaderModuleCreateInfo-pCode-parameter"},
	} {
		c.broken("a module", commands.CreateShaderModule(c.d.handle, &test.info, nil, &h), test.vuid)
	}
}
