package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// fabricSize is the largest transfer, and the size of the region.
const fabricSize = 64 * mib

// fabric is a region of another process with a peer that has resolved it.
type fabric struct {
	owner  *exec.Cmd
	stop   io.Closer // ends the owner
	peer   *rdmasim.Peer
	at     uint64
	mapped []byte // another mapping of the same memory
	local  []byte
}

// ownerMain registers the memory that it has as descriptor 3, says its address, and waits for the end of its
// input.
func ownerMain() error {
	region, err := rdmasim.Register(3, 0, fabricSize, rdmasim.Attributes{Access: rdmasim.AccessAll})
	if err != nil {
		return err
	}
	fmt.Println(region.Address())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, region.Close())
}

func openFabric() (*fabric, error) {
	fd, err := unix.MemfdCreate("farside-bench", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "farside-bench")
	defer file.Close()
	if err := unix.Ftruncate(fd, fabricSize); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		return nil, err
	}
	f := &fabric{local: make([]byte, fabricSize), owner: exec.Command(os.Args[0])}
	if f.mapped, err = unix.Mmap(fd, 0, fabricSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	f.owner.Env = append(os.Environ(), "FARSIDE_BENCH_ROLE=owner")
	f.owner.ExtraFiles, f.owner.Stderr = []*os.File{file}, os.Stderr
	if f.stop, err = f.owner.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.owner.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.owner.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fscan(out, &f.at); err != nil {
		return nil, fmt.Errorf("owner of a region: %w", err)
	}
	if f.peer, err = rdmasim.Open(context.Background(), ""); err != nil {
		return nil, err
	}
	copy(f.local, f.mapped) // both have pages now
	return f, f.peer.Write(f.at, f.local)
}

func (f *fabric) close() {
	_ = f.peer.Close()
	_ = f.stop.Close()
	_ = f.owner.Wait()
	_ = unix.Munmap(f.mapped)
}

// sample measures the peer's operations once, and memcpy over the same two pieces of memory.
func (f *fabric) sample(l *loops, into map[string][]float64) error {
	add := func(name string, ns float64) { into[name] = append(into[name], ns) }
	measure := func(name string, n int, op func() error) error {
		start := time.Now()
		for range n {
			if err := op(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		add(name, float64(time.Since(start).Nanoseconds())/float64(n))
		return nil
	}
	shared, local := address(&f.mapped[0]), address(&f.local[0])
	for _, c := range []struct {
		name           string
		size, batch, n int
	}{{"8", 8, 20000, 1}, {"64", 64, 20000, 1}, {"1M", mib, 1, 40}, {"64M", fabricSize, 1, 4}} {
		b := f.local[:c.size]
		for range c.n { // in turns, so that both find the caches and the machine in the same state
			if err := measure("read "+c.name, c.batch, func() error { return f.peer.Read(f.at, b) }); err != nil {
				return err
			}
			add("memcpy read "+c.name, run(c.batch, l.memcpy, local, shared, uintptr(c.size)))
			if err := measure("write "+c.name, c.batch, func() error { return f.peer.Write(f.at, b) }); err != nil {
				return err
			}
			add("memcpy write "+c.name, run(c.batch, l.memcpy, shared, local, uintptr(c.size)))
		}
	}
	if err := measure("fetch-add", 20000, func() error {
		_, err := f.peer.FetchAdd64(f.at, 1)
		return err
	}); err != nil {
		return err
	}
	for range 10 {
		p, err := rdmasim.Open(context.Background(), "")
		if err != nil {
			return err
		}
		err = measure("resolve", 1, func() error {
			_, err := p.Resolve(context.Background(), f.at)
			return err
		})
		if err = errors.Join(err, p.Close()); err != nil {
			return err
		}
	}
	return nil
}
