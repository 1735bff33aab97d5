package ofi

// The structures of <rdma/fabric.h> and its companions, version 1.17, as a C compiler lays them out on 64-bit
// Linux. Later versions append fields; what the library allocates may be longer than these, and a table of
// functions says in its first word how long it is. Functions are addresses.

// apiVersion is FI_VERSION(1, 17).
const apiVersion = 1<<16 | 17

// slack is appended, zero, to what this package allocates, for the fields that later versions have appended.
type slack [16]uint64

const (
	capRMA         = 1 << 2  // FI_RMA
	capAtomic      = 1 << 4  // FI_ATOMIC
	accessRead     = 1 << 8  // FI_READ
	accessWrite    = 1 << 9  // FI_WRITE
	bindReceive    = 1 << 10 // FI_RECV
	bindTransmit   = 1 << 11 // FI_TRANSMIT
	remoteRead     = 1 << 12 // FI_REMOTE_READ
	remoteWrite    = 1 << 13 // FI_REMOTE_WRITE
	numericHost    = 1 << 55 // FI_NUMERICHOST
	asSource       = 1 << 57 // FI_SOURCE
	flagCompletion = 1 << 24 // FI_COMPLETION
	flagDelivered  = 1 << 28 // FI_DELIVERY_COMPLETE
	modeContext    = 1 << 59 // FI_CONTEXT
	modeContext2   = 1 << 52 // FI_CONTEXT2

	mrLocal       = 1 << 2 // FI_MR_LOCAL
	mrVirtualAddr = 1 << 4 // FI_MR_VIRT_ADDR
	mrAllocated   = 1 << 5 // FI_MR_ALLOCATED
	mrProviderKey = 1 << 6 // FI_MR_PROV_KEY

	epRDM            = 3 // FI_EP_RDM
	threadSafe       = 1 // FI_THREAD_SAFE
	waitUnspecified  = 1 // FI_WAIT_UNSPEC
	cqFormatContext  = 1 // FI_CQ_FORMAT_CONTEXT
	controlEnable    = 6 // FI_ENABLE
	datatypeUint32   = 5 // FI_UINT32
	datatypeUint64   = 7 // FI_UINT64
	contextSize      = 64
	errorAvailable   = 259 // FI_EAVAIL
	errorKeyRequired = 266 // FI_ENOKEY

	eInterrupted = 4
	eAgain       = 11
)

// The operations of enum fi_op that a Conn has.
const (
	fiSum   = 2  // FI_SUM
	fiOr    = 6  // FI_BOR
	fiAnd   = 7  // FI_BAND
	fiXor   = 9  // FI_BXOR
	fiWrite = 11 // FI_ATOMIC_WRITE, a swap where the old value is fetched
	fiCSwap = 12 // FI_CSWAP
)

type info struct { // struct fi_info
	next                 *info
	caps, mode           uint64
	addressFormat        uint32
	sourceLen, destLen   uintptr
	source, dest, handle uintptr
	tx                   *txAttr
	rx                   uintptr
	ep                   *epAttr
	domain               *domainAttr
	fabric               *fabricAttr
	nic                  uintptr
}

type txAttr struct { // struct fi_tx_attr
	_, _    uint64
	opFlags uint64
}

type epAttr struct { // struct fi_ep_attr
	kind       int32
	_, _       uint32
	maxMessage uintptr
}

type domainAttr struct { // struct fi_domain_attr
	_, _      uintptr
	threading int32
	_         [4]int32
	mrMode    int32
}

type fabricAttr struct { // struct fi_fabric_attr
	fabric                      uintptr
	name, provider              *byte
	providerVersion, apiVersion uint32
}

type fid struct { // struct fid
	class, context uintptr
	ops            *fidOps
}

type fidOps struct { // struct fi_ops
	size, close, bind, control uintptr
}

type fabricObject struct { // struct fid_fabric
	fid
	ops *fabricOps
}

type fabricOps struct { // struct fi_ops_fabric
	size, domain uintptr
}

type domainObject struct { // struct fid_domain
	fid
	ops *domainOps
	mr  *mrOps
}

type domainOps struct { // struct fi_ops_domain
	size, openAV, openCQ, endpoint uintptr
}

type mrOps struct { // struct fi_ops_mr
	size, register uintptr
}

type mrObject struct { // struct fid_mr
	fid
	descriptor uintptr
	key        uint64
}

type avAttr struct { // struct fi_av_attr
	kind           int32
	contextBits    int32
	count, perNode uintptr
	name, mapAddr  uintptr
	flags          uint64
	_              slack
}

type avObject struct { // struct fid_av
	fid
	ops *avOps
}

type avOps struct { // struct fi_ops_av
	size, insert uintptr
}

type cqAttr struct { // struct fi_cq_attr
	size            uintptr
	flags           uint64
	format          int32
	wait            int32
	signalingVector int32
	waitCondition   int32
	waitSet         uintptr
	_               slack
}

type cqObject struct { // struct fid_cq
	fid
	ops *cqOps
}

type cqOps struct { // struct fi_ops_cq
	size, read, readFrom, readError, wait, waitFrom, signal uintptr
}

type cqError struct { // struct fi_cq_err_entry
	context        uintptr
	flags          uint64
	length, buffer uintptr
	data, tag      uint64
	overflow       uintptr
	err, provider  int32
	errData        uintptr
	errDataSize    uintptr
	_              slack
}

type epObject struct { // struct fid_ep
	fid
	ops     uintptr
	cm      *cmOps
	message uintptr
	rma     *rmaOps
	tagged  uintptr
	atomic  *atomicOps
}

type cmOps struct { // struct fi_ops_cm
	size, setName, getName uintptr
}

type rmaOps struct { // struct fi_ops_rma
	size, read, readV, readMessage, write uintptr
}

type atomicOps struct { // struct fi_ops_atomic
	size, write, writeV, writeMessage, inject uintptr
	fetch, fetchV, fetchMessage               uintptr
	compare                                   uintptr
}
