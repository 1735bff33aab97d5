package icd

import (
	"slices"

	"farside/internal/vk"
)

func cmdExecuteCommands(b *commandBuffer, count uint32, buffers *vk.CommandBuffer) {
	b.record("vkCmdExecuteCommands", func() error {
		list, err := elements(buffers, count, vk.VUID_vkCmdExecuteCommands_commandBufferCount_arraylength,
			vk.VUID_vkCmdExecuteCommands_pCommandBuffers_parameter)
		if err != nil {
			return err
		}
		return b.executeAll(list)
	})
}

// executeAll records the execution of secondary command buffers.
func (b *commandBuffer) executeAll(list []vk.CommandBuffer) error {
	if b.level != vk.COMMAND_BUFFER_LEVEL_PRIMARY {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_commandBuffer_09375,
			"a secondary command buffer executes others")
	}
	var secondaries []*commandBuffer // grows with what is found, not with what the count says
	for _, h := range list {
		s := commandBuffers.Get(uintptr(h))
		if s == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_parameter,
				"%#x is no live command buffer", uint64(h))
		}
		if s.owner() != b.owner() {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_commonparent,
				"command buffer %#x belongs to another device", uint64(h))
		}
		if err := b.checkSecondary(s, secondaries); err != nil {
			return err
		}
		secondaries = append(secondaries, s)
	}
	if err := b.stream.ExecuteCommands(list); err != nil {
		return err
	}
	for _, s := range secondaries {
		b.execute(s)
	}
	return nil
}

// checkSecondary looks at a command buffer that b is to execute after those of earlier.
func (b *commandBuffer) checkSecondary(s *commandBuffer, earlier []*commandBuffer) error {
	number := uint64(s.handle)
	switch {
	case s.level != vk.COMMAND_BUFFER_LEVEL_SECONDARY:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00088,
			"command buffer %#x is a primary one", number)
	case s.pool.family != b.pool.family:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00094,
			"command buffer %#x is of queue family %d, not %d", number, s.pool.family, b.pool.family)
	case s.life.state() != stateExecutable:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00089,
			"command buffer %#x is not executable: it %v", number, s.life.state())
	case s.simultaneous():
		return nil
	case s.life.pending():
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00091,
			"command buffer %#x is pending and was not recorded for simultaneous use", number)
	case slices.Contains(b.secondaries, s):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00092,
			"command buffer %#x is executed already and was not recorded for simultaneous use", number)
	case slices.Contains(earlier, s):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00093,
			"command buffer %#x appears twice and was not recorded for simultaneous use", number)
	}
	return nil
}
