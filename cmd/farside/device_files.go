package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	sysClass   = "/sys/class"
	devices    = "/dev"
	infiniband = "infiniband"
	verbsClass = "infiniband_verbs"
)

// runWithDeviceFiles replaces this process by a program that sees the files of RDMA devices. Where that takes a user
// namespace, this process becomes itself in one first.
func runWithDeviceFiles(ctx context.Context, file string, args []string) error {
	way, err := mountWay(ctx)
	if err != nil {
		return fmt.Errorf("--device-files: %w", err)
	}
	if len(way) > 1 {
		return enterUserNamespace(way, file, args)
	}
	env, err := onVerbs(file)
	if err != nil {
		return err
	}
	seen, err := probeVerbsApart(ctx, env)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // namespaces are a thread's; the program goes on with this one's
	if err := showDeviceFiles(seen.Devices); err != nil {
		return fmt.Errorf("--device-files: %w", err)
	}
	// What mounting took is not the program's.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_CAP_AMBIENT_CLEAR_ALL: %w", err)
	}
	return runVerbs(file, args)
}

// mountWay is how a process comes to a mount namespace in which it may mount: the beginning of a line for
// unshare(1), only its name if this process may make one by itself.
func mountWay(ctx context.Context) (way []string, err error) {
	var said []byte
	for _, way := range [][]string{{"unshare"}, {"unshare", "--user", "--map-current-user", "--keep-caps"}} {
		line := append(slices.Clone(way), "--mount", "true")
		if said, err = exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err == nil {
			return way, nil
		}
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: it is in the package util-linux", err)
	}
	return nil, fmt.Errorf("%s: it takes root with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN), or user namespaces "+
		"that are open to all users (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu "+
		"kernel.apparmor_restrict_unprivileged_userns=0)", strings.TrimSpace(string(said)))
}

// enterUserNamespace replaces this process by itself in a user namespace. A process with several threads, as each of
// Go's is, can't go into one; unshare(1) can.
func enterUserNamespace(way []string, file string, args []string) error {
	program, err := exec.LookPath(way[0])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	line := append(slices.Clone(way), "--", self, "verbs", "--device-files", "--manifest", file, "--")
	return fmt.Errorf("%s: %w", program, unix.Exec(program, append(line, args...), os.Environ()))
}

// showDeviceFiles makes a mount namespace for this thread in which the files of devices are, and no other RDMA
// device's.
func showDeviceFiles(list []shownDevice) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	// Mounts of this namespace are not for others.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	err := shadow(sysClass, infiniband, verbsClass)
	for i, d := range list {
		if err == nil {
			err = writeClasses(i, d)
		}
	}
	if err == nil {
		err = shadow(devices, infiniband)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(devices, infiniband), 0o755)
	}
	for i := range list {
		if err == nil {
			// A device that takes everything: a program looks whether it may open it, but never does.
			err = bind(filepath.Join(devices, "null"), filepath.Join(devices, infiniband, uverbs(i)), false)
		}
	}
	return err
}

func uverbs(index int) string { return fmt.Sprintf("uverbs%d", index) }

// shadow puts a directory over one, in which is what is in that, but for some names.
func shadow(dir string, but ...string) error {
	old, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer old.Close()
	below := fmt.Sprintf("/proc/self/fd/%d", old.Fd())
	entries, err := os.ReadDir(below + "/.")
	if err != nil {
		return err
	}
	if err := unix.Mount("farside", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	for _, e := range entries {
		if slices.Contains(but, e.Name()) {
			continue
		}
		from, to := filepath.Join(below, e.Name()), filepath.Join(dir, e.Name())
		if e.Type() == os.ModeSymlink {
			target, err := os.Readlink(from)
			if err == nil {
				err = os.Symlink(target, to)
			}
			if err != nil {
				return err
			}
			continue
		}
		// What has gone since doesn't matter.
		if err := bind(from, to, e.IsDir()); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// bind makes a file or a directory appear under another name as well, which must not be there yet.
func bind(from, to string, isDir bool) (err error) {
	if isDir {
		err = os.Mkdir(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o600)
	}
	if err == nil {
		err = unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

// writeClasses writes what sysfs has of a device with one port: what UCX and NCCL read, and what names it.
func writeClasses(index int, d shownDevice) error {
	device := filepath.Join(sysClass, infiniband, d.Name)
	port := filepath.Join(device, "ports/1")
	all := words([16]byte(binary.BigEndian.AppendUint64(make([]byte, 8), d.GUID)))
	guid := all[len(all)/2+1:] // the last four words
	files := map[string]string{
		filepath.Join(device, "node_type"):                                "1: CA",
		filepath.Join(device, "node_guid"):                                guid,
		filepath.Join(device, "sys_image_guid"):                           guid,
		filepath.Join(port, "state"):                                      "4: ACTIVE",
		filepath.Join(port, "phys_state"):                                 "5: LinkUp",
		filepath.Join(port, "link_layer"):                                 "Ethernet",
		filepath.Join(sysClass, verbsClass, uverbs(index), "ibdev"):       d.Name,
		filepath.Join(sysClass, verbsClass, uverbs(index), "abi_version"): "1",
	}
	for _, g := range d.GIDs {
		n := fmt.Sprint(g.Index)
		files[filepath.Join(port, "gids", n)] = words(g.GID.As16())
		files[filepath.Join(port, "gid_attrs/types", n)] = "RoCE v2"
		files[filepath.Join(port, "gid_attrs/ndevs", n)] = g.Interface
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text+"\n"), 0o444); err != nil {
			return err
		}
	}
	return nil
}

// words writes a GID as sysfs does.
func words(gid [16]byte) string {
	var b strings.Builder
	for i := 0; i < len(gid); i += 2 {
		fmt.Fprintf(&b, ":%02x%02x", gid[i], gid[i+1])
	}
	return b.String()[1:]
}
