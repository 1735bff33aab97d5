package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A message is one packet between the supervisor and a node: words, and descriptors that go with them.
//
//	to a node    offer SIDE GENERATION, take SIDE GENERATION fds, hush and close SIDE GENERATION, stop
//	from a node  ready GENERATION, offered SIDE fds, hushed and closed SIDE, lost, stopped,
//	             report NUMBERS, fail TEXT
//
// SIDE is right, where the node writes, or left, where it reads. GENERATION counts the node's devices: an
// order that was meant for a lost device is void.
type message struct {
	words []string
	fds   []int
}

func (m message) is(verb string) bool { return len(m.words) > 0 && m.words[0] == verb }

// text is what follows the first word.
func (m message) text() string { return strings.Join(m.words[1:], " ") }

// side is the index of the side that the message names.
func (m message) side() int {
	if len(m.words) > 1 && m.words[1] == "left" {
		return left
	}
	return right
}

const (
	right = iota
	left
)

var sideNames = [2]string{"right", "left"}

// A socket is one end of a SOCK_SEQPACKET pair, which keeps messages apart.
type socket struct{ *net.UnixConn }

func newSocket(f *os.File) (socket, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return socket{}, err
	}
	return socket{c.(*net.UnixConn)}, nil
}

// send sends the words and the descriptors, which it closes.
func (s socket) send(fds []int, format string, args ...any) error {
	_, _, err := s.WriteMsgUnix(fmt.Appendf(nil, format, args...), unix.UnixRights(fds...), nil)
	closeAll(fds)
	return err
}

func (s socket) receive() (message, error) {
	text, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4*8))
	n, oobn, _, _, err := s.ReadMsgUnix(text, oob)
	if err != nil {
		return message{}, err
	}
	if n == 0 {
		return message{}, errors.New("the other side is gone")
	}
	m := message{words: strings.Fields(string(text[:n]))}
	control, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return m, err
	}
	for i := range control {
		fds, err := unix.ParseUnixRights(&control[i])
		if err != nil {
			return m, err
		}
		m.fds = append(m.fds, fds...)
	}
	return m, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
