package socket

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// backlog is how many connections wait for Accept, or as many as the kernel allows (net.core.somaxconn).
const backlog = 4096

// Keep-alive probes find out within ten seconds that the other host is gone. keepIdle is the seconds without traffic
// before the first probe, keepInterval those between probes. keepCount probes without an answer end the connection.
const keepIdle, keepInterval, keepCount = 5, 1, 5

// sockaddr is an address for the kernel. The descriptor is any socket; it looks up the index of an interface.
func sockaddr(f *fd.FD, a netip.AddrPort) (unix.Sockaddr, error) {
	ip := a.Addr().Unmap()
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, nil
	}
	to := &unix.SockaddrInet6{Port: int(a.Port()), Addr: ip.As16()}
	if zone := ip.Zone(); zone != "" {
		if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			to.ZoneId = uint32(n)
			return to, nil
		}
		request, err := unix.NewIfreq(zone)
		if err == nil {
			err = unix.IoctlIfreq(f.Int(), unix.SIOCGIFINDEX, request)
		}
		if err != nil {
			return nil, &net.AddrError{Err: "no such interface", Addr: zone}
		}
		to.ZoneId = request.Uint32()
	}
	return to, nil
}

// tcpAddr is an address of the kernel's. A zone is kept where it can be one.
func tcpAddr(a unix.Sockaddr, zone string) *net.TCPAddr {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)))
	case *unix.SockaddrInet6:
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom16(a.Addr).WithZone(zone), uint16(a.Port)))
	}
	return &net.TCPAddr{}
}

func domain(a netip.AddrPort) int {
	if a.Addr().Unmap().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// prepareTCP sends small messages at once and notices the end of the other host.
func prepareTCP(raw int) error {
	for _, o := range []struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepIdle},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepInterval},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepCount},
	} {
		if err := unix.SetsockoptInt(raw, o.level, o.name, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// ListenTCP listens at an address of this host. The kernel chooses the port if it is 0.
func ListenTCP(address netip.AddrPort) (*Listener, error) {
	s, err := listenTCP(address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: net.TCPAddrFromAddrPort(address), Err: err}
	}
	return &Listener{s}, nil
}

func listenTCP(address netip.AddrPort) (*socket, error) {
	f, err := create(domain(address), unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	name, err := bindTCP(f, address)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	s, err := open(f)
	if err == nil {
		s.local = tcpAddr(name, address.Addr().Zone())
	}
	return s, err
}

// bindTCP listens, and returns the address with its port.
func bindTCP(f *fd.FD, address netip.AddrPort) (unix.Sockaddr, error) {
	at, err := sockaddr(f, address)
	if err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(f.Int(), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(f.Int(), at); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(f.Int(), backlog); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	name, err := unix.Getsockname(f.Int())
	return name, os.NewSyscallError("getsockname", err)
}

// DialTCP connects to a host and port. Of a name's addresses it tries one after the other, each for its part of the
// time that ctx leaves. A name is looked up in /etc/hosts and by DNS.
func DialTCP(ctx context.Context, address string) (*Conn, error) {
	all, err := lookUp(ctx, address)
	var c *Conn
	for i, a := range all {
		if c, err = dialPart(ctx, a, len(all)-i); err == nil {
			return c, nil
		}
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: named(address), Err: err}
}

// named is an address as somebody wrote it.
type named string

func (n named) Network() string { return "tcp" }
func (n named) String() string  { return string(n) }

// lookUp returns the addresses that a host and port mean, at least one if there is no error.
func lookUp(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, &net.AddrError{Err: "no port", Addr: address}
	}
	ips := []netip.Addr{{}}
	if ips[0], err = netip.ParseAddr(host); err != nil {
		if ips, err = resolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	var all []netip.AddrPort
	for _, ip := range ips {
		all = append(all, netip.AddrPortFrom(ip, uint16(port)))
	}
	return all, nil
}

// resolver asks the servers of DNS by sockets of this package.
var resolver = &net.Resolver{PreferGo: true, Dial: dialServer}

// dialServer connects to a server of DNS.
func dialServer(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	if network == "udp" {
		return dialUDP(server)
	}
	return dialOne(ctx, server)
}

// dialPart connects within the first of several equal parts of the time that ctx leaves.
func dialPart(ctx context.Context, a netip.AddrPort, parts int) (*Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && parts > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
		defer cancel()
	}
	return dialOne(ctx, a)
}

// dialOne connects to one address.
func dialOne(ctx context.Context, a netip.AddrPort) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := create(domain(a), unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	to, err := sockaddr(f, a)
	if err == nil {
		if err = unix.Connect(f.Int(), to); err == unix.EINPROGRESS || err == unix.EINTR {
			err = nil
		}
		err = os.NewSyscallError("connect", err)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	c, err := connected(f, net.TCPAddrFromAddrPort(a), to)
	if err != nil {
		return nil, err
	}
	if err := c.established(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// established waits for the end of connect(2).
func (c *Conn) established(ctx context.Context) (err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.file.SetWriteDeadline(time.Unix(1, 0)) })
	waited := c.raw.Write(func(raw uintptr) bool {
		var code int
		if code, err = unix.GetsockoptInt(int(raw), unix.SOL_SOCKET, unix.SO_ERROR); err != nil {
			return true
		}
		if code != 0 {
			err = unix.Errno(code)
			return true
		}
		_, err = unix.Getpeername(int(raw))
		return err != unix.ENOTCONN
	})
	switch {
	case !stop():
		return context.Cause(ctx)
	case waited != nil:
		return waited
	case err != nil:
		return os.NewSyscallError("connect", err)
	}
	name := c.local
	_ = c.Control(func(raw int) {
		if at, err := unix.Getsockname(raw); err == nil {
			name = tcpAddr(at, "")
		}
	})
	c.local = name
	return nil
}

// datagrams is a socket of UDP as net.Resolver wants it.
type datagrams struct{ *Conn }

var errConnected = errors.New("the socket is connected")

// ReadFrom implements net.PacketConn.
func (d datagrams) ReadFrom(p []byte) (int, net.Addr, error) {
	n, err := d.Read(p)
	return n, d.remote, err
}

// WriteTo implements net.PacketConn.
func (d datagrams) WriteTo([]byte, net.Addr) (int, error) {
	return 0, &net.OpError{Op: "write", Net: "udp", Err: errConnected}
}

// dialUDP makes a socket that sends to one address and takes what comes from it.
func dialUDP(a netip.AddrPort) (net.Conn, error) {
	f, err := create(domain(a), unix.SOCK_DGRAM)
	if err != nil {
		return nil, err
	}
	to, err := sockaddr(f, a)
	if err == nil {
		err = os.NewSyscallError("connect", unix.Connect(f.Int(), to))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	s, err := open(f)
	if err != nil {
		return nil, err
	}
	s.local = net.UDPAddrFromAddrPort(netip.AddrPort{})
	return datagrams{&Conn{socket: s, remote: net.UDPAddrFromAddrPort(a)}}, nil
}
