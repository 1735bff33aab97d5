package local

import (
	"errors"
	"fmt"

	"farside/internal/fd"
	"farside/internal/socket"
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
	n, files, lost, err := conn.ReadFiles(buf, 1)
	if errors.Is(err, socket.ErrFiles) {
		err = fmt.Errorf("%w: a packet with more than one descriptor", verbs.ErrProtocol)
	}
	if len(files) == 1 {
		file = files[0]
	}
	return n, file, lost, err
}
