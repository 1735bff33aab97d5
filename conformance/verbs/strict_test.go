package verbs

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
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
