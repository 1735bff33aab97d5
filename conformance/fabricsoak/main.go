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
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"farside/conformance/internal/soaking"
)

// roleVariable in the environment makes the process an owner or a peer.
const roleVariable = "FARSIDE_FABRICSOAK_ROLE"

func main() { soaking.Main(roleVariable, play, command()) }

func command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "fabricsoak",
		Short: "Use the fabric's regions from many processes of which one after the other is killed",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.owners < 1 || c.peers < 1 || !c.Valid() {
				return errors.New("--owners and --peers must be at least 1, --duration and --kill-every positive")
			}
			sum, err := soak(cmd.Context(), c, c.Stderr())
			fmt.Print(sum)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.owners, "owners", 4, "processes with regions")
	f.IntVar(&c.peers, "peers", 8, "processes that use them")
	c.Flags(cmd, 300*time.Millisecond, "who is killed, and when")
	return cmd
}
