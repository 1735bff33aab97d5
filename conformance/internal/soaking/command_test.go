package soaking

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// outcome in the environment makes the process a command that ends with this outcome; role makes it one of its
// processes.
const outcome, role = "SOAKING_TEST_OUTCOME", "SOAKING_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(outcome) == "" {
		os.Exit(m.Run())
	}
	var r Run
	command := &cobra.Command{Use: "soaked", RunE: func(*cobra.Command, []string) error {
		if !r.Valid() {
			return errors.New("durations")
		}
		if os.Getenv(outcome) == "loss" {
			return fmt.Errorf("%w: a byte", ErrLoss)
		}
		return nil
	}}
	r.Flags(command, time.Second, "who")
	Main(role, func(value string) int { return len(value) }, command)
}

// The exit code tells a loss from a run that could not be, and a process of the run from the command.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		outcome, role string
		args          []string
		code          int
		text          string
	}{
		{"fine", "", nil, 0, ""},
		{"loss", "", nil, 1, "soaked: something was lost: a byte"},
		{"loss", "seven", nil, 5, ""},
		{"fine", "", []string{"--duration=0s"}, 2, "soaked: durations"},
		{"fine", "", []string{"--kill-every=-1s"}, 2, "soaked: durations"},
		{"fine", "", []string{"--nothing"}, 2, "soaked: unknown flag: --nothing"},
		{"fine", "", []string{"more"}, 2, "soaked: unknown command"},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = append(os.Environ(), outcome+"="+c.outcome, role+"="+c.role)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.HasPrefix(string(out), c.text) ||
			c.text == "" && len(out) > 0 {
			t.Errorf("%+v: exit code %d, output %q", c, code, out)
		}
	}
}
