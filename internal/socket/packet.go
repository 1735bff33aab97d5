package socket

import (
	"context"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// packetAddr is a name in net's notation, "@name" for an abstract one.
func packetAddr(name string) *net.UnixAddr { return &net.UnixAddr{Name: name, Net: "unixpacket"} }

// ListenPacket listens for packets at a name (unix(7)), "@name" for an abstract one.
func ListenPacket(name string) (*Listener, error) {
	f, err := create(unix.AF_UNIX, unix.SOCK_SEQPACKET)
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(f.Int(), &unix.SockaddrUnix{Name: name}))
	}
	if err == nil {
		err = os.NewSyscallError("listen", unix.Listen(f.Int(), backlog))
	}
	if err != nil {
		_ = f.Close()
		return nil, &net.OpError{Op: "listen", Net: "unixpacket", Addr: packetAddr(name), Err: err}
	}
	s, err := open(f)
	if err != nil {
		return nil, err
	}
	s.local = packetAddr(name)
	return &Listener{s}, nil
}

// DialPacket connects to a name at which somebody listens for packets. It doesn't wait for room in the listener's
// queue: EAGAIN says that there is none.
func DialPacket(ctx context.Context, name string) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := create(unix.AF_UNIX, unix.SOCK_SEQPACKET)
	if err == nil {
		err = os.NewSyscallError("connect", unix.Connect(f.Int(), &unix.SockaddrUnix{Name: name}))
	}
	if err != nil {
		_ = f.Close()
		return nil, &net.OpError{Op: "dial", Net: "unixpacket", Addr: packetAddr(name), Err: err}
	}
	return connected(f, packetAddr(name), nil)
}
