package verbs

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// faultyPair runs a program of two, of which the server fails on command, and returns what the server said, once it has
// ended. A client that waits for it for ever is ended.
func faultyPair(t *testing.T, plan, program string, args ...string) (server string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	args = append([]string{"-p", strconv.Itoa(port)}, args...)
	var out bytes.Buffer
	s := exec.CommandContext(ctx, program, args...)
	grouped(s)
	s.Env = environment(t, "FARSIDE_FAULTS="+plan, "FARSIDE_LOG=info")
	s.Stdout, s.Stderr = &out, &out
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	for !listening(port) {
		select {
		case <-ended:
			return out.String()
		case <-ctx.Done():
			t.Fatalf("%s does not listen: %s", program, out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	client := exec.CommandContext(ctx, program, append(args, "127.0.0.1")...)
	grouped(client)
	client.Env = environment(t)
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	<-ended
	_ = client.Process.Kill()
	_ = client.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%s %s hangs: %s", program, strings.Join(args, " "), out.String())
	}
	return out.String()
}

// TestFaultsOfPrograms: an unmodified program meets the failure that was asked for, at the operation that was asked
// for, each time.
func TestFaultsOfPrograms(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	need(t, "perftest", "ib_write_bw")
	pingpong := []string{"-g", "0", "-n", "200"}
	for _, row := range []struct {
		plan    string
		program string
		args    []string
		want    string // what the server says
		told    string // by the log
	}{
		{"ibv_open_device=EMFILE", "ibv_rc_pingpong", pingpong, "Couldn't get context for farside0",
			"call 1 of ibv_open_device"},
		{"ibv_reg_mr=ENOMEM@1", "ibv_rc_pingpong", pingpong, "Couldn't register MR", "call 1 of ibv_reg_mr"},
		{"ibv_modify_qp=ETIMEDOUT@2", "ibv_rc_pingpong", pingpong, "Failed to modify QP to RTR", "call 2 of ibv_modify_qp"},
		{"ibv_post_send=ENOMEM@7", "ibv_rc_pingpong", pingpong, "Couldn't post send", "call 7 of ibv_post_send"},
		{"rdma.send=IBV_WC_REM_OP_ERR@3", "ibv_rc_pingpong", pingpong,
			"Failed status remote operation error (11) for wr_id 2", "call 3 of rdma.send"},
		{"rdma.recv=IBV_WC_LOC_PROT_ERR@9", "ibv_rc_pingpong", pingpong,
			"Failed status local protection error (4) for wr_id 1", "call 9 of rdma.recv"},
		{"rdma.send=sever@5", "ibv_rc_pingpong", pingpong,
			"Failed status transport retry counter exceeded (12) for wr_id 2", "call 5 of rdma.send"},
		{"rdma.write=partial:64@40", "ib_write_bw", []string{"-F", "-n", "100", "-b", "-s", "4096"},
			"Failed status 12: wr_id 0 syndrom", "call 40 of rdma.write"},
	} {
		t.Run(row.plan, func(t *testing.T) {
			for range 2 {
				out := faultyPair(t, row.plan, row.program, row.args...)
				if !strings.Contains(out, row.want) || !strings.Contains(out, row.told) ||
					strings.Count(out, "fault on command:") != 1 {
					t.Errorf("not %q and %q once: %s", row.want, row.told, out)
				}
			}
		})
	}
}

// TestSeverAfter: an unmodified program that would run for hours works for the second that was asked for, and then
// reaches nobody any more.
func TestSeverAfter(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	begin := time.Now()
	// The delay shows that there was a tenth message.
	out := faultyPair(t, "rdma.recv=delay:1ms@10; rdma=sever@after:1s", "ibv_rc_pingpong", "-g", "0", "-n", "2000000000")
	took := time.Since(begin)
	if took < time.Second || took > 20*time.Second || !strings.Contains(out, "call 10 of rdma.recv") ||
		strings.Count(out, "fault on command: rdma=sever@after:1s") != 1 {
		t.Errorf("the program ended after %v: %s", took, out)
	}
	// A send that reaches nobody fails, and where a receive is severed, the rest is flushed.
	if !regexp.MustCompile(`Failed status (transport retry counter exceeded \(12\)|Work Request Flushed Error \(5\))`).
		MatchString(out) {
		t.Errorf("the program's completion says something else: %s", out)
	}
}

// TestLossOfPrograms: a program on a reliable connection doesn't notice packets that are lost, sent twice or late.
func TestLossOfPrograms(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	for _, plan := range []string{"rdma.packet=drop@11..12; rdma.packet=drop@30",
		"rdma.packet=duplicate@p0.1; rdma.packet=reorder@p0.1; seed=3"} {
		out := faultyPair(t, plan, "ibv_rc_pingpong", "-g", "0", "-n", "200", "-c")
		if !regexp.MustCompile(`(?m)^200 iters in `).MatchString(out) || strings.Contains(out, "invalid data") ||
			!strings.Contains(out, "of rdma.packet)") {
			t.Errorf("%s: %s", plan, out)
		}
	}
}

// TestReportOfPrograms: the report of an unmodified program has its transfers with their bytes, its registrations and
// what was injected. The trace is written, too.
func TestReportOfPrograms(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	dir := t.TempDir()
	t.Setenv("FARSIDE_REPORT", dir)
	t.Setenv("FARSIDE_TRACE", filepath.Join(dir, "trace"))
	faultyPair(t, "rdma.recv=delay:1ms@5", "ibv_rc_pingpong", "-g", "0", "-n", "20", "-s", "1000")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journal: %v", err)
	}
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for what, want := range map[string]int{`"operation":"send".*"size":1000`: 20, `"operation":"receive".*"size":1000`: 20,
		`"kind":"register".*"ibv_mr"`: 1, `"kind":"fault".*"command":"rdma.recv"`: 1} {
		if n := len(regexp.MustCompile(what).FindAll(all, -1)); n < want {
			t.Errorf("%s %d times, want %d:\n%s", what, n, want, all)
		}
	}
	if pages, _ := filepath.Glob(filepath.Join(dir, "*.html")); len(pages) == 0 {
		t.Error("no page")
	}
	if st, err := os.Stat(filepath.Join(dir, "trace")); err != nil || st.Size() == 0 {
		t.Errorf("no trace: %v", err)
	}
}
