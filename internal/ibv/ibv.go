// Package ibv is the C ABI of libibverbs and librdmacm (rdma-core 44: infiniband/verbs.h, infiniband/sa.h,
// rdma/rdma_cma.h) and nothing else.
//
// A constant has its name in C without IBV_; those of librdmacm keep RDMA_ and RAI_. A structure has its name without
// ibv_ or rdma_, in Go's spelling. All pointers are numbers: what they lead to belongs to C, and may be anything. A
// test compares sizes, offsets and values with what the C compiler makes of Debian's headers.
//
// Numbers in big-endian order (immediate data, GUIDs, what packets carry) are as they lie in memory.
package ibv

import "structs"

// GID is union ibv_gid: 16 bytes in the order of the wire.
type GID [16]byte

// PthreadMutex is pthread_mutex_t. Only its size matters here.
type PthreadMutex [mutexWords]uint64

// PthreadCond is pthread_cond_t.
type PthreadCond [6]uint64

// BindMW is bind_mw of struct ibv_send_wr.
type BindMW struct {
	_        structs.HostLayout
	MW       uintptr
	RKey     uint32
	_        [4]byte
	BindInfo MWBindInfo
}

// RDMA returns wr.rdma of a work request.
func (w *SendWR) RDMA() (remoteAddr uint64, rkey uint32) { return w.WR[0], uint32(w.WR[1]) }

// Atomic returns wr.atomic of a work request.
func (w *SendWR) Atomic() (remoteAddr, compareAdd, swap uint64, rkey uint32) {
	return w.WR[0], w.WR[1], w.WR[2], uint32(w.WR[3])
}

// UD returns wr.ud of a work request: the address handle, the queue pair's number and its Q_Key.
func (w *SendWR) UD() (ah uintptr, remoteQPN, remoteQKey uint32) {
	return uintptr(w.WR[0]), uint32(w.WR[1]), uint32(w.WR[1] >> 32)
}

// ABIExtended in Context.ABICompat says that the context lies in a VerbsContext.
const ABIExtended = ^uintptr(0)
