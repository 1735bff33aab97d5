package verbs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// both runs a server and, once it listens, its client, and returns what they said. Both must succeed.
func both(t *testing.T, server, client []string, listens func() bool) (said [2]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var out [2]bytes.Buffer
	start := func(i int, line []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Env = environment(t)
		cmd.Stdout, cmd.Stderr = &out[i], &out[i]
		grouped(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	s := start(0, server)
	for !listens() {
		if ctx.Err() != nil {
			t.Fatalf("%v does not listen: %s", server, out[0].String())
		}
		time.Sleep(10 * time.Millisecond)
	}
	failedClient := failure(start(1, client).Wait(), &out[1])
	if failedClient != nil || endless(server) {
		cancel()
	}
	failedServer := failure(s.Wait(), &out[0])
	if endless(server) {
		failedServer = nil
	}
	if failedClient != nil || failedServer != nil {
		t.Fatalf("%v: %v\n%s\n%v: %v\n%s", client, failedClient, out[1].String(), server, failedServer, out[0].String())
	}
	return [2]string{out[0].String(), out[1].String()}
}

// endless says whether a server serves one client after the other.
func endless(server []string) bool { return server[0] == "cmtime" }

// TestRDMACM runs the programs of rdmacm-utils, and perftest by connection management.
func TestRDMACM(t *testing.T) {
	need(t, "rdmacm-utils", "rping")
	need(t, "perftest", "ib_write_bw")
	for _, c := range []struct{ server, client, want string }{
		{"rping -s -a 127.0.0.1 -p 7611 -C 20 -vV", "rping -c -a 127.0.0.1 -p 7611 -C 20 -vV", `ping data: rdma-ping-19: `},
		{"rping -s -a ::1 -p 7612 -C 5 -vV -S 8192", "rping -c -a ::1 -p 7612 -C 5 -vV -S 8192", `ping data: rdma-ping-4: `},
		{"ucmatose -p 7613 -c 4", "ucmatose -p 7613 -c 4 -s 127.0.0.1", `return status 0`},
		{"udaddy -c 2", "udaddy -c 2 -s 127.0.0.1", `return status 0`},
		{"cmtime -p 7615 -c 50 -b 127.0.0.1", "cmtime -p 7615 -c 50 -s 127.0.0.1", `(?m)^connect +: +[\d.]+`},
		{"ib_write_bw -R -F -n 100 -p 7616", "ib_write_bw -R -F -n 100 -p 7616 127.0.0.1", `(?m)^ 65536 +100`},
		{"ib_send_lat -R -F -n 100 -p 7617", "ib_send_lat -R -F -n 100 -p 7617 127.0.0.1", `(?m)^ 2 +100`},
		{"ib_read_bw -R -F -n 100 -q 3 -p 7618", "ib_read_bw -R -F -n 100 -q 3 -p 7618 127.0.0.1", `(?m)^ 65536 +300`},
	} {
		t.Run(c.client, func(t *testing.T) {
			port := "7174" // udaddy's, which has no flag for it
			if given := regexp.MustCompile(`-p (\d+)`).FindStringSubmatch(c.server); given != nil {
				port = given[1]
			}
			said := both(t, strings.Fields(c.server), strings.Fields(c.client), func() bool { return serving(t, port) })
			if strings.HasPrefix(c.server, "cmtime") {
				said[0] = said[1] // the server tells nothing
			}
			for _, s := range said {
				if !regexp.MustCompile(c.want).MatchString(s) {
					t.Errorf("it didn't say %q: %s", c.want, s)
				}
			}
		})
	}
}

// serving says whether a process of this host listens at a port: the abstract address for that is in the kernel's
// table.
func serving(t *testing.T, port string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`@farside-verbs-service-[0-9a-f]{4}-0*` + port + `-.*-[0-9a-f]{3}\n`).Match(b)
}
