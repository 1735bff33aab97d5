package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

//go:embed native/hosts.c
var hostsSource []byte

// hostsScript runs the program $1 as the target in a network namespace and as the initiator in another one. $2 is a
// directory of its own. The two are joined by a veth pair of MTU 9000.
const hostsScript = `
mkfifo "$2/ready" "$2/go"
unshare --net sh -ec '
	echo >"$1/ready"
	read go <"$1/go"
	ip link set lo up
	ip address add 10.9.0.2/24 dev v1
	ip link set v1 up
	exec "$0" target 10.9.0.2' "$1" "$2" >&2 &
read ready <"$2/ready"
ip link add v0 mtu 9000 type veth peer name v1 mtu 9000 netns $!
ip link set lo up
ip address add 10.9.0.1/24 dev v0
ip link set v0 up
echo >"$2/go"
"$1" initiator 10.9.0.2
`

// namespaceRows are the rows of RDMA between two network namespaces. There are none where none can be made.
func namespaceRows() []row {
	if !namespaces() {
		return nil
	}
	const title = "verbs between two namespaces, no adapter's: RC write of 1 MiB, packets of "
	return []row{
		compared(title+"1 KiB", "verbs udp 1024", "µs", 1e3, "a plain UDP loop of the same packets",
			"verbs plain udp 1024", 1/0.8),
		compared(title+"4 KiB", "verbs udp 4096", "µs", 1e3, "a plain UDP loop of the same packets",
			"verbs plain udp 4096", 1/0.8),
	}
}

// namespaces says whether network namespaces can be made: that takes root or user namespaces that are open to all
// users.
var namespaces = sync.OnceValue(func() bool {
	out, err := exec.Command("unshare", "--map-root-user", "--net", "ip", "link", "set", "lo", "up").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: no rows of RDMA between hosts without network namespaces and iproute2: %v: %s\n", err,
			out)
	}
	return err == nil
})

// sampleNamespaces runs native/hosts.c in two network namespaces.
func sampleNamespaces(env []string, into *samples) error {
	dir, err := os.MkdirTemp("", "farside-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "hosts")
	if err := compileVerbs(hostsSource, program); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--map-root-user", "--net", "sh", "-ec", hostsScript, "sh", program, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env, cmd.Stderr = env, os.Stderr
	out, err := cmd.Output()
	if cmd.Process != nil {
		_ = cmd.Cancel() // the target, if the initiator failed
	}
	if err != nil {
		return fmt.Errorf("native/hosts.c: %w", err)
	}
	return into.read(out)
}
