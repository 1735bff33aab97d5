package local

import (
	"fmt"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/rdmasim/internal/verbs"
)

// checkPayload says whether every byte of the range can be touched, in the ways that the rights allow, for as
// long as the file exists.
func checkPayload(fd int, offset, length uint64, access verbs.Access) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("rdmasim: payload: %w: %w", verbs.ErrBadPayload, err)
	}
	size := uint64(st.Size)
	if length == 0 || offset > size || length > size-offset {
		return fmt.Errorf("rdmasim: %d bytes at %d of a payload of %d: %w", length, offset, size, verbs.ErrBadPayload)
	}
	// Without the seal anyone who has the file can shorten it, and the next access is a SIGBUS.
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("rdmasim: payload: %w: %w", verbs.ErrBadPayload, err)
	}
	if seals&unix.F_SEAL_SHRINK == 0 {
		return fmt.Errorf("rdmasim: payload is not sealed against shrinking: %w", verbs.ErrBadPayload)
	}
	if access&(verbs.AccessWrite|verbs.AccessAtomic) == 0 {
		return nil
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return fmt.Errorf("rdmasim: payload: %w: %w", verbs.ErrBadPayload, err)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR || seals&(unix.F_SEAL_WRITE|unix.F_SEAL_FUTURE_WRITE) != 0 {
		return fmt.Errorf("rdmasim: payload can't be written, rights are %v: %w", access, verbs.ErrBadPayload)
	}
	return nil
}

// payloadFD opens the payload for a peer. A region without write and atomic rights goes out read-only, so
// that the kernel enforces what the peer is asked to observe. Package memfd says against whom.
func payloadFD(r *Region) (int, error) {
	var file *fd.FD
	var err error
	if r.attributes.Access&(verbs.AccessWrite|verbs.AccessAtomic) == 0 {
		file, err = fd.Reopen(r.fd, unix.O_RDONLY)
	} else {
		file, err = fd.DupOf(r.fd)
	}
	return file.Disown(), err
}
