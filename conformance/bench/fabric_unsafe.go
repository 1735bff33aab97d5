package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/rdmasim"
)

// sampleCreation makes instance and device in fresh processes, the drivers in turn.
func sampleCreation(into map[string][]float64) error {
	for range 9 {
		for name, manifest := range map[string]string{"farside": os.Getenv("FARSIDE_BENCH_MANIFEST"), "lavapipe": lavapipeManifest} {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(vulkan.DriverEnv(manifest), "FARSIDE_BENCH_ROLE=create")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("creation with %s: %w", name, err)
			}
			var ns, kib float64
			if _, err := fmt.Sscan(string(out), &ns, &kib); err != nil {
				return fmt.Errorf("creation with %s printed %q: %w", name, out, err)
			}
			into[name+" create"] = append(into[name+" create"], ns)
			into[name+" peak"] = append(into[name+" peak"], kib)
		}
	}
	return nil
}

// fabric is a region of 2 MiB with a peer that has resolved it.
type fabric struct {
	owner  *rdmasim.Owner
	peer   *rdmasim.Peer
	at     uint64
	mapped []byte
	local  []byte
}

func openFabric() (*fabric, error) {
	fd, err := unix.MemfdCreate("farside-bench", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 2*mib); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		return nil, err
	}
	f := &fabric{local: make([]byte, mib)}
	if f.mapped, err = unix.Mmap(fd, 0, 2*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	if f.owner, err = rdmasim.NewOwner(); err != nil {
		return nil, err
	}
	region, err := f.owner.Register(fd, 0, 2*mib, rdmasim.Attributes{Access: rdmasim.AccessAll})
	if err != nil {
		return nil, err
	}
	f.at = region.Address()
	if f.peer, err = rdmasim.Open(context.Background(), ""); err != nil {
		return nil, err
	}
	return f, f.peer.Write(f.at, f.mapped[:2*mib])
}

func (f *fabric) close() {
	_ = f.peer.Close()
	_ = f.owner.Close()
	_ = unix.Munmap(f.mapped)
}

// sample measures the peer's operations once, and memcpy over the same two pieces of memory.
func (f *fabric) sample(l *loops, into map[string][]float64) error {
	for _, c := range []struct {
		name string
		op   func(uint64, []byte) error
		size int
		n    int
	}{{"read 64", f.peer.Read, 64, 20000}, {"write 64", f.peer.Write, 64, 20000}, {"read 1M", f.peer.Read, mib, 40}, {"write 1M", f.peer.Write, mib, 40}} {
		b := f.local[:c.size]
		start := time.Now()
		for range c.n {
			if err := c.op(f.at, b); err != nil {
				return fmt.Errorf("peer %s: %w", c.name, err)
			}
		}
		into[c.name] = append(into[c.name], float64(time.Since(start).Nanoseconds())/float64(c.n))
	}
	shared, local := address(&f.mapped[0]), address(&f.local[0])
	into["memcpy read"] = append(into["memcpy read"], run(40, l.memcpy, local, shared, mib))
	into["memcpy write"] = append(into["memcpy write"], run(40, l.memcpy, shared, local, mib))
	return nil
}
