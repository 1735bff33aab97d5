package export

import (
	"farside/internal/vk"
	"farside/memory"
)

// remoteAddress is RDMA_ADDRESS_BIT_NV: an address on the fabric (VK_NV_external_memory_rdma). The extension has no
// import structure.
type remoteAddress struct{}

func (remoteAddress) traits() traits { return traits{names: namesFile, feature: "externalMemoryRDMA"} }

func (remoteAddress) memoryTypes(types []memory.Type) uint32 {
	return typesWith(types, vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)
}

func (remoteAddress) export(m Memory) (Handle, error) {
	address, err := m.RemoteAddress()
	return Handle{Type: vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV, By: RemoteAddress, Address: address}, err
}
