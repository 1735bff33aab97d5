package syncobj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
)

const (
	metadataMagic = "FARSIDES"
	// MetadataVersion goes up when the file of a fence or semaphore changes its layout. The driver's UUID follows from it.
	MetadataVersion = 1
	metadataSize    = 64
	// metadataOffset is where the metadata stands in a shared payload's page, behind the state block.
	metadataOffset = 1024
)

// errMetadata is what every error of parseMetadata wraps.
var errMetadata = errors.New("not the metadata of a Farside fence or semaphore")

// Identity is the driver and the device that a shared payload belongs to.
type Identity struct{ DriverUUID, DeviceUUID [16]byte }

// metadata is what a shared payload's file says about itself.
type metadata struct {
	kind Kind
	id   Identity
}

// castagnoli is made when it is first needed, as it takes 0.2 ms.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// encode returns the metadata as it stands in the file.
func (m *metadata) encode() [metadataSize]byte {
	var b [metadataSize]byte
	le := binary.LittleEndian
	copy(b[0:], metadataMagic)
	le.PutUint32(b[8:], MetadataVersion)
	le.PutUint32(b[12:], metadataSize)
	copy(b[16:], m.id.DriverUUID[:])
	copy(b[32:], m.id.DeviceUUID[:])
	le.PutUint32(b[48:], uint32(m.kind))
	// Bytes 52 to 60 are spare and zero.
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli()))
	return b
}

// parseMetadata reads encoded metadata from the start of b. Its errors wrap errMetadata and say what is
// wrong.
func parseMetadata(b []byte) (metadata, error) {
	le := binary.LittleEndian
	if len(b) < metadataSize {
		return metadata{}, fmt.Errorf("%w: %d bytes, %d needed", errMetadata, len(b), metadataSize)
	}
	b = b[:metadataSize]
	if string(b[:8]) != metadataMagic {
		return metadata{}, fmt.Errorf("%w: wrong magic", errMetadata)
	}
	if v := le.Uint32(b[8:]); v != MetadataVersion {
		return metadata{}, fmt.Errorf("%w: format version %d, this driver knows %d", errMetadata, v, MetadataVersion)
	}
	if n := le.Uint32(b[12:]); n != metadataSize {
		return metadata{}, fmt.Errorf("%w: says that it is %d bytes long, not %d", errMetadata, n, metadataSize)
	}
	if got, want := crc32.Checksum(b[:60], castagnoli()), le.Uint32(b[60:]); got != want {
		return metadata{}, fmt.Errorf("%w: checksum is %#08x, not %#08x", errMetadata, want, got)
	}
	if le.Uint64(b[52:]) != 0 {
		return metadata{}, fmt.Errorf("%w: spare bytes are not zero", errMetadata)
	}
	m := metadata{kind: Kind(le.Uint32(b[48:]))}
	if m.kind < Fence || m.kind > Timeline {
		return metadata{}, fmt.Errorf("%w: kind %d does not exist", errMetadata, m.kind)
	}
	copy(m.id.DriverUUID[:], b[16:])
	copy(m.id.DeviceUUID[:], b[32:])
	return m, nil
}
