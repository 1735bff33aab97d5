package verbs

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDevices is ibv_devices, with one device and with several.
func TestDevices(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_devices")
	for _, n := range []int{1, 3} {
		cmd := command(t, "ibv_devices")
		cmd.Env = append(cmd.Env, fmt.Sprintf("FARSIDE_VERBS_DEVICES=%d", n))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		guids := map[string]bool{}
		for i := range n {
			m := regexp.MustCompile(fmt.Sprintf(`(?m)^\s+farside%d\s+([0-9a-f]{16})$`, i)).FindSubmatch(out)
			if m == nil {
				t.Errorf("no farside%d in %s", i, out)
				continue
			}
			guids[string(m[1])] = true
		}
		if len(guids) != n || bytes.Count(out, []byte("farside")) != n {
			t.Errorf("%d different GUIDs of %d devices: %s", len(guids), n, out)
		}
	}
}

// TestDevinfo is ibv_devinfo -v: what it says is what the device can do, and its GIDs are the host's addresses.
func TestDevinfo(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_devinfo")
	out, err := command(t, "ibv_devinfo", "-v").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, want := range []string{"hca_id:\tfarside0", "transport:\t\t\tInfiniBand (0)", "state:\t\t\tPORT_ACTIVE (4)",
		"link_layer:\t\tEthernet", "atomic_cap:\t\t\tATOMIC_GLOB (2)", "phys_port_cnt:\t\t\t1", "MEM_WINDOW",
		"GID[", ", RoCE v2"} {
		if !strings.Contains(text, want) {
			t.Errorf("ibv_devinfo doesn't say %q", want)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, a := range addresses {
		p := a.(*net.IPNet)
		if p.IP.IsLinkLocalUnicast() {
			continue
		}
		want := p.IP.String()
		if p.IP.To4() != nil {
			want = "::ffff:" + want
		}
		if !strings.Contains(text, "\t"+want+", RoCE v2\n") {
			t.Errorf("there is no GID of %s", want)
		}
		shown++
	}
	if n := strings.Count(text, "GID["); n != shown || n == 0 {
		t.Errorf("%d GIDs of %d addresses", n, shown)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestWrongSettings says what is wrong with the environment, and shows no device.
func TestWrongSettings(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_devices")
	cmd := exec.CommandContext(t.Context(), "ibv_devices")
	cmd.Env = environment(t, "FARSIDE_VERBS_DEVICES=many")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "FARSIDE_VERBS_DEVICES") || !strings.Contains(string(out), "many") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTool runs a program by farside verbs, and asks farside doctor.
func TestTool(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_devices")
	tool := built(t, "farside")
	out, err := exec.CommandContext(t.Context(), tool, "verbs", "--", "ibv_devices").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "farside0") {
		t.Errorf("farside verbs: %v: %s", err, out)
	}
	out, _ = exec.CommandContext(t.Context(), tool, "doctor").CombinedOutput() // other checks may fail here
	want := "farside0, by farside verbs and " + built(t, "verbs/libibverbs.so.1")
	if !regexp.MustCompile(`(?m)^ok +verbs +` + regexp.QuoteMeta(want) + "(; --device-files works)?$").Match(out) {
		t.Errorf("the doctor doesn't say %q: %s", want, out)
	}
}
