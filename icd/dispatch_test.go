package icd

import (
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"farside/internal/profile"
	"farside/internal/vk"
)

// storage makes a set for addShader's binding, and the memory behind it.
func (c computeTest) storage() (vk.DescriptorSet, []byte) {
	c.Helper()
	bindings := make([]vk.DescriptorSetLayoutBinding, 3)
	for i, t := range []vk.DescriptorType{vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLER,
		vk.DESCRIPTOR_TYPE_STORAGE_BUFFER} {
		bindings[i] = vk.DescriptorSetLayoutBinding{Binding: uint32(i), DescriptorType: t, DescriptorCount: 1,
			StageFlags: forCompute}
	}
	l := newTestLayout(c, c.d, 0, bindings)
	pool := newTestDescriptorPool(c, c.d, 0, 1,
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: 1},
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 2})
	set := newTestSet(c, c.d, pool, l)
	c.Cleanup(func() {
		commands.DestroyDescriptorPool(c.d.handle, pool, nil)
		commands.DestroyDescriptorSetLayout(c.d.handle, l, nil)
	})
	b, bytes := c.bufferFor(vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	write := vk.WriteDescriptorSet{
		DstSet: set, DstBinding: 2, DescriptorCount: 1, DescriptorType: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		PBufferInfo: &vk.DescriptorBufferInfo{Buffer: b, Offset: 64, Range: vk.WHOLE_SIZE},
	}
	commands.UpdateDescriptorSets(c.d.handle, 1, &write, 0, nil)
	return set, bytes[64:]
}

// add records a dispatch of addShader, whose pipeline is p.
func (c computeTest) add(list vk.CommandBuffer, p vk.Pipeline, l vk.PipelineLayout, set vk.DescriptorSet, value,
	groups uint32) {
	commands.CmdBindPipeline(list, vk.PIPELINE_BIND_POINT_COMPUTE, p)
	commands.CmdBindDescriptorSets(list, vk.PIPELINE_BIND_POINT_COMPUTE, l, 1, 1, &set, 0, nil)
	commands.CmdPushConstants(list, l, forCompute, 8, 4, unsafe.Pointer(&value))
	commands.CmdDispatch(list, groups, 1, 1)
}

func TestDispatch(t *testing.T) {
	c := newComputeTest(t)
	l := c.addLayout()
	info := pipelineInfo(c.module(compiled(t, addShader)), l)
	plain := c.pipeline(info)
	values := []uint32{1000, 64}
	entries := []vk.SpecializationMapEntry{{ConstantID: 0, Size: 4}, {ConstantID: 1, Offset: 4, Size: 4}}
	info.Stage.PSpecializationInfo = &vk.SpecializationInfo{MapEntryCount: 2, PMapEntries: &entries[0], DataSize: 8,
		PData: unsafe.Pointer(&values[0])}
	wide := c.pipeline(info)
	set, bytes := c.storage()
	list, inner := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY), c.commands(0, vk.COMMAND_BUFFER_LEVEL_SECONDARY)
	record1(t, inner, func() { c.add(inner, plain, l, set, 7, 3) })
	record1(t, list, func() {
		c.add(list, wide, l, set, 1, 2)
		commands.CmdDispatch(list, 1, 1, 1) // what is bound stays bound
		commands.CmdExecuteCommands(list, 1, &inner)
	})
	// A layout may go once it has been recorded.
	commands.DestroyPipelineLayout(c.d.handle, l, nil)
	if r := submit1(c.d.queues[0], 0, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list}); r != vk.SUCCESS {
		t.Fatal(r)
	}
	if r := commands.DeviceWaitIdle(c.d.handle); r != vk.SUCCESS {
		t.Fatalf("%v, reported %q", r, rules())
	}
	for i := range 200 {
		want := uint32(0)
		if i < 3 {
			want += 107
		}
		if i < 64 {
			want += 1001
		}
		if i < 128 {
			want += 1001
		}
		if got := binary.LittleEndian.Uint32(bytes[4*i:]); got != want {
			t.Fatalf("element %d is %d, want %d", i, got, want)
		}
	}
}

// TestDispatchWithoutPipeline executes what was recorded with a pipeline that is destroyed.
func TestDispatchWithoutPipeline(t *testing.T) {
	c := newComputeTest(t)
	l := c.addLayout()
	p := c.pipeline(pipelineInfo(c.module(compiled(t, addShader)), l))
	set, _ := c.storage()
	list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	record1(t, list, func() { c.add(list, p, l, set, 1, 1) })
	commands.DestroyPipeline(c.d.handle, p, nil)
	submit1(c.d.queues[0], 0, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list})
	if r := commands.DeviceWaitIdle(c.d.handle); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("vkDeviceWaitIdle: %v", r)
	}
	if got := rules(); len(got) == 0 || got[0] != "VUID-vkCmdBindPipeline-pipeline-parameter" {
		t.Errorf("reported %q", got)
	}
}

