package icd

import (
	"farside/internal/command"
	"farside/internal/vk"
)

func recordLabel(name string, h vk.CommandBuffer, kind command.LabelKind, info *vk.DebugUtilsLabelEXT) {
	record(name, h, func(b *commandBuffer) error {
		l := newLabel(info)
		return b.stream.DebugLabel(kind, l.color, l.name)
	})
}

func cmdBeginDebugUtilsLabelEXT(h vk.CommandBuffer, info *vk.DebugUtilsLabelEXT) {
	recordLabel("vkCmdBeginDebugUtilsLabelEXT", h, command.LabelBegin, info)
}

func cmdInsertDebugUtilsLabelEXT(h vk.CommandBuffer, info *vk.DebugUtilsLabelEXT) {
	recordLabel("vkCmdInsertDebugUtilsLabelEXT", h, command.LabelInsert, info)
}

func cmdEndDebugUtilsLabelEXT(h vk.CommandBuffer) {
	record("vkCmdEndDebugUtilsLabelEXT", h, func(b *commandBuffer) error {
		return b.stream.DebugLabel(command.LabelEnd, [4]float32{}, "")
	})
}
