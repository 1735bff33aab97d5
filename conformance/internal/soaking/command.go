package soaking

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// ErrLoss is the sort of error for which what is tested is to blame.
var ErrLoss = errors.New("something was lost")

// Run is what the flags of a run that kills processes say.
type Run struct {
	Duration  time.Duration // for which processes are killed
	KillEvery time.Duration // the time between two kills
	Seed      uint64        // of the choices that a run makes
}

// Valid says whether the durations can be used.
func (r *Run) Valid() bool { return r.Duration > 0 && r.KillEvery > 0 }

// Main is the main function of a command that kills processes of its own. If the variable is in the environment the
// process is one of them: play gets its value, and returns the exit code. Else the command runs. The process exits with
// 1 for an ErrLoss, and with 2 for any other error.
func Main(variable string, play func(string) int, command *cobra.Command) {
	if value := os.Getenv(variable); play != nil && value != "" {
		os.Exit(play(value))
	}
	command.Args, command.SilenceErrors, command.SilenceUsage = cobra.NoArgs, true, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", command.Name(), err)
	if errors.Is(err, ErrLoss) {
		os.Exit(1)
	}
	os.Exit(2)
}

// Flags adds a command's flags for r. The seed decides what chosen says.
func (r *Run) Flags(command *cobra.Command, killEvery time.Duration, chosen string) {
	f := command.Flags()
	f.DurationVar(&r.Duration, "duration", 10*time.Minute, "how long processes are killed")
	f.DurationVar(&r.KillEvery, "kill-every", killEvery, "time between two kills")
	f.Uint64Var(&r.Seed, "seed", uint64(time.Now().UnixNano()), "decides "+chosen)
}

// Stderr is the progress of the run on standard error.
func (r *Run) Stderr() *Progress {
	_, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
	return NewProgress(os.Stderr, err == nil, r.Duration)
}
