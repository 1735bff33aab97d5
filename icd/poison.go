package icd

import (
	"farside/internal/config"
	"farside/internal/vk"
)

// pattern is what the bytes of fresh and freed memory are with FARSIDE_STRICT=poison, and what the host sees in
// imported memory that is not coherent until it invalidates. As a float, an integer, a size or an address it is
// useless.
const pattern = 0xFA

// mostPoison bounds, in bytes, what is filled: a larger allocation stays as the system gives it, so that who allocates
// a whole heap does not take the machine's memory.
const mostPoison = 64 << 20

// poisoned says whether the memory was filled when it was allocated.
func (m *deviceMemory) poisoned() bool {
	return m.device.strict(config.StrictPoison) && m.imported == 0 && m.size <= mostPoison
}

// poison fills fresh memory, and freed memory that nobody else may still use.
func (m *deviceMemory) poison() error {
	b, err := m.payload.Bytes()
	if err != nil {
		return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.NoVUID, "filling fresh memory: %w", err)
	}
	if len(b) > 0 {
		b[0] = pattern
	}
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return nil
}
