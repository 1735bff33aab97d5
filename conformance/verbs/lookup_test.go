package verbs

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// symbolMaps are the public functions of rdma-core, NAME@NODE, as its symbol maps have them. Of a name that stands in
// two nodes, the first one has an older function, which no program asks for any more.
func symbolMaps(t *testing.T) (current, old []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/symbols.txt")
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]string{}
	node := ""
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutSuffix(line, ":\n"); ok {
			node = name
			continue
		}
		for _, name := range strings.Fields(line) {
			if before := nodes[name]; before != "" {
				old = append(old, name+"@"+before)
			}
			nodes[name] = node
		}
	}
	for name, node := range nodes {
		current = append(current, name+"@"+node)
	}
	slices.Sort(current)
	return current, old
}

// TestLookups has a program look all public functions up by dlvsym, in the library and with the version that
// rdma-core's symbol maps have for them, and call some that it has found: each is Farside's. A name in a version that
// it was never in isn't found.
func TestLookups(t *testing.T) {
	current, old := symbolMaps(t)
	if len(current) < 150 {
		t.Fatalf("only %d functions", len(current))
	}
	var asked strings.Builder
	ask := func(symbol string) {
		name, node, _ := strings.Cut(symbol, "@")
		library := "libibverbs.so.1"
		if strings.HasPrefix(node, "RDMACM") {
			library = "librdmacm.so.1"
		}
		fmt.Fprintln(&asked, library, name, node)
	}
	for _, s := range append(current[:len(current):len(current)], old...) {
		ask(s)
	}
	ask("ibv_get_device_list@IBVERBS_1.5")
	ask("rdma_create_id@RDMACM_1.1")
	cmd := command(t, compile(t, "lookups.c"))
	cmd.Stdin = strings.NewReader(asked.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library := built(t, "verbs/libibverbs.so.1")
	var found []string
	for line := range strings.Lines(string(out)) {
		symbol, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if symbol == "device" {
			found = append(found, symbol+" "+file)
			continue
		}
		if strings.Replace(file, "librdmacm", "libibverbs", 1) != library {
			t.Errorf("%s is of %s", symbol, file)
		}
		found = append(found, symbol)
	}
	for _, s := range append(current[:len(current):len(current)], "device farside0") {
		if !slices.Contains(found, s) {
			t.Errorf("%s is not found", s)
		}
	}
	if len(found) != len(current)+1 {
		t.Errorf("%d functions are found, of %d: %q", len(found)-1, len(current), found)
	}
}

// TestOtherProcesses runs programs that the kernel kills when they reach into another process, as debuggers do. Work
// between processes takes shared memory alone, with the help of the process whose memory it is where that isn't shared.
func TestOtherProcesses(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	need(t, "perftest", "ib_write_bw")
	guard := compile(t, "guard.c")
	bare := exec.Command(guard)
	if err := bare.Run(); err == nil || bare.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSYS {
		t.Fatalf("the guard does not work: %v", err)
	}
	for _, line := range []string{"ibv_rc_pingpong -g 0 -n 100 -s 100000 -c", "ib_write_bw -F -n 100",
		"ib_read_bw -F -n 100", "ib_atomic_bw -F -n 100"} {
		t.Run(line, func(t *testing.T) {
			port := freePort(t)
			server := append([]string{guard}, append(strings.Fields(line), "-p", port)...)
			client := append(server[:len(server):len(server)], "127.0.0.1")
			both(t, server, client, listensAt(port))
		})
	}
}

// TestUnsupported calls functions that there are not, each twice, before the program has asked for a device. They
// answer EOPNOTSUPP each in its way. The log tells each once as a warning, and nothing by default, since programs try
// them out.
func TestUnsupported(t *testing.T) {
	program := compile(t, "unsupported.c")
	for level, want := range map[string][]string{
		"warn":  {"ibv_import_device", "ibv_query_ece", "rdma_join_multicast", "rdma_set_local_ece", "rsocket"},
		"error": nil,
	} {
		cmd := command(t, program)
		cmd.Env = append(cmd.Env, "FARSIDE_LOG="+level)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", level, err, out)
		}
		var told []string
		for line := range strings.Lines(string(out)) {
			if _, name, ok := strings.Cut(line, `level=WARN msg="there is no such function here" function=`); ok {
				told = append(told, strings.TrimSpace(name))
			}
		}
		slices.Sort(told)
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s: -want +told: %s\n%s", level, diff, out)
		}
	}
}
