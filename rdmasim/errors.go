package rdmasim

import "farside/rdmasim/internal/verbs"

// The ways in which an operation on the fabric fails. Every error that this package returns wraps one of
// them (use errors.Is, with these or with a Status), save for errors of the operating system, which are
// wrapped as they are.
var (
	// ErrUnknownAddress says that no region, now or lately, covers the address, or that it isn't a remote
	// address at all.
	ErrUnknownAddress = verbs.ErrUnknownAddress
	// ErrOutOfRange says that the operation begins inside a region and ends outside of it, also where
	// another region lies behind.
	ErrOutOfRange = verbs.ErrOutOfRange
	// ErrFreed says that the region's owner has deregistered it. A write or an atomic that raced with the
	// deregistration may or may not have taken effect.
	ErrFreed = verbs.ErrFreed
	// ErrAccess says that the region's rights don't cover the operation.
	ErrAccess = verbs.ErrAccess
	// ErrKey says that the key which the operation gave isn't that of the region.
	ErrKey = verbs.ErrKey
	// ErrPermission says that owner and peer don't trust each other: they run as different users, or on two
	// hosts that don't have the same secret or certificates of the same authority.
	ErrPermission = verbs.ErrPermission
	// ErrCredentials says that this process has no secret or certificate for other hosts, or can't use it.
	ErrCredentials = verbs.ErrCredentials
	// ErrMisaligned says that an atomic's address isn't a multiple of its operand's size.
	ErrMisaligned = verbs.ErrMisaligned
	// ErrOwnerDied says that the owner's process ended without deregistering.
	ErrOwnerDied = verbs.ErrOwnerDied
	// ErrUnreachable says that there is no connection to the owner's host, or that it has been lost, or that
	// nothing comes through it. A write or an atomic may have taken effect.
	ErrUnreachable = verbs.ErrUnreachable
	// ErrTimeout says that an owner is there and does not answer.
	ErrTimeout = verbs.ErrTimeout
	// ErrProtocol says that the other side doesn't speak this version of the protocol, or speaks nonsense.
	ErrProtocol = verbs.ErrProtocol
	// ErrClosed says that the peer or the owner on which the call was made has been closed.
	ErrClosed = verbs.ErrClosed
	// ErrFlushed says that work was not begun, because work before it on its queue pair had failed.
	ErrFlushed = verbs.ErrFlushed
	// ErrLocalLength says that the local memory of posted work doesn't fit to its opcode.
	ErrLocalLength = verbs.ErrLocalLength
	// ErrLocalFault says that the local memory of posted work isn't there, or can't be written.
	ErrLocalFault = verbs.ErrLocalFault
	// ErrBadWork says that posted work has no opcode that there is.
	ErrBadWork = verbs.ErrBadWork
	// ErrQueueFull says that a queue pair has no room for the posted work.
	ErrQueueFull = verbs.ErrQueueFull
	// ErrResources says that a limit was reached: descriptors of this process, connections or descriptors
	// of the owner, regions or addresses of an owner.
	ErrResources = verbs.ErrResources
	// ErrBadPayload says that a descriptor can't back a region: it isn't a memfd sealed against shrinking,
	// it is shorter than the region, or it can't be written where the region's rights say so.
	ErrBadPayload = verbs.ErrBadPayload
	// ErrUnknownFabric says that Open was given a name that isn't that of a fabric.
	ErrUnknownFabric = verbs.ErrUnknownFabric
)

// Status is a work-completion status with the numbers of enum ibv_wc_status. It is an error, too, so that
// errors.Is(err, StatusRemAccessErr) holds for each error that becomes this status.
type Status = verbs.Status

// The statuses that this package uses, as <infiniband/verbs.h> numbers them.
const (
	StatusSuccess        = verbs.StatusSuccess
	StatusLocLenErr      = verbs.StatusLocLenErr
	StatusLocQPOpErr     = verbs.StatusLocQPOpErr
	StatusLocProtErr     = verbs.StatusLocProtErr
	StatusWRFlushErr     = verbs.StatusWRFlushErr
	StatusBadRespErr     = verbs.StatusBadRespErr
	StatusRemInvReqErr   = verbs.StatusRemInvReqErr
	StatusRemAccessErr   = verbs.StatusRemAccessErr
	StatusRetryExcErr    = verbs.StatusRetryExcErr
	StatusRespTimeoutErr = verbs.StatusRespTimeoutErr
	StatusGeneralErr     = verbs.StatusGeneralErr
)

// StatusOf maps an error to the work completion that an RDMA adapter would give, and errors of other packages
// to StatusGeneralErr. The table in the package comment is this function.
func StatusOf(err error) Status { return verbs.StatusOf(err) }
