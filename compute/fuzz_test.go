package compute

import (
	"encoding/binary"
	"strings"
	"testing"

	"farside/spirv"
)

// FuzzCompile compiles what passes the check: each entry point becomes a program, or an error that says what is not
// supported, and then it can be laid out. An error that begins with "compiling" was a panic.
func FuzzCompile(f *testing.F) {
	env := &spirv.Environment{
		Version: 0x10600, Capabilities: map[spirv.Capability]bool{}, Extensions: map[string]bool{},
		UniformBufferStandardLayout: true, ScalarBlockLayout: true,
		MaxWorkgroupSize: [3]uint32{1024, 1024, 64}, MaxWorkgroupInvocations: 1024, MaxWorkgroupMemory: 32768,
	}
	for _, c := range []spirv.Capability{
		spirv.CapabilityShader, spirv.CapabilityInt64, spirv.CapabilityInt64Atomics, spirv.CapabilityImageQuery,
		spirv.CapabilityGroupNonUniform, spirv.CapabilityGroupNonUniformVote, spirv.CapabilityGroupNonUniformArithmetic,
		spirv.CapabilityGroupNonUniformBallot, spirv.CapabilityGroupNonUniformShuffle,
		spirv.CapabilityGroupNonUniformShuffleRelative,
		spirv.CapabilityGroupNonUniformClustered, spirv.CapabilityGroupNonUniformQuad,
		spirv.CapabilityPhysicalStorageBufferAddresses,
		spirv.CapabilityVariablePointers, spirv.CapabilityVariablePointersStorageBuffer, spirv.CapabilityVulkanMemoryModel,
		spirv.CapabilityFloat64, spirv.CapabilityFloat16, spirv.CapabilityInt16, spirv.CapabilityInt8,
	} {
		env.Capabilities[c] = true
	}
	for _, e := range []string{"SPV_KHR_non_semantic_info", "SPV_KHR_physical_storage_buffer"} {
		env.Extensions[e] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		words := make([]uint32, len(data)/4)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(data[4*i:])
		}
		m, err := spirv.Decode(words)
		if err != nil || m.Check(env) != nil {
			return
		}
		c, err := m.Constants(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.EntryPoints {
			if e.Model != spirv.ExecutionModelGLCompute || m.CheckEntryPoint(e, c, env) != nil {
				continue
			}
			p, err := Compile(m, e.Name, Options{SubgroupSize: 32})
			if err != nil {
				if strings.HasPrefix(err.Error(), "compiling") {
					t.Error(err)
				}
				continue
			}
			if err := p.LayOut(); err != nil {
				t.Error(err)
			}
		}
	})
}
