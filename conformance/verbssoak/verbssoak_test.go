package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"farside/conformance/internal/soaking"
)

// TestSoak is a short run of what `make soak-verbs` does, on one host and on two, with the libraries that make build
// makes.
func TestSoak(t *testing.T) {
	for file, pkg := range map[string]string{"infiniband/verbs.h": "libibverbs-dev", "rdma/rdma_cma.h": "librdmacm-dev",
		"vulkan/vulkan.h": "libvulkan-dev"} {
		if _, err := os.Stat("/usr/include/" + file); err != nil {
			t.Skipf("package %s is missing", pkg)
		}
	}
	if out, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	build, err := filepath.Abs("../../build")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(build, "*.json"))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("make build wrote the manifests %v: %v", manifests, err)
	}
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		t.Setenv(name, manifests[0])
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(build, "verbs"))
	t.Setenv("FARSIDE_LOG", "error") // what the nodes' deaths do is told at warn
	for name, apart := range map[string]bool{"one host": false, "two hosts": true} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command("unshare", "--map-root-user", "--net", "ip", "link").CombinedOutput()
			if apart && err != nil {
				t.Skipf("no network namespace, which takes root or user namespaces that are open to all users: %s", out)
			}
			c := config{nodes: 3, apart: apart, Run: soaking.Run{Duration: 4 * time.Second,
				KillEvery: 500 * time.Millisecond, Seed: uint64(time.Now().UnixNano())}}
			sum, err := soak(t.Context(), c, soaking.NewProgress(os.Stderr, false, c.Duration))
			t.Logf("\n%v", sum)
			if err != nil {
				t.Fatal(err)
			}
			if sum.kills+sum.stops == 0 || sum.sum.operations == 0 || sum.sum.compared == 0 || sum.sum.links == 0 {
				t.Errorf("too little happened")
			}
		})
	}
}
