package verbs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"farside/internal/fault"
)

// failure is an error with the work completion that an RDMA adapter would give in its place.
type failure struct {
	status Status
	text   string
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Is says that a failure is its status, too.
func (f *failure) Is(target error) bool { return target == f.status }

// The ways in which an operation on the fabric fails, as package rdmasim documents them. Every error wraps one of
// them, save for errors of the operating system, which are wrapped as they are.
var (
	ErrUnknownAddress error = &failure{StatusRemAccessErr, "rdmasim: no region at this remote address"}
	ErrOutOfRange     error = &failure{StatusRemAccessErr, "rdmasim: operation leaves its region"}
	ErrFreed          error = &failure{StatusRemAccessErr, "rdmasim: region has been freed"}
	ErrAccess         error = &failure{StatusRemAccessErr, "rdmasim: region does not grant this access"}
	ErrKey            error = &failure{StatusRemAccessErr, "rdmasim: wrong key for the region"}
	ErrPermission     error = &failure{StatusRemAccessErr, "rdmasim: owner and peer do not trust each other"}
	ErrCredentials    error = &failure{StatusGeneralErr, "rdmasim: no credentials for other hosts"}
	ErrMisaligned     error = &failure{StatusRemInvReqErr, "rdmasim: atomic on a misaligned remote address"}
	ErrOwnerDied      error = &failure{StatusRetryExcErr, "rdmasim: owner of the region has died"}
	ErrUnreachable    error = &failure{StatusRetryExcErr, "rdmasim: host can not be reached"}
	ErrTimeout        error = &failure{StatusRespTimeoutErr, "rdmasim: owner does not answer"}
	ErrProtocol       error = &failure{StatusBadRespErr, "rdmasim: protocol mismatch"}
	ErrClosed         error = &failure{StatusWRFlushErr, "rdmasim: closed"}
	ErrFlushed        error = &failure{StatusWRFlushErr, "rdmasim: flushed after an error"}
	ErrLocalLength    error = &failure{StatusLocLenErr, "rdmasim: local memory of a wrong size"}
	ErrLocalFault     error = &failure{StatusLocProtErr, "rdmasim: local memory is not accessible"}
	ErrBadWork        error = &failure{StatusLocQPOpErr, "rdmasim: no such operation"}
	ErrQueueFull      error = &failure{StatusLocQPOpErr, "rdmasim: queue pair is full"}
	ErrResources      error = &failure{StatusLocQPOpErr, "rdmasim: out of resources"}
	ErrBadPayload     error = &failure{StatusGeneralErr, "rdmasim: descriptor can not back a region"}
	ErrUnknownFabric  error = &failure{StatusGeneralErr, "rdmasim: unknown fabric"}
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

// String returns the name in <infiniband/verbs.h>.
func (s Status) String() string {
	if s >= 0 && int(s) < len(fault.StatusNames) {
		return fault.StatusNames[s]
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

// OnCommand is the error of an operation that ends with a status because FARSIDE_FAULTS says so.
func OnCommand(s Status) error {
	return &failure{s, "rdmasim: fault on command: " + s.String()}
}

// OSError wraps an error of the operating system, and says so when it is about descriptors.
func OSError(what string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("rdmasim: %s: out of file descriptors: %w: %w", what, ErrResources, err)
	}
	return fmt.Errorf("rdmasim: %s: %w", what, err)
}
