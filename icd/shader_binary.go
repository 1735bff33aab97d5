package icd

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"farside/internal/vk"
)

// Binaries of shader objects. They hold SPIR-V, and what the shader was made with besides: a program of the compiler
// from a file that anybody may have written would have to be verified as strictly as SPIR-V is, which takes as long
// as to make it anew. So they are the same on all machines and for all devices, and every device takes them.

const (
	// binaryVersion is shaderBinaryVersion.
	binaryVersion = 1
	// binaryHeader is the size of a binary's header: the UUID, the version, the size of the whole, the hash of the rest.
	binaryHeader = vk.UUID_SIZE + 4 + 4 + sha256.Size
)

// binaryUUID is shaderBinaryUUID. It changes with what no later version could read.
var binaryUUID = hashUUID([]byte("farside shader binary"))

// shaderBinary is what a binary holds.
type shaderBinary struct {
	stage    vk.ShaderStageFlagBits
	subgroup uint32 // invocations of a subgroup
	varying  bool   // which was not required
	entry    string
	values   map[uint32][]byte // of specialization constants, by SpecId
	words    []uint32
}

// incompatible is the answer to a binary that is none of the device's. No rule is broken.
func incompatible(format string, args ...any) error {
	return vk.Errorf(vk.INCOMPATIBLE_SHADER_BINARY_EXT, vk.NoVUID, "the binary is of no use here: %w",
		fmt.Errorf(format, args...))
}

// encode returns the binary, the same for the same shader.
func (s *shaderBinary) encode() []byte {
	b := make([]byte, 0, 64+4*len(s.words))
	word := func(v int) { b = binary.LittleEndian.AppendUint32(b, uint32(v)) }
	text := func(t []byte) {
		word(len(t))
		b = append(b, t...)
	}
	word(int(s.stage))
	word(int(s.subgroup))
	word(int(bool32(s.varying)))
	text([]byte(s.entry))
	word(len(s.values))
	for _, id := range slices.Sorted(maps.Keys(s.values)) {
		word(int(id))
		text(s.values[id])
	}
	word(len(s.words))
	for _, w := range s.words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return sealed(b)
}

// sealed puts the header in front of what a binary holds.
func sealed(content []byte) []byte {
	b := make([]byte, 0, binaryHeader+len(content))
	b = append(b, binaryUUID[:]...)
	b = binary.LittleEndian.AppendUint32(b, binaryVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(binaryHeader+len(content)))
	hash := sha256.Sum256(content)
	return append(append(b, hash[:]...), content...)
}

// decodeBinary reads a binary, which may be anything. What it holds may be no SPIR-V all the same.
func decodeBinary(data []byte) (*shaderBinary, error) {
	if len(data) < binaryHeader || [vk.UUID_SIZE]byte(data) != binaryUUID {
		return nil, incompatible("it has another UUID")
	}
	version, size := binary.LittleEndian.Uint32(data[vk.UUID_SIZE:]), binary.LittleEndian.Uint32(data[vk.UUID_SIZE+4:])
	rest := data[binaryHeader:]
	switch {
	case version != binaryVersion:
		return nil, incompatible("it is of version %d", version)
	case uint64(size) != uint64(len(data)):
		return nil, incompatible("it has %d bytes, and says %d", len(data), size)
	case sha256.Sum256(rest) != [sha256.Size]byte(data[binaryHeader-sha256.Size:]):
		return nil, incompatible("its hash is another one")
	}
	short := false
	take := func(n uint32) []byte {
		if short = short || uint64(n) > uint64(len(rest)); short {
			return nil
		}
		taken := rest[:n:n]
		rest = rest[n:]
		return taken
	}
	word := func() uint32 {
		if b := take(4); b != nil {
			return binary.LittleEndian.Uint32(b)
		}
		return 0
	}
	s := &shaderBinary{stage: vk.ShaderStageFlagBits(word()), subgroup: word(), varying: word() != 0,
		entry: string(take(word())), values: map[uint32][]byte{}}
	for n := word(); n > 0 && !short; n-- {
		id := word()
		s.values[id] = slices.Clone(take(word()))
	}
	words := word()
	if short || words > math.MaxUint32/4 || uint64(words)*4 != uint64(len(rest)) {
		return nil, incompatible("it is cut off, or too long")
	}
	s.words = make([]uint32, words)
	for i := range s.words {
		s.words[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	return s, nil
}
