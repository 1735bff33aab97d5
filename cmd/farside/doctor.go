package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ebitengine/purego"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/fd"
	"farside/internal/memfd"
	"farside/rdmasim"
)

// probeTimeout bounds what a driver that hangs costs. A loaded machine takes a while to start one.
const probeTimeout = time.Minute

// finding is what a check of the doctor found: an error without which nothing works, a warning if something
// doesn't, or what is fine.
type finding struct {
	level, what, text string
	cure              string // of errors and warnings
}

const (
	fine    = "ok"
	warning = "warning"
	broken  = "error"
)

func (t *tool) doctor() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what Farside needs on this machine, and say what to do",
		Long: `Checks the kernel, the Vulkan loader, the driver's manifest, that the driver starts and
what heaps it has, dma-bufs, what RDMA programs find, and the fabric: this host's, or
the one that --fabric names. A warning is about something that not every program needs. Exit status
1 if there is an error.`,
		Example: "  farside doctor\n  farside doctor --fabric tls://192.0.2.7:7471/ --secret-file secret",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupt(cmd)
			defer stop()
			bad := 0
			for _, check := range []func() finding{
				checkWaits, checkForks, checkMemory, checkEnvironment, checkLoader,
				func() finding { return checkManifest(file) },
				func() finding { return checkDriver(ctx, file) },
				checkDMABuf,
				func() finding { return checkVerbs(ctx, file) },
				func() finding { return t.checkFabric(ctx) },
			} {
				f := check()
				fmt.Printf("%-8s %-12s %s\n", f.level, f.what, f.text)
				if f.level != fine {
					fmt.Printf("%21s %s\n", "", f.cure)
				}
				if f.level == broken {
					bad++
				}
			}
			if bad > 0 {
				return &failure{err: fmt.Errorf("%d of the checks failed", bad)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "manifest", "", "`FILE` that tells the loader of the driver")
	return cmd
}

// probe is what the doctor runs in a process of its own, since a driver that can't be loaded may crash.
func (t *tool) probe() *cobra.Command {
	return &cobra.Command{
		Use: "probe [verbs]", Short: "Say in JSON what the driver shows", Args: cobra.MaximumNArgs(1), Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			var d any
			var err error
			if len(args) > 0 {
				d, err = probeVerbs()
			} else {
				d, err = probeDriver()
			}
			if err != nil {
				return t.fail(err)
			}
			return t.fail(json.NewEncoder(os.Stdout).Encode(d))
		},
	}
}

// shown is what a driver shows of its device.
type shown struct {
	Device string
	Heaps  []uint64 // bytes
}

func checkWaits() finding {
	f := finding{level: fine, what: "kernel", text: "futex_waitv: waits for several semaphores sleep"}
	// No futex at all is EINVAL to a kernel that knows the call.
	if _, _, errno := unix.Syscall6(unix.SYS_FUTEX_WAITV, 0, 0, 0, 0, 0, 0); errno != unix.EINVAL {
		f.level, f.text = warning, fmt.Sprintf("futex_waitv: %v: waits for several semaphores look every half millisecond",
			errno)
		f.cure = "use Linux 5.16 or newer, and a seccomp profile that allows the call"
	}
	return f
}

func checkForks() finding {
	f := finding{level: fine, what: "kernel", text: "MADV_WIPEONFORK: forks without exec are caught"}
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err == nil {
		err = unix.Madvise(page, unix.MADV_WIPEONFORK)
		_ = unix.Munmap(page)
	}
	if err != nil {
		f.level, f.text = warning, fmt.Sprintf("MADV_WIPEONFORK: %v: a fork that goes on to use Vulkan hangs", err)
		f.cure = "use Linux 4.14 or newer"
	}
	return f
}

func checkMemory() finding {
	f := finding{level: fine, what: "memory", text: "sealed memfds can be made"}
	file, err := doctorsFile()
	if err != nil {
		f.level, f.text = broken, fmt.Sprintf("a sealed memfd can't be made: %v", err)
		f.cure = "allow memfd_create and F_ADD_SEALS in the seccomp profile, and raise the limit of descriptors"
		return f
	}
	_ = file.Close()
	return f
}

