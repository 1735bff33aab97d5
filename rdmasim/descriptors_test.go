package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the fabric opens stays away from descriptors 0 to 2, also where the application has them closed: the sockets of
// owners, bridges and peers on either side, also of a peer that connects by name.
func TestStandardDescriptorsStayFree(t *testing.T) {
	newSecret(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=standard")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// withoutStandard is the child of TestStandardDescriptorsStayFree. It returns an exit status.
func withoutStandard() int {
	report, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = useWithoutStandard()
	}
	if err != nil {
		_, _ = unix.Write(report, []byte(err.Error()))
		return 1
	}
	return 0
}

func useWithoutStandard() error {
	time.Sleep(time.Millisecond) // the poller is open
	for raw := range 3 {
		_ = unix.Close(raw)
	}
	free := func(after string) error {
		for raw := range 3 {
			if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", raw)); err == nil {
				return fmt.Errorf("after %s, descriptor %d is %s", after, raw, name)
			}
		}
		return nil
	}
	file, err := makePayload(4096)
	if err == nil && file < 3 {
		var high int
		high, err = unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 3)
		_ = unix.Close(file)
		file = high
	}
	if err != nil {
		return err
	}
	o, err := NewOwner()
	if err = errors.Join(err, free("NewOwner")); err != nil {
		return err
	}
	r, err := o.Register(file, 0, 4096, Attributes{Access: AccessAll})
	if err = errors.Join(err, free("Register")); err != nil {
		return err
	}
	b, err := Serve(ServeOptions{})
	if err = errors.Join(err, free("Serve")); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(b.Address())
	for _, fabric := range []string{"", b.Fabric(), "tls://localhost:" + port + "/"} {
		p, err := Open(context.Background(), fabric)
		if err == nil {
			err = errors.Join(p.Read(r.Address(), make([]byte, 4096)), p.Write(r.Address(), make([]byte, 4096)))
		}
		if err = errors.Join(err, free("a peer of "+fabric)); err != nil {
			return err
		}
		if fabric == "" {
			_, err := p.Regions(context.Background())
			if err = errors.Join(err, free("Regions")); err != nil {
				return err
			}
		}
	}
	return nil
}
