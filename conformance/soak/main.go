// Command soak lets processes exchange buffers and semaphores in a ring while one after the other is killed.
//
// Each process, a node, writes a buffer again and again, by its queue, and signals a timeline semaphore, both
// exported; its neighbour waits, copies, checks every byte and answers on a semaphore of its own. The
// supervisor hands the descriptors from neighbour to neighbour over unix sockets, kills a node by SIGKILL
// every now and then, and starts another in its place. A node whose queue waits for the dead loses its device
// and makes a new one. The first node is never killed: it witnesses that its descriptors, mappings and memory
// stay what they were.
//
// It exits with 1 if a byte was lost, a wait outlasted its timeout, a link stood still or something leaked,
// and with 2 if the ring could not be run. The driver is the one that the environment names to the Vulkan
// loader.
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

// nodeVariable in the environment makes the process a node, with this index.
const nodeVariable = "FARSIDE_SOAK_NODE"

func main() {
	if index := os.Getenv(nodeVariable); index != "" {
		os.Exit(runNode(index))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "soak: %v\n", err)
	if errors.Is(err, errLoss) {
		os.Exit(1)
	}
	os.Exit(2)
}

func command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:           "soak",
		Short:         "Exchange buffers and semaphores in a ring of processes of which one after the other is killed",
		Args:          cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.nodes < 2 || c.duration <= 0 || c.killEvery <= 0 {
				return errors.New("--processes must be at least 2, --duration and --kill-every positive")
			}
			_, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
			sum, err := soak(cmd.Context(), c, soaking.NewProgress(os.Stderr, err == nil, c.duration))
			fmt.Print(sum)
			return err
		},
	}
	f := cmd.Flags()
	f.DurationVar(&c.duration, "duration", 10*time.Minute, "how long processes are killed")
	f.IntVar(&c.nodes, "processes", 8, "processes in the ring")
	f.DurationVar(&c.killEvery, "kill-every", time.Second, "time between two kills")
	f.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()), "decides who is killed, and how soon a successor starts")
	return cmd
}
