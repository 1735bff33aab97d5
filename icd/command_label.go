package icd

import (
	"farside/internal/command"
	"farside/internal/vk"
)

func (b *commandBuffer) recordLabel(name string, kind command.LabelKind, info *vk.DebugUtilsLabelEXT) {
	b.record(name, func() error {
		l := newLabel(info)
		return b.stream.DebugLabel(kind, l.color, l.name)
	})
}

func cmdBeginDebugUtilsLabelEXT(b *commandBuffer, info *vk.DebugUtilsLabelEXT) {
	b.recordLabel("vkCmdBeginDebugUtilsLabelEXT", command.LabelBegin, info)
}

func cmdInsertDebugUtilsLabelEXT(b *commandBuffer, info *vk.DebugUtilsLabelEXT) {
	b.recordLabel("vkCmdInsertDebugUtilsLabelEXT", command.LabelInsert, info)
}

func cmdEndDebugUtilsLabelEXT(b *commandBuffer) {
	b.record("vkCmdEndDebugUtilsLabelEXT", func() error {
		return b.stream.DebugLabel(command.LabelEnd, [4]float32{}, "")
	})
}
