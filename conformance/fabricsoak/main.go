// Command fabricsoak lets processes work on the fabric's regions while one after the other is killed.
//
// Owners register regions, free them while they are in use, overwrite what was freed and look whether anybody
// touches it afterwards, and register it again. Peers find the regions, claim a lane in each, and read, write
// and count there with random sizes and offsets, in calls, vectors and queue pairs. Each word says to which
// region and place it belongs and how often it was written; each byte of a peer's own is compared. The
// supervisor kills an owner or a peer now and then and starts another one in its place. The first of either
// is never killed.
//
// It exits with 1 if a byte was wrong, an operation failed for another reason than a death or a free, a
// process stood still, or something was left behind, and with 2 if it could not be run.
package main

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

	"farside/conformance/internal/soaking"
)

// roleVariable in the environment makes the process an owner or a peer.
const roleVariable = "FARSIDE_FABRICSOAK_ROLE"

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "fabricsoak: %v\n", err)
	if errors.Is(err, errLoss) {
		os.Exit(1)
	}
	os.Exit(2)
}

func command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:           "fabricsoak",
		Short:         "Use the fabric's regions from many processes of which one after the other is killed",
		Args:          cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.owners < 1 || c.peers < 1 || c.duration <= 0 || c.killEvery <= 0 {
				return errors.New("--owners and --peers must be at least 1, --duration and --kill-every positive")
			}
			_, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
			sum, err := soak(cmd.Context(), c, soaking.NewProgress(os.Stderr, err == nil, c.duration))
			fmt.Print(sum)
			return err
		},
	}
	f := cmd.Flags()
	f.DurationVar(&c.duration, "duration", 10*time.Minute, "how long processes are killed")
	f.IntVar(&c.owners, "owners", 4, "processes with regions")
	f.IntVar(&c.peers, "peers", 8, "processes that use them")
	f.DurationVar(&c.killEvery, "kill-every", 300*time.Millisecond, "time between two kills")
	f.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()), "decides who is killed, and when")
	return cmd
}
