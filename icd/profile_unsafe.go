package icd

import (
	"runtime"
	"unsafe"

	"farside/internal/vk"
)

// bytesOf is the memory of a structure.
func bytesOf(s *vk.BaseInStructure) []byte {
	info, ok := vk.StructureByType(s.SType)
	if !ok {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), info.Size)
}

// propertiesBytes is the memory of a VkPhysicalDeviceProperties.
func propertiesBytes(out *vk.PhysicalDeviceProperties) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(out)), unsafe.Sizeof(*out))
}

// answerAsProfile answers as p.fill does, then as the profile has it. Structures of what isn't there stay as they were.
func (p *physicalDevice) answerAsProfile(out *vk.PhysicalDeviceProperties2) {
	type saved struct{ at, was []byte }
	var untouched []saved
	for s := range vk.Chain(out.PNext) {
		if p.cut.Hidden(s.SType) {
			b := bytesOf(s)
			untouched = append(untouched, saved{b, append([]byte(nil), b...)})
		}
	}
	p.fill(out)
	for _, s := range untouched {
		copy(s.at, s.was)
	}
	p.cut.Apply(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, propertiesBytes(&out.Properties))
	for s := range vk.Chain(out.PNext) {
		if !p.cut.Hidden(s.SType) {
			p.cut.Apply(s.SType, bytesOf(s))
		}
	}
}

// fillBlocks answers into blocks of memory, one for each structure, whose sType and pNext it writes.
func (p *physicalDevice) fillBlocks(blocks map[vk.StructureType][]byte) {
	var out vk.PhysicalDeviceProperties2
	for t, b := range blocks {
		if t == vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 {
			continue
		}
		s := (*vk.BaseInStructure)(unsafe.Pointer(unsafe.SliceData(b)))
		s.SType, s.PNext = t, (*vk.BaseInStructure)(out.PNext)
		out.PNext = unsafe.Pointer(s)
	}
	p.fill(&out)
	copy(blocks[vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2], propertiesBytes(&out.Properties))
	runtime.KeepAlive(blocks) // which the chain's pointers don't keep
}
