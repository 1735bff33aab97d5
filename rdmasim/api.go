package rdmasim

import (
	"farside/internal/config"
	"farside/rdmasim/internal/verbs"
)

// Access is the set of operations that peers may use on a region.
type Access = verbs.Access

// The rights of a region, as IBV_ACCESS_REMOTE_READ, _WRITE and _ATOMIC.
const (
	AccessRead   = verbs.AccessRead
	AccessWrite  = verbs.AccessWrite
	AccessAtomic = verbs.AccessAtomic
	AccessAll    = verbs.AccessAll
)

// Opcode is what an operation does. The bitwise operations have no IBV_WR_ opcode; the others are those of
// IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD and IBV_WR_ATOMIC_CMP_AND_SWP.
type Opcode = verbs.Opcode

// The operations.
const (
	OpRead        = verbs.OpRead
	OpWrite       = verbs.OpWrite
	OpFetchAdd    = verbs.OpFetchAdd
	OpSwap        = verbs.OpSwap
	OpCompareSwap = verbs.OpCompareSwap
	OpFetchAnd    = verbs.OpFetchAnd
	OpFetchOr     = verbs.OpFetchOr
	OpFetchXor    = verbs.OpFetchXor
)

// RegionInfo says what a region is.
type RegionInfo = verbs.RegionInfo

// RegionStatus is a region with what has been done to it.
type RegionStatus = verbs.RegionStatus

// Counters is what peers have done to a region. An operation that failed because the region was freed under
// it may be counted, one that was refused is not.
type Counters = verbs.Counters

// AllowUIDs is the environment variable that lists further user ids, decimal and separated by commas, which
// an owner serves and which a peer believes. Nobody but the process' own effective user is trusted without
// it.
const AllowUIDs = config.AllowUIDs
