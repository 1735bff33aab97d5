package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/internal/soaking"
)

// bootLimit is how long a guest may take until its steps begin. Under TCG, on an idle machine, it takes about 4 s.
const bootLimit = 90 * time.Second

// machine is how QEMU is run.
type machine struct {
	accelerator string // empty: kvm if it works, else tcg
	cores       int
	memory      string
	limit       time.Duration
}

// errDied says that the guest ended before its steps had.
var errDied = errors.New("the guest died")

// run builds what the guest needs, boots it, and judges what it says.
func run(ctx context.Context, m *machine, out string, steps []step) error {
	tree, err := os.Getwd()
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	k, err := findKernel(ctx)
	if err != nil {
		return err
	}
	fmt.Println("guest: building the tests")
	jobs, err := build(ctx, tree, out, steps)
	if err != nil {
		return err
	}
	init := filepath.Join(out, "init")
	static := []string{"CGO_ENABLED=0", "GOARCH=amd64"}
	if err := execute(ctx, tree, static, "go", "build", "-trimpath", "-o", init, "./conformance/guest"); err != nil {
		return err
	}
	manifest := "=" + filepath.Join(tree, "build/farside_icd.x86_64.json")
	env := []string{"VK_DRIVER_FILES" + manifest, "VK_ICD_FILENAMES" + manifest}
	initramfs := filepath.Join(out, "initramfs")
	if err := writeInitramfs(initramfs, init, k, &order{visible(tree, out, steps), env, jobs}); err != nil {
		return err
	}
	return m.bootUntilJudged(ctx, k, out, steps)
}

// bootUntilJudged boots the guest until one lives long enough to be judged. Under TCG a guest's kernel dies now and
// then, which says nothing about the tests; one that dies twice is a failure.
func (m *machine) bootUntilJudged(ctx context.Context, k kernel, out string, steps []step) error {
	var err error
	for _, accelerator := range m.accelerators() {
		fmt.Printf("guest: booting %s with %s\n", filepath.Base(string(k)), accelerator)
		r := newReport(steps, out, soaking.NewProgress(os.Stderr, isTerminal(os.Stderr), 2*time.Minute))
		err = m.boot(ctx, accelerator, k, out, r)
		r.progress.Close()
		if err == nil || errors.Is(err, errFailed) {
			return err
		}
		fmt.Printf("%sguest: %s: %v\n", consoleEnd(out), accelerator, err)
		if ctx.Err() != nil || !errors.Is(err, errDied) {
			break
		}
	}
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("not done within %v: %w", m.limit, err)
	}
	return fmt.Errorf("%w; the guest's console is in %s", err, console(out))
}

// consoleEnd is what the guest's kernel said last.
func consoleEnd(out string) string {
	const most = 4096
	said, err := os.ReadFile(console(out))
	if err != nil {
		return ""
	}
	said = bytes.TrimSpace(said[max(0, len(said)-most):])
	if len(said) == 0 {
		return "guest: its kernel said nothing\n"
	}
	return fmt.Sprintf("guest: its kernel said last:\n%s\n", said)
}

func console(out string) string { return filepath.Join(out, "console.log") }

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// accelerators are those to try, in order. KVM in a virtual machine that is itself one is often there and broken, so
// that nothing but a boot can tell. The last one is tried twice.
func (m *machine) accelerators() []string {
	if m.accelerator != "" {
		return []string{m.accelerator, m.accelerator}
	}
	if unix.Access("/dev/kvm", unix.R_OK|unix.W_OK) == nil {
		return []string{"kvm", "tcg", "tcg"}
	}
	return []string{"tcg", "tcg"}
}

// boot runs QEMU until the guest ends. It fails with errDied if the guest did before its steps ended, and with
// errFailed if one failed.
func (m *machine) boot(ctx context.Context, accelerator string, k kernel, out string, r *report) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(bootLimit, func() { cancel(fmt.Errorf("nothing after %v", bootLimit)) })
	defer late.Stop()
	accel, processor := "kvm", "host"
	if accelerator == "tcg" {
		accel, processor = "tcg,thread=multi", "max"
	}
	// A busy host's clock looks unstable to the guest. Its kernel then patches itself (sched_clock), which dies under TCG:
	// tsc=reliable.
	qemu := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-accel", accel, "-cpu", processor, "-smp", strconv.Itoa(m.cores), "-m", m.memory,
		"-nodefaults", "-no-reboot", "-display", "none", "-monitor", "none",
		"-kernel", k.image(), "-initrd", filepath.Join(out, "initramfs"),
		"-append", "console=ttyS0 panic=-1 quiet tsc=reliable -- init",
		"-serial", "file:"+console(out), "-serial", "stdio",
		"-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-9p-pci,fsdev=host,mount_tag="+hostTag,
		"-device", "virtio-rng-pci",
		// A network that ends in QEMU.
		"-nic", "user,model=virtio-net-pci,restrict=on")
	complaints, err := os.Create(filepath.Join(out, "qemu-"+accelerator+".log"))
	if err != nil {
		return err
	}
	defer complaints.Close()
	qemu.Stderr = complaints
	said, err := qemu.StdoutPipe()
	if err != nil {
		return err
	}
	if err := qemu.Start(); err != nil {
		return err
	}
	read := events(said, func(e event) {
		if e.Kind == eventReady {
			late.Stop()
		}
		r.add(e)
	})
	ended := qemu.Wait()
	switch {
	case r.failure != "":
		return fmt.Errorf("the guest's init: %s", r.failure)
	case !r.ready:
		died := fmt.Errorf("%w before its first step (see %s)", errDied, complaints.Name())
		return errors.Join(died, read, ended, context.Cause(ctx))
	case !r.ended:
		died := fmt.Errorf("%w in step %s", errDied, r.current().Name)
		return errors.Join(died, read, ended, context.Cause(ctx))
	}
	return r.judge()
}
