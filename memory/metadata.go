package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"farside/internal/vk"
)

const (
	metadataMagic = "FARSIDEM"
	// MetadataVersion goes up when the file of a shared payload changes its layout. The driver's UUID follows from it.
	MetadataVersion = 1
	// MetadataSize is the length in bytes of encoded metadata, which begins the last page of a shared payload's
	// file.
	MetadataSize = 104
)

// ErrMetadata is what every error of ParseMetadata wraps.
var ErrMetadata = errors.New("not the metadata of a Farside payload")

// DedicatedKind says what a dedicated allocation is for.
type DedicatedKind uint32

// The kinds of dedicated allocations.
const (
	NotDedicated DedicatedKind = iota
	DedicatedBuffer
	DedicatedImage
)

// Dedicated names the resource that a dedicated allocation is for: equal creation parameters give an equal
// Hash, so that an import can be held to VUID-VkMemoryDedicatedAllocateInfo-buffer-01879 and -image-01878.
type Dedicated struct {
	Kind DedicatedKind
	Hash uint64
}

// Metadata is what a shared payload's file says about itself.
type Metadata struct {
	DriverUUID  [16]byte
	DeviceUUID  [16]byte
	Size        uint64 // VkMemoryAllocateInfo::allocationSize, bytes
	ID          uint64 // Payload.ID
	MemoryType  uint32 // VkMemoryAllocateInfo::memoryTypeIndex
	Properties  vk.MemoryPropertyFlags
	HandleTypes vk.ExternalMemoryHandleTypeFlags
	Dedicated   Dedicated
	// HandleTypesNV is the set of VkExportMemoryAllocateInfoNV; one of the two sets is empty.
	HandleTypesNV vk.ExternalMemoryHandleTypeFlagsNV
	// DeviceMask says on which devices of a group there are instances, one behind the other; 0 for a device that is no
	// group.
	DeviceMask uint32
}

// castagnoli is made when it is first needed: it takes 0.2 ms of the driver's start.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Encode returns the metadata as it stands in the file.
func (m *Metadata) Encode() [MetadataSize]byte {
	var b [MetadataSize]byte
	le := binary.LittleEndian
	copy(b[0:], metadataMagic)
	le.PutUint32(b[8:], MetadataVersion)
	le.PutUint32(b[12:], MetadataSize)
	copy(b[16:], m.DriverUUID[:])
	copy(b[32:], m.DeviceUUID[:])
	le.PutUint64(b[48:], m.Size)
	le.PutUint64(b[56:], m.ID)
	le.PutUint32(b[64:], m.MemoryType)
	le.PutUint32(b[68:], uint32(m.Properties))
	le.PutUint32(b[72:], uint32(m.HandleTypes))
	le.PutUint32(b[76:], uint32(m.HandleTypesNV))
	le.PutUint64(b[80:], m.Dedicated.Hash)
	le.PutUint32(b[88:], uint32(m.Dedicated.Kind))
	le.PutUint32(b[92:], m.DeviceMask)
	// Bytes 96 to 100 are spare and zero.
	le.PutUint32(b[100:], crc32.Checksum(b[:100], castagnoli()))
	return b
}

// ParseMetadata reads encoded metadata from the start of b. Its errors wrap ErrMetadata and say what is wrong.
func ParseMetadata(b []byte) (Metadata, error) {
	var m Metadata
	le := binary.LittleEndian
	if len(b) < MetadataSize {
		return m, fmt.Errorf("%w: %d bytes, %d needed", ErrMetadata, len(b), MetadataSize)
	}
	b = b[:MetadataSize]
	if string(b[:8]) != metadataMagic {
		return m, fmt.Errorf("%w: wrong magic", ErrMetadata)
	}
	if v := le.Uint32(b[8:]); v != MetadataVersion {
		return m, fmt.Errorf("%w: format version %d, this driver knows %d", ErrMetadata, v, MetadataVersion)
	}
	if n := le.Uint32(b[12:]); n != MetadataSize {
		return m, fmt.Errorf("%w: says that it is %d bytes long, not %d", ErrMetadata, n, MetadataSize)
	}
	if got, want := crc32.Checksum(b[:100], castagnoli()), le.Uint32(b[100:]); got != want {
		return m, fmt.Errorf("%w: checksum is %#08x, not %#08x", ErrMetadata, want, got)
	}
	if le.Uint32(b[96:]) != 0 {
		return m, fmt.Errorf("%w: spare bytes are not zero", ErrMetadata)
	}
	copy(m.DriverUUID[:], b[16:])
	copy(m.DeviceUUID[:], b[32:])
	m.Size = le.Uint64(b[48:])
	m.ID = le.Uint64(b[56:])
	m.MemoryType = le.Uint32(b[64:])
	m.Properties = vk.MemoryPropertyFlags(le.Uint32(b[68:]))
	m.HandleTypes = vk.ExternalMemoryHandleTypeFlags(le.Uint32(b[72:]))
	m.HandleTypesNV = vk.ExternalMemoryHandleTypeFlagsNV(le.Uint32(b[76:]))
	m.DeviceMask = le.Uint32(b[92:])
	m.Dedicated = Dedicated{Kind: DedicatedKind(le.Uint32(b[88:])), Hash: le.Uint64(b[80:])}
	switch {
	case m.Size == 0 || m.Size > largestHeap:
		return Metadata{}, fmt.Errorf("%w: allocation size %d is impossible", ErrMetadata, m.Size)
	case m.Dedicated.Kind > DedicatedImage:
		return Metadata{}, fmt.Errorf("%w: unknown dedicated kind %d", ErrMetadata, m.Dedicated.Kind)
	}
	return m, nil
}
