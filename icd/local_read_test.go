package icd

import (
	"slices"
	"testing"
	"unsafe"

	"farside/internal/command"
	"farside/internal/vk"
)

// TestObjectInputs: a shader object knows the numbers of the input attachments that it reads.
func TestObjectInputs(t *testing.T) {
	h := newHostileTest(t, new(choices), compileHostile(t))
	for number, want := range map[byte][]uint32{2: nil, 3: {0}} {
		h.data = []byte{number}
		s := shaderObjects.Get(uint64(h.object()))
		if s == nil || !slices.Equal(s.exec.Inputs, want) {
			t.Errorf("shader %d reads %v, want %v", number, s.exec.Inputs, want)
		}
	}
}

// TestInheritedMappings: a secondary command buffer keeps what it says of locations and input attachments, if that is
// in order.
func TestInheritedMappings(t *testing.T) {
	q := newPassTest(t)
	list, depth := []uint32{2, 1}, uint32(7)
	inputs := vk.RenderingInputAttachmentIndexInfo{SType: vk.STRUCTURE_TYPE_RENDERING_INPUT_ATTACHMENT_INDEX_INFO,
		ColorAttachmentCount: 2, PColorAttachmentInputIndices: &list[0], PDepthInputAttachmentIndex: &depth}
	locations := vk.RenderingAttachmentLocationInfo{SType: vk.STRUCTURE_TYPE_RENDERING_ATTACHMENT_LOCATION_INFO,
		PNext: unsafe.Pointer(&inputs), ColorAttachmentCount: 2, PColorAttachmentLocations: &list[0]}
	rendering := vk.CommandBufferInheritanceRenderingInfo{PNext: unsafe.Pointer(&locations),
		SType: vk.STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO}
	begin := vk.CommandBufferBeginInfo{Flags: vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
		PInheritanceInfo: &vk.CommandBufferInheritanceInfo{PNext: unsafe.Pointer(&rendering)}}
	b := commandBuffers.Get(uintptr(q.commands(0, vk.COMMAND_BUFFER_LEVEL_SECONDARY)))
	if r := commands.BeginCommandBuffer(b.handle, &begin); r != vk.SUCCESS {
		t.Fatalf("%v %q", r, rules())
	}
	if want := []uint32{2, 1, 7, command.InputWithout}; !slices.Equal(b.inherits.Locations, list) ||
		!slices.Equal(b.inherits.Inputs, want) {
		t.Errorf("locations %v, inputs %v, want %v", b.inherits.Locations, b.inherits.Inputs, want)
	}
	for _, wrong := range []struct {
		change func()
		rule   string
	}{
		{func() { depth = 1 }, "VUID-VkRenderingInputAttachmentIndexInfo-pColorAttachmentInputIndices-09523"},
		{func() { list[0] = 1 }, "VUID-VkRenderingAttachmentLocationInfo-pColorAttachmentLocations-09513"},
	} {
		commands.ResetCommandBuffer(b.handle, 0)
		takeInbox()
		wrong.change()
		if r, told := commands.BeginCommandBuffer(b.handle, &begin), rules(); r == vk.SUCCESS || len(told) != 1 ||
			told[0] != wrong.rule {
			t.Errorf("%v, told of %q, want %s", r, told, wrong.rule)
		}
	}
}
