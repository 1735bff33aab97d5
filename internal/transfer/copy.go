package transfer

import (
	"cmp"
	"slices"

	"farside/internal/memcopy"
	"farside/internal/vk"
)

// Copy copies src to dst, which have the same length and may overlap. Large ones are copied on all cores.
func Copy(dst, src []byte) {
	switch {
	case overlap(dst, src):
		copy(dst, src)
		return
	case len(dst) < parallelBytes:
		memcopy.Copy(dst, src)
		return
	}
	past := memcopy.PastCaches(len(dst))
	split(len(dst), partBytes, func(from, to int) {
		if past {
			copyPast(dst[from:to], src[from:to])
		} else {
			memcopy.Copy(dst[from:to], src[from:to])
		}
	})
}

// CopyBuffer is vkCmdCopyBuffer between the buffers whose bytes are src and dst.
func CopyBuffer(dst, src []byte, regions []vk.BufferCopy) error {
	same := overlap(dst, src)
	if same || len(regions) > 1 { // one alone is checked below
		for i := range regions {
			if err := checkBufferCopy(dst, src, &regions[i]); err != nil {
				return err
			}
		}
	}
	if same {
		if err := checkOverlap(dst, src, regions); err != nil {
			return err
		}
	}
	for _, r := range regions {
		if err := checkBufferCopy(dst, src, &r); err != nil { // the application may have changed it meanwhile
			return err
		}
		Copy(dst[r.DstOffset:][:r.Size], src[r.SrcOffset:][:r.Size])
	}
	return nil
}

func checkBufferCopy(dst, src []byte, r *vk.BufferCopy) error {
	to, from := uint64(len(dst)), uint64(len(src))
	switch {
	case r.Size == 0:
		return invalid(vk.VUID_VkBufferCopy_size_01988, "size is 0")
	case r.SrcOffset >= from:
		return invalid(vk.VUID_vkCmdCopyBuffer_srcOffset_00113, "srcOffset %d in a buffer of %d bytes", r.SrcOffset, from)
	case r.DstOffset >= to:
		return invalid(vk.VUID_vkCmdCopyBuffer_dstOffset_00114, "dstOffset %d in a buffer of %d bytes", r.DstOffset, to)
	case r.Size > from-r.SrcOffset:
		return invalid(vk.VUID_vkCmdCopyBuffer_size_00115, "size %d from srcOffset %d in a buffer of %d bytes",
			r.Size, r.SrcOffset, from)
	case r.Size > to-r.DstOffset:
		return invalid(vk.VUID_vkCmdCopyBuffer_size_00116, "size %d from dstOffset %d in a buffer of %d bytes",
			r.Size, r.DstOffset, to)
	}
	return nil
}

// span is a range of addresses.
type span struct{ from, to uintptr }

// checkOverlap finds a source region that a destination region shares bytes with.
func checkOverlap(dst, src []byte, regions []vk.BufferCopy) error {
	sources, targets := make([]span, len(regions)), make([]span, len(regions))
	for i, r := range regions {
		from, to := address(src)+uintptr(r.SrcOffset), address(dst)+uintptr(r.DstOffset)
		sources[i], targets[i] = span{from, from + uintptr(r.Size)}, span{to, to + uintptr(r.Size)}
	}
	// Sources may overlap each other; as a union they do not.
	sources, targets = union(sources), union(targets)
	for len(sources) > 0 && len(targets) > 0 {
		s, t := sources[0], targets[0]
		switch {
		case s.to <= t.from:
			sources = sources[1:]
		case t.to <= s.from:
			targets = targets[1:]
		default:
			return invalid(vk.VUID_vkCmdCopyBuffer_pRegions_00117, "%d bytes are both source and destination",
				min(s.to, t.to)-max(s.from, t.from))
		}
	}
	return nil
}

// union sorts spans and merges those that overlap or touch, in place.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// invalid reports a broken rule of valid usage, found when the command is executed.
func invalid(vuid vk.VUID, format string, args ...any) error {
	return vk.Errorf(vk.ERROR_UNKNOWN, vuid, format, args...)
}