// BenchmarkDispatch submits a dispatch of one workgroup, and waits for it.
func BenchmarkDispatch(b *testing.B) {
	for _, name := range []string{"empty", "add"} {
		b.Run(name, func(b *testing.B) {
			c := newComputeTest(b)
			l := c.addLayout()
			list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
			if name == "empty" {
				p := c.pipeline(pipelineInfo(c.module(compiled(b, "#version 450\nlayout(local_size_x = 64) in;\nvoid main() {}")),
					l))
				record1(b, list, func() {
					commands.CmdBindPipeline(list, vk.PIPELINE_BIND_POINT_COMPUTE, p)
					commands.CmdDispatch(list, 1, 1, 1)
				})
			} else {
				p := c.pipeline(pipelineInfo(c.module(compiled(b, addShader)), l))
				set, _ := c.storage()
				record1(b, list, func() { c.add(list, p, l, set, 1, 1) })
			}
			var fence vk.Fence
			if r := commands.CreateFence(c.d.handle, &vk.FenceCreateInfo{}, nil, &fence); r != vk.SUCCESS {
				b.Fatal(r)
			}
			b.Cleanup(func() { commands.DestroyFence(c.d.handle, fence, nil) })
			b.ReportAllocs()
			for b.Loop() {
				if r := submit1(c.d.queues[0], fence, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list}); r !=
					vk.SUCCESS {
					b.Fatal(r)
				}
				if r := commands.WaitForFences(c.d.handle, 1, &fence, vk.TRUE, 1<<62); r != vk.SUCCESS {
					b.Fatal(r)
				}
				commands.ResetFences(c.d.handle, 1, &fence)
			}
		})
	}
}

// TestDebugPrintf looks at the messages of a shader.
func TestDebugPrintf(t *testing.T) {
	c := newComputeTest(t)
	c.d.extensions[vk.KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME] = true
	p := c.pipeline(pipelineInfo(c.module(compiled(t, `#version 450
#extension GL_EXT_debug_printf : enable
layout(local_size_x = 1) in;
void main() { if (gl_WorkGroupID.x == 3) debugPrintfEXT("group %u, %f", gl_WorkGroupID.x, 1.5); }`)), c.addLayout()))
	list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
	record1(t, list, func() {
		commands.CmdBindPipeline(list, vk.PIPELINE_BIND_POINT_COMPUTE, p)
		commands.CmdDispatch(list, 5, 1, 1)
	})
	takeInbox()
	submit1(c.d.queues[0], 0, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list})
	if r := commands.DeviceWaitIdle(c.d.handle); r != vk.SUCCESS {
		t.Errorf("vkDeviceWaitIdle: %v", r)
	}
	got := takeInbox()
	if len(got) != 1 || got[0].id != "DEBUG-PRINTF" || got[0].text != "group 3, 1.500000" ||
		got[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT {
		t.Errorf("messages %+v", got)
	}
}

// TestModuleNeedsFeatures makes pipelines of a module on devices that have enabled the feature that it needs, that
// could have done so, and that do not have it.
func TestModuleNeedsFeatures(t *testing.T) {
	for _, device := range []string{"without the feature", "that has it", "that has it enabled"} {
		c := newComputeTest(t)
		c.d.features["shaderFloat64"] = device == "that has it enabled"
		if device == "without the feature" {
			c.d.physical.cut = &profile.Result{Version: computeVersion, Features: map[string]bool{}}
			defer func() { c.d.physical.cut = nil }()
		}
		m := c.module(compiled(t, `#version 450
layout(local_size_x = 1) in;
layout(set = 1, binding = 2) buffer B { double values[]; };
void main() { values[gl_WorkGroupID.x] *= 2; }`))
		_, r := c.tryPipelines(0, pipelineInfo(m, c.addLayout()))
		list := takeInbox()
		told := len(list) == 1 && strings.Contains(list[0].text, "Float64") &&
			list[0].id == vk.VUID_VkShaderModuleCreateInfo_pCode_08740.String()
		switch device {
		case "without the feature":
			if r != vk.ERROR_UNKNOWN || len(list) != 1 || !strings.Contains(list[0].text, "Float64") {
				t.Errorf("on a device %s: %v, %+v", device, r, list)
			}
		case "that has it":
			if r != vk.SUCCESS || !told || list[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT {
				t.Errorf("on a device %s: %v, %+v", device, r, list)
			}
		default:
			if r != vk.SUCCESS || len(list) > 0 {
				t.Errorf("on a device %s: %v, %+v", device, r, list)
			}
		}
	}
}
