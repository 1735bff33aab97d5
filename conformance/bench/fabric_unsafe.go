package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/rdmasim"
)

// sampleCreation makes instance and device in fresh processes, the drivers in turn.
func sampleCreation(into *samples) error {
	if !into.needs("farside create", "farside peak") {
		return nil
	}
	for range rounds {
		for name, manifest := range map[string]string{"farside": os.Getenv("FARSIDE_BENCH_MANIFEST"),
			"lavapipe": lavapipeManifest} {
			ns, kib, err := creation(manifest)
			if err != nil {
				return err
			}
			into.note(name+" create", ns)
			into.note(name+" peak", kib)
		}
	}
	return nil
}

// creation makes an instance and a device in a fresh process.
func creation(manifest string) (ns, kib float64, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(vulkan.DriverEnv(manifest), "FARSIDE_BENCH_ROLE=create")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("creation with %s: %w", manifest, err)
	}
	if _, err := fmt.Sscan(string(out), &ns, &kib); err != nil {
		return 0, 0, fmt.Errorf("creation with %s printed %q: %w", manifest, out, err)
	}
	return ns, kib, nil
}

// fabricSize is the largest transfer, and the size of the region.
const fabricSize = 64 * mib

// fabricTransfers are the sizes of reads and writes, how many are timed together, and how often.
var fabricTransfers = []struct {
	name           string
	size, batch, n int
}{
	{"8", 8, 20000, 1}, {"64", 64, 20000, 1}, {"64K", 64 << 10, 100, 40}, {"256K", 256 << 10, 25, 40}, {"1M", mib, 1, 40},
	{"64M", fabricSize, 1, 4},
}

// fabricKeys are the keys of what a fabric measures.
func fabricKeys() []string {
	keys := []string{"C read 8", "C write 8", "fetch-add", "resolve"}
	for _, c := range fabricTransfers {
		keys = append(keys, "read "+c.name, "write "+c.name)
	}
	return keys
}

// fabric is a region of another process with a peer that has resolved it.
type fabric struct {
	owner  *exec.Cmd
	stop   io.Closer // ends the owner
	peer   *rdmasim.Peer
	at     uint64
	mapped []byte // another mapping of the same memory
	local  []byte
	c      cPeer
}

// cPeer is a peer of libfarside_rdma.so.
type cPeer struct{ peer, read, write, close uintptr }

// openCPeer loads the library, which lies beside the driver, and opens a peer.
func openCPeer() (p cPeer, err error) {
	library, err := purego.Dlopen(filepath.Join(filepath.Dir(os.Getenv("FARSIDE_BENCH_MANIFEST")), "libfarside_rdma.so"),
		purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return p, err
	}
	var open uintptr
	for name, at := range map[string]*uintptr{"farside_peer_open": &open, "farside_read": &p.read,
		"farside_write":      &p.write,
		"farside_peer_close": &p.close} {
		if *at, err = purego.Dlsym(library, name); err != nil {
			return p, err
		}
	}
	var a vulkan.Arena
	defer a.Close()
	out := vulkan.New[uintptr](&a)
	if status, _, _ := purego.SyscallN(open, 0, address(out)); int32(status) != 0 {
		return p, fmt.Errorf("farside_peer_open: status %d", int32(status))
	}
	p.peer = *out
	return p, nil
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
	if f.c, err = openCPeer(); err != nil {
		return nil, err
	}
	copy(f.local, f.mapped) // both have pages now
	return f, f.peer.Write(f.at, f.local)
}

func (f *fabric) close() {
	_ = f.peer.Close()
	purego.SyscallN(f.c.close, f.c.peer)
	_ = f.stop.Close()
	_ = f.owner.Wait()
	_ = unix.Munmap(f.mapped)
}

// sample measures the peer's operations once, and memcpy over the same two pieces of memory.
func (f *fabric) sample(l *loops, into *samples) error {
	measure := func(name string, n int, op func() error) error {
		if !into.needs(name) {
			return nil
		}
		start := time.Now()
		for range n {
			if err := op(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		into.note(name, float64(time.Since(start).Nanoseconds())/float64(n))
		return nil
	}
	shared, local := address(&f.mapped[0]), address(&f.local[0])
	for _, c := range fabricTransfers {
		if !into.needs("read "+c.name, "write "+c.name) {
			continue
		}
		b := f.local[:c.size]
		// Nobody is to find the caches as other benchmarks left them, or as only the other one's reads did: in turns,
		// after a round that doesn't count.
		run(c.batch, l.memcpy, local, shared, uintptr(c.size))
		run(c.batch, l.memcpy, shared, local, uintptr(c.size))
		for range c.n {
			if err := measure("read "+c.name, c.batch, func() error { return f.peer.Read(f.at, b) }); err != nil {
				return err
			}
			if err := measure("write "+c.name, c.batch, func() error { return f.peer.Write(f.at, b) }); err != nil {
				return err
			}
			into.add("memcpy read "+c.name, func() float64 { return run(c.batch, l.memcpy, local, shared, uintptr(c.size)) })
			into.add("memcpy write "+c.name, func() float64 { return run(c.batch, l.memcpy, shared, local, uintptr(c.size)) })
		}
	}
	for name, operation := range map[string]uintptr{"C read 8": f.c.read, "C write 8": f.c.write} {
		into.add(name, func() float64 { return run(20000, l.peer, operation, f.c.peer, uintptr(f.at), local, 8) })
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

// sampleHosts takes the figures of operations between hosts from the benchmark of the package that carries
// them, which moves data over loopback in turns with and without what that package does around crypto/tls.
func sampleHosts(into *samples) error {
	if !into.needs("host read", "host write") {
		return nil
	}
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkPipelined$", "-benchtime", "20x", "-count", "7",
		"farside/rdmasim/internal/exchange")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	result := regexp.MustCompile(`(?m)^BenchmarkPipelined/(read|write)\S*(.*)$`)
	rate := regexp.MustCompile(`([\d.]+) (bare|host)-MB/s`)
	for _, line := range result.FindAllStringSubmatch(string(out), -1) {
		for _, m := range rate.FindAllStringSubmatch(line[2], -1) {
			megabytes, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return err
			}
			into.note(m[2]+" "+line[1], mib/megabytes*1e3)
		}
	}
	if len(into.values["bare read"]) == 0 || len(into.values["host write"]) == 0 {
		return fmt.Errorf("%v printed no bandwidths:\n%s", cmd.Args, out)
	}
	return nil
}
