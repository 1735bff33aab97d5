package rdmasim

import "errors"

// failure is an error with the work completion that an RDMA adapter would give in its place.
type failure struct {
	status Status
	text   string
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Is says that a failure is its status, too.
func (f *failure) Is(target error) bool { return target == f.status }

// The ways in which an operation on the fabric fails. Every error that this package returns wraps one of
// them (use errors.Is, with these or with a Status), save for errors of the operating system, which are
// wrapped as they are.
var (
	// ErrUnknownAddress says that no region, now or lately, covers the address, or that it isn't a remote
	// address at all.
	ErrUnknownAddress error = &failure{StatusRemAccessErr, "rdmasim: no region at this remote address"}
	// ErrOutOfRange says that the operation begins inside a region and ends outside of it, also where
	// another region lies behind.
	ErrOutOfRange error = &failure{StatusRemAccessErr, "rdmasim: operation leaves its region"}
	// ErrFreed says that the region's owner has deregistered it. A write or an atomic that raced with the
	// deregistration may or may not have taken effect.
	ErrFreed error = &failure{StatusRemAccessErr, "rdmasim: region has been freed"}
	// ErrAccess says that the region's rights don't cover the operation.
	ErrAccess error = &failure{StatusRemAccessErr, "rdmasim: region does not grant this access"}
	// ErrKey says that the key which the operation gave isn't that of the region.
	ErrKey error = &failure{StatusRemAccessErr, "rdmasim: wrong key for the region"}
	// ErrPermission says that owner and peer run as users that don't trust each other.
	ErrPermission error = &failure{StatusRemAccessErr, "rdmasim: owner belongs to another user"}
	// ErrMisaligned says that an atomic's address isn't a multiple of its operand's size.
	ErrMisaligned error = &failure{StatusRemInvReqErr, "rdmasim: atomic on a misaligned remote address"}
	// ErrOwnerDied says that the owner's process ended without deregistering.
	ErrOwnerDied error = &failure{StatusRetryExcErr, "rdmasim: owner of the region has died"}
	// ErrUnreachable says that there is no connection to the owner's host, or that it has been lost, or that
	// nothing comes through it. A write or an atomic may have taken effect.
	ErrUnreachable error = &failure{StatusRetryExcErr, "rdmasim: host can not be reached"}
	// ErrTimeout says that an owner is there and does not answer.
	ErrTimeout error = &failure{StatusRespTimeoutErr, "rdmasim: owner does not answer"}
	// ErrProtocol says that the other side doesn't speak this version of the protocol, or speaks nonsense.
	ErrProtocol error = &failure{StatusBadRespErr, "rdmasim: protocol mismatch"}
	// ErrClosed says that the peer or the owner on which the call was made has been closed.
	ErrClosed error = &failure{StatusWRFlushErr, "rdmasim: closed"}
	// ErrFlushed says that work was not begun, because work before it on its queue pair had failed. On another
	// host, an atomic that was under way when its connection ended for a reason that has nothing to do with it
	// gives this, too, and may have taken effect.
	ErrFlushed error = &failure{StatusWRFlushErr, "rdmasim: flushed after an error"}
	// ErrLocalLength says that the local memory of posted work doesn't fit to its opcode.
	ErrLocalLength error = &failure{StatusLocLenErr, "rdmasim: local memory of a wrong size"}
	// ErrLocalFault says that the local memory of posted work isn't there, or can't be written.
	ErrLocalFault error = &failure{StatusLocProtErr, "rdmasim: local memory is not accessible"}
	// ErrBadWork says that posted work has no opcode that there is.
	ErrBadWork error = &failure{StatusLocQPOpErr, "rdmasim: no such operation"}
	// ErrQueueFull says that a queue pair has no room for the posted work.
	ErrQueueFull error = &failure{StatusLocQPOpErr, "rdmasim: queue pair is full"}
	// ErrResources says that a limit was reached: descriptors of this process, connections or descriptors
	// of the owner, regions or addresses of an owner.
	ErrResources error = &failure{StatusLocQPOpErr, "rdmasim: out of resources"}
	// ErrBadPayload says that a descriptor can't back a region: it isn't a memfd sealed against shrinking,
	// it is shorter than the region, or it can't be written where the region's rights say so.
	ErrBadPayload error = &failure{StatusGeneralErr, "rdmasim: descriptor can not back a region"}
	// ErrUnknownFabric says that Open was given a name that isn't that of a fabric.
	ErrUnknownFabric error = &failure{StatusGeneralErr, "rdmasim: unknown fabric"}
)

// Status is a work-completion status with the numbers of enum ibv_wc_status. It is an error, too, so that
// errors.Is(err, StatusRemAccessErr) holds for each error that becomes this status.
type Status int32

// The statuses that this package uses, as <infiniband/verbs.h> numbers them.
const (
	StatusSuccess        Status = 0
	StatusLocLenErr      Status = 1
	StatusLocQPOpErr     Status = 2
	StatusLocProtErr     Status = 4
	StatusWRFlushErr     Status = 5
	StatusBadRespErr     Status = 7
	StatusRemInvReqErr   Status = 9
	StatusRemAccessErr   Status = 10
	StatusRetryExcErr    Status = 12
	StatusRespTimeoutErr Status = 20
	StatusGeneralErr     Status = 21
)

var statusNames = [...]string{
	"IBV_WC_SUCCESS", "IBV_WC_LOC_LEN_ERR", "IBV_WC_LOC_QP_OP_ERR", "IBV_WC_LOC_EEC_OP_ERR", "IBV_WC_LOC_PROT_ERR",
	"IBV_WC_WR_FLUSH_ERR", "IBV_WC_MW_BIND_ERR", "IBV_WC_BAD_RESP_ERR", "IBV_WC_LOC_ACCESS_ERR",
	"IBV_WC_REM_INV_REQ_ERR", "IBV_WC_REM_ACCESS_ERR", "IBV_WC_REM_OP_ERR", "IBV_WC_RETRY_EXC_ERR",
	"IBV_WC_RNR_RETRY_EXC_ERR", "IBV_WC_LOC_RDD_VIOL_ERR", "IBV_WC_REM_INV_RD_REQ_ERR", "IBV_WC_REM_ABORT_ERR",
	"IBV_WC_INV_EECN_ERR", "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR", "IBV_WC_RESP_TIMEOUT_ERR",
	"IBV_WC_GENERAL_ERR", "IBV_WC_TM_ERR", "IBV_WC_TM_RNDV_INCOMPLETE",
}

// String returns the name in <infiniband/verbs.h>.
func (s Status) String() string {
	if s >= 0 && int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown status"
}

// Error implements error.
func (s Status) Error() string { return s.String() }

// StatusOf maps an error to the work completion that an RDMA adapter would give, and errors of other packages
// to StatusGeneralErr. The table in the package comment is this function.
func StatusOf(err error) Status {
	if err == nil {
		return StatusSuccess
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.status
	}
	return StatusGeneralErr
}
