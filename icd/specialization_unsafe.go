package icd

import "farside/internal/vk"

// readSpecialization copies the values of specialization constants, by SpecId.
func readSpecialization(info *vk.SpecializationInfo) (map[uint32][]byte, error) {
	if info == nil || info.MapEntryCount == 0 {
		return nil, nil
	}
	data := vk.Slice((*byte)(info.PData), info.DataSize)
	entries := vk.Slice(info.PMapEntries, info.MapEntryCount)
	values := make(map[uint32][]byte, len(entries))
	for i := range entries {
		e := &entries[i]
		room := uint64(len(data))
		switch _, twice := values[e.ConstantID]; {
		case uint64(e.Offset) >= room:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSpecializationInfo_offset_00773,
				"constant %d: offset %d of %d bytes", e.ConstantID, e.Offset, room)
		case uint64(e.Size) > room-uint64(e.Offset):
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSpecializationInfo_pMapEntries_00774,
				"constant %d: %d bytes from offset %d of %d", e.ConstantID, e.Size, e.Offset, room)
		case twice:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSpecializationInfo_constantID_04911, "constant %d has two values",
				e.ConstantID)
		}
		values[e.ConstantID] = append([]byte(nil), data[e.Offset:uint64(e.Offset)+uint64(e.Size)]...)
	}
	return values, nil
}
