package ofi

import (
	"errors"
	"fmt"
	"syscall"
)

// The ways in which an operation fails, with the work-completion status of an adapter that each stands for.
// Errors of this package wrap one of them, or are the context's.
var (
	// ErrLibrary says that libfabric isn't there or lacks a function.
	ErrLibrary = errors.New("ofi: libfabric can not be loaded")
	// ErrProvider says that the library has no such provider for the address, or one that can't do what is
	// needed.
	ErrProvider = errors.New("ofi: no usable provider")
	// ErrRemoteAccess says that the target refuses key, range or right (IBV_WC_REM_ACCESS_ERR).
	ErrRemoteAccess = errors.New("ofi: the target refuses access")
	// ErrUnreachable says that the target is gone, or not there, and that it didn't come back in time
	// (IBV_WC_RETRY_EXC_ERR).
	ErrUnreachable = errors.New("ofi: the target can not be reached")
	// ErrFlushed says that an atomic was under way when the connection ended for another reason. It may have
	// taken effect (IBV_WC_WR_FLUSH_ERR).
	ErrFlushed = errors.New("ofi: the connection ended during the operation")
	// ErrClosed says that the Conn or the Target has been closed (IBV_WC_WR_FLUSH_ERR).
	ErrClosed = errors.New("ofi: closed")
	// ErrInvalid says that an argument makes no sense, such as an address that can't be one.
	ErrInvalid = errors.New("ofi: invalid argument")
)

// CallError is a number that a function of the library returned or a completion brought.
type CallError struct {
	Call string // the function, or "completion"
	Code int    // an errno, from 256 on one of libfabric's own
	text string
}

func (e *CallError) Error() string {
	return fmt.Sprintf("%s: %s (%d)", e.Call, e.text, e.Code)
}

// Unwrap gives the errno, for errors.Is.
func (e *CallError) Unwrap() error {
	if e.Code >= 256 {
		return nil
	}
	return syscall.Errno(e.Code)
}

// refused tells an answer of the target's to this operation. Only atomics have answers of their own.
func refused(err error) bool { return errors.Is(err, syscall.EACCES) }
