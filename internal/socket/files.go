package socket

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// ErrFiles is that a packet has more descriptors than its receiver takes.
var ErrFiles = errors.New("socket: a packet with too many descriptors")

// ReadFiles takes one packet with at most a number of descriptors, which are the caller's. lost says that the process
// had no room for some (RLIMIT_NOFILE). Errors: ErrFiles, those of ReadMsg, and io.EOF also for a packet without bytes.
func (c *Conn) ReadFiles(p []byte, most int) (n int, files []*fd.FD, lost bool, err error) {
	oob := make([]byte, unix.CmsgSpace(4*(most+1))) // room for one more, so that it shows
	n, oobn, flags, err := c.ReadMsg(p, oob)
	if errors.Is(err, unix.ECONNRESET) {
		// The other side hung up without having read everything. That is told once, before what it sent.
		n, oobn, flags, err = c.ReadMsg(p, oob)
	}
	files, lost = own(oob[:oobn])
	lost = lost || flags&unix.MSG_CTRUNC != 0 // the kernel drops what has no room
	switch {
	case err != nil:
	case n == 0: // with descriptors, too
		err = io.EOF
	case len(files) > most || len(files) == most && lost:
		err = ErrFiles
	default:
		return n, files, lost, nil
	}
	for _, f := range files {
		_ = f.Close()
	}
	return 0, nil, false, err
}

// own takes over the descriptors in a packet's control messages. lost says that there was no room for all of them.
func own(oob []byte) (files []*fd.FD, lost bool) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, false // the kernel writes them
	}
	for i := range messages {
		raws, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // of another type
		}
		for _, raw := range raws {
			f, err := fd.Fresh(raw, nil)
			if err != nil {
				lost = true
				continue
			}
			files = append(files, f)
		}
	}
	return files, lost
}
