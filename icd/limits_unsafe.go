package icd

import (
	"unsafe"

	"farside/internal/vk"
)

// measure asks the device itself for its limits: what an application is told is what it is held to.
func (p *physicalDevice) measure() {
	l := new(limits)
	var out vk.PhysicalDeviceProperties2
	var id vk.PhysicalDeviceIDProperties
	link := func(t vk.StructureType, s unsafe.Pointer) {
		base := (*vk.BaseInStructure)(s)
		base.SType, base.PNext = t, (*vk.BaseInStructure)(out.PNext)
		out.PNext = s
	}
	link(id.StructureType(), unsafe.Pointer(&id))
	link(l.memory.StructureType(), unsafe.Pointer(&l.memory))
	link(l.buffer.StructureType(), unsafe.Pointer(&l.buffer))
	link(l.subgroup.StructureType(), unsafe.Pointer(&l.subgroup))
	link(l.subgroups.StructureType(), unsafe.Pointer(&l.subgroups))
	link(l.indexing.StructureType(), unsafe.Pointer(&l.indexing))
	link(l.inline.StructureType(), unsafe.Pointer(&l.inline))
	link(l.push.StructureType(), unsafe.Pointer(&l.push))
	link(l.host.StructureType(), unsafe.Pointer(&l.host))
	link(l.placed.StructureType(), unsafe.Pointer(&l.placed))
	link(l.border.StructureType(), unsafe.Pointer(&l.border))
	link(l.texels.StructureType(), unsafe.Pointer(&l.texels))
	link(l.timeline.StructureType(), unsafe.Pointer(&l.timeline))
	p.fill(&out)
	if p.cut != nil {
		p.cut.Apply(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, propertiesBytes(&out.Properties))
		for s := range vk.Chain(out.PNext) {
			p.cut.Apply(s.SType, bytesOf(s))
		}
	}
	l.PhysicalDeviceLimits = out.Properties.Limits
	p.limits = l
	p.vendorID, p.deviceID = out.Properties.VendorID, out.Properties.DeviceID
	p.driverUUID, p.deviceUUID = id.DriverUUID, id.DeviceUUID
}