// doctorsFile makes memory that can back a region.
func doctorsFile() (*fd.FD, error) {
	return memfd.Create(memfd.Spec{Name: "farside-doctor", Size: uint64(os.Getpagesize()), Mode: memfd.Private})
}

func checkEnvironment() finding {
	f := finding{level: fine, what: "environment", text: "the variables FARSIDE_* can be read",
		cure: "farside env lists them"}
	s, err := config.Read()
	switch {
	case err != nil:
		f.level, f.text = broken, err.Error()
	case len(s.Notices) > 0:
		f.level, f.text = warning, s.Notices[0].Text
	}
	return f
}

func checkLoader() finding {
	f := finding{level: fine, what: "loader", text: loaderName}
	if _, err := purego.Dlopen(loaderName, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		f.level, f.text, f.cure = broken, err.Error(), "apt-get install libvulkan1"
	}
	return f
}

func checkManifest(file string) finding {
	f := finding{what: "manifest"}
	path, m, err := findManifest(file)
	library := m.ICD.LibraryPath
	if err == nil && strings.Contains(library, "/") {
		if !filepath.IsAbs(library) {
			library = filepath.Join(filepath.Dir(path), library)
		}
		_, err = os.Stat(library)
	}
	if err != nil {
		f.level, f.text, f.cure = broken, err.Error(),
			"make build in Farside's tree, or make install; --manifest names another"
		return f
	}
	f.level, f.text = fine, path+", for "+library
	return f
}

func checkDriver(ctx context.Context, file string) finding {
	f := finding{what: "driver"}
	d, err := probeApart(ctx, file)
	if err != nil {
		f.level, f.text = broken, err.Error()
		f.cure = "cure the errors above; else VK_LOADER_DEBUG=all FARSIDE_LOG=trace farside run -- vulkaninfo tells more"
		return f
	}
	var heaps []string
	for _, size := range d.Heaps {
		heaps = append(heaps, formatSize(size))
	}
	f.level, f.text = fine, fmt.Sprintf("%s, heaps of %s", d.Device, strings.Join(heaps, " and "))
	return f
}

// probeApart runs the probe on the driver.
func probeApart(ctx context.Context, file string) (d shown, err error) {
	path, _, err := findManifest(file)
	if err != nil {
		return d, errors.New("there is none to start")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "probe")
	cmd.Env = onDriver(path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return d, fmt.Errorf("%w: %s", err, first)
	}
	return d, json.Unmarshal(out, &d)
}

func checkDMABuf() finding {
	f := finding{level: fine, what: "dma-buf", text: "/dev/udmabuf can be opened"}
	fd, err := unix.Open("/dev/udmabuf", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		f.level, f.text = warning, fmt.Sprintf("/dev/udmabuf: %v: no VK_EXT_external_memory_dma_buf", err)
		f.cure = "modprobe udmabuf, and become a member of the device's group (mostly kvm)"
		return f
	}
	_ = unix.Close(fd)
	return f
}

func (t *tool) checkFabric(ctx context.Context) finding {
	f := finding{level: fine, what: "fabric", text: "this host's: memory can be reached by its address"}
	err := selfTest(ctx)
	if err == nil && t.fabric != "" {
		f.text = t.fabric + " answers"
		var p *rdmasim.Peer
		if p, err = t.open(ctx); err == nil {
			_ = p.Close()
		}
	}
	if err == nil {
		return f
	}
	f.level, f.text, f.cure = broken, err.Error(), "FARSIDE_LOG=trace tells more"
	if told, ok := errors.AsType[*failure](t.fail(err)); ok && told.cure != "" {
		f.cure = told.cure
		f.text = strings.TrimSuffix(told.Error(), ": "+told.cure)
	}
	return f
}

// selfTest reads memory of its own by its remote address.
func selfTest(ctx context.Context) error {
	file, err := doctorsFile()
	if err != nil {
		return err
	}
	defer file.Close()
	o, err := rdmasim.NewOwner()
	if err != nil {
		return err
	}
	defer o.Close()
	r, err := o.Register(file.Int(), 0, uint64(os.Getpagesize()),
		rdmasim.Attributes{Access: rdmasim.AccessAll, Name: "farside doctor"})
	if err != nil {
		return err
	}
	p, err := rdmasim.Open(ctx, "")
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Read(r.Address(), make([]byte, 8))
}
