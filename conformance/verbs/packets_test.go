package verbs

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A line for each packet: where it is in the capture, what it is, and what tshark has to say against it.
var dissect = []string{"-n", "-T", "fields", "-e", "frame.number", "-e", "infiniband.bth.opcode", "-e",
	"infiniband.mad.attributeid", "-e", "infiniband.aeth.syndrome", "-e", "_ws.expert.message", "-e", "_ws.malformed"}

// invariant is a program for scapy: for each IPv4 packet of a capture to the port of RoCEv2, the CRC that it has and
// the one that it should have.
const invariant = `
import sys
from scapy.all import IP, UDP, PcapReader
from scapy.contrib.roce import BTH
for p in PcapReader(sys.argv[1]):
    if IP in p and BTH in p:
        has = bytes(p[BTH])[-4:]
        del p[BTH].icrc
        print(has.hex(), bytes(p[BTH])[-4:].hex())
`

// capture writes what a host sends and receives by RoCEv2 to a file until the function that it returns is called.
func (h *hosts) capture(t *testing.T, host int, device string) (file string, stop func()) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "packets.pcap")
	cmd := exec.Command("nsenter", append(h.enter(host), "dumpcap", "-q", "-P", "-i", device, "-f",
		"udp port 4791 or udp port 9", "-w", file)...)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "File:") {
	}
	return file, func() {
		// Once the last packet is in the file, those before are.
		const end = "end of the capture"
		if out, err := exec.Command("nsenter", append(h.enter(host), "bash", "-c",
			"echo "+end+" >/dev/udp/10.9.0.2/9")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for late := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(end)) {
				break
			}
			if time.Now().After(late) {
				t.Fatal("dumpcap does not capture")
			}
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("dumpcap: %v", err)
		}
	}
}

// TestPackets captures what programs send each other, connection management, refusals and what is sent again included.
// tshark dissects each packet without a warning, and scapy computes the same invariant CRCs.
func TestPackets(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	need(t, "rdmacm-utils", "rping")
	need(t, "perftest", "ib_write_bw")
	need(t, "tshark", "tshark")
	need(t, "python3-scapy", "/usr/lib/python3/dist-packages/scapy/contrib/roce.py")
	h := newHosts(t)
	file, stop := h.capture(t, 0, "v0")
	for _, line := range []string{
		"ibv_rc_pingpong -g 0 -n 3 -s 3001", "ibv_uc_pingpong -g 0 -n 3 -s 3001", "ibv_ud_pingpong -g 0 -n 3 -s 777",
		"ib_write_bw -F -n 5 -s 2500", "ib_read_bw -F -n 5 -s 2501", "ib_atomic_bw -F -n 5",
		"ib_write_bw -F -n 5 -s 2500 -c XRC", "ib_send_bw -F -n 5 -s 2500 -c XRC", "ib_send_bw -F -n 5 -s 77 -c XRC",
	} {
		h.run(t, line, line+" 10.9.0.2")
	}
	invalidate := compile(t, "invalidate.c")
	deviceMemory(t, h.command(t, 1, invalidate, "owner"), h.command(t, 0, invalidate, "peer"))
	t.Run("lost", func(t *testing.T) {
		t.Setenv("FARSIDE_FAULTS", "rdma.packet=drop@3; rdma.packet=drop@9; rdma.packet=duplicate@14")
		const line = "ib_write_bw -F -n 5 -s 6000 -u 14"
		h.run(t, line, line+" 10.9.0.2")
	})
	h.run(t, "ibv_rc_pingpong -g 1 -n 3 -s 3001", "ibv_rc_pingpong -g 1 -n 3 -s 3001 10.9.0.2")
	h.run(t, "rping -a 10.9.0.2 -C 2 -V -s", "rping -a 10.9.0.2 -C 2 -V -c")
	h.run(t, "udaddy", "udaddy -s 10.9.0.2")
	stop()

	out, err := exec.Command("tshark", append(dissect, "-Y", "udp.port == 4791", "-r", file)...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	opcodes, attributes, syndromes := map[string]int{}, map[string]int{}, map[uint64]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 6 || fields[1] == "" || fields[4]+fields[5] != "" {
			t.Errorf("tshark: %q", fields)
			continue
		}
		opcodes[fields[1]]++
		attributes[fields[2]]++
		if s, err := strconv.ParseUint(fields[3], 0, 8); err == nil {
			syndromes[s]++
		}
	}
	rnr := 0
	for s, n := range syndromes {
		if s>>5 == 1 {
			rnr += n
		}
	}
	if rnr == 0 || syndromes[0x60] == 0 || syndromes[0x62] == 0 {
		t.Errorf("of receivers that are not ready, of sequence errors and of access errors, some are missing: %v", syndromes)
	}
	for _, o := range []string{"0", "1", "2", "6", "7", "8", "12", "13", "14", "15", "17", "18", "20", "22", "32", "33",
		"34", "100", "160", "162", "164", "166", "167", "168", "177"} {
		if opcodes[o] == 0 {
			t.Errorf("no packet had the opcode %s", o)
		}
	}
	for _, a := range []string{"0x0010", "0x0013", "0x0014", "0x0015", "0x0016", "0x0017", "0x0018"} {
		if attributes[a] == 0 {
			t.Errorf("no message had the attribute %s", a)
		}
	}

	out, err = exec.Command("/usr/bin/python3", "-c", invariant, file).Output()
	if err != nil {
		t.Fatalf("scapy: %v", err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		n++
		if has, should, _ := strings.Cut(strings.TrimSpace(line), " "); has != should {
			t.Errorf("a packet has the CRC %s, and should have %s", has, should)
		}
	}
	if n < 100 {
		t.Errorf("scapy saw %d packets", n)
	}
}
