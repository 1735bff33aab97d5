package verbs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// gpuProgram makes the owner and the peer, with the owner's shader.
func gpuProgram(t *testing.T) (program, shader string) {
	t.Helper()
	need(t, "libvulkan-dev", "/usr/include/vulkan/vulkan.h")
	need(t, "glslang-tools", "glslangValidator")
	shader = filepath.Join(t.TempDir(), "steps.spv")
	compiler := exec.Command("glslangValidator", "-V", "-o", shader, "testdata/steps.comp")
	if out, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("glslangValidator: %v\n%s", err, out)
	}
	return compile(t, "gpu.c", "-lvulkan"), shader
}

// TestDeviceMemory runs a Vulkan program that registers device memory by its remote address, and a peer that knows
// verbs alone. The peer reads and checks what a queue, a shader and a queue pair of the owner wrote; it writes and adds
// what they find; and it is refused once the memory has been freed.
func TestDeviceMemory(t *testing.T) {
	program, shader := gpuProgram(t)
	t.Run("one host", func(t *testing.T) {
		deviceMemory(t, command(t, program, "owner", shader, "address"), command(t, program, "peer", "address"))
	})
	t.Run("two hosts", func(t *testing.T) {
		h := newHosts(t)
		owner, peer := h.command(t, 0, program, "owner", shader, "address"), h.command(t, 1, program, "peer", "address")
		deviceMemory(t, owner, peer)
	})
}

// TestDescriptorMemory is TestDeviceMemory for memory that is registered by a descriptor of vkGetMemoryFdKHR. A region
// lives then until its owner ends it, not until vkFreeMemory. What is no memory is refused, and the log says why.
func TestDescriptorMemory(t *testing.T) {
	program, shader := gpuProgram(t)
	refusals := map[string][]string{
		"opaque_fd": {"at 1048576 of 1048576: ", "at 0 of 4096: ", "is no dma-buf and no memfd", "bad file descriptor"},
		"dma_buf":   {"at 1048576 of 1048576: ", "is no dma-buf and no memfd", "bad file descriptor"},
	}
	for kind, refused := range refusals {
		run := func(t *testing.T, owner, peer *exec.Cmd) {
			said := deviceMemory(t, owner, peer)
			for _, want := range refused {
				if !strings.Contains(said, want) {
					t.Errorf("the log doesn't say %q:\n%s", want, said)
				}
			}
		}
		t.Run(kind, func(t *testing.T) {
			if _, err := os.Stat("/dev/udmabuf"); kind == "dma_buf" && err != nil {
				owner := command(t, program, "owner", shader, kind)
				owner.Env = append(owner.Env, driver(t)...)
				if out, err := owner.CombinedOutput(); err == nil || !strings.Contains(string(out), "vkCreateDevice") {
					t.Errorf("a machine without dma-bufs has them: %v, %s", err, out)
				}
				return
			}
			t.Run("one host", func(t *testing.T) {
				run(t, command(t, program, "owner", shader, kind), command(t, program, "peer", kind))
			})
			t.Run("two hosts", func(t *testing.T) {
				h := newHosts(t)
				run(t, h.command(t, 0, program, "owner", shader, kind), h.command(t, 1, program, "peer", kind))
			})
		})
	}
}

// TestFreedRegion: a peer that uses a region whose memory has been freed is told of where its owner registered it.
func TestFreedRegion(t *testing.T) {
	program, shader := gpuProgram(t)
	owner := command(t, program, "owner", shader, "address")
	owner.Env = append(owner.Env, "FARSIDE_STRICT=leaks")
	said := deviceMemory(t, owner, command(t, program, "peer", "address"))
	if !strings.Contains(said, "FARSIDE-leaks-freed-address") || !strings.Contains(said, "registered by") {
		t.Error(said)
	}
}

// TestRightsOfMemory: what FARSIDE_FABRIC_ACCESS takes from peers can't be registered.
func TestRightsOfMemory(t *testing.T) {
	program, _ := gpuProgram(t)
	for access, want := range map[string]string{"": "read\nlocal\nwrite\natomic\n", "read": "read\n",
		"write": "local\nwrite\n", "read,write": "read\nlocal\nwrite\n", "write,atomic": "local\nwrite\natomic\n"} {
		cmd := command(t, program, "rights")
		cmd.Env = append(append(cmd.Env, driver(t)...), "FARSIDE_FABRIC_ACCESS="+access, "FARSIDE_LOG=error")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q: %v, %q, want %q", access, err, out, want)
		}
	}
}

// driver is what has the loader of Vulkan take Farside.
func driver(t *testing.T) []string {
	t.Helper()
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	manifest := built(t, "farside_icd."+arch+".json")
	return []string{"VK_DRIVER_FILES=" + manifest, "VK_ICD_FILENAMES=" + manifest}
}

// deviceMemory runs the two programs, and returns what the owner said to people. What one of them says, the other one
// hears.
func deviceMemory(t *testing.T, owner, peer *exec.Cmd) (ownerSaid string) {
	t.Helper()
	owner.Env = append(owner.Env, driver(t)...)
	var said [2]bytes.Buffer
	owner.Stderr, peer.Stderr = &said[0], &said[1]
	toPeer, fromOwner, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toOwner, fromPeer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	owner.Stdin, owner.Stdout, peer.Stdin, peer.Stdout = toOwner, fromOwner, toPeer, fromPeer
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{toPeer, fromOwner, toOwner, fromPeer} {
		_ = f.Close() // theirs now
	}
	failedPeer, failedOwner := peer.Wait(), owner.Wait()
	if failedPeer != nil || failedOwner != nil || !bytes.Contains(said[1].Bytes(), []byte("remote access error")) {
		t.Errorf("owner %v, peer %v\n%s\n%s", failedOwner, failedPeer, said[0].String(), said[1].String())
	}
	return said[0].String()
}
