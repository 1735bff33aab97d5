package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"farside/rdmasim"
)

const (
	nearAddress = "10.77.0.1"
	farAddress  = "10.77.0.2"
	nearPort    = "7471"     // a namespace of one's own has all ports free
	hostsSize   = 64 << 20   // bytes of the memory that the far host uses
	passes      = 8          // over the whole of it, for the bandwidth
	nearLink    = "farside0" // the two ends of the veth pair
	farLink     = "farside1"
)

// hosts runs the exporter and the peers on two hosts that are network namespaces. These have no name and
// belong to the processes: whatever happens, the kernel takes them and the veth pair away with the last of
// them.
func hosts() error {
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("%w (Debian package iproute2)", err)
	}
	if err := compilePeer(); err != nil {
		return err
	}
	// A signal reaches the other processes too; this one stays to remove the secret.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	directory, err := os.MkdirTemp("", "farside-hosts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	secret, file := make([]byte, 32), filepath.Join(directory, "secret")
	rand.Read(secret)
	if err := os.WriteFile(file, secret, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "near")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "FARSIDE_FABRIC=tls,bind="+nearAddress+":"+nearPort, "FARSIDE_FABRIC_SECRET_FILE="+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if id := os.Geteuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("no network namespace, which takes root or user namespaces that are open to all users: %w", err)
	}
	return cmd.Wait()
}

// ip runs the command of this name.
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w\n%s", args, err, out)
	}
	return nil
}

// connect gives an end of the veth pair its address.
func connect(link, address string) error {
	for _, args := range [][]string{
		{"address", "add", address + "/24", "dev", link}, {"link", "set", link, "up"}, {"link", "set", "lo", "up"},
	} {
		if err := ip(args...); err != nil {
			return err
		}
	}
	return nil
}

// near is the host with the driver.
func near() error {
	fmt.Printf("By remote address, between two hosts (%s, %s) that a veth pair joins, over TLS:\n", nearAddress,
		farAddress)
	peer, cmd, err := start("far", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
	if err != nil {
		return err
	}
	// The far host ends with this socket, if not before.
	defer peer.Close()
	if err := ip("link", "add", "name", nearLink, "type", "veth", "peer", "name", farLink, "netns",
		fmt.Sprint(cmd.Process.Pid)); err != nil {
		return fmt.Errorf("no veth pair: %w", err)
	}
	if err := connect(nearLink, nearAddress); err != nil {
		return err
	}
	d, err := openDevice()
	if err != nil {
		return err
	}
	defer d.Instance.Destroy()
	defer d.Destroy()
	m, err := newRemoteMemory(d, hostsSize)
	if err != nil {
		return err
	}
	defer m.close()
	fabric := "tls://" + nearAddress + ":" + nearPort + "/"
	say("exporter", "its queue filled %d MiB of RDMA memory; the remote address is %#x on %s", hostsSize>>20, m.address,
		fabric)
	if err := peer.send(fmt.Sprintf("%s %#x", fabric, m.address)); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the far host: %w", err)
	}
	if err := m.verify(); err != nil {
		return err
	}
	fmt.Println("Every byte was right.")
	return nil
}

// far is the host with the peers.
func far() error {
	near, err := newChannel(os.NewFile(3, "near"))
	if err != nil {
		return err
	}
	text, _, err := near.receive()
	if err != nil {
		return err
	}
	var fabric string
	var address uint64
	if _, err := fmt.Sscanf(text, "%s %v", &fabric, &address); err != nil {
		return err
	}
	if err := connect(farLink, farAddress); err != nil {
		return err
	}
	if err := compete(fabric, address, hostsSize); err != nil {
		return err
	}
	return measure(fabric, address)
}

// measure is a peer in Go that reads and writes all data a few times and says how fast.
func measure(fabric string, address uint64) error {
	peer, err := rdmasim.Open(context.Background(), fabric)
	if err != nil {
		return err
	}
	defer peer.Close()
	b := make([]byte, hostsSize-header)
	rate := func(operation func(uint64, []byte) error) (gigabytes float64, err error) {
		start := time.Now()
		for range passes {
			if err := operation(address+header, b); err != nil {
				return 0, err
			}
		}
		return float64(passes*len(b)) / time.Since(start).Seconds() / 1e9, nil
	}
	reads, err := rate(peer.Read)
	if err != nil {
		return err
	}
	if err := check(b, func(i int) byte { return answer(i + header) }); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	writes, err := rate(peer.Write)
	if err != nil {
		return err
	}
	say("Go peer", "read the answer at %.2f GB/s and wrote it again at %.2f GB/s, %d times %d MiB each", reads, writes,
		passes, hostsSize>>20)
	return nil
}
