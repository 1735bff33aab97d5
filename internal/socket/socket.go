// Package socket has the fabric's sockets: of TCP between hosts, and of packets between processes (unix(7),
// SOCK_SEQPACKET). They are as those of package net, save for two things that an application sees, in whose process
// they are:
//
//   - Every descriptor is 3 or above, as package fd says. Package net takes the lowest number, and has no way to
//     another one.
//   - No write raises SIGPIPE.
//
// Errors are a *net.OpError around the system's, net.ErrClosed or os.ErrDeadlineExceeded.
package socket

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// Conn is a connected socket. It implements net.Conn. Its methods may be called from any goroutine.
type Conn struct {
	*socket
	remote net.Addr
}

// socket is what a connection and a listener have in common.
type socket struct {
	file   *os.File // waits for the runtime's poller, and has deadlines
	raw    syscall.RawConn
	local  net.Addr
	closed atomic.Bool
}

// open makes a socket of a descriptor that does not block, and takes it over also when it fails.
func open(f *fd.FD) (*socket, error) {
	s := &socket{file: os.NewFile(uintptr(f.Disown()), "socket")}
	err := s.file.SetDeadline(time.Time{}) // fails where the poller doesn't know it
	if err == nil {
		s.raw, err = s.file.SyscallConn()
	}
	if err != nil {
		_ = s.file.Close()
		return nil, err
	}
	return s, nil
}

// create is socket(2).
func create(domain, kind int) (*fd.FD, error) {
	f, err := fd.Fresh(unix.Socket(domain, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
	return f, os.NewSyscallError("socket", err)
}

// failure is the error of an operation, nil for nil.
func (s *socket) failure(op string, err error) error {
	if err == nil {
		return nil
	}
	if s.closed.Load() {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: s.local.Network(), Source: s.local, Err: err}
}

// Close closes the socket. What is under way fails with net.ErrClosed, and so does a second Close.
func (s *socket) Close() error {
	if s.closed.Swap(true) {
		return s.failure("close", net.ErrClosed)
	}
	return s.failure("close", s.file.Close())
}

// LocalAddr implements net.Conn.
func (s *socket) LocalAddr() net.Addr { return s.local }

// Control calls f with the descriptor, which is open meanwhile.
func (s *socket) Control(f func(fd int)) error {
	return s.failure("control", s.raw.Control(func(raw uintptr) { f(int(raw)) }))
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.failure("set", c.file.SetDeadline(t)) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.failure("set", c.file.SetReadDeadline(t)) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.failure("set", c.file.SetWriteDeadline(t))
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	waited := c.raw.Read(func(raw uintptr) bool {
		n, err = again(func() (int, error) { return unix.Read(int(raw), p) })
		return err != unix.EAGAIN
	})
	afterReceive()
	return c.received(n, waited, os.NewSyscallError("read", err))
}

// ReadMsg takes one packet with its control messages, as recvmsg(2). An empty packet is one of 0 bytes and no error.
func (c *Conn) ReadMsg(p, oob []byte) (n, oobn, flags int, err error) {
	waited := c.raw.Read(func(raw uintptr) bool {
		n, err = again(func() (n int, err error) {
			n, oobn, flags, _, err = unix.Recvmsg(int(raw), p, oob, unix.MSG_CMSG_CLOEXEC)
			return n, err
		})
		return err != unix.EAGAIN
	})
	afterReceive()
	if waited != nil {
		err = waited
	} else {
		err = os.NewSyscallError("recvmsg", err)
	}
	if err != nil {
		return 0, 0, 0, c.failure("read", err)
	}
	return n, oobn, flags, nil
}

// received is how a read of a stream ends.
func (c *Conn) received(n int, waited, err error) (int, error) {
	switch {
	case waited != nil:
		return 0, c.failure("read", waited)
	case err != nil:
		return 0, c.failure("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn. A packet is sent whole.
func (c *Conn) Write(p []byte) (int, error) { return c.WriteMsg(p, nil) }

// WriteMsg is Write with control messages, as sendmsg(2).
func (c *Conn) WriteMsg(p, oob []byte) (n int, err error) {
	beforeSend()
	waited := c.raw.Write(func(raw uintptr) bool {
		for {
			var m int
			m, err = again(func() (int, error) {
				return unix.SendmsgN(int(raw), p[n:], oob, nil, unix.MSG_NOSIGNAL)
			})
			if err != nil {
				return err != unix.EAGAIN
			}
			oob = nil
			if n += m; n == len(p) {
				return true
			}
		}
	})
	if waited == nil {
		waited = os.NewSyscallError("sendmsg", err)
	}
	return n, c.failure("write", waited)
}

// again makes a system call until no signal interrupts it.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

// Listener is a socket that listens. It implements net.Listener.
type Listener struct{ *socket }

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.local }

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptConn()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptConn takes the next connection. While the process has no descriptor left, it fails, and the connection waits.
func (l *Listener) AcceptConn() (*Conn, error) {
	var from unix.Sockaddr
	var err error
	n := -1
	waited := l.raw.Read(func(raw uintptr) bool {
		for {
			n, from, err = unix.Accept4(int(raw), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			if err != unix.EINTR && err != unix.ECONNABORTED {
				return err != unix.EAGAIN
			}
		}
	})
	if waited != nil {
		return nil, l.failure("accept", waited)
	}
	f, err := fd.Fresh(n, err)
	if err != nil {
		return nil, l.failure("accept", os.NewSyscallError("accept4", err))
	}
	return connected(f, l.local, from)
}

// connected makes a connection of a connected socket, which it takes over.
func connected(f *fd.FD, like net.Addr, remote unix.Sockaddr) (*Conn, error) {
	local := like
	if tcp, ok := like.(*net.TCPAddr); ok {
		if err := prepareTCP(f.Int()); err != nil {
			_ = f.Close()
			return nil, err
		}
		if name, err := unix.Getsockname(f.Int()); err == nil {
			local = tcpAddr(name, tcp.Zone)
		}
	}
	s, err := open(f)
	if err != nil {
		return nil, err
	}
	s.local = local
	c := &Conn{socket: s, remote: like}
	if _, ok := like.(*net.TCPAddr); ok {
		c.remote = tcpAddr(remote, "")
	}
	return c, nil
}
