// Package netnstest gives tests that bind the port of RoCEv2, or names of which each network namespace has one, a
// namespace of their own.
package netnstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// variable says to a process which namespace it is in.
const variable = "FARSIDE_TEST_NAMESPACE"

// Run runs the tests of a package in a new network namespace, in which the loopback interface is up, and ends the
// process. Where there can be none (root, or user namespaces that are open to all users), tests that call Need skip.
func Run(m *testing.M) {
	switch os.Getenv(variable) {
	case "own":
		if err := loopback(); err != nil {
			fmt.Fprintln(os.Stderr, "netnstest: the loopback interface:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	case "shared":
		os.Exit(m.Run())
	}
	err := again("own", Attributes())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		err = again("shared", nil)
	}
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "netnstest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// again runs this program again with its arguments.
func again(namespace string, attributes *syscall.SysProcAttr) error {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variable+"="+namespace)
	cmd.SysProcAttr = attributes
	return cmd.Run()
}

// Attributes make a process be in a network namespace of its own, as root of a user namespace where it isn't root.
func Attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if id := os.Geteuid(); id != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// loopback sets the interface lo up.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// Need skips a test that has no namespace of its own.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv(variable) != "own" {
		t.Skip("no network namespace, which takes root or user namespaces that are open to all users")
	}
}
