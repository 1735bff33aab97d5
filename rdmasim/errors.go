package rdmasim

import "errors"

// The ways in which an operation on the fabric fails. Every error that this package returns wraps one of
// them (use errors.Is), save for errors of the operating system, which are wrapped as they are.
var (
	// ErrUnknownAddress says that no region, now or lately, covers the address, or that it isn't a remote
	// address at all.
	ErrUnknownAddress = errors.New("rdmasim: no region at this remote address")
	// ErrOutOfRange says that the operation begins inside a region and ends outside of it, also where
	// another region lies behind.
	ErrOutOfRange = errors.New("rdmasim: operation leaves its region")
	// ErrFreed says that the region's owner has deregistered it. A write or an atomic that raced with the
	// deregistration may or may not have taken effect.
	ErrFreed = errors.New("rdmasim: region has been freed")
	// ErrOwnerDied says that the owner's process ended without deregistering.
	ErrOwnerDied = errors.New("rdmasim: owner of the region has died")
	// ErrPermission says that owner and peer run as users that don't trust each other.
	ErrPermission = errors.New("rdmasim: owner belongs to another user")
	// ErrMisaligned says that an atomic's address isn't a multiple of eight.
	ErrMisaligned = errors.New("rdmasim: atomic on a misaligned remote address")
	// ErrAccess says that the region's rights don't cover the operation.
	ErrAccess = errors.New("rdmasim: region does not grant this access")
	// ErrClosed says that the peer or the owner on which the call was made has been closed.
	ErrClosed = errors.New("rdmasim: closed")

	// ErrTimeout says that an owner is there and does not answer.
	ErrTimeout = errors.New("rdmasim: owner does not answer")
	// ErrProtocol says that the other side doesn't speak this version of the protocol, or speaks nonsense.
	ErrProtocol = errors.New("rdmasim: protocol mismatch")
	// ErrResources says that a limit was reached: descriptors of this process, connections or descriptors
	// of the owner, regions or addresses of an owner.
	ErrResources = errors.New("rdmasim: out of resources")
	// ErrBadPayload says that a descriptor can't back a region: it isn't a memfd sealed against shrinking,
	// it is shorter than the region, or it can't be written where the region's rights say so.
	ErrBadPayload = errors.New("rdmasim: descriptor can not back a region")
	// ErrUnknownFabric says that Open was given a name that isn't that of a fabric.
	ErrUnknownFabric = errors.New("rdmasim: unknown fabric")
)

// Status is a work-completion status with the numbers of enum ibv_wc_status.
type Status int32

// The statuses that this package uses, as <infiniband/verbs.h> numbers them.
const (
	StatusSuccess       Status = 0  // IBV_WC_SUCCESS
	StatusLocQPOpErr    Status = 2  // IBV_WC_LOC_QP_OP_ERR
	StatusWRFlushErr    Status = 5  // IBV_WC_WR_FLUSH_ERR
	StatusBadRespErr    Status = 7  // IBV_WC_BAD_RESP_ERR
	StatusRemInvReqErr  Status = 9  // IBV_WC_REM_INV_REQ_ERR
	StatusRemAccessErr  Status = 10 // IBV_WC_REM_ACCESS_ERR
	StatusRetryExcErr   Status = 12 // IBV_WC_RETRY_EXC_ERR
	StatusRespTimeout   Status = 20 // IBV_WC_RESP_TIMEOUT_ERR
	StatusGeneralErr    Status = 21 // IBV_WC_GENERAL_ERR
	statusNameUndefined        = "unknown status"
)

var statusNames = map[Status]string{
	StatusSuccess:      "IBV_WC_SUCCESS",
	StatusLocQPOpErr:   "IBV_WC_LOC_QP_OP_ERR",
	StatusWRFlushErr:   "IBV_WC_WR_FLUSH_ERR",
	StatusBadRespErr:   "IBV_WC_BAD_RESP_ERR",
	StatusRemInvReqErr: "IBV_WC_REM_INV_REQ_ERR",
	StatusRemAccessErr: "IBV_WC_REM_ACCESS_ERR",
	StatusRetryExcErr:  "IBV_WC_RETRY_EXC_ERR",
	StatusRespTimeout:  "IBV_WC_RESP_TIMEOUT_ERR",
	StatusGeneralErr:   "IBV_WC_GENERAL_ERR",
}

// String returns the name in <infiniband/verbs.h>.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return statusNameUndefined
}

// StatusOf maps an error of this package to the work completion that an RDMA adapter would give. The table
// in the package comment is this function.
func StatusOf(err error) Status {
	switch {
	case err == nil:
		return StatusSuccess
	case errors.Is(err, ErrUnknownAddress), errors.Is(err, ErrOutOfRange), errors.Is(err, ErrFreed),
		errors.Is(err, ErrAccess), errors.Is(err, ErrPermission):
		return StatusRemAccessErr
	case errors.Is(err, ErrMisaligned):
		return StatusRemInvReqErr
	case errors.Is(err, ErrOwnerDied):
		return StatusRetryExcErr
	case errors.Is(err, ErrClosed):
		return StatusWRFlushErr
	case errors.Is(err, ErrTimeout):
		return StatusRespTimeout
	case errors.Is(err, ErrProtocol):
		return StatusBadRespErr
	case errors.Is(err, ErrResources):
		return StatusLocQPOpErr
	}
	return StatusGeneralErr
}
