package verbs

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// findings runs a program that looks out for something, and returns what it found by ids, and its output. The exit
// status must be 3 where there is something, 0 where not.
func findings(t *testing.T, strict, program string, args ...string) (ids []string, out string) {
	t.Helper()
	cmd := command(t, program, args...)
	cmd.Env = environment(t, "FARSIDE_STRICT="+strict, "FARSIDE_STRICT_EXIT=3")
	b, err := cmd.CombinedOutput()
	status := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^farside: \w+: (FARSIDE-[\w-]+): `).FindAllStringSubmatch(string(b), -1) {
		ids = append(ids, m[1])
	}
	if want := map[bool]int{false: 0, true: 3}[len(ids) > 0]; status != want {
		t.Fatalf("%s %v: exit status %d, want %d:\n%s", program, args, status, want, b)
	}
	return ids, string(b)
}

// TestLeaks: what is left over when a context is closed or the process ends is told, with where it was made; what is
// destroyed isn't.
func TestLeaks(t *testing.T) {
	program := compile(t, "leaks.c", "-g")
	const object, exit = "FARSIDE-leaks-object", "FARSIDE-leaks-at-exit"
	for _, row := range []struct {
		what string
		want []string
		text []string
	}{
		{"clean", nil, nil},
		{"mr", []string{object, object}, []string{"and ibv_mr was not destroyed", "make_region", "leaks.c:11"}},
		{"pd", []string{object}, []string{"and ibv_pd was not destroyed", "made by make_domain", "leaks.c:7"}},
		{"cq", []string{object}, []string{"and ibv_cq was not destroyed", "made by main"}},
		{"qp", []string{object, object, object}, []string{"and ibv_qp was not destroyed", "made by main"}},
		{"context", []string{exit}, []string{"the context of farside0 was not closed", "made by main"}},
	} {
		ids, out := findings(t, "leaks", program, row.what)
		if !slices.Equal(ids, row.want) {
			t.Errorf("%s: found %v, want %v:\n%s", row.what, ids, row.want, out)
		}
		for _, text := range row.text {
			if !regexp.MustCompile(text).MatchString(out) {
				t.Errorf("%s: no %q in:\n%s", row.what, text, out)
			}
		}
	}
}

// TestStrictPrograms: programs that are right run as they do without strictness, and nothing is found in them.
func TestStrictPrograms(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	need(t, "perftest", "ib_write_bw")
	t.Setenv("FARSIDE_STRICT", "rdma")
	t.Setenv("FARSIDE_STRICT_EXIT", "3") // a finding makes the program fail
	for _, line := range []string{
		"ibv_rc_pingpong -g 0 -n 100 -c",
		"ibv_uc_pingpong -g 0 -n 100 -c",
		"ibv_ud_pingpong -g 0 -n 100 -c",
		"ibv_srq_pingpong -g 0 -n 100 -c",
		"ib_write_bw -F -n 20 -a",
		"ib_write_bw -F -n 100 -q 4 -s 4096",
		"ib_write_bw -F -n 100 -b -s 65536",
		"ib_write_bw -F -n 100 -c XRC -q 2 -s 4096",
		"ib_read_bw -F -n 100 -q 4 -s 8192",
		"ib_send_bw -F -n 20 -a",
		"ib_send_bw -F -n 100 -c UD -s 1024",
		"ib_send_bw -F -n 100 -r 64 -q 4 --use-srq -s 1024",
		"ib_atomic_bw -F -n 100 -A CMP_AND_SWAP -q 2",
		"ib_write_lat -F -n 100 -s 8",
		"ib_write_lat -F -n 100 -I 0 -s 4096",
		"ib_send_lat -F -n 100 -I 0 -s 64",
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			server, client := pair(t, words[0], words[1:]...)
			if out := server + client; strings.Contains(out, "FARSIDE-") {
				t.Errorf("it is found wrong:\n%s", out)
			}
		})
	}
}
