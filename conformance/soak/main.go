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
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"farside/conformance/internal/soaking"
)

// nodeVariable in the environment makes the process a node, with this index.
const nodeVariable = "FARSIDE_SOAK_NODE"

func main() { soaking.Main(nodeVariable, runNode, command()) }

func command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Exchange buffers and semaphores in a ring of processes of which one after the other is killed",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.nodes < 2 || !c.Valid() {
				return errors.New("--processes must be at least 2, --duration and --kill-every positive")
			}
			sum, err := soak(cmd.Context(), c, c.Stderr())
			fmt.Print(sum)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.nodes, "processes", 8, "processes in the ring")
	f.BoolVar(&c.draw, "draw", false, "draw what is sent into shared images, in place of copies")
	c.Flags(cmd, time.Second, "who is killed, and how soon a successor starts")
	return cmd
}
