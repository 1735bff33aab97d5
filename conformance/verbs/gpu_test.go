package verbs

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestDeviceMemory runs a Vulkan program that registers device memory, and a peer that knows verbs alone: it reads what a
// queue wrote, writes and adds what the queue finds, and is refused once the memory has been freed.
func TestDeviceMemory(t *testing.T) {
	need(t, "libvulkan-dev", "/usr/include/vulkan/vulkan.h")
	program := compile(t, "gpu.c", "-lvulkan")
	t.Run("one host", func(t *testing.T) { deviceMemory(t, command(t, program, "owner"), command(t, program, "peer")) })
	t.Run("two hosts", func(t *testing.T) {
		h := newHosts(t)
		deviceMemory(t, h.command(t, 0, program, "owner"), h.command(t, 1, program, "peer"))
	})
}

// TestFreedRegion: a peer that uses a region whose memory has been freed is told of where its owner registered it.
func TestFreedRegion(t *testing.T) {
	need(t, "libvulkan-dev", "/usr/include/vulkan/vulkan.h")
	program := compile(t, "gpu.c", "-lvulkan")
	owner := command(t, program, "owner")
	owner.Env = append(owner.Env, "FARSIDE_STRICT=leaks")
	said := deviceMemory(t, owner, command(t, program, "peer"))
	if !strings.Contains(said, "FARSIDE-leaks-freed-address") || !strings.Contains(said, "registered by") {
		t.Error(said)
	}
}

// deviceMemory runs the two programs, and returns what the owner said to people. What one of them says, the other one
// hears.
func deviceMemory(t *testing.T, owner, peer *exec.Cmd) (ownerSaid string) {
	t.Helper()
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	manifest := built(t, "farside_icd."+arch+".json")
	owner.Env = append(owner.Env, "VK_DRIVER_FILES="+manifest, "VK_ICD_FILENAMES="+manifest)
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
