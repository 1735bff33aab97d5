package export

import (
	"farside/internal/vk"
	"farside/memory"
)

// zirconVMO is ZIRCON_VMO: here a descriptor of the payload's file, like OPAQUE_FD, for host-visible memory alone.
type zirconVMO struct{}

func (zirconVMO) traits() traits { return traits{names: namesFile, whole: true} }

func (zirconVMO) memoryTypes(types []memory.Type) uint32 {
	return typesWith(types, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT)
}

func (zirconVMO) export(m Memory) (Handle, error) {
	h, err := opaqueFD{}.export(m)
	h.Type = vk.EXTERNAL_MEMORY_HANDLE_TYPE_ZIRCON_VMO_BIT_FUCHSIA
	return h, err
}

func (zirconVMO) payload(h Handle, want *Expect) (*memory.Payload, error) {
	m, err := readMetadata(h.FD)
	if err != nil {
		return nil, err
	}
	return importFile(h.FD, min(m.Size, want.Size), m)
}

func (z zirconVMO) inspect(h Handle, types []memory.Type) (uint32, error) {
	_, err := readMetadata(h.FD)
	return z.memoryTypes(types), err
}
