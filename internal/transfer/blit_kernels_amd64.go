package transfer

// mixColumns8x4 filters a row along x. Each lane of the result is a number of 0..255*256. There are as many pairs
// as words in dst, and each pair lies in src: the assembly checks neither.
//
//go:noescape
func mixColumns8x4(dst []uint64, src []byte, pairs []pair)

// mixRows8x4 filters between two rows of lanes and writes texels. The weight of the second row is more than 0.
func mixRows8x4(dst []byte, u, v []uint64, weight uint32) {
	whole := len(dst) / 4 &^ (laneGroup - 1)
	mixGroups8x4(dst[:whole*4], u, v, (1<<WeightBits-weight)<<8, weight<<8)
	if rest := dst[whole*4:]; len(rest) > 0 {
		var group [laneGroup * 4]byte
		mixGroups8x4(group[:], u[whole:], v[whole:], (1<<WeightBits-weight)<<8, weight<<8)
		copy(rest, group[:])
	}
}

// mixGroups8x4 writes len(dst)/16 groups of four texels. The weights are parts of 1<<16.
//
//go:noescape
func mixGroups8x4(dst []byte, u, v []uint64, weightU, weightV uint32)

// mixColumnsLanes filters a row of lanes along x. There are as many pairs as words in dst, and each pair lies in
// src: the assembly checks neither.
//
//go:noescape
func mixColumnsLanes(dst, src []uint64, pairs []pair)

// mixRowsLanes filters between two rows of lanes, which are at least as long as dst. The weights are parts of
// 1<<16, and neither is 0.
//
//go:noescape
func mixRowsLanes(dst, u, v []uint64, weightU, weightV uint32)
