package local

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/rdmasim/internal/socket"
	"farside/rdmasim/internal/verbs"
)

// answer is an owner's packet with the descriptor that came along.
type answer struct {
	message
	file *fd.FD // nil without
	lost bool   // a descriptor was sent and this process had no room for it
}

// drop closes the descriptor of an answer that isn't used.
func (a answer) drop() { _ = a.file.Close() }

// receive takes one packet of an owner. A packet that makes no sense is ErrProtocol.
func receive(conn *socket.Conn) (answer, error) {
	var buf [messageSize + 1]byte // one more, so that longer packets show
	n, file, lost, err := receivePacket(conn, buf[:])
	if err != nil {
		return answer{}, err
	}
	a := answer{file: file, lost: lost}
	if a.message, err = decodeMessage(buf[:n]); err != nil {
		a.drop()
		return answer{}, err
	}
	return a, nil
}

// receivePacket takes one packet with the descriptor that came along, nil without. lost says that there was one
// for which this process has no room; then file is nil. Errors: io.EOF when the other side has gone, ErrProtocol
// for a packet with more than one descriptor, the operating system's. Whatever came with an error is closed.
func receivePacket(conn *socket.Conn, buf []byte) (n int, file *fd.FD, lost bool, err error) {
	// Room for two descriptors, so that a second one shows. The kernel drops what has no room.
	oob := make([]byte, unix.CmsgSpace(2*4))
	n, oobn, flags, err := conn.ReadMsg(buf, oob)
	if errors.Is(err, unix.ECONNRESET) {
		// The other side hung up without having read everything. That is told once, before what it sent.
		n, oobn, flags, err = conn.ReadMsg(buf, oob)
	}
	// An empty packet is io.EOF, too, and can have descriptors.
	files, full := received(oob[:oobn])
	lost = full || flags&unix.MSG_CTRUNC != 0
	switch {
	case err != nil:
	case n == 0:
		err = io.EOF
	case len(files) > 1 || len(files) == 1 && lost:
		err = fmt.Errorf("%w: a packet with more than one descriptor", verbs.ErrProtocol)
	case len(files) == 1:
		return n, files[0], false, nil
	default:
		return n, nil, lost, nil
	}
	for _, f := range files {
		_ = f.Close()
	}
	return 0, nil, false, err
}

// received takes over the descriptors in a packet's control messages. full says that this process had no room for
// all of them.
func received(oob []byte) (files []*fd.FD, full bool) {
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
				full = true
				continue
			}
			files = append(files, f)
		}
	}
	return files, full
}
