package command

// OpDeviceMask is a record that stands for vkCmdSetDeviceMask, and for the mask with which a recording begins. Only
// devices of several physical devices record it.
const OpDeviceMask Op = 1<<16 + 3

// DeviceMask says on which physical devices the commands behind it are executed: a bit for each device index.
type DeviceMask struct{ Mask uint32 }

// DeviceMask records a device mask. It fails with ErrMemory.
func (s *Stream) DeviceMask(mask uint32) error { return s.add(OpDeviceMask, []uint64{uint64(mask)}) }

// DeviceMask reads a record of a device mask into c. It returns false when the record's length does not fit.
func (r *Record) DeviceMask(c *DeviceMask) bool {
	if r.Op != OpDeviceMask || len(r.words) != 1 {
		return false
	}
	c.Mask = uint32(r.words[0])
	return true
}
