package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/conformance/shaders"
)

const (
	eventsDevice = "/dev/ttyS1"
	hostTag      = "host"
)

// initCommand is the guest's first process.
func initCommand() *cobra.Command {
	return &cobra.Command{Use: "init", Hidden: true, Run: func(*cobra.Command, []string) {
		if os.Getpid() != 1 {
			fmt.Fprintln(os.Stderr, "guest init: only for the guest's kernel")
			os.Exit(2)
		}
		if err := begin(); err != nil {
			// On the console too, since the serial port may be what failed.
			fmt.Println("guest init:", err)
			if tty, e := os.OpenFile(eventsDevice, os.O_WRONLY, 0); e == nil {
				_ = json.NewEncoder(tty).Encode(event{Kind: eventError, Text: err.Error()})
			}
		}
		unix.Sync()
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}}
}

// begin sets the guest up and lets a process of its own do the jobs.
func begin() error {
	for _, m := range []mount{{"devtmpfs", "/dev", "devtmpfs", "", 0}, {"proc", "/proc", "proc", "", 0}} {
		if err := m.do(); err != nil {
			return err
		}
	}
	text, err := os.ReadFile("/" + orderName)
	if err != nil {
		return err
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	if err := loadModules("/" + modulesName); err != nil {
		return err
	}
	if err := enterHost(o.Visible); err != nil {
		return err
	}
	// The runner waits for the commands that it starts, this process for whoever has no parent any more.
	runner := exec.Command("/proc/self/exe", "runner")
	runner.Stdin = strings.NewReader(string(text))
	runner.Stdout, runner.Stderr = os.Stdout, os.Stderr
	runner.Env = append(o.Environment, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp",
		shaders.CacheEnv+"=/tmp/shaders")
	if err := runner.Start(); err != nil {
		return err
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == runner.Process.Pid || err != nil && err != unix.EINTR {
			return nil
		}
	}
}

// loadModules loads the files of dir in the order of their names.
func loadModules(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("module %s: %w", file.Name(), err)
		}
	}
	return nil
}

// mount is what mount(2) is told.
type mount struct {
	source, target, kind, options string
	flags                         uintptr
}

func (m mount) do() error {
	if err := os.MkdirAll(m.target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.options); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.source, m.target, err)
	}
	return nil
}

// enterHost makes the host's files this process' root, with the guest's own devices and empty folders for what is
// written. The host's files don't change while the guest runs, so all of them may be cached.
func enterHost(visible []string) error {
	const host, root = "/host", "/guest"
	mounts := []mount{
		{hostTag, host, "9p", "trans=virtio,version=9p2000.L,msize=512000,cache=loose", unix.MS_RDONLY},
		{host, root, "", "", unix.MS_BIND},
		{"proc", root + "/proc", "proc", "", 0},
		{"sysfs", root + "/sys", "sysfs", "", 0},
		{"devtmpfs", root + "/dev", "devtmpfs", "", 0},
		{"devpts", root + "/dev/pts", "devpts", "ptmxmode=0666", 0},
		{"tmpfs", root + "/dev/shm", "tmpfs", "mode=1777", 0},
		{"tmpfs", root + "/run", "tmpfs", "mode=755", 0},
		{"tmpfs", root + "/tmp", "tmpfs", "mode=1777", 0},
		{"tmpfs", root + "/var/tmp", "tmpfs", "mode=1777", 0},
	}
	for _, folder := range visible {
		mounts = append(mounts, mount{host + folder, root + folder, "", "", unix.MS_BIND})
	}
	for _, m := range mounts {
		if err := m.do(); err != nil {
			return err
		}
	}
	return errors.Join(unix.Chroot(root), unix.Chdir("/"))
}

// runnerCommand does the jobs of the order that it reads, and tells the host by events.
func runnerCommand() *cobra.Command {
	return &cobra.Command{Use: "runner", Hidden: true, RunE: func(cmd *cobra.Command, _ []string) error {
		var o order
		if err := json.NewDecoder(cmd.InOrStdin()).Decode(&o); err != nil {
			return err
		}
		tty, err := openEvents()
		if err != nil {
			return err
		}
		defer tty.Close()
		tell := json.NewEncoder(tty)
		tell.Encode(event{Kind: eventReady})
		for _, j := range o.Jobs {
			tell.Encode(event{Kind: eventDone, Step: j.Name, Exit: j.run(func(line string) {
				tell.Encode(event{Kind: eventLine, Step: j.Name, Text: line})
			})})
		}
		tell.Encode(event{Kind: eventEnd})
		// The port sends what it holds before the machine stops.
		return unix.IoctlSetInt(int(tty.Fd()), unix.TCSBRK, 1)
	}}
}

// openEvents opens the serial port without any treatment of lines.
func openEvents() (*os.File, error) {
	tty, err := os.OpenFile(eventsDevice, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	settings, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	settings.Oflag &^= unix.OPOST
	return tty, unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, settings)
}

// notRun is the exit status of a job that can't be run.
const notRun = 127

// run runs the job's command and returns its exit status. Each gets a line of its output.
func (j *job) run(each func(string)) int {
	cmd := exec.Command(j.Argv[0], j.Argv[1:]...)
	cmd.Dir = j.Dir
	if j.Binary != "" {
		cmd.Path = filepath.Join("/tmp", filepath.Base(j.Binary))
		cmd.Args[0] = cmd.Path
		if err := copyProgram(cmd.Path, j.Binary); err != nil {
			each(err.Error())
			return notRun
		}
	}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				each(strings.TrimSuffix(line, "\n"))
			}
			if err != nil {
				return
			}
		}
	}()
	calm := func() error { return nil }
	if j.Clock {
		calm = disturbClock()
	}
	err := errors.Join(cmd.Run(), calm())
	w.Close()
	<-read
	if err == nil {
		return 0
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode()
	}
	each(err.Error())
	return notRun
}

// copyProgram makes a copy of a program that everybody can run.
func copyProgram(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
