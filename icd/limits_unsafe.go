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
	link(&out, id.StructureType(), unsafe.Pointer(&id))
	link(&out, l.memory.StructureType(), unsafe.Pointer(&l.memory))
	link(&out, l.buffer.StructureType(), unsafe.Pointer(&l.buffer))
	link(&out, l.subgroup.StructureType(), unsafe.Pointer(&l.subgroup))
	link(&out, l.subgroups.StructureType(), unsafe.Pointer(&l.subgroups))
	link(&out, l.indexing.StructureType(), unsafe.Pointer(&l.indexing))
	link(&out, l.inline.StructureType(), unsafe.Pointer(&l.inline))
	link(&out, l.push.StructureType(), unsafe.Pointer(&l.push))
	link(&out, l.host.StructureType(), unsafe.Pointer(&l.host))
	link(&out, l.placed.StructureType(), unsafe.Pointer(&l.placed))
	link(&out, l.border.StructureType(), unsafe.Pointer(&l.border))
	link(&out, l.texels.StructureType(), unsafe.Pointer(&l.texels))
	link(&out, l.timeline.StructureType(), unsafe.Pointer(&l.timeline))
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
