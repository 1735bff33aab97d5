package icd

import (
	"unsafe"

	"farside/internal/command"
	"farside/internal/vk"
)

// maxMultiDrawCount bounds what vkCmdDrawMultiEXT records.
const maxMultiDrawCount = 1 << 16

// strided returns the elements of an array of an application that lie stride bytes apart.
func strided[T any](first *T, count, stride uint32) []*T {
	list := make([]*T, count)
	for i := range list {
		list[i] = (*T)(unsafe.Add(unsafe.Pointer(first), uintptr(i)*uintptr(stride)))
	}
	return list
}

func cmdDrawMultiEXT(
	b *commandBuffer, count uint32, draws *vk.MultiDrawInfoEXT, instances, firstInstance, stride uint32,
) {
	b.recordGraphics("vkCmdDrawMultiEXT", func() error {
		switch {
		case count > maxMultiDrawCount:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdDrawMultiEXT_drawCount_04934,
				"%d draws are more than maxMultiDrawCount, %d", count, maxMultiDrawCount)
		case count > 0 && draws == nil:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdDrawMultiEXT_drawCount_04935, "pVertexInfo is NULL")
		case count > 1 && stride%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdDrawMultiEXT_drawCount_09628, "stride %d is no multiple of 4",
				stride)
		}
		list := make([]command.Multi, 0, count)
		for _, d := range strided(draws, count, stride) {
			list = append(list, command.Multi{First: d.FirstVertex, Count: d.VertexCount})
		}
		return b.stream.DrawMulti(false, instances, firstInstance, list)
	})
}

func cmdDrawMultiIndexedEXT(
	b *commandBuffer, count uint32, draws *vk.MultiDrawIndexedInfoEXT, instances, firstInstance, stride uint32,
	offset *int32,
) {
	b.recordGraphics("vkCmdDrawMultiIndexedEXT", func() error {
		switch {
		case count > maxMultiDrawCount:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdDrawMultiIndexedEXT_drawCount_04939,
				"%d draws are more than maxMultiDrawCount, %d", count, maxMultiDrawCount)
		case count > 0 && draws == nil:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdDrawMultiIndexedEXT_drawCount_04940, "pIndexInfo is NULL")
		case count > 1 && stride%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdDrawMultiIndexedEXT_drawCount_09629,
				"stride %d is no multiple of 4", stride)
		}
		list := make([]command.Multi, 0, count)
		for _, d := range strided(draws, count, stride) {
			m := command.Multi{First: d.FirstIndex, Count: d.IndexCount}
			if offset != nil { // which stands for those of all draws, whose own are not to be read then
				m.VertexOffset = *offset
			} else {
				m.VertexOffset = d.VertexOffset
			}
			list = append(list, m)
		}
		return b.stream.DrawMulti(true, instances, firstInstance, list)
	})
}
