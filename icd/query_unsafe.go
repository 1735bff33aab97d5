package icd

import (
	"errors"
	"unsafe"

	"farside/internal/exec"
	"farside/internal/vk"
)

func getQueryPoolResults(
	_ *device, p *queryPool, first, count uint32, size uintptr, data unsafe.Pointer, stride vk.DeviceSize,
	flags vk.QueryResultFlags,
) vk.Result {
	alignment, vuid := uint64(4), vk.VUID_vkGetQueryPoolResults_flags_02828
	if flags&vk.QUERY_RESULT_64_BIT != 0 {
		alignment, vuid = 8, vk.VUID_vkGetQueryPoolResults_flags_00815
	}
	var err error
	if uint64(uintptr(data))%alignment != 0 || stride%alignment != 0 {
		err = vk.Errorf(vk.ERROR_UNKNOWN, vuid, "pData %p or stride %d is not a multiple of %d", data, stride, alignment)
	} else {
		err = p.pool.Results(first, count, vk.Slice((*byte)(data), size), stride, flags, p.device.stop,
			&exec.GetQueryPoolResultsRules)
	}
	switch {
	case err == nil:
		return vk.SUCCESS
	case errors.Is(err, exec.ErrNotReady): // which pollers get all the time
		return vk.NOT_READY
	}
	return p.fail("vkGetQueryPoolResults", err)
}
