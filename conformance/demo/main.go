// Command demo shows what the driver is for: an exporter and an importer, two processes that both talk to the
// driver through the system's Vulkan loader, share memory by a file descriptor, peers in C and Go use the
// exporter's memory by its remote address, a compute shader writes such memory for a peer, and each side checks
// every byte that the other wrote. It exits with 1 if one is wrong.
//
// With the argument hosts, peers and exporter are on two hosts, which are network namespaces.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// size is what each of the shared memory objects holds, in bytes.
const size = 1 << 20

func main() {
	role := "exporter"
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	act := map[string]func() error{
		"exporter": exporter, "importer": importer, "adder": adder, "reader": reader,
		"hosts": hosts, "near": near, "far": far, "painter": painter, "viewer": viewer,
	}[role]
	if act == nil {
		fmt.Fprintf(os.Stderr, "usage: %s [hosts]\n", os.Args[0])
		os.Exit(2)
	}
	if err := act(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
}

// say prints one line with the process that it comes from.
func say(role, format string, args ...any) {
	fmt.Printf("  %-8s  pid %-7d  %s\n", role, os.Getpid(), fmt.Sprintf(format, args...))
}

// pattern is byte i of what the exporter writes first; the other side answers with its complement.
func pattern(i int) byte { return byte(i*7 + i>>8) }

func fill(b []byte, f func(int) byte) {
	for i := range b {
		b[i] = f(i)
	}
}

func check(b []byte, f func(int) byte) error {
	for i := range b {
		if b[i] != f(i) {
			return fmt.Errorf("byte %d is %#x, want %#x", i, b[i], f(i))
		}
	}
	return nil
}

func answer(i int) byte { return ^pattern(i) }

func must(what string, r vk.Result) error {
	if r != vk.SUCCESS {
		return fmt.Errorf("%s: %v", what, r)
	}
	return nil
}

// openDevice makes an instance and a device that can share memory, on the first device that has remote
// addresses.
func openDevice() (*vulkan.Device, error) {
	loader, err := vulkan.Open()
	if err != nil {
		return nil, err
	}
	instance, r := loader.CreateInstance(vulkan.InstanceConfig{APIVersion: vk.API_VERSION_1_1})
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("vkCreateInstance: %v (is VK_DRIVER_FILES set?)", r)
	}
	list, r := instance.PhysicalDevices()
	if r != vk.SUCCESS || len(list) == 0 {
		return nil, fmt.Errorf("vkEnumeratePhysicalDevices: %v, %d devices", r, len(list))
	}
	var arena vulkan.Arena
	rdma := vulkan.New[vk.PhysicalDeviceExternalMemoryRDMAFeaturesNV](&arena)
	rdma.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV
	rdma.ExternalMemoryRDMA = vk.TRUE
	timeline := vulkan.Struct[vk.PhysicalDeviceTimelineSemaphoreFeatures](&arena)
	timeline.TimelineSemaphore = vk.TRUE
	rdma.PNext = vulkan.Ptr(timeline)
	d, r := instance.CreateDevice(list[0], vulkan.DeviceConfig{
		Extensions: []string{
			vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, vk.KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
			vk.KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, vk.NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME,
		},
		Next: vulkan.Ptr(rdma),
	})
	return d, must("vkCreateDevice", r)
}

// memoryType returns the first memory type with all of the properties.
func memoryType(d *vulkan.Device, want vk.MemoryPropertyFlags) (uint32, error) {
	p := d.Instance.MemoryProperties(d.Physical, nil)
	for i := range p.MemoryTypeCount {
		if p.MemoryTypes[i].PropertyFlags&want == want {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the device has no memory type with %v", want)
}

// bytesOf maps a whole memory object.
func bytesOf(d *vulkan.Device, m vk.DeviceMemory, size int) ([]byte, error) {
	p, r := d.Map(m, 0, vk.WHOLE_SIZE)
	if r != vk.SUCCESS {
		return nil, must("vkMapMemory", r)
	}
	return vulkan.Bytes(p, size), nil
}

// channel is the socket between two roles: lines of text, and one descriptor.
type channel struct{ *net.UnixConn }

func (c channel) send(text string, fds ...int) error {
	_, _, err := c.WriteMsgUnix([]byte(text), unix.UnixRights(fds...), nil)
	return err
}

// receive returns the next message and the descriptor that came with it, -1 if none did.
func (c channel) receive() (string, int, error) {
	if err := c.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		return "", -1, err
	}
	text, control := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, controlLength, _, _, err := c.ReadMsgUnix(text, control)
	if err != nil {
		return "", -1, fmt.Errorf("the other process: %w", err)
	}
	if n == 0 {
		return "", -1, errors.New("the other process ended before it answered")
	}
	messages, err := unix.ParseSocketControlMessage(control[:controlLength])
	if err != nil || len(messages) == 0 {
		return string(text[:n]), -1, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return "", -1, fmt.Errorf("one descriptor expected, got %d: %w", len(fds), err)
	}
	unix.CloseOnExec(fds[0])
	return string(text[:n]), fds[0], nil
}

func newChannel(f *os.File) (channel, error) {
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return channel{}, err
	}
	return channel{c.(*net.UnixConn)}, nil
}

// start runs this program again in another role, with a socket to it as its descriptor 3.
func start(role string, attributes *syscall.SysProcAttr) (channel, *exec.Cmd, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return channel{}, nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	cmd := exec.Command("/proc/self/exe", role)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles, cmd.SysProcAttr = []*os.File{theirs}, attributes
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return channel{}, nil, err
	}
	c, err := newChannel(ours)
	return c, cmd, err
}
