package icd

import (
	"bytes"
	"encoding/binary"

	"farside/internal/command"
	"farside/internal/vk"
)

// submit executes the command buffer.
func (b *commandBuffer) submit(command string) error {
	if err := b.beginPending(command); err != nil {
		return err
	}
	defer b.Completed()
	return replay(b.Stream())
}

// replay executes a stream.
func replay(s *command.Stream) error {
	for r := range s.Records() {
		if err := execute(r); err != nil {
			return err
		}
	}
	return s.Err()
}

func execute(r command.Record) error {
	if c, ok := r.FillBuffer(); ok {
		if c.DstOffset%4 != 0 || c.Size != vk.WHOLE_SIZE && c.Size%4 != 0 || c.Size == 0 {
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdFillBuffer-size-00028",
				"offset %d and size %d must be multiples of 4, the size not 0", c.DstOffset, c.Size)
		}
		dst, err := bufferBytes(c.DstBuffer, c.DstOffset, c.Size, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
		if err != nil {
			return err
		}
		word := binary.NativeEndian.AppendUint32(nil, c.Data)
		copy(dst, bytes.Repeat(word, len(dst)/4))
		return nil
	}
	if c, ok := r.UpdateBuffer(); ok {
		dst, err := bufferBytes(c.DstBuffer, c.DstOffset, uint64(len(c.Data)), vk.BUFFER_USAGE_TRANSFER_DST_BIT)
		copy(dst, c.Data)
		return err
	}
	c, ok := r.CopyBuffer()
	if !ok {
		return vk.Errorf(vk.ERROR_UNKNOWN, "", "%v cannot be executed", r.Op)
	}
	for _, region := range c.Regions {
		src, err := bufferBytes(c.SrcBuffer, region.SrcOffset, region.Size, vk.BUFFER_USAGE_TRANSFER_SRC_BIT)
		if err != nil {
			return err
		}
		dst, err := bufferBytes(c.DstBuffer, region.DstOffset, region.Size, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
		if err != nil {
			return err
		}
		copy(dst, src)
	}
	return nil
}

// bufferBytes looks a bound buffer's range up.
func bufferBytes(h vk.Buffer, offset, size uint64, usage vk.BufferUsageFlags) ([]byte, error) {
	b := buffers.Get(uint64(h))
	if b == nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "", "buffer %#x does not exist", uint64(h))
	}
	m := b.boundTo()
	if m == nil {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "", "buffer %#x is not bound to memory", uint64(h))
	}
	if b.usage&usage == 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "", "buffer %#x was created without %v", uint64(h), usage)
	}
	if size == vk.WHOLE_SIZE && offset <= b.size {
		size = (b.size - offset) &^ 3
	}
	if offset > b.size || size > b.size-offset {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "", "%d bytes from offset %d reach beyond the buffer of %d bytes", size, offset, b.size)
	}
	all, err := m.payload.Bytes()
	if err != nil {
		return nil, err
	}
	return all[b.offset+offset:][:size], nil
}
